//! The findings about a configuration, and the picture of its rules.
//!
//! [`analysis`] runs every check; a check is a file of `checks`, and its code stands in `codes` with its page in
//! `docs/rules`. Findings speak of rules and addresses; whoever has the sources turns addresses into lines. A finding is
//! *proved*, *witnessed* by a statement that the evaluator was run on, or *possible*; what the prover cannot decide is
//! reported as undecided, with the reason. [`picture`] draws chains, jumps, and the most that a statement can cost.

mod checks;
mod codes;
mod finding;
mod others;
pub mod picture;

use shardwright_prover::{Reach, RuleSet, Structure};
use shardwright_rules::Configuration;

pub use codes::CODES;
pub use finding::Finding;
pub use others::{Beside, OtherUsers};

use crate::checks::CheckContext;

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
    analysis_beside(configuration, &Beside::default())
}

/// The same with what is known besides the configuration.
pub fn analysis_beside(configuration: &Configuration, beside: &Beside) -> Analysis {
    let set = RuleSet::of(configuration);
    let structure = Structure::with_restarts(&set, set.iterations());
    let reach = Reach::of(&set, &structure);
    let context = CheckContext {
        set: &set,
        beside,
        others: &beside.users,
        structure: &structure,
        reach: &reach,
        trials: checks::trials::all(&set),
        families: checks::families::all(&set, &reach),
    };
    let mut findings = checks::all(&context);
    findings.sort_by(|a, b| {
        (a.code, &a.rule_ids, &a.address, &a.message).cmp(&(b.code, &b.rule_ids, &b.address, &b.message))
    });
    let asked = || (0..set.rule_count()).filter(|&position| reach.is_asked(position));
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
