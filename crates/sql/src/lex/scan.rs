//! Where each kind of token ends, byte by byte, as the server's own lexer has it.

use super::bytes::{Start, is_blank, is_name_byte};
use super::{Lexer, TokenKind};

pub(super) type Scanned = (TokenKind, usize, bool);

impl Lexer<'_> {
    /// The token that begins with the byte `first`.
    pub(super) fn piece(&self, start: Start, first: u8) -> Scanned {
        match start {
            Start::Blank => (TokenKind::Whitespace, self.run(self.at + 1, is_blank), true),
            Start::Name => self.plain_word(),
            Start::Prefix => self.prefixed(first),
            Start::Digit if self.previous == Some(TokenKind::Dot) => self.plain_word(),
            Start::Digit => self.digits(),
            Start::Dollar => self.dollar(),
            Start::Dot => self.dot(),
            Start::Placeholder => self.one(TokenKind::Placeholder),
            Start::LeftParen => self.one(TokenKind::LeftParen),
            Start::RightParen => self.one(TokenKind::RightParen),
            Start::Comma => self.one(TokenKind::Comma),
            Start::Semicolon => self.one(TokenKind::Semicolon),
            Start::Sign => self.one(TokenKind::Operator),
            Start::Quote if first == b'"' && self.mode.ansi_quotes => {
                self.doubled(TokenKind::QuotedName, self.at)
            }
            Start::Quote => self.string(TokenKind::String, self.at),
            Start::Backtick => self.doubled(TokenKind::QuotedName, self.at),
            Start::Hash => self.line_comment(),
            Start::Dash if self.begins_dash_comment() => self.line_comment(),
            Start::Slash if self.byte(1) == Some(b'*') => self.block_comment(),
            Start::At => self.variable(),
            Start::Dash | Start::Slash | Start::Other => self.operator(first),
        }
    }

    #[inline]
    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    #[inline]
    fn one(&self, kind: TokenKind) -> Scanned {
        (kind, self.at + 1, true)
    }

    /// End of the run of bytes that satisfy `belongs`, from `from`.
    #[inline]
    pub(super) fn run(&self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let mut end = from;
        while self.text.get(end).is_some_and(|&byte| belongs(byte)) {
            end += 1;
        }
        end
    }

    /// A string whose opening quote stands at `quote_at`.
    fn string(&self, kind: TokenKind, quote_at: usize) -> Scanned {
        if self.mode.no_backslash_escapes {
            return self.doubled(kind, quote_at);
        }
        let quote = self.text[quote_at];
        let mut at = quote_at + 1;
        while let Some(n) = memchr::memchr2(quote, b'\\', &self.text[at..]) {
            at += n;
            if self.text[at] == b'\\' {
                at += 2;
                if at > self.text.len() {
                    break;
                }
            } else if self.text.get(at + 1) == Some(&quote) {
                at += 2;
            } else {
                return (kind, at + 1, true);
            }
        }
        (kind, self.text.len(), false)
    }

    /// A quoted run in which only the doubled quote stands for itself.
    fn doubled(&self, kind: TokenKind, quote_at: usize) -> Scanned {
        let quote = self.text[quote_at];
        let mut at = quote_at + 1;
        while let Some(n) = memchr::memchr(quote, &self.text[at..]) {
            at += n;
            if self.text.get(at + 1) != Some(&quote) {
                return (kind, at + 1, true);
            }
            at += 2;
        }
        (kind, self.text.len(), false)
    }

    /// `--` opens a comment only before a blank, a control byte or the end of the text.
    fn begins_dash_comment(&self) -> bool {
        self.byte(1) == Some(b'-') && self.byte(2).is_none_or(|b| is_blank(b) || b.is_ascii_control())
    }

    fn line_comment(&self) -> Scanned {
        let end = memchr::memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |n| self.at + n);
        (TokenKind::LineComment, end, true)
    }

    fn block_comment(&self) -> Scanned {
        let body = self.at + 2;
        let kind = match (self.byte(2), self.byte(3)) {
            (Some(b'!'), _) | (Some(b'M'), Some(b'!')) => return self.executable_comment(),
            (Some(b'+'), _) => TokenKind::OptimizerHint,
            _ => TokenKind::BlockComment,
        };
        match comment_end(self.text, body) {
            Some(end) => (kind, end, true),
            None => (kind, self.text.len(), false),
        }
    }

    fn variable(&self) -> Scanned {
        if self.byte(1) == Some(b'@') {
            return self.system_variable();
        }
        match self.byte(1) {
            Some(b'"') if self.mode.ansi_quotes => self.doubled(TokenKind::UserVariable, self.at + 1),
            Some(b'\'' | b'"') => self.string(TokenKind::UserVariable, self.at + 1),
            Some(b'`') => self.doubled(TokenKind::UserVariable, self.at + 1),
            _ => (
                TokenKind::UserVariable,
                self.run(self.at + 1, |b| is_name_byte(b) || b == b'.'),
                true,
            ),
        }
    }

    /// `@@` and its parts: names, quoted or not, joined by dots without blanks.
    fn system_variable(&self) -> Scanned {
        let mut at = self.at + 2;
        loop {
            if self.text.get(at) == Some(&b'`') {
                let (_, end, terminated) = self.doubled(TokenKind::SystemVariable, at);
                at = end;
                if !terminated {
                    return (TokenKind::SystemVariable, at, false);
                }
            } else {
                at = self.run(at, is_name_byte);
            }
            let continues = self.text.get(at) == Some(&b'.')
                && self
                    .text
                    .get(at + 1)
                    .is_some_and(|&b| is_name_byte(b) || b == b'`');
            if !continues {
                return (TokenKind::SystemVariable, at, true);
            }
            at += 1;
        }
    }

    /// `.5` is a number, unless the dot joins the word before it to a name that begins with a digit.
    fn dot(&self) -> Scanned {
        let begins_number = self.byte(1).is_some_and(|b| b.is_ascii_digit());
        if begins_number && self.previous != Some(TokenKind::Word) {
            return self.fraction(self.at + 1);
        }
        self.one(TokenKind::Dot)
    }

    /// A number, or an identifier that begins with digits.
    fn digits(&self) -> Scanned {
        if let Some(end) = self.radix_number() {
            return (TokenKind::Number, end, true);
        }
        let digits = self.run(self.at, |b| b.is_ascii_digit());
        match self.text.get(digits) {
            Some(b'.') => self.fraction(digits + 1),
            Some(&b) if is_name_byte(b) => match self.exponent(digits) {
                Some(end) => (TokenKind::Number, end, true),
                None => (TokenKind::Word, self.run(digits, is_name_byte), true),
            },
            _ => (TokenKind::Number, digits, true),
        }
    }

    /// A number with a point, whose digits behind that begin at `from`. MariaDB refuses a text in which an exponent has no
    /// digits, and MySQL forgets the number and a byte behind it.
    fn fraction(&self, from: usize) -> Scanned {
        let digits = self.run(from, |b| b.is_ascii_digit());
        match self.exponent(digits) {
            Some(end) => (TokenKind::Number, end, true),
            None if matches!(self.text.get(digits), Some(b'e' | b'E')) => {
                (TokenKind::Unknown, self.text.len(), false)
            }
            None => (TokenKind::Number, digits, true),
        }
    }

    /// `0x…` and `0b…`: lower-case marker only, and no identifier byte behind.
    fn radix_number(&self) -> Option<usize> {
        if self.byte(0) != Some(b'0') {
            return None;
        }
        let end = match self.byte(1)? {
            b'x' => self.run(self.at + 2, |b| b.is_ascii_hexdigit()),
            b'b' => self.run(self.at + 2, |b| matches!(b, b'0' | b'1')),
            _ => return None,
        };
        let clean = self.text.get(end).is_none_or(|&b| !is_name_byte(b));
        (end > self.at + 2 && clean).then_some(end)
    }

    /// End of an exponent that begins at `at`; it needs a digit.
    fn exponent(&self, at: usize) -> Option<usize> {
        if !matches!(self.text.get(at), Some(b'e' | b'E')) {
            return None;
        }
        let sign = usize::from(matches!(self.text.get(at + 1), Some(b'+' | b'-')));
        let from = at + 1 + sign;
        self.text.get(from).filter(|b| b.is_ascii_digit())?;
        Some(self.run(from, |b| b.is_ascii_digit()))
    }

    pub(super) fn plain_word(&self) -> Scanned {
        (TokenKind::Word, self.run(self.at + 1, is_name_byte), true)
    }

    /// A word that begins with `n`, `x`, `b` or `_`, or the string that this is the kind of.
    fn prefixed(&self, first: u8) -> Scanned {
        let word = self.plain_word();
        if self.previous == Some(TokenKind::Dot) {
            return word;
        }
        let next = match first {
            b'_' => self.text.get(word.1).copied(),
            _ => self.byte(1),
        };
        match (first, next) {
            (b'n' | b'N', Some(b'\'')) => self.string(TokenKind::NationalString, self.at + 1),
            (b'x' | b'X', Some(b'\'')) => self.digit_string(TokenKind::HexString),
            (b'b' | b'B', Some(b'\'')) => self.digit_string(TokenKind::BitString),
            (b'_', Some(b'\'')) => (TokenKind::Introducer, word.1, true),
            (b'_', Some(b'"')) if !self.mode.ansi_quotes => (TokenKind::Introducer, word.1, true),
            _ => word,
        }
    }

    /// `x'…'` and `b'…'`, which end at the first quote. A server refuses the whole text if anything but digits stands inside.
    fn digit_string(&self, kind: TokenKind) -> Scanned {
        let body = self.at + 2;
        match memchr::memchr(b'\'', &self.text[body..]) {
            Some(quote) => (kind, body + quote + 1, true),
            None => (kind, self.text.len(), false),
        }
    }

    fn operator(&self, first: u8) -> Scanned {
        let length = match (first, self.byte(1), self.byte(2)) {
            (b'<', Some(b'='), Some(b'>')) | (b'-', Some(b'>'), Some(b'>')) => 3,
            (b'<', Some(b'=' | b'>' | b'<'), _)
            | (b'>', Some(b'=' | b'>'), _)
            | (b'!' | b':', Some(b'='), _)
            | (b'|', Some(b'|'), _)
            | (b'&', Some(b'&'), _)
            | (b'-', Some(b'>'), _) => 2,
            (b'!' | b'<' | b'>' | b'-' | b'/' | b'&' | b'|' | b':', ..) => 1,
            _ => return self.one(TokenKind::Unknown),
        };
        (TokenKind::Operator, self.at + length, true)
    }
}

/// Where the comment ends whose body begins at `body`: behind the first `*/`.
pub(super) fn comment_end(text: &[u8], body: usize) -> Option<usize> {
    // Comments are short: setting up a search for two bytes costs more than it saves.
    let inside = &text[body..];
    let slash = memchr::memchr_iter(b'/', inside).find(|&at| at > 0 && inside[at - 1] == b'*')?;
    Some(body + slash + 1)
}
