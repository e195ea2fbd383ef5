//! Functions that a statement calls, and other words that the parser's tree cannot be trusted with.

use std::ops::Range;

use crate::functions::{Place, call_of, names_expression};
use crate::lex::{Token, TokenKind};
use crate::parse::Reading;

/// What the tree cannot be trusted with.
pub(super) fn check_tokens(reading: &Reading<'_>) -> Result<(), String> {
    for (index, token) in reading.tokens.iter().enumerate() {
        if token.is_word(reading.text, "XOR") {
            return Err("XOR binds otherwise than it is read here".to_owned());
        }
        if !is_before_parenthesis(reading, index) {
            continue;
        }
        check_call(reading, index)?;
    }
    Ok(())
}

/// Whether every function that these tokens call is built in.
pub(super) fn check_calls(reading: &Reading<'_>, mut tokens: Range<usize>) -> Result<(), String> {
    tokens.try_for_each(|index| match is_before_parenthesis(reading, index) {
        true => check_call(reading, index),
        false => Ok(()),
    })
}

fn is_before_parenthesis(reading: &Reading<'_>, index: usize) -> bool {
    reading.tokens[index].is_name() && reading.is_kind(index + 1, TokenKind::LeftParen)
}

/// Whether a name before a `(` calls nothing, or a function that every server has that may run the statement.
fn check_call(reading: &Reading<'_>, index: usize) -> Result<(), String> {
    let (name, parenthesis) = (&reading.tokens[index], &reading.tokens[index + 1]);
    let place = Place {
        adjacent: name.span.end == parenthesis.span.start,
        before: index.checked_sub(1).map(|before| reading.tokens[before].kind),
        rest: &reading.text[parenthesis.span.end..],
    };
    // Its columns have other names than those of its query, and may have that of the key.
    if names_expression(place.rest, reading.mode) {
        let name = written(reading, name);
        return Err(format!(
            "the names that {name} (…) gives to the columns of its query are not read"
        ));
    }
    let call = match name.kind {
        TokenKind::Word => call_of(name.span.of(reading.text), place, reading.mode),
        _ => Some(crate::functions::UNKNOWN),
    };
    if call.is_none_or(|call| call.is_built_in) {
        return Ok(());
    }
    Err(format!(
        "the function {} is not built in on every server that may run the statement, and may read other rows",
        written(reading, name)
    ))
}

fn written(reading: &Reading<'_>, token: &Token) -> String {
    String::from_utf8_lossy(token.span.of(reading.text)).into_owned()
}
