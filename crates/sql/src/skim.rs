//! The beginning of a statement, read byte by byte: what routing asks of every statement, without its other tokens.
//!
//! Most statements hold no comment, or one that stands at their start. Of these everything is known here; of the
//! others it is known that the lexer must be asked.

use crate::annotation::MAX_COMMENT_BYTES;
use crate::class::{StatementClass, classify, classify_from};
use crate::lex::scan::is_blank;
use crate::lex::{LexMode, Span};

/// What the beginning of a statement tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skim {
    /// The class of the first statement.
    pub class: StatementClass,
    /// Its comments.
    pub comments: Comments,
}

/// The comments of a statement, as far as its beginning tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comments {
    /// There is no `/*` in the text.
    None,
    /// A block comment stands before all other tokens, and there is no other `/*`. This is its body.
    Lone(Span),
    /// The tokens must be read.
    Unread,
}

impl Skim {
    /// Reads the beginning of `text`.
    pub fn of(text: &[u8], mode: LexMode) -> Self {
        let start = blanks_end(text, 0);
        if text.get(start) == Some(&b'/')
            && let Some((body, end)) = plain_comment(text, start)
        {
            let class = classify_from(text, mode, blanks_end(text, end));
            let comments = match opener(&text[end..]) {
                None => Comments::Lone(body),
                Some(_) => Comments::Unread,
            };
            return Skim { class, comments };
        }
        let comments = match opener(text) {
            None => Comments::None,
            Some(_) => Comments::Unread,
        };
        let class = match text.get(start) {
            Some(b'/') => classify(text, mode),
            _ => classify_from(text, mode, start),
        };
        Skim { class, comments }
    }
}

impl Comments {
    /// The body of the comment that ProxySQL reads annotations from; `None` where the tokens must be read.
    pub fn first(self, text: &[u8]) -> Option<Option<&[u8]>> {
        match self {
            Comments::None => Some(None),
            Comments::Lone(body) => {
                let body = body.of(text);
                Some(Some(&body[..body.len().min(MAX_COMMENT_BYTES)]))
            }
            Comments::Unread => None,
        }
    }
}

fn blanks_end(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

/// The body of a comment that begins at `start` and is neither code nor a hint, and where it ends.
fn plain_comment(text: &[u8], start: usize) -> Option<(Span, usize)> {
    let body = start + 2;
    let is_plain = match text.get(start + 1..)? {
        [b'*', b'!' | b'+', ..] | [b'*', b'M', b'!', ..] => false,
        [b'*', ..] => true,
        _ => false,
    };
    if !is_plain {
        return None;
    }
    let mut at = body;
    while let Some(&byte) = text.get(at) {
        if byte == b'*' && text.get(at + 1) == Some(&b'/') {
            return Some((Span { start: body, end: at }, at + 2));
        }
        at += 1;
    }
    None
}

/// Where the first `/*` of a text stands.
fn opener(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'/', text).find(|&at| text.get(at + 1) == Some(&b'*'))
}
