//! Resolving references to secrets; the values never leave this process and are never stored.

use std::fs::File;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use shardwright_rules::SecretReference;
use shardwright_wire::ClientSecret;
use shardwright_wire::auth::{NativeVerifier, PasswordHash};
use zeroize::Zeroizing;

/// Longer than any password; a file of this size is something else.
const MAX_SECRET: u64 = 4096;
const COMMAND_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a reference could not be resolved. Says which reference, never a value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SecretError {
    #[error("the environment variable {0} is not set")]
    NoVariable(String),
    #[error("the file {path} cannot be read: {source}")]
    File { path: String, source: io::Error },
    #[error("{0} is longer than {MAX_SECRET} bytes")]
    TooLong(String),
    #[error("{0} holds nothing")]
    Empty(String),
    #[error("the command {program} {reason}")]
    Command { program: String, reason: String },
    #[error("secrets by command are not allowed in this proxy")]
    CommandsNotAllowed,
}

/// What a proxy keeps of a user's password: enough to verify a client's answer and to answer a backend.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) verifier: NativeVerifier,
    pub(crate) secret: ClientSecret,
}

impl Credentials {
    /// Hashes of what `reference` stands for; `None` is the empty password.
    pub(crate) fn resolve(
        reference: Option<&SecretReference>,
        allow_commands: bool,
    ) -> Result<Self, SecretError> {
        let password = match reference {
            // A user without a password is one without a reference: an empty value is a mistake that lets anybody in.
            Some(reference) => Some(resolve(reference, allow_commands)?)
                .filter(|password| !password.is_empty())
                .ok_or_else(|| SecretError::Empty(shown(reference)))?,
            None => Zeroizing::default(),
        };
        let secret = match PasswordHash::of(&password) {
            Some(hash) => ClientSecret::Hash(hash),
            None => ClientSecret::Password(Vec::new()),
        };
        Ok(Self {
            verifier: NativeVerifier::from_password(&password),
            secret,
        })
    }
}

/// A reference as messages name it.
fn shown(reference: &SecretReference) -> String {
    match reference {
        SecretReference::Env(name) => format!("the environment variable {name}"),
        SecretReference::File(path) => format!("the file {path}"),
        SecretReference::Command(words) => format!(
            "the output of {}",
            words.first().map_or("a command", String::as_str)
        ),
    }
}

fn resolve(reference: &SecretReference, allow_commands: bool) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    match reference {
        SecretReference::Env(name) => match std::env::var_os(name) {
            Some(value) => Ok(Zeroizing::new(value.into_encoded_bytes())),
            None => Err(SecretError::NoVariable(name.clone())),
        },
        SecretReference::File(path) => {
            let failed = |source| SecretError::File {
                path: path.clone(),
                source,
            };
            let file = File::open(path).map_err(failed)?;
            without_line_break(read_limited(file).map_err(failed)?, || format!("the file {path}"))
        }
        SecretReference::Command(_) if !allow_commands => Err(SecretError::CommandsNotAllowed),
        SecretReference::Command(words) => run(words),
    }
}

/// At most one byte more than the limit, so that what is too long can be told.
fn read_limited(source: impl Read) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_SECRET as usize + 1));
    source.take(MAX_SECRET + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn without_line_break(
    mut bytes: Zeroizing<Vec<u8>>,
    what: impl FnOnce() -> String,
) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    if bytes.len() as u64 > MAX_SECRET {
        return Err(SecretError::TooLong(what()));
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    Ok(bytes)
}

fn run(words: &[String]) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let program = words.first().cloned().unwrap_or_default();
    let failed = |reason: String| SecretError::Command {
        program: program.clone(),
        reason,
    };
    let mut child = Command::new(&program)
        .args(words.get(1..).unwrap_or_default())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(format!("cannot be run: {error}")))?;
    let output = child.stdout.take().expect("stdout was piped");
    let reader = std::thread::spawn(move || read_limited(output));
    let Some(status) = wait(&mut child).map_err(|error| failed(format!("cannot be waited for: {error}")))?
    else {
        return Err(failed(format!("did not end within {COMMAND_TIMEOUT:?}")));
    };
    if !status.success() {
        return Err(failed(format!("failed: {status}")));
    }
    let bytes = reader
        .join()
        .map_err(|_| failed("could not be read".to_owned()))?
        .map_err(|error| failed(format!("could not be read: {error}")))?;
    without_line_break(bytes, || format!("the output of {program}"))
}

/// The status of a child; `None` when it had to be killed.
fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + COMMAND_TIMEOUT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_loses_one_line_break() {
        for (content, secret) in [
            ("geheim\n", "geheim"),
            ("geheim\r\n", "geheim"),
            ("geheim\n\n", "geheim\n"),
            ("geheim", "geheim"),
            ("", ""),
        ] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(content.as_bytes()).unwrap();
            let reference = SecretReference::File(file.path().to_str().unwrap().to_owned());
            assert_eq!(resolve(&reference, false).unwrap().as_slice(), secret.as_bytes());
        }
    }

    #[test]
    fn an_empty_value_is_no_password() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reference = SecretReference::File(file.path().to_str().unwrap().to_owned());
        let empty = Credentials::resolve(Some(&reference), false).unwrap_err();
        assert!(matches!(empty, SecretError::Empty(_)), "{empty}");
        let command = SecretReference::Command(vec!["true".into()]);
        insta::assert_snapshot!(
            Credentials::resolve(Some(&command), true).unwrap_err(),
            @"the output of true holds nothing"
        );
        assert!(Credentials::resolve(None, false).is_ok());
    }

    #[test]
    fn errors_name_the_reference() {
        let missing = SecretReference::Env("SHARDWRIGHT_TEST_UNSET".into());
        insta::assert_snapshot!(
            resolve(&missing, false).unwrap_err(),
            @"the environment variable SHARDWRIGHT_TEST_UNSET is not set"
        );
        let missing = SecretReference::File("/nonexistent/secret".into());
        insta::assert_snapshot!(
            resolve(&missing, false).unwrap_err(),
            @"the file /nonexistent/secret cannot be read: No such file or directory (os error 2)"
        );
        let failing = SecretReference::Command(vec!["false".into()]);
        insta::assert_snapshot!(
            resolve(&failing, true).unwrap_err(),
            @"the command false failed: exit status: 1"
        );
        insta::assert_snapshot!(
            resolve(&failing, false).unwrap_err(),
            @"secrets by command are not allowed in this proxy"
        );
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&[b'x'; 5000]).unwrap();
        let long = SecretReference::File(file.path().to_str().unwrap().to_owned());
        assert!(matches!(resolve(&long, false), Err(SecretError::TooLong(_))));
    }

    #[test]
    fn a_command_gives_its_output() {
        let command = SecretReference::Command(vec!["echo".into(), "geheim".into()]);
        assert_eq!(resolve(&command, true).unwrap().as_slice(), b"geheim");
    }
}
