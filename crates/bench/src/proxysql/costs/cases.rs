//! What is measured: rule sets with the statements that go through them.

use serde::Serialize;

use super::workloads::Workload;

/// Rules, and who made them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Made {
    /// None: what the proxy takes anyway.
    Empty,
    /// By the compiler.
    Compiled,
    /// By hand.
    ByHand,
}

impl Made {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Compiled => "compiled",
            Self::ByHand => "by hand",
        }
    }
}

/// Statements of the admin port that make rules.
#[derive(Clone, Debug)]
pub(super) struct RuleSet {
    pub(super) made: Made,
    /// Rules, without the rows of fast routing.
    pub(super) rules: usize,
    pub(super) statements: Vec<String>,
}

/// Rule sets for the same statements.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) users: Vec<String>,
    /// The empty one first.
    pub(super) sets: Vec<RuleSet>,
    pub(super) workloads: Vec<Workload>,
}
