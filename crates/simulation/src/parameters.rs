//! The parameters of a prepared statement: the `?` that stand where values go.

use shardwright_sql::{LexMode, Lexer, Token, TokenKind};

/// The number of parameters of a text.
pub(crate) fn parameters(text: &[u8]) -> usize {
    placeholders(text).count()
}

fn placeholders(text: &[u8]) -> impl Iterator<Item = Token> {
    Lexer::new(text, LexMode::default()).filter(|token| token.kind == TokenKind::Placeholder)
}

/// The parts of a text around its parameters: one more than those.
pub(crate) fn around_parameters(text: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for token in placeholders(text) {
        parts.push(&text[from..token.span.start]);
        from = token.span.end;
    }
    parts.push(&text[from..]);
    parts
}

/// A text with values in place of its parameters.
pub(crate) fn with_values(text: &[u8], values: &[&[u8]]) -> Vec<u8> {
    let (mut filled, mut from) = (Vec::with_capacity(text.len()), 0);
    for (token, value) in placeholders(text).zip(values) {
        filled.extend_from_slice(&text[from..token.span.start]);
        filled.extend_from_slice(value);
        from = token.span.end;
    }
    filled.extend_from_slice(&text[from..]);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_parameters_are() {
        let filled = with_values(b"SELECT ?, '?' /* ? */ FROM t WHERE a = ?", &[b"1", b"'x'"]);
        assert_eq!(
            String::from_utf8_lossy(&filled),
            "SELECT 1, '?' /* ? */ FROM t WHERE a = 'x'"
        );
    }
}
