//! Qualified names in a statement, from its tokens alone.

use std::borrow::Cow;

use crate::lex::{LexMode, Lexer, Span, Token, TokenKind, identifier};

/// A name that stands first in a dotted chain: a schema, or a table or alias before its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaReference<'a> {
    /// The name, quotes removed.
    pub name: Cow<'a, [u8]>,
    /// Where it stands, quotes included.
    pub span: Span,
    /// Names in the chain, this one included; a `*` counts.
    pub chain: usize,
}

/// The first names of all dotted chains of `text`, in order. What is in literals and comments is not among them; every
/// schema that the statement qualifies a name by is, outside executable comments and text prepared from strings.
pub fn references(text: &[u8], mode: LexMode) -> Vec<SchemaReference<'_>> {
    let mut found: Vec<SchemaReference<'_>> = Vec::new();
    let mut before: Option<Token> = None;
    let mut current: Option<Token> = None;
    let mut in_chain = false;
    for token in Lexer::new(text, mode).significant() {
        let is_dot = token.kind == TokenKind::Dot;
        if is_dot && let Some(name) = current.filter(Token::is_name) {
            let continues = before.is_some_and(|before| before.kind == TokenKind::Dot) && in_chain;
            if continues {
                if let Some(last) = found.last_mut() {
                    last.chain += 1;
                }
            } else if let Some(unquoted) = identifier(&name, text) {
                found.push(SchemaReference {
                    name: unquoted,
                    span: name.span,
                    chain: 2,
                });
                in_chain = true;
            }
        } else if !token.is_name() {
            in_chain = false;
        } else if current.is_none_or(|current| current.kind != TokenKind::Dot) {
            in_chain = false;
        }
        before = current.replace(token);
    }
    found
}
