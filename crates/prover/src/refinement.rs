//! Whether one configuration refines another: it places no statement where the other does not, and may refuse.
//!
//! # Idea
//!
//! The search is that of [`equivalence`](crate::equivalence) with another question at the ends: not "are the outcomes the
//! same", but "does the second side allow the outcome of the first". A refusal is always allowed. A placement is allowed
//! where the second side sends the same text to the same hostgroup, or to the readers of a cluster whose writer the first
//! side takes.
//!
//! Across engines there is no common graph: [`engines`] holds each placement of ProxySQL's rules against the steps of the
//! bundled engine.
//!
//! Hostgroups correspond by cluster and role, not by number ([`numbering`]).
//!
//! # Invariant
//!
//! `Proved` needs what it needs for equivalence: every place where the outcomes do not stand in the relation is out of
//! every statement's reach. What the first side refuses and the second serves decides nothing, so it is only collected: a
//! statement for each reason.
//!
//! # Example
//!
//! A: `{10, ^DELETE, error_msg} {20, ^SELECT, hostgroup 10}`; B: `{20, ^SELECT, hostgroup 11}`, where 10 and 11 are
//! writer and readers of one cluster. A refines B: it refuses DELETE, which B sends to the default hostgroup, and sends
//! SELECT to the writer. B does not refine A: it sends DELETE, and SELECT to readers.

mod bundled;
mod engines;
mod key_machine;
mod natures;
mod numbering;
mod placements;
mod read_machine;

use std::rc::Rc;

use shardwright_rules::Configuration;

use crate::budget::{Budget, Spending};
use crate::equivalence::{Difference, Equivalence, Means, Relation, compared};

/// What is known about a refinement.
#[derive(Clone, Debug, PartialEq)]
pub struct Refinement {
    /// Whether it holds. Differences are statements that the first side places where the second does not.
    pub answer: Equivalence,
    /// What the first side refuses and the second serves, by reason; sorted.
    pub stricter: Vec<RefusedClass>,
    /// There may be more classes: the search for them was cut, or they were found by trying statements.
    pub is_cut: bool,
    /// What the answer takes for granted.
    pub assumptions: Vec<&'static str>,
    /// Differences of the two engines, which the answer is not about.
    pub natures: Vec<EngineDifference>,
    /// Across engines: what is proved even where the whole is not, with the number of hostgroups.
    pub shown: Vec<(String, usize)>,
}

/// What two engines treat differently whatever the rules say.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineDifference {
    /// In words.
    pub what: &'static str,
    /// A statement that shows it, where one statement can.
    pub example: Option<Difference>,
}

/// Statements that the first side refuses for one reason and the second serves.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedClass {
    /// What the client is told.
    pub reason: String,
    /// One of them: the shortest that was seen.
    pub example: Difference,
    /// Where the second side sends statements of the class that were seen: `shop writer`; sorted.
    pub served_by: Vec<String>,
}

/// What every answer takes for granted.
const ASSUMPTIONS: [&str; 4] = [
    "no transaction is open, and autocommit is on",
    "no comment holds an annotation of the engine (`/* hostgroup=5 */`)",
    "earlier statements left both sides in the same state",
    "statements come as texts (COM_QUERY)",
];

/// What answers across engines take for granted besides.
const ACROSS_ENGINES: [&str; 2] = [
    "no text holds a NUL byte",
    "sql_mode is without ANSI_QUOTES and NO_BACKSLASH_ESCAPES",
];

/// [`refinement_by`] with the default budget.
#[must_use]
pub fn refinement(left: &Configuration, right: &Configuration) -> Refinement {
    refinement_by(left, right, Budget::default())
}

/// Whether `left` refines `right`. Beyond the budget, the answer is undecided and names what cost the most; across engines,
/// the budget is once for what both have and once for the ways through the rules.
#[must_use]
pub fn refinement_by(left: &Configuration, right: &Configuration, budget: Budget) -> Refinement {
    let renumbered = numbering::as_in(left, right);
    let means = Means {
        budget,
        ..Means::default()
    };
    let (mut comparison, _) = compared([left, &renumbered], Relation::Refines, &means);
    let mut across = engines::AcrossEngines::default();
    if engines::differ(left, &renumbered) {
        let spending = Rc::new(Spending::of(budget));
        across = engines::compare([left, &renumbered], &spending, &mut comparison);
        for difference in std::mem::take(&mut across.tried.differences).into_values() {
            comparison.add(difference);
        }
        for refused in std::mem::take(&mut across.tried.stricter) {
            comparison.stricter.add(refused);
        }
    }
    let stricter = std::mem::take(&mut comparison.stricter);
    let served_by = |hostgroups: &std::collections::BTreeSet<_>| -> Vec<String> {
        let mut names: Vec<String> = hostgroups
            .iter()
            .map(|&id| match renumbered.cluster_of(id) {
                Some(cluster) if cluster.writer == id => format!("{} writer", cluster.name),
                Some(cluster) => format!("{} reader", cluster.name),
                None => format!("hostgroup {id}"),
            })
            .collect();
        names.sort_unstable();
        names
    };
    let besides = match engines::differ(left, &renumbered) {
        true => &ACROSS_ENGINES[..],
        false => &[],
    };
    Refinement {
        assumptions: [&ASSUMPTIONS, besides].concat(),
        stricter: stricter
            .classes()
            .map(|(reason, class)| RefusedClass {
                reason: reason.to_owned(),
                example: class.example.clone(),
                served_by: served_by(&class.hostgroups),
            })
            .collect(),
        is_cut: stricter.is_cut() || engines::differ(left, &renumbered),
        natures: across
            .tried
            .natures
            .into_iter()
            .map(|(what, example)| EngineDifference { what, example })
            .collect(),
        shown: across
            .shown
            .into_iter()
            .map(|(about, hostgroups)| (about, hostgroups.len()))
            .collect(),
        answer: comparison.into_answer(),
    }
}
