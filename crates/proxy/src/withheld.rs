//! Reads that ran on a server when that server ended: for a while, no server gets them again.
//!
//! A read can crash its server. Sent again, by the proxy or by its client, it crashes the next one. Nobody can tell from outside
//! which of the reads that ran it was, so all of them are withheld. A digest that was answered often is no suspect as a whole:
//! of that one, the same values are withheld and no others.

use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustc_hash::{FxHashMap, FxHasher};
use shardwright_rules::Statement;
use shardwright_rules::tables::digest_text;
use shardwright_wire::{MysqlError, errors};
use tokio::time::Instant;

/// Reads that are withheld at most. A server runs fewer at a time; beyond that, the one that ends first makes room.
const MOST: usize = 1000;
/// A digest that was answered this often is withheld with its values only.
const WELL_KNOWN: u64 = 100;
/// Bytes of a digest's text that are shown.
const TEXT_LEN: usize = 1000;

/// The reads that no server gets.
#[derive(Debug, Default)]
pub(crate) struct WithheldReads {
    /// How many there are: statements look no further where there is none.
    count: AtomicUsize,
    reads: Mutex<FxHashMap<Key, WithheldRead>>,
}

/// A read that no server gets.
#[derive(Clone, Debug)]
pub(crate) struct WithheldRead {
    pub(crate) digest: u64,
    /// The digest's text.
    pub(crate) text: String,
    /// Only with the values that it had.
    pub(crate) with_values: bool,
    /// The server that ended.
    pub(crate) server: String,
    /// In seconds since 1970.
    pub(crate) ended_s: u64,
    pub(crate) until: Instant,
    /// How often it was refused since.
    pub(crate) refused: u64,
}

/// A digest, or one statement of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    Digest(u64),
    /// The hash of the text and of the parameters.
    Values(u64),
}

/// A read as it was sent.
#[derive(Clone, Copy)]
pub(crate) struct SentRead<'a> {
    pub(crate) statement: &'a Statement<'a>,
    /// The values of an execution.
    pub(crate) parameters: &'a [u8],
}

impl SentRead<'_> {
    fn digest(&self) -> Key {
        Key::Digest(self.statement.digest_hash())
    }

    fn values(&self) -> Key {
        let mut hasher = FxHasher::default();
        (self.statement.text(), self.parameters).hash(&mut hasher);
        Key::Values(hasher.finish())
    }

    /// Whether its digest stands for several texts.
    fn has_values(&self) -> bool {
        self.statement.digest_text().contains(&b'?')
    }
}

impl WithheldReads {
    /// Whether every read may be sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// A server ended while it ran this read, whose digest was `answered` so often before. Whether the read is
    /// withheld: one without values that was answered often is not.
    pub(crate) fn withhold(&self, read: SentRead<'_>, answered: u64, server: &str, time: Duration) -> bool {
        let is_known = answered >= WELL_KNOWN;
        if is_known && !read.has_values() {
            return false;
        }
        let key = if is_known { read.values() } else { read.digest() };
        let text = String::from_utf8_lossy(read.statement.digest_text());
        let until = Instant::now() + time;
        let entry = WithheldRead {
            digest: read.statement.digest_hash(),
            text: text.chars().take(TEXT_LEN).collect(),
            with_values: is_known,
            server: server.to_owned(),
            ended_s: now_s(),
            until,
            refused: 0,
        };
        let mut reads = self.current();
        if let Some(known) = reads.get_mut(&key) {
            known.until = until;
            return true;
        }
        tracing::error!(
            server,
            digest = digest_text(entry.digest),
            text = entry.text,
            with_values = entry.with_values,
            ?time,
            "a server ended while it ran this read: no server gets the read for a while"
        );
        if reads.len() >= MOST
            && let Some(first) = reads
                .iter()
                .min_by_key(|(_, read)| read.until)
                .map(|(key, _)| *key)
        {
            reads.remove(&first);
        }
        reads.insert(key, entry);
        self.count.store(reads.len(), Ordering::Release);
        true
    }

    /// Refuses a read that is withheld.
    ///
    /// # Errors
    /// The error for the client.
    pub(crate) fn check(&self, read: SentRead<'_>) -> Result<(), MysqlError> {
        let mut reads = self.current();
        let keys = [read.digest(), read.values()];
        let Some(key) = keys.into_iter().find(|key| reads.contains_key(key)) else {
            return Ok(());
        };
        let Some(withheld) = reads.get_mut(&key) else {
            return Ok(());
        };
        withheld.refused += 1;
        let left = withheld.until.saturating_duration_since(Instant::now());
        Err(errors::PROXY_READ_WITHHELD.with(format_args!(
            "the server {} ended while it ran this read, which may be the reason; no server gets it for another {} s; \
             on the admin port, SHARDWRIGHT ALLOW DIGEST '{}' ends that",
            withheld.server,
            left.as_secs() + 1,
            digest_text(withheld.digest),
        )))
    }

    /// Lets servers have a digest again. Whether it was withheld.
    pub(crate) fn allow(&self, digest: &str) -> bool {
        let mut reads = self.current();
        let before = reads.len();
        reads.retain(|_, read| !digest_text(read.digest).eq_ignore_ascii_case(digest));
        self.count.store(reads.len(), Ordering::Release);
        reads.len() < before
    }

    /// The reads that are withheld, the latest first.
    pub(crate) fn all(&self) -> Vec<WithheldRead> {
        let mut all: Vec<WithheldRead> = self.current().values().cloned().collect();
        all.sort_by_key(|read| (std::cmp::Reverse(read.until), read.digest));
        all
    }

    /// Those that are withheld now; what is over is forgotten.
    fn current(&self) -> MutexGuard<'_, FxHashMap<Key, WithheldRead>> {
        let mut reads = self.reads.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        reads.retain(|_, read| read.until > now);
        self.count.store(reads.len(), Ordering::Release);
        reads
    }
}

fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    const TIME: Duration = Duration::from_secs(600);

    fn statement(text: &str) -> Statement<'_> {
        Statement::new(text.as_bytes(), LexMode::default())
    }

    fn read<'a>(statement: &'a Statement<'a>, parameters: &'a [u8]) -> SentRead<'a> {
        SentRead {
            statement,
            parameters,
        }
    }

    fn code(withheld: &WithheldReads, text: &str, parameters: &[u8]) -> Option<u16> {
        let checked = withheld.check(read(&statement(text), parameters));
        checked.err().map(|error| error.code)
    }

    #[tokio::test(start_paused = true)]
    async fn a_digest_is_withheld_for_a_time() {
        let withheld = WithheldReads::default();
        assert!(withheld.is_empty());
        let crash = statement("SELECT crash(1)");
        assert!(withheld.withhold(read(&crash, b""), 0, "db1", TIME));
        assert_eq!(code(&withheld, "SELECT crash(2)", b""), Some(9102));
        assert_eq!(code(&withheld, "SELECT other(1)", b""), None);
        assert_eq!(withheld.all()[0].refused, 1);
        tokio::time::advance(TIME).await;
        assert_eq!(code(&withheld, "SELECT crash(1)", b""), None);
        assert!(withheld.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_digest_that_is_known_the_values_are_withheld() {
        let withheld = WithheldReads::default();
        let hot = statement("SELECT c FROM t WHERE id = ?");
        withheld.withhold(read(&hot, b"\x01"), WELL_KNOWN, "db1", TIME);
        assert_eq!(
            code(&withheld, "SELECT c FROM t WHERE id = ?", b"\x01"),
            Some(9102)
        );
        assert_eq!(code(&withheld, "SELECT c FROM t WHERE id = ?", b"\x02"), None);
        let whole = statement("SELECT c FROM t");
        assert!(!withheld.withhold(read(&whole, b""), WELL_KNOWN, "db1", TIME));
        let name = digest_text(hot.digest_hash());
        assert!(withheld.allow(&name) && !withheld.allow(&name));
        assert!(withheld.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn their_number_is_limited() {
        let withheld = WithheldReads::default();
        for number in 0..=MOST {
            let text = format!("SELECT column{number}");
            withheld.withhold(read(&statement(&text), b""), 0, "db1", TIME);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(withheld.all().len(), MOST);
        assert_eq!(code(&withheld, "SELECT column0", b""), None, "it made room");
        assert_eq!(code(&withheld, "SELECT column1", b""), Some(9102));
    }
}
