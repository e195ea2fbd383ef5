//! Clients at work, and what they were told.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts};

use crate::answers::{Answer, ErrorKind};
use crate::client;

/// A table for the rows, which are kept apart by their run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    schema: String,
    name: String,
}

impl Table {
    /// A table of a schema, by their names as they are.
    #[must_use]
    pub fn new(schema: &str, name: &str) -> Self {
        let [schema, name] = [schema, name].map(|part| part.replace('`', "``"));
        Self { schema, name }
    }

    /// Makes it, where it is not there.
    ///
    /// # Errors
    /// The server's.
    pub fn create(&self, connection: &mut Conn) -> mysql::Result<()> {
        connection.query_drop(format!(
            "CREATE TABLE IF NOT EXISTS {self} (a BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, \
             d TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, c DATETIME(6), \
             run BIGINT UNSIGNED NOT NULL, number BIGINT UNSIGNED NOT NULL, KEY (run, number))"
        ))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`.`{}`", self.schema, self.name)
    }
}

/// What clients do.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where they connect, in turns; at least one. Its timeouts say how long they wait for an answer.
    pub targets: Vec<Opts>,
    /// Where rows go.
    pub table: Table,
    /// Tells the rows of this run from those of others.
    pub run: u64,
    /// How many clients.
    pub clients: NonZeroU32,
    /// Commits in a second of all clients together; none: as fast as answers come.
    pub rate: Option<f64>,
    /// Every so many commits of a client is a transaction of [`Load::TRANSACTION_ROWS`] rows; 0: none. The others are single
    /// statements.
    pub transaction_every: u64,
}

impl Load {
    /// Rows of a transaction.
    pub const TRANSACTION_ROWS: u64 = 2;

    /// Starts the clients.
    ///
    /// # Errors
    /// There is no target, or a thread cannot be started.
    pub fn start(self) -> std::io::Result<Running> {
        if self.targets.is_empty() {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let began = Instant::now();
        let shared = Arc::new(Shared {
            load: self,
            began,
            is_over: AtomicBool::new(false),
            told: Mutex::default(),
        });
        let mut running = Running {
            shared: Arc::clone(&shared),
            clients: Vec::new(),
        };
        let targets = shared.load.targets.iter().cycle();
        for (client, target) in (0..shared.load.clients.get()).zip(targets) {
            let (shared, target) = (Arc::clone(&shared), target.clone());
            let work = move || client::work(&shared, target, client.into());
            let started = std::thread::Builder::new().spawn(work)?;
            running.clients.push(started);
        }
        Ok(running)
    }

    /// How many rows a commit has.
    pub(crate) fn rows(&self, number: u64) -> u64 {
        let turn = number / u64::from(self.clients.get());
        let is_transaction = self.transaction_every > 0 && (turn + 1).is_multiple_of(self.transaction_every);
        if is_transaction { Self::TRANSACTION_ROWS } else { 1 }
    }
}

/// What clients and their owner share.
pub(crate) struct Shared {
    pub(crate) load: Load,
    began: Instant,
    is_over: AtomicBool,
    told: Mutex<Told>,
}

/// What clients were told, in the order in which they heard it.
#[derive(Debug, Default)]
struct Told {
    acknowledged: Vec<Acknowledged>,
    refused: Vec<u64>,
    unknown: Vec<u64>,
    errors: BTreeMap<(ErrorKind, u16), Errors>,
}

#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    number: u64,
    sent: Instant,
    at: Instant,
}

/// Errors of one kind and code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Errors {
    /// How many.
    pub count: u64,
    /// The first message.
    pub message: String,
    /// When the first one came, from the beginning.
    pub first: Duration,
    /// When the last one came.
    pub last: Duration,
}

impl Shared {
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits, but not longer than the run.
    pub(crate) fn pause(&self, pause: Duration) {
        const STEP: Duration = Duration::from_millis(50);
        let until = Instant::now() + pause;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(STEP));
        }
    }

    pub(crate) fn not_sent(&self, (code, message): (u16, String)) {
        self.error(&mut self.told(), ErrorKind::NotSent, code, message);
    }

    pub(crate) fn answered(&self, number: u64, sent: Instant, answer: Answer) {
        let mut told = self.told();
        match answer {
            Answer::Acknowledged => told.acknowledged.push(Acknowledged {
                number,
                sent,
                at: Instant::now(),
            }),
            Answer::Refused(code, message) => {
                told.refused.push(number);
                self.error(&mut told, ErrorKind::Refused, code, message);
            }
            Answer::Unknown(code, message) => {
                told.unknown.push(number);
                self.error(&mut told, ErrorKind::Unknown, code, message);
            }
        }
    }

    fn error(&self, told: &mut Told, kind: ErrorKind, code: u16, message: String) {
        let now = self.began.elapsed();
        let errors = told.errors.entry((kind, code)).or_insert(Errors {
            count: 0,
            message,
            first: now,
            last: now,
        });
        errors.count += 1;
        errors.last = now;
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // Nothing that holds it can fail half-way.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Clients at work; they end with the value.
pub struct Running {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

impl Running {
    /// When they were started.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.shared.began
    }

    /// Commits that were acknowledged so far.
    #[must_use]
    pub fn acknowledged(&self) -> usize {
        self.shared.told().acknowledged.len()
    }

    /// When the first commit after a moment was acknowledged, if one was.
    #[must_use]
    pub fn first_after(&self, moment: Instant) -> Option<Instant> {
        let told = self.shared.told();
        let mut later = told.acknowledged.iter().map(|one| one.at);
        later.find(|at| *at > moment)
    }

    /// What clients were told so far.
    #[must_use]
    pub fn so_far(&self) -> Ledger {
        self.ledger()
    }

    /// Ends the clients, each after its answer, and gives what they were told.
    #[must_use]
    pub fn stop(mut self) -> Ledger {
        self.end();
        self.ledger()
    }

    fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            // A client that panicked has said so; what the others were told still counts.
            let _ended = client.join();
        }
    }

    fn ledger(&self) -> Ledger {
        let told = self.shared.told();
        Ledger {
            load: self.shared.load.clone(),
            began: self.shared.began,
            ended: Instant::now(),
            acknowledged: told.acknowledged.clone(),
            refused: told.refused.clone(),
            unknown: told.unknown.clone(),
            errors: told.errors.clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// A time without an acknowledged commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// When it began, from the beginning of the run.
    pub from: Duration,
    /// How long it was.
    pub length: Duration,
    /// It lasted until the clients were stopped.
    pub is_open: bool,
}

/// What clients were told.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) load: Load,
    began: Instant,
    ended: Instant,
    acknowledged: Vec<Acknowledged>,
    refused: Vec<u64>,
    unknown: Vec<u64>,
    errors: BTreeMap<(ErrorKind, u16), Errors>,
}

impl Ledger {
    /// What they did.
    #[must_use]
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// How long the clients worked.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.ended - self.began
    }

    /// Commits that were acknowledged.
    pub fn acknowledged(&self) -> impl ExactSizeIterator<Item = u64> {
        self.acknowledged.iter().map(|one| one.number)
    }

    /// Rows of the commits that were acknowledged.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.acknowledged().map(|number| self.load.rows(number)).sum()
    }

    /// Commits that were refused.
    #[must_use]
    pub fn refused(&self) -> &[u64] {
        &self.refused
    }

    /// Commits of which nobody knows.
    #[must_use]
    pub fn unknown(&self) -> &[u64] {
        &self.unknown
    }

    /// Errors by kind and code.
    #[must_use]
    pub fn errors(&self) -> &BTreeMap<(ErrorKind, u16), Errors> {
        &self.errors
    }

    /// The longest time without an acknowledged commit since a moment of the run, of all clients together.
    #[must_use]
    pub fn longest_gap(&self, since: Instant) -> Gap {
        let mut last = since.max(self.began);
        let mut longest = Gap {
            from: last - self.began,
            length: Duration::ZERO,
            is_open: false,
        };
        let later = self.acknowledged.iter().map(|one| one.at);
        let later = later.filter(|at| *at > since).map(|at| (at, false));
        for (at, is_open) in later.chain([(self.ended, true)]) {
            let length = at.saturating_duration_since(last);
            if length > longest.length {
                longest = Gap {
                    from: last - self.began,
                    length,
                    is_open,
                };
            }
            last = at;
        }
        longest
    }

    /// When the first commit was acknowledged, if one was.
    #[must_use]
    pub fn first(&self) -> Option<Instant> {
        self.acknowledged.first().map(|one| one.at)
    }

    /// The longest time that a client waited for the acknowledgement of one commit.
    #[must_use]
    pub fn slowest(&self) -> Duration {
        let waits = self.acknowledged.iter().map(|one| one.at - one.sent);
        waits.max().unwrap_or_default()
    }

    /// When the clients were started.
    #[must_use]
    pub fn began(&self) -> Instant {
        self.began
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger(at_ms: &[u64], ended_ms: u64) -> Ledger {
        let began = Instant::now();
        let ms = |ms: u64| began + Duration::from_millis(ms);
        let one = |(number, at): (usize, &u64)| Acknowledged {
            number: number as u64,
            sent: ms(at.saturating_sub(3)),
            at: ms(*at),
        };
        Ledger {
            load: Load {
                targets: vec![Opts::default()],
                table: Table::new("s", "t"),
                run: 1,
                clients: NonZeroU32::MIN,
                rate: None,
                transaction_every: 4,
            },
            began,
            ended: ms(ended_ms),
            acknowledged: at_ms.iter().enumerate().map(one).collect(),
            refused: Vec::new(),
            unknown: Vec::new(),
            errors: BTreeMap::new(),
        }
    }

    #[test]
    fn a_gap_is_the_longest_time_without_a_commit() {
        let gap = |at: &[u64], ended, since| {
            let ledger = ledger(at, ended);
            let gap = ledger.longest_gap(ledger.began + Duration::from_millis(since));
            (gap.from.as_millis(), gap.length.as_millis(), gap.is_open)
        };
        assert_eq!(gap(&[10, 20, 320, 330], 340, 0), (20, 300, false));
        assert_eq!(gap(&[10, 20, 320, 330], 340, 100), (100, 220, false));
        // Writes that never come back.
        assert_eq!(gap(&[10, 20], 900, 0), (20, 880, true));
        assert_eq!(gap(&[], 900, 0), (0, 900, true));
    }

    #[test]
    fn every_fourth_commit_is_a_transaction() {
        let ledger = ledger(&[1, 2, 3, 4, 5], 6);
        assert_eq!(ledger.rows(), 6);
        assert_eq!(ledger.slowest(), Duration::from_millis(3));
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(Table::new("a`b", "t").to_string(), "`a``b`.`t`");
    }
}
