//! What can be proved about a configuration's rule graph, and the findings that follow.
//!
//! Findings speak of rules and addresses; whoever has the sources turns addresses into lines. A claim is *proved* by an
//! empty conjunction of automata, *witnessed* by a statement that the evaluator was run on, or *possible*; where neither
//! proof nor statement was found the question is reported as undecided, with the reason.

mod attempts;
mod checks;
mod codes;
mod condition;
pub mod equivalence;
mod example;
pub mod expectation;
mod finding;
mod languages;
mod lookup;
mod natives;
mod needles;
mod parameters;
mod paths;
pub mod picture;
pub mod properties;
mod question;
mod reach;
pub mod route_tests;
mod rule_set;
pub mod script;
mod session;
mod simulated;
mod solver;
pub mod step;
mod structure;
pub mod traffic;
mod visits;

use shardwright_rules::Configuration;

pub use codes::CODES;
pub use finding::Finding;
pub use reach::{Matching, matching};
pub use session::{Session, USUAL_CLIENT, USUAL_LISTENER};
pub use visits::{Visit, visits};

use crate::checks::Known;
use crate::reach::Reach;
use crate::rule_set::RuleSet;
use crate::structure::Structure;

/// What an analysis came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// In the order of codes and rules.
    pub findings: Vec<Finding>,
    /// Rules of which it was asked whether a statement can match them.
    pub asked: usize,
    /// Those for which a statement was found, or a proof that there is none.
    pub decided: usize,
    /// What kept the others from being decided, with the ids of the rules; sorted.
    pub undecided: Vec<(String, Vec<u32>)>,
}

/// Everything that the analysis finds, and how much of what it asked it could decide.
pub fn analysis(configuration: &Configuration) -> Analysis {
    let set = RuleSet::of(configuration);
    let structure = Structure::with_restarts(&set, set.iterations());
    let reach = Reach::of(&set, &structure);
    let known = Known {
        set: &set,
        structure: &structure,
        reach: &reach,
        trials: checks::trials::all(&set),
        families: checks::families::all(&set, &reach),
    };
    let mut findings = checks::all(&known);
    findings.sort_by(|a, b| {
        (a.code, &a.rule_ids, &a.address, &a.message).cmp(&(b.code, &b.rule_ids, &b.address, &b.message))
    });
    let asked = || (0..set.len()).filter(|&position| reach.is_asked(position));
    Analysis {
        findings,
        asked: asked().count(),
        decided: asked().filter(|&position| reach.is_decided(position)).count(),
        undecided: reach
            .undecided()
            .into_iter()
            .map(|(reason, positions)| (reason.to_owned(), set.ids(&positions)))
            .collect(),
    }
}

/// Everything that the analysis finds, in the order of codes and rules.
pub fn analyse(configuration: &Configuration) -> Vec<Finding> {
    analysis(configuration).findings
}
