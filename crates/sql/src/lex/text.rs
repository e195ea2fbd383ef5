//! What the text of a name or a string token stands for.

use std::borrow::Cow;

use super::{LexMode, Lexer, Token, TokenKind};
use crate::work;

/// Whether the tokens of a text are the same under every `sql_mode`.
pub fn reads_alike(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, b'"' | b'\\'))
}

/// Why it is not known how a text is read, if the servers that may run it do not agree: human-readable.
pub fn difference(text: &[u8], mode: LexMode) -> Option<String> {
    let token = Lexer::new(text, mode).find(|token| token.kind == TokenKind::ReadOtherwise)?;
    let at = token.span.start;
    Some(match text[at] {
        b'$' => format!(
            "what `$` begins at byte {at} is a text to MySQL 9 and a name to other servers, and not all that may run it are \
             alike; put names that begin with `$` in backticks"
        ),
        _ => format!(
            "where the executable comment ends that begins at byte {at} depends on the server's version; put quotes and \
             comments outside of it"
        ),
    })
}

/// The name that a word or quoted name stands for, quotes and doubling removed; `None` for other tokens and for
/// an unterminated one.
pub fn identifier<'a>(token: &Token, text: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    work::count(1);
    let raw = token.span.of(text);
    match token.kind {
        TokenKind::Word => Some(Cow::Borrowed(raw)),
        TokenKind::QuotedName if token.terminated => Some(undouble(&raw[1..raw.len() - 1], raw[0])),
        _ => None,
    }
}

/// The bytes that a `'…'` or `"…"` string stands for; `None` for other tokens and for an unterminated one.
pub fn string_value<'a>(token: &Token, text: &'a [u8], mode: LexMode) -> Option<Cow<'a, [u8]>> {
    if token.kind != TokenKind::String || !token.terminated {
        return None;
    }
    let raw = token.span.of(text);
    let (quote, body) = (raw[0], &raw[1..raw.len() - 1]);
    if mode.no_backslash_escapes || !body.contains(&b'\\') {
        return Some(undouble(body, quote));
    }
    let mut value = Vec::with_capacity(body.len());
    let mut bytes = body.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == quote {
            bytes.next();
            value.push(quote);
        } else if byte == b'\\' {
            push_escape(&mut value, bytes.next());
        } else {
            value.push(byte);
        }
    }
    Some(Cow::Owned(value))
}

/// Whether a string of ASCII behind this introducer is the same text without it, and compares as that does.
pub(crate) fn is_plain_introducer(introducer: &[u8]) -> bool {
    let plain: [&[u8]; 3] = [b"_utf8mb4", b"_utf8mb3", b"_utf8"];
    plain.iter().any(|known| introducer.eq_ignore_ascii_case(known))
}

/// Escapes as the server reads them; `\%` and `\_` keep the backslash.
fn push_escape(value: &mut Vec<u8>, escaped: Option<u8>) {
    match escaped {
        Some(b'n') => value.push(b'\n'),
        Some(b't') => value.push(b'\t'),
        Some(b'r') => value.push(b'\r'),
        Some(b'b') => value.push(8),
        Some(b'0') => value.push(0),
        Some(b'Z') => value.push(26),
        Some(wildcard @ (b'%' | b'_')) => value.extend([b'\\', wildcard]),
        Some(other) => value.push(other),
        None => value.push(b'\\'),
    }
}

fn undouble(body: &[u8], quote: u8) -> Cow<'_, [u8]> {
    if !body.contains(&quote) {
        return Cow::Borrowed(body);
    }
    let mut value = Vec::with_capacity(body.len());
    let mut bytes = body.iter().copied();
    while let Some(byte) = bytes.next() {
        value.push(byte);
        if byte == quote {
            bytes.next();
        }
    }
    Cow::Owned(value)
}
