//! The lag of replicas, from a row that the writer has and they look up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_ledger::Table;
use shardwright_testkit::poll_until;

use super::SCHEMA;
use super::servers::{REPLICAS, Servers};
use crate::BenchError;

/// From one beat to the next.
const BEAT_EVERY: Duration = Duration::from_millis(100);
/// From one look at a replica to the next.
const READ_EVERY: Duration = Duration::from_millis(50);
/// How long replicas may take to apply what they have.
const APPLIES_WITHIN: Duration = Duration::from_secs(600);

/// The beats of one turn.
pub(super) struct Beats {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    began: Instant,
    is_over: AtomicBool,
    seen: [Seen; REPLICAS],
    failure: Mutex<Option<mysql::Error>>,
}

/// What a replica has.
#[derive(Default)]
struct Seen {
    /// When the newest beat that it has was written, µs since the beginning.
    beat_us: AtomicU64,
    /// Rows.
    applied: AtomicU64,
}

impl Beats {
    /// Beats, and waits until each replica has one.
    pub(super) fn start(servers: &Servers, table: &Table) -> Result<Self, BenchError> {
        let shared = Arc::new(Shared {
            began: Instant::now(),
            is_over: AtomicBool::new(false),
            seen: std::array::from_fn(|_| Seen::default()),
            failure: Mutex::default(),
        });
        let mut beats = Self {
            shared: Arc::clone(&shared),
            threads: Vec::new(),
        };
        let mut writer = servers.writer().root()?;
        beats.spawn(move |shared| shared.beat(&mut writer))?;
        for (at, replica) in servers.replicas().iter().enumerate() {
            let mut connection = replica.root()?;
            let question = format!("SELECT MAX(at_us), (SELECT MAX(a) FROM {table}) FROM {SCHEMA}.beat");
            beats.spawn(move |shared| shared.read(at, &mut connection, &question))?;
        }
        let is_seen = |seen: &Seen| seen.beat_us.load(Ordering::Relaxed) > 0;
        let all_seen = poll_until(APPLIES_WITHIN, || shared.seen.iter().all(is_seen).then_some(()));
        beats.check()?;
        all_seen.map(|()| beats).map_err(|error| BenchError::Output {
            what: "no heartbeat arrives on the replicas".to_owned(),
            output: error.to_string(),
        })
    }

    fn spawn(
        &mut self,
        work: impl FnOnce(&Shared) -> mysql::Result<()> + Send + 'static,
    ) -> Result<(), BenchError> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .spawn(move || {
                if let Err(error) = work(&shared) {
                    *shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            })
            .map_err(BenchError::io("starting heartbeats"))?;
        self.threads.push(thread);
        Ok(())
    }

    /// How far each replica is behind now, s.
    pub(super) fn lags_s(&self) -> [f64; REPLICAS] {
        let now_us = self.shared.now_us();
        std::array::from_fn(|at| {
            let beat_us = self.shared.seen[at].beat_us.load(Ordering::Relaxed);
            now_us.saturating_sub(beat_us) as f64 / 1e6
        })
    }

    /// How far the replica is behind that is further behind, s.
    pub(super) fn worst_lag_s(&self) -> f64 {
        self.lags_s().into_iter().fold(0.0, f64::max)
    }

    /// Rows that each replica has.
    pub(super) fn applied(&self) -> [u64; REPLICAS] {
        std::array::from_fn(|at| self.shared.seen[at].applied.load(Ordering::Relaxed))
    }

    pub(super) fn least_applied(&self) -> u64 {
        self.applied().into_iter().min().unwrap_or_default()
    }

    /// # Errors
    /// A server did not answer.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let mut failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Waits until replicas have what was written before.
    pub(super) fn wait_until_applied(&self) -> Result<(), BenchError> {
        let now_us = self.shared.now_us();
        let is_there = |seen: &Seen| seen.beat_us.load(Ordering::Relaxed) > now_us;
        let applied = poll_until(APPLIES_WITHIN, || {
            self.shared.seen.iter().all(is_there).then_some(())
        });
        self.check()?;
        applied.map_err(|error| BenchError::Output {
            what: "replicas do not apply what they have".to_owned(),
            output: error.to_string(),
        })
    }

    /// Ends the beats.
    pub(super) fn stop(mut self) -> Result<(), BenchError> {
        self.end();
        self.check()
    }

    fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has said so, and its replica's lag grows without end.
            let _ended = thread.join();
        }
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn now_us(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }

    fn beat(&self, writer: &mut Conn) -> mysql::Result<()> {
        while self.goes_on() {
            writer.query_drop(format!(
                "REPLACE INTO {SCHEMA}.beat (server_id, ts, at_us) VALUES (@@global.server_id, UTC_TIMESTAMP(6), {})",
                self.now_us().max(1)
            ))?;
            std::thread::sleep(BEAT_EVERY);
        }
        Ok(())
    }

    fn read(&self, at: usize, replica: &mut Conn, question: &str) -> mysql::Result<()> {
        while self.goes_on() {
            let row: Option<(Option<u64>, Option<u64>)> = replica.query_first(question)?;
            let (beat_us, applied) = row.unwrap_or_default();
            let seen = &self.seen[at];
            seen.beat_us.store(beat_us.unwrap_or(0), Ordering::Relaxed);
            seen.applied.store(applied.unwrap_or(0), Ordering::Relaxed);
            std::thread::sleep(READ_EVERY);
        }
        Ok(())
    }
}
