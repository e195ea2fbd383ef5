//! Moves a statement's names from the logical schema to a shard's schema.

use super::Refusal;
use crate::lex::LexMode;
use crate::rewrite::Edit;

/// What to do with tables named without a schema while the session's schema is the logical one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unqualified {
    /// Refuse the statement.
    Reject,
    /// Write the shard's schema before them.
    Qualify,
    /// Leave them: the client is connected to the shard's own schema.
    Keep,
}

/// The edits that make `text` name `shard_schema` where it names `logical_schema`.
pub fn place(
    text: &[u8],
    mode: LexMode,
    logical_schema: &str,
    session_schema: Option<&str>,
    shard_schema: &str,
    unqualified: Unqualified,
) -> Result<Vec<Edit>, Refusal> {
    let _ = (text, mode, session_schema, shard_schema, unqualified);
    Err(format!("names of `{logical_schema}` cannot be rewritten yet"))
}
