//! What a check says.

use shardwright_diagnostics::{Code, Proof, Severity, Witness};
use shardwright_rules::Address;

use shardwright_prover::Example;
use shardwright_prover::RuleSet;

/// A finding about rules of a configuration.
#[derive(Clone, Debug, PartialEq)]
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
    /// Of them, those that are proved to take no statement.
    pub dead: Vec<Address>,
    /// A statement and session that show it.
    pub witness: Option<Witness>,
    /// Facts that go with it.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Finding {
    pub(crate) fn new(code: Code, severity: Severity, proof: Proof, message: String) -> Self {
        Self {
            code,
            severity,
            proof,
            message,
            label: String::new(),
            address: None,
            rule_ids: Vec::new(),
            dead: Vec::new(),
            witness: None,
            notes: Vec::new(),
            help: None,
        }
    }

    /// About these rules; the first one's object is where it is shown.
    pub(crate) fn about(mut self, set: &RuleSet<'_>, positions: &[usize], label: impl Into<String>) -> Self {
        self.label = label.into();
        self.address = positions.first().and_then(|&position| set.address(position));
        self.rule_ids = set.ids(positions);
        self
    }

    /// These rules take no statement.
    pub(crate) fn without(mut self, set: &RuleSet<'_>, dead: &[usize]) -> Self {
        self.dead = dead
            .iter()
            .filter_map(|&position| set.address(position))
            .collect();
        self
    }

    pub(crate) fn at(mut self, address: &Address, label: impl Into<String>) -> Self {
        self.address = Some(address.clone());
        self.label = label.into();
        self
    }

    /// Shown by a statement.
    pub(crate) fn shown_by(mut self, set: &RuleSet<'_>, example: &Example) -> Self {
        self.witness = Some(example.witness());
        if let Some(circumstances) = example.circumstances(set) {
            self.notes.push(format!("the statement comes {circumstances}"));
        }
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `rule 5`, `rules 5 and 6`, `rules 5, 6, 7 and 9 more`.
pub(crate) fn rules_named(ids: &[u32]) -> String {
    const LISTED: usize = 6;
    match ids {
        [] => "no rule".to_owned(),
        [one] => format!("rule {one}"),
        ids if ids.len() <= LISTED => {
            let (last, before) = ids.split_last().expect("there are several");
            let before: Vec<String> = before.iter().map(u32::to_string).collect();
            format!("rules {} and {last}", before.join(", "))
        }
        ids => {
            let first: Vec<String> = ids[..LISTED].iter().map(u32::to_string).collect();
            format!("rules {} and {} more", first.join(", "), ids.len() - LISTED)
        }
    }
}
