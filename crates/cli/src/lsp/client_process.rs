//! The process of the editor: the server ends when it is gone.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

/// The process that an editor names when it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientProcess(Pid);

impl ClientProcess {
    /// None if no process has this number: an editor on another machine, or outside of a container, has one of its own.
    pub(super) fn of(id: u32) -> Option<Self> {
        let pid = i32::try_from(id).ok().filter(|id| *id > 0)?;
        Some(Self(Pid::from_raw(pid))).filter(|client| client.is_alive())
    }

    /// Whether it runs. One that may not be asked does.
    pub(super) fn is_alive(&self) -> bool {
        kill(self.0, None) != Err(Errno::ESRCH)
    }
}
