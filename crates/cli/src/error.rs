//! Why a command could not do its job, with what to do about it.

use std::io;
use std::path::Path;

use crate::exit::Exit;

/// A failure with its exit code; `main` reports it once.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl CommandError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, format!("internal error: {}", message.into()))
    }

    pub(crate) fn output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // Whoever reads has enough, as `head` does.
            return Self::shown(Exit::Done);
        }
        Self::failed(format!("cannot write to standard output: {error}"))
    }

    /// What the user can do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Problems of the input were shown already; only the exit code is left to give.
    pub(crate) fn shown(exit: Exit) -> Self {
        Self::new(exit, String::new())
    }
}

/// A file or directory that was named where a command reads the project of -C.
pub(crate) fn takes_no_file(path: &str, command: &str) -> CommandError {
    let directory = if Path::new(path).is_dir() { path } else { "DIR" };
    CommandError::usage(format!("{command} does not take {path}: -C names the project"))
        .hint(format!("shardwright -C {directory} {command}"))
}

/// A file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::failed(format!("cannot read {}: {error}", path.display()))
}
