//! `column = literal` and `column IN (literals)`, read from tokens.

use super::{KeyLiteral, KeyValue};
use crate::lex::{Span, TokenKind, identifier, string_value};
use crate::parse::Reading;

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
const BEHIND: [&str; 20] = [
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
    "STRAIGHT_JOIN",
    "WHERE",
    "RETURNING",
    "PROCEDURE",
];

/// Reads the predicate whose column or literal begins at byte `offset`; `None` if its tokens are not exactly such a
/// predicate between marks that bound it.
pub(super) fn pin_at(reading: &Reading<'_>, offset: usize) -> Option<Pin> {
    let first = reading.index_at(offset)?;
    let (names, literals, end) = if reading.tokens[first].is_name() {
        column_first(reading, first)?
    } else {
        let (literal, at) = literal_at(reading, first)?;
        let operator = reading.tokens.get(at)?;
        if !operator.is_operator(reading.text, "=") {
            return None;
        }
        let (names, end) = names_at(reading, at + 1)?;
        (names, vec![literal], end)
    };
    let bounded = is_bounded(reading, first, end);
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
    if reading.tokens.get(at)?.is_operator(reading.text, "=") {
        let (literal, end) = literal_at(reading, at + 1)?;
        return Some((names, vec![literal], end));
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

/// A plain string or integer, and the index behind it.
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
    let is_and = |index: usize| {
        reading
            .tokens
            .get(index)
            .is_some_and(|t| t.is_operator(reading.text, "&&"))
    };
    let before = first.checked_sub(1).is_some_and(|at| {
        reading.is_kind(at, TokenKind::LeftParen)
            || is_and(at)
            || BEFORE.iter().any(|word| reading.is_word(at, word))
    });
    let behind = end >= reading.tokens.len()
        || reading.is_kind(end, TokenKind::RightParen)
        || reading.is_kind(end, TokenKind::Comma)
        || is_and(end)
        || BEHIND.iter().any(|word| reading.is_word(end, word));
    before && behind
}
