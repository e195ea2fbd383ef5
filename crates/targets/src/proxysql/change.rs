//! A row that has to be different.

use shardwright_rules::{Address, SecretReference};

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
    /// What memory holds of it that nobody has loaded.
    pub(super) aside: Aside,
}

/// A row that is in memory and not live.
#[derive(Clone, Debug, Default)]
pub(super) enum Aside {
    /// Memory and what is live are the same.
    #[default]
    Nothing,
    /// Memory holds this before the change, while `old` is live.
    Before(Shelved),
    /// Memory shall hold this when all is done, while `new` is live.
    After(Shelved),
}

/// What memory holds of a row.
#[derive(Clone, Debug)]
pub(super) struct Shelved {
    /// `None`: there is none.
    pub(super) row: Option<Row>,
    /// Whether the row is the project's.
    pub(super) is_ours: bool,
}

impl Change {
    /// The way back.
    pub(super) fn reversed(&self) -> Self {
        Self {
            old: self.new.clone(),
            new: self.old.clone(),
            aside: match self.aside.clone() {
                Aside::Nothing => Aside::Nothing,
                Aside::Before(shelved) => Aside::After(shelved),
                Aside::After(shelved) => Aside::Before(shelved),
            },
            ..self.clone()
        }
    }

    /// The same without what was in memory and not live: it stays away.
    pub(super) fn without_aside(self) -> Self {
        Self {
            aside: Aside::Nothing,
            ..self
        }
    }

    /// What was in memory and not live, before or after.
    pub(super) fn shelved(&self) -> Option<&Shelved> {
        match &self.aside {
            Aside::Nothing => None,
            Aside::Before(shelved) | Aside::After(shelved) => Some(shelved),
        }
    }
}
