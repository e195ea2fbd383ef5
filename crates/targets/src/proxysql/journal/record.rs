//! What is known of a run: who made it, what it changes, and how far it came.

use std::ops::Deref;

use serde::{Deserialize, Serialize};
use shardwright_plan::{Base, Facts};
use shardwright_rules::{Address, Configuration};
use shardwright_secrets::Secret;

use crate::proxysql::beside::Besides;
use crate::proxysql::change::{Aside, Change, Shelved};
use crate::proxysql::left::Left;
use crate::proxysql::row::{Row, RowName};

/// The version of what is stored; raised when an old reader would misread a new one.
pub(super) const VERSION: u32 = 1;

/// Who applies, in which run, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The run's name; unique, and sorted by time.
    pub run: String,
    /// `user@host`
    pub by: String,
    /// RFC 3339.
    pub at: String,
    /// The commit of the project, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files of the project were not as they are in that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_uncommitted: bool,
    /// The apply that the run is a part of, where that has runs on several targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<String>,
    /// All targets that the apply changes, begun or not; none where that is not known, as in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
}

impl Identity {
    /// The apply that the run is a part of; of one with one target, the run itself.
    pub fn of_apply(&self) -> &str {
        self.apply.as_deref().unwrap_or(&self.run)
    }

    /// The run of one of several targets of this apply, by its number.
    #[must_use]
    pub fn part(&self, number: usize) -> Self {
        Self {
            run: format!("{}-{number}", self.run),
            apply: Some(self.run.clone()),
            ..self.clone()
        }
    }
}

/// What a run is, without the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunHead {
    /// Who made it.
    pub identity: Identity,
    /// The target's name in the project file.
    pub target: String,
    /// Its admin port.
    pub admin: String,
    /// The configuration that it leads to, by its fingerprint; of a rollback, the run that it takes back.
    pub desired: String,
    /// The project that owns it afterwards.
    pub project: Option<String>,
    /// What it ran before.
    pub base: Base,
    /// The generation that it becomes.
    pub generation: u64,
}

/// What a run is, as it was before anything was sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunRecord {
    pub(super) version: u32,
    #[serde(flatten)]
    pub(super) head: RunHead,
    pub(super) changes: Vec<StoredChange>,
    /// What it leaves; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<Left>,
    /// What it finds beside the rows of projects; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    besides: Option<Besides>,
    /// Of a bundled proxy, whose configuration is replaced as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<Whole>,
}

/// The configurations of a bundled proxy before a run and after it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Whole {
    /// The one before; `None`: it had none yet.
    pub before: Option<Configuration>,
    /// The fingerprint of the one after.
    pub after: String,
}

impl Deref for RunRecord {
    type Target = RunHead;

    fn deref(&self) -> &RunHead {
        &self.head
    }
}

/// A row that a run changes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredChange {
    name: RowName,
    address: Address,
    old: Option<StoredRow>,
    new: Option<StoredRow>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_at_start: bool,
    /// What memory held of it that was not live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shelved: Option<StoredShelved>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredShelved {
    row: Option<StoredRow>,
    is_ours: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRow {
    facts: Facts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// What was begun or done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum Phase {
    /// Rows are put in memory, and this module is loaded.
    Loading {
        /// The module.
        module: String,
    },
    /// What is live is what was wanted.
    Verified,
    /// Modules are saved to disk.
    Saving,
    /// Everything is set back.
    Restoring {
        /// Why.
        reason: String,
    },
    /// It is over.
    Ended {
        /// How.
        end: End,
        /// In a sentence.
        message: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// What was wanted is live and saved.
    Applied,
    /// The former state is live and saved.
    Restored,
    /// Nothing was changed.
    Refused,
    /// Neither, or it is not known.
    Mixed,
}

impl RunRecord {
    pub(in crate::proxysql) fn new(
        identity: Identity,
        target: (&str, String),
        desired: &str,
        project: Option<String>,
        base: Base,
        changes: &[Change],
    ) -> Self {
        let stored = |row: &Row| StoredRow {
            facts: row.facts.clone(),
            secret: row.secret.as_ref().map(|secret| secret.expose().to_owned()),
        };
        let changes = changes.iter().map(|change| StoredChange {
            name: change.name.clone(),
            address: change.address.clone(),
            old: change.old.as_ref().map(stored),
            new: change.new.as_ref().map(stored),
            is_at_start: change.is_at_start,
            shelved: change.shelved().map(|shelved| StoredShelved {
                row: shelved.row.as_ref().map(stored),
                is_ours: shelved.is_ours,
            }),
        });
        Self {
            version: VERSION,
            changes: changes.collect(),
            left: None,
            besides: None,
            whole: None,
            head: RunHead {
                identity,
                target: target.0.to_owned(),
                admin: target.1,
                desired: desired.to_owned(),
                project,
                generation: base.generation + 1,
                base,
            },
        }
    }

    /// A run of a bundled proxy, which replaces its configuration.
    pub(crate) fn of_whole(head: RunHead, whole: Whole) -> Self {
        Self {
            version: VERSION,
            head,
            changes: Vec::new(),
            left: None,
            besides: None,
            whole: Some(whole),
        }
    }

    /// The configurations of a bundled proxy; `None`: the run is of a ProxySQL.
    pub fn whole(&self) -> Option<&Whole> {
        self.whole.as_ref()
    }

    /// The same with what it leaves, and what it finds beside.
    pub(in crate::proxysql) fn leaving(mut self, left: Left, besides: Besides) -> Self {
        self.left = Some(left);
        self.besides = Some(besides);
        self
    }

    /// What it found beside the rows of projects, where its record says so.
    pub(in crate::proxysql) fn besides(&self) -> Option<&Besides> {
        self.besides.as_ref()
    }

    /// What it left, where its record says so.
    pub(in crate::proxysql) fn left(&self) -> Option<&Left> {
        self.left.as_ref()
    }

    /// The rows that it changes.
    pub(in crate::proxysql) fn changes(&self) -> Vec<Change> {
        let row = |row: &StoredRow| Row {
            facts: row.facts.clone(),
            secret: row.secret.clone().map(Secret::new),
        };
        let changes = self.changes.iter().map(|change| Change {
            name: change.name.clone(),
            address: change.address.clone(),
            old: change.old.as_ref().map(row),
            new: change.new.as_ref().map(row),
            reference: None,
            is_at_start: change.is_at_start,
            aside: match &change.shelved {
                None => Aside::Nothing,
                Some(shelved) => Aside::Before(Shelved {
                    row: shelved.row.as_ref().map(row),
                    is_ours: shelved.is_ours,
                }),
            },
        });
        changes.collect()
    }
}

/// How a run ended, by what was noted; `None`: it was cut off, or goes on.
pub(super) fn end(phases: &[Phase]) -> Option<(End, &str)> {
    match phases.last() {
        Some(Phase::Ended { end, message }) => Some((*end, message)),
        _ => None,
    }
}

/// Whether somebody has to finish a run or take it back.
pub(super) fn is_open(phases: &[Phase]) -> bool {
    end(phases).is_none_or(|(end, _)| end == End::Mixed)
}

/// Whether what a run wanted was live and saved when it ended.
pub(super) fn is_applied(phases: &[Phase]) -> bool {
    matches!(end(phases), Some((End::Applied, _)))
}

/// What a record says of its version, whatever else is in it.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// Whether this program reads what is stored in these bytes; else the reason why not.
pub(super) fn check_version(bytes: &[u8]) -> Result<(), String> {
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    match versioned.version {
        VERSION => Ok(()),
        version if version > VERSION => Err(format!(
            "it has version {version}, this program reads {VERSION}: use the newer program that wrote it"
        )),
        version => Err(format!("it has version {version}, this program reads {VERSION}")),
    }
}
