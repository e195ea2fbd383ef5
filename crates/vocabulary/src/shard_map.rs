//! Shard maps: where a key is found, and what becomes of statements whose key leads to no shard.
//!
//! A cluster is `C`: the language refers to one by its place in the topology, a configuration by its name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{KeyTemplate, KeyValue, Words};

/// Where a key is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finder {
    /// In a comment.
    Comment {
        /// The word before `=`; compared without case.
        word: Arc<str>,
        /// How the comment is written.
        form: CommentForm,
    },
    /// In the name of the session's schema.
    Schema {
        /// The names.
        template: KeyTemplate,
    },
    /// In a predicate on a column of the logical schema's tables, or in an INSERT.
    Column {
        /// Name of the column; compared without case.
        column: Arc<str>,
        /// Whether the tables of the shards have it.
        in_shards: InShards,
    },
    /// In the names of the statement's tables; of those of the logical schema, where the map has one.
    Table {
        /// The names.
        template: KeyTemplate,
    },
    /// In the name of the session's user.
    User {
        /// The names.
        template: KeyTemplate,
    },
}

/// How a comment carries a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentForm {
    /// `word=value` among other text.
    Pairs,
    /// `word='value'` with percent signs decoded.
    Sqlcommenter,
    /// The whole trimmed comment is the key in this form.
    Exact(KeyTemplate),
}

impl CommentForm {
    /// A comment with nothing but this key in it; `None` where the form cannot hold the key.
    pub fn comment(&self, word: &str, key: &KeyValue) -> Option<String> {
        Some(match self {
            Self::Pairs => {
                let value = key.to_string();
                match value.contains([' ', '\t', '\n', '\r', ',', ';']) {
                    true => format!("/* {word}='{value}' */"),
                    false => format!("/* {word}={value} */"),
                }
            }
            Self::Sqlcommenter => format!("/*{word}='{}'*/", percent_encoded(&key.to_string())),
            Self::Exact(template) => format!("/* {} */", template.render(key)?),
        })
    }
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let encoded = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}

words! {
    /// Whether the shards' tables have the key column.
    #[derive(Default)]
    pub enum InShards {
        /// They have it: the predicate stays.
        #[default]
        Present = "present",
        /// They do not: the predicate is replaced by `1=1`.
        Absent = "absent",
    }

    /// What happens when finders disagree.
    pub enum Conflict {
        /// The statement is refused.
        Reject = "reject",
        /// The first finder that yields a key decides.
        First = "first",
    }

    /// What happens to tables named without a schema while the session is in the logical schema.
    pub enum Unqualified {
        /// The statement is refused.
        Reject = "reject",
        /// They get the shard's schema.
        Qualify = "qualify",
        /// Clients connect to the shard's own schema, and the map checks it.
        SessionSchema = "session_schema",
    }

    /// What happens to BEGIN without a key.
    pub enum MissingBegin {
        /// It is refused.
        Reject = "reject",
        /// The transaction opens where its first statement with a key goes.
        FirstStatement = "first_statement",
        /// The map leaves it to what follows.
        Allow = "allow",
    }
}

/// What happens to statements without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingKey<C> {
    /// Statements that are neither of the others.
    pub statements: MissingAction<C>,
    /// SET, USE, SHOW, SELECT without a table, and what drivers send on connect.
    pub session_setup: MissingAction<C>,
    /// BEGIN and START TRANSACTION.
    pub begin: MissingBegin,
}

impl<C> MissingKey<C> {
    /// What holds where nothing is written.
    pub const DEFAULT: Self = Self {
        statements: MissingAction::Reject,
        session_setup: MissingAction::Allow,
        begin: MissingBegin::Reject,
    };

    /// The same with each cluster replaced.
    pub fn map<D>(self, mut cluster: impl FnMut(C) -> D) -> MissingKey<D> {
        MissingKey {
            statements: self.statements.map(&mut cluster),
            session_setup: self.session_setup.map(&mut cluster),
            begin: self.begin,
        }
    }
}

impl<C> Default for MissingKey<C> {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What happens to a statement without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingAction<C> {
    /// It is refused.
    Reject,
    /// The map leaves it to what follows, in the end to the user's cluster as writer.
    Allow,
    /// It goes to the writer of this cluster.
    Cluster(C),
}

impl<C> MissingAction<C> {
    /// The same with its cluster replaced.
    pub fn map<D>(self, cluster: impl FnOnce(C) -> D) -> MissingAction<D> {
        match self {
            Self::Reject => MissingAction::Reject,
            Self::Allow => MissingAction::Allow,
            Self::Cluster(id) => MissingAction::Cluster(cluster(id)),
        }
    }
}

/// What happens to a key that no shard holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownKey<C> {
    /// The statement is refused.
    Reject,
    /// It goes to the writer of this cluster.
    Cluster(C),
}

impl<C> UnknownKey<C> {
    /// The same with its cluster replaced.
    pub fn map<D>(self, cluster: impl FnOnce(C) -> D) -> UnknownKey<D> {
        match self {
            Self::Reject => UnknownKey::Reject,
            Self::Cluster(id) => UnknownKey::Cluster(cluster(id)),
        }
    }
}

impl<C: Copy + PartialEq + Sync + 'static> Words for MissingAction<C> {
    const WORDS: &'static [(&'static str, Self)] = &[("reject", Self::Reject), ("allow", Self::Allow)];
}

impl<C: Copy + PartialEq + Sync + 'static> Words for UnknownKey<C> {
    const WORDS: &'static [(&'static str, Self)] = &[("reject", Self::Reject)];
}

/// What is stated about the tables of a map; of others the bundled proxy asks their server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedTables {
    /// Base tables.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub base: BTreeSet<Arc<str>>,
    /// Views through which the key column passes as it is, with the tables that they read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub views: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

impl StatedTables {
    /// Nothing is stated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.views.is_empty()
    }

    /// The tables that `table` stands for: itself, or what a stated view reads; and whether each is stated to be a base table.
    pub fn read_by<'a>(&'a self, table: &'a str) -> impl Iterator<Item = (&'a str, bool)> {
        let view = self.views.get(table);
        let itself = view.is_none().then_some(table);
        let below = view.into_iter().flatten().map(|table| &**table);
        itself
            .into_iter()
            .chain(below)
            .map(|table| (table, self.base.contains(table)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_a_cluster_are_serialised_under_their_words() {
        for (word, action) in MissingAction::<u32>::WORDS {
            assert_eq!(serde_json::to_value(action).unwrap(), *word);
        }
        for (word, unknown) in UnknownKey::<u32>::WORDS {
            assert_eq!(serde_json::to_value(unknown).unwrap(), *word);
        }
    }

    #[test]
    fn a_stated_view_stands_for_its_tables() {
        let stated = StatedTables {
            base: ["orders".into()].into(),
            views: [("recent".into(), vec!["orders".into(), "items".into()])].into(),
        };
        let read_by = |table| stated.read_by(table).collect::<Vec<_>>();
        assert_eq!(read_by("orders"), [("orders", true)]);
        assert_eq!(read_by("recent"), [("orders", true), ("items", false)]);
        assert_eq!(read_by("notes"), [("notes", false)]);
    }
}
