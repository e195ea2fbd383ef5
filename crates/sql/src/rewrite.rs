//! Changes to a statement at token positions; every other byte stays as it was.

use crate::lex::Span;

/// One change: the bytes of `span` become `text`. An empty span inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: Vec<u8>,
}

/// `text` with `edits` made. Edits may come in any order and must not overlap.
///
/// # Panics
/// If edits overlap or reach out of the text: they come from positions of tokens, so that is a defect.
pub fn apply(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| edit.span);
    let mut rewritten = Vec::with_capacity(text.len() + 16 * edits.len());
    let mut at = 0;
    for edit in ordered {
        rewritten.extend_from_slice(&text[at..edit.span.start]);
        rewritten.extend_from_slice(&edit.text);
        at = edit.span.end;
    }
    rewritten.extend_from_slice(&text[at..]);
    rewritten
}
