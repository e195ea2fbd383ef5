//! Statements inside statements: what PREPARE and EXECUTE IMMEDIATE give the server to run.

use std::borrow::Cow;

use crate::lex::{LexMode, Lexer, Token, TokenKind, string_value};

/// A text that is made only when it is run: an expression, a variable, or more than one literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeAtRunTime;

/// Whether `text` gives the server another text to run. One that only executes what was prepared before does not.
pub fn runs_text(text: &[u8], mode: LexMode) -> bool {
    let mut tokens = Lexer::new(text, mode).significant();
    let opens = |token: Token| token.is_word(text, "PREPARE") || token.is_word(text, "EXECUTE");
    tokens.any(opens) && !openings(text, &tokens_of(text, mode)).is_empty()
}

/// The texts that `text` gives the server to run, unescaped.
///
/// # Errors
/// If one of them is not one plain string literal.
pub fn texts(text: &[u8], mode: LexMode) -> Result<Vec<Cow<'_, [u8]>>, MadeAtRunTime> {
    let tokens = tokens_of(text, mode);
    let one = |start: usize| {
        let literal = tokens.get(start).filter(|token| token.kind == TokenKind::String);
        let ends = tokens.get(start + 1).is_none_or(|token| {
            token.kind == TokenKind::Semicolon || token.is_word(text, "USING") || token.is_word(text, "END")
        });
        literal
            .filter(|_| ends)
            .and_then(|literal| string_value(literal, text, mode))
            .ok_or(MadeAtRunTime)
    };
    openings(text, &tokens).into_iter().map(one).collect()
}

fn tokens_of(text: &[u8], mode: LexMode) -> Vec<Token> {
    Lexer::new(text, mode).significant().collect()
}

/// Indexes of the tokens behind `PREPARE name FROM` and `EXECUTE IMMEDIATE`. Where an executable comment stands among
/// these words, it is the comment's index, which is that of no literal.
fn openings(text: &[u8], tokens: &[Token]) -> Vec<usize> {
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(text, word));
    let is_code = |at: &usize| {
        tokens
            .get(*at)
            .is_some_and(|token| token.kind == TokenKind::ExecutableComment)
    };
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if is(at, "EXECUTE") && is(at + 1, "IMMEDIATE") {
            found.push(at + 2);
        } else if is(at, "PREPARE") && is(at + 2, "FROM") {
            found.push(at + 3);
        } else if is(at, "EXECUTE") || is(at, "PREPARE") {
            found.extend((at + 1..at + 3).find(is_code));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_to_run_are_found_wherever_they_stand() {
        let shown = |text: &str| match texts(text.as_bytes(), LexMode::default()) {
            Ok(found) => found
                .iter()
                .map(|text| String::from_utf8_lossy(text).into_owned())
                .collect::<Vec<_>>()
                .join(" | "),
            Err(MadeAtRunTime) => "made at run time".to_owned(),
        };
        for (text, expect) in [
            ("SELECT 1", ""),
            ("PREPARE s FROM 'SELECT ''a'''", "SELECT 'a'"),
            ("prepare `s` from \"x\";", "x"),
            ("EXECUTE IMMEDIATE 'DO ?' USING 1", "DO ?"),
            (
                "SET STATEMENT max_statement_time=1 FOR EXECUTE IMMEDIATE 'x'",
                "x",
            ),
            ("EXECUTE s USING @a", ""),
            ("DEALLOCATE PREPARE s", ""),
            ("PREPARE s FROM @q", "made at run time"),
            ("EXECUTE IMMEDIATE CONCAT('a', 'b')", "made at run time"),
            ("EXECUTE IMMEDIATE 'a' 'b'", "made at run time"),
            ("EXECUTE IMMEDIATE _utf8'a'", "made at run time"),
            ("EXECUTE /*! IMMEDIATE 'a' */", "made at run time"),
            ("PREPARE s /*! FROM */ 'a'", "made at run time"),
        ] {
            assert_eq!(shown(text), expect, "{text}");
        }
    }
}
