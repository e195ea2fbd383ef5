//! What all threads of a proxy share: the control, limits, and counts that must hold across workers.

use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rustc_hash::FxHashMap;
use shardwright_wire::auth::RsaKey;

use crate::admin_accounts::AdminAccounts;
use crate::clock::Clock;
use crate::connection_ids::ConnectionIds;
use crate::control::Control;
use crate::denied::DeniedAdmins;
use crate::descriptors;
use crate::half_open::HalfOpen;
use crate::kill::{KillRequest, Killed};
use crate::memory::Budget;
use crate::operations::{Author, Operations};
use crate::options::{Limits, Options};
use crate::pauses::Pauses;
use crate::permit::Permit;
use crate::refused_apps::RefusedApps;
use crate::seldom::{Seldom, SeldomByOrigin};
use crate::server_version::ServerVersion;
use crate::tls::Tls;
use crate::validate::Problem;
use crate::watcher_handle::WatcherHandle;
use crate::withheld::WithheldReads;
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

/// Shared by the workers and the admin port.
pub(crate) struct Shared {
    pub(crate) control: Control,
    pub(crate) limits: Limits,
    pub(crate) server_version: ServerVersion,
    pub(crate) tls: Tls,
    /// Whether passwords may be encrypted with keys that servers send in the clear.
    pub(crate) allow_public_key_retrieval: bool,
    /// For clients that encrypt their password; made when the first one asks for it.
    rsa_key: Mutex<Option<Arc<RsaKey>>>,
    pub(crate) started: Instant,
    /// Timers of sessions.
    pub(crate) clock: Clock,
    pub(crate) workers: OnceLock<Vec<WorkerHandle>>,
    pub(crate) watcher: OnceLock<WatcherHandle>,
    phase: AtomicU8,
    sessions: Arc<AtomicUsize>,
    pub(crate) half_open: Arc<HalfOpen>,
    /// What clients make the proxy hold.
    pub(crate) budget: Arc<Budget>,
    /// Clients that were turned away at a limit, as far as the log goes.
    pub(crate) refused_clients: Seldom,
    /// Logins that made room for others, as far as the log goes.
    pub(crate) cut_logins: Seldom,
    /// Clients that did not prove who they are, as far as the log goes.
    pub(crate) denied_clients: SeldomByOrigin,
    /// Administrators who did not.
    pub(crate) denied_admins: Arc<DeniedAdmins>,
    pub(crate) admin_accounts: AdminAccounts,
    /// What administrators did last.
    pub(crate) operations: Operations,
    pub(crate) connection_ids: Arc<ConnectionIds>,
    /// Clusters whose statements for the writer wait.
    pub(crate) pauses: Pauses,
    /// Apps whose checks are refused.
    pub(crate) refused_apps: RefusedApps,
    /// Reads that no server gets.
    pub(crate) withheld: WithheldReads,
    users: Mutex<FxHashMap<Arc<str>, Arc<AtomicUsize>>>,
    table_changes: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        control: Control,
        tls: Tls,
        admin_accounts: AdminAccounts,
        options: &Options,
        connection_ids: Arc<ConnectionIds>,
        clock: Clock,
    ) -> Self {
        Self {
            control,
            limits: options.limits.clone(),
            server_version: ServerVersion::new(options.server_version.clone()),
            tls,
            allow_public_key_retrieval: options.allow_public_key_retrieval,
            rsa_key: Mutex::default(),
            started: Instant::now(),
            clock,
            workers: OnceLock::new(),
            watcher: OnceLock::new(),
            phase: AtomicU8::new(Phase::Serving as u8),
            sessions: Arc::default(),
            half_open: HalfOpen::new(
                options
                    .limits
                    .max_half_open
                    .unwrap_or_else(|| descriptors::for_logins(options.limits.max_sessions)),
            ),
            budget: Arc::new(Budget::of_limits(&options.limits)),
            refused_clients: Seldom::default(),
            cut_logins: Seldom::default(),
            denied_clients: SeldomByOrigin::default(),
            denied_admins: Arc::default(),
            admin_accounts,
            operations: Operations::default(),
            connection_ids,
            pauses: Pauses::default(),
            refused_apps: RefusedApps::default(),
            withheld: WithheldReads::default(),
            users: Mutex::default(),
            table_changes: AtomicU64::new(0),
        }
    }

    /// The key for passwords; making it takes a good part of a second. `None`: the system cannot.
    pub(crate) fn rsa_key(&self) -> Option<Arc<RsaKey>> {
        let mut key = self.rsa_key.lock().unwrap_or_else(PoisonError::into_inner);
        if key.is_none() {
            match RsaKey::generate() {
                Ok(made) => *key = Some(Arc::new(made)),
                Err(error) => tracing::error!(%error, "clients cannot encrypt their passwords"),
            }
        }
        key.clone()
    }

    /// Keeps what an administrator did, or why it failed.
    pub(crate) fn record(&self, by: Author, operation: &str, error: Option<&str>) {
        let generation = self.control.snapshot().load().generation;
        self.operations.add(by, operation, generation, error);
    }

    /// Reads certificates, secrets and accounts of the admin port again. Sessions go on with what they have; what cannot be used any more is left as
    /// it was, and said.
    pub(crate) fn reload(&self) -> Vec<Problem> {
        let mut problems = self.control.reload_users();
        if let Err(error) = self.tls.reload() {
            problems.push(Problem::new("tls", error.to_string()));
        }
        if let Err(error) = self.admin_accounts.reload() {
            problems.push(Problem::new("admin accounts", error.to_string()));
        }
        self.wake_all();
        problems
    }

    /// Has every thread look at the generation and the phase.
    pub(crate) fn wake_all(&self) {
        self.workers().iter().for_each(WorkerHandle::wake);
        self.watcher.get().into_iter().for_each(WatcherHandle::wake);
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

    /// Sends a KILL to the worker that has the session. The answer comes later; where the session ends first, it is dropped.
    pub(crate) fn kill(&self, request: KillRequest) {
        let worker = self.connection_ids.worker_of(request.id);
        match worker.and_then(|worker| self.workers().get(worker)) {
            Some(worker) => worker.kill(request),
            None => request.order.done(Killed::Unknown),
        }
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
        self.wake_all();
    }

    /// Sessions that are there.
    pub(crate) fn sessions(&self) -> usize {
        self.sessions.load(Ordering::Relaxed)
    }

    /// A permit for one more session, or `None` when there are too many.
    pub(crate) fn session_permit(&self) -> Option<Permit> {
        Permit::take(&self.sessions, self.limits.max_sessions)
    }

    /// A permit in the place of a session that ends now.
    pub(crate) fn session_permit_of_another(&self) -> Permit {
        Permit::take_another(&self.sessions)
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
