//! `column = literal`, `column IN (literals)` and their kin, and `column = column`, read from tokens.

use super::lists::list_at;
use super::{KeyLiteral, KeyValue};
use crate::lex::{Span, Token, TokenKind, identifier, string_value};
use crate::parse::{Reading, same_but_for_case};

/// A predicate that limits a table to keys.
#[derive(Clone, Debug)]
pub(super) struct Pin {
    /// From the first to the last byte of the predicate, parentheses around it not included.
    pub(super) span: Span,
    /// At least one.
    pub(super) literals: Vec<KeyLiteral>,
    /// The names of the column, from the column back to its schema.
    pub(super) names: Vec<String>,
}

impl Pin {
    /// The values, sorted and distinct.
    pub(super) fn value_set(&self) -> Vec<KeyValue> {
        let mut values: Vec<KeyValue> = self
            .literals
            .iter()
            .map(|literal| literal.value.clone())
            .collect();
        values.sort();
        values.dedup();
        values
    }
}

pub(super) fn push_distinct(values: &mut Vec<KeyLiteral>, literal: KeyLiteral) {
    if values.iter().all(|known| known.value != literal.value) {
        values.push(literal);
    }
}

/// Words and marks that can stand before a whole predicate.
const BEFORE: [&str; 3] = ["WHERE", "ON", "AND"];
/// Words that can stand behind a whole predicate.
const BEHIND: [&str; 24] = [
    "AND",
    "GROUP",
    "ORDER",
    "LIMIT",
    "HAVING",
    "FOR",
    "LOCK",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "WINDOW",
    "INTO",
    "JOIN",
    "INNER",
    "CROSS",
    "LEFT",
    "RIGHT",
    "NATURAL",
    "ON",
    "SET",
    "STRAIGHT_JOIN",
    "WHERE",
    "RETURNING",
    "PROCEDURE",
];

/// What a predicate stands beside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    And,
    /// It is one of several, any of which may hold.
    Or,
}

/// Reads the predicate whose column or literal begins at byte `offset`; `None` if its tokens are not exactly such a
/// predicate between marks that bound it.
pub(super) fn pin_at(reading: &Reading<'_>, offset: usize, beside: Beside) -> Option<Pin> {
    let first = reading.index_at(offset)?;
    let (names, literals, end) = if reading.tokens[first].is_name() {
        column_first(reading, first)?
    } else {
        let (literal, at) = literal_at(reading, first)?;
        if !is_equality(reading, at) {
            return None;
        }
        let (names, end) = names_at(reading, at + 1)?;
        (names, vec![literal], end)
    };
    let bounded = is_bounded_by(reading, first, end, beside);
    let span = Span {
        start: reading.tokens[first].span.start,
        end: reading.tokens[end - 1].span.end,
    };
    bounded.then_some(Pin {
        span,
        literals,
        names,
    })
}

fn column_first(reading: &Reading<'_>, first: usize) -> Option<(Vec<String>, Vec<KeyLiteral>, usize)> {
    let (names, at) = names_at(reading, first)?;
    if is_equality(reading, at) {
        let (literal, end) = literal_at(reading, at + 1)?;
        return Some((names, vec![literal], end));
    }
    if reading.is_word(at, "BETWEEN") {
        let (low, and) = literal_at(reading, at + 1)?;
        let (high, end) = literal_at(reading, and + 1).filter(|_| reading.is_word(and, "AND"))?;
        return low.value.may_be(&high.value).then(|| (names, vec![low], end));
    }
    if !reading.is_word(at, "IN") || !reading.is_kind(at + 1, TokenKind::LeftParen) {
        return None;
    }
    let mut literals = Vec::new();
    let mut next = at + 2;
    loop {
        let (literal, end) = literal_at(reading, next)?;
        literals.push(literal);
        next = end + 1;
        match reading.tokens.get(end)?.kind {
            TokenKind::Comma => {}
            TokenKind::RightParen => return Some((names, literals, next)),
            _ => return None,
        }
    }
}

/// `=`, or `<=>`, which is the same for what is not NULL.
fn is_equality(reading: &Reading<'_>, at: usize) -> bool {
    let is = |token: &Token| {
        ["=", "<=>"]
            .iter()
            .any(|operator| token.is_operator(reading.text, operator))
    };
    reading.tokens.get(at).is_some_and(is)
}

/// The columns of `a.key = b.key` whose first name begins at byte `offset`.
pub(super) fn equal_columns_at(reading: &Reading<'_>, offset: usize) -> Option<[Vec<String>; 2]> {
    let first = reading.index_at(offset)?;
    let (left, at) = names_at(reading, first)?;
    let (right, end) = names_at(reading, at + 1).filter(|_| is_equality(reading, at))?;
    is_bounded(reading, first, end).then_some([left, right])
}

/// `(key, …) = (literal, …)` and `(key, …) IN ((literal, …), …)`, whose first column begins at byte `offset`: what they say
/// of `key`.
pub(super) fn pin_of_rows(reading: &Reading<'_>, offset: usize, key: &str) -> Option<Pin> {
    let first = reading.index_at(offset)?.checked_sub(1)?;
    let (columns, at) = list_at(reading, first)?;
    let names = columns.iter().map(|column| {
        let (names, end) = names_at(reading, column.start)?;
        (end == column.end).then_some(names)
    });
    let names: Vec<Vec<String>> = names.collect::<Option<_>>()?;
    let mut places = (0..names.len()).filter(|&place| same_but_for_case(names[place][0].as_bytes(), key));
    let (place, None) = (places.next()?, places.next()) else {
        return None;
    };
    let (rows, end) = if is_equality(reading, at) {
        let (_, end) = list_at(reading, at + 1)?;
        (std::iter::once(at + 1..end).collect(), end)
    } else {
        list_at(reading, at + 1).filter(|_| reading.is_word(at, "IN"))?
    };
    let literals = rows.iter().map(|row| {
        let (values, end) = list_at(reading, row.start)?;
        if reading.is_word(row.start + 1, "SELECT") {
            return None;
        }
        let value = values
            .get(place)
            .filter(|_| end == row.end && values.len() == names.len())?;
        let (literal, end) = literal_at(reading, value.start)?;
        (end == value.end).then_some(literal)
    });
    let literals = literals.collect::<Option<Vec<_>>>()?;
    let span = Span {
        start: reading.tokens[first].span.start,
        end: reading.tokens[end - 1].span.end,
    };
    is_bounded(reading, first, end).then(|| Pin {
        span,
        literals,
        names: names[place].clone(),
    })
}

fn names_at(reading: &Reading<'_>, first: usize) -> Option<(Vec<String>, usize)> {
    let mut names = Vec::new();
    let mut at = first;
    loop {
        let token = reading.tokens.get(at).filter(|token| token.is_name())?;
        let name = identifier(token, reading.text)?;
        names.push(String::from_utf8(name.into_owned()).ok()?);
        at += 1;
        if !reading.is_kind(at, TokenKind::Dot) {
            break;
        }
        at += 1;
    }
    names.reverse();
    (names.len() <= 3).then_some((names, at))
}

/// A plain string or integer, or a `?` that stands for one, and the index behind it.
pub(super) fn literal_at(reading: &Reading<'_>, first: usize) -> Option<(KeyLiteral, usize)> {
    let token = reading.tokens.get(first)?;
    if token.kind == TokenKind::String {
        let value = string_value(token, reading.text, reading.mode)?;
        let value = KeyValue::Text(String::from_utf8(value.into_owned()).ok()?);
        return Some((
            KeyLiteral {
                value,
                span: token.span,
            },
            first + 1,
        ));
    }
    if token.kind == TokenKind::Placeholder {
        let value = reading.bound(token)?;
        return Some((
            KeyLiteral {
                value,
                span: token.span,
            },
            first + 1,
        ));
    }
    let negative = token.is_operator(reading.text, "-");
    let at = first + usize::from(negative);
    let number = reading
        .tokens
        .get(at)
        .filter(|token| token.kind == TokenKind::Number)?;
    let digits = std::str::from_utf8(number.span.of(reading.text)).ok()?;
    // Decimals, floats and `0x…` compare otherwise than integers do.
    let magnitude: i128 = digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())??;
    let value = KeyValue::Integer(if negative { -magnitude } else { magnitude });
    let span = Span {
        start: token.span.start,
        end: number.span.end,
    };
    Some((KeyLiteral { value, span }, at + 1))
}

/// True if nothing before `first` or from `end` on can bind closer than the predicate itself.
pub(super) fn is_bounded(reading: &Reading<'_>, first: usize, end: usize) -> bool {
    is_bounded_by(reading, first, end, Beside::And)
}

fn is_bounded_by(reading: &Reading<'_>, first: usize, end: usize, beside: Beside) -> bool {
    let is_or = |index: usize| beside == Beside::Or && reading.is_word(index, "OR");
    let is_and = |index: usize| {
        reading
            .tokens
            .get(index)
            .is_some_and(|t| t.is_operator(reading.text, "&&"))
    };
    let before = first.checked_sub(1).is_some_and(|at| {
        reading.is_kind(at, TokenKind::LeftParen)
            || is_and(at)
            || is_or(at)
            || BEFORE.iter().any(|word| reading.is_word(at, word))
    });
    let behind = end >= reading.tokens.len()
        || reading.is_kind(end, TokenKind::RightParen)
        || reading.is_kind(end, TokenKind::Comma)
        || is_and(end)
        || is_or(end)
        || BEHIND.iter().any(|word| reading.is_word(end, word));
    before && behind
}
