//! Predicates on the key, read from tokens: `column = literal`, `column IN (literals)` and their kin, and `column = column`.

use std::collections::HashSet;
use std::ops::Range;

use super::lists::list_at;
use super::{KeyLiteral, KeyValue};
use crate::lex::{Span, Token, TokenKind, identifier, is_plain_introducer, string_value};
use crate::parse::{Reading, same_but_for_case};
use crate::work;

/// The place of a predicate on the key: where its columns begin, and the number of values that they are compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) columns: Vec<usize>,
    pub(super) values: usize,
}

/// A predicate on the key, and where it stands.
#[derive(Debug)]
pub(super) struct Predicate {
    pub(super) place: Place,
    pub(super) meaning: Meaning,
}

/// What a predicate says of the key.
#[derive(Debug)]
pub(super) enum Meaning {
    /// It is one of these values.
    Pin(Pin),
    /// Two tables have the same; the names of its columns.
    Link([Vec<String>; 2]),
}

/// A predicate that limits a table to keys.
#[derive(Clone, Debug)]
pub(super) struct Pin {
    /// From the first to the last byte of the predicate, parentheses around it not included.
    pub(super) span: Span,
    /// At least one.
    pub(super) literals: Vec<KeyLiteral>,
    /// The names of the column, from the column back to its schema.
    pub(super) names: Vec<String>,
    /// It stands in a list of rows.
    pub(super) in_rows: bool,
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

/// Literals, distinct by value, in the order of their first place.
#[derive(Default)]
pub(super) struct DistinctLiterals {
    known: HashSet<KeyValue>,
    literals: Vec<KeyLiteral>,
}

impl DistinctLiterals {
    pub(super) fn push(&mut self, literal: KeyLiteral) {
        work::count(1);
        // Most statements name one key, often more than once.
        if self
            .literals
            .last()
            .is_some_and(|last| last.value == literal.value)
        {
            return;
        }
        if self.known.insert(literal.value.clone()) {
            self.literals.push(literal);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.literals.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<KeyLiteral> {
        self.literals
    }
}

impl Extend<KeyLiteral> for DistinctLiterals {
    fn extend<I: IntoIterator<Item = KeyLiteral>>(&mut self, literals: I) {
        literals.into_iter().for_each(|literal| self.push(literal));
    }
}

/// The names of a column, from the column back to its schema, and the index of the first token.
type Column = (Vec<String>, usize);

/// Columns compared with literals.
struct Comparison {
    columns: Vec<Column>,
    /// Which of the columns is the key.
    key: usize,
    /// What the key is compared with.
    literals: Vec<KeyLiteral>,
    /// Values, or rows of values, in the text.
    values: usize,
    /// The index behind it.
    end: usize,
}

/// The predicate on `key` that is all of these tokens.
pub(super) fn predicate_of(reading: &Reading<'_>, part: Range<usize>, key: &str) -> Option<Predicate> {
    let is_key = |column: &Column| same_but_for_case(column.0[0].as_bytes(), key);
    let place_of = |columns: &[Column], values| {
        let places = columns.iter().map(|column| reading.tokens[column.1].span.start);
        Place {
            columns: places.collect(),
            values,
        }
    };
    let left = in_parentheses(reading, part.start, column_at);
    if let Some((_, at)) = &left
        && let Some((right, end)) = linked_column(reading, *at)
    {
        let columns = [left?.0, right];
        let is_link = end == part.end && columns.iter().all(is_key);
        return is_link.then(|| Predicate {
            place: place_of(&columns, 0),
            meaning: Meaning::Link(columns.map(|column| column.0)),
        });
    }
    let comparison = match left {
        Some((column, at)) => comparison_of(reading, column, at)?,
        None => match in_parentheses(reading, part.start, compared_literal_at) {
            Some((literal, at)) => {
                let (column, end) = linked_column(reading, at)?;
                Comparison {
                    columns: vec![column],
                    key: 0,
                    literals: vec![literal],
                    values: 1,
                    end,
                }
            }
            None => rows_at(reading, part.start, is_key)?,
        },
    };
    let place = place_of(&comparison.columns, comparison.values);
    let in_rows = comparison.columns.len() > 1 && comparison.values > 1;
    let column = comparison.columns.into_iter().nth(comparison.key)?;
    let is_pin = comparison.end == part.end && is_key(&column);
    let span = Span {
        start: reading.tokens[part.start].span.start,
        end: reading.tokens[part.end - 1].span.end,
    };
    is_pin.then_some(Predicate {
        place,
        meaning: Meaning::Pin(Pin {
            span,
            literals: comparison.literals,
            names: column.0,
            in_rows,
        }),
    })
}

/// The literals of the predicate whose first token is this one, of one column, and the index behind it.
pub(super) fn literals_at(reading: &Reading<'_>, first: usize) -> Option<(Vec<KeyLiteral>, usize)> {
    if let Some((column, at)) = column_at(reading, first) {
        let comparison = comparison_of(reading, column, at)?;
        return Some((comparison.literals, comparison.end));
    }
    let (literal, at) = compared_literal_at(reading, first)?;
    let (_, end) = linked_column(reading, at)?;
    Some((vec![literal], end))
}

/// What stands at token `first`, with any parentheses around it, and the index behind the last.
fn in_parentheses<'r, T>(
    reading: &Reading<'r>,
    first: usize,
    read: impl Fn(&Reading<'r>, usize) -> Option<(T, usize)>,
) -> Option<(T, usize)> {
    let is_open = |index: &usize| reading.is_kind(*index, TokenKind::LeftParen);
    let opened = (first..).take_while(is_open).count();
    let (inner, end) = read(reading, first + opened)?;
    let is_closed = (end..end + opened).all(|index| reading.is_kind(index, TokenKind::RightParen));
    is_closed.then_some((inner, end + opened))
}

pub(super) fn column_at(reading: &Reading<'_>, first: usize) -> Option<(Column, usize)> {
    let (names, end) = names_at(reading, first)?;
    Some(((names, first), end))
}

/// `= column`
fn linked_column(reading: &Reading<'_>, at: usize) -> Option<(Column, usize)> {
    is_equality(reading, at).then(|| in_parentheses(reading, at + 1, column_at))?
}

/// `= literal`, `BETWEEN literal AND` the same, `IN (literals)` behind a column.
fn comparison_of(reading: &Reading<'_>, column: Column, at: usize) -> Option<Comparison> {
    let literal = |index| in_parentheses(reading, index, compared_literal_at);
    let comparison = |literals, values, end| Comparison {
        columns: vec![column],
        key: 0,
        literals,
        values,
        end,
    };
    if is_equality(reading, at) {
        let (literal, end) = literal(at + 1)?;
        return Some(comparison(vec![literal], 1, end));
    }
    if reading.is_word(at, "BETWEEN") {
        let (low, and) = literal(at + 1)?;
        let (high, end) = literal(and + 1).filter(|_| reading.is_word(and, "AND"))?;
        let is_one = low.value.may_be(&high.value);
        return is_one.then(|| comparison(vec![low], 2, end));
    }
    if !reading.is_word(at, "IN") {
        return None;
    }
    let (elements, end) = list_at(reading, at + 1)?;
    let literals = elements.into_iter().map(|element| {
        let (literal, end) = literal(element.start)?;
        (end == element.end).then_some(literal)
    });
    let literals = literals.collect::<Option<Vec<_>>>()?;
    let values = literals.len();
    Some(comparison(literals, values, end))
}

/// `(key, …) = (literal, …)` and `(key, …) IN ((literal, …), …)`
fn rows_at(reading: &Reading<'_>, first: usize, is_key: impl Fn(&Column) -> bool) -> Option<Comparison> {
    let (columns, at) = list_at(reading, first)?;
    let columns = columns.into_iter().map(|column| {
        let (names, end) = in_parentheses(reading, column.start, column_at)?;
        (end == column.end).then_some(names)
    });
    let columns: Vec<Column> = columns.collect::<Option<_>>()?;
    let mut places = (0..columns.len()).filter(|&place| is_key(&columns[place]));
    let (key, None) = (places.next()?, places.next()) else {
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
            .get(key)
            .filter(|_| end == row.end && values.len() == columns.len())?;
        let (literal, end) = in_parentheses(reading, value.start, compared_literal_at)?;
        (end == value.end).then_some(literal)
    });
    let literals = literals.collect::<Option<Vec<_>>>()?;
    Some(Comparison {
        columns,
        key,
        literals,
        values: rows.len(),
        end,
    })
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
        if names.len() == 3 {
            return None;
        }
        at += 1;
    }
    names.reverse();
    Some((names, at))
}

/// A literal that the key is compared with: also a decimal without a fraction, which every server compares as the integer. As a
/// new value it may be stored with its fraction.
fn compared_literal_at(reading: &Reading<'_>, first: usize) -> Option<(KeyLiteral, usize)> {
    literal_at(reading, first).or_else(|| number_at(reading, first, without_fraction))
}

fn without_fraction(digits: &str) -> Option<&str> {
    let (whole, fraction) = digits.split_once('.')?;
    fraction.bytes().all(|digit| digit == b'0').then_some(whole)
}

/// A plain string or integer, or a `?` that stands for one, and the index behind it.
pub(super) fn literal_at(reading: &Reading<'_>, first: usize) -> Option<(KeyLiteral, usize)> {
    let token = reading.tokens.get(first)?;
    let literal = |value| KeyLiteral {
        value,
        span: token.span,
    };
    match token.kind {
        TokenKind::String => {
            let value = KeyValue::Text(text_of(reading, token)?);
            Some((literal(value), first + 1))
        }
        // An introducer that changes neither these characters nor how they compare.
        TokenKind::Introducer if is_plain_introducer(token.span.of(reading.text)) => {
            let string = reading.tokens.get(first + 1)?;
            let is_string = string.kind == TokenKind::String;
            let value = text_of(reading, string).filter(|text| is_string && text.is_ascii())?;
            let span = Span {
                start: token.span.start,
                end: string.span.end,
            };
            let value = KeyValue::Text(value);
            Some((KeyLiteral { value, span }, first + 2))
        }
        TokenKind::Placeholder => Some((literal(reading.bound(token)?), first + 1)),
        // Decimals, floats and `0x…` compare otherwise than integers do.
        _ => number_at(reading, first, |digits| Some(digits)),
    }
}

fn text_of(reading: &Reading<'_>, string: &Token) -> Option<String> {
    let value = string_value(string, reading.text, reading.mode)?;
    String::from_utf8(value.into_owned()).ok()
}

/// A number with or without a sign; `whole` gives its digits.
fn number_at(
    reading: &Reading<'_>,
    first: usize,
    whole: impl for<'d> Fn(&'d str) -> Option<&'d str>,
) -> Option<(KeyLiteral, usize)> {
    let token = reading.tokens.get(first)?;
    let is_negative = token.is_operator(reading.text, "-");
    let at = first + usize::from(is_negative || token.is_operator(reading.text, "+"));
    let number = reading
        .tokens
        .get(at)
        .filter(|token| token.kind == TokenKind::Number)?;
    let digits = whole(std::str::from_utf8(number.span.of(reading.text)).ok()?)?;
    let magnitude: i128 = digits
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| digits.parse().ok())??;
    let value = KeyValue::Integer(if is_negative { -magnitude } else { magnitude });
    let span = Span {
        start: token.span.start,
        end: number.span.end,
    };
    Some((KeyLiteral { value, span }, at + 1))
}
