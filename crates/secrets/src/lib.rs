//! Secrets: found by reference, kept out of every output, wiped from memory after use.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use shardwright_rules::SecretReference;
use thiserror::Error;
use zeroize::{Zeroize, Zeroizing};

/// Longer than any password; what is larger is something else.
pub const MAX_SECRET_BYTES: u64 = 4096;

const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// The value of a secret. It is wiped when dropped, and printing it shows nothing.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a value.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value, for the one call that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a reference could not be resolved. Says which reference, never a value.
#[derive(Debug, Error)]
pub enum SecretError {
    /// `env` names a variable that is not set.
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    /// `file` names a file that cannot be read.
    #[error("the file {path} cannot be read: {source}")]
    File {
        /// As written.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// `command` could not be run, failed, or took too long.
    #[error("the command {program} {reason}")]
    Command {
        /// Its first word.
        program: String,
        /// What went wrong.
        reason: String,
    },
    /// `command`, where programs must not be run.
    #[error("secrets by command are not allowed in this proxy")]
    CommandsNotAllowed,
    /// `command` is an empty list.
    #[error("the command of a secret names no program")]
    NoProgram,
    /// The value is too large to be a password.
    #[error("{0} holds more than {MAX_SECRET_BYTES} bytes, which is no password")]
    TooLong(String),
    /// The value is not text.
    #[error("{0} holds bytes that are not UTF-8, or a zero byte")]
    NotText(String),
    /// The value is empty, which is more often a mistake than a password.
    #[error("{0} holds nothing")]
    Empty(String),
}

/// What references may use.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// Where relative paths begin and commands run; empty: where this process runs.
    pub base: &'a Path,
    /// Whether references may run programs.
    pub allows_commands: bool,
    /// How long a command may take.
    pub command_timeout: Duration,
}

impl<'a> Access<'a> {
    /// Everything, from `base`; 30 seconds for a command.
    #[must_use]
    pub fn from(base: &'a Path) -> Self {
        Self {
            base,
            allows_commands: true,
            command_timeout: COMMAND_TIMEOUT,
        }
    }
}

/// Finds the value of `reference`. One line break at the end of a file or an output is not part of the value.
///
/// # Errors
/// [`SecretError`], which names the reference.
pub fn resolve(reference: &SecretReference, access: &Access<'_>) -> Result<Secret, SecretError> {
    match reference {
        SecretReference::Env(name) => match std::env::var_os(name) {
            Some(value) => checked(
                value.into_encoded_bytes(),
                format!("the environment variable {name}"),
            ),
            None => Err(SecretError::NoVariable(name.clone())),
        },
        SecretReference::File(path) => {
            let read = File::open(access.base.join(path)).and_then(read_limited);
            let bytes = read.map_err(|source| SecretError::File {
                path: path.clone(),
                source,
            })?;
            checked(without_line_break(bytes), format!("the file {path}"))
        }
        SecretReference::Command(_) if !access.allows_commands => Err(SecretError::CommandsNotAllowed),
        SecretReference::Command(words) => run(words, access),
    }
}

fn checked(bytes: Vec<u8>, origin: String) -> Result<Secret, SecretError> {
    let mut bytes = Zeroizing::new(bytes);
    if bytes.len() as u64 > MAX_SECRET_BYTES {
        return Err(SecretError::TooLong(origin));
    }
    if bytes.is_empty() {
        return Err(SecretError::Empty(origin));
    }
    if bytes.contains(&0) {
        return Err(SecretError::NotText(origin));
    }
    match String::from_utf8(std::mem::take(&mut *bytes)) {
        Ok(text) => Ok(Secret::new(text)),
        Err(error) => {
            error.into_bytes().zeroize();
            Err(SecretError::NotText(origin))
        }
    }
}

/// A line break more than the limit is read, so that a value that fills the limit can end in one. The buffer never
/// grows, because growing would leave a copy behind.
fn read_limited(source: impl Read) -> io::Result<Vec<u8>> {
    const MOST: u64 = MAX_SECRET_BYTES + 3;
    let mut bytes = Vec::with_capacity(2 * MOST as usize);
    source.take(MOST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn without_line_break(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    bytes
}

/// Runs a command without a shell. What it writes to standard error is not shown: it could hold the value.
fn run(words: &[String], access: &Access<'_>) -> Result<Secret, SecretError> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(SecretError::NoProgram);
    };
    let failed = |reason: String| SecretError::Command {
        program: program.clone(),
        reason,
    };
    let timeout = access.command_timeout;
    let deadline = Instant::now() + timeout;
    let mut command = Command::new(program);
    if !access.base.as_os_str().is_empty() {
        command.current_dir(access.base);
    }
    let mut child = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    let output = output_until(&mut child, deadline);
    let status = status_until(&mut child, deadline);
    let too_slow = || failed(format!("did not end within {} s", timeout.as_secs_f32()));
    let bytes = match output {
        Some(bytes) => bytes.map_err(|error| failed(format!("cannot be read from: {error}")))?,
        None => return Err(too_slow()),
    };
    let origin = format!("the output of the command {program}");
    if bytes.len() as u64 > MAX_SECRET_BYTES + 2 {
        return Err(SecretError::TooLong(origin));
    }
    match status.map_err(|error| failed(format!("cannot be waited for: {error}")))? {
        None => Err(too_slow()),
        Some(status) if !status.success() => Err(failed(format!(
            "failed ({status}); run it by hand to see what it says"
        ))),
        Some(_) => checked(without_line_break(bytes), origin),
    }
}

/// What the command writes until its output is closed; `None` when the deadline comes first. A program that it has started
/// and left behind may hold the output open.
fn output_until(child: &mut Child, deadline: Instant) -> Option<io::Result<Vec<u8>>> {
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        // The receiver is gone when the deadline has passed; the value is dropped with it.
        let _ = sender.send(read_limited(stdout));
    });
    let left = deadline.saturating_duration_since(Instant::now());
    receiver.recv_timeout(left).ok()
}

/// The command's end, or `None` after killing it at the deadline. The standard library has no wait with a deadline, and the
/// `wait-timeout` crate takes the process's SIGCHLD for itself.
fn status_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    const POLL: Duration = Duration::from_millis(5);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(script: &str) -> SecretReference {
        SecretReference::Command(["sh", "-c", script].map(String::from).to_vec())
    }

    fn outcome(reference: &SecretReference, base: &Path) -> String {
        match resolve(reference, &Access::from(base)) {
            Ok(secret) => {
                assert_eq!(format!("{secret:?}"), "Secret(…)");
                format!("{:?}", secret.expose())
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn references_give_a_value_or_say_which_of_them_did_not() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(dir.path().join(name), bytes).unwrap();
            SecretReference::File(name.into())
        };
        let full = vec![b'x'; MAX_SECRET_BYTES as usize];
        let cases = [
            write("plain", b"canary"),
            write("line", b"canary\n"),
            write("crlf", b"canary\r\n"),
            write("two-lines", b"canary\n\n"),
            write("empty", b""),
            write("only-a-line", b"\n"),
            write("binary", b"canary\xff"),
            write("zero", b"can\0ary"),
            write("too-long", &[full.as_slice(), b"x"].concat()),
            SecretReference::File("missing".into()),
            SecretReference::Env("SHARDWRIGHT_NO_SUCH_VARIABLE".into()),
            command("echo canary"),
            command("printf canary; exit 3"),
            command("echo canary >&2; exit 1"),
            command("head -c 100000 /dev/zero"),
            SecretReference::Command(vec!["./no-such-program".into(), "canary".into()]),
            SecretReference::Command(Vec::new()),
        ];
        let shown: Vec<String> = cases.iter().map(|case| outcome(case, dir.path())).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        "canary"
        "canary"
        "canary"
        "canary\n"
        the file empty holds nothing
        the file only-a-line holds nothing
        the file binary holds bytes that are not UTF-8, or a zero byte
        the file zero holds bytes that are not UTF-8, or a zero byte
        the file too-long holds more than 4096 bytes, which is no password
        the file missing cannot be read: No such file or directory (os error 2)
        the environment variable SHARDWRIGHT_NO_SUCH_VARIABLE is not set
        "canary"
        the command sh failed (exit status: 3); run it by hand to see what it says
        the command sh failed (exit status: 1); run it by hand to see what it says
        the output of the command sh holds more than 4096 bytes, which is no password
        the command ./no-such-program cannot be run: No such file or directory (os error 2)
        the command of a secret names no program
        "#);
        let full_line = write("full", &[full.as_slice(), b"\r\n"].concat());
        let filled = resolve(&full_line, &Access::from(dir.path())).unwrap();
        assert_eq!(filled.expose().len(), full.len());
    }

    #[test]
    fn a_command_that_does_not_end_is_killed() {
        let access = Access {
            command_timeout: Duration::from_millis(50),
            ..Access::from(Path::new(""))
        };
        // The last one ends and leaves a program behind that holds its output open.
        for endless in [
            "sleep 600",
            "exec >&-; sleep 600",
            "yes",
            "sleep 20 & echo canary",
        ] {
            let error = resolve(&command(endless), &access);
            assert!(
                matches!(error, Err(SecretError::Command { .. } | SecretError::TooLong(_))),
                "{endless}: {error:?}"
            );
        }
    }

    #[test]
    fn commands_run_where_they_are_allowed() {
        let access = Access {
            allows_commands: false,
            ..Access::from(Path::new(""))
        };
        assert!(matches!(
            resolve(&command("echo canary"), &access),
            Err(SecretError::CommandsNotAllowed)
        ));
        let secret = resolve(&command("echo canary"), &Access::from(Path::new(""))).unwrap();
        assert_eq!(secret.expose(), "canary");
    }
}
