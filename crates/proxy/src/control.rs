//! Applying a configuration: validated whole, durable, and then served by one swap; or nothing has changed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use arc_swap::ArcSwap;
use shardwright_rules::Address;
use shardwright_rules::roles::SisterReports;

use crate::failpoint::{FailPoint, FailPoints};
use crate::knowledge::{Knowledge, MemoryFile};
use crate::listeners::{Listeners, Prepared};
use crate::members::MemberRegistry;
use crate::options::Options;
use crate::snapshot::{BuildContext, Snapshot};
use crate::store::{Generation, Store, StoreError};
use crate::throttles::Measured;
use crate::validate::{Certificates, Problem};

/// Problems that an answer lists; the rest is counted.
const LISTED_PROBLEMS: usize = 20;

/// What is said of a proxy to which nothing was applied yet.
pub(crate) const WAITING: &str = "waiting for a first apply";

/// What is served, and the only way to change it.
pub(crate) struct Control {
    snapshot: Arc<ArcSwap<Snapshot>>,
    store: Mutex<Store>,
    memory_file: MemoryFile,
    /// What is damaged in the data directory, each in a sentence; an apply makes up for it.
    damage: Mutex<Vec<String>>,
    pub(crate) members: MemberRegistry,
    /// What is known of servers.
    pub(crate) knowledge: Knowledge,
    /// What is measured of servers for throttles.
    pub(crate) measured: Measured,
    pub(crate) listeners: Listeners,
    allow_secret_commands: bool,
    certificates: Certificates,
    pub(crate) fail_points: FailPoints,
}

/// What the caller of an apply believes to be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) generation: i64,
    /// Empty for generation 0.
    pub(crate) fingerprint: String,
    /// The project that the proxy is taken over from, if any.
    pub(crate) owner: Option<String>,
}

/// A configuration that is to be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApplyRequest {
    pub(crate) expected: Expected,
    /// Whose configuration it is.
    pub(crate) project: Option<String>,
    /// What other proxies say of who writes.
    pub(crate) reports: SisterReports,
    /// The serialized configuration.
    pub(crate) json: String,
}

/// What was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) generation: i64,
    pub(crate) fingerprint: String,
}

/// Why nothing was applied. The text begins with a word for programs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error(
        "STALE: the proxy serves generation {generation} ({fingerprint}), not what the plan was made from"
    )]
    Stale { generation: i64, fingerprint: String },
    #[error("FOREIGN: the proxy belongs to the project {owner}, not to {}", said(.project.as_deref()))]
    Foreign { owner: String, project: Option<String> },
    #[error("CONTENDED: another configuration is being applied")]
    Contended,
    #[error("CONTENDED: the writer of {0} is being moved")]
    Moving(Address),
    #[error("INVALID: {}", listed(.0))]
    Invalid(Vec<Problem>),
    #[error("FAILED: the configuration could not be made durable and is not served: {0}")]
    Failed(#[from] StoreError),
}

fn said(project: Option<&str>) -> String {
    project.map_or_else(
        || "one without a name".to_owned(),
        |project| format!("the project {project}"),
    )
}

pub(crate) fn listed(problems: &[Problem]) -> String {
    let mut text: Vec<String> = problems
        .iter()
        .take(LISTED_PROBLEMS)
        .map(Problem::to_string)
        .collect();
    if problems.len() > LISTED_PROBLEMS {
        text.push(format!("and {} more", problems.len() - LISTED_PROBLEMS));
    }
    text.join("; ")
}

/// Why the last generation cannot be served again.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This version does not run what an earlier one did.
    #[error(
        "generation {generation} in the data directory is whole and cannot be served: {reason}; give the options with which it was applied, or run the version that did"
    )]
    Invalid {
        /// The generation.
        generation: i64,
        /// What is wrong with it.
        reason: String,
    },
}

impl Control {
    /// Serves the newest generation of the store that is whole, or nothing if nothing was ever applied.
    pub(crate) fn restore(
        mut store: Store,
        options: &Options,
        fail_points: FailPoints,
    ) -> Result<Self, RestoreError> {
        let restorable = store.restorable()?;
        let mut damage = restorable.damage;
        let memory_file = MemoryFile::in_directory(&options.data_dir);
        let has_to_remember = store.was_on_record && restorable.generation.is_some();
        let memories = match memory_file.read() {
            Ok(None) if has_to_remember => Err("the file is missing".to_owned()),
            Ok(memories) => Ok(memories.unwrap_or_default()),
            Err(error) => Err(error.to_string()),
        };
        let members = MemberRegistry::default();
        let knowledge = Knowledge::of_memories(memories.clone().unwrap_or_default());
        let certificates = Certificates::of(&options.tls);
        let context = BuildContext {
            members: &members,
            knowledge: &knowledge,
            allow_secret_commands: options.allow_secret_commands,
            certificates,
            served: None,
        };
        let snapshot = match &restorable.generation {
            None => Snapshot::empty(),
            Some(generation) => restored(generation, &context)?,
        };
        if let Err(reason) = memories {
            knowledge.forgot(&snapshot.configuration);
            damage.push(format!(
                "{}: {reason}: who writes is not remembered",
                memory_file.path().display()
            ));
        }
        for damage in &damage {
            tracing::error!("{damage}");
        }
        let control = Self {
            snapshot: Arc::new(ArcSwap::from_pointee(snapshot)),
            store: Mutex::new(store),
            memory_file,
            damage: Mutex::new(damage),
            members,
            knowledge,
            measured: Measured::default(),
            listeners: Listeners::new(options.listen),
            allow_secret_commands: options.allow_secret_commands,
            certificates,
            fail_points,
        };
        if !control.is_waiting() {
            // From here on, a file that is missing is lost.
            control.remember()?;
        }
        Ok(control)
    }

    /// Whether nothing was ever applied.
    pub(crate) fn is_waiting(&self) -> bool {
        self.snapshot.load().generation == 0
    }

    /// What is damaged in the data directory, each in a sentence.
    pub(crate) fn damage(&self) -> Vec<String> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes down what monitors remember.
    pub(crate) fn remember(&self) -> Result<(), StoreError> {
        let written = self.memory_file.write(|| self.knowledge.memories());
        written.map_err(|source| StoreError::Io {
            path: self.memory_file.path().to_owned(),
            source,
        })
    }

    /// What is served.
    pub(crate) fn snapshot(&self) -> &Arc<ArcSwap<Snapshot>> {
        &self.snapshot
    }

    /// Opens the listeners of what is served; none while nothing is.
    pub(crate) fn open_listeners(&self) -> Result<(), Vec<Problem>> {
        let _store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_waiting() {
            return Ok(());
        }
        let prepared = self.listeners.prepare(&self.snapshot.load().configuration)?;
        self.listeners.publish(prepared);
        Ok(())
    }

    /// Resolves the secrets of what is served again. No apply is under way meanwhile.
    pub(crate) fn reload_users(&self) -> Vec<Problem> {
        let _store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let served = self.snapshot.load_full();
        let (snapshot, problems) = served.with_secrets_reloaded(&self.context(&served));
        self.snapshot.store(Arc::new(snapshot));
        problems
    }

    /// The members at this host name are others: it leads elsewhere. No apply is under way meanwhile.
    pub(crate) fn moved(&self, host: &str) {
        let _store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        self.members.moved(host);
        let served = self.snapshot.load_full();
        let snapshot = served.with_members_registered(&self.context(&served));
        self.snapshot.store(Arc::new(snapshot));
        self.members.prune();
    }

    /// How often a host name has come to lead elsewhere.
    pub(crate) fn moves_of(&self, host: &str) -> u32 {
        self.members.moves_of(host)
    }

    /// A host name leads to several servers at once, or in turn.
    pub(crate) fn leads_to_several(&self, host: &str) {
        self.members.leads_to_several(host);
    }

    fn context<'a>(&'a self, served: &'a Snapshot) -> BuildContext<'a> {
        BuildContext {
            members: &self.members,
            knowledge: &self.knowledge,
            allow_secret_commands: self.allow_secret_commands,
            certificates: self.certificates,
            served: Some(served),
        }
    }

    /// Applies a serialized configuration of a project, if what is served is what the caller expects and no other
    /// project's.
    pub(crate) fn apply(&self, request: &ApplyRequest) -> Result<Applied, ApplyError> {
        self.fail_points.reach(FailPoint::Received);
        let mut store = self.locked_store()?;
        let (snapshot, listeners) = self.prepare(request, &store)?;
        self.fail_points.reach(FailPoint::Validated);
        self.fail_points.reach(FailPoint::BeforePersist);
        // Before anything is served by it: the first server that answers must not become the writer.
        self.knowledge.hear(&snapshot.configuration, &request.reports);
        self.remember()?;
        store.append(&snapshot.generation(), self.fail_points)?;
        self.fail_points.reach(FailPoint::Persisted);
        let applied = Applied {
            generation: snapshot.generation,
            fingerprint: snapshot.fingerprint.clone(),
        };
        self.snapshot.store(Arc::new(snapshot));
        self.listeners.publish(listeners);
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.fail_points.reach(FailPoint::Published);
        drop(store);
        self.members.prune();
        Ok(applied)
    }

    /// Whether a configuration would be refused now. What was prepared for it is let go.
    pub(crate) fn check(&self, request: &ApplyRequest) -> Result<(), ApplyError> {
        let store = self.locked_store()?;
        let checked = self.prepare(request, &store).map(drop);
        drop(store);
        self.members.prune();
        checked
    }

    fn locked_store(&self) -> Result<MutexGuard<'_, Store>, ApplyError> {
        match self.store.try_lock() {
            Ok(store) => Ok(store),
            Err(TryLockError::WouldBlock) => Err(ApplyError::Contended),
            // A panic while applying left the store as SQLite left it: the transaction is rolled back.
            Err(TryLockError::Poisoned(poisoned)) => Ok(PoisonError::into_inner(poisoned)),
        }
    }

    /// What would be served, where it can be.
    fn prepare(&self, request: &ApplyRequest, store: &Store) -> Result<(Snapshot, Prepared), ApplyError> {
        let expected = &request.expected;
        let served = self.snapshot.load_full();
        if served.generation != expected.generation || served.fingerprint != expected.fingerprint {
            return Err(ApplyError::Stale {
                generation: served.generation,
                fingerprint: served.fingerprint.clone(),
            });
        }
        let project = request.project.clone();
        // A proxy without an owner is anybody's; one with an owner changes hands only when the caller names it.
        if served.project.is_some() && served.project != project && served.project != expected.owner {
            return Err(ApplyError::Foreign {
                owner: served.project.clone().unwrap_or_default(),
                project,
            });
        }
        let context = self.context(&served);
        let snapshot = Snapshot::build(store.next_number(), &request.json, &context)
            .map_err(ApplyError::Invalid)?
            .of_project(project);
        let listeners = self
            .listeners
            .prepare(&snapshot.configuration)
            .map_err(ApplyError::Invalid)?;
        Ok((snapshot, listeners))
    }
}

/// A generation that was served before.
fn restored(generation: &Generation, context: &BuildContext<'_>) -> Result<Snapshot, RestoreError> {
    let (snapshot, problems) =
        Snapshot::restore(generation, context).map_err(|problems| RestoreError::Invalid {
            generation: generation.number,
            reason: listed(&problems),
        })?;
    for problem in problems {
        tracing::error!(address = problem.address, "it cannot log in: {}", problem.reason);
    }
    Ok(snapshot)
}
