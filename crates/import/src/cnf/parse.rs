//! Settings of libconfig, with their places.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Range;
use std::vec;

use shardwright_diagnostics::{FileId, Span};

use super::scan::{Scanner, Token, TokenKind};

/// How deep values may be in each other.
const MAX_DEPTH: usize = 16;

/// A name and its value.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) name_span: Span,
    pub(super) value: Value,
    /// Of the value.
    pub(super) span: Span,
}

/// Settings between braces.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) settings: Vec<Setting>,
}

#[derive(Debug)]
pub(super) enum Value {
    Boolean(bool),
    Integer(i32),
    /// A number that the engine does not read.
    Long,
    Float,
    Text(String),
    List(Vec<(Value, Span)>),
    Group(Group),
}

/// What does not fit the grammar.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    pub(super) span: Span,
}

/// A file as far as it could be read.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) settings: Vec<Setting>,
    pub(super) faults: Vec<Fault>,
    pub(super) comments: Vec<Span>,
    /// Settings from their names, and items of lists, with all that is in them.
    pub(super) parts: Vec<Span>,
    /// Texts and words that are no names, each with the name before it; none behind a bracket.
    pub(super) texts: Vec<(Option<String>, Span)>,
}

/// Reads a whole file. After a fault reading goes on behind the setting that has it.
pub(super) fn parse(text: &str, file: FileId) -> Parsed {
    let mut scanner = Scanner::new(text);
    let tokens: Vec<Token> = scanner.by_ref().collect();
    let texts: Vec<(Option<String>, Range<usize>)> = texts(&tokens)
        .into_iter()
        .map(|(name, range)| (name.map(str::to_owned), range))
        .collect();
    let mut parser = Parser {
        tokens: tokens.into_iter().peekable(),
        read: 0,
        end: text.len(),
        file,
        faults: Vec::new(),
        parts: Vec::new(),
    };
    let settings = parser.settings(None, 0);
    Parsed {
        settings,
        comments: scanner.comments.iter().map(|range| parser.span(range)).collect(),
        texts: texts
            .iter()
            .map(|(name, range)| (name.clone(), parser.span(range)))
            .collect(),
        faults: parser.faults,
        parts: parser.parts,
    }
}

/// What may hold a secret, with the name that tells whether it does.
fn texts(tokens: &[Token]) -> Vec<(Option<&str>, Range<usize>)> {
    let mut texts = Vec::new();
    let mut name = None;
    for (at, token) in tokens.iter().enumerate() {
        let names_a_value = tokens
            .get(at + 1)
            .is_some_and(|next| next.kind == TokenKind::Equals);
        match &token.kind {
            TokenKind::Name(word) if names_a_value => name = Some(word.as_str()),
            TokenKind::Name(_) | TokenKind::Text(_) | TokenKind::Fault(_) => {
                texts.push((name, token.range.clone()));
            }
            TokenKind::Mark(_) => name = None,
            _ => {}
        }
    }
    texts
}

struct Parser {
    tokens: Peekable<vec::IntoIter<Token>>,
    /// The end of the last token that was taken.
    read: usize,
    end: usize,
    file: FileId,
    faults: Vec<Fault>,
    parts: Vec<Span>,
}

impl Parser {
    fn span(&self, range: &Range<usize>) -> Span {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(self.file, offset(range.start), offset(range.end))
    }

    fn fault(&mut self, message: &str, range: &Range<usize>) {
        let span = self.span(range);
        self.faults.push(Fault {
            message: message.to_owned(),
            span,
        });
    }

    /// The next token, which is read then.
    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.next()?;
        self.read = token.range.end;
        Some(token)
    }

    /// Notes a setting or an item that begins somewhere and ends with what was read last.
    fn part(&mut self, start: u32) {
        let end = self.span(&(self.read..self.read)).start;
        self.parts.push(Span::new(self.file, start, end));
    }

    fn peek(&mut self) -> Option<&TokenKind> {
        self.tokens.peek().map(|token| &token.kind)
    }

    /// Settings up to a closing mark, or to the end of the file.
    fn settings(&mut self, close: Option<u8>, depth: usize) -> Vec<Setting> {
        let mut settings = Vec::new();
        loop {
            let Some(token) = self.take() else {
                if close.is_some() {
                    self.fault("a bracket is not closed", &(self.end..self.end));
                }
                return settings;
            };
            match token.kind {
                TokenKind::Mark(mark) if Some(mark) == close => return settings,
                TokenKind::Name(name) => match self.setting(name, &token.range, depth, &settings) {
                    Some(setting) => {
                        let is_second = |known: &Setting| known.name == setting.name;
                        if depth == 0 || !settings.iter().any(is_second) {
                            settings.push(setting);
                        }
                    }
                    None => self.recover(),
                },
                TokenKind::Fault(message) => {
                    self.fault(message, &token.range);
                    self.recover();
                }
                TokenKind::Text(_) if close.is_some() && self.peek() == Some(&TokenKind::Equals) => {
                    self.fault(
                        "a setting begins with its name, without quotes; JSON is a text: write it between double quotes, with a \\ before each quote in it",
                        &token.range,
                    );
                    self.recover();
                }
                _ => {
                    self.fault("a setting begins with its name", &token.range);
                    self.recover();
                }
            }
        }
    }

    fn setting(
        &mut self,
        name: String,
        range: &Range<usize>,
        depth: usize,
        names: &[Setting],
    ) -> Option<Setting> {
        if self.peek() != Some(&TokenKind::Equals) {
            self.fault("a name is followed by = or : and a value", range);
            return None;
        }
        self.take();
        // The file that is read stands for sections that are told by their names.
        if depth > 0 && names.iter().any(|setting| setting.name == name) {
            self.fault(
                "the setting stands twice in its group: the engine does not start",
                range,
            );
        }
        let (value, span) = self.value(depth)?;
        let name_span = self.span(range);
        self.part(name_span.start);
        if matches!(self.peek(), Some(TokenKind::Mark(b';' | b','))) {
            self.take();
        }
        Some(Setting {
            name,
            name_span,
            value,
            span,
        })
    }

    fn value(&mut self, depth: usize) -> Option<(Value, Span)> {
        let Some(Token { kind, range }) = self.take() else {
            self.fault("a value is missing", &(self.end..self.end));
            return None;
        };
        let mut span = self.span(&range);
        if depth >= MAX_DEPTH {
            self.fault("values are nested too deep", &range);
            return None;
        }
        let value = match kind {
            TokenKind::Boolean(value) => Value::Boolean(value),
            TokenKind::Integer(number) => Value::Integer(number),
            TokenKind::Long => Value::Long,
            TokenKind::Float => Value::Float,
            TokenKind::Text(mut text) => {
                // Texts that follow each other are one.
                while matches!(self.peek(), Some(TokenKind::Text(_)))
                    && let Some(Token {
                        kind: TokenKind::Text(more),
                        range,
                    }) = self.take()
                {
                    text.push_str(&more);
                    span = span.to(self.span(&range));
                }
                Value::Text(text)
            }
            TokenKind::Mark(b'{') => {
                let settings = self.settings(Some(b'}'), depth + 1);
                Value::Group(Group { settings })
            }
            TokenKind::Mark(b'(') => Value::List(self.list(b')', depth + 1)?),
            TokenKind::Mark(b'[') => Value::List(self.array(depth + 1)?),
            TokenKind::Fault(message) => {
                self.fault(message, &range);
                return None;
            }
            TokenKind::Name(_) if self.peek() == Some(&TokenKind::Equals) => {
                self.fault(
                    "a setting stands here where a value belongs; a `{` before it may be missing",
                    &range,
                );
                return None;
            }
            TokenKind::Name(_) => {
                self.fault(
                    "the quotes are missing: a text stands between double quotes",
                    &range,
                );
                return None;
            }
            TokenKind::Equals | TokenKind::Mark(_) => {
                self.fault("a value is missing", &range);
                return None;
            }
        };
        Some((value, span))
    }

    /// The values between brackets: numbers, texts or switches, all of one kind.
    fn array(&mut self, depth: usize) -> Option<Vec<(Value, Span)>> {
        let start = self.read.saturating_sub(1)..self.read;
        let items = self.list(b']', depth)?;
        let kind = |value: &Value| match value {
            Value::Boolean(_) => 1,
            Value::Integer(_) => 2,
            Value::Long => 3,
            Value::Float => 4,
            Value::Text(_) => 5,
            Value::List(_) | Value::Group(_) => 0,
        };
        let kinds: BTreeSet<u8> = items.iter().map(|(value, _)| kind(value)).collect();
        if kinds.contains(&0) {
            self.fault(
                "groups stand in a list: ( { ... }, ... ), not between brackets",
                &start,
            );
        } else if kinds.len() > 1 {
            self.fault("the values between brackets are of one kind", &start);
        }
        Some(items)
    }

    fn list(&mut self, close: u8, depth: usize) -> Option<Vec<(Value, Span)>> {
        let mut items = Vec::new();
        loop {
            // Behind the first value, commas may follow each other.
            while !items.is_empty() && self.peek() == Some(&TokenKind::Mark(b',')) {
                self.take();
            }
            if self.peek() == Some(&TokenKind::Mark(close)) {
                self.take();
                return Some(items);
            }
            let Some(item) = self.value(depth) else {
                self.close(0);
                return Some(items);
            };
            self.part(item.1.start);
            items.push(item);
            match self.take() {
                Some(token) if token.kind == TokenKind::Mark(close) => return Some(items),
                Some(token) if token.kind == TokenKind::Mark(b',') => {}
                Some(token) => {
                    self.fault("entries are separated by commas", &token.range);
                    self.close(usize::from(is_opening(&token.kind)));
                    return Some(items);
                }
                None => {
                    self.fault("a bracket is not closed", &(self.end..self.end));
                    return None;
                }
            }
        }
    }

    /// Passes over what is left of a broken list, with its closing bracket; `opened`: brackets in it that are open. A brace
    /// that closes nothing is a part of what is broken.
    fn close(&mut self, opened: usize) {
        let mut depth = opened + 1;
        while let Some(token) = self.take() {
            match token.kind {
                TokenKind::Mark(b'{' | b'(' | b'[') => depth += 1,
                TokenKind::Mark(b'}') if depth == 1 => {}
                TokenKind::Mark(b'}' | b')' | b']') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Passes over what is left of a broken setting: to behind the next semicolon, or before a name that `=` or `:`
    /// may follow at the same depth.
    fn recover(&mut self) {
        let mut depth = 0_usize;
        while let Some(kind) = self.peek() {
            match kind {
                TokenKind::Mark(b'{' | b'(' | b'[') => depth += 1,
                TokenKind::Mark(b'}' | b')' | b']') if depth == 0 => return,
                TokenKind::Mark(b'}' | b')' | b']') => depth -= 1,
                TokenKind::Mark(b';') if depth == 0 => {
                    self.take();
                    return;
                }
                TokenKind::Name(_) if depth == 0 => return,
                _ => {}
            }
            self.take();
        }
    }
}

fn is_opening(kind: &TokenKind) -> bool {
    matches!(kind, TokenKind::Mark(b'{' | b'(' | b'['))
}

#[cfg(test)]
mod tests {
    use shardwright_diagnostics::Sources;

    use super::*;

    fn shown(text: &str) -> String {
        let mut sources = Sources::new();
        let file = sources.add("proxysql.cnf", text);
        let parsed = parse(text, file);
        let names: Vec<&str> = parsed
            .settings
            .iter()
            .map(|setting| setting.name.as_str())
            .collect();
        let faults: Vec<String> = parsed
            .faults
            .iter()
            .map(|fault| format!("{}: {}", sources.display(fault.span), fault.message))
            .collect();
        format!("{} | {}", names.join(" "), faults.join("; "))
    }

    #[test]
    fn faults_do_not_hide_what_follows() {
        insta::assert_snapshot!(shown("a = 1; b 2; c = ( 1 2 ); d = \"x\" \"y\"\ne: { f = [1, 2,], }"), @"a c d e | proxysql.cnf:1:8: a name is followed by = or : and a value; proxysql.cnf:1:21: entries are separated by commas");
        insta::assert_snapshot!(shown("a = { b = 1"), @"a | proxysql.cnf:1:12: a bracket is not closed");
        insta::assert_snapshot!(shown("a = \"x"), @" | proxysql.cnf:1:5: the text does not end");
        insta::assert_snapshot!(shown("@include \"b.cnf\"\nc = 1"), @"c | proxysql.cnf:1:1: other files are not included: give the whole file");
        insta::assert_snapshot!(shown("}}a = 1"), @"a | proxysql.cnf:1:1: a setting begins with its name; proxysql.cnf:1:2: a setting begins with its name");
    }

    #[test]
    fn depth_has_a_limit() {
        let deep = format!("a = {}", "(".repeat(100_000));
        assert!(shown(&deep).contains("too deep"));
        let deep = "a={".repeat(100_000);
        assert!(shown(&deep).contains("too deep"));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_to_its_end(text in "[a=:1\"{}()\\[\\];, ]{0,60}") {
            shown(&text);
        }
    }
}
