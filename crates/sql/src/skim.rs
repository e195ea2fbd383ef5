//! The beginning of a statement, read byte by byte: what routing asks of every statement, without its other tokens.
//!
//! Most statements hold no comment, or one that stands at their start. Of these everything is known here; of the
//! others it is known that the lexer must be asked.

use std::borrow::Cow;

use crate::annotation::{FirstComment, MAX_COMMENT_BYTES, MAX_SCANNED_BYTES};
use crate::class::{StatementClass, classify, classify_from};
use crate::comment::last_opener;
use crate::lex::bytes::{blanks_end, first_of, holds, is_blank};
use crate::lex::{LexMode, Span};

/// What the beginning of a statement tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skim {
    /// The class of the first statement.
    pub class: StatementClass,
    /// Its comments.
    pub comments: Comments,
    /// Something may stand behind a semicolon: only a reading of all tokens can tell.
    pub may_be_several: bool,
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
        let opens = text.get(start) == Some(&b'/');
        if opens && let Some((body, end)) = plain_comment(text, start) {
            let rest = Marks::of(&text[end..]);
            return Skim {
                class: classify_from(text, mode, blanks_end(text, end)),
                comments: if rest.opener {
                    Comments::Unread
                } else {
                    Comments::Lone(body)
                },
                may_be_several: rest.separates,
            };
        }
        let all = Marks::of(text);
        Skim {
            class: if opens {
                classify(text, mode)
            } else {
                classify_from(text, mode, start)
            },
            comments: if all.opener {
                Comments::Unread
            } else {
                Comments::None
            },
            may_be_several: all.separates,
        }
    }
}

/// Longer texts are searched once.
const MOST_AT_ONCE: usize = 1024;

/// What one search of a text finds, in quotes and outside.
#[derive(Default)]
struct Marks {
    /// There is a `/*`.
    opener: bool,
    /// There is a semicolon, and behind it more than blanks and semicolons.
    separates: bool,
}

impl Marks {
    fn of(text: &[u8]) -> Self {
        let mut marks = Self::default();
        // Most statements hold neither.
        if text.len() <= MOST_AT_ONCE && !holds(text, b'/', b';') {
            return marks;
        }
        let mut has_semicolon = false;
        let mut from = 0;
        while let Some(found) = first_of(&text[from..], b'/', b';') {
            let at = from + found;
            from = at + 1;
            if text[at] == b'/' {
                marks.opener |= text.get(at + 1) == Some(&b'*');
            } else if !has_semicolon {
                has_semicolon = true;
                let ends = |&byte: &u8| byte == b';' || is_blank(byte);
                marks.separates = !text[at + 1..].iter().all(ends);
            }
            if marks.opener && has_semicolon {
                break;
            }
        }
        marks
    }
}

impl Comments {
    /// The comment that ProxySQL reads annotations from; `None` where the whole text must be read.
    pub fn first(self, text: &[u8]) -> Option<Option<FirstComment<'_>>> {
        match self {
            Comments::None => Some(None),
            Comments::Lone(span) => {
                let body = span.of(text);
                // The last byte of its end may begin another one: `/* a */*`.
                let is_last = text.get(span.end + 2) != Some(&b'*');
                let is_kept_whole = body.len() <= MAX_COMMENT_BYTES
                    && span.end < MAX_SCANNED_BYTES
                    && is_last
                    && last_opener(body).is_none();
                is_kept_whole.then_some(Some(FirstComment {
                    text: Cow::Borrowed(body),
                    is_open: false,
                }))
            }
            Comments::Unread => None,
        }
    }
}

/// The body of a comment that begins at `start` and is neither code nor a hint, and where it ends.
pub(crate) fn plain_comment(text: &[u8], start: usize) -> Option<(Span, usize)> {
    let body = start + 2;
    let is_plain = match text.get(start + 1..)? {
        [b'*', b'!' | b'+', ..] | [b'*', b'M', b'!', ..] => false,
        [b'*', ..] => true,
        _ => false,
    };
    if !is_plain {
        return None;
    }
    let mut from = body + 1;
    loop {
        let slash = from + first_of(text.get(from..)?, b'/', b'/')?;
        if text[slash - 1] == b'*' {
            let end = slash - 1;
            return Some((Span { start: body, end }, slash + 1));
        }
        from = slash + 1;
    }
}
