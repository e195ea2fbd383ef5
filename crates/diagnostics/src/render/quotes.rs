//! What a problem quotes of its lines is left out where they hide it: a secret.

use std::borrow::Cow;
use std::ops::Range;

use crate::{Diagnostic, Sources, Span};

/// What stands in place of a quotation.
const LEFT_OUT: &str = "…";
/// Letters that open and close a quotation.
const QUOTES: [char; 3] = ['`', '"', '\''];
/// How statements begin that can hold a secret.
const STATEMENTS: [&str; 6] = ["INSERT", "REPLACE", "UPDATE", "SET", "CREATE", "ALTER"];

/// The problem without quotations of what its own lines hide.
pub(super) fn without_hidden<'d>(diagnostic: &'d Diagnostic, sources: &Sources) -> Cow<'d, Diagnostic> {
    let labels = diagnostic.primary.iter().chain(&diagnostic.secondary);
    let hidden: Vec<&str> = labels
        .clone()
        .flat_map(|label| hidden_at(sources, label.span))
        .collect();
    let shown_there = |span: Span| {
        let hidden = sources.hidden_in(span.file, span.range());
        !hidden
            .iter()
            .any(|part| part.start < span.range().end && span.range().start < part.end)
    };
    let visible = labels.map(|label| label.span).filter(|span| shown_there(*span));
    let visible: Vec<&str> = visible.map(|span| sources.slice(span)).collect();
    if hidden.is_empty() {
        return Cow::Borrowed(diagnostic);
    }
    let mut shown = diagnostic.clone();
    let labels = shown.primary.iter_mut().chain(&mut shown.secondary);
    let texts = labels.map(|label| &mut label.text);
    let texts = texts.chain(shown.notes.iter_mut().map(|note| &mut note.text));
    for text in texts.chain([&mut shown.message]) {
        *text = without(text, &hidden, &visible);
    }
    Cow::Owned(shown)
}

/// The hidden parts of the lines that a span touches; of a statement of SQL, of all its lines.
fn hidden_at(sources: &Sources, span: Span) -> Vec<&str> {
    let text = sources.text(span.file);
    let mut range = span.range();
    let is_statement = STATEMENTS.iter().any(|verb| {
        let begin = text.get(range.start..range.start + verb.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(verb))
    });
    if is_statement {
        let behind = text.get(range.end..).unwrap_or_default();
        range.end += behind.find(';').unwrap_or(behind.len());
    }
    let hidden = sources.hidden_in(span.file, range);
    hidden
        .into_iter()
        .filter_map(|range: Range<usize>| text.get(range))
        .collect()
}

/// A text without the quotations that a hidden part contains, and nothing that a label shows.
fn without(text: &str, hidden: &[&str], visible: &[&str]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find(QUOTES) {
        let quote = rest[open..].chars().next().expect("a quote stands there");
        let inside = &rest[open + quote.len_utf8()..];
        let Some(close) = inside.find(quote) else { break };
        let quoted = inside[..close].trim_matches(|letter: char| !letter.is_alphanumeric());
        let is_in = |parts: &[&str]| parts.iter().any(|part| part.contains(quoted));
        let is_hidden = !quoted.is_empty() && is_in(hidden) && !is_in(visible);
        shown.push_str(&rest[..open]);
        shown.push(quote);
        shown.push_str(if is_hidden { LEFT_OUT } else { &inside[..close] });
        shown.push(quote);
        rest = &inside[close + quote.len_utf8()..];
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_of_what_is_hidden_are_left_out() {
        let hidden = ["it's-canary', cluster: shop}"];
        for (text, expected) in [
            ("near \"canary\": syntax error", "near \"…\": syntax error"),
            ("tag `!canary` does not fit", "tag `…` does not fit"),
            ("unknown key `pasword`", "unknown key `pasword`"),
            ("a quote ' alone", "a quote ' alone"),
        ] {
            assert_eq!(without(text, &hidden, &["pasword"]), expected);
        }
    }
}
