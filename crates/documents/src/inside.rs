//! Where a part of a text value stands in the file, for problems inside templates and SQL.

use std::ops::Range;

use shardwright_diagnostics::{Sources, Span};

use crate::limits::offset;
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
        } => return in_literal_block(sources, text, node.span, part),
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

/// Every line of a literal block stands behind the indentation on a line of its own. The span starts at the first
/// line, or past the empty ones in front. A part over several lines is cut at the end of its first.
fn in_literal_block(sources: &Sources, text: &str, span: Span, part: Range<usize>) -> Option<Span> {
    let before = &text[..part.start];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_text = text[line_start..].split('\n').next()?;
    let line = before.matches('\n').count();
    let empty = text.len() - text.trim_start_matches('\n').len();
    let first = sources.position(span).line as usize;
    [Some(line), line.checked_sub(empty)]
        .into_iter()
        .flatten()
        .find_map(|line| {
            let range = sources.line_range(span.file, u32::try_from(first + line).ok()?);
            let indent = sources.text(span.file)[range.clone()].strip_suffix(line_text)?;
            let start = range.start + indent.len() + (part.start - line_start);
            let end = (start + part.len()).min(range.end);
            let indented = indent.bytes().all(|byte| byte == b' ') && end <= span.end as usize;
            indented.then(|| Span::new(span.file, offset(start), offset(end)))
        })
}
