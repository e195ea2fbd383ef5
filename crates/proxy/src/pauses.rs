//! Clusters whose statements for the writer wait: while the writer changes, no client meets a server that refuses writes.
//!
//! A pause ends when it is told to, or by itself, so that nobody waits for an operator who has gone. What has begun goes on: sessions
//! whose transaction is open are not held up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shardwright_rules::{Address, HostgroupId};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;

/// The longest that a cluster can be told to wait.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// The clusters that wait.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    /// How many there are: statements look no further where there is none.
    count: AtomicUsize,
    paused: Mutex<BTreeMap<Address, Arc<Pause>>>,
    resumed: Notify,
}

/// A cluster that waits.
#[derive(Debug)]
pub(crate) struct Pause {
    /// Of its writer.
    pub(crate) hostgroup: HostgroupId,
    /// When it ends by itself.
    pub(crate) until: Instant,
    waiting: AtomicUsize,
}

impl Pause {
    /// Statements that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// A statement that waits.
struct Waiting<'a>(&'a Pause);

impl<'a> Waiting<'a> {
    fn new(pause: &'a Pause) -> Self {
        pause.waiting.fetch_add(1, Ordering::Relaxed);
        Self(pause)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pauses {
    /// Has statements for this writer wait from here on; `None`: they do already.
    pub(crate) fn begin(&self, cluster: &Address, hostgroup: HostgroupId, time: Duration) -> Option<()> {
        let mut paused = self.paused();
        if paused.contains_key(cluster) {
            return None;
        }
        let pause = Pause {
            hostgroup,
            until: Instant::now() + time.min(LONGEST),
            waiting: AtomicUsize::new(0),
        };
        paused.insert(cluster.clone(), Arc::new(pause));
        self.count.store(paused.len(), Ordering::Release);
        Some(())
    }

    /// Lets them go on; whether they waited.
    pub(crate) fn end(&self, cluster: &Address) -> bool {
        let mut paused = self.paused();
        let was_paused = paused.remove(cluster).is_some();
        self.count.store(paused.len(), Ordering::Release);
        drop(paused);
        self.resumed.notify_waiters();
        was_paused
    }

    /// The clusters that wait.
    pub(crate) fn all(&self) -> Vec<(Address, Arc<Pause>)> {
        let paused = self.paused();
        let pauses = paused.iter();
        pauses
            .map(|(cluster, pause)| (cluster.clone(), pause.clone()))
            .collect()
    }

    /// Whether a cluster waits.
    pub(crate) fn has(&self, cluster: &Address) -> bool {
        !self.is_empty() && self.paused().contains_key(cluster)
    }

    /// Whether no cluster waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Until statements for this writer need not wait.
    pub(crate) async fn ended(&self, hostgroup: HostgroupId, clock: &Clock) {
        while !self.is_empty() {
            let resumed = self.resumed.notified();
            tokio::pin!(resumed);
            // From here on, an end is heard.
            resumed.as_mut().enable();
            let found = self
                .paused()
                .values()
                .find(|pause| pause.hostgroup == hostgroup)
                .cloned();
            let Some(pause) = found else {
                return;
            };
            let _waiting = Waiting::new(&pause);
            tokio::select! {
                () = resumed => {}
                () = clock.sleep_until(pause.until) => {}
            }
        }
    }

    /// The clusters that wait; those whose time is over do not.
    fn paused(&self) -> MutexGuard<'_, BTreeMap<Address, Arc<Pause>>> {
        let mut paused = self.paused.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        paused.retain(|cluster, pause| {
            let goes_on = now < pause.until;
            if !goes_on {
                tracing::warn!(%cluster, "a pause has ended by itself: nobody has ended it in time");
            }
            goes_on
        });
        self.count.store(paused.len(), Ordering::Release);
        paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITER: HostgroupId = HostgroupId(1);

    fn shop() -> Address {
        Address::new("clusters.shop")
    }

    #[tokio::test(start_paused = true)]
    async fn a_statement_waits_until_it_may_go_on() {
        let pauses = Pauses::default();
        pauses.ended(WRITER, &Clock::own()).await;
        let minute = Duration::from_secs(60);
        assert_eq!(pauses.begin(&shop(), WRITER, minute), Some(()));
        assert_eq!(
            pauses.begin(&shop(), WRITER, minute),
            None,
            "it is paused already"
        );
        pauses.ended(HostgroupId(2), &Clock::own()).await;
        let clock = Clock::own();
        let waits = pauses.ended(WRITER, &clock);
        tokio::pin!(waits);
        tokio::select! {
            biased;
            () = &mut waits => panic!("it was let through"),
            () = tokio::time::sleep(Duration::from_secs(10)) => {}
        }
        assert_eq!(pauses.all()[0].1.waiting(), 1);
        assert!(pauses.end(&shop()));
        waits.await;
        assert!(!pauses.end(&shop()), "it has ended");
        assert!(pauses.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_nobody_ends_ends_by_itself() {
        let pauses = Pauses::default();
        let before = Instant::now();
        pauses.begin(&shop(), WRITER, Duration::from_secs(3600));
        pauses.ended(WRITER, &Clock::own()).await;
        assert_eq!(before.elapsed(), LONGEST);
        assert!(!pauses.has(&shop()));
        assert!(pauses.is_empty());
    }
}
