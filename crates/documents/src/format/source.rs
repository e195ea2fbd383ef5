//! The text that is being formatted, as tokens and what stands between them: spaces, line ends, comments.

use std::ops::Range;

use crate::Comment;

/// A place in the text that only moves on, and the comments that were not written yet.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// Behind the last token that was written.
    at: usize,
    comments: &'a [Comment],
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str, comments: &'a [Comment]) -> Self {
        Self {
            text,
            at: 0,
            comments,
        }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn go_to(&mut self, at: usize) {
        self.at = at.max(self.at);
    }

    /// Where the next token starts.
    pub(super) fn next(&self) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        let mut blank_before = at == 0 || bytes[at - 1].is_ascii_whitespace();
        while let Some(byte) = bytes.get(at) {
            match byte {
                b'#' if blank_before => {
                    at += self.text[at..].find('\n').unwrap_or(self.text.len() - at);
                }
                byte if byte.is_ascii_whitespace() => at += 1,
                _ => return at,
            }
            blank_before = true;
        }
        at
    }

    /// Steps over the next token where it is this one.
    pub(super) fn skip(&mut self, token: &str) -> bool {
        let next = self.next();
        let found = self.text[next..].starts_with(token);
        if found {
            self.at = next + token.len();
        }
        found
    }

    /// Steps over anchors and tags.
    pub(super) fn skip_properties(&mut self) {
        loop {
            let next = self.next();
            let rest = &self.text[next..];
            let ends = |letter: char| letter.is_whitespace() || ",[]{}".contains(letter);
            let length = if rest.starts_with("!<") {
                rest.find('>').map(|end| end + 1)
            } else if rest.starts_with(['&', '!']) {
                rest.find(ends)
            } else {
                return;
            };
            self.at = next + length.unwrap_or(rest.len());
        }
    }

    /// Takes the next comment where it stands behind the last token on its line.
    pub(super) fn trailing_comment(&mut self) -> Option<&'a str> {
        let comment = self.comments.first()?;
        let between = self.text.get(self.at..comment.span.range().start)?;
        let alone = between.trim_matches([' ', '\t']);
        (alone.is_empty() || alone == ",").then(|| self.take_comment())
    }

    /// The column of the next comment.
    pub(super) fn comments_column(&self) -> Option<usize> {
        let comment = self.comments.first()?;
        Some(self.column(comment.span.range().start))
    }

    /// Where the next comment stands, if it comes before the next token.
    pub(super) fn comment_before_next(&self) -> Option<usize> {
        let start = self.comments.first()?.span.range().start;
        (start < self.next()).then_some(start)
    }

    /// Whether a comment stands inside a range of the text.
    pub(super) fn has_comment_in(&self, range: &Range<usize>) -> bool {
        let starts = self.comments.iter().map(|comment| comment.span.range().start);
        starts
            .skip_while(|start| *start < range.start)
            .take(1)
            .any(|start| start < range.end)
    }

    pub(super) fn take_comment(&mut self) -> &'a str {
        let (comment, rest) = self.comments.split_first().expect("asked for where there is one");
        self.comments = rest;
        let range = comment.span.range();
        // A comma in front of a comment belongs to the token before it.
        self.at = self.at.max(range.end);
        self.text[range].trim_end()
    }

    /// The column of a place in characters, from 0.
    pub(super) fn column(&self, at: usize) -> usize {
        self.text[self.line_start(at)..at].chars().count()
    }

    /// Whether the line before that of a place is blank.
    pub(super) fn is_blank_before(&self, at: usize) -> bool {
        let start = self.line_start(at);
        let Some(before) = self.text[..start].strip_suffix('\n') else {
            return false;
        };
        before[self.line_start(before.len())..].trim().is_empty()
    }

    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }
}
