//! Which runs are forgotten when another one begins.

use super::error::JournalError;
use super::record::{RunHead, is_applied, is_open};
use super::store::{Store, StoredRun};

/// Forgets the oldest runs of a target so that with the next one `keep` are left. One that somebody has to finish stays, as does the
/// last that was applied: it says what was left on the target.
pub(super) fn forget(store: &dyn Store, keep: usize, target: &str) -> Result<(), JournalError> {
    if store.count()? < keep {
        return Ok(());
    }
    for run in forgotten(&store.heads()?, keep, target) {
        store.remove(&run)?;
    }
    Ok(())
}

fn forgotten(runs: &[StoredRun<RunHead>], keep: usize, target: &str) -> Vec<String> {
    let of_target = || runs.iter().filter(|run| run.record.target == target);
    let name = |run: &StoredRun<RunHead>| run.record.identity.run.clone();
    let last = of_target().rfind(|run| is_applied(&run.phases)).map(name);
    let surplus = (of_target().count() + 1).saturating_sub(keep);
    let oldest = of_target().take(surplus);
    let ended = oldest.filter(|run| !is_open(&run.phases)).map(name);
    ended.filter(|run| Some(run) != last.as_ref()).collect()
}
