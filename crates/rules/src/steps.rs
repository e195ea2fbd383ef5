//! The native steps besides shard maps.

use serde::{Deserialize, Serialize};

use crate::{CommentForm, Scope};

/// A read/write policy: which statements may be answered by readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoleStep {
    /// The reads that go to readers; each must also be provably a read.
    pub reads: ReadSelection,
    /// A comment that keeps a read on the writer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer_hint: Option<WriterHint>,
    /// How long after a write of the same session its reads stay on the writer; 0: not at all.
    #[serde(default)]
    pub after_write_ms: u32,
    /// A reader answers only what it has the session's own writes for; another server does otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub causal: bool,
    /// Reads that call `LAST_INSERT_ID()`, `FOUND_ROWS()` and their kin, or use user variables, may go to readers.
    #[serde(default)]
    pub session_functions_on_readers: bool,
}

/// `reads:` of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadSelection {
    /// Every provable read.
    All,
    /// Those that one of the scopes is about.
    Only(Vec<Scope>),
    /// Those that none of the scopes is about.
    Except(Vec<Scope>),
}

/// `writer_hint:` of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterHint {
    /// The word of the comment; a bare word means `word=1`.
    pub word: String,
    /// How the comment is written.
    pub form: CommentForm,
}

/// A fixed delay without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayStep {
    /// Milliseconds; the largest of several applies.
    pub delay_ms: u32,
}
