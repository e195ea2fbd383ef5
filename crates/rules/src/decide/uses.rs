//! USE, which is decided for the schema that it goes to.
//!
//! A session in the schema of a shard may leave it: by the schema that it is in, a USE of another one would be a statement of that
//! shard. Where the transaction is does not matter, since nothing runs there.

use shardwright_sql::lex::identifier;
use shardwright_sql::{StatementClass, TokenKind};

use crate::Statement;

/// The schema that a USE goes to; `None` for other statements, and where anything else stands in it.
pub(super) fn target(statement: &Statement<'_>) -> Option<String> {
    if statement.class() != StatementClass::Use {
        return None;
    }
    let mut tokens = statement.tokens().skip(1);
    let name = tokens
        .next()
        .and_then(|token| identifier(&token, statement.text()))?;
    let is_over = tokens.all(|token| token.kind == TokenKind::Semicolon);
    is_over.then(|| String::from_utf8_lossy(&name).into_owned())
}
