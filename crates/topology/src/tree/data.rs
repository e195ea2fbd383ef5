//! What files beside the topology hold: tables that generators take instances from, and statements that the firewall
//! lets pass.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use shardwright_diagnostics::{Diagnostic, FileId, Sources, Span};

use crate::codes::BAD_DATA;
use crate::reporter::Reporter;

/// Bytes of one data file.
pub(crate) const MAX_DATA_BYTES: usize = 64 * 1024 * 1024;
/// Rows of one data file: as many as generators may make objects.
const MAX_ROWS: usize = 2_000_000;
/// Columns of one data file.
const MAX_COLUMNS: usize = 256;
/// Cells of all data files of a project.
pub(crate) const MAX_CELLS: usize = 20_000_000;

/// A table with a header.
#[derive(Debug)]
pub(crate) struct Table {
    file: FileId,
    /// The names in the header.
    pub(crate) columns: Vec<Box<str>>,
    header: Vec<(u32, u32)>,
    /// All cells behind each other, unquoted.
    text: String,
    /// Where each cell ends in `text`.
    ends: Vec<u32>,
    /// Where each cell stands in the file.
    cells: Vec<(u32, u32)>,
}

impl Table {
    pub(crate) fn rows(&self) -> usize {
        self.ends.len() / self.columns.len()
    }

    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| **column == *name)
    }

    /// The text of a cell; rows and columns count from 0.
    pub(crate) fn cell(&self, row: usize, column: usize) -> &str {
        let at = row * self.columns.len() + column;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[at] as usize]
    }

    /// Where a cell stands, quotes included.
    pub(crate) fn span(&self, row: usize, column: usize) -> Span {
        let (start, end) = self.cells[row * self.columns.len() + column];
        Span::new(self.file, start, end)
    }

    /// Where the header stands.
    pub(crate) fn header_span(&self) -> Span {
        let (first, last) = (self.header[0], self.header[self.header.len() - 1]);
        Span::new(self.file, first.0, last.1)
    }
}

/// The data files that generators name, by path. None for one that cannot be used, which has been reported.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    by_path: FxHashMap<String, Option<Arc<Table>>>,
}

impl Tables {
    /// The table of a path that some generator names.
    pub(crate) fn get(&self, path: &str) -> Option<&Option<Arc<Table>>> {
        self.by_path.get(path)
    }

    pub(crate) fn insert(&mut self, path: String, table: Option<Arc<Table>>) {
        self.by_path.insert(path, table);
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        self.by_path.values().flatten().map(|table| table.file)
    }
}

/// The allow files that the firewall names, by path. None for one that cannot be read, which has been reported.
#[derive(Debug, Default)]
pub(crate) struct AllowFiles {
    by_path: FxHashMap<String, Option<(FileId, Arc<str>)>>,
}

impl AllowFiles {
    /// The file and its text.
    pub(crate) fn get(&self, path: &str) -> Option<(FileId, Arc<str>)> {
        self.by_path.get(path)?.clone()
    }

    pub(crate) fn insert(&mut self, path: String, file: Option<(FileId, Arc<str>)>) {
        self.by_path.insert(path, file);
    }
}

/// Reads one table.
pub(crate) struct Reader<'r> {
    table: Table,
    report: &'r mut Reporter,
    sound: bool,
}

impl Reader<'_> {
    /// The table in a file; what is wrong with it is reported where it stands.
    pub(crate) fn read(
        path: &str,
        text: String,
        cells_left: &mut usize,
        sources: &mut Sources,
        report: &mut Reporter,
    ) -> Option<Table> {
        let file = sources.add(path, text);
        let text = sources.text(file);
        let table = Table {
            file,
            columns: Vec::new(),
            header: Vec::new(),
            text: String::new(),
            ends: Vec::new(),
            cells: Vec::new(),
        };
        let mut reader = Reader {
            table,
            report,
            sound: true,
        };
        reader.fill(text, cells_left);
        reader.sound.then_some(reader.table)
    }

    fn fill(&mut self, text: &str, cells_left: &mut usize) {
        let bom = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let text_of_rows = &text[bom..];
        let mut records = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text_of_rows.as_bytes());
        let mut record = csv::StringRecord::new();
        loop {
            match records.read_record(&mut record) {
                Ok(false) => break,
                Ok(true) => {}
                Err(error) => {
                    return self.error(0..text.len().min(1), format!("the file cannot be read: {error}"));
                }
            }
            let from = record
                .position()
                .and_then(|position| usize::try_from(position.byte()).ok())
                .unwrap_or(0);
            let ranges = cell_ranges(text, bom + from);
            let whole = ranges[0].start..ranges[ranges.len() - 1].end;
            if ranges.len() != record.len() {
                return self.error(whole, "this row cannot be split into cells".to_owned());
            }
            if self.table.columns.is_empty() {
                self.header(&record, &ranges);
                continue;
            }
            if record.len() != self.table.columns.len() {
                let message = format!(
                    "this row has {} cells, and the header has {}",
                    record.len(),
                    self.table.columns.len()
                );
                self.error(whole, message);
                continue;
            }
            let Some(left) = cells_left
                .checked_sub(record.len())
                .filter(|_| self.table.rows() < MAX_ROWS)
            else {
                let message = format!(
                    "too many rows: a data file can have {MAX_ROWS} rows, and all data files of a project {MAX_CELLS} cells"
                );
                return self.error(whole, message);
            };
            *cells_left = left;
            for (cell, range) in record.iter().zip(&ranges) {
                self.table.text.push_str(cell);
                self.table.ends.push(offset(self.table.text.len()));
                self.table.cells.push((offset(range.start), offset(range.end)));
            }
        }
        if self.table.columns.is_empty() {
            self.error(
                0..0,
                "the data file has no header: its first row must name the columns".to_owned(),
            );
        }
    }

    fn header(&mut self, names: &csv::StringRecord, ranges: &[Range<usize>]) {
        let mut names_seen = FxHashSet::default();
        for (name, range) in names.iter().zip(ranges) {
            if name.is_empty() {
                self.error(range.clone(), "a column has no name".to_owned());
            } else if !names_seen.insert(name) {
                self.error(range.clone(), format!("two columns are named `{name}`"));
            }
            self.table.columns.push(name.into());
            self.table.header.push((offset(range.start), offset(range.end)));
        }
        if names.len() > MAX_COLUMNS {
            let message = format!("the data file has more than {MAX_COLUMNS} columns");
            self.error(ranges[MAX_COLUMNS].clone(), message);
        }
    }

    fn error(&mut self, range: Range<usize>, message: String) {
        let span = Span::new(self.table.file, offset(range.start), offset(range.end));
        self.report
            .push(Diagnostic::error(BAD_DATA, message).at(span, ""));
        self.sound = false;
    }
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("data files are not larger than MAX_DATA_BYTES")
}

/// Where the cells of the record at or behind `from` stand, quotes included; at least one.
fn cell_ranges(text: &str, from: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_end = |at: usize| matches!(bytes.get(at), None | Some(b'\n' | b'\r'));
    let mut at = from;
    while at < bytes.len() && is_end(at) {
        at += 1;
    }
    let mut ranges = Vec::new();
    loop {
        let start = at;
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            while at < bytes.len() {
                match (bytes[at], bytes.get(at + 1)) {
                    (b'"', Some(b'"')) => at += 2,
                    (b'"', _) => break,
                    _ => at += 1,
                }
            }
        }
        while !is_end(at) && bytes[at] != b',' {
            at += 1;
        }
        ranges.push(start..at);
        if is_end(at) {
            return ranges;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> (Option<Table>, Sources, Vec<String>) {
        let mut sources = Sources::new();
        let mut report = Reporter::default();
        let mut cells = 1_000;
        let table = Reader::read("t.csv", text.to_owned(), &mut cells, &mut sources, &mut report);
        let messages = report.problems.sorted();
        let messages = messages.iter().map(|problem| problem.message.clone()).collect();
        (table, sources, messages)
    }

    #[test]
    fn cells_know_where_they_stand() {
        let text = "\u{feff}id,name\r\n1,\"a, \"\"b\"\"\"\r\n\r\n17,\"two\nlines\"\n";
        let (table, sources, messages) = table(text);
        assert_eq!(messages, [""; 0]);
        let table = table.expect("it is sound");
        assert_eq!(table.rows(), 2);
        let shown = |row, column| (table.cell(row, column), sources.slice(table.span(row, column)));
        assert_eq!(shown(0, 0), ("1", "1"));
        assert_eq!(shown(0, 1), ("a, \"b\"", "\"a, \"\"b\"\"\""));
        assert_eq!(shown(1, 0), ("17", "17"));
        assert_eq!(shown(1, 1), ("two\nlines", "\"two\nlines\""));
        assert_eq!(sources.slice(table.header_span()), "id,name");
    }

    #[test]
    fn what_is_no_table_is_said() {
        for (text, expect) in [
            (
                "",
                "the data file has no header: its first row must name the columns",
            ),
            ("a,a\n", "two columns are named `a`"),
            ("a,\n", "a column has no name"),
            ("a,b\n1\n", "this row has 1 cells, and the header has 2"),
        ] {
            let (table, _, messages) = table(text);
            assert!(table.is_none(), "{text}");
            assert_eq!(messages, [expect], "{text}");
        }
    }

    proptest! {
        #[test]
        fn spans_and_cells_agree(text in "[ab,\"\r\n é]{0,40}") {
            let (table, sources, messages) = table(&text);
            prop_assert_eq!(table.is_none(), !messages.is_empty());
            let Some(table) = table else { return Ok(()) };
            for row in 0..table.rows() {
                for column in 0..table.columns.len() {
                    let slice = sources.slice(table.span(row, column));
                    let cell = table.cell(row, column);
                    if slice.starts_with('"') {
                        let bare = |text: &str| text.replace('"', "");
                        prop_assert_eq!(bare(slice), bare(cell));
                    } else {
                        prop_assert_eq!(slice, cell);
                    }
                }
            }
        }
    }
}
