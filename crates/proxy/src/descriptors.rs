//! File descriptors: as many as the system allows, and what is done when they run out.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Time between two warnings that nothing can be accepted.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(10);

/// Descriptors that the proxy needs for itself.
const OWN: usize = 64;
/// What every system allows.
const FEWEST: u64 = 256;

/// Raises the soft limit to the hard one, and warns where that is too few for as many sessions, each with a connection to
/// a server.
pub(crate) fn raise_limit(sessions: usize) {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| {
        if soft < hard {
            setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        }
        Ok(hard)
    });
    match raised {
        Ok(limit) if limit < 2 * sessions as u64 => tracing::warn!(
            limit,
            sessions,
            "the limit of file descriptors (ulimit -n) is less than twice --max-connections"
        ),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "the limit of file descriptors cannot be raised"),
    }
}

/// How many connections that have not logged in the file descriptors allow. A quarter stays free for sessions, servers and the ports of
/// administrators and checks.
pub(crate) fn for_logins(sessions: usize) -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(FEWEST, |(soft, _)| soft);
    of_descriptors(usize::try_from(limit).unwrap_or(usize::MAX), sessions)
}

fn of_descriptors(limit: usize, sessions: usize) -> usize {
    let left = limit.saturating_sub(OWN);
    (left - left / 4).min(sessions).max(1)
}

/// Whether the process or the system has no file descriptors left.
pub(crate) fn are_exhausted(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error().map(Errno::from_raw),
        Some(Errno::EMFILE | Errno::ENFILE)
    )
}

/// A file descriptor for the time when there are no others: in its place a client is accepted and told so, instead of
/// waiting for nothing.
pub(crate) struct Reserve {
    file: Option<File>,
    told: Option<Instant>,
}

impl Reserve {
    pub(crate) fn new() -> Self {
        let mut reserve = Self {
            file: None,
            told: None,
        };
        reserve.refill();
        reserve
    }

    /// Whether nothing was logged for a while.
    pub(crate) fn is_news(&mut self) -> bool {
        let is_news = self.told.is_none_or(|told| told.elapsed() >= BETWEEN_WARNINGS);
        if is_news {
            self.told = Some(Instant::now());
        }
        is_news
    }

    /// Closes the file; `false` if there is none.
    pub(crate) fn give_up(&mut self) -> bool {
        self.file.take().is_some()
    }

    /// Opens the file again. Where it cannot be opened, the next failed accept tries again.
    pub(crate) fn refill(&mut self) {
        if self.file.is_none() {
            self.file = File::open("/dev/null").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_leave_descriptors_for_others() {
        assert_eq!(of_descriptors(1024, 10_000), 720);
        assert_eq!(of_descriptors(20_000, 10_000), 10_000);
        assert_eq!(of_descriptors(1_000_000, 500), 500);
        assert_eq!(of_descriptors(10, 10_000), 1);
    }
}
