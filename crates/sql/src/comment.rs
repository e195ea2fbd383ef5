//! Keys in comments: the comment grammar of the language, over real `/* … */` comments only.
//!
//! Inside a comment stand `key=value` pairs, separated by blanks, commas or semicolons, without blanks around the
//! `=`; other text is ignored. A value ends at a separator, so `tenant=17a` has the value `17a` and `xtenant=17`
//! never answers for `tenant`. A value is a bare word or quoted; a malformed quoted value is given as it stands,
//! quote included, so that it equals no key.

use std::borrow::Cow;

use crate::lex::{LexMode, Lexer, Span, TokenKind};

/// How a comment carries a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CommentForm {
    /// `/* tenant=17 */`
    #[default]
    Pairs,
    /// `/* primary */` means `primary=1`; pairs count too.
    Flag,
    /// The whole trimmed text of a comment is the value: `/* 017 */`.
    Exact,
    /// Pairs whose names and values are percent-encoded: `/*tenant='a%20b'*/`.
    Sqlcommenter,
}

/// The name to look for and the form it has. Names compare without case (ASCII); `Exact` ignores the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommentKey<'k> {
    /// The wanted key name.
    pub name: &'k str,
    /// The form of the comment.
    pub form: CommentForm,
}

/// The real block comments of a statement: span with delimiters, and body without.
///
/// Ends early at an unterminated token, and where the servers that may run the text do not agree what a comment is.
pub fn comments(text: &[u8], mode: LexMode) -> Comments<'_> {
    Comments {
        text,
        tokens: Lexer::new(text, mode),
        last: last_opener(text),
        is_open: false,
    }
}

/// See [`comments`].
#[derive(Clone, Debug)]
pub struct Comments<'a> {
    text: &'a [u8],
    tokens: Lexer<'a>,
    /// No comment begins behind the last opener, so what follows is not read.
    last: Option<usize>,
    is_open: bool,
}

impl Comments<'_> {
    /// Whether there may be more of them, to one of the servers that may run the text.
    pub fn may_be_more(&self) -> bool {
        self.is_open
    }
}

impl<'a> Iterator for Comments<'a> {
    type Item = (Span, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let last = self.last?;
        while self.tokens.at() <= last {
            let token = self.tokens.next()?;
            if !token.terminated {
                let own = usize::from(self.text[token.span.start] == b'/');
                self.is_open = token.kind == TokenKind::ReadOtherwise && last >= token.span.start + own;
                self.last = None;
                return None;
            }
            if token.kind == TokenKind::BlockComment {
                return Some((token.span, &self.text[token.span.start + 2..token.span.end - 2]));
            }
        }
        None
    }
}

/// Where the last `/*` of a text stands, quoted or not.
pub(crate) fn last_opener(text: &[u8]) -> Option<usize> {
    memchr::memrchr_iter(b'/', text).find(|&at| text.get(at + 1) == Some(&b'*'))
}

/// Every value of `key` in the comments of `text`, with the comment's span, in order.
pub fn comment_keys<'a, 'k>(
    text: &'a [u8],
    mode: LexMode,
    key: CommentKey<'k>,
) -> impl Iterator<Item = (Cow<'a, [u8]>, Span)> + use<'a, 'k> {
    comments(text, mode).flat_map(move |(span, body)| values_in(body, key).map(move |value| (value, span)))
}

/// The name and the value in a comment that holds one bare `name=value` between spaces, as most do. `None` where there
/// is anything more to it; [`values_in`] reads all comments.
pub fn lone_pair(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let bare = |from: &[u8]| from.iter().position(|&byte| !IS_BARE[usize::from(byte)]);
    let start = body.iter().position(|&byte| byte != b' ')?;
    let body = &body[start..];
    let equals = bare(body).filter(|&at| at > 0 && body[at] == b'=')?;
    let rest = &body[equals + 1..];
    let end = bare(rest).unwrap_or(rest.len());
    let is_last = end > 0 && rest[end..].iter().all(|&byte| byte == b' ');
    is_last.then(|| (&body[..equals], &rest[..end]))
}

/// The value in a comment that holds `name=value` between spaces and nothing else, in this case of the letters; both are
/// bare. [`lone_pair`] would give the same.
#[inline]
pub fn lone_value<'a>(body: &'a [u8], name: &str) -> Option<&'a [u8]> {
    debug_assert!(is_bare(name), "{name}");
    let start = body.iter().position(|&byte| byte != b' ')?;
    let behind = body[start..].strip_prefix(name.as_bytes())?;
    let rest = behind.strip_prefix(b"=")?;
    let end = rest.iter().position(|&byte| !IS_BARE[usize::from(byte)]);
    let end = end.unwrap_or(rest.len());
    let is_last = end > 0 && rest[end..].iter().all(|&byte| byte == b' ');
    is_last.then(|| &rest[..end])
}

/// Whether a name needs no quotes and no percent signs in any form of comment.
pub fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| IS_BARE[usize::from(byte)])
}

/// By byte: it stands for itself in a name or a value, whatever the form of the comment.
static IS_BARE: [bool; 256] = {
    let mut is_bare = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is_bare[byte] =
            (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'-' | b'+' | b'.' | b':');
        byte += 1;
    }
    is_bare
};

/// Every value of `key` in one comment body, in order.
pub fn values_in<'a, 'k>(body: &'a [u8], key: CommentKey<'k>) -> Values<'a, 'k> {
    Values {
        pieces: Pieces {
            rest: body,
            sqlcommenter: key.form == CommentForm::Sqlcommenter,
        },
        key,
    }
}

/// The values of a key in a comment; see [`values_in`].
#[derive(Clone, Debug)]
pub struct Values<'a, 'k> {
    pieces: Pieces<'a>,
    key: CommentKey<'k>,
}

impl<'a> Iterator for Values<'a, '_> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.key.form == CommentForm::Exact {
            let body = self.pieces.rest;
            self.key.form = CommentForm::Pairs;
            self.pieces.rest = &[];
            return Some(Cow::Borrowed(body.trim_ascii()));
        }
        loop {
            let value = self.pieces.next()?.value_of(self.key);
            if value.is_some() {
                return value;
            }
        }
    }
}

/// One `name`, `name=value` or piece of other text.
struct Piece<'a> {
    name: &'a [u8],
    value: Option<Cow<'a, [u8]>>,
}

impl<'a> Piece<'a> {
    fn value_of(self, key: CommentKey<'_>) -> Option<Cow<'a, [u8]>> {
        let wanted = key.name.as_bytes();
        match (self.value, key.form) {
            (Some(value), CommentForm::Sqlcommenter) => percent_decoded(self.name)
                .eq_ignore_ascii_case(wanted)
                .then(|| match percent_decoded(&value) {
                    Cow::Borrowed(_) => value.clone(),
                    Cow::Owned(decoded) => Cow::Owned(decoded),
                }),
            (Some(value), _) => self.name.eq_ignore_ascii_case(wanted).then_some(value),
            (None, CommentForm::Flag) => self
                .name
                .eq_ignore_ascii_case(wanted)
                .then_some(Cow::Borrowed(b"1".as_slice())),
            (None, _) => None,
        }
    }
}

#[derive(Clone, Debug)]
struct Pieces<'a> {
    rest: &'a [u8],
    sqlcommenter: bool,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let start = self.rest.iter().position(|&b| !is_separator(b))?;
        let rest = &self.rest[start..];
        let end = rest
            .iter()
            .position(|&b| is_separator(b) || b == b'=')
            .unwrap_or(rest.len());
        let name = &rest[..end];
        if rest.get(end) != Some(&b'=') {
            self.rest = &rest[end..];
            return Some(Piece { name, value: None });
        }
        let (value, used) = value_at(&rest[end + 1..], self.sqlcommenter);
        self.rest = &rest[end + 1 + used..];
        Some(Piece {
            name,
            value: Some(value),
        })
    }
}

/// The value at the start of `rest` and how many bytes it takes.
fn value_at(rest: &[u8], sqlcommenter: bool) -> (Cow<'_, [u8]>, usize) {
    if let Some(&quote @ (b'\'' | b'"')) = rest.first()
        && let Some(close) = closing_quote(rest, quote, sqlcommenter)
        && rest.get(close + 1).is_none_or(|&b| is_separator(b))
    {
        let inner = &rest[1..close];
        let value = if sqlcommenter && inner.contains(&b'\\') {
            Cow::Owned(without_backslashes(inner))
        } else {
            Cow::Borrowed(inner)
        };
        return (value, close + 1);
    }
    let end = rest.iter().position(|&b| is_separator(b)).unwrap_or(rest.len());
    (Cow::Borrowed(&rest[..end]), end)
}

fn closing_quote(rest: &[u8], quote: u8, sqlcommenter: bool) -> Option<usize> {
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        if byte == quote {
            return Some(at);
        }
        at += if sqlcommenter && byte == b'\\' { 2 } else { 1 };
    }
    None
}

fn without_backslashes(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter().copied();
    while let Some(byte) = rest.next() {
        plain.push(if byte == b'\\' {
            rest.next().unwrap_or(byte)
        } else {
            byte
        });
    }
    plain
}

/// Percent signs that stand before no two hexadecimal digits stay as they are.
fn percent_decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !bytes.contains(&b'%') {
        return Cow::Borrowed(bytes);
    }
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes
            .get(at + 1..at + 3)
            .and_then(hex_byte)
            .filter(|_| bytes[at] == b'%');
        decoded.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    Cow::Owned(decoded)
}

fn hex_byte(pair: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | b',' | b';')
}
