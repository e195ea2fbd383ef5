//! Functions that a statement calls, and other words that the parser's tree cannot be trusted with.

use std::ops::Range;

use super::ColumnQuestion;
use crate::functions::{Meaning, meaning_of};
use crate::lex::TokenKind;
use crate::parse::Reading;

/// What the tree cannot be trusted with, or what would answer otherwise on a shard.
pub(super) fn check_tokens(reading: &Reading<'_>, question: &ColumnQuestion<'_>) -> Result<(), String> {
    for (index, token) in reading.tokens.iter().enumerate() {
        if token.is_word(reading.text, "XOR") {
            return Err("XOR binds otherwise than it is read here".to_owned());
        }
        if !token.is_name() || !reading.is_kind(index + 1, TokenKind::LeftParen) {
            continue;
        }
        let name = String::from_utf8_lossy(token.span.of(reading.text)).into_owned();
        let qualified = index > 0 && reading.is_kind(index - 1, TokenKind::Dot);
        let meaning = if qualified || token.kind == TokenKind::QuotedName {
            Some(Meaning::Unknown)
        } else {
            let adjacent = token.span.end == reading.tokens[index + 1].span.start;
            meaning_of(token.span.of(reading.text), adjacent)
        };
        if meaning == Some(Meaning::Unknown) {
            return Err(format!(
                "the function {name} is not built in and may read other rows"
            ));
        }
        if ["DATABASE", "SCHEMA"]
            .iter()
            .any(|function| name.eq_ignore_ascii_case(function))
        {
            return Err(format!(
                "{name}() would name the shard's schema instead of `{}`",
                question.logical_schema
            ));
        }
    }
    Ok(())
}

/// Whether every function that these tokens call is built in.
pub(super) fn check_calls(reading: &Reading<'_>, tokens: Range<usize>) -> Result<(), String> {
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
