//! Names of system variables beyond ASCII. MySQL finds a variable without regard to case and accents, so `@@sql_möde` is
//! `@@sql_mode`, which the proxy follows. No server has a variable with such a name.

use shardwright_rules::Statement;
use shardwright_sql::TokenKind;
use shardwright_wire::{MysqlError, errors};

/// The error for a name that is not in ASCII.
pub(super) fn beyond_ascii(name: &str) -> MysqlError {
    errors::UNKNOWN_SYSTEM_VARIABLE.with(format_args!(
        "Unknown system variable '{name}': write its name in ASCII"
    ))
}

/// The first `@@name` of a statement whose name is not in ASCII.
pub(super) fn first_beyond_ascii(statement: &Statement<'_>) -> Option<MysqlError> {
    let text = statement.text();
    if text.is_ascii() {
        return None;
    }
    let mut tokens = statement.tokens();
    tokens.find_map(|token| {
        let written = token.span.of(text);
        let named = match token.kind {
            TokenKind::SystemVariable => Some(written).filter(|name| !name.is_ascii()),
            TokenKind::ExecutableComment => in_comment(written),
            _ => None,
        };
        named.map(|name| beyond_ascii(&String::from_utf8_lossy(name)))
    })
}

/// The same inside an executable comment; a text in quotes there may be taken for a variable.
fn in_comment(comment: &[u8]) -> Option<&[u8]> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"_$.`".contains(byte);
    let starts = comment.windows(2).enumerate().filter(|(_, pair)| *pair == b"@@");
    starts
        .map(|(at, _)| {
            let rest = &comment[at + 2..];
            let len = rest.iter().take_while(|byte| is_of_name(byte)).count();
            &rest[..len]
        })
        .find(|name| !name.is_ascii())
}
