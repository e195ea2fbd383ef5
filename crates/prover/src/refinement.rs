//! Whether one configuration refines another: it places no statement where the other does not, and may refuse.
//!
//! # Idea
//!
//! The search is that of [`equivalence`](crate::equivalence) with another question at the ends: not "are the outcomes the
//! same", but "does the second side allow the outcome of the first". A refusal is always allowed. A placement is allowed
//! where the second side sends the same text to the same hostgroup, or to the readers of a cluster whose writer the first
//! side takes.
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

mod numbering;

use shardwright_rules::Configuration;

use crate::equivalence::{Difference, Equivalence, Relation, compared};

/// What is known about a refinement.
#[derive(Clone, Debug, PartialEq)]
pub struct Refinement {
    /// Whether it holds. Differences are statements that the first side places where the second does not.
    pub answer: Equivalence,
    /// What the first side refuses and the second serves, by reason; sorted.
    pub stricter: Vec<RefusedClass>,
    /// There may be more classes: the search for them was cut.
    pub is_cut: bool,
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
pub const ASSUMPTIONS: [&str; 4] = [
    "no transaction is open, and autocommit is on",
    "no comment holds an annotation of the engine (`/* hostgroup=5 */`)",
    "earlier statements left both sides in the same state",
    "statements come as texts (COM_QUERY)",
];

/// Whether `left` refines `right`.
#[must_use]
pub fn refinement(left: &Configuration, right: &Configuration) -> Refinement {
    let renumbered = numbering::as_in(left, right);
    let mut comparison = compared([left, &renumbered], Relation::Refines);
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
    Refinement {
        stricter: stricter
            .classes()
            .map(|(reason, class)| RefusedClass {
                reason: reason.to_owned(),
                example: class.example.clone(),
                served_by: served_by(&class.hostgroups),
            })
            .collect(),
        is_cut: stricter.is_cut(),
        answer: comparison.into_answer(),
    }
}
