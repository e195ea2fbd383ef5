//! What is remembered of applies to a bundled proxy: the configuration before, which takes one back.
//!
//! A proxy takes a configuration whole or not at all, so a run of it needs nobody to finish it. Its record is written before
//! the configuration is sent, and its end once the proxy was read back.

use shardwright_plan::{ApplyReport, Base, Change, Observed, Outcome};
use shardwright_rules::{Configuration, EngineId};

use crate::proxysql::{
    End, Identity, Journal, JournalError, JournalLock, Phase, Run, RunHead, RunRecord, Whole,
};

/// Where runs are kept, who makes the next one, and the one that goes on.
#[derive(Debug)]
pub(crate) struct Runs {
    journal: Journal,
    identity: Identity,
    /// The run that is taken back; `None`: a plan is applied.
    takes_back: Option<String>,
    /// What was observed last.
    seen: Option<Configuration>,
    open: Option<(Run, JournalLock)>,
}

/// How a run of a bundled proxy is taken back.
#[derive(Debug)]
pub struct WayBack {
    /// What the proxy runs now.
    pub observed: Observed,
    /// What it shall run again.
    pub before: Configuration,
    /// The project that it belongs to then.
    pub project: Option<String>,
}

impl Runs {
    pub(crate) fn new(journal: Journal, identity: Identity) -> Self {
        Self {
            journal,
            identity,
            takes_back: None,
            seen: None,
            open: None,
        }
    }

    pub(crate) fn taking_back(&mut self, run: &str) {
        self.takes_back = Some(run.to_owned());
    }

    pub(crate) fn see(&mut self, observed: &Observed) {
        self.seen.clone_from(&observed.configuration);
    }

    /// Records a run, once however often its change is sent.
    pub(crate) fn begin(
        &mut self,
        target: &str,
        admin: String,
        change: &Change<'_>,
    ) -> Result<(), JournalError> {
        if self.open.is_some() {
            return Ok(());
        }
        let lock = self.journal.lock()?;
        let plan = change.plan;
        let head = RunHead {
            identity: self.identity.clone(),
            target: target.to_owned(),
            admin,
            desired: self.takes_back.clone().unwrap_or_else(|| plan.desired.clone()),
            project: plan.project.clone(),
            generation: plan.base.generation + 1,
            base: plan.base.clone(),
        };
        let whole = Whole {
            before: self.seen.clone(),
            after: plan.desired.clone(),
        };
        let run = self.journal.begin(RunRecord::of_whole(head, whole))?;
        self.open = Some((run, lock));
        Ok(())
    }

    pub(crate) fn conclude(&mut self, report: &ApplyReport) -> Result<(), JournalError> {
        let Some((mut run, _lock)) = self.open.take() else {
            return Ok(());
        };
        let end = match report.outcome {
            Outcome::Applied | Outcome::Unchanged | Outcome::Unverified => End::Applied,
            Outcome::Restored => End::Restored,
            Outcome::Mixed => End::Mixed,
            Outcome::NotSent
            | Outcome::NotBegun
            | Outcome::Refused
            | Outcome::Stale
            | Outcome::Contended
            | Outcome::Rejected => End::Refused,
        };
        run.note(Phase::Ended {
            end,
            message: report.message.clone(),
        })
    }

    /// How a run is taken back, where the proxy still is as that left it.
    ///
    /// # Errors
    /// How that ends instead.
    pub(crate) fn way_back(
        &self,
        name: &str,
        target: &str,
        observed: Observed,
    ) -> Result<WayBack, (Outcome, String)> {
        let run = self.journal.run(name);
        let run = run.map_err(|error| (Outcome::NotSent, error.to_string()))?;
        let head: &RunHead = &run.record;
        let Some(whole) = run.record.whole().filter(|_| head.target == target) else {
            let message = format!(
                "run {name} was made on {}, and not on the bundled proxy {target}",
                head.target
            );
            return Err((Outcome::Refused, message));
        };
        if head.base.project.is_some() && head.base.project != head.project {
            let message =
                format!("run {name} took the target over from another project, which has to apply again");
            return Err((Outcome::Refused, message));
        }
        if observed.base() == head.base {
            return Err((
                Outcome::Refused,
                format!("run {name} was not applied: {target} runs what it ran before"),
            ));
        }
        if observed.generation != head.generation || observed.fingerprint != whole.after {
            let message = format!(
                "{target} has changed since run {name}: it runs generation {}, and the run left generation {}; take back the \
                 later runs first",
                observed.generation, head.generation
            );
            return Err((Outcome::Stale, message));
        }
        Ok(WayBack {
            before: match &whole.before {
                Some(before) => before.clone(),
                None => Configuration::empty(EngineId::Bundled),
            },
            project: head.base.project.clone().or_else(|| head.project.clone()),
            observed,
        })
    }

    /// Why the proxy holds an older generation than was applied; `None`: it does not, or nobody remembers.
    pub(crate) fn older(
        &self,
        target: &str,
        admin: &str,
        observed: &Observed,
    ) -> Result<Option<String>, JournalError> {
        let Some(last) = self.journal.last_applied(target)? else {
            return Ok(None);
        };
        let last = last.head;
        let is_of_it =
            last.admin == admin && (observed.project.is_none() || observed.project == last.project);
        let is_older = is_of_it && observed.generation < last.generation;
        Ok(is_older.then(|| {
            format!(
                "older than what was applied: generation {} is here, and run {} left generation {} at {}; it was restored or \
                 emptied: shardwright diff shows what it lacks, shardwright apply brings it back",
                observed.generation, last.identity.run, last.generation, last.identity.at
            )
        }))
    }
}

/// The report of a rollback that nothing is sent for. `base` is what the proxy runs.
pub(crate) fn of_rollback(
    target: &str,
    run: &str,
    outcome: Outcome,
    message: String,
    base: Option<Base>,
) -> ApplyReport {
    ApplyReport {
        target: target.to_owned(),
        plan: run.to_owned(),
        outcome,
        before: base.clone(),
        after: base,
        message,
        problems: Vec::new(),
    }
}
