//! A benchmark's result: a table to read and all figures to keep.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::machine::Machine;

/// Rows of text under headings; the first column is set left, the others right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new<'a>(headings: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            headings: headings.into_iter().map(str::to_owned).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells at its end stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.headings).chain(&self.rows);
        let columns = lines().map(Vec::len).max().unwrap_or_default();
        let cell = |line: &Vec<String>, column: usize| line.get(column).cloned().unwrap_or_default();
        let width = |column| {
            lines()
                .map(|line| cell(line, column).chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for line in lines() {
            let mut text = String::new();
            for (column, width) in widths.iter().enumerate() {
                let cell = cell(line, column);
                let padded = if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("  {cell:>width$}")
                };
                text.push_str(&padded);
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }
}

/// What a benchmark found.
#[derive(Debug, Clone)]
pub struct Report {
    /// File name and heading, for example `proxy`.
    pub name: &'static str,
    /// One line that says what the figures are.
    pub title: String,
    /// What was varied or chosen: durations, repeats, versions.
    pub parameters: Value,
    /// The summary, in one table or several.
    pub tables: Vec<Table>,
    /// Every measurement, in the order it was taken.
    pub samples: Vec<Value>,
    /// The figures the table shows, as numbers.
    pub summary: Value,
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}: {}", self.name, self.title)?;
        for table in &self.tables {
            write!(out, "\n{table}")?;
        }
        writeln!(out)
    }
}

impl Report {
    /// Writes `NAME.json` with the machine and all raw figures; gives its path.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn save(&self, directory: &Path) -> io::Result<PathBuf> {
        #[derive(Serialize)]
        struct File<'a> {
            benchmark: &'a str,
            title: &'a str,
            machine: Machine,
            parameters: &'a Value,
            summary: &'a Value,
            samples: &'a [Value],
        }
        let file = File {
            benchmark: self.name,
            title: &self.title,
            machine: Machine::here(),
            parameters: &self.parameters,
            summary: &self.summary,
            samples: &self.samples,
        };
        fs::create_dir_all(directory)?;
        let path = directory.join(format!("{}.json", self.name));
        let mut text = serde_json::to_string_pretty(&file)?;
        text.push('\n');
        fs::write(&path, text)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["target", "µs", "ratio"]);
        table.row(["direct".to_owned(), "14.70".to_owned()]);
        table.row(["raw".to_owned(), "122.60".to_owned(), "1.00".to_owned()]);
        assert_eq!(
            table.to_string(),
            "target      µs  ratio\ndirect   14.70\nraw     122.60   1.00\n"
        );
    }

    #[test]
    fn a_saved_report_holds_its_samples_and_the_machine() {
        let report = Report {
            name: "sample",
            title: "nothing".to_owned(),
            parameters: json!({"repeats": 2}),
            tables: vec![Table::new(["a"])],
            samples: vec![json!({"us": 1.5}), json!({"us": 2.5})],
            summary: json!({"us": 2.0}),
        };
        let directory = std::env::temp_dir().join(format!("sw-report-{}", std::process::id()));
        let saved: Value =
            serde_json::from_str(&fs::read_to_string(report.save(&directory).unwrap()).unwrap()).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(saved["samples"], json!([{"us": 1.5}, {"us": 2.5}]));
        assert!(saved["machine"]["cores"].as_u64().unwrap() > 0);
    }
}
