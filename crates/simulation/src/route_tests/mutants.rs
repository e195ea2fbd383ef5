//! Mutants: configurations that are wrong in one place, to see whether the tests notice.
//!
//! The changes are those that people make: a rule that is gone, two that stand the other way round, an `apply` too many
//! or too few, a condition that is gone or begins anywhere, another hostgroup, a key in the neighbour's shard. A
//! mutant that routes every statement as before is none, where that is proved.

mod change;
mod native;

use std::sync::Arc;

use shardwright_routing::RoutingTable;
use shardwright_rules::{Address, Body, Configuration, MissingAction, NativeStep, Statement};

use change::Change;
use shardwright_prover::Budget;
use shardwright_prover::equivalence::{Equivalence, Means, alike, equivalence_by};
use shardwright_prover::properties::SessionStatement;

/// A mutant may cost one part in so many of the usual budget of a comparison: there are many mutants.
const BUDGET_PART: u32 = 10;

/// A configuration with one thing changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutant {
    change: Change,
    /// The object whose rule is changed.
    pub address: Address,
    /// The rules that are changed; none for rows of fast routing.
    pub rule_ids: Vec<u32>,
    /// What is changed, human-readable.
    pub what: String,
}

/// Whether a mutant that no test notices could be noticed.
#[derive(Clone, Debug, PartialEq)]
pub enum Survivor {
    /// It routes every statement as before.
    Equivalent,
    /// A test with this statement would notice.
    Different(SessionStatement),
    /// Neither is known.
    Unknown,
}

/// The mutants of a configuration, in the order of its rules; `most` of them at most, spread evenly over all.
#[must_use]
pub fn mutants(configuration: &Configuration, most: usize) -> Vec<Mutant> {
    let mut found = Vec::new();
    let rules = &configuration.graph.rules;
    for (position, rule) in rules.iter().enumerate() {
        let mut add = |change: Change, what: String| {
            found.push(Mutant {
                change,
                address: rule.address.clone(),
                rule_ids: vec![rule.id],
                what,
            });
        };
        match &rule.body {
            Body::Engine(row) => change::of_row(configuration, position, row, &mut add),
            Body::Native { scope, step } => {
                let name = rule.address.short();
                add(Change::Drop(position), format!("{name} is removed"));
                native::of_step(configuration, &name, scope, step, &mut |change, what| {
                    add(Change::Step(position, change), what);
                });
            }
        }
        let next = rules[position + 1..]
            .iter()
            .position(|other| other.flag_in == rule.flag_in);
        if let Some(offset) = next {
            let other = position + 1 + offset;
            found.push(Mutant {
                change: Change::Swap(position, other),
                address: rule.address.clone(),
                rule_ids: vec![rule.id, rules[other].id],
                what: format!("rules {} and {} are swapped", rule.id, rules[other].id),
            });
        }
    }
    change::of_fast_routing(configuration, &mut found);
    change::of_users(configuration, &mut found);
    spread(found, most)
}

/// So many of a list, evenly.
fn spread<T>(all: Vec<T>, most: usize) -> Vec<T> {
    let total = all.len();
    if total <= most {
        return all;
    }
    let mut taken = 0;
    let chosen = all.into_iter().enumerate().filter(|(position, _)| {
        let wanted = taken < most && *position * most >= taken * total;
        taken += usize::from(wanted);
        wanted
    });
    chosen.map(|(_, one)| one).collect()
}

impl Mutant {
    /// The changed configuration.
    #[must_use]
    pub fn apply(&self, configuration: &Configuration) -> Arc<Configuration> {
        let mut changed = configuration.clone();
        self.change.apply(&mut changed);
        Arc::new(changed)
    }

    /// Positions of rules: a statement that matches none of them is decided as before. None where any may be decided
    /// otherwise.
    #[must_use]
    pub fn concerns(&self, configuration: &Configuration) -> Option<Vec<usize>> {
        let last = configuration.graph.rules.len().saturating_sub(1);
        let positions = self.change.concerns()?;
        let silent = |&position: &usize| {
            // The last rule's `apply` counts whether it matches or not; maps pass statements without a match.
            position == last
                || matches!(
                    &configuration.graph.rules[position].body,
                    Body::Native { step: NativeStep::Map(map), .. }
                        if map.every_missing().any(|missing| {
                            missing.statements == MissingAction::Allow
                                || missing.session_setup == MissingAction::Allow
                        }) || map.otherwise.is_some()
                )
                || matches!(
                    &configuration.graph.rules[position].body,
                    Body::Native {
                        step: NativeStep::Role(_) | NativeStep::StopIfPlaced,
                        ..
                    }
                )
        };
        (!positions.iter().any(silent)).then_some(positions)
    }

    /// What is known of a mutant that no test noticed; `candidates` are tried first.
    #[must_use]
    pub fn survived(
        &self,
        [before, after]: [&Configuration; 2],
        [usual, changed]: [&RoutingTable; 2],
        candidates: &[SessionStatement],
    ) -> Survivor {
        if before == after || self.change.is_idle(before) {
            return Survivor::Equivalent;
        }
        let differs = |candidate: &&SessionStatement| {
            let statement = Statement::new(candidate.query.as_bytes(), Default::default());
            let decided = |table: &RoutingTable| table.decide(&candidate.view(), &statement).outcome;
            !alike(&decided(usual), &decided(changed))
        };
        if let Some(candidate) = candidates.iter().find(differs) {
            return Survivor::Different(candidate.clone());
        }
        let means = Means {
            budget: Budget::part(BUDGET_PART),
            ..Means::default()
        };
        match equivalence_by(before, after, &means).0 {
            Equivalence::Proved => Survivor::Equivalent,
            Equivalence::Refuted { differences, .. } => match differences.first() {
                Some(difference) => Survivor::Different(SessionStatement {
                    user: difference.session.user.clone(),
                    // A mutant changes rules only: both sides have the same users.
                    schema: difference.session.schemas[0].clone(),
                    query: String::from_utf8_lossy(&difference.statement).into_owned(),
                }),
                None => Survivor::Unknown,
            },
            Equivalence::Undecided { .. } => Survivor::Unknown,
        }
    }
}
