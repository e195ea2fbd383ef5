//! The files of a run, and byte ranges in them.

use std::borrow::Cow;
use std::ops::Range;

use crate::boundary::floor_boundary;
use crate::secret_places::secret_place;

/// A file in [`Sources`]; ordered as files were added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(u32);

/// A range of bytes in one file: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file that the offsets count in.
    pub file: FileId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset after the last byte.
    pub end: u32,
}

impl Span {
    /// A span; an `end` before `start` gives an empty span at `start`.
    #[must_use]
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self {
            file,
            start,
            end: end.max(start),
        }
    }

    /// The offsets as a range for slicing.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The bytes `from..to` of this span, both counted from its start and cut at its end. For a problem inside
    /// a scalar, such as a reference in a template.
    #[must_use]
    pub fn within(self, from: usize, to: usize) -> Self {
        let at = |offset: usize| {
            u32::try_from(offset).map_or(self.end, |offset| self.start.saturating_add(offset).min(self.end))
        };
        Self::new(self.file, at(from), at(to))
    }

    /// The smallest span that covers both; `self` where the files differ.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file == other.file {
            Self {
                file: self.file,
                start: self.start.min(other.start),
                end: self.end.max(other.end),
            }
        } else {
            self
        }
    }
}

/// A place as people count it: both numbers start at 1, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

#[derive(Debug)]
struct SourceFile {
    path: String,
    text: String,
    /// Offset of the first byte of each line; the first is 0.
    line_starts: Vec<u32>,
}

/// The texts that spans point into. Offsets are 32 bits: readers refuse far smaller files than 4 GiB.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    /// Places that renderers do not show, in order.
    concealed: Vec<Span>,
}

impl Sources {
    /// No files yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps `text` under the path that people shall see (as given, with `/` between its parts).
    pub fn add(&mut self, path: impl Into<String>, text: impl Into<String>) -> FileId {
        let mut path = path.into();
        if std::path::MAIN_SEPARATOR != '/' {
            path = path.replace(std::path::MAIN_SEPARATOR, "/");
        }
        let text = text.into();
        let line_starts = std::iter::once(0)
            .chain(
                text.bytes()
                    .enumerate()
                    .filter(|(_, byte)| *byte == b'\n')
                    .map(|(at, _)| offset(at + 1)),
            )
            .collect();
        let id = FileId(u32::try_from(self.files.len()).expect("memory ends before 2^32 files"));
        self.files.push(SourceFile {
            path,
            text,
            line_starts,
        });
        id
    }

    /// Every file, in the order of adding.
    pub fn files(&self) -> impl Iterator<Item = FileId> + use<> {
        (0..u32::try_from(self.files.len()).unwrap_or(u32::MAX)).map(FileId)
    }

    /// The path to show for a file.
    ///
    /// # Panics
    /// When `file` comes from other `Sources`.
    #[must_use]
    pub fn path(&self, file: FileId) -> &str {
        &self.file(file).path
    }

    /// The whole text of a file.
    ///
    /// # Panics
    /// When `file` comes from other `Sources`.
    #[must_use]
    pub fn text(&self, file: FileId) -> &str {
        &self.file(file).text
    }

    /// The text that a span covers; empty where the span does not fit the file.
    #[must_use]
    pub fn slice(&self, span: Span) -> &str {
        self.text(span.file).get(span.range()).unwrap_or_default()
    }

    /// Renderers show asterisks for what the span covers: a secret that is written in the clear is not to be
    /// spread by the problem that says so.
    pub fn conceal(&mut self, span: Span) {
        let at = self.concealed.partition_point(|concealed| *concealed < span);
        self.concealed.insert(at, span);
    }

    /// The bytes `range` of a file as renderers show them, byte for byte as long as they are.
    pub(crate) fn shown(&self, file: FileId, range: Range<usize>) -> Cow<'_, str> {
        let text = &self.text(file)[range.clone()];
        let concealed = self.hidden_in(file, range.clone());
        if concealed.is_empty() {
            return Cow::Borrowed(text);
        }
        let hidden = |at: usize| concealed.iter().any(|span| span.contains(&(range.start + at)));
        let show = |(at, letter): (usize, char)| match hidden(at) {
            true => "*".repeat(letter.len_utf8()),
            false => letter.to_string(),
        };
        Cow::Owned(text.char_indices().map(show).collect())
    }

    /// The parts of the lines of a range that renderers do not show: secrets that were found there, and places that could hold
    /// one.
    pub(crate) fn hidden_in(&self, file: FileId, range: Range<usize>) -> Vec<Range<usize>> {
        let from = self.concealed.partition_point(|concealed| concealed.file < file);
        let found = self.concealed[from..]
            .iter()
            .take_while(|span| span.file == file && span.range().start < range.end)
            .filter(|span| span.range().end > range.start);
        let mut hidden: Vec<Range<usize>> = found.map(|span| span.range()).collect();
        let lines = self.lines_of(file, &range);
        let places = lines.filter_map(|line| secret_place(self.text(file), line, &hidden));
        let places: Vec<Range<usize>> = places.collect();
        hidden.extend(places);
        hidden
    }

    /// The lines that a range touches, without their ends.
    fn lines_of(&self, file: FileId, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let line = |at: usize| self.position_at(file, offset(at)).line;
        let lines = line(range.start)..=line(range.end.max(range.start + 1) - 1);
        lines.map(move |line| self.line_range(file, line))
    }

    /// Where a span starts.
    #[must_use]
    pub fn position(&self, span: Span) -> Position {
        self.position_at(span.file, span.start)
    }

    /// Where a span ends (the place after its last character).
    #[must_use]
    pub fn end_position(&self, span: Span) -> Position {
        self.position_at(span.file, span.end)
    }

    /// The line and column of a byte offset; offsets past the end count as the end.
    #[must_use]
    pub fn position_at(&self, file: FileId, at: u32) -> Position {
        let source = self.file(file);
        let at = floor_boundary(&source.text, at as usize);
        let line = source.line_starts.partition_point(|start| *start as usize <= at);
        let start = source.line_starts[line - 1] as usize;
        let column = source.text[start..at].chars().count() + 1;
        Position {
            line: offset(line),
            column: offset(column),
        }
    }

    /// The byte range of a 1-based line without its line end; the last line where there is no such line.
    #[must_use]
    pub fn line_range(&self, file: FileId, line: u32) -> Range<usize> {
        let source = self.file(file);
        let index = (line.max(1) as usize - 1).min(source.line_starts.len() - 1);
        let start = source.line_starts[index] as usize;
        let end = source
            .line_starts
            .get(index + 1)
            .map_or(source.text.len(), |next| *next as usize - 1);
        let line = &source.text[start..end];
        start..start + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// The `file:line:column` of a span's start.
    #[must_use]
    pub fn display(&self, span: Span) -> String {
        let Position { line, column } = self.position(span);
        format!("{}:{line}:{column}", self.path(span.file))
    }

    fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0 as usize]
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_count_characters_from_one() {
        let mut sources = Sources::new();
        let file = sources.add("topology/shop.yaml", "a: ü\r\nbc: 2\n");
        for (start, line, column) in [(0, 1, 1), (3, 1, 4), (5, 1, 5), (7, 2, 1), (9, 2, 3), (99, 3, 1)] {
            assert_eq!(
                sources.position_at(file, start),
                Position { line, column },
                "offset {start}"
            );
        }
        assert_eq!(sources.display(Span::new(file, 7, 9)), "topology/shop.yaml:2:1");
        assert_eq!(sources.slice(Span::new(file, 7, 9)), "bc");
        assert_eq!(&sources.text(file)[sources.line_range(file, 1)], "a: ü");
    }

    #[test]
    fn what_is_concealed_is_not_shown() {
        let mut sources = Sources::new();
        let (first, second) = (sources.add("f", "pw: hünter2 x"), sources.add("g", "pw: open"));
        sources.conceal(Span::new(first, 4, 12));
        assert_eq!(sources.shown(first, 0..14), "pw: ******** x");
        assert_eq!(sources.shown(first, 7..14), "***** x");
        assert_eq!(sources.shown(first, 12..14), " x");
        assert_eq!(sources.shown(second, 0..8), "pw: open");
        assert_eq!(sources.text(first), "pw: hünter2 x");
    }

    #[test]
    fn part_of_a_span_stays_inside_it() {
        let file = Sources::new().add("f", "0123456789");
        let span = Span::new(file, 2, 6);
        assert_eq!(span.within(1, 3), Span::new(file, 3, 5));
        assert_eq!(span.within(3, 99), Span::new(file, 5, 6));
        assert_eq!(span.within(usize::MAX, usize::MAX), Span::new(file, 6, 6));
    }

    proptest! {
        #[test]
        fn every_offset_has_a_position_on_its_line(text in "[a\n\rü☃]{0,40}", at in 0u32..80) {
            let mut sources = Sources::new();
            let file = sources.add("f", text.clone());
            let position = sources.position_at(file, at);
            let before = &text[..floor_boundary(&text, at as usize)];
            prop_assert_eq!(position.line as usize, before.matches('\n').count() + 1);
            let _ = &text[sources.line_range(file, position.line)];
        }
    }
}
