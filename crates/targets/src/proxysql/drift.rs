//! What differs between a ProxySQL, what was last applied to it, and what a configuration wants of it; and on whose side
//! each difference came up.
//!
//! A plan knows two states: live and wanted. The third is what the last apply left. Its mark has a fingerprint of that, so
//! whatever leads to this fingerprint is that state: the live rows themselves, where nobody has touched them; the wanted
//! rows; or those of the commit that the mark names. The record of the run, where it is at hand, has a digest of each row.

mod causes;
mod memory;
mod report;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use shardwright_plan::{Action, Effect, Facts, RowKey, TargetError};
use shardwright_rules::tables::USERS;
use shardwright_rules::{Address, Configuration};
use shardwright_secrets::Secret;

use super::beside::{Besides, Sight};
use super::change::Change;
use super::changes::{changes, is_remark, with_remark};
use super::effects::of_changes;
use super::left::Left;
use super::live::Live;
use super::mark::{Applied, Mark};
use super::module::Module;
use super::passwords::is_hash;
use super::placement::{Mover, Placements};
use super::row::{Row, RowName, TableName};
use super::session::SessionError;
use super::target::ProxySqlTarget;
use super::unloaded::{NotLive, not_live};
use super::wanted::Wanted;
use crate::emit::Ownership;
pub use causes::Cause;
use causes::Evidence;
use memory::{firewalled_mirrors, unresolved};
pub use report::{Difference, DriftReport, ReadTarget, TargetReport, UnreadTarget};

/// Whose change a difference comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Somebody changed the proxy since the last apply.
    LiveAhead,
    /// The files changed since the last apply.
    RepoAhead,
    /// Both did.
    Both,
    /// It is not known what the last apply left.
    Unknown,
}

impl Side {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::LiveAhead => "live-ahead",
            Self::RepoAhead => "repo-ahead",
            Self::Both => "both",
            Self::Unknown => "unknown",
        }
    }
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Drifted {
    /// Whose change it comes from.
    pub side: Side,
    /// What differs. Of [`Side::LiveAhead`] from what the files say to what is live, else from what is live to what the files
    /// say.
    pub effect: Effect,
    /// It is in memory only: nobody has loaded it.
    pub staged: bool,
    /// What is known or guessed of a change of the proxy.
    pub cause: Option<Cause>,
}

impl Drifted {
    /// The rows that differ, each with its columns as they are live and as the files say; of a row that is on both sides
    /// only those that differ, and `None` where there is no such row.
    pub fn rows(&self) -> impl Iterator<Item = (&RowKey, Option<&Facts>, Option<&Facts>)> {
        self.effect.rows.iter().map(|row| {
            let old = (row.action != Action::Add).then_some(&row.old);
            let new = (row.action != Action::Remove).then_some(&row.new);
            match self.side {
                Side::LiveAhead => (&row.row, new, old),
                Side::RepoAhead | Side::Both | Side::Unknown => (&row.row, old, new),
            }
        })
    }
}

/// A row that differs because something moves servers by itself: it is no drift.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Table and key.
    pub row: String,
    /// The object that it is of.
    #[schemars(with = "String")]
    pub address: Address,
    /// Who decides it.
    pub by: Mover,
}

/// What differs on a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Drift {
    /// Its name in the project file.
    pub target: String,
    /// As it says it.
    pub version: String,
    /// The project that its rows belong to, of those that concern ours.
    pub project: Option<String>,
    /// How often that was applied; 0: never.
    pub generation: u64,
    /// The run that applied it last.
    pub run: Option<String>,
    /// Who made that run.
    pub applied: Applied,
    /// Object by object.
    pub differences: Vec<Drifted>,
    /// What else is staged and not live, or live and not in memory; a line each.
    pub staged: Vec<String>,
    /// What a monitor or a scheduler has decided.
    pub left_out: Vec<LeftOut>,
    /// What no project holds and is not as the last apply found it; a line each.
    pub beside: Vec<String>,
    /// Why it is older than what was applied last.
    pub older: Option<String>,
    /// A run that has not ended, with what to do.
    pub unfinished: Option<String>,
    /// What could not be compared, with the reason; a line each.
    pub not_compared: Vec<String>,
    /// What no look compares.
    pub not_looked_at: Vec<String>,
}

impl Drift {
    /// Whether anything is not as the files and the last apply have it.
    pub fn is_any(&self) -> bool {
        self.count() > 0 || self.older.is_some() || self.unfinished.is_some()
    }

    /// How many objects and rows differ.
    pub fn count(&self) -> usize {
        self.differences.len() + self.staged.len() + self.beside.len()
    }
}

/// What a ProxySQL was like when it was looked at.
#[derive(Debug)]
pub struct Look {
    live: Live,
    not_live: Vec<NotLive>,
    evidence: Evidence,
    besides: Besides,
}

impl Look {
    /// The password of a user as ProxySQL holds it, where that is a hash. A text is nobody's to pass on.
    pub fn hash_of(&self, user: &str) -> Option<&Secret> {
        let mut users = self.live.of_table(TableName::of(&USERS));
        let (_, found) = users.find(|(name, _)| name.text(0) == Some(user))?;
        found
            .row
            .secret
            .as_ref()
            .filter(|secret| is_hash(secret.expose()))
    }
}

/// Gives the configuration of a commit with what the project owned then; `None`: it cannot be had any more.
pub type Former<'a> = dyn FnMut(&str) -> Option<(Arc<Configuration>, Ownership)> + 'a;

impl ProxySqlTarget {
    /// Reads what is needed to tell drift. Nothing is changed.
    ///
    /// # Errors
    /// It cannot be reached or read, or is not what the project says.
    pub fn look(&self) -> Result<Look, TargetError> {
        let live = self.read()?;
        let failed = |error: SessionError| self.error(&error.to_string());
        let mut session = self.connect().map_err(failed)?;
        let mut found = Vec::new();
        for module in Module::ALL {
            found.extend(not_live(&mut session, module).map_err(failed)?);
        }
        Ok(Look {
            evidence: Evidence::read(&mut session, &self.address.to_string()).map_err(failed)?,
            besides: Besides::read(&mut session, live.rows(), &live.beyond(), &self.ownership)
                .map_err(failed)?,
            live,
            not_live: found,
        })
    }

    /// What differs between a look, the last apply and a configuration.
    ///
    /// # Errors
    /// Something of the configuration cannot stand in a table of the engine.
    pub fn drift(
        &mut self,
        look: &Look,
        desired: &Configuration,
        former: &mut Former<'_>,
    ) -> Result<Drift, TargetError> {
        let Look {
            live,
            not_live,
            evidence,
            besides,
        } = look;
        let wanted = Wanted::new(desired, &self.ownership, live, &mut self.secrets)
            .map_err(|error| self.error(&error.to_string()))?;
        let placements = Placements::of(desired);
        let (decided, differing): (Vec<_>, Vec<_>) = changes(live, &wanted)
            .into_iter()
            .map(|change| (placements.decided(&change, live, &wanted), change))
            .partition(|(mover, _)| mover.is_some());
        let differing: Vec<Change> = differing.into_iter().map(|(_, change)| change).collect();
        let mark = self.owner(live).map(|(_, mark)| mark.clone());
        let mut not_compared = unresolved(&wanted);
        let older = self.older(mark.as_ref()).unwrap_or_else(|error| {
            not_compared.push(format!("how old it is: {error}"));
            None
        });
        let last = match self.last_of_history().filter(|_| older.is_some()) {
            Some(left) => Last::Left(left),
            None => self.last(live, mark.as_ref(), &wanted, former),
        };
        let mut beside = match self.found_beside(mark.as_ref()) {
            Ok(Some(then)) => then.changed(besides, |variable| {
                wanted.rows.contains_key(&RowName::variable(variable))
            }),
            Ok(None) => Vec::new(),
            Err(reason) => {
                not_compared.push(reason);
                Vec::new()
            }
        };
        beside.extend(firewalled_mirrors(live, &wanted, desired));
        let observed = self.observed(live);
        // A state that cannot be read may hold a run that has not ended.
        let unfinished = self
            .unfinished_run(live.lease.as_ref())
            .unwrap_or_else(|error| Some(error.to_string()));
        let told = Told {
            wanted: &wanted,
            last,
            staged: not_live.iter().filter_map(|one| one.name.clone()).collect(),
            evidence,
            touched: self.touched_by_open_run(),
            unfinished: unfinished.clone(),
            older: older.clone(),
            owner: mark.as_ref().filter(|mark| mark.project != self.project).cloned(),
        };
        let differences = told.differences(&differing);
        let said: BTreeSet<&RowName> = differing.iter().map(|change| &change.name).collect();
        let staged = not_live
            .iter()
            .filter(|one| one.name.as_ref().is_none_or(|name| !said.contains(name)))
            .map(NotLive::to_string);
        let left_out = decided.into_iter().filter_map(|(mover, change)| {
            Some(LeftOut {
                row: change.name.to_string(),
                address: change.address,
                by: mover?,
            })
        });
        Ok(Drift {
            target: self.name.clone(),
            version: told.evidence.version.clone(),
            project: observed.project,
            generation: observed.generation,
            run: mark.as_ref().map(|mark| mark.run.clone()),
            applied: mark.map(|mark| mark.applied).unwrap_or_default(),
            differences,
            staged: staged.collect(),
            left_out: left_out.collect(),
            beside,
            older,
            unfinished,
            not_compared,
            not_looked_at: Sight::nothing().map(str::to_owned).collect(),
        })
    }

    /// What the last apply of this project left.
    fn last(&mut self, live: &Live, mark: Option<&Mark>, wanted: &Wanted, former: &mut Former<'_>) -> Last {
        let Some(mark) = mark else { return Last::Nothing };
        if mark.project != self.project {
            return Last::Unknown;
        }
        if live.has_fingerprint(&self.ownership, &mark.rows) {
            return Last::Left(live.left(&self.ownership));
        }
        let record = self
            .journal
            .as_ref()
            .and_then(|(journal, _)| journal.run(&mark.run).ok());
        if let Some(left) = record.as_ref().and_then(|run| run.record.left()) {
            return Last::Left(left.clone());
        }
        let as_wanted = live.with(&changes(live, wanted));
        if as_wanted.has_fingerprint(&self.ownership, &mark.rows) {
            return Last::Left(as_wanted.left(&self.ownership));
        }
        let of_commit = mark.applied.commit.as_deref().and_then(former);
        let of_commit = of_commit.and_then(|(configuration, ownership)| {
            let wanted = Wanted::new(&configuration, &ownership, live, &mut self.secrets).ok()?;
            let then = live.with(&changes(live, &wanted));
            then.has_fingerprint(&ownership, &mark.rows)
                .then(|| then.left(&ownership))
        });
        of_commit.map_or(Last::Unknown, Last::Left)
    }

    /// The rows of a run of this machine that has not ended.
    fn touched_by_open_run(&self) -> BTreeSet<RowName> {
        let open = self.open_run().ok().flatten();
        let run = open
            .zip(self.journal.as_ref())
            .and_then(|(run, (journal, _))| journal.run(&run).ok());
        let changes = run.map(|run| run.record.changes()).unwrap_or_default();
        changes.into_iter().map(|change| change.name).collect()
    }
}

/// What the last apply left.
enum Last {
    /// Nothing was applied yet.
    Nothing,
    /// These rows.
    Left(Left),
    /// Nobody remembers.
    Unknown,
}

/// What decides about each difference.
struct Told<'a> {
    wanted: &'a Wanted,
    last: Last,
    staged: BTreeSet<RowName>,
    evidence: &'a Evidence,
    touched: BTreeSet<RowName>,
    unfinished: Option<String>,
    /// Why the target is older than what was applied.
    older: Option<String>,
    /// The mark of another project that owns the rows.
    owner: Option<Mark>,
}

impl Told<'_> {
    fn differences(&self, differing: &[Change]) -> Vec<Drifted> {
        let mut groups: BTreeMap<(Side, bool, Module, Option<Cause>), Vec<Change>> = BTreeMap::new();
        for change in differing {
            let side = self.side(change);
            let is_staged = self.staged.contains(&change.name);
            let module = Module::of(&change.name);
            let cause = (side != Side::RepoAhead).then(|| self.cause(change, is_staged));
            let change = match side {
                Side::LiveAhead => Change {
                    // Nobody knows what a password is that somebody has set.
                    reference: None,
                    ..change.reversed()
                },
                Side::RepoAhead | Side::Both | Side::Unknown => change.clone(),
            };
            groups
                .entry((side, is_staged, module, cause))
                .or_default()
                .push(change);
        }
        let mut differences: Vec<Drifted> = Vec::new();
        for ((side, staged, _, cause), changes) in groups {
            let effects = of_changes(&changes).into_iter();
            differences.extend(effects.map(|effect| Drifted {
                side,
                effect,
                staged,
                cause: cause.clone(),
            }));
        }
        differences
    }

    fn side(&self, change: &Change) -> Side {
        if self.owner.is_some() {
            return Side::LiveAhead;
        }
        let left = match &self.last {
            Last::Nothing => return Side::RepoAhead,
            Last::Unknown => return Side::Unknown,
            Last::Left(left) => left,
        };
        // A variable has a value before anybody writes it.
        if change.name.variable_name().is_some() && !left.has(&change.name) {
            return Side::RepoAhead;
        }
        let differs = |row: &Option<Row>| left.differs(&change.name, row.as_ref().map(|row| &row.facts));
        // With which comment it was left tells nothing of the files.
        let as_left =
            |row: Option<&Row>| row.is_some() && !left.differs(&change.name, row.map(|row| &row.facts));
        let stands = change
            .old
            .as_ref()
            .filter(|old| is_remark(old))
            .zip(change.new.as_ref());
        let stands = stands.map(|(old, new)| with_remark(&change.name, old, new));
        let written = self.wanted.rows.get(&change.name).map(|wish| &wish.row);
        let is_new = differs(&change.new) && !as_left(stands.as_ref()) && !as_left(written);
        match (differs(&change.old), is_new) {
            (true, false) => Side::LiveAhead,
            (false, true) => Side::RepoAhead,
            (true, true) => Side::Both,
            // Only a password is another, and of passwords nothing is remembered.
            (false, false) => Side::Unknown,
        }
    }

    fn cause(&self, change: &Change, is_staged: bool) -> Cause {
        let is_of_run = self.touched.is_empty() || self.touched.contains(&change.name);
        if let Some(run) = self.unfinished.as_ref().filter(|_| is_of_run) {
            return Cause::Unfinished { run: run.clone() };
        }
        if let Some(mark) = &self.owner {
            return Cause::Project {
                project: mark.project.clone(),
                run: mark.run.clone(),
                by: mark.applied.by.clone(),
                at: mark.applied.at.clone(),
            };
        }
        if self.older.is_some() {
            return Cause::Restored;
        }
        self.evidence.cause(change, is_staged)
    }
}
