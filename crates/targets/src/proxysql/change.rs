//! A row that has to be different.

use shardwright_rules::{Address, SecretReference};

use super::mark::is_ours_to_keep;
use super::row::{Row, RowName};

/// A row that is different before and after.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) name: RowName,
    /// The object that it is of.
    pub(super) address: Address,
    /// What it holds; `None`: there is none.
    pub(super) old: Option<Row>,
    /// What it shall hold; `None`: it goes.
    pub(super) new: Option<Row>,
    /// Where its secret is found.
    pub(super) reference: Option<SecretReference>,
    /// It is read when ProxySQL starts; `old` is what the disk has.
    pub(super) is_at_start: bool,
}

impl Change {
    /// Whether it is about a mark or a lease, which are no rows of a configuration.
    pub(super) fn is_mark(&self) -> bool {
        let row = self.new.as_ref().or(self.old.as_ref());
        row.is_some_and(|row| is_ours_to_keep(&self.name, row))
    }

    /// The way back.
    pub(super) fn reversed(&self) -> Self {
        Self {
            old: self.new.clone(),
            new: self.old.clone(),
            ..self.clone()
        }
    }
}
