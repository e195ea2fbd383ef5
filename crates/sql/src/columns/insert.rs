//! The keys of new rows: INSERT and REPLACE with a column list, read from tokens.

use std::ops::Range;

use super::calls::{check_calls, check_tokens};
use super::changes;
use super::lists::{List, elements, list_at};
use super::pins::{DistinctLiterals, literal_at};
use super::projected::{Projected, projected};
use super::scope::survey;
use super::{ColumnAnswer, ColumnQuestion, InShards, KeyLiteral, KeyRole, KeyUse};
use crate::lex::{Token, TokenKind};
use crate::parse::{Reading, same_but_for_case};
use crate::rewrite::Edit;
use crate::schema::{self, InsertTarget, Naming};

pub(super) fn decide(reading: &Reading<'_>, question: &ColumnQuestion<'_>) -> Result<ColumnAnswer, String> {
    let target = schema::insert_target(reading)?;
    let own_schema = target.schema.as_deref().or(question.session_schema);
    let naming = own_schema.map(|schema| Naming::of(schema.as_bytes(), question.logical_schema));
    let asks = ["SELECT", "TABLE", "WITH"]
        .iter()
        .any(|word| says(reading, target.end, word));
    match naming {
        Some(Naming::Same) if !asks && reading.is_word(target.end, "SET") => {
            assigned_row(reading, question, &target)
        }
        Some(Naming::Same) if !asks => new_rows(reading, question, &target),
        Some(Naming::SameButForCase) => {
            Err("a schema is named with other letter case than the logical one".to_owned())
        }
        Some(Naming::Same) => rows_of_query(reading, question, &target),
        Some(Naming::Other) | None if !asks => Ok(ColumnAnswer::NotConcerned),
        Some(Naming::Other) | None => {
            let logical = |name: &str| same_but_for_case(name.as_bytes(), question.logical_schema);
            let by_session = question.session_schema.is_some_and(logical);
            let by_name = schema::references(reading.text, reading.mode)
                .iter()
                .any(|reference| same_but_for_case(&reference.name, question.logical_schema));
            if by_session || by_name {
                return Err("an INSERT into another schema reads the logical one".to_owned());
            }
            Ok(ColumnAnswer::NotConcerned)
        }
    }
}

fn says(reading: &Reading<'_>, from: usize, word: &str) -> bool {
    (from..reading.tokens.len()).any(|index| reading.is_word(index, word))
}

fn new_rows(
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    target: &InsertTarget,
) -> Result<ColumnAnswer, String> {
    let column = question.key_column;
    let (columns, mut at) = columns_at(reading, question, target)?;
    if !reading.is_word(at, "VALUES") && !reading.is_word(at, "VALUE") {
        return Err("only INSERT … (columns) VALUES (…) is followed".to_owned());
    }
    at += 1;
    let is_key = |index: usize| reading.is_name(&reading.tokens[index], column);
    let Some(place) = place_of_key(reading, question, target, &columns)? else {
        return Ok(ColumnAnswer::Missing);
    };
    let mut rows = vec![columns];
    let mut values = DistinctLiterals::default();
    loop {
        let Some((row, behind)) = list_at(reading, at) else {
            return Err("a row is malformed".to_owned());
        };
        let literal = key_of_row(reading, &row, rows[0].len(), place)
            .ok_or_else(|| format!("{column} is not a plain string or integer in every row"))?;
        check_calls(reading, at..behind)?;
        values.push(literal);
        rows.push(row);
        at = behind;
        if !reading.is_kind(at, TokenKind::Comma) {
            break;
        }
        at += 1;
    }
    if (at..reading.tokens.len()).any(is_key) {
        return Err(format!("{column} is used behind the rows"));
    }
    check_calls(reading, at..reading.tokens.len())?;
    if question.in_shards == InShards::Absent {
        check_absent(reading, target.end..at, column)?;
        check_behind_absent(reading, at)?;
    }
    let neutralised = match question.in_shards {
        InShards::Present => Vec::new(),
        InShards::Absent => {
            let removals = rows.iter().map(|row| removal(reading, row, place));
            removals.collect::<Result<Vec<_>, _>>()?.concat()
        }
    };
    Ok(ColumnAnswer::Keys(KeyUse {
        values: values.into_vec(),
        role: KeyRole::NewRows,
        neutralised,
        tables: vec![target.name().to_owned()],
        needs_visible_key: false,
        in_rows: false,
        changes: changes::of_new_rows(reading, target.name(), at)?,
    }))
}

/// Where the tables on the shards lack the column, it can be named only in the column list.
fn check_absent(reading: &Reading<'_>, rows: Range<usize>, column: &str) -> Result<(), String> {
    let names = rows.filter(|&index| reading.is_name(&reading.tokens[index], column));
    if names.count() == 1 {
        return Ok(());
    }
    Err(format!(
        "a value is read from {column}, and the tables on the shards lack it"
    ))
}

/// Behind the rows, `*` would lack the column.
fn check_behind_absent(reading: &Reading<'_>, from: usize) -> Result<(), String> {
    let returning = (from..reading.tokens.len()).find(|&index| reading.is_word(index, "RETURNING"));
    let is_all = |index: usize| {
        let opens = [TokenKind::Comma, TokenKind::Dot]
            .into_iter()
            .any(|kind| reading.is_kind(index - 1, kind));
        reading.tokens[index].is_operator(reading.text, "*")
            && (opens || reading.is_word(index - 1, "RETURNING"))
    };
    if returning.is_some_and(|from| (from + 1..reading.tokens.len()).any(is_all)) {
        return Err("`*` would lack the key column, which the tables on the shards do not have".to_owned());
    }
    Ok(())
}

/// The column list, and the index behind it.
fn columns_at(
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    target: &InsertTarget,
) -> Result<(List, usize), String> {
    let column = question.key_column;
    let (columns, at) = list_at(reading, target.end)
        .ok_or_else(|| format!("an INSERT without a column list does not show which value is {column}"))?;
    let is_name = |element: &Range<usize>| element.len() == 1 && reading.tokens[element.start].is_name();
    match columns.iter().all(is_name) {
        true => Ok((columns, at)),
        false => Err("the column list holds more than names".to_owned()),
    }
}

/// Which of the columns, or assignments, is the key; `None` where the statement does not mention it.
fn place_of_key(
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    target: &InsertTarget,
    columns: &List,
) -> Result<Option<usize>, String> {
    let column = question.key_column;
    let is_key = |index: usize| reading.is_name(&reading.tokens[index], column);
    let mut places = (0..columns.len()).filter(|&place| is_key(columns[place].start));
    let place = places.next();
    if places.next().is_some() {
        return Err(format!("{column} stands twice in the column list"));
    }
    if place.is_none() && (target.end..reading.tokens.len()).any(is_key) {
        return Err(format!("{column} is used and not given"));
    }
    Ok(place)
}

/// The index of what follows the rows: ON DUPLICATE KEY UPDATE, RETURNING, the alias of the new row.
fn end_of_rows(reading: &Reading<'_>, from: usize) -> usize {
    let mut depth = 0_usize;
    let is_end = |index: usize| {
        let duplicate = reading.is_word(index, "ON") && reading.is_word(index + 1, "DUPLICATE");
        duplicate || reading.is_word(index, "RETURNING")
    };
    let found = (from..reading.tokens.len()).find(|&index| {
        match reading.tokens[index].kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_end(index)
    });
    found.unwrap_or(reading.tokens.len())
}

/// `INSERT INTO t SET tenant = 5, a = 1`
fn assigned_row(
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    target: &InsertTarget,
) -> Result<ColumnAnswer, String> {
    let column = question.key_column;
    let end = end_of_rows(reading, target.end);
    let assignments = elements(reading, target.end + 1..end);
    let is_named = |element: &Range<usize>| {
        let is_assigned = |token: &Token| token.is_operator(reading.text, "=");
        element.len() > 2
            && reading.tokens[element.start].is_name()
            && is_assigned(&reading.tokens[element.start + 1])
    };
    if !assignments.iter().all(is_named) {
        return Err("an assignment is not followed".to_owned());
    }
    check_calls(reading, target.end..reading.tokens.len())?;
    let Some(place) = place_of_key(reading, question, target, &assignments)? else {
        return Ok(ColumnAnswer::Missing);
    };
    let assignment = &assignments[place];
    let literal = literal_at(reading, assignment.start + 2).filter(|(_, end)| *end == assignment.end);
    let (literal, _) = literal.ok_or_else(|| format!("{column} is not a plain string or integer"))?;
    let is_key = |index: usize| reading.is_name(&reading.tokens[index], column);
    if (target.end..reading.tokens.len()).any(|index| index != assignment.start && is_key(index)) {
        return Err(format!("{column} is used beside its value"));
    }
    let neutralised = match question.in_shards {
        InShards::Present => Vec::new(),
        InShards::Absent if assignments.len() == 1 => {
            return Err(format!(
                "nothing but {column} is set, which the tables on the shards lack"
            ));
        }
        InShards::Absent => {
            check_behind_absent(reading, end)?;
            removal(reading, &assignments, place)?
        }
    };
    Ok(ColumnAnswer::Keys(KeyUse {
        values: vec![literal],
        role: KeyRole::NewRows,
        neutralised,
        tables: vec![target.name().to_owned()],
        needs_visible_key: false,
        in_rows: false,
        changes: changes::of_new_rows(reading, target.name(), end)?,
    }))
}

/// Behind the rows of a query, nothing reads a table: no subquery, and no FROM that goes on behind an alias `returning`.
fn check_behind_query(reading: &Reading<'_>, from: usize) -> Result<(), String> {
    let reads = |index: usize| {
        [
            "SELECT",
            "TABLE",
            "WITH",
            "FROM",
            "JOIN",
            "STRAIGHT_JOIN",
            "WHERE",
        ]
        .iter()
        .any(|word| reading.is_word(index, word))
    };
    if reading.is_kind(from + 1, TokenKind::Comma) || (from..reading.tokens.len()).any(reads) {
        return Err("what stands behind the rows of the INSERT … SELECT is not followed".to_owned());
    }
    Ok(())
}

/// `INSERT INTO t (tenant, a) SELECT tenant, a FROM s WHERE tenant = 5`: the rows are read and written inside one key.
fn rows_of_query(
    reading: &Reading<'_>,
    question: &ColumnQuestion<'_>,
    target: &InsertTarget,
) -> Result<ColumnAnswer, String> {
    let column = question.key_column;
    let elsewhere = || "the rows of the INSERT … SELECT can belong to several shards".to_owned();
    if question.in_shards == InShards::Absent {
        return Err(elsewhere());
    }
    let (columns, at) = columns_at(reading, question, target)?;
    let place = place_of_key(reading, question, target, &columns)?.ok_or_else(elsewhere)?;
    let end = end_of_rows(reading, at);
    let is_key = |index: usize| reading.is_name(&reading.tokens[index], column);
    if (end..reading.tokens.len()).any(is_key) {
        return Err(format!("{column} is used behind the rows"));
    }
    check_calls(reading, end..reading.tokens.len())?;
    check_behind_query(reading, end)?;
    let query = reading.part(at..end);
    check_tokens(&query)?;
    let (finding, written) = query.with_tree(|statement| {
        let finding = survey(statement, &query, question)?;
        Ok::<_, String>((finding, projected(statement, &query, question, place)))
    })??;
    if let Some(problem) = finding.problems.into_iter().next() {
        return Err(problem);
    }
    if finding.logical_tables.iter().any(|table| !table.pinned) {
        return Err(elsewhere());
    }
    let mut read = DistinctLiterals::default();
    let in_rows = finding.pins.iter().any(|pin| pin.in_rows);
    read.extend(finding.pins.into_iter().flat_map(|pin| pin.literals));
    match written {
        Some(Projected::Key) if !read.is_empty() => {}
        Some(Projected::Literal(literal)) => read.push(literal),
        _ => return Err(elsewhere()),
    }
    let mut tables: Vec<String> = finding
        .logical_tables
        .into_iter()
        .map(|table| table.table)
        .collect();
    let changes = changes::of_new_rows(reading, target.name(), end)?;
    tables.push(target.name().to_owned());
    tables.sort_unstable();
    tables.dedup();
    Ok(ColumnAnswer::Keys(KeyUse {
        values: read.into_vec(),
        role: KeyRole::NewRows,
        neutralised: Vec::new(),
        tables,
        needs_visible_key: finding.natural,
        in_rows,
        changes,
    }))
}

fn key_of_row(reading: &Reading<'_>, row: &List, width: usize, place: usize) -> Option<KeyLiteral> {
    let element = row.get(place).filter(|_| row.len() == width)?;
    let (literal, end) = literal_at(reading, element.start)?;
    (end == element.end).then_some(literal)
}

/// Takes element `place` out of a list, and one comma with it.
fn removal(reading: &Reading<'_>, list: &List, place: usize) -> Result<Vec<Edit>, String> {
    let element = &list[place];
    if element
        .clone()
        .any(|index| reading.is_kind(index, TokenKind::Placeholder))
    {
        return Err("a `?` for the key column cannot be taken out of new rows, and the tables on the shards lack the column".to_owned());
    }
    let span = crate::lex::Span {
        start: reading.tokens[element.start].span.start,
        end: reading.tokens[element.end - 1].span.end,
    };
    let comma = match (place, list.len()) {
        (_, 1) => None,
        (0, _) => Some(element.end),
        _ => Some(element.start - 1),
    };
    let spans = std::iter::once(span).chain(comma.map(|index| reading.tokens[index].span));
    let removals = spans.map(|span| Edit {
        span,
        text: Vec::new(),
    });
    Ok(removals.collect())
}
