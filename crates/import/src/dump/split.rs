//! Where the statements of a script begin and end.

use std::ops::Range;

use shardwright_sql::{LexMode, Lexer, Servers, Token, TokenKind};

/// SQLite: a backslash is a character, and `"…"` is a name first.
const SQLITE: LexMode = LexMode {
    ansi_quotes: true,
    no_backslash_escapes: true,
    servers: Servers::NONE,
};

/// Statements of a script, without comments that stand before them and without the semicolon.
pub(super) struct Statements<'t> {
    text: &'t str,
    /// Where the next statement is sought.
    at: usize,
    /// What ends statements instead of a semicolon, as `DELIMITER` of the mysql client says.
    delimiter: Option<&'t str>,
    /// The comments so far.
    pub(super) comments: Vec<Range<usize>>,
}

/// A statement and its tokens, whose spans count from the start of the script.
pub(super) struct Statement {
    /// The text from its first token to its last.
    pub(super) range: Range<usize>,
    /// What is neither blank nor comment.
    pub(super) tokens: Vec<Token>,
}

impl<'t> Statements<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        // Some editors begin a file with a byte order mark.
        let at = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self {
            text,
            at,
            delimiter: None,
            comments: Vec::new(),
        }
    }

    /// Reads the command `DELIMITER x` of the mysql client, which ends with its line; where the text goes on.
    fn set_delimiter(&mut self, word: &Token) -> usize {
        let rest = self.text.get(word.span.end..).unwrap_or_default();
        let end = rest.find('\n').unwrap_or(rest.len());
        self.delimiter = match rest[..end].trim() {
            "" | ";" => None,
            other => Some(other),
        };
        word.span.end + end
    }

    /// Where the mark of a template ends that begins with this token: `{% for s in servers %}` needs no semicolon.
    fn mark_at(&self, token: &Token) -> Option<usize> {
        let rest = self.text.get(token.span.start..)?;
        let end = rest.strip_prefix("{%")?.find("%}")?;
        Some(token.span.start + 2 + end + 2)
    }

    /// Where the delimiter stands in a token, if it is neither text nor comment.
    fn delimiter_in(&self, token: &Token) -> Option<Range<usize>> {
        let delimiter = self.delimiter?;
        if matches!(token.kind, TokenKind::String | TokenKind::QuotedName) {
            return None;
        }
        let begins = self.text.get(token.span.start..)?;
        // One of several letters can be several tokens, or the end of a name: `END$$`.
        let at = match begins.starts_with(delimiter) {
            true => 0,
            false => self.text.get(token.span.start..token.span.end)?.find(delimiter)?,
        };
        let start = token.span.start + at;
        Some(start..start + delimiter.len())
    }
}

impl Iterator for Statements<'_> {
    type Item = Statement;

    fn next(&mut self) -> Option<Statement> {
        let bytes = self.text.as_bytes();
        let mut tokens: Vec<Token> = Vec::new();
        let mut base = self.at;
        let mut lexer = Lexer::new(&bytes[base..], SQLITE);
        self.at = bytes.len();
        while let Some(mut token) = lexer.next() {
            token.span.start += base;
            token.span.end += base;
            if token.kind == TokenKind::Operator && bytes[token.span.start..].starts_with(b"--") {
                // A comment to SQLite, whatever follows the two dashes.
                let rest = &bytes[token.span.start..];
                base = token.span.start + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                self.comments.push(token.span.start..base);
                lexer = Lexer::new(&bytes[base..], SQLITE);
            } else if tokens.is_empty() && token.is_word(bytes, "DELIMITER") {
                base = self.set_delimiter(&token);
                lexer = Lexer::new(&bytes[base..], SQLITE);
            } else if let Some(end) = self.mark_at(&token).filter(|_| tokens.is_empty()) {
                self.at = end;
                return Some(Statement {
                    range: token.span.start..end,
                    tokens: vec![token],
                });
            } else if let Some(end) = self.delimiter_in(&token).filter(|_| !is_comment(&token)) {
                if token.span.start < end.start {
                    token.span.end = end.start;
                    tokens.push(token);
                }
                base = end.end;
                lexer = Lexer::new(&bytes[base..], SQLITE);
                if !tokens.is_empty() {
                    self.at = base;
                    break;
                }
            } else if token.kind == TokenKind::Semicolon && self.delimiter.is_none() {
                if !tokens.is_empty() {
                    self.at = token.span.end;
                    break;
                }
            } else if matches!(token.kind, TokenKind::LineComment | TokenKind::BlockComment) {
                self.comments.push(token.span.start..token.span.end);
            } else if token.is_significant() && token.kind != TokenKind::ExecutableComment {
                tokens.push(token);
            }
        }
        let (first, last) = (tokens.first()?, tokens.last()?);
        Some(Statement {
            range: first.span.start..last.span.end,
            tokens,
        })
    }
}

fn is_comment(token: &Token) -> bool {
    !token.is_significant() || token.kind == TokenKind::ExecutableComment
}

impl Statement {
    /// The text of a token, without the quotes of a name or a literal.
    pub(super) fn bare<'t>(&self, at: usize, text: &'t str) -> Option<std::borrow::Cow<'t, str>> {
        let token = self.tokens.get(at)?;
        let text = text.get(token.span.start..token.span.end)?;
        let quote = match token.kind {
            TokenKind::QuotedName | TokenKind::String if token.terminated => text.chars().next()?,
            _ => return Some(text.into()),
        };
        let inner = text.get(1..text.len().checked_sub(1)?)?;
        Some(
            inner
                .replace(&format!("{quote}{quote}"), &quote.to_string())
                .into(),
        )
    }

    /// Whether the token is this word.
    pub(super) fn is(&self, at: usize, text: &str, word: &str) -> bool {
        self.tokens
            .get(at)
            .is_some_and(|token| token.is_word(text.as_bytes(), word))
    }

    /// The parentheses that follow `VALUES`, each with the tokens between its ends.
    pub(super) fn rows(&self, text: &str) -> Vec<&[Token]> {
        let Some(values) = (0..self.tokens.len()).find(|at| self.is(*at, text, "VALUES")) else {
            return Vec::new();
        };
        let (mut rows, mut depth, mut opened) = (Vec::new(), 0_usize, 0);
        for (at, token) in self.tokens.iter().enumerate().skip(values + 1) {
            match token.kind {
                TokenKind::LeftParen => {
                    if depth == 0 {
                        opened = at;
                    }
                    depth += 1;
                }
                TokenKind::RightParen => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        rows.push(&self.tokens[opened..=at]);
                    }
                }
                _ => {}
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<&str> {
        Statements::of(text)
            .map(|statement| &text[statement.range])
            .collect()
    }

    #[test]
    fn comments_and_literals_do_not_end_statements() {
        let text = "-- a;\n--b;\n# c;\nA 'x;''y\\';/* ; */ B \"q;\" ; ;; C\n-- d;\n, D -- e";
        assert_eq!(statements(text), ["A 'x;''y\\'", "B \"q;\"", "C\n-- d;\n, D"]);
        assert_eq!(statements("\u{feff}A;"), ["A"]);
        assert_eq!(statements("A 'open"), ["A 'open"]);
        assert!(statements(" ; -- nothing").is_empty());
    }

    #[test]
    fn a_delimiter_is_a_command_of_the_client() {
        let text = "A;\nDELIMITER //\nCREATE x BEGIN B; C '//' /* // */; END//\ndelimiter ;\nD;\n\
                    DELIMITER $$\nE; END$$ F$$\nDELIMITER ;\nG";
        assert_eq!(
            statements(text),
            [
                "A",
                "CREATE x BEGIN B; C '//' /* // */; END",
                "D",
                "E; END",
                "F",
                "G"
            ]
        );
        assert_eq!(statements("DELIMITER //\nA"), ["A"]);
        assert_eq!(statements("DELIMITER"), Vec::<&str>::new());
    }

    #[test]
    fn rows_are_the_parentheses_behind_values() {
        let text = "INSERT INTO t (a, b) VALUES (1, (2)), ('x)', char(92)), (3, 4)";
        let statement = Statements::of(text).next().unwrap();
        let rows: Vec<&str> = statement
            .rows(text)
            .iter()
            .map(|row| &text[row[0].span.start..row[row.len() - 1].span.end])
            .collect();
        assert_eq!(rows, ["(1, (2))", "('x)', char(92))", "(3, 4)"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_split_forward(text in "(DELIMITER (//|ab)\n)?[-a'\";/*#\n \\\\()]{0,60}") {
            let mut from = 0;
            for statement in Statements::of(&text) {
                assert!(statement.range.start >= from && statement.range.end > statement.range.start);
                from = statement.range.end;
            }
        }
    }
}
