//! Timers of the workers' sessions, kept by one thread for all of them.
//!
//! A runtime that has timers looks at them whenever it waits for sockets, several times for each statement, whether a timer is
//! set or not: it asks the time twice, and where one is set, the system sets an alarm and takes it away again. So workers' loops
//! have none. A timer of a session lies with the thread of [`crate::clock_thread`], which wakes the session's worker when it is due.
//! That thread looks at the time four times a second anyway, so a timer that is set for later does not wake it.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, Timeout};

/// Sets timers, for whoever runs where there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Option<Handle>);

impl Clock {
    /// Those of the runtime that asks.
    pub(crate) fn own() -> Self {
        Self(None)
    }

    /// Those of another runtime.
    pub(crate) fn of(runtime: Handle) -> Self {
        Self(Some(runtime))
    }

    pub(crate) fn sleep(&self, duration: Duration) -> Sleep {
        self.set(|| tokio::time::sleep(duration))
    }

    pub(crate) fn sleep_until(&self, moment: Instant) -> Sleep {
        self.set(|| tokio::time::sleep_until(moment))
    }

    pub(crate) fn timeout<F: Future>(&self, duration: Duration, future: F) -> Timeout<F> {
        self.set(|| tokio::time::timeout(duration, future))
    }

    /// Runs on another thread what would hold this one up.
    pub(crate) fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.set(|| tokio::task::spawn_blocking(work))
    }

    /// A timer stays with the runtime that is entered while it is made.
    fn set<T>(&self, make: impl FnOnce() -> T) -> T {
        let _entered = self.0.as_ref().map(Handle::enter);
        make()
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    /// Files whose code runs on threads that have timers of their own.
    const HAVE_TIMERS: [&str; 8] = [
        "clock.rs",
        "clock_thread.rs",
        "sweeps.rs",
        "refuse.rs",
        "checks/",
        "watch/",
        "throttles/",
        "admin/",
    ];

    #[test]
    fn nothing_that_workers_run_sets_timers_of_its_own() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let (mut folders, mut found) = (vec![source.clone()], Vec::<PathBuf>::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
                if path.is_dir() {
                    folders.push(path);
                } else if !HAVE_TIMERS.iter().any(|known| name.starts_with(known)) {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                    let sets = ["time::sleep", "time::timeout", "time::interval"];
                    if sets.iter().any(|call| code.contains(call)) {
                        found.push(path);
                    }
                }
            }
        }
        assert_eq!(found, Vec::<PathBuf>::new(), "see Clock");
    }
}
