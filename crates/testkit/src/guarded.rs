//! A child process that cannot outlive the process that started it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::eventually::{DeadlineExceeded, poll_until};

/// What the guard runs: a line on its input releases it; end of input, which the kernel delivers however its parent
/// dies, makes it kill the process group and remove the directory.
const GUARD: &str = r#"IFS= read -r released && exit 0; kill -s KILL -- "-$1" 2>/dev/null; rm -rf -- "$2""#;

/// A child process in a process group of its own, killed with everything it started when this value is dropped, and
/// by a guard process when the owner dies without dropping it (abort, `SIGKILL`, a value kept in a `static`).
///
/// The guard is used instead of `PR_SET_PDEATHSIG` because that signal is tied to the *thread* that started the
/// child: a server shared by several tests would end with the first test.
#[derive(Debug)]
pub struct GuardedProcess {
    child: Child,
    guard: Child,
}

impl GuardedProcess {
    /// Starts `command` with the streams it is set to; `directory` is removed by the guard if the owner dies first.
    ///
    /// # Errors
    /// Fails when the program or the guard's shell cannot be started.
    pub fn spawn(command: &mut Command, directory: &Path) -> io::Result<Self> {
        let mut child = command.process_group(0).spawn()?;
        let guard = Command::new("/bin/sh")
            .args(["-c", GUARD, "guard", &child.id().to_string()])
            .arg(directory)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        match guard {
            Ok(guard) => Ok(Self { child, guard }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error)
            }
        }
    }

    /// The process id of the child, which is its process group too.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The process id of the guard.
    #[must_use]
    pub fn guard_id(&self) -> u32 {
        self.guard.id()
    }

    /// The child's output, once, when it was started with a pipe there.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The child's error output, once, when it was started with a pipe there.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Sends `signal` to the child's process group; a group that is gone already is no error.
    ///
    /// # Errors
    /// Fails when the signal may not be sent.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let group = Pid::from_raw(i32::try_from(self.child.id()).map_err(io::Error::other)?);
        match killpg(group, signal) {
            Ok(()) | Err(Errno::ESRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The child's exit status if it has ended.
    ///
    /// # Errors
    /// Fails when the child cannot be waited for.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for the child to end by itself.
    ///
    /// # Errors
    /// Fails with [`io::ErrorKind::TimedOut`] when it still runs at the deadline.
    pub fn wait(&mut self, deadline: Duration) -> io::Result<ExitStatus> {
        let ended = poll_until(deadline, || self.child.try_wait().transpose());
        ended.unwrap_or_else(|exceeded: DeadlineExceeded| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("process still runs: {exceeded}"),
            ))
        })
    }

    /// Kills the child's process group and waits for the child.
    ///
    /// # Errors
    /// Fails when the signal may not be sent or the child cannot be waited for.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        self.signal(Signal::SIGKILL)?;
        self.child.wait()
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        // A value that is being dropped has nobody to report to; the guard still acts if the kill did not work,
        // because it is released only after the child was waited for.
        if self.kill().is_err() {
            return;
        }
        if let Some(mut input) = self.guard.stdin.take() {
            let _released = input.write_all(b"\n");
        }
        let _ended = self.guard.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn sleeper(directory: &Path) -> GuardedProcess {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "sleep 600 & echo started; wait"])
            .stdout(Stdio::piped());
        let mut process = GuardedProcess::spawn(&mut shell, directory).unwrap();
        let mut line = String::new();
        let mut output = io::BufReader::new(process.take_stdout().unwrap());
        io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!(line, "started\n");
        process
    }

    /// Processes of the group that have not ended (a zombie has).
    fn alive_in_group(group: u32) -> Vec<String> {
        let stats = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let stat: PathBuf = entry.ok()?.path().join("stat");
            fs::read_to_string(stat).ok()
        });
        stats
            .filter(|stat| {
                let after_name: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
                after_name[0] != "Z" && after_name[2] == group.to_string()
            })
            .collect()
    }

    #[test]
    fn dropping_ends_the_child_and_what_it_started_and_keeps_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let process = sleeper(directory.path());
        let group = process.id();
        assert_eq!(alive_in_group(group).len(), 2);
        drop(process);
        crate::eventually(PATIENCE, || alive_in_group(group).is_empty());
        assert!(directory.path().exists());
    }

    #[test]
    fn a_panic_ends_the_child() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let (sender, receiver) = std::sync::mpsc::channel();
        let panicked = std::thread::spawn(move || {
            let process = sleeper(&path);
            sender.send(process.id()).unwrap();
            panic!("the test that owns the process fails");
        })
        .join();
        assert!(panicked.is_err());
        let group = receiver.recv().unwrap();
        crate::eventually(PATIENCE, || alive_in_group(group).is_empty());
    }

    #[test]
    fn an_owner_that_dies_without_dropping_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut process = sleeper(directory.path());
        let group = process.id();
        // Closing the guard's input is what the kernel does for an owner that is killed.
        drop(process.guard.stdin.take());
        crate::eventually(PATIENCE, || {
            alive_in_group(group).is_empty() && !directory.path().exists()
        });
    }
}
