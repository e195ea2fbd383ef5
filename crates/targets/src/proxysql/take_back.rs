//! Runs that have ended, taken back: the same changes the other way round, as a run of their own through the same gates.

use shardwright_plan::{ApplyReport, Effect, LiveServers, Outcome};

use super::apply::live_and_saved;
use super::beside::Besides;
use super::change::Change;
use super::effects::of_changes;
use super::ending::of_apply;
use super::finish::of_journal;
use super::journal::{End, Run, RunRecord};
use super::live::Live;
use super::mark::{Lease, Mark, is_of_mark};
use super::run::named;
use super::serving::live_servers;
use super::target::ProxySqlTarget;

type Ending = (Outcome, String);

/// How the configuration of a run that took another one back is called in its mark: it is that of no files.
pub(super) const BEFORE: &str = "before ";

impl ProxySqlTarget {
    /// What taking back a run that was applied would change, and the servers before that. Nothing is changed.
    ///
    /// # Errors
    /// How it would end instead, with the reason: rows that the run wrote hold something else by now, say.
    pub fn preview_of_taking_back(
        &mut self,
        name: &str,
    ) -> Result<(Vec<Effect>, LiveServers), Box<ApplyReport>> {
        let previewed = self
            .back(name)
            .map(|(_, changes, live)| (of_changes(&changes), live_servers(&live)));
        previewed.map_err(|(outcome, message)| {
            let base = self.base();
            Box::new(self.report(name, outcome, message, base))
        })
    }

    /// Takes back a run that was applied.
    pub fn take_back(&mut self, name: &str) -> ApplyReport {
        let before = self.base();
        let (outcome, message) = match self.try_take_back(name) {
            Ok(ending) | Err(ending) => ending,
        };
        self.report(name, outcome, message, before)
    }

    fn try_take_back(&mut self, name: &str) -> Result<Ending, Ending> {
        let (taken, mut changes, _) = self.back(name)?;
        let Some((journal, identity)) = self.journal.clone() else {
            return Err((
                Outcome::NotSent,
                "nobody said where the state of runs is kept".to_owned(),
            ));
        };
        let _lock = journal.lock().map_err(of_journal)?;
        let lost =
            |error: super::SessionError| (Outcome::NotSent, self.error(&error.to_string()).to_string());
        let mut session = self.connect().map_err(lost)?;
        let live = Live::read(&mut session, &self.ownership).map_err(lost)?;
        let base = self.observed(&live).base();
        let mark = Mark::new(
            base.project.clone(),
            base.generation + 1,
            &identity.run,
            format!("{BEFORE}{name}"),
            &self.ownership,
        )
        .applied_by(&identity, None);
        let after = live.with(&changes);
        let left = after.left(&self.ownership);
        let besides =
            Besides::read(&mut session, after.rows(), &after.beyond(), &self.ownership).map_err(lost)?;
        self.marked(&mut changes, &live, mark).map_err(of_apply)?;
        let record = RunRecord::new(
            identity.clone(),
            (&self.name, self.address.to_string()),
            name,
            taken.record.project.clone(),
            base.clone(),
            &changes,
        )
        .leaving(left, besides);
        let mut run = journal.begin(record).map_err(of_journal)?;
        let lease = Lease::new(&identity.run, &identity.by, &identity.at);
        let reserved = self
            .reserve(&mut session, &lease, &base, &changes)
            .and_then(|live| self.drain_of(&mut session, &live, &changes).map(|()| live));
        let live = match reserved {
            Ok(live) => live,
            Err(error) => return Err(of_apply(self.refused(&mut session, &mut run, error))),
        };
        let applied = self
            .transact(session, &changes, &live, &mut run)
            .map_err(of_apply)?;
        let message = format!(
            "run {name} is taken back: {}",
            live_and_saved(applied.generation, &applied.behind)
        );
        match applied.behind.is_empty() {
            true => Ok((Outcome::Applied, message)),
            false => Ok((Outcome::Unverified, message)),
        }
    }

    /// The changes of a run the other way round, where everything still is as it left it, and what is live.
    fn back(&mut self, name: &str) -> Result<(Run, Vec<Change>, Live), Ending> {
        let Some((journal, _)) = self.journal.clone() else {
            return Err((
                Outcome::NotSent,
                "nobody said where the state of runs is kept".to_owned(),
            ));
        };
        let run = self.run_of(&journal, name)?;
        if !matches!(run.end(), Some((End::Applied, _))) {
            let end = run
                .end()
                .map_or("has not ended", |(_, message)| message)
                .to_owned();
            return Err((Outcome::Refused, format!("run {name} was not applied: {end}")));
        }
        if run.record.base.project.is_some() && run.record.base.project != run.record.project {
            let message =
                format!("run {name} took the target over from another project, which has to apply again");
            return Err((Outcome::Refused, message));
        }
        match shardwright_plan::Target::unfinished(self) {
            Ok(None) => {}
            Ok(Some(message)) => return Err((Outcome::Contended, message)),
            Err(error) => return Err((Outcome::NotSent, error.to_string())),
        }
        let live = self
            .read()
            .map_err(|error| (Outcome::NotSent, error.to_string()))?;
        let changes = run.record.changes().into_iter();
        let changes = changes.filter(|change| !is_of_mark(change));
        let changes: Vec<Change> = changes.map(|change| change.reversed().without_aside()).collect();
        let moved: Vec<String> = changes
            .iter()
            .filter(|change| {
                let now = match change.is_at_start {
                    true => live.on_disk(&change.name),
                    false => live.row(&change.name),
                };
                now != change.old.as_ref()
            })
            .map(|change| change.name.to_string())
            .collect();
        match moved.is_empty() {
            true => Ok((run, changes, live)),
            false => Err((
                Outcome::Stale,
                format!(
                    "rows have changed since run {name}: {}; take back the later runs first",
                    named(&moved)
                ),
            )),
        }
    }
}
