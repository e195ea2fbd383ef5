//! Where a part of a text value stands in the file, for problems inside templates and SQL.

use std::ops::Range;

use shardwright_diagnostics::{Sources, Span};

use crate::{Node, Style, Value};

/// The place of the bytes `part` of a scalar's text. The whole scalar where the text was not written letter by
/// letter (escapes, folded lines).
#[must_use]
pub fn part_of_text(sources: &Sources, node: &Node, part: Range<usize>) -> Span {
    exact(sources, node, part).unwrap_or(node.span)
}

fn exact(sources: &Sources, node: &Node, part: Range<usize>) -> Option<Span> {
    let written = sources.slice(node.span);
    let text = node.raw()?;
    text.get(part.clone())?;
    let shift = match &node.value {
        Value::Text {
            style: Style::Literal,
            ..
        } => return in_literal_block(written, text, node.span, part),
        Value::Text {
            style: Style::SingleQuoted | Style::DoubleQuoted,
            ..
        } => 1,
        _ => 0,
    };
    let same =
        written.get(shift..shift + text.len()) == Some(text) && written.len() == text.len() + 2 * shift;
    same.then(|| node.span.within(part.start + shift, part.end + shift))
}

/// Line n of a literal block's text stands, behind the indentation, on line n + 1 of what was written (the first
/// holds the `|`). A part over several lines is cut at the end of its first.
fn in_literal_block(written: &str, text: &str, span: Span, part: Range<usize>) -> Option<Span> {
    let before = &text[..part.start];
    let line = before.matches('\n').count();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_text = text[line_start..].split('\n').next()?;
    let mut at = 0;
    let mut written_lines = written.split_inclusive('\n');
    for _ in 0..=line {
        at += written_lines.next()?.len();
    }
    let written_line = written_lines.next()?.trim_end_matches(['\n', '\r']);
    let indent = written_line.len().checked_sub(line_text.len())?;
    let indented =
        written_line.ends_with(line_text) && written_line[..indent].bytes().all(|byte| byte == b' ');
    let start = at + indent + (part.start - line_start);
    let end = (at + indent + (part.end - line_start)).min(at + written_line.len());
    indented.then(|| span.within(start, end.max(start)))
}
