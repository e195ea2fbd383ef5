//! Where an executable comment ends: `/*!50110 … */`, `/*M! … */`.
//!
//! A server whose version takes the comment reads code in it, and ends it at the first `*/` between two tokens of that code;
//! comments inside have their own end. A server whose version does not take it skips it as a comment in which one level of
//! others may stand, and knows no strings there. MySQL skips `/*M! … */` as it skips any comment. Only where all of these end
//! alike, the end is known.

use super::scan::{Scanned, comment_end};
use super::{Lexer, TokenKind};
use crate::servers::Servers;

impl Lexer<'_> {
    pub(super) fn executable_comment(&self) -> Scanned {
        let body = self.at + 2;
        let is_of_mariadb = self.byte(2) == Some(b'M');
        let servers = self.mode.servers;
        let first = comment_end(self.text, body);
        let is_plain = is_of_mariadb && servers.are_in(Servers::ALL_MYSQL);
        let hides_nothing = || first.is_some_and(|end| !hides_tokens(&self.text[body..end]));
        let end = if is_plain || hides_nothing() {
            Some(first)
        } else {
            let skipped = self.end_if_skipped(body);
            let is_plain_to_some = is_of_mariadb && servers.meet(Servers::ALL_MYSQL);
            let alike = self.end_if_run(body) == Some(skipped) && (!is_plain_to_some || skipped == first);
            alike.then_some(skipped)
        };
        match end {
            Some(Some(end)) => (TokenKind::ExecutableComment, end, true),
            Some(None) => (TokenKind::ExecutableComment, self.text.len(), false),
            None => (TokenKind::ReadOtherwise, self.text.len(), false),
        }
    }

    /// The end to a server that does not take it.
    fn end_if_skipped(&self, body: usize) -> Option<usize> {
        let mut at = body + 1;
        loop {
            let end = comment_end(self.text, at)?;
            match memchr::memmem::find(&self.text[at..end], b"/*") {
                // `/*/` opens a comment and does not end one.
                Some(inner) => at = comment_end(self.text, at + inner + 2)?,
                None => return Some(end),
            }
        }
    }

    /// The end to a server that takes it, `Some(None)` where there is none. `None`: that depends on its version, as a further
    /// executable comment inside ends this one if it is run.
    fn end_if_run(&self, body: usize) -> Option<Option<usize>> {
        let code = body + 1 + usize::from(self.text[body] == b'M');
        let mut tokens = Lexer::new(self.text, self.mode);
        tokens.at = code;
        loop {
            // It is looked for before it is read: to read it would be to read those inside it.
            if matches!(
                self.text.get(tokens.at..)?,
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..]
            ) {
                return None;
            }
            let Some(token) = tokens.next() else {
                return Some(None);
            };
            match token.kind {
                TokenKind::Operator
                    if token.span.of(self.text) == b"*" && self.text.get(token.span.end) == Some(&b'/') =>
                {
                    return Some(Some(token.span.end + 1));
                }
                TokenKind::ReadOtherwise => return None,
                _ if !token.terminated => return Some(None),
                _ => {}
            }
        }
    }
}

/// Whether a string, a name in quotes or another comment may begin in this body.
fn hides_tokens(body: &[u8]) -> bool {
    let inside = &body[..body.len().saturating_sub(2)];
    inside
        .iter()
        .any(|byte| matches!(byte, b'\'' | b'"' | b'`' | b'#' | b'$'))
        || inside.windows(2).any(|pair| pair == b"/*" || pair == b"--")
}
