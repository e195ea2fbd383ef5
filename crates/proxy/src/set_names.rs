//! The character set of a session.

use shardwright_wire::charset::{charset_of_collation, collation_name};

/// What `SET NAMES` said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetNames {
    pub(crate) charset: String,
    pub(crate) collation: Option<String>,
}

impl SetNames {
    /// What stands for the collation of a login, for servers that have lost it.
    pub(crate) fn of_login(collation: u8) -> Option<Self> {
        let id = u16::from(collation);
        charset_of_collation(id).map(|charset| Self {
            charset,
            collation: collation_name(id),
        })
    }

    /// No names that a session can have: those of a connection that must be given its session's anew.
    pub(crate) fn none() -> Self {
        Self {
            charset: String::new(),
            collation: None,
        }
    }

    /// The statement. Names consist of letters, digits and underscores, so they need no quotes.
    pub(crate) fn statement(&self) -> String {
        match &self.collation {
            Some(collation) => format!("SET NAMES {} COLLATE {collation}", self.charset),
            None => format!("SET NAMES {}", self.charset),
        }
    }
}
