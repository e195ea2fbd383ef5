//! The keys of new rows: INSERT and REPLACE with a column list, read from tokens.

use std::ops::Range;

use super::pins::{literal_at, push_distinct};
use super::{ColumnAnswer, ColumnQuestion, InShards, KeyLiteral, KeyRole, KeyUse};
use crate::functions::{Meaning, meaning_of};
use crate::lex::TokenKind;
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
        Some(Naming::Same) if !asks => new_rows(reading, question, &target),
        Some(Naming::SameButForCase) => {
            Err("a schema is named with other letter case than the logical one".to_owned())
        }
        Some(Naming::Same) => Err("the rows of an INSERT … SELECT can belong to several shards".to_owned()),
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
    let (columns, mut at) = match list_at(reading, target.end) {
        Some(list) => list,
        None => {
            return Err(format!(
                "an INSERT without a column list does not show which value is {column}"
            ));
        }
    };
    if !reading.is_word(at, "VALUES") && !reading.is_word(at, "VALUE") {
        return Err("only INSERT … (columns) VALUES (…) is followed".to_owned());
    }
    at += 1;
    let plain = columns
        .iter()
        .all(|element| element.len() == 1 && reading.tokens[element.start].is_name());
    if !plain {
        return Err("the column list holds more than names".to_owned());
    }
    let is_key = |index: usize| reading.is_name(&reading.tokens[index], column);
    let mut places = (0..columns.len()).filter(|&place| is_key(columns[place].start));
    let Some(place) = places.next() else {
        let mentioned = (target.end..reading.tokens.len()).any(is_key);
        return if mentioned {
            Err(format!("{column} is used and not given"))
        } else {
            Ok(ColumnAnswer::Missing)
        };
    };
    if places.next().is_some() {
        return Err(format!("{column} stands twice in the column list"));
    }
    let mut rows = vec![columns];
    let mut values: Vec<KeyLiteral> = Vec::new();
    loop {
        let Some((row, behind)) = list_at(reading, at) else {
            return Err("a row is malformed".to_owned());
        };
        let literal = key_of_row(reading, &row, rows[0].len(), place)
            .ok_or_else(|| format!("{column} is not a plain string or integer in every row"))?;
        check_calls(reading, at..behind)?;
        push_distinct(&mut values, literal);
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
    let neutralised = match question.in_shards {
        InShards::Present => Vec::new(),
        InShards::Absent => rows.iter().flat_map(|row| removal(reading, row, place)).collect(),
    };
    Ok(ColumnAnswer::Keys(KeyUse {
        values,
        role: KeyRole::NewRows,
        neutralised,
        tables: vec![target.name().to_owned()],
    }))
}

pub(super) type List = Vec<Range<usize>>;

/// The elements of the parenthesised list at token `open`, and the index behind its `)`.
pub(super) fn list_at(reading: &Reading<'_>, open: usize) -> Option<(List, usize)> {
    if !reading.is_kind(open, TokenKind::LeftParen) {
        return None;
    }
    let mut elements = List::new();
    let (mut depth, mut start) = (0, open + 1);
    for index in open + 1..reading.tokens.len() {
        match reading.tokens[index].kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen if depth > 0 => depth -= 1,
            TokenKind::Comma if depth == 0 => {
                elements.push(start..index);
                start = index + 1;
            }
            TokenKind::RightParen => {
                elements.push(start..index);
                return Some((elements, index + 1));
            }
            _ => {}
        }
    }
    None
}

fn key_of_row(reading: &Reading<'_>, row: &List, width: usize, place: usize) -> Option<KeyLiteral> {
    let element = row.get(place).filter(|_| row.len() == width)?;
    let (literal, end) = literal_at(reading, element.start)?;
    (end == element.end).then_some(literal)
}

fn check_calls(reading: &Reading<'_>, tokens: Range<usize>) -> Result<(), String> {
    for index in tokens {
        let token = &reading.tokens[index];
        if !token.is_name() || !reading.is_kind(index + 1, TokenKind::LeftParen) {
            continue;
        }
        let name = token.span.of(reading.text);
        let unknown = token.kind == TokenKind::QuotedName || meaning_of(name, true) == Some(Meaning::Unknown);
        if unknown || reading.is_kind(index.saturating_sub(1), TokenKind::Dot) {
            let name = String::from_utf8_lossy(name);
            return Err(format!(
                "the function {name} is not built in and may read other rows"
            ));
        }
    }
    Ok(())
}

/// Takes element `place` out of a list, and one comma with it.
fn removal(reading: &Reading<'_>, list: &List, place: usize) -> Vec<Edit> {
    let element = &list[place];
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
    spans
        .map(|span| Edit {
            span,
            text: Vec::new(),
        })
        .collect()
}
