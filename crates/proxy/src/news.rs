//! What was logged a moment ago, and is not logged again.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

/// Time for which the same is no news.
const QUIET: Duration = Duration::from_secs(60);
/// Entries that are remembered at most; then it begins anew.
const MOST: usize = 1000;

/// What was logged lately.
#[derive(Debug)]
pub(crate) struct News<K>(Mutex<FxHashMap<K, Instant>>);

impl<K> Default for News<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash> News<K> {
    /// Whether this was not told within the last minute. It is told now.
    pub(crate) fn is_news(&self, what: K) -> bool {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if told.get(&what).is_some_and(|at| now - *at < QUIET) {
            return false;
        }
        if told.len() >= MOST {
            told.clear();
        }
        told.insert(what, now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_news_once() {
        let news = News::default();
        assert!(news.is_news((1045, "app")) && !news.is_news((1045, "app")));
        assert!(news.is_news((1045, "other")));
        for code in 0..2 * MOST {
            news.is_news((code, "app"));
        }
        assert!(news.0.lock().unwrap().len() <= MOST);
    }
}
