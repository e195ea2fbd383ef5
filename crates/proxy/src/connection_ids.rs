//! The numbers of client connections: clients are greeted with them, CONNECTION_ID() answers them, KILL names them.
//!
//! A proxy draws where its numbers begin and how far they are apart, so they are spread over 1 to 2^31 - 1. KILL can reach
//! another proxy than the one that gave the number, because clients kill over a connection of its own that a balancer places.
//! There, the number is nobody's: with 10,000 sessions of the same user, it is a stranger's once in 200,000 times.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

/// Numbers are below 2^31, because clients keep them in signed integers too.
const MASK: u32 = i32::MAX as u32;

/// The numbers in use, each with the worker of its session.
#[derive(Debug)]
pub(crate) struct ConnectionIds {
    /// Odd, so that every number comes once before any comes again.
    step: u32,
    given: Mutex<Given>,
}

#[derive(Debug)]
struct Given {
    last: u32,
    workers: FxHashMap<u32, usize>,
}

/// A number that no other connection has until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionId {
    pub(crate) id: u32,
    ids: Arc<ConnectionIds>,
}

impl ConnectionIds {
    /// # Errors
    /// The system gives no random bytes.
    pub(crate) fn draw() -> Result<Arc<Self>, getrandom::Error> {
        Ok(Arc::new(Self::new(getrandom::u32()?, getrandom::u32()?)))
    }

    fn new(start: u32, step: u32) -> Self {
        Self {
            step: (step & MASK) | 1,
            given: Mutex::new(Given {
                last: start & MASK,
                workers: FxHashMap::default(),
            }),
        }
    }

    /// A number for a session of this worker.
    pub(crate) fn take(self: &Arc<Self>, worker: usize) -> ConnectionId {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            given.last = given.last.wrapping_add(self.step) & MASK;
            let id = given.last;
            // 0 is no connection.
            if id != 0 && !given.workers.contains_key(&id) {
                given.workers.insert(id, worker);
                return ConnectionId {
                    id,
                    ids: self.clone(),
                };
            }
        }
    }

    /// The worker that has the session of this number.
    pub(crate) fn worker_of(&self, id: u32) -> Option<usize> {
        let given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.workers.get(&id).copied()
    }
}

impl Drop for ConnectionId {
    fn drop(&mut self) {
        let mut given = self.ids.given.lock().unwrap_or_else(PoisonError::into_inner);
        given.workers.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn numbers_are_of_one_connection_each() {
        let ids = Arc::new(ConnectionIds::new(7, 1 << 30));
        let taken: Vec<_> = (0..1000).map(|worker| ids.take(worker % 3)).collect();
        let numbers: BTreeSet<_> = taken.iter().map(|taken| taken.id).collect();
        assert_eq!(numbers.len(), 1000);
        assert!(numbers.iter().all(|id| (1..=MASK).contains(id)));
        assert_eq!(ids.worker_of(taken[4].id), Some(1));
        let gone = taken[4].id;
        drop(taken);
        assert_eq!(ids.worker_of(gone), None);
    }

    #[test]
    fn a_number_in_use_is_not_given_again() {
        // The last number before 0 and the first ones after it.
        let ids = Arc::new(ConnectionIds::new(MASK - 1, 1));
        let first = ids.take(0);
        assert_eq!(first.id, MASK);
        let second = ids.take(0);
        assert_eq!(second.id, 1);
        ids.given.lock().unwrap().last = MASK - 1;
        assert_eq!(ids.take(0).id, 2);
    }
}
