//! Something that listens for MySQL clients: given by address, or started from a command.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use shardwright_testkit::GuardedProcess;

use crate::BenchError;
use crate::cpu_time::processes_of_group;

const READY_WITHIN: Duration = Duration::from_secs(60);
/// How often threads are pinned that may end meanwhile.
const PIN_ATTEMPTS: u32 = 10;

/// What a measurement can be pointed at.
#[derive(Debug)]
pub struct Endpoint {
    /// Its name in tables.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The process group whose processor time is counted and which is pinned.
    pub group: u32,
    /// Kept only to end the processes with this value.
    _started: Option<GuardedProcess>,
}

impl Endpoint {
    /// Something that already runs as process group `group`.
    #[must_use]
    pub fn running(name: &str, address: SocketAddr, group: u32) -> Self {
        Self {
            name: name.to_owned(),
            address,
            group,
            _started: None,
        }
    }

    /// Starts `command` in a process group of its own and waits for a line with `listen=ADDR` on either output. The
    /// group ends with the value.
    ///
    /// # Errors
    /// Fails when it cannot be started or ends or says nothing before the deadline.
    pub fn start(name: &str, command: &mut Command) -> Result<Self, BenchError> {
        let what = format!("starting {name} ({command:?})");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // The endpoint has no directory of its own that its guard could have to remove.
        let mut process =
            GuardedProcess::spawn(command, Path::new("/nonexistent")).map_err(BenchError::io(&*what))?;
        let (sender, lines) = mpsc::channel();
        forward_lines(process.take_stdout().expect("stdout was piped"), sender.clone());
        forward_lines(process.take_stderr().expect("stderr was piped"), sender);
        let mut output = String::new();
        while let Ok(line) = lines.recv_timeout(READY_WITHIN) {
            if let Some(address) = field(&line, "listen") {
                let (name, group) = (name.to_owned(), process.id());
                return Ok(Self {
                    name,
                    address,
                    group,
                    _started: Some(process),
                });
            }
            output.push_str(&line);
            output.push('\n');
        }
        Err(BenchError::Output {
            what: format!("{what}: no line with listen=ADDR"),
            output,
        })
    }

    /// Pins all threads of the group to `cores` (as `taskset -c` takes them).
    ///
    /// # Errors
    /// What `taskset` printed when it failed.
    pub fn pin(&self, cores: &str) -> Result<(), BenchError> {
        let what = format!("pinning {} (process group {})", self.name, self.group);
        for process in processes_of_group(self.group).map_err(BenchError::io(&*what))? {
            pin_process(process, cores, &what)?;
        }
        Ok(())
    }
}

/// Pins all threads of a process to `cores`; `what` is said when that fails.
pub(crate) fn pin_process(process: u32, cores: &str, what: &str) -> Result<(), BenchError> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let output = Command::new("taskset")
            .args(["--all-tasks", "--cpu-list", "--pid", cores, &process.to_string()])
            .output()
            .map_err(BenchError::io("taskset (Debian: apt-get install util-linux)"))?;
        if output.status.success() {
            return Ok(());
        }
        let output = String::from_utf8_lossy(&output.stderr).into_owned();
        // A thread that ends while they are listed.
        if output.contains("No such process") && attempts < PIN_ATTEMPTS {
            continue;
        }
        let what = what.to_owned();
        return Err(BenchError::Output { what, output });
    }
}

/// Reads to the end, so that the process never waits for a full pipe, whether or not somebody listens.
fn forward_lines(source: impl std::io::Read + Send + 'static, lines: mpsc::Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            let _heard = lines.send(line);
        }
    });
}

fn field<T: FromStr>(line: &str, name: &str) -> Option<T> {
    line.split_whitespace()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_endpoint_is_known_by_its_line_and_ends_with_the_value() {
        let mut command = Command::new("/bin/sh");
        command.args([
            "-c",
            "echo starting; echo ready listen=127.0.0.1:4005 admin=127.0.0.1:6 >&2; sleep 600",
        ]);
        let endpoint = Endpoint::start("shell", &mut command).unwrap();
        assert_eq!(endpoint.address.port(), 4005);
        endpoint.pin("0").unwrap();
        let group = endpoint.group;
        assert!(!processes_of_group(group).unwrap().is_empty());
        drop(endpoint);
        shardwright_testkit::eventually(READY_WITHIN, || processes_of_group(group).unwrap().is_empty());
    }

    #[test]
    fn one_that_ends_is_reported_with_its_output() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo no port; exit 1"]);
        let error = Endpoint::start("shell", &mut command).unwrap_err();
        assert!(error.to_string().contains("no port"), "{error}");
    }
}
