//! Which statements something is about: the vocabulary of `applies_to` and `match`.

use std::sync::Arc;

use shardwright_vocabulary::{glob_matches, is_glob};

use super::Words;

/// Conditions that must all hold; each is a list of alternatives, and an empty one is no condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scope {
    /// Names of users.
    pub users: Names,
    /// Names of session schemas.
    pub schemas: Names,
    /// Names of clusters that the statement is placed on.
    pub clusters: Names,
    /// Ports of the listeners that are meant, sorted; no condition where empty.
    pub listener_ports: Vec<u16>,
    /// Addresses of clients: an address, or a prefix that ends with `%`.
    pub client_addr: Vec<Arc<str>>,
    /// Addresses of clients that it is not about.
    pub except_client_addr: Vec<Arc<str>>,
    /// Classes of statements.
    pub statements: Vec<StatementClass>,
    /// Classes of statements that it is not about.
    pub except_statements: Vec<StatementClass>,
    /// Names of tables.
    pub tables: Names,
    /// Names of SQL functions, compared without case.
    pub functions: Names,
    /// Regular expressions over the digest text.
    pub match_digest: Vec<Arc<str>>,
    /// Regular expressions over the digest text of statements that it is not about.
    pub except_match_digest: Vec<Arc<str>>,
    /// Regular expressions over the statement.
    pub match_pattern: Vec<Arc<str>>,
    /// Regular expressions over statements that it is not about.
    pub except_match_pattern: Vec<Arc<str>>,
    /// Digest hashes.
    pub digest: Vec<u64>,
    /// Digest hashes that it is not about.
    pub except_digest: Vec<u64>,
}

impl Scope {
    /// Whether it is about every statement.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// Names that are meant, and names that are not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Alternatives; empty means every name.
    pub include: Vec<NamePattern>,
    /// Exceptions.
    pub except: Vec<NamePattern>,
}

impl Names {
    /// Whether every name is meant.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.include.is_empty() && self.except.is_empty()
    }

    /// Whether the name is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(name)))
            && !self.except.iter().any(|pattern| pattern.matches(name))
    }
}

/// A name, or a glob in which `*` stands for any characters and `?` for one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamePattern(Arc<str>);

impl NamePattern {
    /// A pattern as it was written.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name, if the pattern is one; none for a glob.
    #[must_use]
    pub fn exact(&self) -> Option<&str> {
        (!is_glob(&self.0)).then_some(&*self.0)
    }

    /// Whether the name is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        glob_matches(&self.0, name)
    }
}

/// A class of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the variants are the words of the language")]
pub enum StatementClass {
    Select,
    Insert,
    Update,
    Delete,
    Replace,
    Ddl,
    Call,
    Show,
    Set,
    Begin,
    Commit,
    Lock,
    Prepare,
    Other,
}

impl Words for StatementClass {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("select", Self::Select),
        ("insert", Self::Insert),
        ("update", Self::Update),
        ("delete", Self::Delete),
        ("replace", Self::Replace),
        ("ddl", Self::Ddl),
        ("call", Self::Call),
        ("show", Self::Show),
        ("set", Self::Set),
        ("begin", Self::Begin),
        ("commit", Self::Commit),
        ("lock", Self::Lock),
        ("prepare", Self::Prepare),
        ("other", Self::Other),
    ];
}
