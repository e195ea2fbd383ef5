//! ProxySQL's first-comment annotations, as ProxySQL 2.7 reads them.
//!
//! The first `/* … */` that its tokenizer comes upon counts, whatever its kind (`c_tokenizer.cpp`, first stage; every
//! form here was also seen to be obeyed or not by 2.7.1). What is peculiar about that tokenizer:
//!
//! * `/*` is dropped wherever it stands in a comment, with the byte behind it once a `/*!` was met: `/*! hostgroup=6 */`
//!   and `/* /* hostgroup=2 */` are obeyed.
//! * Strings end at their quote, in every `sql_mode`; backticks quote nothing.
//! * `-- ` opens a line comment, but not behind another `-`; `--` before the last byte of a text opens none.
//! * Comments that begin beyond 64,999 bytes are not met, and of long ones 1,021 bytes are kept.
//! * A comment that the text ends in is kept without an end: what stands in the engine's memory behind it belongs to it.
//!
//! The comment's text up to a NUL byte is split on `;`, each part on `=`. Empty pieces are skipped, so that `=hostgroup==2`
//! is one annotation.

use std::borrow::Cow;

use crate::comment::last_opener;
use crate::lex::bytes::is_blank;

/// ProxySQL keeps this many bytes of the first comment: a buffer of 1,024, an end mark, and the two of `*/`.
pub const MAX_COMMENT_BYTES: usize = 1021;

/// `mysql-query_digests_max_query_length`: no comment is met that begins in the last byte of this many, or behind.
pub(crate) const MAX_SCANNED_BYTES: usize = 65_000;

/// The first comment of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstComment<'a> {
    /// What the engine kept of it.
    pub text: Cow<'a, [u8]>,
    /// The statement ends in it: what the engine reads behind [`FirstComment::text`] cannot be known.
    pub is_open: bool,
}

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

    /// The value as ProxySQL reads numbers: it must begin with a digit, and what follows the digits is ignored. Of a
    /// number that is too large the low 32 bits count, as a signed number (`atoi`).
    pub fn number(&self) -> Option<i32> {
        let digits = self.value.iter().take_while(|b| b.is_ascii_digit());
        let whole = digits.fold(None, |value, digit| {
            let digit = i64::from(digit - b'0');
            Some(value.unwrap_or(0_i64).saturating_mul(10).saturating_add(digit))
        });
        whole.map(|whole| whole as i32)
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

/// The comment that annotations are read from.
pub fn first_comment(text: &[u8]) -> Option<FirstComment<'_>> {
    last_opener(text)?;
    let start = first_opener(text)?;
    let mut kept = Kept::default();
    let ends_in_it = kept.read(text, start);
    // A full buffer has its end mark, and text ends at a NUL byte.
    let is_open = ends_in_it && !kept.is_full() && !kept.bytes.contains(&0);
    (ends_in_it || kept.is_met).then(|| FirstComment {
        text: kept.within(text),
        is_open,
    })
}

/// The annotations of the statement's first comment, in order; parts without a key are left out.
pub fn annotations_in(comment: &[u8]) -> impl Iterator<Item = Annotation<'_>> {
    let end = memchr::memchr(0, comment).unwrap_or(comment.len());
    comment[..end].split(|&b| b == b';').filter_map(|part| {
        let mut pieces = part.split(|&b| b == b'=').filter(|piece| !piece.is_empty());
        let key = trimmed(pieces.next()?);
        let value = trimmed(pieces.next()?);
        (!key.is_empty()).then_some(Annotation { key, value })
    })
}

fn trimmed(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_blank(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_blank(*last)
    {
        bytes = rest;
    }
    bytes
}

/// What is kept of a comment: a stretch of the text, or the bytes where some were dropped between.
#[derive(Default)]
struct Kept {
    /// It has come to its end.
    is_met: bool,
    from: usize,
    bytes: Vec<u8>,
    has_gap: bool,
}

impl Kept {
    /// Reads the comment whose `/*` stands at `start`; true if the text ends in it.
    fn read(&mut self, text: &[u8], start: usize) -> bool {
        let mut previous = start.checked_sub(1).map_or(0, |at| text[at]);
        let mut at = start;
        let mut is_code = false;
        while at < text.len() {
            if text[at..].starts_with(b"/*") {
                is_code |= text.get(at + 2) == Some(&b'!');
                at += 2 + usize::from(is_code);
                if at + 1 >= text.len() {
                    return !self.bytes.is_empty();
                }
            }
            self.keep(at, text[at]);
            if previous == b'*' && text[at] == b'/' {
                let end = self.bytes.len();
                self.bytes.truncate(if end >= 2 { end - 2 } else { end });
                self.is_met = true;
                return false;
            }
            previous = text[at];
            at += 1;
            // Nothing more is kept, and only a slash ends the comment or begins it anew.
            if self.is_full() {
                let Some(ahead) = memchr::memchr(b'/', &text[at..]) else {
                    return true;
                };
                at += ahead;
                previous = text[at - 1];
            }
        }
        true
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= MAX_COMMENT_BYTES + 2
    }

    fn keep(&mut self, at: usize, byte: u8) {
        if self.is_full() {
            return;
        }
        if self.bytes.is_empty() {
            self.from = at;
        }
        self.has_gap |= self.from + self.bytes.len() != at;
        self.bytes.push(byte);
    }

    fn within(self, text: &[u8]) -> Cow<'_, [u8]> {
        if self.has_gap {
            Cow::Owned(self.bytes)
        } else {
            Cow::Borrowed(&text[self.from..self.from + self.bytes.len()])
        }
    }
}

/// Where the first `/*` stands that is neither in a string, nor in a line comment, nor in a number.
fn first_opener(text: &[u8]) -> Option<usize> {
    let scanned = text.len().min(MAX_SCANNED_BYTES);
    let mut previous = 0;
    let mut at = 0;
    while at + 1 < scanned {
        let byte = text[at];
        match byte {
            b'/' if text[at + 1] == b'*' => return Some(at),
            b'#' => (at, previous) = (hash_comment_end(text, at), b' '),
            b'-' if at + 2 < scanned
                && text[at + 1] == b'-'
                && is_space(text[at + 2])
                && (previous != b'-' || at == 0) =>
            {
                (at, previous) = (dash_comment_end(text, at), b' ');
            }
            b'\'' | b'"' => (at, previous) = (string_end(text, at), 0),
            b'0'..=b'9' if !is_normal(previous) => (at, previous) = number_end(text, at, previous),
            _ => (at, previous) = (at + 1, byte),
        }
    }
    None
}

/// The blanks of the tokenizer.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Bytes of words to the tokenizer.
fn is_normal(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'$' | b'_')
}

/// Behind a `#` comment. Of runs of `#` each is dropped in its turn; one that leaves two bytes ends the comment.
fn hash_comment_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        if text[at] == b'#' && at + 2 <= text.len() {
            at += 1;
            if at + 2 == text.len() {
                return at;
            }
        }
        if matches!(text[at], b'\n' | b'\r') || at + 1 == text.len() {
            return at + 1;
        }
        at += 1;
    }
    at
}

/// Behind a `-- ` comment; one that leaves four bytes ends at once.
fn dash_comment_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        if at + 4 <= text.len() && text[at..].starts_with(b"--") && is_space(text[at + 2]) {
            at += 3;
            if at + 4 == text.len() {
                return at;
            }
        }
        if matches!(text[at], b'\n' | b'\r') || at + 1 == text.len() {
            return at + 1;
        }
        at += 1;
    }
    at
}

/// Behind a string. The byte behind its quote is never taken for escaped.
fn string_end(text: &[u8], start: usize) -> usize {
    let quote = text[start];
    let mut previous = quote;
    let mut at = start + 1;
    while at < text.len() {
        let byte = text[at];
        let is_escaped = at > start + 1
            && ((previous == b'\\' && (byte == b'\\' || byte == quote))
                || (previous == quote && byte == quote));
        if is_escaped {
            previous = b'X';
        } else if byte == quote && text.get(at + 1) != Some(&quote) {
            return at + 1;
        } else {
            previous = byte;
        }
        at += 1;
    }
    at
}

/// Behind a number, and the byte that counts as the one before.
fn number_end(text: &[u8], start: usize, before: u8) -> (usize, u8) {
    let mut previous = before;
    let mut at = start;
    while at < text.len() {
        let byte = text[at];
        let goes_on = byte == b'.' || (matches!(previous, b'e' | b'E') && matches!(byte, b'-' | b'+'));
        if (!is_normal(byte) && !goes_on) || at + 1 == text.len() {
            if is_digits(&text[start..at]) {
                previous = b'?';
            }
            return if is_normal(byte) || goes_on {
                (at + 1, byte)
            } else {
                (at, previous)
            };
        }
        previous = byte;
        at += 1;
    }
    (at, previous)
}

/// Whether the tokenizer takes the bytes for a number.
fn is_digits(bytes: &[u8]) -> bool {
    let mut is_hex = false;
    bytes.iter().enumerate().all(|(at, &byte)| {
        let before = at.checked_sub(1).map_or(0, |at| bytes[at]);
        let is_float = matches!(byte, b'.' | b'e' | b'E')
            || (matches!(before, b'e' | b'E') && matches!(byte, b'+' | b'-'));
        if at == 1 && before == b'0' && matches!(byte, b'x' | b'X') {
            is_hex = true;
            true
        } else if is_hex {
            byte.is_ascii_hexdigit()
        } else {
            byte.is_ascii_digit() || is_float
        }
    })
}
