//! What can be proved about a configuration's rule graph, and the findings that follow.
//!
//! Findings speak of rules and addresses; whoever has the sources turns addresses into lines.

mod finding;

use shardwright_diagnostics::CodeDoc;
use shardwright_rules::Configuration;

pub use finding::Finding;

/// The pages of this crate's codes.
pub const CODES: &[CodeDoc] = &[];

/// Everything that the analysis finds, in the order of codes and rules.
pub fn analyse(configuration: &Configuration) -> Vec<Finding> {
    let _ = configuration;
    Vec::new()
}
