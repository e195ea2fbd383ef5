//! Which rows of a live ProxySQL a script may change, and what earlier scripts have left there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use shardwright_rules::glob_matches;

use super::literal::literal;
use super::{Cell, EmitError, Row, Table};

/// What the rows of fast routing that a project writes have at the start of their comment: the address of their shard.
const OF_SHARD_MAPS: &str = "shard_maps.*";

/// What a project owns of a live system. The default is everything, with nothing left by earlier scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// Names of users, `*` and `?` allowed; `None`: all. Rows of the firewall go with their user.
    pub users: Option<Vec<String>>,
    /// Ids of query rules; `None`: all.
    pub rules: Option<Numbers>,
    /// Hostgroups, with their servers and the rows that join them; `None`: all.
    pub hostgroups: Option<Numbers>,
    /// Whether the script ends by listing the rows that it left alone.
    pub report: bool,
    /// Variables that an earlier script may have set, with the engine's defaults.
    pub resets: BTreeMap<String, String>,
    /// An earlier script may have written the firewall.
    pub had_firewall: bool,
}

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Ascending; neither overlapping nor touching.
    ranges: Vec<RangeInclusive<u32>>,
}

impl Numbers {
    /// The numbers of the ranges, without some.
    pub fn new(ranges: impl IntoIterator<Item = RangeInclusive<u32>>, except: &BTreeSet<u32>) -> Self {
        let mut pieces: Vec<RangeInclusive<u32>> = Vec::new();
        for range in ranges {
            let (mut from, end) = range.into_inner();
            for &hole in except.range(from..=end.max(from)) {
                if hole > from {
                    pieces.push(from..=hole - 1);
                }
                from = hole.saturating_add(1);
            }
            if from <= end && !except.contains(&end) {
                pieces.push(from..=end);
            }
        }
        pieces.sort_unstable_by_key(|piece| *piece.start());
        let mut joined: Vec<RangeInclusive<u32>> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match joined.last_mut() {
                Some(last) if *piece.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(piece.end());
                }
                _ => joined.push(piece),
            }
        }
        Self { ranges: joined }
    }

    /// Whether a number is one of them.
    pub fn contains(&self, number: u64) -> bool {
        let Ok(number) = u32::try_from(number) else {
            return false;
        };
        let at = self.ranges.partition_point(|range| *range.end() < number);
        self.ranges.get(at).is_some_and(|range| range.contains(&number))
    }

    /// The first and the last number of each range.
    pub(crate) fn pairs(&self) -> Vec<(u32, u32)> {
        let pairs = self.ranges.iter();
        pairs.map(|range| (*range.start(), *range.end())).collect()
    }

    /// As people write them: `100, 1000-2999`.
    fn text(&self) -> String {
        let ranges = self
            .ranges
            .iter()
            .map(|range| match range.start() == range.end() {
                true => range.start().to_string(),
                false => format!("{}-{}", range.start(), range.end()),
            });
        ranges.collect::<Vec<_>>().join(", ")
    }

    /// The condition that a column holds one of them. Small ranges are listed number by number: a list is flat, while
    /// SQLite limits how deep a chain of ORs may be.
    fn condition(&self, column: &str) -> String {
        const LISTED: u32 = 64;
        let mut listed: Vec<String> = Vec::new();
        let mut terms: Vec<String> = Vec::new();
        for range in &self.ranges {
            let (from, to) = (*range.start(), *range.end());
            if to - from < LISTED {
                listed.extend((from..=to).map(|number| number.to_string()));
            } else {
                terms.push(format!("{column} BETWEEN {from} AND {to}"));
            }
        }
        if !listed.is_empty() || terms.is_empty() {
            terms.push(format!("{column} IN ({})", listed.join(", ")));
        }
        any(terms)
    }
}

impl Ownership {
    /// Whether rows of others stay.
    pub fn is_partial(&self) -> bool {
        self.users.is_some() || self.rules.is_some() || self.hostgroups.is_some()
    }

    /// What a script with this ownership replaces, for its reader.
    pub(super) fn text(&self) -> String {
        let said = |what: &str, ours: Option<String>| match ours {
            None => format!("all {what}"),
            Some(names) if names.is_empty() => format!("no {what}"),
            Some(names) => format!("{what} {names}"),
        };
        [
            said("query rules", self.rules.as_ref().map(Numbers::text)),
            said("users", self.users.as_ref().map(|names| names.join(", "))),
            said("hostgroups", self.hostgroups.as_ref().map(Numbers::text)),
        ]
        .join("; ")
    }

    /// Whether a row of the configuration is written. Rows of fast routing always are: they have no number, and the rules
    /// of their map rely on them.
    pub(crate) fn writes(&self, row: &Row) -> bool {
        let number = |column: &str| match row.cell(column) {
            Some(Cell::Integer(number)) => *number,
            _ => 0,
        };
        let of_hostgroup = |column: &str| {
            let ours = self.hostgroups.as_ref();
            ours.is_none_or(|ours| ours.contains(number(column)))
        };
        match row.table {
            Table::Servers => of_hostgroup("hostgroup_id"),
            Table::ReplicationHostgroups | Table::GaleraHostgroups | Table::GroupReplicationHostgroups => {
                of_hostgroup("writer_hostgroup")
            }
            Table::QueryRules => {
                let ours = self.rules.as_ref();
                ours.is_none_or(|ours| ours.contains(number("rule_id")))
            }
            Table::FastRouting => true,
            Table::Users | Table::FirewallUsers | Table::FirewallRules => match row.cell("username") {
                Some(Cell::Text(name)) => self.owns_user(name),
                _ => false,
            },
        }
    }

    /// Whether a user of this name is ours.
    pub(crate) fn owns_user(&self, name: &str) -> bool {
        let ours = self.users.as_ref();
        ours.is_none_or(|globs| globs.iter().any(|glob| glob_matches(glob, name)))
    }

    /// The condition under which a row of the table is ours; `None`: always.
    pub(crate) fn condition(&self, table: Table) -> Option<String> {
        let hostgroup = |column: &str| self.hostgroups.as_ref().map(|ours| ours.condition(column));
        let joined = |columns: &[&str]| {
            let terms: Option<Vec<String>> = columns.iter().map(|column| hostgroup(column)).collect();
            terms.map(any)
        };
        match table {
            Table::Servers => hostgroup("hostgroup_id"),
            // A row that joins one of our hostgroups to anything speaks of ours.
            Table::ReplicationHostgroups => joined(&["writer_hostgroup", "reader_hostgroup"]),
            Table::GaleraHostgroups | Table::GroupReplicationHostgroups => joined(&[
                "writer_hostgroup",
                "backup_writer_hostgroup",
                "reader_hostgroup",
                "offline_hostgroup",
            ]),
            Table::QueryRules => self.rules.as_ref().map(|ours| ours.condition("rule_id")),
            Table::Users | Table::FirewallUsers | Table::FirewallRules => self.of_user(),
            Table::FastRouting => self.of_fast_routing(),
        }
    }

    fn of_user(&self) -> Option<String> {
        let globs = self.users.as_ref()?;
        let (patterns, names): (Vec<&String>, Vec<&String>) =
            globs.iter().partition(|glob| glob.contains(['*', '?']));
        let mut terms: Vec<String> = patterns
            .into_iter()
            .map(|glob| format!("username GLOB {}", literal_glob(glob)))
            .collect();
        if !names.is_empty() || terms.is_empty() {
            let names: Vec<String> = names.into_iter().map(|name| literal(name)).collect();
            terms.push(format!("username IN ({})", names.join(", ")));
        }
        Some(any(terms))
    }

    /// Rows of our users; rows of every user that lead to our hostgroups; and what shard maps wrote that leads there.
    fn of_fast_routing(&self) -> Option<String> {
        let destination = self
            .hostgroups
            .as_ref()
            .map(|ours| ours.condition("destination_hostgroup"));
        if self.users.is_none() && destination.is_none() {
            return None;
        }
        let own_user = self.of_user().unwrap_or_else(|| "1".to_owned());
        let led = destination.unwrap_or_else(|| "1".to_owned());
        Some(format!(
            "(username <> '' AND {own_user}) OR ({led} AND (username = '' OR comment GLOB '{OF_SHARD_MAPS}'))"
        ))
    }

    /// The firewall is one switch for all users.
    pub(crate) fn check_firewall(&self, rows: &[Row]) -> Result<(), EmitError> {
        let Some(first) = rows.iter().find(|row| row.table == Table::FirewallUsers) else {
            return Ok(());
        };
        match &self.users {
            None => Ok(()),
            Some(_) => Err(EmitError::FirewallOfAll {
                address: first.address.clone(),
            }),
        }
    }
}

fn any(terms: Vec<String>) -> String {
    match terms.len() {
        1 => terms.into_iter().collect(),
        _ => format!("({})", terms.join(" OR ")),
    }
}

/// Our `*` and `?` mean the same to GLOB; a bracket opens a class there and is a character here.
fn literal_glob(glob: &str) -> String {
    literal(&glob.replace('[', "[[]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_disjoint_ranges() {
        let numbers = Numbers::new(
            [1000..=1009, 5..=5, 6..=7, 1005..=1020],
            &BTreeSet::from([5, 1003, 1020]),
        );
        assert_eq!(numbers.text(), "6-7, 1000-1002, 1004-1019");
        for (number, expected) in [(5, false), (6, true), (1003, false), (1019, true), (1020, false)] {
            assert_eq!(numbers.contains(number), expected, "{number}");
        }
        assert!(!numbers.contains(u64::from(u32::MAX) + 7));
        assert_eq!(Numbers::default().condition("id"), "id IN ()");
        assert_eq!(
            Numbers::new([0..=100, 200..=201], &BTreeSet::new()).condition("id"),
            "(id BETWEEN 0 AND 100 OR id IN (200, 201))"
        );
        assert_eq!(Numbers::new([7..=7], &BTreeSet::from([7])), Numbers::default());
    }
}
