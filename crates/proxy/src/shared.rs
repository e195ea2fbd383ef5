//! What all threads of a proxy share: the control, limits, and counts that must hold across workers.

use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashMap;

use crate::control::Control;
use crate::listen_address::ListenAddress;
use crate::options::Limits;
use crate::permit::Permit;
use crate::worker_handle::WorkerHandle;

/// How far the end of a proxy has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Sessions are taken on.
    Serving,
    /// Sessions end where they can.
    Draining,
    /// Sessions are cut off.
    Stopping,
}

/// Shared by the acceptor, the workers and the admin port.
pub(crate) struct Shared {
    pub(crate) control: Control,
    pub(crate) limits: Limits,
    pub(crate) server_version: String,
    /// Where clients connect, as configured.
    pub(crate) listener: Arc<ListenAddress>,
    pub(crate) started: Instant,
    pub(crate) workers: OnceLock<Vec<WorkerHandle>>,
    phase: AtomicU8,
    sessions: Arc<AtomicUsize>,
    half_open: Arc<AtomicUsize>,
    next_connection: AtomicU32,
    users: Mutex<FxHashMap<Arc<str>, Arc<AtomicUsize>>>,
    table_changes: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        control: Control,
        limits: Limits,
        server_version: String,
        listener: Arc<ListenAddress>,
    ) -> Self {
        Self {
            control,
            limits,
            server_version,
            listener,
            started: Instant::now(),
            workers: OnceLock::new(),
            phase: AtomicU8::new(Phase::Serving as u8),
            sessions: Arc::default(),
            half_open: Arc::default(),
            next_connection: AtomicU32::new(1),
            users: Mutex::default(),
            table_changes: AtomicU64::new(0),
        }
    }

    /// Statements so far that may have changed a table.
    pub(crate) fn table_changes(&self) -> u64 {
        self.table_changes.load(Ordering::Acquire)
    }

    /// Ends what any worker knows of tables.
    pub(crate) fn tables_changed(&self) {
        self.table_changes.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn workers(&self) -> &[WorkerHandle] {
        self.workers.get().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Serving,
            1 => Phase::Draining,
            _ => Phase::Stopping,
        }
    }

    /// Phases only advance.
    pub(crate) fn advance(&self, phase: Phase) {
        self.phase.fetch_max(phase as u8, Ordering::AcqRel);
        for worker in self.workers() {
            worker.wake();
        }
    }

    /// Sessions that are there.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// A number for a client connection; never 0.
    pub(crate) fn next_connection_id(&self) -> u32 {
        loop {
            let id = self.next_connection.fetch_add(1, Ordering::Relaxed);
            if id != 0 {
                return id;
            }
        }
    }

    /// A permit for one more session, or `None` when there are too many.
    pub(crate) fn session_permit(&self) -> Option<Permit> {
        Permit::take(&self.sessions, self.limits.max_sessions)
    }

    /// A permit for one more login under way.
    pub(crate) fn login_permit(&self) -> Option<Permit> {
        Permit::take(&self.half_open, self.limits.max_half_open)
    }

    /// A permit for one more session of a user.
    pub(crate) fn user_permit(&self, user: &Arc<str>, limit: u32) -> Option<Permit> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match users.entry(user.clone()) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => entry.insert(Arc::default()).clone(),
        };
        Permit::take(&count, limit as usize)
    }

    /// Sessions of a user.
    pub(crate) fn user_sessions(&self, user: &str) -> usize {
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.get(user).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}
