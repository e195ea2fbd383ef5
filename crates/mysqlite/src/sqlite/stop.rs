//! When a running statement is to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shardwright_wire::{MysqlError, errors};

/// Instructions of SQLite's machine between two looks at whether to stop.
pub(super) const STOP_CHECK_INTERVAL: i32 = 10_000;

/// Why a running statement is to stop.
#[derive(Clone, Default)]
pub(super) struct Stop {
    /// The server goes down.
    pub(super) is_stopping: Arc<AtomicBool>,
    /// When the time of the statement is over.
    deadline: Arc<Mutex<Option<Instant>>>,
}

impl Stop {
    /// From now on it is due when this time is over.
    pub(super) fn after(&self, limit: Option<Duration>) {
        *self.lock() = limit.map(|limit| Instant::now() + limit);
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed) || self.is_overdue()
    }

    pub(super) fn is_overdue(&self) -> bool {
        self.lock().is_some_and(|deadline| deadline <= Instant::now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of a statement whose time is over.
pub(super) fn overdue(limit: Duration) -> MysqlError {
    errors::QUERY_INTERRUPTED.with(format_args!(
        "Query execution was interrupted: it took longer than {} s",
        limit.as_secs()
    ))
}
