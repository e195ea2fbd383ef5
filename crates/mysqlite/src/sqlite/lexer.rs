//! MySQL's tokens, as far as SQLite's differ: strings with backslashes, comments, variables.

use shardwright_wire::MysqlError;

use super::errors::syntax;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// White space and comments.
    Space,
    /// A bare word: keyword or name.
    Word,
    /// A name in backticks.
    Quoted,
    /// A string in single or double quotes.
    Text,
    Number,
    /// `@name`.
    UserVariable,
    /// `@@name`, `@@session.name`.
    SystemVariable,
    /// Everything else, one operator or character at a time.
    Symbol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
}

impl Token<'_> {
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    /// The name that a word or a name in backticks stands for.
    pub(super) fn name(&self) -> Option<String> {
        match self.kind {
            TokenKind::Word => Some(self.text.to_owned()),
            TokenKind::Quoted => Some(self.text[1..self.text.len() - 1].replace("``", "`")),
            _ => None,
        }
    }

    /// The contents of a string.
    pub(super) fn string(&self) -> Option<String> {
        (self.kind == TokenKind::Text).then(|| unescape(self.text))
    }
}

/// Splits a statement; a `;` at its end is left out.
///
/// # Errors
/// 1064 for quotes and comments that do not end, and for a second statement.
pub(super) fn tokens(sql: &str) -> Result<Vec<Token<'_>>, MysqlError> {
    let mut tokens = all_tokens(sql)?;
    if let Some(end) = tokens.iter().position(|token| token.is_symbol(";")) {
        if tokens[end..]
            .iter()
            .any(|token| token.kind != TokenKind::Space && !token.is_symbol(";"))
        {
            return Err(syntax("several statements in one query"));
        }
        tokens.truncate(end);
    }
    Ok(tokens)
}

/// The statements of a script, without the empty ones.
///
/// # Errors
/// 1064 for quotes and comments that do not end.
pub(super) fn statements(script: &str) -> Result<Vec<String>, MysqlError> {
    let tokens = all_tokens(script)?;
    let statements = tokens.split(|token| token.is_symbol(";"));
    Ok(statements
        .filter(|tokens| tokens.iter().any(|token| token.kind != TokenKind::Space))
        .map(|tokens| {
            tokens
                .iter()
                .map(|token| {
                    if token.kind == TokenKind::Space {
                        " "
                    } else {
                        token.text
                    }
                })
                .collect()
        })
        .collect())
}

/// The tokens without white space and comments.
pub(super) fn without_space<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    tokens
        .iter()
        .filter(|token| token.kind != TokenKind::Space)
        .copied()
        .collect()
}

fn all_tokens(sql: &str) -> Result<Vec<Token<'_>>, MysqlError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut is_in_executable_comment = false;
    while at < sql.len() {
        let rest = &sql[at..];
        let (kind, len) = if let Some(len) = executable_comment(rest) {
            is_in_executable_comment = true;
            (TokenKind::Space, len)
        } else if is_in_executable_comment && rest.starts_with("*/") {
            is_in_executable_comment = false;
            (TokenKind::Space, 2)
        } else {
            token(rest)?
        };
        tokens.push(Token {
            kind,
            text: &rest[..len],
        });
        at += len;
    }
    Ok(tokens)
}

/// `/*!` or `/*!40101`: what follows up to `*/` is executed.
fn executable_comment(rest: &str) -> Option<usize> {
    let opener = ["/*!", "/*M!"]
        .into_iter()
        .find(|opener| rest.starts_with(opener))?;
    let digits = rest[opener.len()..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    Some(opener.len() + digits)
}

fn token(rest: &str) -> Result<(TokenKind, usize), MysqlError> {
    let bytes = rest.as_bytes();
    let while_len = |from: usize, is_part: fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|b| is_part(**b)).count()
    };
    let line = || {
        bytes
            .iter()
            .position(|&byte| byte == b'\n')
            .unwrap_or(bytes.len())
    };
    let two = rest.get(..2).unwrap_or_default();
    Ok(match bytes[0] {
        byte if byte.is_ascii_whitespace() => {
            (TokenKind::Space, while_len(1, |byte| byte.is_ascii_whitespace()))
        }
        b'#' => (TokenKind::Space, line()),
        // In MySQL two dashes begin a comment only before white space or a control character.
        b'-' if two == "--" && bytes.get(2).is_none_or(|byte| *byte <= b' ') => (TokenKind::Space, line()),
        b'/' if two == "/*" => match rest[2..].find("*/") {
            Some(end) => (TokenKind::Space, end + 4),
            None => return Err(syntax("a comment does not end")),
        },
        b'\'' | b'"' => (TokenKind::Text, quoted_len(bytes, true)?),
        b'`' => (TokenKind::Quoted, quoted_len(bytes, false)?),
        b'@' if two == "@@" => (
            TokenKind::SystemVariable,
            while_len(2, |byte| is_name(byte) || byte == b'.'),
        ),
        b'@' => (
            TokenKind::UserVariable,
            while_len(1, |byte| is_name(byte) || byte == b'.'),
        ),
        byte if byte.is_ascii_digit() => (TokenKind::Number, number_len(bytes)),
        byte if is_name(byte) => (TokenKind::Word, while_len(1, is_name)),
        _ => {
            let long = [
                "<=>", "&&", "||", "<=", ">=", "<>", "!=", ":=", "<<", ">>", "->>", "->",
            ];
            (
                TokenKind::Symbol,
                long.iter()
                    .find(|symbol| rest.starts_with(**symbol))
                    .map_or(1, |symbol| symbol.len()),
            )
        }
    })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// A number with point and exponent, or a name that starts with digits.
fn number_len(bytes: &[u8]) -> usize {
    let mut len = 0;
    while let Some(&byte) = bytes.get(len) {
        let is_sign = matches!(byte, b'+' | b'-')
            && matches!(bytes[len - 1], b'e' | b'E')
            && bytes[..len - 1]
                .iter()
                .all(|byte| byte.is_ascii_digit() || *byte == b'.');
        if !(is_name(byte) || byte == b'.' || (len > 0 && is_sign)) {
            break;
        }
        len += 1;
    }
    len
}

/// Length of a quoted token, doubled quotes and (in strings) backslashes respected.
fn quoted_len(bytes: &[u8], has_escapes: bool) -> Result<usize, MysqlError> {
    let quote = bytes[0];
    let mut at = 1;
    while let Some(&byte) = bytes.get(at) {
        at += match byte {
            b'\\' if has_escapes => 2,
            byte if byte != quote => 1,
            _ if bytes.get(at + 1) == Some(&quote) => 2,
            _ => return Ok(at + 1),
        };
    }
    Err(syntax("a quoted text does not end"))
}

/// What a string literal stands for (MySQL Reference Manual 11.1.1, "String Literals").
fn unescape(literal: &str) -> String {
    let quote = literal.as_bytes()[0] as char;
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal[1..literal.len() - 1].chars();
    while let Some(character) = rest.next() {
        if character == quote {
            // Doubled: the lexer has made sure that another follows.
            rest.next();
            text.push(quote);
        } else if character == '\\' {
            match rest.next() {
                Some('0') => text.push('\0'),
                Some('b') => text.push('\u{8}'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('t') => text.push('\t'),
                Some('Z') => text.push('\u{1A}'),
                // These two keep their backslash: they are for patterns.
                Some(pattern @ ('%' | '_')) => text.extend(['\\', pattern]),
                Some(other) => text.push(other),
                None => {}
            }
        } else {
            text.push(character);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<(TokenKind, &str)> {
        tokens(sql)
            .unwrap()
            .into_iter()
            .filter(|t| t.kind != TokenKind::Space)
            .map(|t| (t.kind, t.text))
            .collect()
    }

    #[test]
    fn strings_end_where_mysql_ends_them() {
        for (sql, contents) in [
            (r"'a\'b'", "a'b"),
            (r#""a\"b""#, "a\"b"),
            ("'a''b'", "a'b"),
            (r"'\\'", r"\"),
            (r"'\n\t\0\Z'", "\n\t\0\u{1A}"),
            (r"'100\%'", r"100\%"),
            (r"'\x'", "x"),
            ("''", ""),
            ("'ü\\'é'", "ü'é"),
        ] {
            let tokens = tokens(sql).unwrap();
            assert_eq!(tokens.len(), 1, "{sql}");
            assert_eq!(tokens[0].string().as_deref(), Some(contents), "{sql}");
        }
    }

    #[test]
    fn dashes_are_a_comment_only_before_white_space() {
        assert_eq!(kinds("1--1").len(), 4);
        assert_eq!(
            kinds("1 -- 1\n+ 2 # x"),
            [
                (TokenKind::Number, "1"),
                (TokenKind::Symbol, "+"),
                (TokenKind::Number, "2")
            ]
        );
    }

    #[test]
    fn executable_comments_are_executed() {
        assert_eq!(
            kinds("/*!40101 SET */ /* not */ x"),
            [(TokenKind::Word, "SET"), (TokenKind::Word, "x")]
        );
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        for sql in ["'a", "\"a", "`a", "/* a", r"'a\'", "SELECT 1; SELECT 2"] {
            assert_eq!(tokens(sql).unwrap_err().code, 1064, "{sql}");
        }
        assert!(tokens("SELECT 1;; -- done\n").is_ok());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_without_panic(sql in "\\PC*") {
            if let Ok(tokens) = all_tokens(&sql) {
                let joined: String = tokens.iter().map(|token| token.text).collect();
                assert_eq!(joined, sql);
                for token in tokens {
                    let _ = (token.string(), token.name());
                }
            }
        }

        #[test]
        fn quotes_and_backslashes_are_split_without_panic(sql in r#"['"`\\@#/*!;a0.-]{0,24}"#) {
            for token in all_tokens(&sql).unwrap_or_default() {
                let _ = (token.string(), token.name());
            }
        }
    }
}
