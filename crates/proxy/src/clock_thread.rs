//! The thread that keeps the timers of sessions and has workers look at the time.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::shared::Shared;
use crate::sweeps;

/// The runtime of a thread that keeps timers, before it is started.
pub(crate) struct NewClock(Runtime);

impl NewClock {
    pub(crate) fn new() -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_time().build()?;
        Ok(Self(runtime))
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock::of(self.0.handle().clone())
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
    use std::time::Duration;

    use tokio::time::Instant;

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
}
