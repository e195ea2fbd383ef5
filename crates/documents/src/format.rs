//! Files in one form: indentation, spacing and quotes, with every comment and blank line in its place.
//!
//! Nothing is reordered and nothing that was written on one line is broken up. Lists and mappings in brackets over
//! several lines become block style; lists of plain values stay in brackets and are filled to [`WIDTH`] columns. The
//! result is read again and compared, so that formatting cannot change what a file says.

mod flow;
mod print;
mod scalar;
mod source;
mod tree;

use shardwright_diagnostics::{Diagnostic, Problems, Sources, Span};

use crate::codes::{NOT_FORMATTED, OTHER_FORM};
use crate::{Document, Node, Value, read};

/// Columns that lists of plain values are filled to.
pub const WIDTH: usize = 110;
/// Spaces that each level is indented by.
const INDENT: usize = 2;

/// A file in its one form; none where its problems say that it was left alone. The file becomes part of `sources` under
/// `path`.
pub fn format(sources: &mut Sources, path: &str, bytes: &[u8]) -> (Option<String>, Problems) {
    let (document, mut problems) = read(sources, path, bytes);
    if problems.has_errors() {
        return (None, problems);
    }
    let text = unix_lines(sources.text(document.file));
    let (before, _) = read(&mut Sources::new(), "", text.as_bytes());
    let formatted = tree::parse(&text)
        .map(|root| print::document(&text, root.as_ref(), &before.comments))
        .filter(|formatted| means_the_same(&text, &before, formatted));
    if formatted.is_none() {
        let place = document
            .root
            .map_or(Span::new(document.file, 0, 0), |root| root.span);
        problems.push(
            Diagnostic::warning(
                NOT_FORMATTED,
                format!("`{path}` is written in a way that cannot be formatted"),
            )
            .at(place.within(0, 0), "left as it is"),
        );
    }
    (formatted, problems)
}

/// The problem of a file that is not in its form, at the first line that differs from `formatted`, which [`format`] gave.
#[must_use]
pub fn other_form(sources: &mut Sources, path: &str, text: &str, formatted: &str) -> Diagnostic {
    let file = sources.add(path, text);
    let is_same = |(before, after): &(&str, &str)| before == after;
    let lines = text.split_inclusive('\n').zip(formatted.split_inclusive('\n'));
    let same: usize = lines.take_while(is_same).map(|(line, _)| line.len()).sum();
    let at = u32::try_from(same.min(text.len())).unwrap_or(0);
    Diagnostic::error(OTHER_FORM, format!("`{path}` is not in the form of `fmt`"))
        .at(Span::new(file, at, at), "differs from here on")
        .help("shardwright fmt writes it")
}

/// Line ends of one kind and no byte order mark.
fn unix_lines(text: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Whether both texts hold the same values in the same order, and the same comments.
fn means_the_same(text: &str, before: &Document, formatted: &str) -> bool {
    let mut sources = Sources::new();
    let (after, problems) = read(&mut sources, "", formatted.as_bytes());
    let comments = |document: &Document, text: &str| -> Vec<String> {
        let comments = document.comments.iter();
        comments
            .map(|comment| text[comment.span.range()].trim_end().to_owned())
            .collect()
    };
    let same_roots = match (&before.root, &after.root) {
        (Some(before), Some(after)) => same(before, after),
        (None, None) => true,
        _ => false,
    };
    !problems.has_errors() && same_roots && comments(before, text) == comments(&after, formatted)
}

/// Whether two trees hold the same values; quotes of the one kind and of the other are alike.
fn same(a: &Node, b: &Node) -> bool {
    match (&a.value, &b.value) {
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Mapping(a), Value::Mapping(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b.iter())
                    .all(|(a, b)| a.key.text == b.key.text && same(&a.value, &b.value))
        }
        (Value::Sequence(_) | Value::Mapping(_), _) | (_, Value::Sequence(_) | Value::Mapping(_)) => false,
        _ => {
            a.raw() == b.raw() && a.value.type_name() == b.value.type_name() && a.is_quoted() == b.is_quoted()
        }
    }
}
