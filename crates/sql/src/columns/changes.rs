//! The rows that a statement deletes and the columns that it assigns in rows that exist: foreign keys pass such changes on.

use std::ops::Range;

use sqlparser::ast::{Assignment, AssignmentTarget, Delete, FromTable, ObjectName, TableFactor};

use super::common_tables::parts_of;
use super::lists::elements;
use super::tables::Tables;
use super::{RowChange, TableChange};
use crate::class::StatementClass;
use crate::lex::{TokenKind, identifier};
use crate::parse::{Reading, same_but_for_case};

/// `None`: an assignment is not followed.
pub(super) fn of_assignments(assignments: &[Assignment], tables: &Tables) -> Option<Vec<TableChange>> {
    let change = |assignment: &Assignment| {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return None;
        };
        let names = parts_of(name)?;
        let (column, qualifiers) = names.split_last()?;
        Some(TableChange {
            table: match qualifiers.last() {
                Some(table) => named(tables, table),
                None => only(tables),
            },
            change: RowChange::Assigns((*column).to_owned()),
        })
    };
    assignments.iter().map(change).collect()
}

/// `DELETE FROM t`, `DELETE a FROM t a JOIN …`, `DELETE FROM a USING t a JOIN …`.
pub(super) fn of_delete(delete: &Delete, tables: &Tables) -> Vec<TableChange> {
    let deletes = |table| TableChange {
        table,
        change: RowChange::Deletes,
    };
    let target = |name: &ObjectName| deletes(parts_of(name).and_then(|names| named(tables, names.last()?)));
    if !delete.tables.is_empty() {
        return delete.tables.iter().map(target).collect();
    }
    if delete.using.is_none() {
        return vec![deletes(only(tables))];
    }
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    from.iter()
        .map(|from| match &from.relation {
            TableFactor::Table { name, .. } => target(name),
            _ => deletes(None),
        })
        .collect()
}

/// The own name of the table that a statement calls so. `None`: it may be any.
fn named(tables: &Tables, name: &str) -> Option<String> {
    let alike = |other: &str| same_but_for_case(other.as_bytes(), name);
    let mut named = tables.all.iter().filter(|table| alike(&table.exposed));
    let table = named.next()?;
    named.next().is_none().then(|| table.name.clone())
}

fn only(tables: &Tables) -> Option<String> {
    match tables.all.as_slice() {
        [table] => Some(table.name.clone()),
        _ => None,
    }
}

/// ON DUPLICATE KEY UPDATE assigns columns of the rows that were there, and REPLACE deletes these.
pub(super) fn of_new_rows(
    reading: &Reading<'_>,
    table: &str,
    behind_rows: usize,
) -> Result<Vec<TableChange>, String> {
    let of_table = |change| TableChange {
        table: Some(table.to_owned()),
        change,
    };
    if reading.class == StatementClass::Replace {
        return Ok(vec![of_table(RowChange::Deletes)]);
    }
    let Some(assignments) = on_duplicate(reading, behind_rows) else {
        return Ok(Vec::new());
    };
    let column = |assignment: &Range<usize>| {
        let assigns = assignment.clone().find(|&index| {
            let token = &reading.tokens[index];
            token.is_operator(reading.text, "=") || token.is_operator(reading.text, ":=")
        })?;
        let named = assigns
            .checked_sub(1)
            .filter(|named| *named >= assignment.start)?;
        let name = identifier(&reading.tokens[named], reading.text)?;
        Some(RowChange::Assigns(String::from_utf8_lossy(&name).into_owned()))
    };
    let columns: Option<Vec<RowChange>> = assignments.iter().map(column).collect();
    let columns = columns.ok_or("an assignment behind ON DUPLICATE KEY UPDATE is not followed")?;
    Ok(columns.into_iter().map(of_table).collect())
}

/// The assignments behind ON DUPLICATE KEY UPDATE.
fn on_duplicate(reading: &Reading<'_>, from: usize) -> Option<Vec<Range<usize>>> {
    let words = ["ON", "DUPLICATE", "KEY", "UPDATE"];
    let stands_at = |at: &usize| {
        (0..)
            .zip(words)
            .all(|(place, word)| reading.is_word(at + place, word))
    };
    let start = (from..reading.tokens.len()).find(stands_at)? + words.len();
    let mut depth = 0_usize;
    let end = (start..reading.tokens.len()).find(|&index| {
        match reading.tokens[index].kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && reading.is_word(index, "RETURNING")
    });
    Some(elements(reading, start..end.unwrap_or(reading.tokens.len())))
}
