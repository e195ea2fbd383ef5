//! Changes to a statement at token positions; every other byte stays as it was.

use std::cmp::Reverse;

use crate::lex::Span;

/// One change: the bytes of `span` become `text`. An empty span inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: Vec<u8>,
}

/// `text` with `edits` made, in any order. An edit within the span of another vanishes with what it would have changed:
/// a schema's name inside a predicate that is replaced.
///
/// # Panics
/// If an edit reaches out of the text: edits come from positions of its tokens.
pub fn apply(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, Reverse(edit.span.end)));
    let mut rewritten = Vec::with_capacity(text.len() + 16 * edits.len());
    let mut at = 0;
    for edit in ordered {
        if edit.span.start < at {
            continue;
        }
        rewritten.extend_from_slice(&text[at..edit.span.start]);
        rewritten.extend_from_slice(&edit.text);
        at = edit.span.end;
    }
    rewritten.extend_from_slice(&text[at..]);
    rewritten
}
