//! Scalars as text: quotes, continued lines, block scalars.

use super::INDENT;
use super::source::Source;

/// A plain or quoted scalar or an alias, the lines after its first one `indent` columns in.
pub(super) fn flat(written: &str, indent: usize) -> String {
    if !written.contains('\n') {
        return in_double_quotes(written).unwrap_or_else(|| written.to_owned());
    }
    let escapes = written.starts_with('"');
    let mut lines = written.split('\n');
    let first = lines.next().unwrap_or_default();
    let last = lines.clone().count();
    let mut text = without_end(first, escapes).to_owned();
    for (number, line) in lines.enumerate() {
        let line = line.trim_start_matches([' ', '\t']);
        let line = if number + 1 == last {
            line
        } else {
            without_end(line, escapes)
        };
        text.push('\n');
        if !line.is_empty() {
            text.push_str(&" ".repeat(indent));
            text.push_str(line);
        }
    }
    text
}

/// Blanks before a line end do not count, except behind a backslash that escapes the first of them.
fn without_end(line: &str, escapes: bool) -> &str {
    let trimmed = line.trim_end_matches([' ', '\t']);
    if escapes && trimmed.ends_with('\\') {
        line
    } else {
        trimmed
    }
}

/// `'x'` as `"x"`, where nothing in it would need a backslash.
fn in_double_quotes(written: &str) -> Option<String> {
    let inner = written.strip_prefix('\'')?.strip_suffix('\'')?;
    let plain = |letter: char| letter != '"' && letter != '\\' && !letter.is_control();
    inner
        .chars()
        .all(plain)
        .then(|| format!("\"{}\"", inner.replace("''", "'")))
}

/// A block scalar: its header, and its lines without line ends.
pub(super) struct Block {
    pub(super) header: String,
    pub(super) lines: Vec<String>,
    /// Whether blank lines at its end are part of it.
    pub(super) keeps_end: bool,
    /// Where its header ends in the text.
    pub(super) header_end: usize,
    /// Where its last line ends in the text.
    pub(super) end: usize,
}

/// The block scalar whose header is the next token; `value` is what it means.
pub(super) fn block(source: &Source<'_>, value: &str, indent: usize) -> Block {
    let start = source.next();
    let rest = &source.text[start..];
    let header_end = start
        + 1
        + rest[1..]
            .find(|letter: char| !"+-0123456789".contains(letter))
            .unwrap_or(rest.len() - 1);
    let written = &source.text[start..header_end];
    let chomping: String = written.chars().filter(|letter| "+-".contains(*letter)).collect();
    let body = source.text[header_end..]
        .find('\n')
        .map_or(source.text.len(), |end| header_end + end + 1);
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    // What the first line has more than the indentation of the scalar is part of its text.
    let inner = value
        .split('\n')
        .find(|line| !line.trim_matches(' ').is_empty())
        .map_or(0, spaces);
    let first = source.text[body..]
        .split('\n')
        .find(|line| !line.trim_matches(' ').is_empty());
    let old = first.map_or(usize::MAX, |line| spaces(line).saturating_sub(inner));
    let has_text = !value.trim_matches(['\n', ' ']).is_empty();
    let mut lines = Vec::new();
    let mut end = body;
    for line in source.text[body..].split_inclusive('\n') {
        let shown = line.strip_suffix('\n').unwrap_or(line);
        let blank = shown.trim_matches(' ').is_empty();
        if !blank && (!has_text || spaces(shown) < old) {
            break;
        }
        let kept = if has_text {
            shown.get(old..).unwrap_or_default()
        } else {
            ""
        };
        lines.push(if kept.is_empty() {
            String::new()
        } else {
            format!("{:indent$}{kept}", "")
        });
        end += line.len();
    }
    let keeps_end = chomping == "+";
    if !keeps_end {
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
    }
    let digit = if inner > 0 && has_text {
        INDENT.to_string()
    } else {
        String::new()
    };
    Block {
        header: format!("{}{digit}{chomping}", &written[..1]),
        lines,
        keeps_end,
        header_end,
        end,
    }
}
