//! One throttle on one cluster: what statements pass, and what is counted.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use shardwright_rules::throttle::{Change, Reading, Regulator};
use shardwright_rules::{Address, Throttle};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// One throttle on one cluster.
#[derive(Debug)]
pub(crate) struct Gate {
    /// `throttles.NAME`
    pub(crate) address: Address,
    /// `clusters.NAME`
    pub(crate) cluster: Address,
    pub(crate) throttle: Arc<Throttle>,
    regulated: Mutex<Regulated>,
    /// Whether it slows statements; without a signal, always.
    is_started: AtomicBool,
    /// How long a statement waits now, in microseconds.
    delay_us: AtomicU64,
    /// One permit for each statement that may run; `None`: any number.
    permits: Option<Arc<Semaphore>>,
    /// Tells those who wait that it has stopped.
    stopped: Notify,
    counts: Arc<Counts>,
}

/// What is known of the signal, and what follows.
#[derive(Debug, Default)]
struct Regulated {
    regulator: Regulator,
    reading: Reading,
    /// When it started or stopped last.
    since: Option<SystemTime>,
}

/// What is counted of a throttle on a cluster, of all its generations.
#[derive(Debug, Default)]
struct Counts {
    starts: AtomicU64,
    delayed: AtomicU64,
    waited_us: AtomicU64,
    waiting: AtomicUsize,
    limited: AtomicU64,
    refused: AtomicU64,
}

/// What people see of a gate.
#[derive(Clone, Debug)]
pub(crate) struct GateFigures {
    pub(crate) reading: Reading,
    pub(crate) is_started: bool,
    pub(crate) since: Option<SystemTime>,
    pub(crate) delay: Duration,
    pub(crate) running: Option<usize>,
    pub(crate) waiting: usize,
    pub(crate) starts: u64,
    pub(crate) delayed: u64,
    pub(crate) waited: Duration,
    pub(crate) limited: u64,
    pub(crate) refused: u64,
}

/// A statement's places among those that may run at once; given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Passage(Vec<OwnedSemaphorePermit>);

impl Passage {
    pub(crate) fn add(&mut self, permit: OwnedSemaphorePermit) {
        self.0.push(permit);
    }
}

/// Counts a statement among those that wait; what it has waited is added when it is dropped.
pub(crate) struct Waiting<'g> {
    gate: &'g Gate,
    since: Instant,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let counts = &self.gate.counts;
        counts.waiting.fetch_sub(1, Ordering::Relaxed);
        let waited = u64::try_from(self.since.elapsed().as_micros()).unwrap_or(u64::MAX);
        counts.waited_us.fetch_add(waited, Ordering::Relaxed);
    }
}

impl Gate {
    /// A gate in place of a `former` one of the same throttle: what was started stays started.
    pub(crate) fn new(
        address: Address,
        cluster: Address,
        throttle: Arc<Throttle>,
        former: Option<&Gate>,
    ) -> Self {
        let regulated = former.map_or_else(Regulated::default, |former| {
            let former = former.regulated();
            Regulated {
                regulator: former.regulator.taken_over_by(&throttle),
                reading: Reading::Unknown,
                since: former.since,
            }
        });
        let permits = throttle
            .max_concurrent
            .map(|limit| Arc::new(Semaphore::new((limit as usize).min(Semaphore::MAX_PERMITS))));
        let gate = Self {
            is_started: AtomicBool::new(throttle.signal.is_none()),
            delay_us: AtomicU64::new(u64::from(throttle.certain_delay_ms().unwrap_or(0)) * 1000),
            counts: former.map(|former| former.counts.clone()).unwrap_or_default(),
            regulated: Mutex::default(),
            stopped: Notify::new(),
            address,
            cluster,
            throttle,
            permits,
        };
        if gate.throttle.signal.is_some() {
            gate.publish(&regulated.regulator);
        }
        *gate.regulated() = regulated;
        gate
    }

    fn regulated(&self) -> MutexGuard<'_, Regulated> {
        self.regulated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, regulator: &Regulator) {
        let delay_us = u64::try_from(regulator.delay().as_micros()).unwrap_or(u64::MAX);
        self.delay_us.store(delay_us, Ordering::Relaxed);
        self.is_started.store(regulator.is_started(), Ordering::Release);
    }

    /// Whether it slows statements now.
    pub(crate) fn is_started(&self) -> bool {
        self.is_started.load(Ordering::Acquire) && !self.has_ended()
    }

    /// Whether it has ended for good.
    pub(crate) fn has_ended(&self) -> bool {
        self.throttle.ends_at_s.is_some_and(|end_s| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.is_ok_and(|now| now.as_secs() >= end_s)
        })
    }

    /// How long a statement waits now.
    pub(crate) fn delay(&self) -> Duration {
        match self.is_started() {
            true => Duration::from_micros(self.delay_us.load(Ordering::Relaxed)),
            false => Duration::ZERO,
        }
    }

    /// Until it stops next.
    pub(crate) fn stopped(&self) -> Notified<'_> {
        self.stopped.notified()
    }

    /// The places of those that may run at once.
    pub(crate) fn permits(&self) -> Option<&Arc<Semaphore>> {
        self.permits.as_ref()
    }

    /// Counts a statement that is delayed.
    pub(crate) fn delayed(&self) -> Waiting<'_> {
        self.counts.delayed.fetch_add(1, Ordering::Relaxed);
        self.waiting()
    }

    /// Counts a statement that waits for a place.
    pub(crate) fn limited(&self) -> Waiting<'_> {
        self.counts.limited.fetch_add(1, Ordering::Relaxed);
        self.waiting()
    }

    fn waiting(&self) -> Waiting<'_> {
        self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting {
            gate: self,
            since: Instant::now(),
        }
    }

    /// Counts a statement that got no place in time.
    pub(crate) fn refused(&self) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes up what is known of the signal. `at` is the time since any fixed moment.
    pub(crate) fn look(&self, at: Duration, reading: Reading) {
        let mut regulated = self.regulated();
        let was_known = regulated.reading != Reading::Unknown;
        regulated.reading = reading;
        let change = regulated.regulator.look(&self.throttle, at, reading);
        self.publish(&regulated.regulator);
        let since = regulated.since;
        if change.is_some() {
            regulated.since = Some(SystemTime::now());
        }
        let is_known = reading != Reading::Unknown;
        drop(regulated);
        match change {
            Some(change) => self.changed(change, reading, since),
            None if was_known && !is_known && self.is_started() => {
                tracing::warn!(throttle = %self.address, cluster = %self.cluster, "{} is not known: the throttle stays started", self.signal());
            }
            None => {}
        }
    }

    fn changed(&self, change: Change, reading: Reading, since: Option<SystemTime>) {
        let (throttle, cluster, signal) = (&self.address, &self.cluster, self.signal());
        let said = self.said(reading).unwrap_or_default();
        if change == Change::Started {
            self.counts.starts.fetch_add(1, Ordering::Relaxed);
            tracing::info!(%throttle, %cluster, "started: {signal} is {said}");
            return;
        }
        self.stopped.notify_waiters();
        let after_s = since
            .and_then(|since| since.elapsed().ok())
            .map_or(0, |since| since.as_secs());
        match change {
            Change::Released => {
                tracing::warn!(%throttle, %cluster, after_s, "released: {signal} is not known");
            }
            Change::Started | Change::Stopped => {
                tracing::info!(%throttle, %cluster, after_s, "stopped: {signal} is {said}");
            }
        }
    }

    /// What the signal is called; empty where there is none.
    pub(crate) fn signal(&self) -> &str {
        let signal = self.throttle.signal.as_ref();
        signal.map_or("", |signal| signal.source.name())
    }

    /// A reading in words.
    pub(crate) fn said(&self, reading: Reading) -> Option<String> {
        let source = &self.throttle.signal.as_ref()?.source;
        let value = source.said(reading.value()?);
        Some(match reading {
            Reading::AtLeast(_) => format!("{value} or more"),
            Reading::Known { .. } | Reading::Unknown => value,
        })
    }

    /// What people see of it.
    pub(crate) fn figures(&self) -> GateFigures {
        let regulated = self.regulated();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let running = |permits: &Arc<Semaphore>| {
            let limit = self.throttle.max_concurrent.unwrap_or(0) as usize;
            limit.saturating_sub(permits.available_permits())
        };
        GateFigures {
            reading: regulated.reading,
            since: regulated.since,
            is_started: self.is_started(),
            delay: self.delay(),
            running: self.permits.as_ref().map(running),
            waiting: self.counts.waiting.load(Ordering::Relaxed),
            starts: count(&self.counts.starts),
            delayed: count(&self.counts.delayed),
            waited: Duration::from_micros(count(&self.counts.waited_us)),
            limited: count(&self.counts.limited),
            refused: count(&self.counts.refused),
        }
    }
}
