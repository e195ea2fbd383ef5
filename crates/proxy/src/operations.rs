//! The latest things that administrators did, for a look; the log has them all.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Operations that are kept.
const KEPT: usize = 256;
/// Characters that are kept of a text.
const LONGEST_TEXT: usize = 300;

/// Something that an administrator did, or tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Counted from the start of the proxy.
    pub(crate) number: u64,
    /// Seconds since 1970.
    pub(crate) at_s: u64,
    pub(crate) by: Author,
    pub(crate) what: String,
    /// The generation that was served afterwards.
    pub(crate) generation: i64,
    /// Why it failed, if it did.
    pub(crate) error: Option<String>,
}

/// The author of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    /// An account of the admin port, from an address.
    Account { name: String, address: SocketAddr },
    /// Whoever may send signals to the process.
    Signal,
}

/// The latest operations.
#[derive(Debug, Default)]
pub(crate) struct Operations(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    count: u64,
    latest: VecDeque<Operation>,
}

impl Operations {
    /// Keeps one in the place of the oldest.
    pub(crate) fn add(&self, by: Author, what: &str, generation: i64, error: Option<&str>) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count += 1;
        let operation = Operation {
            number: kept.count,
            at_s: since.map_or(0, |since| since.as_secs()),
            by,
            what: shortened(what),
            generation,
            error: error.map(shortened),
        };
        if kept.latest.len() >= KEPT {
            kept.latest.pop_front();
        }
        kept.latest.push_back(operation);
    }

    /// All that are kept, the oldest first.
    pub(crate) fn all(&self) -> Vec<Operation> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.latest.iter().cloned().collect()
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_and_texts_are_short() {
        let operations = Operations::default();
        for number in 0..300 {
            operations.add(Author::Signal, "RELOAD", number, Some(&"ä".repeat(1000)));
        }
        let all = operations.all();
        let numbers: Vec<u64> = all.iter().map(|operation| operation.number).collect();
        assert_eq!(numbers, (45..=300).collect::<Vec<_>>());
        let error = all[0].error.as_ref().unwrap();
        assert_eq!(error.chars().count(), LONGEST_TEXT + 1);
    }
}
