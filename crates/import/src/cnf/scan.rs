//! Tokens of libconfig, as its scanner has them (libconfig 1.7, `scanner.l`).

use std::ops::Range;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    /// `=` or `:`
    Equals,
    Integer(i32),
    /// With an `L`, or past 32 bits: the engine reads no number from it.
    Long,
    Float,
    Boolean(bool),
    /// Without its quotes, escapes replaced.
    Text(String),
    /// One of `{}()[],;`
    Mark(u8),
    /// What no grammar has, with why.
    Fault(&'static str),
}

const NOT_A_NUMBER: &str = "not a number";

/// A token and its bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
}

/// Reads tokens; ends at the end of the text.
pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// The comments so far.
    pub(super) comments: Vec<Range<usize>>,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            comments: Vec::new(),
        }
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Behind the bytes from the current place that satisfy `belongs`.
    fn run(&self, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = &self.text.as_bytes()[self.at..];
        self.at + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }

    /// Skips blanks and comments; a comment without an end takes the rest of the file.
    fn skip(&mut self) {
        loop {
            self.at = self.run(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c'));
            let start = self.at;
            match (self.byte(0), self.byte(1)) {
                (Some(b'#'), _) | (Some(b'/'), Some(b'/')) => self.at = self.run(|byte| byte != b'\n'),
                (Some(b'/'), Some(b'*')) => {
                    let length = self.text[self.at + 2..].find("*/");
                    self.at = length.map_or(self.text.len(), |length| start + length + 4);
                }
                _ => return,
            }
            self.comments.push(start..self.at);
        }
    }

    fn text(&mut self) -> TokenKind {
        let mut value = String::new();
        let mut rest = self.text[self.at + 1..].char_indices();
        let start = self.at + 1;
        while let Some((at, letter)) = rest.next() {
            match letter {
                '"' => {
                    self.at = start + at + 1;
                    return TokenKind::Text(value);
                }
                '\\' => match self.escape(start + at) {
                    Some((escaped, length)) => {
                        value.push(escaped);
                        for _ in 1..length {
                            rest.next();
                        }
                    }
                    // A backslash before any other letter is a backslash.
                    None => value.push('\\'),
                },
                letter => value.push(letter),
            }
        }
        self.at = self.text.len();
        TokenKind::Fault("the text does not end")
    }

    /// The letter that the escape at a place stands for, and how many letters it takes.
    fn escape(&self, at: usize) -> Option<(char, usize)> {
        let bytes = self.text.as_bytes();
        match bytes.get(at + 1)? {
            b'n' => Some(('\n', 2)),
            b'r' => Some(('\r', 2)),
            b't' => Some(('\t', 2)),
            b'f' => Some(('\x0c', 2)),
            b'\\' => Some(('\\', 2)),
            b'"' => Some(('"', 2)),
            b'x' | b'X' => {
                let digits = self.text.get(at + 2..at + 4)?;
                let byte = u8::from_str_radix(digits, 16)
                    .ok()
                    .filter(|_| !digits.starts_with('+'))?;
                // Past ASCII it would be a part of a letter.
                byte.is_ascii().then_some((char::from(byte), 4))
            }
            _ => None,
        }
    }

    /// A number as `strtoll` reads it: `010` is eight, and `08` is none.
    fn number(&mut self) -> TokenKind {
        let end = self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_'));
        let text = &self.text[self.at..end];
        self.at = end;
        let digits = text
            .strip_suffix("LL")
            .or_else(|| text.strip_suffix('L'))
            .unwrap_or(text);
        let is_long = digits.len() < text.len();
        if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            if hex.is_empty() || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return TokenKind::Fault(NOT_A_NUMBER);
            }
            // The lowest 32 bits count.
            let lowest = u32::from_str_radix(&hex[hex.len().saturating_sub(8)..], 16);
            return match lowest {
                Ok(number) if !is_long => TokenKind::Integer(number.cast_signed()),
                _ => TokenKind::Long,
            };
        }
        let bare = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        if !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()) {
            let radix = if bare.len() > 1 && bare.starts_with('0') {
                8
            } else {
                10
            };
            if radix == 8 && bare.bytes().any(|byte| byte > b'7') {
                return TokenKind::Fault(NOT_A_NUMBER);
            }
            return match i32::from_str_radix(digits, radix) {
                Ok(number) if !is_long => TokenKind::Integer(number),
                _ => TokenKind::Long,
            };
        }
        let is_float = text
            .bytes()
            .all(|byte| !byte.is_ascii_alphabetic() || matches!(byte, b'e' | b'E'));
        if is_float && text.parse::<f64>().is_ok() {
            TokenKind::Float
        } else {
            TokenKind::Fault(NOT_A_NUMBER)
        }
    }

    /// A text between single quotes, or the quote alone where its line has no other.
    fn single_quoted(&mut self) -> TokenKind {
        let rest = &self.text[self.at + 1..];
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        self.at += line.find('\'').map_or(1, |end| end + 2);
        TokenKind::Fault("single quotes are none to the engine: write the text between double quotes")
    }

    fn word(&mut self) -> TokenKind {
        let end = self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'*'));
        let word = &self.text[self.at..end];
        self.at = end;
        if word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false") {
            return TokenKind::Boolean(word.eq_ignore_ascii_case("true"));
        }
        TokenKind::Name(word.to_owned())
    }
}

impl Iterator for Scanner<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip();
        let start = self.at;
        let kind = match self.byte(0)? {
            b'"' => self.text(),
            b'\'' => self.single_quoted(),
            b'0'..=b'9' | b'+' | b'-' | b'.' => self.number(),
            byte if byte.is_ascii_alphabetic() || byte == b'*' => self.word(),
            b'=' | b':' => {
                self.at += 1;
                TokenKind::Equals
            }
            mark @ (b'{' | b'}' | b'(' | b')' | b'[' | b']' | b',' | b';') => {
                self.at += 1;
                TokenKind::Mark(mark)
            }
            _ => {
                let letter = self.text[start..].chars().next().map_or(1, char::len_utf8);
                let include = self.text[start..].starts_with("@include");
                self.at += if include { "@include".len() } else { letter };
                TokenKind::Fault(if include {
                    "other files are not included: give the whole file"
                } else {
                    "not a part of a configuration file"
                })
            }
        };
        Some(Token {
            kind,
            range: start..self.at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        Scanner::new(text).map(|token| token.kind).collect()
    }

    #[test]
    fn escapes_are_those_of_libconfig() {
        let text = r#""\d+ \\d \" \x41 \xZZ \b""#;
        assert_eq!(kinds(text), [TokenKind::Text(r#"\d+ \d " A \xZZ \b"#.to_owned())]);
        assert_eq!(kinds("\"a\\tb\""), [TokenKind::Text("a\tb".to_owned())]);
    }

    #[test]
    fn numbers_words_and_comments() {
        let text = "a-b_1 = 12 /* x */ : 0x1F # y\n, -3 // z\n 5L 1.5 TRUE 99999999999 010 08 1_0 0xFFFFFFFF";
        let shown: Vec<String> = kinds(text).iter().map(|kind| format!("{kind:?}")).collect();
        insta::assert_snapshot!(shown.join(" "), @r#"Name("a-b_1") Equals Integer(12) Equals Integer(31) Mark(44) Integer(-3) Long Float Boolean(true) Long Integer(8) Fault("not a number") Fault("not a number") Integer(-1)"#);
    }

    proptest::proptest! {
        #[test]
        fn tokens_move_forward(text in "[a'\"\\\\x/*#\n @1.ü={}]{0,40}") {
            let mut from = 0;
            for token in Scanner::new(&text) {
                assert!(token.range.start >= from && token.range.end > token.range.start);
                assert!(text.get(token.range.clone()).is_some());
                from = token.range.end;
            }
        }
    }
}
