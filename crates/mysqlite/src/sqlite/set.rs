//! SET: variables of the session and of the user, NAMES, transaction characteristics.

use shardwright_wire::{MysqlError, charset, errors};

use super::errors::syntax;
use super::lexer::{Token, TokenKind};
use crate::answer::Value;

/// One part of a SET statement. An expression is given as its tokens.
#[derive(Debug, PartialEq)]
pub(super) enum Assignment<'t, 'a> {
    System {
        name: String,
        value: Setting<'t, 'a>,
    },
    User {
        name: String,
        expression: &'t [Token<'a>],
    },
    /// `SET NAMES`, `SET CHARACTER SET`.
    CharacterSet(String),
    /// Accepted without effect: transactions are serializable whatever is asked.
    Ignored,
}

#[derive(Debug, PartialEq)]
pub(super) enum Setting<'t, 'a> {
    Default,
    Value(Value),
    Expression(&'t [Token<'a>]),
}

/// Reads the tokens after `SET`, without white space.
///
/// # Errors
/// 1064 for what is no assignment; 1115 for character sets that cannot be lexed byte by byte.
pub(super) fn assignments<'t, 'a>(tokens: &'t [Token<'a>]) -> Result<Vec<Assignment<'t, 'a>>, MysqlError> {
    let mut depth = 0_i32;
    tokens
        .split(|token| {
            depth += i32::from(token.is_symbol("(")) - i32::from(token.is_symbol(")"));
            depth == 0 && token.is_symbol(",")
        })
        .map(assignment)
        .collect()
}

fn assignment<'t, 'a>(tokens: &'t [Token<'a>]) -> Result<Assignment<'t, 'a>, MysqlError> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|token| token.is_word(word));
    if word(0, "NAMES") || word(0, "CHARSET") {
        return character_set(tokens.get(1));
    }
    if word(0, "CHARACTER") && word(1, "SET") {
        return character_set(tokens.get(2));
    }
    let scoped = usize::from(word(0, "GLOBAL") || word(0, "SESSION") || word(0, "LOCAL"));
    if word(scoped, "TRANSACTION") {
        return Ok(Assignment::Ignored);
    }
    let [target, equals, value @ ..] = &tokens[scoped..] else {
        return Err(syntax("SET without a value"));
    };
    if !(equals.is_symbol("=") || equals.is_symbol(":=")) || value.is_empty() {
        return Err(syntax("SET without a value"));
    }
    match target.kind {
        TokenKind::UserVariable => Ok(Assignment::User {
            name: target.text[1..].to_owned(),
            expression: value,
        }),
        TokenKind::SystemVariable => system(&target.text[2..], value),
        TokenKind::Word | TokenKind::Quoted => system(&target.name().unwrap_or_default(), value),
        _ => Err(syntax("SET of what is no variable")),
    }
}

fn system<'t, 'a>(name: &str, value: &'t [Token<'a>]) -> Result<Assignment<'t, 'a>, MysqlError> {
    if let ("character_set_client", [token]) = (name.to_ascii_lowercase().as_str(), value) {
        character_set(Some(token))?;
    }
    let value = match value {
        [token] if token.is_word("DEFAULT") => Setting::Default,
        // A bare word is its own value: SET sql_mode = ANSI, SET autocommit = ON.
        [token] if token.kind == TokenKind::Word => Setting::Value(Value::Text(token.text.to_owned())),
        expression => Setting::Expression(expression),
    };
    Ok(Assignment::System {
        name: name.to_owned(),
        value,
    })
}

fn character_set<'t, 'a>(token: Option<&Token<'a>>) -> Result<Assignment<'t, 'a>, MysqlError> {
    let name = token.and_then(|token| token.string().or_else(|| token.name()));
    let name = name.ok_or_else(|| syntax("SET NAMES without a character set"))?;
    if !charset::is_lexable(&name) {
        let message = format!("Unknown character set: '{name}'");
        return Err(errors::UNKNOWN_CHARACTER_SET.with(message));
    }
    Ok(Assignment::CharacterSet(name))
}
