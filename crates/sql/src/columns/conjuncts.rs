//! The rule: a predicate limits a table where it stands as a conjunct of WHERE or ON, and nowhere else.
//!
//! A condition is read twice, from the parser's tree and from the tokens. Both readings give a [`Structure`]. Only AND, OR
//! and parentheses are looked into; whatever else stands around a predicate hides it:
//!
//! ```text
//! tenant = 5 AND (id = 1 OR x)                             All[Predicate, Any[Other, Other]]
//! (tenant = 5 AND id = 1) OR (tenant = 5 AND id = 2)       Any[All[Predicate, Other], All[Predicate, Other]]
//! NOT (tenant = 5)    (tenant = 5) IS TRUE    -(tenant = 5)    Other
//! ```
//!
//! So no list of operators can be incomplete. The tree binds operators as the parser does, the tokens as the servers' grammar
//! does: OR and AND bind loosest but for `:=` and XOR, and an AND can belong to BETWEEN or CASE. Where the two structures
//! differ, nothing is believed of the condition.

use std::ops::Range;

use sqlparser::ast::{BinaryOperator, Expr, Ident, UnaryOperator, Value};

use super::pins::{Place, Predicate, predicate_of};
use crate::lex::TokenKind;
use crate::parse::{Reading, offset, same_but_for_case};
use crate::work;

/// What must hold for a condition to hold. Terms of `All` are no `All`, terms of `Any` no `Any`.
#[derive(Debug)]
pub(super) enum Structure<P> {
    All(Vec<Structure<P>>),
    Any(Vec<Structure<P>>),
    Predicate(P),
    /// Nothing that limits rows to a key.
    Other,
}

/// Reads a condition of the tree, and the tokens around its predicates; `None` if it has none or the readings differ.
pub(super) fn structure_of(
    condition: &Expr,
    reading: &Reading<'_>,
    key: &str,
) -> Option<Structure<Predicate>> {
    let tree = of_tree(condition, key);
    let anchor = reading.index_at(first_column(&tree)?)?;
    let tokens = of_tokens(reading, clause_around(reading, anchor)?, key);
    agreed(tokens, &tree)
}

fn first_column(structure: &Structure<Place>) -> Option<usize> {
    match structure {
        Structure::All(terms) | Structure::Any(terms) => terms.iter().find_map(first_column),
        Structure::Predicate(place) => place.columns.first().copied(),
        Structure::Other => None,
    }
}

/// The structure that both readings have; a predicate counts if both see it at the same place.
fn agreed(tokens: Structure<Predicate>, tree: &Structure<Place>) -> Option<Structure<Predicate>> {
    let both = |tokens: Vec<_>, tree: &Vec<_>| {
        (tokens.len() == tree.len()).then_some(())?;
        let terms = tokens.into_iter().zip(tree);
        let terms = terms.map(|(tokens, tree)| agreed(tokens, tree));
        terms.collect::<Option<Vec<_>>>()
    };
    Some(match (tokens, tree) {
        (Structure::All(tokens), Structure::All(tree)) => Structure::All(both(tokens, tree)?),
        (Structure::Any(tokens), Structure::Any(tree)) => Structure::Any(both(tokens, tree)?),
        (Structure::Predicate(predicate), Structure::Predicate(place)) if predicate.place == *place => {
            Structure::Predicate(predicate)
        }
        (Structure::Predicate(_) | Structure::Other, Structure::Predicate(_) | Structure::Other) => {
            Structure::Other
        }
        _ => return None,
    })
}

/// The kinds of nodes that let a predicate through: AND, OR and parentheses.
fn of_tree(condition: &Expr, key: &str) -> Structure<Place> {
    let terms = |operator| {
        let terms = terms_of(condition, operator).into_iter();
        terms.map(|term| of_tree(term, key)).collect()
    };
    match condition {
        Expr::Nested(inner) => of_tree(inner, key),
        Expr::BinaryOp {
            op: BinaryOperator::And,
            ..
        } => Structure::All(terms(&BinaryOperator::And)),
        Expr::BinaryOp {
            op: BinaryOperator::Or,
            ..
        } => Structure::Any(terms(&BinaryOperator::Or)),
        _ => match place_of(condition, key) {
            Some(place) => Structure::Predicate(place),
            None => Structure::Other,
        },
    }
}

/// The terms between these operators, parentheses removed, in the order of the text.
fn terms_of<'e>(condition: &'e Expr, operator: &BinaryOperator) -> Vec<&'e Expr> {
    let mut terms = Vec::new();
    let mut open = vec![condition];
    while let Some(term) = open.pop() {
        match term {
            Expr::Nested(inner) => open.push(inner),
            Expr::BinaryOp { left, op, right } if op == operator => {
                open.extend([right.as_ref(), left.as_ref()]);
            }
            other => terms.push(other),
        }
    }
    terms
}

/// The kinds of nodes that are a predicate on the key: `=`, `<=>`, IN and BETWEEN of columns and literals, one or in rows.
fn place_of(predicate: &Expr, key: &str) -> Option<Place> {
    match predicate {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq | BinaryOperator::Spaceship,
            right,
        } => match (column(left), column(right)) {
            (Some(left), Some(right)) if is_key(left, key) && is_key(right, key) => {
                place([left, right].into_iter(), 0)
            }
            (Some(column), None) if is_literal(right) => compared(column, 1, key),
            (None, Some(column)) if is_literal(left) => compared(column, 1, key),
            _ => rows(left, std::slice::from_ref(right.as_ref()), key),
        },
        Expr::InList {
            expr,
            list,
            negated: false,
        } => match column(expr) {
            Some(column) if list.iter().all(is_literal) => compared(column, list.len(), key),
            _ => rows(expr, list, key),
        },
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } if is_literal(low) && is_literal(high) => compared(column(expr)?, 2, key),
        _ => None,
    }
}

fn compared(column: &[Ident], values: usize, key: &str) -> Option<Place> {
    is_key(column, key).then(|| place(std::iter::once(column), values))?
}

/// `(a, key) = (1, 5)`, `(a, key) IN ((1, 5), …)`
fn rows(columns: &Expr, rows: &[Expr], key: &str) -> Option<Place> {
    let Expr::Tuple(columns) = columns else {
        return None;
    };
    let columns: Vec<&[Ident]> = columns.iter().map(column).collect::<Option<_>>()?;
    let is_row = |row: &Expr| matches!(row, Expr::Tuple(values) if values.len() == columns.len());
    let names_key = columns.iter().any(|column| is_key(column, key));
    let is_sound = names_key && rows.iter().all(is_row);
    is_sound.then(|| place(columns.into_iter(), rows.len()))?
}

fn place<'e>(columns: impl Iterator<Item = &'e [Ident]>, values: usize) -> Option<Place> {
    let columns = columns.map(|column| offset(column.first()?.span.start));
    let columns = columns.collect::<Option<_>>()?;
    Some(Place { columns, values })
}

fn column(expression: &Expr) -> Option<&[Ident]> {
    match expression {
        Expr::Nested(inner) => column(inner),
        Expr::Identifier(name) => Some(std::slice::from_ref(name)),
        Expr::CompoundIdentifier(names) => Some(names),
        _ => None,
    }
}

fn is_key(column: &[Ident], key: &str) -> bool {
    column
        .last()
        .is_some_and(|name| same_but_for_case(name.value.as_bytes(), key))
}

fn is_literal(expression: &Expr) -> bool {
    let is_number = |expression: &Expr| matches!(expression, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    match expression {
        Expr::Nested(inner) => is_literal(inner),
        Expr::Value(value) => matches!(
            value.value,
            Value::Number(..) | Value::SingleQuotedString(_) | Value::Placeholder(_)
        ),
        Expr::UnaryOp {
            op: UnaryOperator::Plus | UnaryOperator::Minus,
            expr,
        } => is_number(expr),
        Expr::Prefixed { value, .. } => {
            matches!(&**value, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
        }
        _ => false,
    }
}

/// Words behind which a condition goes on with an operand, so that the next word is a name or a function.
const BEFORE_OPERANDS: [&str; 21] = [
    "WHERE", "ON", "AND", "OR", "XOR", "NOT", "IS", "IN", "LIKE", "RLIKE", "REGEXP", "ESCAPE", "BETWEEN",
    "DIV", "MOD", "BINARY", "INTERVAL", "CASE", "WHEN", "THEN", "ELSE",
];

/// Words behind an operand that end a condition. None of them can go on with an expression.
const BEHIND: [&str; 23] = [
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

/// Behind a dot, a keyword is a name.
fn is_one_of(reading: &Reading<'_>, index: usize, words: &[&str]) -> bool {
    reading.is_kind(index, TokenKind::Word)
        && words.iter().any(|word| reading.is_word(index, word))
        && !reading.is_kind(index.wrapping_sub(1), TokenKind::Dot)
}

/// The tokens of the WHERE or ON that token `inside` belongs to.
fn clause_around(reading: &Reading<'_>, inside: usize) -> Option<Range<usize>> {
    let mut at = inside;
    loop {
        work::count(1);
        at = at.checked_sub(1)?;
        if reading.is_kind(at, TokenKind::RightParen) {
            at = reading.partner(at)?;
        } else if is_one_of(reading, at, &["WHERE", "ON"]) {
            break;
        }
    }
    let start = at + 1;
    let is_end = |index: usize| {
        let operand = match reading.tokens[index - 1].kind {
            TokenKind::Operator | TokenKind::LeftParen | TokenKind::Comma | TokenKind::Dot => false,
            _ => !is_one_of(reading, index - 1, &BEFORE_OPERANDS),
        };
        operand && is_one_of(reading, index, &BEHIND)
    };
    let mut end = start;
    while let Some(token) = reading.tokens.get(end) {
        work::count(1);
        match token.kind {
            TokenKind::LeftParen => end = reading.partner(end)?,
            TokenKind::RightParen | TokenKind::Comma => break,
            _ if is_end(end) => break,
            _ => {}
        }
        end += 1;
    }
    (inside < end).then_some(start..end)
}

/// The same from tokens: parentheses around all of a part are removed, then OR splits it, then AND.
fn of_tokens(reading: &Reading<'_>, mut part: Range<usize>, key: &str) -> Structure<Predicate> {
    let seams = loop {
        let seams = Seams::of(reading, &part);
        if !seams.is_enclosed {
            break seams;
        }
        part = part.start + 1..part.end - 1;
    };
    if seams.is_foreign {
        return Structure::Other;
    }
    if !seams.or.is_empty() {
        let mut terms = Vec::new();
        for term in split(&part, &seams.or) {
            match of_tokens(reading, term, key) {
                Structure::Any(inner) => terms.extend(inner),
                term => terms.push(term),
            }
        }
        return Structure::Any(terms);
    }
    if !seams.and.is_empty() {
        let mut terms = Vec::new();
        for term in split(&part, &seams.and) {
            match of_tokens(reading, term, key) {
                Structure::All(inner) => terms.extend(inner),
                term => terms.push(term),
            }
        }
        return Structure::All(terms);
    }
    match predicate_of(reading, part, key) {
        Some(predicate) => Structure::Predicate(predicate),
        None => Structure::Other,
    }
}

/// What stands between the tokens at `seams`.
fn split(part: &Range<usize>, seams: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(part.start).chain(seams.iter().map(|seam| seam + 1));
    let ends = seams.iter().copied().chain(std::iter::once(part.end));
    starts.zip(ends).map(|(start, end)| start..end)
}

/// Where a part of a condition can be split.
#[derive(Default)]
struct Seams {
    or: Vec<usize>,
    and: Vec<usize>,
    /// One pair of parentheses is around all of it.
    is_enclosed: bool,
    /// A query, a list, or an operator that binds looser than OR, or between OR and AND.
    is_foreign: bool,
}

impl Seams {
    fn of(reading: &Reading<'_>, part: &Range<usize>) -> Self {
        let mut seams = Seams {
            is_foreign: is_one_of(reading, part.start, &["SELECT", "WITH", "VALUES", "TABLE"]),
            is_enclosed: reading.is_kind(part.start, TokenKind::LeftParen)
                && reading.partner(part.start) == part.end.checked_sub(1),
            ..Seams::default()
        };
        let (mut cases, mut betweens) = (0_usize, 0_usize);
        let mut next = part.start;
        while next < part.end {
            work::count(1);
            let index = next;
            let token = &reading.tokens[index];
            next += 1;
            match token.kind {
                // What stands in parentheses is looked at once, where they are removed.
                TokenKind::LeftParen => next = reading.partner(index).map_or(next, |close| close + 1),
                TokenKind::Comma => seams.is_foreign = true,
                TokenKind::Operator => match token.span.of(reading.text) {
                    b":=" | b"||" => seams.is_foreign = true,
                    b"&&" if cases == 0 => seams.and.push(index),
                    _ => {}
                },
                TokenKind::Word => {
                    let is = |word: &str| is_one_of(reading, index, &[word]);
                    if is("CASE") {
                        cases += 1;
                    } else if is("END") {
                        cases = cases.saturating_sub(1);
                    } else if cases == 0 {
                        seams.word(index, is, &mut betweens);
                    }
                }
                _ => {}
            }
        }
        seams
    }

    /// A word outside of every parenthesis and CASE. Each BETWEEN has an AND of its own.
    fn word(&mut self, index: usize, is: impl Fn(&str) -> bool, betweens: &mut usize) {
        if is("BETWEEN") {
            *betweens += 1;
        } else if is("AND") && *betweens > 0 {
            *betweens -= 1;
        } else if is("AND") {
            self.and.push(index);
        } else if is("OR") {
            self.or.push(index);
        } else if is("XOR") {
            self.is_foreign = true;
        }
    }
}
