//! The reference evaluator: slow, obvious, and right by definition.

use std::sync::Arc;

use crate::decide::{Detail, Index, RulePatterns, decide};
use crate::{BrokenPattern, Configuration, Decision, SessionView, Statement};

/// Decides statements under one configuration. Patterns are compiled once; everything else is looked up as it stands.
#[derive(Debug)]
pub struct Evaluator {
    configuration: Arc<Configuration>,
    patterns: Vec<RulePatterns>,
}

impl Evaluator {
    /// Compiles the patterns of `configuration`. One that does not compile never matches, as in the engines; see
    /// [`Evaluator::broken_patterns`].
    pub fn new(configuration: Arc<Configuration>) -> Self {
        let patterns = RulePatterns::of(&configuration);
        Self {
            configuration,
            patterns,
        }
    }

    /// Patterns that the engine's library refuses.
    pub fn broken_patterns(&self) -> impl Iterator<Item = BrokenPattern<'_>> {
        let rules = self.configuration.graph.rules.iter();
        rules
            .zip(&self.patterns)
            .flat_map(|(rule, patterns)| patterns.broken(rule))
    }

    /// Where `statement` of `session` goes, and why.
    pub fn decide(&self, session: &SessionView<'_>, statement: &Statement<'_>) -> Decision {
        decide(self, session, statement, Detail::Path)
    }
}

impl Index for Evaluator {
    fn configuration(&self) -> &Configuration {
        &self.configuration
    }

    fn patterns(&self, position: usize) -> &RulePatterns {
        &self.patterns[position]
    }
}
