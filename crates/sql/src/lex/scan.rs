//! Where each kind of token ends, byte by byte, as the server's own lexer has it.

use super::{Lexer, TokenKind};

type Scanned = (TokenKind, usize, bool);

/// Bytes of an unquoted identifier: letters, digits, `_`, `$` and everything from 0x80.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Blanks as `isspace` in the C locale has them; `u8::is_ascii_whitespace` leaves out VT.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl Lexer<'_> {
    pub(super) fn piece(&self, first: u8) -> Scanned {
        match first {
            byte if is_blank(byte) => (TokenKind::Whitespace, self.run(self.at, is_blank), true),
            b'\'' => self.string(TokenKind::String, self.at),
            b'"' if self.mode.ansi_quotes => self.doubled(TokenKind::QuotedName, self.at),
            b'"' => self.string(TokenKind::String, self.at),
            b'`' => self.doubled(TokenKind::QuotedName, self.at),
            b'#' => self.line_comment(),
            b'-' if self.begins_dash_comment() => self.line_comment(),
            b'/' if self.byte(1) == Some(b'*') => self.block_comment(),
            b'@' => self.variable(),
            b'?' => self.one(TokenKind::Placeholder),
            b'(' => self.one(TokenKind::LeftParen),
            b')' => self.one(TokenKind::RightParen),
            b',' => self.one(TokenKind::Comma),
            b';' => self.one(TokenKind::Semicolon),
            b'.' => self.dot(),
            b'0'..=b'9' if self.previous != Some(TokenKind::Dot) => self.digits(),
            byte if is_name_byte(byte) => self.word(byte),
            _ => self.operator(),
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn one(&self, kind: TokenKind) -> Scanned {
        (kind, self.at + 1, true)
    }

    /// End of the run of bytes that satisfy `belongs`, from `from`.
    fn run(&self, from: usize, belongs: fn(u8) -> bool) -> usize {
        self.text[from..]
            .iter()
            .position(|&b| !belongs(b))
            .map_or(self.text.len(), |n| from + n)
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
            (Some(b'!'), _) | (Some(b'M'), Some(b'!')) => TokenKind::ExecutableComment,
            (Some(b'+'), _) => TokenKind::OptimizerHint,
            _ => TokenKind::BlockComment,
        };
        // Comments are short: setting up a search for two bytes costs more than it saves.
        let text = &self.text[body..];
        match memchr::memchr_iter(b'/', text).find(|&at| at > 0 && text[at - 1] == b'*') {
            Some(slash) => (kind, body + slash + 1, true),
            None => (kind, self.text.len(), false),
        }
    }

    fn variable(&self) -> Scanned {
        if self.byte(1) == Some(b'@') {
            return self.system_variable();
        }
        match self.byte(1) {
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
            let digits = self.run(self.at + 1, |b| b.is_ascii_digit());
            return (TokenKind::Number, self.exponent(digits).unwrap_or(digits), true);
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
            Some(b'.') => {
                let fraction = self.run(digits + 1, |b| b.is_ascii_digit());
                (
                    TokenKind::Number,
                    self.exponent(fraction).unwrap_or(fraction),
                    true,
                )
            }
            Some(&b) if is_name_byte(b) => match self.exponent(digits) {
                Some(end) => (TokenKind::Number, end, true),
                None => (TokenKind::Word, self.run(digits, is_name_byte), true),
            },
            _ => (TokenKind::Number, digits, true),
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

    fn word(&self, first: u8) -> Scanned {
        let after_dot = self.previous == Some(TokenKind::Dot);
        if self.byte(1) == Some(b'\'') && !after_dot {
            match first {
                b'n' | b'N' => return self.string(TokenKind::NationalString, self.at + 1),
                b'x' | b'X' => return self.doubled(TokenKind::HexString, self.at + 1),
                b'b' | b'B' => return self.doubled(TokenKind::BitString, self.at + 1),
                _ => {}
            }
        }
        let end = self.run(self.at, is_name_byte);
        let quote_follows = match self.text.get(end) {
            Some(b'\'') => true,
            Some(b'"') => !self.mode.ansi_quotes,
            _ => false,
        };
        if first == b'_' && quote_follows && !after_dot {
            return (TokenKind::Introducer, end, true);
        }
        (TokenKind::Word, end, true)
    }

    fn operator(&self) -> Scanned {
        const LONG: [&[u8]; 13] = [
            b"<=>", b"->>", b"<=", b">=", b"<>", b"!=", b"<<", b">>", b"||", b"&&", b":=", b"->", b"!",
        ];
        let rest = &self.text[self.at..];
        if let Some(operator) = LONG.iter().find(|operator| rest.starts_with(operator)) {
            return (TokenKind::Operator, self.at + operator.len(), true);
        }
        match rest[0] {
            b'=' | b'<' | b'>' | b'+' | b'-' | b'*' | b'/' | b'%' | b'&' | b'|' | b'^' | b'~' | b':'
            | b'{' | b'}' => self.one(TokenKind::Operator),
            _ => self.one(TokenKind::Unknown),
        }
    }
}
