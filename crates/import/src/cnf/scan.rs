//! Tokens of libconfig, as its scanner has them (libconfig 1.7, `scanner.l`).

use std::ops::Range;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    /// `=` or `:`
    Equals,
    Integer(i64),
    Float,
    Boolean(bool),
    /// Without its quotes, escapes replaced.
    Text(String),
    /// One of `{}()[],;`
    Mark(u8),
    /// What no grammar has, with why.
    Fault(&'static str),
}

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

    /// Skips blanks and comments; false where a comment does not end.
    fn skip(&mut self) -> bool {
        loop {
            self.at = self.run(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c'));
            let start = self.at;
            match (self.byte(0), self.byte(1)) {
                (Some(b'#'), _) | (Some(b'/'), Some(b'/')) => self.at = self.run(|byte| byte != b'\n'),
                (Some(b'/'), Some(b'*')) => match self.text[self.at + 2..].find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return false,
                },
                _ => return true,
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

    fn number(&mut self) -> TokenKind {
        let end = self.run(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
        let text = &self.text[self.at..end];
        self.at = end;
        let digits = text.trim_end_matches('L');
        let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let integer = match hex {
            Some(hex) => u64::from_str_radix(hex, 16)
                .ok()
                .and_then(|number| i64::try_from(number).ok()),
            None => digits.parse().ok(),
        };
        match (integer, text.parse::<f64>()) {
            (Some(number), _) => TokenKind::Integer(number),
            (None, Ok(_)) => TokenKind::Float,
            (None, Err(_)) => TokenKind::Fault("not a number"),
        }
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
        if !self.skip() {
            let range = self.at..self.text.len();
            self.at = self.text.len();
            let kind = TokenKind::Fault("the comment does not end");
            return Some(Token { kind, range });
        }
        let start = self.at;
        let kind = match self.byte(0)? {
            b'"' => self.text(),
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
                TokenKind::Fault(match include {
                    true => "other files are not included: give the whole file",
                    false => "not a part of a configuration file",
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
        let text = "a-b_1 = 12 /* x */ : 0x1F # y\n, -3 // z\n 5L 1.5 TRUE 99999999999999999999";
        let shown: Vec<String> = kinds(text).iter().map(|kind| format!("{kind:?}")).collect();
        insta::assert_snapshot!(shown.join(" "), @r#"Name("a-b_1") Equals Integer(12) Equals Integer(31) Mark(44) Integer(-3) Integer(5) Float Boolean(true) Float"#);
    }

    proptest::proptest! {
        #[test]
        fn tokens_move_forward(text in "[a\"\\\\x/*#\n @1.ü={}]{0,40}") {
            let mut from = 0;
            for token in Scanner::new(&text) {
                assert!(token.range.start >= from && token.range.end > token.range.start);
                assert!(text.get(token.range.clone()).is_some());
                from = token.range.end;
            }
        }
    }
}
