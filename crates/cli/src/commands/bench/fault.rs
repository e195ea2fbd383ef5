//! The command that fails or moves the writer.

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use crate::error::CommandError;

/// A command of the shell, waiting, at work, or ended.
pub(super) enum Fault {
    Due(String, Instant),
    Running(Child, Instant),
    Ended(Ended),
    None,
}

/// A command that has ended.
#[derive(Clone, Copy)]
pub(super) struct Ended {
    pub(super) began: Instant,
    pub(super) at: Instant,
    pub(super) status: ExitStatus,
}

impl Fault {
    /// Starts the command when it is time, and notices its end; whether something has changed.
    pub(super) fn go_on(&mut self) -> Result<bool, CommandError> {
        let now = Instant::now();
        match self {
            Self::Due(command, at) if now >= *at => {
                let child = Command::new("/bin/sh")
                    .args(["-c", command.as_str()])
                    .stdin(Stdio::null())
                    // Standard output is for the result of this command.
                    .stdout(Stdio::from(std::io::stderr()))
                    .spawn()
                    .map_err(|error| CommandError::failed(format!("--on-ready cannot be run: {error}")))?;
                *self = Self::Running(child, now);
                Ok(true)
            }
            Self::Running(child, began) => {
                let ended = child.try_wait().map_err(|error| {
                    CommandError::failed(format!("--on-ready cannot be waited for: {error}"))
                })?;
                let Some(status) = ended else {
                    return Ok(false);
                };
                *self = Self::Ended(Ended {
                    began: *began,
                    at: now,
                    status,
                });
                Ok(true)
            }
            Self::Due(..) | Self::Ended(_) | Self::None => Ok(false),
        }
    }

    /// Whether it has not been started, or has not ended.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Due(..) | Self::Running(..))
    }

    pub(super) fn ended(&self) -> Option<Ended> {
        match self {
            Self::Ended(ended) => Some(*ended),
            _ => None,
        }
    }
}
