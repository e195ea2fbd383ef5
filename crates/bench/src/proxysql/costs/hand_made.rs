//! A tree by hand: what a good administrator would write for keys in a comment, who trusts every client.
//!
//! Keys are decimal numbers. A chain has at most ten rules for the next digit, and a rule says how many digits follow:
//! `tenant=1[0-9]{2}` for the keys 100 to 199. The first chain also tells shorter numbers apart, most keys first. Nothing is refused: no rule asks whether the comment is one, whether a key stands twice, or for annotations.

use shardwright_topology::load;

use super::HOSTGROUP;
use super::cases::{Case, Made, RuleSet};
use super::scripts::emitted;
use super::workloads::{SHORT_READ, Workload};
use crate::BenchError;
use crate::shards::{input_files, project_files};

/// Who the statements come from.
const USER: &str = "app";

/// Shards found by a comment, each on a cluster of its own, so that no keys share a rule: without rules, as compiled, and
/// by hand.
pub(super) fn case(shards: u32) -> Result<Case, BenchError> {
    let name = format!("{shards} by comment");
    let loaded = load(input_files(project_files(shards)), &Default::default());
    let project = loaded.project.ok_or_else(|| BenchError::Output {
        what: format!("{name} is no project"),
        output: format!("{:?}", loaded.problems.sorted()),
    })?;
    let mut sets = emitted(&project, &name)?.sets;
    let rules = rules(shards);
    let users = sets[0].statements.iter().cloned();
    sets.push(RuleSet {
        made: Made::ByHand,
        rules: rules.len(),
        statements: users.chain(rules).collect(),
    });
    let said = (1..=shards).map(|key| {
        let text = format!("/* tenant={key} */ {SHORT_READ}");
        (USER.to_owned(), None, text)
    });
    Ok(Case {
        name,
        users: vec![USER.to_owned()],
        sets,
        workloads: vec![Workload::of("SELECT 1, comment", said)],
    })
}

/// Keys that begin with these digits, of which `rest` more follow.
#[derive(Clone)]
struct Keyed {
    digits: String,
    rest: u32,
}

impl Keyed {
    /// The first key and the one behind the last.
    fn bounds(&self, last: u32) -> (u32, u32) {
        let step = 10_u32.pow(self.rest);
        let (first, end) = match self.digits.parse::<u32>() {
            Ok(digits) => (digits * step, (digits + 1) * step),
            // No digit yet: all numbers of this many digits.
            Err(_) => (step / 10, step),
        };
        (first, end.min(last + 1))
    }

    fn count(&self, last: u32) -> u32 {
        let (first, end) = self.bounds(last);
        end.saturating_sub(first)
    }

    /// By the next digit; those that hold a key.
    fn parts(&self, last: u32) -> Vec<Keyed> {
        let digits = u32::from(self.digits.is_empty())..=9;
        let parts = digits.map(|digit| Keyed {
            digits: format!("{}{digit}", self.digits),
            rest: self.rest - 1,
        });
        parts.filter(|part| part.count(last) > 0).collect()
    }

    fn pattern(&self) -> String {
        let rest = match self.rest {
            0 => String::new(),
            1 => "[0-9]".to_owned(),
            more => format!("[0-9]{{{more}}}"),
        };
        format!(r"tenant={}{rest}\b", self.digits)
    }
}

/// A rule before it has an id.
struct Row {
    flag_in: u32,
    pattern: String,
    /// The chain that it leads to; none: it places.
    jump: Option<u32>,
}

/// Statements that make the tree of the keys 1 to `last`.
fn rules(last: u32) -> Vec<String> {
    let mut lengths: Vec<Keyed> = (1..=last.ilog10() + 1)
        .map(|rest| Keyed {
            digits: String::new(),
            rest,
        })
        .collect();
    lengths.sort_by_key(|keyed| std::cmp::Reverse(keyed.count(last)));
    let mut root = lengths[0].parts(last);
    root.extend_from_slice(&lengths[1..]);
    root.sort_by_key(|keyed| std::cmp::Reverse(keyed.count(last)));
    let mut tree = Tree {
        last,
        rows: Vec::new(),
        flags: 0,
    };
    tree.chain(0, &root);
    let row = |(at, row): (usize, Row)| {
        let (to, place) = match row.jump {
            Some(flag) => (flag.to_string(), "NULL, 0".to_owned()),
            None => ("NULL".to_owned(), format!("{HOSTGROUP}, 1")),
        };
        format!(
            "INSERT INTO mysql_query_rules (rule_id, active, flagIN, match_pattern, flagOUT, destination_hostgroup, apply) \
             VALUES ({}, 1, {}, '{}', {to}, {place})",
            at + 1,
            row.flag_in,
            row.pattern
        )
    };
    tree.rows.into_iter().enumerate().map(row).collect()
}

/// A tree while it is written.
struct Tree {
    last: u32,
    rows: Vec<Row>,
    flags: u32,
}

impl Tree {
    /// Writes a chain, and behind it those that it leads to: a jump reaches only rules with higher ids.
    fn chain(&mut self, flag_in: u32, keyed: &[Keyed]) {
        let mut below = Vec::new();
        for keyed in keyed {
            let jump = (keyed.count(self.last) > 1).then(|| {
                self.flags += 1;
                below.push((self.flags, keyed.parts(self.last)));
                self.flags
            });
            let pattern = match jump {
                Some(_) => keyed.pattern(),
                None => format!(r"tenant={}\b", keyed.bounds(self.last).0),
            };
            self.rows.push(Row {
                flag_in,
                pattern,
                jump,
            });
        }
        for (flag, parts) in below {
            self.chain(flag, &parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_twenty_keys() {
        let shown: Vec<String> = rules(20)
            .iter()
            .map(|rule| rule.split_once("VALUES ").unwrap().1.to_owned())
            .collect();
        insta::assert_snapshot!(shown[..4].join("\n"), @r"
        (1, 1, 0, 'tenant=1[0-9]\b', 1, NULL, 0)
        (2, 1, 0, 'tenant=[0-9]\b', 2, NULL, 0)
        (3, 1, 0, 'tenant=20\b', NULL, 1, 1)
        (4, 1, 1, 'tenant=10\b', NULL, 1, 1)
        ");
    }

    #[test]
    fn every_key_has_one_leaf() {
        for last in [9_u32, 10, 200, 1_000, 5_000] {
            let rules = rules(last);
            let leaf = |key: &u32| {
                let pattern = format!(r"'tenant={key}\b'");
                rules
                    .iter()
                    .filter(|rule| rule.contains(&pattern) && rule.ends_with(", 1)"))
                    .count()
            };
            assert!((1..=last).all(|key| leaf(&key) == 1), "{last}");
        }
    }
}
