//! An apply as a transaction: a lease, a record of the way back, the stages, and the way back when one of them fails.

use std::thread;
use std::time::Duration;

use shardwright_plan::safety::is_lifted;
use shardwright_plan::{Applied, ApplyError, Base, Change as Planned, Hazard, Severity};

use super::beside::Besides;
use super::change::{Aside, Change};
use super::hazards::{codes, without_password};
use super::journal::{End, Identity, JournalError, Phase, Run, RunRecord, unfinished};
use super::live::Live;
use super::mark::{Lease, Mark, is_of_mark};
use super::peers::behind;
use super::row::RowName;
use super::run::{Fault, give_lease_back, make_live, modules, named, save, shelve, take_lease};
use super::session::{AdminSession, SessionError};
use super::staged::is_taken_in;
use super::target::ProxySqlTarget;
use super::unloaded::{NotLive, not_live};

/// How often the way back is tried, on a connection of its own each time.
const ATTEMPTS: u32 = 5;

const NO_JOURNAL: &str = "no place is configured for the state of runs";

impl ProxySqlTarget {
    pub(super) fn carry_out(&mut self, planned: &Planned<'_>) -> Result<Applied, ApplyError> {
        let Some((journal, identity)) = self.journal.clone() else {
            return Err(ApplyError::NotSent(self.error(NO_JOURNAL)));
        };
        let locked = journal.lock().map_err(|error| match error {
            JournalError::Locked { .. } => ApplyError::Contended(error.to_string()),
            other => ApplyError::NotSent(self.error(&other.to_string())),
        });
        let _lock = locked?;
        match self.open_run() {
            Ok(None) => {}
            Ok(Some(run)) => return Err(ApplyError::Blocked(unfinished(&run))),
            Err(error) => return Err(ApplyError::NotSent(self.error(&error.to_string()))),
        }
        self.secrets.forget();
        // Whoever applies has just observed. Under the lease it is read again.
        let live = self.last_seen().map_err(ApplyError::NotSent)?;
        let changes = self.checked(&live, planned)?;
        let after = live.with(&changes);
        let left = after.left(&self.ownership);
        let changes = self.with_mark(changes, &live, planned, &identity)?;
        let session = self.connect();
        let mut session = session.map_err(|error| ApplyError::NotSent(self.error(&error.to_string())))?;
        let besides = Besides::read(&mut session, after.rows(), &after.beyond(), &self.ownership)
            .map_err(|error| ApplyError::NotSent(self.error(&error.to_string())))?;
        let record = RunRecord::new(
            identity.clone(),
            (&self.name, self.address.to_string()),
            &planned.plan.desired,
            planned.plan.project.clone(),
            planned.plan.base.clone(),
            &changes,
        )
        .leaving(left, besides);
        let mut run = journal
            .begin(record)
            .map_err(|error| ApplyError::NotSent(self.error(&error.to_string())))?;
        let lease = Lease::new(&identity.run, &identity.by, &identity.at);
        let reserved = self
            .reserve(&mut session, &lease, &planned.plan.base, &changes)
            .and_then(|live| {
                // Whoever has given a reason for it has accepted that executions are refused.
                if !is_lifted(codes::PREPARED, planned.allowed) {
                    self.drain_of(&mut session, &live, &changes)?;
                }
                Ok(live)
            });
        match reserved {
            Ok(live) => self.transact(session, &changes, &live, &mut run),
            Err(error) => Err(self.refused(&mut session, &mut run, error)),
        }
    }

    /// What an apply asks before it sends anything; only who else has the lock is left to the apply.
    pub(super) fn check_before(&mut self, planned: &Planned<'_>) -> Result<(), ApplyError> {
        if self.journal.is_none() {
            return Err(ApplyError::NotSent(self.error(NO_JOURNAL)));
        }
        self.secrets.forget();
        let live = self.last_seen().map_err(ApplyError::NotSent)?;
        let checked = self.checked(&live, planned).map(drop);
        self.seen = Some(live);
        checked
    }

    /// The changes of a plan, where they are still what the plan says.
    fn checked(&mut self, live: &Live, planned: &Planned<'_>) -> Result<Vec<Change>, ApplyError> {
        if let Some(lease) = &live.lease {
            return Err(ApplyError::Contended(format!("{lease}, has not ended")));
        }
        let observed = self.observed(live);
        if observed.project.is_some()
            && observed.project != planned.plan.project
            && observed.project != planned.plan.base.project
        {
            let owner = observed.project.unwrap_or_default();
            return Err(ApplyError::Foreign(format!("it belongs to the project {owner}")));
        }
        if observed.base() != planned.plan.base {
            return Err(ApplyError::Stale(
                "its rows are not those that the plan was made from".to_owned(),
            ));
        }
        self.staged = planned.plan.staged;
        let decided = self.decided(live, planned.desired);
        let (prepared, told) = decided.map_err(ApplyError::NotSent)?;
        let assessment = self
            .assessment(live, planned.desired, &prepared, told)
            .map_err(ApplyError::NotSent)?;
        let planned_effects = planned
            .plan
            .effects
            .iter()
            .filter(|effect| effect.address.as_str() != "project");
        if !assessment.difference.effects.iter().eq(planned_effects) {
            let reason = "the project would change other rows today than the plan says";
            return Err(ApplyError::Stale(reason.to_owned()));
        }
        if let Some(reason) = without_password(&prepared.wanted, &prepared.changes) {
            return Err(ApplyError::Refused(reason));
        }
        // Under the lease it is waited until nobody holds such statements.
        let waits = |hazard: &Hazard| hazard.code == codes::PREPARED && !self.drain.is_zero();
        match assessment.hazards.into_iter().find(|hazard| {
            hazard.severity == Severity::Error && !waits(hazard) && !is_lifted(&hazard.code, planned.allowed)
        }) {
            None => Ok(prepared.changes),
            Some(hazard) if [codes::STAGED, codes::UNFINISHED].contains(&hazard.code.as_str()) => {
                Err(ApplyError::Blocked(hazard.message))
            }
            Some(hazard) => {
                let about = hazard
                    .address
                    .map(|address| format!("{address}: "))
                    .unwrap_or_default();
                Err(ApplyError::Refused(format!(
                    "{}: {about}{}",
                    hazard.code, hazard.message
                )))
            }
        }
    }

    /// The changes with those of the marks: ours counts one more, and those that it replaces go.
    fn with_mark(
        &self,
        mut changes: Vec<Change>,
        live: &Live,
        planned: &Planned<'_>,
        identity: &Identity,
    ) -> Result<Vec<Change>, ApplyError> {
        let plan = planned.plan;
        let mark = Mark::new(
            plan.project.clone(),
            plan.base.generation + 1,
            &identity.run,
            plan.desired.clone(),
            &self.ownership,
        )
        .applied_by(identity, identity.commit.as_deref());
        self.marked(&mut changes, live, mark)?;
        Ok(changes)
    }

    /// Adds the changes of marks.
    pub(super) fn marked(
        &self,
        changes: &mut Vec<Change>,
        live: &Live,
        mut mark: Mark,
    ) -> Result<(), ApplyError> {
        mark.rows = live.with(changes).fingerprint(&self.ownership);
        let former: Vec<&(RowName, Mark)> = live
            .marks
            .iter()
            .filter(|(_, mark)| self.concerns(mark))
            .collect();
        let kept = former.first().map(|(name, _)| name.clone());
        let taken: Vec<RowName> = live.marks.iter().map(|(name, _)| name.clone()).collect();
        let row = match kept {
            Some(name) => Some((name.clone(), mark.row_named(&name))),
            None => mark.row(&taken),
        };
        let Some((name, row)) = row else {
            return Err(ApplyError::NotSent(
                self.error("a hundred projects have marked it; there is no number left"),
            ));
        };
        for (gone, mark) in former.into_iter().skip(1) {
            changes.push(change_of_mark(gone.clone(), Some(mark.row_named(gone)), None));
        }
        let old = live.marks.iter().find(|(known, _)| *known == name);
        let old = old.map(|(name, mark)| mark.row_named(name));
        changes.push(change_of_mark(name, old, Some(row)));
        changes.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// Takes the lease, and looks once more whether everything is as it was; what is there.
    pub(super) fn reserve(
        &self,
        session: &mut AdminSession,
        lease: &Lease,
        base: &Base,
        changes: &[Change],
    ) -> Result<Live, ApplyError> {
        take_lease(session, lease).map_err(|error| match error {
            SessionError::Refused(reason) => {
                ApplyError::Contended(format!("another apply has just taken the lease ({reason})"))
            }
            other => ApplyError::NotSent(self.error(&other.to_string())),
        })?;
        let not_sent = |error: SessionError| ApplyError::NotSent(self.error(&error.to_string()));
        let live = Live::read(session, &self.ownership).map_err(not_sent)?;
        if live.lease.as_ref().map(|held| &held.run) != Some(&lease.run) {
            return Err(ApplyError::Contended(
                "another apply has taken the lease".to_owned(),
            ));
        }
        if self.observed(&live).base() != *base {
            return Err(ApplyError::Stale("its rows have changed just now".to_owned()));
        }
        self.ask_peers(session, lease)?;
        let moved = changes.iter().find(|change| match &change.aside {
            Aside::Before(shelved) => live.row(&change.name) != shelved.row.as_ref(),
            Aside::Nothing | Aside::After(_) => false,
        });
        if let Some(change) = moved {
            let message = format!("{} was staged anew just now", change.name);
            return Err(ApplyError::Stale(message));
        }
        for module in modules(changes) {
            let found = not_live(session, module).map_err(not_sent)?;
            let rows: Vec<String> = found
                .iter()
                .filter(|one| !is_taken_in(one, changes))
                .map(NotLive::to_string)
                .collect();
            if !rows.is_empty() {
                let words = module.words();
                let message = format!("rows of {words} are staged by somebody else: {}", named(&rows));
                return Err(ApplyError::Blocked(message));
            }
        }
        Ok(live)
    }

    /// Nothing was changed: the lease goes, and the run is over.
    pub(super) fn refused(&self, session: &mut AdminSession, run: &mut Run, error: ApplyError) -> ApplyError {
        let name = run.record.identity.run.clone();
        let given_back = match give_lease_back(session, &name) {
            Ok(()) => Ok(()),
            Err(SessionError::Lost(_)) => self
                .connect()
                .and_then(|mut session| give_lease_back(&mut session, &name)),
            Err(other) => Err(other),
        };
        let ended = Phase::Ended {
            end: End::Refused,
            message: error.to_string(),
        };
        match given_back {
            // The run stays open: whoever finishes it gives the lease back.
            Err(lost) => ApplyError::Blocked(format!(
                "{error}; and the lease could not be given back ({lost}): {}",
                unfinished(&name)
            )),
            Ok(()) => match run.note(ended) {
                Ok(()) => error,
                Err(unwritten) => ApplyError::Blocked(format!(
                    "{error}; and the state of the run cannot say so ({unwritten}): {}",
                    unfinished(&name)
                )),
            },
        }
    }

    /// From here on the target is changed: the end is the new state or the former one.
    pub(super) fn transact(
        &self,
        mut session: AdminSession,
        changes: &[Change],
        live: &Live,
        run: &mut Run,
    ) -> Result<Applied, ApplyError> {
        let name = run.record.identity.run.clone();
        let done =
            make_live(&mut session, changes, live, run).and_then(|()| save(&mut session, changes, run));
        let fault = match done {
            Ok(()) => return self.complete(session, changes, run),
            Err(fault) => fault,
        };
        let reason = self.without_secrets(&fault.to_string(), changes);
        drop(session);
        match self.restore(changes, run, &reason) {
            Ok(()) => Err(ApplyError::Restored(format!(
                "{reason}; everything is set back, and runs as before"
            ))),
            Err(second) => {
                let second = self.without_secrets(&second.to_string(), changes);
                let message = format!("{reason}; on the way back: {second}; {}", unfinished(&name));
                // The message says so in any case; without this line the run counts as cut off, which is as true.
                let _unwritten = run.note(Phase::Ended {
                    end: End::Mixed,
                    message: message.clone(),
                });
                Err(ApplyError::Mixed(message))
            }
        }
    }

    /// Everything is live and saved. The peers of a cluster are waited for before the lease goes.
    fn complete(
        &self,
        session: AdminSession,
        changes: &[Change],
        run: &mut Run,
    ) -> Result<Applied, ApplyError> {
        let name = run.record.identity.run.clone();
        let mut session = Some(session);
        let mut failed = None;
        for _ in 0..ATTEMPTS {
            let mut current = match session.take().map_or_else(|| self.connect(), Ok) {
                Ok(current) => current,
                Err(error) => {
                    failed = Some(error);
                    thread::sleep(self.pause());
                    continue;
                }
            };
            let behind = behind(&mut current, &modules(changes)).or_else(|error| match error {
                SessionError::Lost(_) => Err(error),
                other => Ok(vec![format!("what its peers run cannot be read: {other}")]),
            });
            match behind.and_then(|behind| give_lease_back(&mut current, &name).map(|()| behind)) {
                Ok(behind) => {
                    let generation = run.record.generation;
                    let message = live_and_saved(generation, &behind);
                    let noted = run.note(Phase::Ended {
                        end: End::Applied,
                        message: message.clone(),
                    });
                    noted.map_err(|error| {
                        let unfinished = unfinished(&name);
                        ApplyError::Mixed(format!(
                            "{message}, and the state of the run cannot say so: {error}; {unfinished}"
                        ))
                    })?;
                    return Ok(Applied {
                        generation,
                        fingerprint: left_by(changes),
                        behind,
                    });
                }
                Err(error) => failed = Some(error),
            }
        }
        let reason = failed.map(|error| error.to_string()).unwrap_or_default();
        Err(ApplyError::Mixed(format!(
            "everything is live and saved, and the lease could not be given back: {reason}; {}",
            unfinished(&name)
        )))
    }

    /// The way back, as often as connections are lost.
    pub(super) fn restore(&self, changes: &[Change], run: &mut Run, reason: &str) -> Result<(), Fault> {
        run.note(Phase::Restoring {
            reason: reason.to_owned(),
        })?;
        let back: Vec<Change> = changes.iter().map(Change::reversed).collect();
        let saves = run.was_saving();
        self.insist(&back, run, saves)?;
        let noted = run.note(Phase::Ended {
            end: End::Restored,
            message: reason.to_owned(),
        });
        noted.map_err(|error| {
            Fault::Differs(format!(
                "everything runs as before, and the state of the run cannot say so ({error})"
            ))
        })
    }

    /// Makes changes live, on new connections while they get lost; and gives the lease back.
    pub(super) fn insist(&self, changes: &[Change], run: &mut Run, saves: bool) -> Result<(), Fault> {
        let mut attempt = 1;
        loop {
            match self.once(changes, run, saves) {
                Err(fault) if fault.is_loss() && attempt < ATTEMPTS => {
                    attempt += 1;
                    thread::sleep(self.pause());
                }
                ended => return ended,
            }
        }
    }

    fn once(&self, changes: &[Change], run: &mut Run, saves: bool) -> Result<(), Fault> {
        let fault = |doing: &str, error| Fault::Session {
            doing: doing.to_owned(),
            error,
        };
        let mut session = self.connect().map_err(|error| fault("connecting again", error))?;
        let live = Live::read(&mut session, &self.ownership).map_err(|error| fault("reading", error))?;
        make_live(&mut session, changes, &live, run)?;
        if saves {
            save(&mut session, changes, run)?;
        }
        shelve(&mut session, changes)?;
        let given_back = give_lease_back(&mut session, &run.record.identity.run);
        given_back.map_err(|error| fault("giving the lease back", error))
    }

    fn pause(&self) -> Duration {
        self.timeouts.connect / (2 * ATTEMPTS)
    }

    /// An error of the engine with every password that was sent taken out of it.
    pub(super) fn without_secrets(&self, text: &str, changes: &[Change]) -> String {
        let rows = changes.iter().flat_map(|change| [&change.old, &change.new]);
        let shelved = changes.iter().filter_map(|change| change.shelved()?.row.as_ref());
        let secrets = rows
            .flatten()
            .chain(shelved)
            .filter_map(|row| row.secret.as_ref());
        let mut text = text.to_owned();
        for secret in secrets
            .map(|secret| secret.expose())
            .filter(|secret| secret.len() > 3)
        {
            text = text.replace(secret, "…");
        }
        text
    }
}

/// How a run has ended well, with what of its cluster has not followed.
pub(super) fn live_and_saved(generation: u64, behind: &[String]) -> String {
    let mut said = format!("generation {generation} is live and saved");
    for peer in behind {
        said.push_str("; ");
        said.push_str(peer);
    }
    said
}

/// The fingerprint of the rows that changes leave, as their mark tells it.
fn left_by(changes: &[Change]) -> String {
    let marks = changes.iter().filter(|change| is_of_mark(change));
    let mut marks = marks.filter_map(|change| Mark::read(change.new.as_ref()?));
    marks.next().map(|mark| mark.rows).unwrap_or_default()
}

fn change_of_mark(name: RowName, old: Option<super::row::Row>, new: Option<super::row::Row>) -> Change {
    Change {
        name,
        address: "project".into(),
        old,
        new,
        reference: None,
        is_at_start: false,
        aside: Aside::Nothing,
    }
}
