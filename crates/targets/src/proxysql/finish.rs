//! Runs that were cut off: finished, or taken back.

use shardwright_plan::{ApplyReport, Base, Outcome};

use super::apply::live_and_saved;
use super::change::Change;
use super::ending::of_apply;
use super::journal::{End, Journal, JournalError, Phase, Run, unfinished};
use super::live::Live;
use super::mark::{Lease, is_of_mark};
use super::peers::behind;
use super::row::Row;
use super::run::{Fault, give_lease_back, modules, named, take_lease};
use super::session::{AdminSession, SessionError};
use super::target::ProxySqlTarget;

/// To which end a run is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What it wanted.
    Forward,
    /// What was there before.
    Back,
}

type Ending = (Outcome, String);

impl ProxySqlTarget {
    /// Brings a run of this target that has not ended to an end. Doing it again is harmless.
    pub fn finish(&mut self, name: &str, way: Way) -> ApplyReport {
        let before = self.base();
        let (outcome, message) = match self.try_finish(name, way) {
            Ok(ending) | Err(ending) => ending,
        };
        self.report(name, outcome, message, before)
    }

    /// The base that a plan made now would have; `None`: it cannot be read.
    pub(super) fn base(&mut self) -> Option<Base> {
        self.read().ok().map(|live| self.observed(&live).base())
    }

    pub(super) fn report(
        &mut self,
        run: &str,
        outcome: Outcome,
        message: String,
        before: Option<Base>,
    ) -> ApplyReport {
        let after = self.base();
        ApplyReport {
            target: self.name.clone(),
            plan: run.to_owned(),
            outcome,
            before,
            after,
            message,
            problems: Vec::new(),
        }
    }

    fn try_finish(&mut self, name: &str, way: Way) -> Result<Ending, Ending> {
        let Some((journal, _)) = self.journal.clone() else {
            return Err((
                Outcome::NotSent,
                "nobody said where the state of runs is kept".to_owned(),
            ));
        };
        let _lock = journal.lock().map_err(of_journal)?;
        let mut run = self.run_of(&journal, name)?;
        if let Some((End::Applied | End::Restored | End::Refused, message)) = run.end() {
            return Ok((Outcome::Unchanged, format!("run {name} has ended: {message}")));
        }
        let lost = |error: SessionError| (Outcome::NotSent, self.error(&error.to_string()).to_string());
        let mut session = self.connect().map_err(lost)?;
        let live = Live::read(&mut session, &self.ownership).map_err(lost)?;
        self.hold_lease(&mut session, &live, &run)?;
        let changes = run.record.changes();
        if !has_begun(&run) {
            give_lease_back(&mut session, name).map_err(lost)?;
            let message = format!("run {name} had not begun: nothing was changed");
            return match note(&mut run, End::Refused, &message) {
                Ok(()) => Ok((Outcome::Restored, message)),
                Err(error) => Err(of_journal(error)),
            };
        }
        let others = changed_by_others(&live, &changes);
        if !others.is_empty() {
            let message = format!(
                "rows of run {name} hold neither what it found nor what it wrote: {}; set them right by hand first",
                named(&others)
            );
            return Err((Outcome::Stale, message));
        }
        let changes: Vec<Change> = match way {
            Way::Forward => changes,
            Way::Back => changes.iter().map(Change::reversed).collect(),
        };
        // The run stays open: whoever tries again finds it as it is.
        self.drain_of(&mut session, &live, &changes).map_err(of_apply)?;
        drop(session);
        self.go(&mut run, &changes, way)
    }

    fn go(&self, run: &mut Run, changes: &[Change], way: Way) -> Result<Ending, Ending> {
        let name = run.record.identity.run.clone();
        let saves = way == Way::Forward || run.was_saving();
        let done: Result<(), Fault> = self.insist(changes, run, saves);
        if let Err(fault) = done {
            let reason = self.without_secrets(&fault.to_string(), changes);
            return Err((Outcome::Mixed, format!("{reason}; {}", unfinished(&name))));
        }
        let behind = self
            .connect()
            .and_then(|mut session| behind(&mut session, &modules(changes)));
        let behind =
            behind.unwrap_or_else(|error| vec![format!("what its peers run cannot be read: {error}")]);
        let (end, message) = match way {
            Way::Forward => {
                let ended = live_and_saved(run.record.generation, &behind);
                (End::Applied, format!("run {name} is finished: {ended}"))
            }
            Way::Back => {
                let ended = [vec!["everything runs as before".to_owned()], behind.clone()].concat();
                (
                    End::Restored,
                    format!("run {name} is taken back: {}", ended.join("; ")),
                )
            }
        };
        if let Err(error) = note(run, end, &message) {
            let unfinished = unfinished(&name);
            let message = format!("{message}; the state of the run cannot say so: {error}; {unfinished}");
            return Err((Outcome::Mixed, message));
        }
        match behind.is_empty() {
            true => Ok((Outcome::Applied, message)),
            false => Ok((Outcome::Unverified, message)),
        }
    }

    pub(super) fn run_of(&self, journal: &Journal, name: &str) -> Result<Run, Ending> {
        let run = journal.run(name).map_err(of_journal)?;
        let (target, admin) = (&run.record.target, &run.record.admin);
        if *target == self.name && *admin == self.address.to_string() {
            return Ok(run);
        }
        let message = format!(
            "run {name} was made on {target} at {admin}, and not on {} at {}",
            self.name, self.address
        );
        Err((Outcome::Refused, message))
    }

    /// The lease is the run's, or nobody's: then it is taken again, so that nobody begins meanwhile.
    fn hold_lease(&self, session: &mut AdminSession, live: &Live, run: &Run) -> Result<(), Ending> {
        let identity = &run.record.identity;
        match &live.lease {
            Some(lease) if lease.run == identity.run => Ok(()),
            Some(lease) => Err((Outcome::Contended, format!("{lease}, goes on"))),
            None => {
                let lease = Lease::new(&identity.run, &identity.by, &identity.at);
                let taken = take_lease(session, &lease);
                taken.map_err(|error| (Outcome::Contended, format!("the lease cannot be taken: {error}")))?;
                let Err(refusal) = self.ask_peers(session, &lease) else {
                    return Ok(());
                };
                let (outcome, mut message) = of_apply(refusal);
                if let Err(error) = give_lease_back(session, &lease.run) {
                    message.push_str(&format!("; and the lease could not be given back: {error}"));
                }
                Err((outcome, message))
            }
        }
    }
}

/// Whether anything may have been written besides the lease.
fn has_begun(run: &Run) -> bool {
    run.phases
        .iter()
        .any(|phase| !matches!(phase, Phase::Ended { .. }))
}

fn note(run: &mut Run, end: End, message: &str) -> Result<(), JournalError> {
    run.note(Phase::Ended {
        end,
        message: message.to_owned(),
    })
}

pub(super) fn of_journal(error: JournalError) -> Ending {
    let outcome = match &error {
        JournalError::Locked { .. } | JournalError::LockLost { .. } => Outcome::Contended,
        _ => Outcome::NotSent,
    };
    (outcome, error.to_string())
}

/// Rows of a run that hold neither what was there before nor what it writes.
pub(super) fn changed_by_others(live: &Live, changes: &[Change]) -> Vec<String> {
    let is_other = |change: &&Change| {
        if change.is_at_start || is_of_mark(change) {
            return false;
        }
        let now = live.row(&change.name);
        let is = |side: &Option<Row>| now == side.as_ref();
        let is_shelved = change.shelved().is_some_and(|shelved| is(&shelved.row));
        !is(&change.old) && !is(&change.new) && !is_shelved
    };
    changes
        .iter()
        .filter(is_other)
        .map(|change| change.name.to_string())
        .collect()
}
