//! What a team remembers of its runs: enough to finish one that was cut off, or to take it back.
//!
//! A run is recorded before anything is sent: what the touched rows hold before and after, with the passwords as ProxySQL
//! stores them. Then each thing that is begun or done is noted. A run whose last note is no end was cut off. Where that is
//! kept is a directory of one machine, or a store that several machines reach.

mod cells;
mod directory;
mod error;
mod etcd;
mod holder;
mod mysql;
mod record;
mod retention;
mod sealed;
mod shared;
mod store;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use self::directory::Directory;
use self::shared::Shared;
use self::store::{Store, StoredRun};

pub use self::error::JournalError;
pub use self::etcd::EtcdState;
pub use self::holder::{Holder, Owner};
pub use self::mysql::MySqlState;
pub use self::record::{End, Identity, Phase, RunHead, RunRecord, Whole};
pub use self::sealed::KeyReference;

/// How long a lock lasts in a store without its holder.
pub const LOCK_PERIOD: Duration = Duration::from_secs(60);
/// How often the end of a run is written before it is given up, and the time between.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// The runs of a project.
#[derive(Clone, Debug)]
pub struct Journal {
    store: Arc<dyn Store>,
    /// How many runs of each target are kept; `None`: all.
    keep: Option<usize>,
}

/// Keeps others from applying; until it is dropped.
#[derive(Debug)]
pub struct JournalLock(Arc<dyn Store>);

impl Drop for JournalLock {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// A run with what is known of it.
#[derive(Debug)]
pub struct Run {
    store: Arc<dyn Store>,
    /// What it is.
    pub record: RunRecord,
    /// What was begun and done, in order.
    pub phases: Vec<Phase>,
    next: u64,
    /// Everything is being set back, which does not wait for a store that fails.
    is_going_back: bool,
    /// The store has failed on the way back.
    is_silent: bool,
}

/// A run without its rows.
#[derive(Debug)]
pub struct PastRun {
    /// What it is.
    pub head: RunHead,
    /// What was begun and done, in order.
    pub phases: Vec<Phase>,
}

impl Journal {
    /// The runs of a state directory, which need not exist yet.
    pub fn new(state: &Path) -> Self {
        let somebody = Owner {
            by: "somebody".to_owned(),
            at: "an unknown time".to_owned(),
        };
        Self::in_directory(state, somebody)
    }

    /// The runs of a state directory, which need not exist yet; and who works with it.
    pub fn in_directory(state: &Path, owner: Owner) -> Self {
        Self {
            store: Arc::new(Directory::new(state, owner)),
            keep: None,
        }
    }

    /// The runs of a project in tables of MySQL or MariaDB, and who works with them. Locks last so long without their
    /// holder, [`LOCK_PERIOD`] outside tests.
    pub fn in_mysql(state: MySqlState, key: KeyReference, owner: Owner, period: Duration) -> Self {
        let cells = Arc::new(mysql::MySqlCells::new(state));
        Self {
            store: Arc::new(Shared::new(cells, owner, key, period)),
            keep: None,
        }
    }

    /// The runs of a project in etcd, and who works with them. Locks last so long without their holder, in whole seconds,
    /// [`LOCK_PERIOD`] outside tests.
    pub fn in_etcd(state: EtcdState, key: KeyReference, owner: Owner, period: Duration) -> Self {
        let cells = Arc::new(etcd::EtcdCells::new(state));
        Self {
            store: Arc::new(Shared::new(cells, owner, key, period)),
            keep: None,
        }
    }

    /// The same where only so many runs of each target are kept, at least one.
    #[must_use]
    pub fn keeping(mut self, runs: usize) -> Self {
        self.keep = Some(runs.max(1));
        self
    }

    /// Keeps others from applying: other processes of this machine, and of all machines where the store is shared.
    ///
    /// # Errors
    /// [`JournalError::Locked`], or the store cannot be used.
    pub fn lock(&self) -> Result<JournalLock, JournalError> {
        self.store.lock()?;
        Ok(JournalLock(Arc::clone(&self.store)))
    }

    /// Who holds the lock.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn holder(&self) -> Result<Option<Holder>, JournalError> {
        self.store.holder()
    }

    /// Takes the lock from this holder, and from no other; `false`: it is not the holder any more.
    ///
    /// # Errors
    /// The holder is a process of this machine that runs, or the store cannot be used.
    pub fn break_lock(&self, holder: &Holder) -> Result<bool, JournalError> {
        self.store.break_lock(holder)
    }

    /// Begins a run: everything that is needed to take it back is durable when this returns.
    ///
    /// Runs that are not kept any more are forgotten before.
    pub(crate) fn begin(&self, record: RunRecord) -> Result<Run, JournalError> {
        if let Some(keep) = self.keep {
            retention::forget(&*self.store, keep, &record.target)?;
        }
        self.store.begin(&record)?;
        Ok(self.of_store(StoredRun {
            record,
            phases: Vec::new(),
            next: 0,
        }))
    }

    /// Every run without its rows, the oldest first. No key is needed.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn history(&self) -> Result<Vec<PastRun>, JournalError> {
        Ok(self.store.heads()?.into_iter().map(PastRun::from).collect())
    }

    /// The last run of a target, where it has not ended. No key is needed.
    pub(super) fn open_run(&self, target: &str) -> Result<Option<PastRun>, JournalError> {
        Ok(self.store.open_run(target)?.map(PastRun::from))
    }

    /// The last run of a target that ended well. No key is needed.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn last_applied(&self, target: &str) -> Result<Option<PastRun>, JournalError> {
        Ok(self.store.last_applied(target)?.map(PastRun::from))
    }

    /// Every run with its rows, the oldest first.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn runs(&self) -> Result<Vec<Run>, JournalError> {
        let heads = self.store.heads()?.into_iter();
        heads.map(|head| self.run(&head.record.identity.run)).collect()
    }

    /// A run by its name.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn run(&self, name: &str) -> Result<Run, JournalError> {
        Ok(self.of_store(self.store.run(name)?))
    }

    fn of_store(&self, run: StoredRun<RunRecord>) -> Run {
        Run {
            store: Arc::clone(&self.store),
            record: run.record,
            phases: run.phases,
            next: run.next,
            is_going_back: false,
            is_silent: false,
        }
    }
}

impl Run {
    /// Notes what is begun or done; it is durable when this returns.
    ///
    /// On the way back, what cannot be written is left out while the lock is ours for certain: the record alone says how to
    /// get back, and nobody else may begin. The end is tried for some seconds, and never left out.
    pub(crate) fn note(&mut self, phase: Phase) -> Result<(), JournalError> {
        self.is_going_back |= matches!(phase, Phase::Restoring { .. });
        let is_end = matches!(phase, Phase::Ended { .. });
        let attempts = if is_end { ATTEMPTS } else { 1 };
        let is_left_out = self.is_silent && !is_end && self.store.is_surely_locked();
        if !is_left_out && let Err(error) = self.write(&phase, attempts) {
            let is_lost = matches!(error, JournalError::LockLost { .. }) || !self.store.is_surely_locked();
            if is_lost || is_end || !self.is_going_back {
                return Err(error);
            }
            self.is_silent = true;
        }
        self.next += 1;
        self.phases.push(phase);
        Ok(())
    }

    fn write(&self, phase: &Phase, attempts: u32) -> Result<(), JournalError> {
        let write = || self.store.note(&self.record.identity.run, self.next, phase);
        let mut written = write();
        for _ in 1..attempts {
            if !matches!(&written, Err(error) if !matches!(error, JournalError::LockLost { .. })) {
                break;
            }
            thread::sleep(PAUSE);
            written = write();
        }
        written
    }

    /// How it ended; `None`: it was cut off, or goes on.
    pub fn end(&self) -> Option<(End, &str)> {
        record::end(&self.phases)
    }

    /// Whether somebody has to finish it or take it back.
    pub fn is_open(&self) -> bool {
        record::is_open(&self.phases)
    }

    /// Whether something may have been saved.
    pub(super) fn was_saving(&self) -> bool {
        self.phases.contains(&Phase::Saving)
    }
}

impl From<StoredRun<RunHead>> for PastRun {
    fn from(run: StoredRun<RunHead>) -> Self {
        Self {
            head: run.record,
            phases: run.phases,
        }
    }
}

impl PastRun {
    /// How it ended; `None`: it was cut off, or goes on.
    pub fn end(&self) -> Option<(End, &str)> {
        record::end(&self.phases)
    }

    /// Whether somebody has to finish it or take it back.
    pub fn is_open(&self) -> bool {
        record::is_open(&self.phases)
    }
}

/// What to do about a run that has not ended.
pub(super) fn unfinished(run: &str) -> String {
    format!(
        "run {run} has not ended: `shardwright apply --resume {run}` finishes it, `shardwright rollback {run}` takes it back"
    )
}
