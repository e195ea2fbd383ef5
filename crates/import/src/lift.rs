//! From rows to a configuration: what the engine runs after it has loaded the tables.

mod clusters;
mod firewall;
mod hostgroups;
mod rules;
mod scheduled;
mod users;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::Value;
use shardwright_diagnostics::{Code, Diagnostic, FileId, Problems, Severity, Span};
use shardwright_rules::{Address, Configuration, EngineId};

use crate::codes::{IGNORED, MISREAD, SYNTAX, UNMODELLED};
use crate::lift::variables::Variables;
use crate::scheduled::Scheduled;
use crate::store::{Row, Tables};
use crate::{Beside, Layout, RuleFile};

/// What the tables mean to an engine.
/// `without_active`: rows of rules whose INSERT does not name the column.
/// `scheduled`: clusters whose servers a program moves.
pub(crate) fn lift(
    tables: &dyn Tables,
    engine: EngineId,
    file: FileId,
    problems: Problems,
    without_active: &BTreeSet<Span>,
    scheduled: &[Scheduled],
) -> RuleFile {
    let mut lift = Lift {
        tables,
        file,
        configuration: Configuration::empty(engine),
        origins: BTreeMap::new(),
        problems,
        unmodelled: Vec::new(),
        fast_forward: Vec::new(),
        reports_gtids: false,
        left_as_it_is: Vec::new(),
        beside: Beside::default(),
    };
    let variables = Variables::read(&mut lift);
    rules::lift(&mut lift, without_active);
    rules::fast_routing(&mut lift);
    users::lift(&mut lift, &variables);
    hostgroups::lift(&mut lift, &variables, scheduled);
    firewall::lift(&mut lift, &variables);
    variables.finish(&mut lift);
    RuleFile {
        configuration: lift.configuration,
        origins: lift.origins,
        problems: lift.problems,
        unmodelled: lift.unmodelled,
        fast_forward: lift.fast_forward,
        filled_hostgroups: Vec::new(),
        reports_gtids: lift.reports_gtids,
        left_as_it_is: lift.left_as_it_is,
        layout: Layout::default(),
        beside: lift.beside,
    }
}

/// What becomes of a column that no object of a project says anything of.
const LEFT: &str = "is no part of a project: a plan leaves it as it is";

/// A configuration in the making.
struct Lift<'s> {
    tables: &'s dyn Tables,
    file: FileId,
    configuration: Configuration,
    origins: BTreeMap<String, Span>,
    problems: Problems,
    unmodelled: Vec<String>,
    fast_forward: Vec<String>,
    reports_gtids: bool,
    left_as_it_is: Vec<String>,
    beside: Beside,
}

impl Lift<'_> {
    /// The rows of a table.
    fn rows(&mut self, table: &'static str) -> Vec<Row> {
        match self.tables.rows(table) {
            Ok(rows) => rows,
            Err(refused) => {
                let what = format!("table {table} cannot be read back: {refused}");
                self.problems
                    .push(Diagnostic::error(SYNTAX, what).at(self.whole(), ""));
                Vec::new()
            }
        }
    }

    fn whole(&self) -> Span {
        Span::new(self.file, 0, 0)
    }

    /// An address whose object came from a row.
    fn address(&mut self, path: String, row: &Row) -> Address {
        if let Some(place) = row.place {
            self.origins.insert(path.clone(), place);
        }
        Address::from(path)
    }

    fn say(&mut self, severity: Severity, code: Code, row: &Row, what: String) {
        let span = row.place.unwrap_or(self.whole());
        self.problems
            .push(Diagnostic::new(severity, code, what).at(span.within(0, 60), ""));
    }

    /// Something that changes where statements go and that a configuration does not hold.
    fn unmodelled(&mut self, row: &Row, what: String) {
        self.say(Severity::Warning, UNMODELLED, row, what.clone());
        self.unmodelled.push(what);
    }

    /// The same of a row or a column that a plan leaves as it is.
    fn left_as_it_is(&mut self, row: &Row, what: String) {
        self.left_as_it_is.push(what.clone());
        self.unmodelled(row, what);
    }

    /// Something that says nothing about routing.
    fn ignored(&mut self, row: &Row, what: String) {
        self.say(Severity::Info, IGNORED, row, what);
    }

    /// The number that the engine reads in a column: a text that is none counts as 0, a fraction is cut.
    fn number(&mut self, row: &Row, column: &str) -> Option<i64> {
        let read = match row.cell(column) {
            Value::Null => return None,
            Value::Integer(number) => return Some(*number),
            Value::Real(number) => number.trunc() as i64,
            Value::Text(text) => leading_number(text),
            Value::Blob(bytes) => leading_number(&String::from_utf8_lossy(bytes)),
        };
        let what = format!("the engine reads {column} as {read}: the value is no whole number");
        self.say(Severity::Warning, MISREAD, row, what);
        Some(read)
    }

    /// A number of a rule: none where it is negative; one past the engine's numbers is an error.
    fn count(&mut self, row: &Row, column: &str) -> Option<u32> {
        let number = self.number(row, column)?;
        if number < 0 {
            let what = format!("the engine reads {column} as not set: {number} is negative");
            self.say(Severity::Warning, MISREAD, row, what);
            return None;
        }
        if number > i64::from(i32::MAX) {
            let what = format!(
                "{column} is {number}, past {}, the largest number that the engine reads",
                i32::MAX
            );
            self.say(Severity::Error, MISREAD, row, what);
            return None;
        }
        u32::try_from(number).ok()
    }

    fn flag(&mut self, row: &Row, column: &str) -> bool {
        self.number(row, column).is_some_and(|number| number != 0)
    }
}

/// The text of a column, as SQLite would give it to the engine.
fn text(row: &Row, column: &str) -> Option<String> {
    match row.cell(column) {
        Value::Null => None,
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Text(text) => Some(text.clone()),
        Value::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// A text that is not empty.
fn filled(row: &Row, column: &str) -> Option<String> {
    text(row, column).filter(|text| !text.is_empty())
}

/// The digits that a text begins with, as C's `atoi` reads them.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .find(|(at, letter)| !(letter.is_ascii_digit() || (*at == 0 && matches!(letter, '-' | '+'))))
        .map_or(text.len(), |(at, _)| at);
    text[..end].parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_reads_them() {
        for (text, number) in [
            ("12", 12),
            ("-3x", -3),
            ("abc", 0),
            ("", 0),
            (" 7", 7),
            ("1.5", 1),
        ] {
            assert_eq!(leading_number(text), number, "{text}");
        }
    }
}
