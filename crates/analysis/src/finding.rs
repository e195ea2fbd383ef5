//! What a check says.

use shardwright_diagnostics::{Code, Proof, Severity, Witness};
use shardwright_rules::Address;

/// A finding about rules of a configuration.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its code.
    pub code: Code,
    /// How grave it is.
    pub severity: Severity,
    /// Whether it is proved, witnessed, or possible.
    pub proof: Proof,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What stands under the marked text: a few words.
    pub label: String,
    /// The object of the topology that it is about.
    pub address: Option<Address>,
    /// The rules that it is about.
    pub rule_ids: Vec<u32>,
    /// A statement and session that show it.
    pub witness: Option<Witness>,
    /// Facts that go with it.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}
