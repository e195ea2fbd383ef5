//! Timers of the workers' sessions, kept by one thread for all of them.
//!
//! A runtime that has timers looks at them whenever it waits for sockets, several times for each statement, whether a timer is
//! set or not: it asks the time twice, and where one is set, the system sets an alarm and takes it away again. So workers' runtimes
//! have none. A timer of a session lies with the thread of [`ClockThread`], which wakes the session's worker when it is due.
//! That thread looks at the time four times a second anyway, so a timer that is set for later does not wake it.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{self, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, Timeout};

use crate::shared::Shared;
use crate::sweeps;

/// Sets timers, for whoever runs where there are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Option<Handle>);

impl Clock {
    /// Those of the runtime that asks.
    pub(crate) fn own() -> Self {
        Self(None)
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

    /// A timer stays with the runtime that is entered while it is made.
    fn set<T>(&self, make: impl FnOnce() -> T) -> T {
        let _entered = self.0.as_ref().map(Handle::enter);
        make()
    }
}

/// The runtime of a thread that keeps timers, before it is started.
pub(crate) struct NewClock(Runtime);

impl NewClock {
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Self(runtime))
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock(Some(self.0.handle().clone()))
    }

    /// Starts the thread; it also has workers look at the time.
    pub(crate) fn start(self, shared: Arc<Shared>) -> io::Result<ClockThread> {
        let (ends, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("clock".to_owned())
            .spawn(move || {
                self.0.block_on(async {
                    tokio::select! {
                        () = sweeps::run(&shared) => {}
                        _ = ended => {}
                    }
                });
            })?;
        Ok(ClockThread {
            ends: Some(ends),
            thread: Some(thread),
        })
    }
}

/// The thread that keeps timers. It ends with the value: workers end before it, since who looks at a timer that nobody keeps any
/// more panics.
#[derive(Debug)]
pub(crate) struct ClockThread {
    ends: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ClockThread {
    fn drop(&mut self) {
        drop(self.ends.take());
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the clock has panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn timers_are_kept_for_a_runtime_without_any() {
        let kept = NewClock::new().unwrap();
        let clock = kept.clock();
        let (ends, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || kept.0.block_on(ended));
        let worker = runtime::Builder::new_current_thread().build().unwrap();
        worker.block_on(async {
            let began = Instant::now();
            clock.sleep(Duration::from_millis(20)).await;
            assert!(began.elapsed() >= Duration::from_millis(20));
            let late = clock.timeout(Duration::from_millis(5), std::future::pending::<()>());
            assert!(late.await.is_err());
            let in_time = clock.timeout(Duration::from_secs(3600), async { 7 });
            assert_eq!(in_time.await.unwrap(), 7);
        });
        drop(ends);
        let _dropped = thread.join().unwrap();
    }

    /// Files whose code runs on threads that have timers of their own.
    const HAVE_TIMERS: [&str; 8] = [
        "clock.rs",
        "sweeps.rs",
        "listener.rs",
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
