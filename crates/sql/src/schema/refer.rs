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
    let mut previous: Option<Token> = None;
    let mut in_chain = false;
    for token in Lexer::new(text, mode).significant() {
        let behind_dot = previous.is_some_and(|previous| previous.kind == TokenKind::Dot);
        match token.kind {
            TokenKind::Dot if !in_chain => {
                let first = previous.filter(Token::is_name);
                if let Some(name) = first.and_then(|first| identifier(&first, text))
                    && let Some(first) = first
                {
                    found.push(SchemaReference {
                        name,
                        span: first.span,
                        chain: 1,
                    });
                    in_chain = true;
                }
            }
            TokenKind::Dot => in_chain = !behind_dot,
            _ if in_chain && behind_dot && (token.is_name() || token.is_operator(text, "*")) => {
                if let Some(last) = found.last_mut() {
                    last.chain += 1;
                }
            }
            _ => in_chain = false,
        }
        previous = Some(token);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_begin_with_a_name_before_a_dot() {
        let shown = |text: &str| {
            let references = references(text.as_bytes(), LexMode::default());
            let each = references
                .iter()
                .map(|r| format!("{}/{}", String::from_utf8_lossy(&r.name), r.chain));
            each.collect::<Vec<_>>().join(" ")
        };
        for (text, expect) in [
            (
                "SELECT a.b, `c` . d.e, f.* FROM g.1h i WHERE j = 'k.l' /* m.n */",
                "a/2 c/3 f/2 g/2",
            ),
            ("a.b c.d", "a/2 c/2"),
            ("a..b .c d", "a/1 b/2"),
            ("f(a).b 1.5 @x.y @@z.w", ""),
        ] {
            assert_eq!(shown(text), expect, "{text}");
        }
    }
}
