//! What a journal asks of the place where it is kept.

use std::fmt::Debug;

use super::error::JournalError;
use super::holder::Holder;
use super::record::{Phase, RunHead, RunRecord, is_applied, is_open};

/// A run without its rows, as far as it has come.
#[derive(Debug)]
pub(super) struct StoredRun<R> {
    pub(super) record: R,
    pub(super) phases: Vec<Phase>,
    /// The number of the next phase.
    pub(super) next: u64,
}

/// Where runs are kept. What is written is durable when a call returns, or the call is an error.
pub(super) trait Store: Debug + Send + Sync {
    /// Keeps everybody else from applying, until [`Store::unlock`].
    fn lock(&self) -> Result<(), JournalError>;

    /// Gives the lock back. Where that fails, it ends by itself.
    fn unlock(&self);

    /// Whether the lock is ours for certain, even if the store cannot be asked now.
    fn is_surely_locked(&self) -> bool;

    /// Who holds the lock.
    fn holder(&self) -> Result<Option<Holder>, JournalError>;

    /// Takes the lock from this holder; `false`: it is not the holder any more.
    fn break_lock(&self, holder: &Holder) -> Result<bool, JournalError>;

    /// Keeps the record of a run, whole or not at all.
    fn begin(&self, record: &RunRecord) -> Result<(), JournalError>;

    /// Keeps what was begun or done. Doing it again is harmless.
    fn note(&self, run: &str, number: u64, phase: &Phase) -> Result<(), JournalError>;

    /// How many runs there are.
    fn count(&self) -> Result<usize, JournalError>;

    /// Forgets a run. One that cannot be forgotten whole is no run any more.
    fn remove(&self, run: &str) -> Result<(), JournalError>;

    /// Every run, the oldest first.
    fn heads(&self) -> Result<Vec<StoredRun<RunHead>>, JournalError>;

    /// The last run of a target, where somebody has to finish it.
    fn open_run(&self, target: &str) -> Result<Option<StoredRun<RunHead>>, JournalError> {
        let heads = self.heads()?.into_iter().rev();
        let mut of_target = heads.filter(|run| run.record.target == target);
        Ok(of_target.find(|run| is_open(&run.phases)))
    }

    /// The last run of a target that ended well.
    fn last_applied(&self, target: &str) -> Result<Option<StoredRun<RunHead>>, JournalError> {
        let heads = self.heads()?.into_iter().rev();
        let mut of_target = heads.filter(|run| run.record.target == target);
        Ok(of_target.find(|run| is_applied(&run.phases)))
    }

    /// A run with its rows.
    fn run(&self, run: &str) -> Result<StoredRun<RunRecord>, JournalError>;
}
