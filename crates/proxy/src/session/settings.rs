//! What the client of a session has set, which each of its connections gets.

use std::sync::Arc;

use super::set_statement::SetPlan;
use crate::set_names::SetNames;

pub(super) struct Settings {
    pub(super) schema: Option<Arc<str>>,
    /// `None`: the character set of the login.
    pub(super) names: Option<SetNames>,
    pub(super) autocommit: bool,
    /// `SET TRANSACTION …` for the next transaction.
    pub(super) next_transaction: Option<Vec<u8>>,
    /// Other variables.
    pub(super) history: SetHistory,
}

impl Settings {
    /// The settings of a fresh session in this schema.
    pub(super) fn new(schema: Option<Arc<str>>) -> Self {
        Self {
            schema,
            names: None,
            autocommit: true,
            next_transaction: None,
            history: SetHistory::default(),
        }
    }

    /// Takes on a SET that no server executes now; autocommit is not part of it.
    pub(super) fn take(&mut self, plan: &SetPlan, text: &[u8]) {
        if let Some(names) = &plan.names {
            self.names = Some(names.clone());
        }
        if plan.next_transaction {
            self.next_transaction = Some(text.to_vec());
        }
    }
}

/// SET statements of a session in their order, to be repeated on each further connection.
#[derive(Debug, Default)]
pub(crate) struct SetHistory {
    entries: Vec<HistoryEntry>,
    last: u64,
}

#[derive(Debug)]
struct HistoryEntry {
    number: u64,
    text: Vec<u8>,
    variables: Vec<String>,
}

impl SetHistory {
    /// The number of the last entry: a connection that has all of it.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Whether one of them changes the character set, or a part of it.
    pub(crate) fn touches_charset(&self) -> bool {
        let mut variables = self.entries.iter().flat_map(|entry| &entry.variables);
        variables.any(|variable| {
            variable == "names" || variable.starts_with("char") || variable.starts_with("coll")
        })
    }

    /// Whether one more can be remembered.
    pub(crate) fn has_room(&self, variables: &[String], limit: usize) -> bool {
        self.entries.len() < limit || self.entries.iter().any(|entry| entry.is_superseded_by(variables))
    }

    /// Remembers a statement; one that set only the same variables is forgotten.
    pub(crate) fn push(&mut self, text: &[u8], variables: &[String]) {
        self.entries.retain(|entry| !entry.is_superseded_by(variables));
        self.last += 1;
        self.entries.push(HistoryEntry {
            number: self.last,
            text: text.to_vec(),
            variables: variables.to_vec(),
        });
    }

    /// What a connection lacks that has everything up to number `seen`.
    pub(crate) fn since(&self, seen: u64) -> impl Iterator<Item = &[u8]> {
        self.entries
            .iter()
            .filter(move |entry| entry.number > seen)
            .map(|entry| entry.text.as_slice())
    }
}

impl HistoryEntry {
    fn is_superseded_by(&self, variables: &[String]) -> bool {
        !self.variables.is_empty() && self.variables.iter().all(|variable| variables.contains(variable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_value_takes_the_place_of_an_earlier_one() {
        let mut history = SetHistory::default();
        let variables = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        history.push(b"a", &variables(&["time_zone"]));
        history.push(b"b", &variables(&["sql_mode", "wait_timeout"]));
        history.push(b"c", &variables(&["time_zone"]));
        assert_eq!(history.since(0).collect::<Vec<_>>(), [b"b", b"c"]);
        assert_eq!(history.since(2).collect::<Vec<_>>(), [b"c"]);
        assert!(history.has_room(&variables(&["time_zone"]), 2));
        assert!(!history.has_room(&variables(&["lock_wait_timeout"]), 2));
        history.push(b"d", &variables(&["sql_mode"]));
        assert_eq!(
            history.since(0).count(),
            3,
            "the other variable of b still counts"
        );
    }
}
