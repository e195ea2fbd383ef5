//! Read/write policies: which statements may leave the writer.

use std::sync::Arc;

use super::{OriginId, Scope, Words};

/// Which statements may leave the writer.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadWritePolicy {
    /// The name after `read_write_policies.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Whose statements it is about.
    pub applies_to: Scope,
    /// Which reads go to readers.
    pub reads: ReadSelection,
    /// A comment that keeps a statement on the writer.
    pub writer_hint: Option<CommentHint>,
    /// For how long a session reads its own writes from the writer, in milliseconds; 0 for not at all.
    pub after_write_ms: u64,
    /// What a session may see.
    pub consistency: Consistency,
    /// Classes of statements that count as reads although they are not provably so.
    pub allow_on_readers: Vec<ReadClass>,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
}

/// Which reads go to readers; only what is provably a read ever does.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadSelection {
    /// All of them.
    All,
    /// Those that any of these match.
    Only(Vec<Scope>),
    /// Those that none of these match.
    Except(Vec<Scope>),
}

/// A pair in a comment: `/* primary */` is `/* primary=1 */`.
#[derive(Clone, Debug, PartialEq)]
pub struct CommentHint {
    /// The word before `=`.
    pub word: Arc<str>,
}

/// What a session may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consistency {
    /// Whatever a reader has.
    Eventual,
    /// At least its own writes.
    Causal,
}

/// A class of statements that can be opened for readers with a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadClass {
    /// Functions whose answer depends on the session.
    SessionFunctions,
    /// Whatever `reads.only` matches: nothing is proved about it (ProxySQL).
    Unproven,
}

/// What to do for a listed engine that cannot do what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnUnsupported {
    /// It is an error.
    Error,
    /// The engine gets the nearest form it has, with a finding.
    Approximate,
    /// The engine does without, with a finding.
    Skip,
}

impl OnUnsupported {
    /// The choice where an engine has no nearest form.
    #[must_use]
    pub fn without_approximation(self) -> Self {
        match self {
            Self::Error => Self::Error,
            Self::Approximate | Self::Skip => Self::Skip,
        }
    }
}

impl Words for Consistency {
    const WORDS: &'static [(&'static str, Self)] = &[("eventual", Self::Eventual), ("causal", Self::Causal)];
}

impl Words for ReadClass {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("session_functions", Self::SessionFunctions),
        ("unproven", Self::Unproven),
    ];
}

impl Words for OnUnsupported {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("approximate", Self::Approximate),
        ("skip", Self::Skip),
    ];
}
