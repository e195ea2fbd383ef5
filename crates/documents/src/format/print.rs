//! Documents in block style. Comments are written where the walk over the tokens of the text meets them.

use super::source::Source;
use super::tree::{Form, Written};
use super::{INDENT, flow, scalar};
use crate::Comment;

/// The whole file.
pub(super) fn document(text: &str, root: Option<&Written>, comments: &[Comment]) -> String {
    let mut printer = Printer {
        source: Source::new(text, comments),
        out: String::new(),
        keeps_end: false,
        cut_end: false,
    };
    printer.start(root.map(|root| root.span.start));
    if let Some(root) = root {
        printer.root(root);
    }
    // The end marker says nothing: a file holds one document.
    while printer.source.skip("...") {}
    printer.comments(0, 0);
    let mut out = printer.out;
    if printer.cut_end && out.ends_with('\n') {
        out.pop();
    }
    out
}

struct Printer<'a> {
    source: Source<'a>,
    out: String,
    /// Blank lines at the end of the last scalar are part of it and were written.
    keeps_end: bool,
    /// The file ends with a block scalar whose last line has no end.
    cut_end: bool,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Columns {
    /// The column of the key or dash in the result.
    indent: usize,
    /// Its column in the text.
    column: usize,
}

impl Printer<'_> {
    /// What stands in front of the root: comments and `---`.
    fn start(&mut self, root: Option<usize>) {
        self.comments(0, 0);
        let next = self.source.next();
        if root.is_none_or(|root| next < root) && self.source.skip("---") {
            self.out.push_str("---");
            self.end_line();
            self.comments(0, 0);
        }
    }

    fn root(&mut self, root: &Written) {
        let column = self.source.column(self.source.next());
        let columns = Columns { indent: 0, column };
        match &root.form {
            Form::Sequence { .. } | Form::Mapping { .. } if self.is_block(root) => {
                if !root.properties.is_empty() {
                    self.skip_properties(root);
                    self.out.push_str(&root.properties);
                    self.end_line();
                }
                self.collection(root, 0, 0, false);
            }
            _ => {
                self.skip_properties(root);
                self.value_text(root, columns, "");
            }
        }
    }

    /// Whether a collection is to be written in block style.
    fn is_block(&self, node: &Written) -> bool {
        let (Form::Sequence { flow, .. } | Form::Mapping { flow, .. }) = &node.form else {
            return false;
        };
        if !flow {
            return true;
        }
        let has_comment = self.source.has_comment_in(&node.span);
        let is_empty = match &node.form {
            Form::Sequence { items, .. } => items.is_empty(),
            Form::Mapping { entries, .. } => entries.is_empty(),
            _ => true,
        };
        let fills = !has_comment && flow::filled(self.source.text, node, 0, 0).is_some();
        !is_empty && node.has_lines(self.source.text) && !fills
    }

    /// The entries or items of a collection, each on lines of its own; with `inline` the first goes on in the line that
    /// is open. `floor` is the least column of comments that belong to it.
    fn collection(&mut self, node: &Written, indent: usize, floor: usize, inline: bool) {
        // `[a: 1]` holds a mapping without brackets.
        let in_brackets = self.source.text[node.span.start..].starts_with(['[', '{']) && node.is_flow();
        if in_brackets {
            let _ = self.source.skip("{") || self.source.skip("[");
        }
        let column = self.source.column(self.source.next());
        let columns = Columns { indent, column };
        match &node.form {
            Form::Sequence { items, .. } => {
                for (number, item) in items.iter().enumerate() {
                    self.between(number > 0 && in_brackets);
                    self.start_line(indent, inline && number == 0);
                    self.item(item, columns, in_brackets);
                }
            }
            Form::Mapping { entries, .. } => {
                for (number, (key, value)) in entries.iter().enumerate() {
                    self.between(number > 0 && in_brackets);
                    self.start_line(indent, inline && number == 0);
                    self.entry(key, value, columns);
                }
            }
            Form::Empty | Form::Flat | Form::Block(_) => {}
        }
        if in_brackets {
            self.source.skip(",");
            self.comments(indent, 0);
            let _ = self.source.skip("}") || self.source.skip("]");
            // What stands behind the bracket belongs to the line that is gone.
            if let Some(comment) = self.source.trailing_comment() {
                self.out.push_str(&format!("{:indent$}{comment}\n", ""));
            }
        } else {
            self.comments(indent, column.max(floor));
        }
    }

    fn between(&mut self, comma: bool) {
        if comma {
            self.source.skip(",");
        }
    }

    /// Comments and a blank line in front of the next token, and its indentation.
    fn start_line(&mut self, indent: usize, inline: bool) {
        if inline {
            return;
        }
        self.comments(indent, 0);
        self.blank_line(self.source.next());
        self.pad(indent);
    }

    fn item(&mut self, item: &Written, columns: Columns, in_brackets: bool) {
        if !in_brackets {
            self.source.skip("-");
        }
        self.out.push('-');
        self.skip_properties(item);
        let commented = self.source.comment_before_next().is_some();
        if self.is_block(item) && item.properties.is_empty() && !commented {
            self.out.push(' ');
            self.collection(item, columns.indent + INDENT, columns.column + 1, true);
        } else {
            self.value(item, columns);
        }
    }

    fn entry(&mut self, key: &Written, value: &Written, columns: Columns) {
        self.source.skip("? ");
        self.skip_properties(key);
        let shown = flow::key_text(self.source.text, key);
        self.out.push_str(&shown);
        self.source.go_to(key.span.end);
        self.source.skip(":");
        self.out.push(':');
        self.skip_properties(value);
        self.value(value, columns);
    }

    /// The value behind a key or dash that was written, to the end of its last line.
    fn value(&mut self, value: &Written, columns: Columns) {
        let nested = columns.indent + INDENT;
        if self.is_block(value) {
            self.push_properties(value);
            self.end_line();
            self.collection(value, nested, columns.column + 1, false);
            return;
        }
        match &value.form {
            Form::Empty => {
                self.push_properties(value);
                self.end_line();
                self.comments(nested, columns.column + 1);
            }
            _ if self.source.comment_before_next().is_some() => {
                self.push_properties(value);
                self.end_line();
                self.comments(nested, 0);
                self.pad(nested);
                self.value_text_without_properties(value, columns, "");
            }
            _ => self.value_text(value, columns, " "),
        }
    }

    /// Only where there are some: those in front of the next token may be another value's.
    fn skip_properties(&mut self, node: &Written) {
        if !node.properties.is_empty() {
            self.source.skip_properties();
        }
    }

    fn push_properties(&mut self, value: &Written) {
        if !value.properties.is_empty() {
            self.out.push(' ');
            self.out.push_str(&value.properties);
        }
    }

    /// A value that starts in the open line, with its properties.
    fn value_text(&mut self, value: &Written, columns: Columns, gap: &str) {
        let mut gap = gap;
        if !value.properties.is_empty() {
            self.out.push_str(gap);
            self.out.push_str(&value.properties);
            gap = " ";
        }
        self.value_text_without_properties(value, columns, gap);
    }

    fn value_text_without_properties(&mut self, value: &Written, columns: Columns, gap: &str) {
        let nested = columns.indent + INDENT;
        let text = self.source.text;
        self.out.push_str(gap);
        let bare = match &value.form {
            Form::Block(meaning) => return self.block_scalar(meaning, nested),
            Form::Flat => scalar::flat(&text[value.span.clone()], nested),
            _ => {
                let line = self.out.rfind('\n').map_or(0, |end| end + 1);
                let used = self.out[line..].chars().count();
                let bare = flow::filled(text, value, columns.indent, used).filter(|_| value.has_lines(text));
                let bare = bare.unwrap_or_else(|| flow::inline(text, value));
                // The properties were written in front.
                match bare.strip_prefix(value.properties.as_str()) {
                    Some(bare) if !value.properties.is_empty() => bare.trim_start().to_owned(),
                    _ => bare,
                }
            }
        };
        self.out.push_str(&bare);
        self.source.go_to(value.span.end);
        self.end_line();
    }

    fn block_scalar(&mut self, meaning: &str, indent: usize) {
        let block = scalar::block(&self.source, meaning, indent);
        self.out.push_str(&block.header);
        self.source.go_to(block.header_end);
        self.end_line();
        for line in &block.lines {
            self.out.push_str(line);
            self.out.push('\n');
        }
        self.source.go_to(block.end);
        self.keeps_end = block.keeps_end;
        let at_end = self.source.at() == self.source.text.len() && !self.source.text.ends_with('\n');
        self.cut_end = at_end && !meaning.ends_with('\n') && !block.header.ends_with('-');
    }

    /// The comment behind what was written, in its column where there is room, and the line end.
    fn end_line(&mut self) {
        let column = self.source.comments_column();
        if let Some(comment) = self.source.trailing_comment() {
            let line = self.out.rfind('\n').map_or(0, |end| end + 1);
            let used = self.out[line..].chars().count();
            let gap = match column {
                Some(column) if column > used => column - used,
                _ => 2,
            };
            self.out.push_str(&" ".repeat(gap));
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    /// Comments on lines of their own in front of the next token, as long as they stand in or behind column `floor`.
    fn comments(&mut self, indent: usize, floor: usize) {
        while let Some(at) = self.source.comment_before_next() {
            if self.source.column(at) < floor {
                return;
            }
            self.blank_line(at);
            self.pad(indent);
            let comment = self.source.take_comment();
            self.out.push_str(comment);
            self.out.push('\n');
        }
    }

    /// One blank line where the text has some in front of `at`.
    fn blank_line(&mut self, at: usize) {
        let kept = std::mem::take(&mut self.keeps_end);
        if !kept && !self.out.is_empty() && self.source.is_blank_before(at) {
            self.out.push('\n');
        }
    }

    fn pad(&mut self, indent: usize) {
        self.out.push_str(&" ".repeat(indent));
    }
}
