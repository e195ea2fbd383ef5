//! From a statement to its answer.

use super::{ColumnAnswer, ColumnQuestion};

/// Longer statements are not looked into.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Reads the shard key of `text`.
pub fn decide(text: &[u8], question: &ColumnQuestion<'_>) -> ColumnAnswer {
    let _ = (text, question, MAX_BYTES);
    ColumnAnswer::Undecidable("column finders are not connected yet".to_owned())
}
