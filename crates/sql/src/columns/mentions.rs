//! What a statement that is not followed says of the key column, so that a key from a comment is not believed against it.
//!
//! Read from tokens: every place of the column's name must be an equality with literals or with the column of another
//! table. Forms that carry keys without the column's name are unknown: rows without a column list, texts that are run,
//! columns that a list or a set operation gives another name.

use super::lists::list_at;
use super::pins::{DistinctLiterals, literals_at};
use super::{ColumnQuestion, KeyLiteral, Mentions};
use crate::class::StatementClass;
use crate::dynamic;
use crate::lex::TokenKind;
use crate::parse::Reading;
use crate::schema::insert_target;

pub(super) fn of(reading: &Reading<'_>, question: &ColumnQuestion<'_>) -> Mentions {
    if let Some(why) = hides_keys(reading) {
        return Mentions::Unknown(why);
    }
    if reading.class == StatementClass::Ddl && !says(reading, "SELECT") {
        // A change of a table is about its columns, not about rows of a key.
        return Mentions::Nothing;
    }
    let mut literals = DistinctLiterals::default();
    for index in 0..reading.tokens.len() {
        if !reading.is_name(&reading.tokens[index], question.key_column) {
            continue;
        }
        let first = chain_start(reading, index);
        if joins(reading, question, first, index) {
            continue;
        }
        let Some(named) = literals_of(reading, first) else {
            return Mentions::Unknown("it names the key column where that is not followed");
        };
        literals.extend(named);
    }
    if literals.is_empty() {
        Mentions::Nothing
    } else {
        Mentions::These(literals.into_vec())
    }
}

/// Whether rows may be limited by the key column under a name that is not its own; `mentioned` says whether it stands
/// somewhere, which then is no condition.
pub(super) fn may_limit_by_another_name(reading: &Reading<'_>, mentioned: bool) -> bool {
    let selects = (0..reading.tokens.len())
        .filter(|&index| reading.is_word(index, "SELECT"))
        .count();
    (mentioned && (selects > 1 || says(reading, "HAVING"))) || renames_columns(reading)
}

/// Forms in which a statement limits or writes rows of a key without naming its column.
fn hides_keys(reading: &Reading<'_>) -> Option<&'static str> {
    use StatementClass as C;
    match reading.class {
        C::Insert | C::Replace if !lists_columns(reading) => Some("its rows come without a column list"),
        C::Load => Some("its rows come from a file"),
        C::Handler => Some("HANDLER reads by an index"),
        C::Prepare if !reading.is_word(0, "DEALLOCATE") => Some("it runs a text that is not in it"),
        _ if dynamic::runs_text(reading.text, reading.mode) => Some("it runs a text that is not in it"),
        _ if renames_columns(reading) => Some("columns get other names in it"),
        _ => None,
    }
}

fn says(reading: &Reading<'_>, word: &str) -> bool {
    (0..reading.tokens.len()).any(|index| reading.is_word(index, word))
}

/// Whether an INSERT or REPLACE says which columns it writes.
fn lists_columns(reading: &Reading<'_>) -> bool {
    let Ok(target) = insert_target(reading) else {
        return false;
    };
    if reading.is_word(target.end, "SET") {
        return true;
    }
    list_at(reading, target.end).is_some_and(|(columns, _)| {
        columns.iter().all(|column| {
            let is_query = ["SELECT", "TABLE", "WITH", "VALUES"]
                .iter()
                .any(|word| reading.is_word(column.start, word));
            !column.is_empty() && !is_query && reading.tokens[column.end - 1].is_name()
        })
    })
}

/// Whether columns may be read under names that the tables do not give them: `*` or TABLE below a list of columns or
/// beside a set operation.
fn renames_columns(reading: &Reading<'_>) -> bool {
    let takes_all = says(reading, "TABLE")
        || (1..reading.tokens.len()).any(|index| {
            let opens = ["SELECT", "DISTINCT", "ALL", "DISTINCTROW"]
                .iter()
                .any(|word| reading.is_word(index - 1, word));
            let follows = [TokenKind::Comma, TokenKind::Dot]
                .into_iter()
                .any(|kind| reading.is_kind(index - 1, kind));
            reading.tokens[index].is_operator(reading.text, "*") && (opens || follows)
        });
    let lists = says(reading, "WITH")
        || (2..reading.tokens.len()).any(|index| {
            let before = index - 1 - usize::from(reading.is_word(index - 1, "AS"));
            reading.is_kind(before, TokenKind::RightParen)
                && reading.tokens[index].is_name()
                && reading.is_kind(index + 1, TokenKind::LeftParen)
                && !stands_between_parentheses(reading, index)
        });
    let unites = ["UNION", "EXCEPT", "INTERSECT", "MINUS"]
        .iter()
        .any(|word| says(reading, word));
    takes_all && (lists || unites)
}

/// Words that stand between `)` and `(` without being the name of a derived table.
fn stands_between_parentheses(reading: &Reading<'_>, index: usize) -> bool {
    [
        "AND", "OR", "XOR", "NOT", "IN", "EXISTS", "VALUES", "VALUE", "USING", "ON", "WHERE", "OVER", "DIV",
        "MOD", "THEN", "ELSE", "WHEN",
    ]
    .iter()
    .any(|word| reading.is_word(index, word))
}

/// Dots in the name of a column: no server takes more, and none is looked for.
const MOST_DOTS: usize = 2;

/// The index of the first name of the dotted chain that ends at `last`.
fn chain_start(reading: &Reading<'_>, last: usize) -> usize {
    let mut first = last;
    while last - first < 2 * MOST_DOTS
        && first >= 2
        && reading.is_kind(first - 1, TokenKind::Dot)
        && reading.tokens[first - 2].is_name()
    {
        first -= 2;
    }
    first
}

/// The literals of the predicate whose column begins at `first`: `column = literal`, `literal = column`, `column IN
/// (literals)`.
fn literals_of(reading: &Reading<'_>, first: usize) -> Option<Vec<KeyLiteral>> {
    let predicate_at = |index: usize| {
        let (literals, end) = literals_at(reading, index)?;
        is_bounded(reading, index, end).then_some(literals)
    };
    predicate_at(first).or_else(|| {
        let equals = first.checked_sub(1)?;
        let is_equality = reading.tokens[equals].is_operator(reading.text, "=");
        let literal = equals.checked_sub(1).filter(|_| is_equality)?;
        let sign = literal
            .checked_sub(1)
            .filter(|&sign| reading.tokens[sign].is_operator(reading.text, "-"));
        predicate_at(sign.unwrap_or(literal))
    })
}

/// Whether the column is only compared with the same column of another table, or stands in USING.
fn joins(reading: &Reading<'_>, question: &ColumnQuestion<'_>, first: usize, last: usize) -> bool {
    let token = |index: usize| reading.tokens.get(index);
    let is_equal = |index: usize| token(index).is_some_and(|token| token.is_operator(reading.text, "="));
    let is_key = |index: usize| token(index).is_some_and(|token| reading.is_name(token, question.key_column));
    let mut next = last + 2;
    while next < last + 2 + 2 * MOST_DOTS && reading.is_kind(next + 1, TokenKind::Dot) {
        next += 2;
    }
    let equals_next = is_equal(last + 1) && is_key(next) && is_bounded(reading, first, next + 1);
    let equals_previous = first >= 2
        && is_equal(first - 1)
        && is_key(first - 2)
        && is_bounded(reading, chain_start(reading, first - 2), last + 1);
    let in_using = first >= 2
        && reading.is_kind(first - 1, TokenKind::LeftParen)
        && reading.is_word(first - 2, "USING")
        && reading.is_kind(last + 1, TokenKind::RightParen);
    equals_next || equals_previous || in_using
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

/// True if nothing before `first` or from `end` on can bind closer than the predicate itself.
fn is_bounded(reading: &Reading<'_>, first: usize, end: usize) -> bool {
    let is_and = |index: usize| {
        let token = reading.tokens.get(index);
        token.is_some_and(|token| token.is_operator(reading.text, "&&"))
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
