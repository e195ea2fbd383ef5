//! A ProxySQL as a target of plans: observed, and compared with a configuration.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use shardwright_plan::{Assessment, Difference, Hazard, Observed, Severity, Staged, Step, TargetError};
use shardwright_rules::{Configuration, EngineId};
use shardwright_secrets::Secret;

use super::change::Change;
use super::changes::changes;
use super::effects::difference;
use super::hazards::{codes, hazard, of_rows, placed_again, staged};
use super::journal::{Identity, Journal, JournalError, unfinished};
use super::left_alone::left_alone;
use super::live::Live;
use super::mark::{Applied, Lease, Mark};
use super::module::Module;
use super::monitored::leave;
use super::others::of_others;
use super::placement::{Mover, Placements};
use super::row::RowName;
use super::rule_sets::{Around, Beside, RuleSet, rule_set};
use super::run::modules;
use super::session::{AdminSession, Layer, SessionError};
use super::staged::take_in;
use super::stages::{emptied, stages};
use super::unloaded::{Compared, NotLive};
use super::wanted::{Secrets, Wanted};
use crate::admin::{AdminAddress, Timeouts};
use crate::emit::Ownership;

/// A running ProxySQL. Every call makes its own connection, so that a call never meets a dead one.
#[derive(Debug)]
pub struct ProxySqlTarget {
    pub(super) name: String,
    engine: EngineId,
    pub(super) address: AdminAddress,
    user: String,
    password: Secret,
    pub(super) timeouts: Timeouts,
    pub(super) project: Option<String>,
    pub(super) ownership: Ownership,
    pub(super) secrets: Secrets,
    pub(super) journal: Option<(Journal, Identity)>,
    /// What becomes of rows that somebody else has staged; `None`: they are refused.
    pub(super) staged: Option<Staged>,
    /// How long an apply waits for clients to let prepared statements go.
    pub(super) drain: Duration,
    /// What was observed last.
    pub(super) seen: Option<Live>,
    /// The changes that were assessed last, from what was observed last.
    assessed: Option<Vec<Change>>,
}

/// What a mark says of the last apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastApplied {
    /// The project.
    pub project: Option<String>,
    /// How often it was applied.
    pub generation: u64,
    /// Fingerprint of the configuration.
    pub configuration: String,
    /// The run.
    pub run: String,
    /// Who made it, when, and from which commit.
    pub who: Applied,
}

/// What a ProxySQL routes by, before and after a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Nothing that routes would change.
    Untouched,
    /// What runs, and what would run.
    Changes(Box<[RuleSet; 2]>),
}

/// A configuration compared with what is live.
pub(super) struct Prepared {
    pub(super) wanted: Wanted,
    pub(super) changes: Vec<Change>,
    /// Rows that the monitor makes.
    pub(super) monitored: Vec<RowName>,
}

impl ProxySqlTarget {
    /// A target by its name in the project file. Secrets of users are sought from `base`, the project's directory.
    pub fn new(
        name: impl Into<String>,
        engine: EngineId,
        address: AdminAddress,
        user: impl Into<String>,
        password: Secret,
        base: PathBuf,
    ) -> Self {
        Self {
            name: name.into(),
            engine,
            address,
            user: user.into(),
            password,
            timeouts: Timeouts::default(),
            project: None,
            ownership: Ownership::default(),
            secrets: Secrets::new(base),
            journal: None,
            staged: None,
            drain: Duration::ZERO,
            seen: None,
            assessed: None,
        }
    }

    /// The same with other times to wait.
    #[must_use]
    pub fn patient(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Its engine.
    pub fn engine(&self) -> EngineId {
        self.engine
    }

    /// Says whose plans these are, and which rows they are about. What was observed of other rows is forgotten; whether it
    /// still counts.
    pub fn manage(&mut self, project: Option<String>, ownership: Ownership) -> bool {
        let is_same = self.project == project && self.ownership == ownership;
        if !is_same {
            self.project = project;
            self.ownership = ownership;
            self.seen = None;
            self.assessed = None;
        }
        is_same
    }

    /// Says what becomes of rows that somebody else has staged in memory; `None`: a plan refuses them.
    pub fn take_staged(&mut self, staged: Option<Staged>) {
        self.staged = staged;
        self.assessed = None;
    }

    /// What becomes of rows that somebody else has staged.
    pub fn staged(&self) -> Option<Staged> {
        self.staged
    }

    /// Says how long an apply waits until clients no longer hold prepared statements whose execution the new rules would
    /// refuse. Without that it does not wait, and refuses.
    pub fn drain(&mut self, patience: Duration) {
        self.drain = patience;
    }

    /// Says where runs are kept, and who makes the next one. Without that, nothing is applied.
    pub fn keep_runs(&mut self, journal: Journal, identity: Identity) {
        self.journal = Some((journal, identity));
    }

    pub(super) fn connect(&self) -> Result<AdminSession, SessionError> {
        AdminSession::open(&self.address, &self.user, &self.password, self.timeouts)
    }

    /// Another admin port, with the account of this one.
    pub(super) fn connect_to(&self, address: &AdminAddress) -> mysql::Result<AdminSession> {
        AdminSession::try_open(address, &self.user, &self.password, self.timeouts)
    }

    /// Reads what is there, for anybody who wants to know: an import, a status.
    ///
    /// # Errors
    /// It cannot be reached or read, or is not what the project says.
    pub fn read(&self) -> Result<Live, TargetError> {
        self.checked_version(|session| Live::read(session, &self.ownership))
    }

    /// Reads what it runs, whatever somebody has staged.
    ///
    /// # Errors
    /// As [`ProxySqlTarget::read`].
    pub fn running(&self) -> Result<Live, TargetError> {
        self.checked_version(|session| Live::of(session, &self.ownership, Layer::Runtime))
    }

    /// What it runs, whoever its rows are of, as far as a configuration holds it.
    ///
    /// # Errors
    /// As [`ProxySqlTarget::read`].
    pub fn running_rule_set(&self) -> Result<Configuration, TargetError> {
        let live = self.running()?;
        let rows = live.rows().map(|(name, found)| (name, &found.row)).collect();
        Ok(Arc::unwrap_or_clone(rule_set(&rows, self.engine).configuration))
    }

    fn checked_version(
        &self,
        read: impl FnOnce(&mut AdminSession) -> Result<Live, SessionError>,
    ) -> Result<Live, TargetError> {
        let live = self
            .connect()
            .and_then(|mut session| read(&mut session))
            .map_err(|error| self.error(&error.to_string()))?;
        self.check_version(&live)?;
        Ok(live)
    }

    /// Keeps what was observed.
    pub(super) fn see(&mut self, live: Live) {
        self.seen = Some(live);
        self.assessed = None;
    }

    /// What was observed last, or what is there now.
    pub(super) fn last_seen(&mut self) -> Result<Live, TargetError> {
        self.seen.take().map_or_else(|| self.read(), Ok)
    }

    fn check_version(&self, live: &Live) -> Result<(), TargetError> {
        let found = live.version();
        let wanted = self.engine.name().strip_prefix("proxysql-").unwrap_or_default();
        match found.starts_with(&format!("{wanted}.")) {
            true => Ok(()),
            false => Err(self.error(&format!(
                "runs ProxySQL {found}, and the project says {}",
                self.engine.name()
            ))),
        }
    }

    pub(super) fn error(&self, reason: &str) -> TargetError {
        TargetError {
            target: self.name.clone(),
            address: self.address.to_string(),
            reason: reason.to_owned(),
        }
    }

    /// The mark that decides whose the rows are: that of another project before our own.
    pub(super) fn owner<'l>(&self, live: &'l Live) -> Option<&'l (RowName, Mark)> {
        let concerned = || live.marks.iter().filter(|(_, mark)| self.concerns(mark));
        let foreign = concerned().find(|(_, mark)| mark.project.is_some() && mark.project != self.project);
        let own = concerned().find(|(_, mark)| mark.project == self.project);
        foreign.or(own).or_else(|| concerned().next())
    }

    /// Whether a mark is ours, or is about what we would write.
    pub(super) fn concerns(&self, mark: &Mark) -> bool {
        (self.project.is_some() && mark.project == self.project) || mark.concerns(&self.ownership)
    }

    /// The last run of this target, where it has not ended.
    pub(super) fn open_run(&self) -> Result<Option<String>, JournalError> {
        let Some((journal, _)) = &self.journal else {
            return Ok(None);
        };
        let open = journal.open_run(&self.name)?;
        Ok(open.map(|run| run.head.identity.run))
    }

    /// A run that has not ended, with what to do: one of this machine, or the one that holds the lease.
    pub(super) fn unfinished_run(&self, lease: Option<&Lease>) -> Result<Option<String>, JournalError> {
        Ok(match (self.open_run()?, lease) {
            (Some(run), _) => Some(unfinished(&run)),
            (None, Some(lease)) => Some(format!("{lease}, has not ended")),
            (None, None) => None,
        })
    }

    /// Why what it holds is older than what was applied last, with what to do; `None`: it is not, or nobody remembers.
    pub(super) fn older(&self, mark: Option<&Mark>) -> Result<Option<String>, JournalError> {
        let is_of_another = mark.is_some_and(|mark| mark.project != self.project);
        let Some((journal, _)) = self.journal.as_ref().filter(|_| !is_of_another) else {
            return Ok(None);
        };
        let Some(last) = journal.last_applied(&self.name)? else {
            return Ok(None);
        };
        let last = last.head;
        if last.admin != self.address.to_string() || last.project != self.project {
            return Ok(None);
        }
        // Names of runs begin with their time. One that came later may have been made from another machine.
        let is_older = |mark: &&Mark| mark.generation < last.generation && mark.run < last.identity.run;
        let held = match (mark, mark.filter(is_older)) {
            (None, _) => "nothing of this project is here".to_owned(),
            (Some(_), Some(mark)) => format!("generation {} is here", mark.generation),
            (Some(_), None) => return Ok(None),
        };
        Ok(Some(format!(
            "older than what was applied: {held}, and run {} left generation {} at {}; it was restored or emptied: \
             shardwright diff shows what it lacks, shardwright apply brings it back",
            last.identity.run, last.generation, last.identity.at
        )))
    }

    pub(super) fn observed(&self, live: &Live) -> Observed {
        let owner = self.owner(live).map(|(_, mark)| mark);
        Observed {
            generation: owner.map_or(0, |mark| mark.generation),
            fingerprint: live.fingerprint(&self.ownership),
            project: owner.and_then(|mark| mark.project.clone()),
            configuration: None,
            server_limits: Vec::new(),
        }
    }

    /// The rows that are another live than a configuration wants, those besides that only one of both has included.
    ///
    /// # Errors
    /// Something of the configuration cannot stand in a table of the engine.
    pub fn differing(
        &mut self,
        live: &Live,
        desired: &Configuration,
    ) -> Result<BTreeSet<RowName>, TargetError> {
        let prepared = self.prepare(live, desired)?;
        Ok(prepared.changes.into_iter().map(|change| change.name).collect())
    }

    /// What was applied last, as the mark of the owner says; `None`: nothing.
    pub fn last_applied(&self, live: &Live) -> Option<LastApplied> {
        let (_, mark) = self.owner(live)?;
        Some(LastApplied {
            project: mark.project.clone(),
            generation: mark.generation,
            configuration: mark.configuration.clone(),
            run: mark.run.clone(),
            who: mark.applied.clone(),
        })
    }

    /// What it runs and what it would run after a configuration, with what becomes of rows that others have staged. Those of
    /// others that stay are on both sides.
    ///
    /// # Errors
    /// It cannot be asked, or cannot hold the configuration.
    pub fn routing(&mut self, desired: &Configuration) -> Result<Routing, TargetError> {
        let live = self.last_seen()?;
        let changes = match self.assessed.take() {
            Some(changes) => changes,
            None => self.decided(&live, desired)?.0.changes,
        };
        let routing = self.routing_of(&live, &changes);
        self.seen = Some(live);
        routing
    }

    fn routing_of(&self, live: &Live, changes: &[Change]) -> Result<Routing, TargetError> {
        let routes = |change: &Change| Module::of(&change.name) != Module::Servers;
        if !changes.iter().any(routes) {
            return Ok(Routing::Untouched);
        }
        let failed = |error: SessionError| self.error(&error.to_string());
        let mut session = self.connect().map_err(failed)?;
        let beside = Beside::read(&mut session, changes).map_err(failed)?;
        let Around { before, after } = Around::of(live, &beside, changes);
        let sides = [before, after].map(|rows| rule_set(&rows, self.engine));
        Ok(Routing::Changes(Box::new(sides)))
    }

    /// Assesses a configuration, and keeps the changes for [`ProxySqlTarget::routing`].
    pub(super) fn assessed(
        &mut self,
        live: &Live,
        desired: &Configuration,
    ) -> Result<Assessment, TargetError> {
        let (prepared, told) = self.decided(live, desired)?;
        let assessment = self.assessment(live, desired, &prepared, told)?;
        self.assessed = Some(prepared.changes);
        Ok(assessment)
    }

    pub(super) fn prepare(&mut self, live: &Live, desired: &Configuration) -> Result<Prepared, TargetError> {
        let wanted = Wanted::new(desired, &self.ownership, live, &mut self.secrets);
        let wanted = wanted.map_err(|error| self.error(&error.to_string()))?;
        let mut changes = changes(live, &wanted);
        let placements = Placements::of(desired);
        changes.retain(|change| placements.decided(change, live, &wanted) != Some(Mover::External));
        let monitored = leave(&mut changes, live, &wanted, desired);
        Ok(Prepared {
            wanted,
            changes,
            monitored,
        })
    }

    /// The same with what becomes of rows that others have staged, and what is to be said of them.
    pub(super) fn decided(
        &mut self,
        live: &Live,
        desired: &Configuration,
    ) -> Result<(Prepared, Vec<Hazard>), TargetError> {
        let mut prepared = self.prepare(live, desired)?;
        let Some(mode) = self.staged else {
            return Ok((prepared, Vec::new()));
        };
        let failed = |error: SessionError| self.error(&error.to_string());
        let mut session = self.connect().map_err(failed)?;
        let Prepared { wanted, changes, .. } = &mut prepared;
        let told = take_in(&mut session, &self.ownership, live, wanted, changes, mode).map_err(failed)?;
        Ok((prepared, told))
    }

    /// What of it would be different.
    pub(super) fn different(
        &mut self,
        live: &Live,
        desired: &Configuration,
    ) -> Result<Difference, TargetError> {
        let Prepared { wanted, changes, .. } = self.prepare(live, desired)?;
        Ok(difference(&changes, live, &wanted, desired))
    }

    /// What has to be known before anything is sent.
    pub(super) fn assessment(
        &self,
        live: &Live,
        desired: &Configuration,
        Prepared {
            wanted,
            changes,
            monitored,
        }: &Prepared,
        of_staged: Vec<Hazard>,
    ) -> Result<Assessment, TargetError> {
        let (memory, live) = (live, &*live.loaded(changes));
        let mut hazards = of_rows(live, wanted, changes, &self.user);
        hazards.extend(of_staged);
        hazards.extend(left_alone(live, wanted, monitored));
        if self.ownership.report {
            hazards.extend(of_others(live, wanted, changes));
        }
        let stages = stages(changes, live);
        let emptied = emptied(&stages, live);
        if !emptied.is_empty() {
            let list: Vec<String> = emptied.iter().map(ToString::to_string).collect();
            let message = format!(
                "hostgroup {} would have no server for a moment while rules lead there",
                list.join(", ")
            );
            hazards.push(hazard(codes::REUSED_HOSTGROUP, Severity::Error, None, message));
        }
        if let Some(lease) = &live.lease {
            let message =
                format!("{lease}, has not ended: shardwright apply --resume, or shardwright rollback");
            hazards.push(hazard(codes::UNFINISHED, Severity::Error, None, message));
        }
        if !changes.is_empty() {
            let failed = |error: SessionError| self.error(&error.to_string());
            let mut session = self.connect().map_err(failed)?;
            hazards.extend(beside(&mut session, live, changes, self.staged).map_err(failed)?);
            let held = self.going_live(memory, changes).refused(&mut session);
            hazards.extend(held.map_err(failed)?);
        }
        let steps = vec![
            Step::CompareBase,
            Step::Reserve,
            Step::Expand,
            Step::Switch,
            Step::Contract,
            Step::Verify,
            Step::Save,
        ];
        Ok(Assessment {
            difference: difference(changes, live, wanted, desired),
            hazards,
            steps,
        })
    }
}

/// What others have staged and nobody has decided about, and what the monitor has moved, where the changes have to do with it.
fn beside(
    session: &mut AdminSession,
    live: &Live,
    changes: &[Change],
    decided: Option<Staged>,
) -> Result<Vec<Hazard>, SessionError> {
    let mut hazards = Vec::new();
    let mut displaced = Vec::new();
    let after = live.after(changes);
    for module in &modules(changes) {
        let compared = Compared::read(session, *module)?;
        let rows: Vec<String> = compared.not_live().iter().map(NotLive::to_string).collect();
        if decided.is_none() && !rows.is_empty() {
            hazards.push(staged(module.words(), &rows));
        }
        displaced.extend(compared.displaced(&after));
    }
    if !displaced.is_empty() {
        hazards.push(placed_again(&displaced));
    }
    Ok(hazards)
}
