//! ProxySQL's first-comment annotations, as ProxySQL 2.7 reads them.
//!
//! The first `/* … */` anywhere outside quotes counts, whatever its kind; `-- ` and `#` comments never. Its body is
//! split on `;`, each part on `=`. Backticks do not quote for ProxySQL.

use crate::comment::last_opener;
use crate::lex::{LexMode, Lexer, TokenKind};

/// ProxySQL keeps this many bytes of the first comment.
pub const MAX_COMMENT_BYTES: usize = 1023;

/// One `key=value` of the first comment, blanks around both trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotation<'a> {
    /// The key as written; ProxySQL compares without case.
    pub key: &'a [u8],
    /// The value as written.
    pub value: &'a [u8],
}

impl Annotation<'_> {
    /// True if the key is `name` without case.
    pub fn is(&self, name: &str) -> bool {
        self.key.eq_ignore_ascii_case(name.as_bytes())
    }

    /// True if the key is one of [`KNOWN_KEYS`].
    pub fn is_known(&self) -> bool {
        KNOWN_KEYS.iter().any(|key| self.is(key))
    }

    /// The value as ProxySQL reads numbers: it must begin with a digit, and what follows the digits is ignored.
    /// Saturates.
    pub fn number(&self) -> Option<u64> {
        let digits = self.value.iter().take_while(|b| b.is_ascii_digit());
        digits.fold(None, |value, digit| {
            let digit = u64::from(digit - b'0');
            Some(value.unwrap_or(0_u64).saturating_mul(10).saturating_add(digit))
        })
    }
}

/// Keys that change what ProxySQL does with the statement.
pub const KNOWN_KEYS: [&str; 10] = [
    "cache_ttl",
    "query_delay",
    "query_retries",
    "query_timeout",
    "hostgroup",
    "mirror",
    "max_lag_ms",
    "min_epoch_ms",
    "min_gtid",
    "create_new_connection",
];

/// The body of the first comment, cut at [`MAX_COMMENT_BYTES`].
pub fn first_comment(text: &[u8]) -> Option<&[u8]> {
    last_opener(text)?;
    let mut base = 0;
    loop {
        let token = Lexer::new(&text[base..], LexMode::default()).find(|token| {
            matches!(
                token.kind,
                TokenKind::BlockComment
                    | TokenKind::ExecutableComment
                    | TokenKind::OptimizerHint
                    | TokenKind::QuotedName
            )
        })?;
        let start = base + token.span.start;
        if token.kind == TokenKind::QuotedName {
            base = start + 1;
            continue;
        }
        let end = base + token.span.end - if token.terminated { 2 } else { 0 };
        let body = &text[(start + 2).min(end)..end];
        return Some(&body[..body.len().min(MAX_COMMENT_BYTES)]);
    }
}

/// The annotations of the statement's first comment, in order; parts without `=` are left out.
pub fn annotations(text: &[u8]) -> impl Iterator<Item = Annotation<'_>> {
    annotations_in(first_comment(text).unwrap_or_default())
}

/// The annotations of a comment's body.
pub fn annotations_in(body: &[u8]) -> impl Iterator<Item = Annotation<'_>> {
    body.split(|&b| b == b';').filter_map(|part| {
        let equals = part.iter().position(|&b| b == b'=')?;
        Some(Annotation {
            key: part[..equals].trim_ascii(),
            value: part[equals + 1..].trim_ascii(),
        })
    })
}
