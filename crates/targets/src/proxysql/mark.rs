//! The rows of `mysql_query_rules` by which projects know each other on a ProxySQL: marks, and the lease of an apply.
//!
//! A mark is an active rule that matches nothing and does nothing, so peers of a ProxySQL Cluster get it with the rules.
//! Its number is below zero: no rule has one, it is never the last rule (which fast routing looks at), and it does not
//! move the numbers that SQLite gives to new rows. A lease is an inactive rule: it stays in memory and is never loaded.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shardwright_plan::Facts;
use shardwright_rules::tables::QUERY_RULES;
use shardwright_rules::{glob_matches, is_glob};

use super::change::Change;
use super::journal::Identity;
use super::row::{KeyPart, Row, RowName, TableName};
use crate::emit::{Numbers, Ownership};

/// The version of marks and leases; raised when an old reader would misread a new one.
const VERSION: u32 = 1;
/// The number of the lease: one for a ProxySQL, so that two cannot be taken.
const LEASE_ID: i64 = -1;
/// The numbers of marks, downwards.
const MARK_IDS: std::ops::RangeInclusive<i64> = -109..=-10;
/// A flag that nothing leads to.
const NOWHERE: i64 = 2_147_483_647;
const MARK: &str = "shardwright";
const LEASE: &str = "shardwright_lease";

/// What a project says of itself on a ProxySQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    version: u32,
    /// Its name, where it has one.
    pub(super) project: Option<String>,
    /// How often it has been applied.
    pub(super) generation: u64,
    /// The rows that it left, as [`super::live::Live::fingerprint`] tells them.
    pub(super) rows: String,
    /// The configuration that they stand for.
    pub(super) configuration: String,
    /// The run that applied it.
    pub(super) run: String,
    /// Who made that run; absent in marks of earlier versions.
    #[serde(default, flatten)]
    pub(super) applied: Applied,
    owns: Owns,
}

/// Who applied what a mark stands for, when, and from which commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Applied {
    /// `user@host`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The commit of the project; none of a run that was taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files of the project were not as they are in that commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_uncommitted: bool,
}

/// What a project owns, so that others can see whether it is theirs too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owns {
    /// Names of users; absent: all.
    users: Option<Vec<String>>,
    /// Numbers of rules; absent: all.
    rules: Option<Vec<(u32, u32)>>,
    /// Numbers of hostgroups; absent: all.
    hostgroups: Option<Vec<(u32, u32)>>,
}

/// An apply that goes on, or was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    version: u32,
    /// The run.
    pub run: String,
    /// Who made it: `user@host`.
    pub by: String,
    /// When it began.
    pub since: String,
}

impl Mark {
    pub(super) fn new(
        project: Option<String>,
        generation: u64,
        run: &str,
        configuration: String,
        ownership: &Ownership,
    ) -> Self {
        Self {
            version: VERSION,
            project,
            generation,
            rows: String::new(),
            configuration,
            run: run.to_owned(),
            applied: Applied::default(),
            owns: Owns::of(ownership),
        }
    }

    /// The same of a run that somebody makes now, from a commit that is known.
    pub(super) fn applied_by(mut self, identity: &Identity, commit: Option<&str>) -> Self {
        self.applied = Applied {
            by: Some(identity.by.clone()),
            at: Some(identity.at.clone()),
            commit: commit.map(str::to_owned),
            is_uncommitted: identity.is_uncommitted && commit.is_some(),
        };
        self
    }

    /// The mark of a row; `None`: it is another row, or of a later version.
    pub(super) fn read(row: &Row) -> Option<Self> {
        let mark: Self = attribute(row, MARK)?;
        (mark.version == VERSION).then_some(mark)
    }

    /// Whether somebody with this ownership would write what the project of the mark owns.
    pub(super) fn concerns(&self, ownership: &Ownership) -> bool {
        self.owns.overlaps(&Owns::of(ownership))
    }

    /// The row with a number that none of the others has.
    pub(super) fn row(&self, taken: &[RowName]) -> Option<(RowName, Row)> {
        let mut free = MARK_IDS.rev().map(rule);
        let name = free.find(|name| !taken.contains(name))?;
        Some((name.clone(), self.row_named(&name)))
    }

    /// The row with the number of an earlier mark.
    pub(super) fn row_named(&self, name: &RowName) -> Row {
        let of = self
            .project
            .as_ref()
            .map_or("a project without a name".to_owned(), |project| {
                format!("the project {project}")
            });
        let comment = format!("{of} is applied here by shardwright; matches nothing, leave it in place");
        row(name, true, &comment, json!({ MARK: self }))
    }
}

impl Lease {
    pub(super) fn new(run: &str, by: &str, since: &str) -> Self {
        Self {
            version: VERSION,
            run: run.to_owned(),
            by: by.to_owned(),
            since: since.to_owned(),
        }
    }

    pub(super) fn read(row: &Row) -> Option<Self> {
        attribute(row, LEASE)
    }

    pub(super) fn name() -> RowName {
        rule(LEASE_ID)
    }

    pub(super) fn row(&self) -> Row {
        let comment = format!(
            "shardwright applies {}; inactive, goes when that is over",
            self.run
        );
        row(&Self::name(), false, &comment, json!({ LEASE: self }))
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} of {}, since {}", self.run, self.by, self.since)
    }
}

/// Whether a change is about a mark or a lease, which are no rows of a configuration.
pub(super) fn is_of_mark(change: &Change) -> bool {
    let row = change.new.as_ref().or(change.old.as_ref());
    row.is_some_and(|row| is_ours_to_keep(&change.name, row))
}

/// Whether a row is a mark or a lease by its number; what it says is read apart.
pub(super) fn is_ours_to_keep(name: &RowName, row: &Row) -> bool {
    let id = name.number(0).filter(|_| name.is_in(&QUERY_RULES));
    let has_number = id == Some(LEASE_ID) || id.is_some_and(|id| MARK_IDS.contains(&id));
    has_number && row.text("attributes").contains(MARK)
}

fn rule(id: i64) -> RowName {
    RowName {
        table: TableName::of(&QUERY_RULES),
        key: vec![KeyPart::Number(id)],
    }
}

fn row(name: &RowName, is_active: bool, comment: &str, attributes: Value) -> Row {
    let given = [
        ("rule_id", json!(name.number(0))),
        ("active", json!(i64::from(is_active))),
        ("flagIN", json!(NOWHERE)),
        ("attributes", json!(attributes.to_string())),
        ("comment", json!(comment)),
    ];
    let mut facts = Facts::new();
    for column in QUERY_RULES.columns {
        let default = || {
            column.default.map(|text| match text.parse::<i64>() {
                Ok(number) => json!(number),
                Err(_) => json!(text.trim_matches('\'')),
            })
        };
        let value = given.iter().find(|(name, _)| *name == column.name);
        if let Some(value) = value.map(|(_, value)| value.clone()).or_else(default) {
            facts.insert(column.name.to_owned(), value);
        }
    }
    Row { facts, secret: None }
}

fn attribute<T: for<'de> Deserialize<'de>>(row: &Row, key: &str) -> Option<T> {
    let mut attributes: Facts = serde_json::from_str(row.text("attributes")).ok()?;
    serde_json::from_value(attributes.shift_remove(key)?).ok()
}

impl Owns {
    fn of(ownership: &Ownership) -> Self {
        let ranges = |numbers: &Option<Numbers>| numbers.as_ref().map(Numbers::pairs);
        Self {
            users: ownership.users.clone(),
            rules: ranges(&ownership.rules),
            hostgroups: ranges(&ownership.hostgroups),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        numbers_overlap(&self.rules, &other.rules)
            || numbers_overlap(&self.hostgroups, &other.hostgroups)
            || users_overlap(&self.users, &other.users)
    }
}

type Ranges = Option<Vec<(u32, u32)>>;

fn numbers_overlap(one: &Ranges, other: &Ranges) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one
            .iter()
            .any(|(from, to)| other.iter().any(|(start, end)| from <= end && start <= to)),
        // Everything overlaps with everything but nothing.
        (Some(some), None) | (None, Some(some)) => !some.is_empty(),
        (None, None) => true,
    }
}

fn users_overlap(one: &Option<Vec<String>>, other: &Option<Vec<String>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one
            .iter()
            .any(|left| other.iter().any(|right| globs_meet(left, right))),
        (Some(some), None) | (None, Some(some)) => !some.is_empty(),
        (None, None) => true,
    }
}

/// Whether a name may match both; of two patterns, unless they begin differently.
fn globs_meet(one: &str, other: &str) -> bool {
    match (is_glob(one), is_glob(other)) {
        (false, false) => one == other,
        (true, false) => glob_matches(one, other),
        (false, true) => glob_matches(other, one),
        (true, true) => {
            let start = |glob: &str| glob.split(['*', '?']).next().unwrap_or_default().to_owned();
            let (one, other) = (start(one), start(other));
            one.starts_with(&other) || other.starts_with(&one)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn numbers(ranges: &[std::ops::RangeInclusive<u32>]) -> Option<Numbers> {
        Some(Numbers::new(ranges.iter().cloned(), &BTreeSet::new()))
    }

    fn ownership(users: &[&str], rules: std::ops::RangeInclusive<u32>) -> Ownership {
        Ownership {
            users: Some(users.iter().map(|&user| user.to_owned()).collect()),
            rules: numbers(std::slice::from_ref(&rules)),
            hostgroups: numbers(&[rules]),
            ..Ownership::default()
        }
    }

    #[test]
    fn projects_side_by_side_do_not_concern_each_other() {
        let shop = ownership(&["shop*", "root"], 100..=199);
        let mark = Mark::new(Some("shop".into()), 3, "r1", "f".into(), &shop);
        for (other, expected) in [
            (ownership(&["pay*"], 200..=299), false),
            (ownership(&["shop_jobs"], 200..=299), true),
            (ownership(&["s*"], 200..=299), true),
            (ownership(&["root"], 200..=299), true),
            (ownership(&["pay"], 199..=299), true),
            (Ownership::default(), true),
        ] {
            assert_eq!(mark.concerns(&other), expected, "{other:?}");
        }
    }

    #[test]
    fn marks_and_leases_are_rows_that_are_read_back() {
        let mark = Mark::new(None, 1, "r1", "f".into(), &ownership(&["a"], 1..=2));
        let (name, row) = mark.row(&[rule(-10)]).unwrap();
        assert_eq!(name, rule(-11));
        assert_eq!(Mark::read(&row), Some(mark));
        assert!(is_ours_to_keep(&name, &row));
        let lease = Lease::new("r2", "me@host", "2026-11-25T12:00:00Z");
        assert_eq!(Lease::read(&lease.row()), Some(lease.clone()));
        assert_eq!(Mark::read(&lease.row()), None);
        assert_eq!(lease.row().facts["active"], json!(0));
        assert!(!is_ours_to_keep(&rule(7), &row));
    }
}
