//! `$`: a letter of names, or the quote of a text (`$$ … $$`, `$tag$ … $tag$`) to MySQL 9.

use super::bytes::is_name_byte;
use super::scan::Scanned;
use super::{Lexer, TokenKind};
use crate::servers::Servers;

impl Lexer<'_> {
    /// What a `$` begins. Behind a dot it is a letter to all servers, and so it is where no second one closes the tag.
    pub(super) fn dollar(&self) -> Scanned {
        let servers = self.mode.servers;
        if self.previous == Some(TokenKind::Dot) || servers.are_in(Servers::NAMES_BY_DOLLAR) {
            return self.plain_word();
        }
        let tag_end = self.run(self.at + 1, |byte| is_name_byte(byte) && byte != b'$');
        if self.text.get(tag_end) != Some(&b'$') {
            return self.plain_word();
        }
        if !servers.are_in(Servers::QUOTES_BY_DOLLAR) {
            return (TokenKind::ReadOtherwise, self.text.len(), false);
        }
        let body = tag_end + 1;
        let tag = &self.text[self.at..body];
        let first = memchr::memmem::find(&self.text[body..], tag).map(|at| body + at + tag.len());
        match closed_by(self.text, body, tag) {
            // The server takes no empty text.
            None if first.is_none_or(|end| end == body + tag.len()) => {
                (TokenKind::DollarString, self.text.len(), false)
            }
            Some(end) if first == Some(end) && end > body + tag.len() => (TokenKind::DollarString, end, true),
            _ => (TokenKind::ReadOtherwise, self.text.len(), false),
        }
    }
}

/// Where the server finds the tag again: it compares byte by byte and does not step back, so `$x$ $$x$` is open to it
/// (seen on MySQL 9.7).
fn closed_by(text: &[u8], body: usize, tag: &[u8]) -> Option<usize> {
    let mut at = body;
    loop {
        at += memchr::memchr(b'$', text.get(at..)?)?;
        let alike = tag.iter().zip(&text[at..]).take_while(|(a, b)| a == b).count();
        if alike == tag.len() {
            return Some(at + alike);
        }
        at += alike + 1;
    }
}
