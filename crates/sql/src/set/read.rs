//! Reads a `SET` statement into its assignments.

use std::borrow::Cow;

use super::{Scope, SetItem, Value};
use crate::lex::{LexMode, Lexer, Span, Token, TokenKind, identifier, is_plain_introducer, string_value};

/// More tokens than any driver sends; beyond, the statement is `Unknown`.
const MAX_TOKENS: usize = 4096;

/// The assignments of a `SET` statement, in order. Empty if the text is no `SET`; one [`SetItem::Unknown`] wherever
/// the reader loses the thread.
pub fn items(text: &[u8], mode: LexMode) -> Vec<SetItem<'_>> {
    let mut tokens: Vec<Token> = Lexer::new(text, mode)
        .significant()
        .take(MAX_TOKENS + 1)
        .collect();
    while tokens
        .last()
        .is_some_and(|token| token.kind == TokenKind::Semicolon)
    {
        tokens.pop();
    }
    let Some(first) = tokens.first() else {
        return Vec::new();
    };
    if !first.is_word(text, "SET") {
        return Vec::new();
    }
    let opaque = |token: &Token| {
        !token.terminated || matches!(token.kind, TokenKind::Semicolon | TokenKind::ExecutableComment)
    };
    let for_statement = tokens
        .get(1)
        .is_some_and(|token| token.is_word(text, "STATEMENT"));
    if tokens.len() > MAX_TOKENS || tokens.iter().any(opaque) || for_statement {
        return vec![SetItem::Unknown];
    }
    let mut reader = Reader {
        text,
        mode,
        tokens: &tokens[1..],
    };
    if let Some(transaction) = reader.transaction() {
        return vec![transaction];
    }
    let mut scope = Scope::Session;
    split_at_commas(reader.tokens)
        .map(|part| {
            Reader {
                tokens: part,
                ..reader
            }
            .item(&mut scope)
        })
        .collect()
}

fn split_at_commas(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0_usize;
    tokens.split(move |token| {
        match token.kind {
            TokenKind::LeftParen => depth += 1,
            TokenKind::RightParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.kind == TokenKind::Comma
    })
}

#[derive(Clone, Copy)]
struct Reader<'a, 't> {
    text: &'a [u8],
    mode: LexMode,
    tokens: &'t [Token],
}

impl<'a> Reader<'a, '_> {
    fn takes(&mut self, word: &str) -> bool {
        let found = self
            .tokens
            .first()
            .is_some_and(|token| token.is_word(self.text, word));
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn scope(&mut self) -> Option<Scope> {
        if self.takes("GLOBAL") || self.takes("PERSIST") || self.takes("PERSIST_ONLY") {
            Some(Scope::Global)
        } else if self.takes("SESSION") || self.takes("LOCAL") {
            Some(Scope::Session)
        } else {
            None
        }
    }

    /// `[scope] TRANSACTION characteristic, …`
    fn transaction(&mut self) -> Option<SetItem<'a>> {
        let mut ahead = *self;
        let scope = ahead.scope().unwrap_or(Scope::NextTransaction);
        if !ahead.takes("TRANSACTION") {
            return None;
        }
        let (mut isolation, mut read_only) = (None, None);
        for part in split_at_commas(ahead.tokens) {
            let words: Vec<String> = part
                .iter()
                .map(|token| String::from_utf8_lossy(token.span.of(self.text)).to_ascii_uppercase())
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["ISOLATION", "LEVEL", level @ ..] if !level.is_empty() => isolation = Some(level.join(" ")),
                ["READ", "ONLY"] => read_only = Some(true),
                ["READ", "WRITE"] => read_only = Some(false),
                _ => return Some(SetItem::Unknown),
            }
        }
        Some(SetItem::Transaction {
            scope,
            isolation,
            read_only,
        })
    }

    /// One assignment; a scope word holds for the assignments behind it that name none.
    fn item(mut self, scope: &mut Scope) -> SetItem<'a> {
        if self.takes("NAMES") {
            return self.names();
        }
        if self.takes("CHARSET") || (self.takes("CHARACTER") && self.takes("SET")) {
            return self
                .charset_name()
                .map_or(SetItem::Unknown, SetItem::CharacterSet);
        }
        if let Some(own) = self.scope() {
            *scope = own;
        }
        let Some((&target, rest)) = self.tokens.split_first() else {
            return SetItem::Unknown;
        };
        match target.kind {
            TokenKind::UserVariable => SetItem::UserVariable(target.span),
            TokenKind::SystemVariable => self.system_variable(target, rest),
            TokenKind::Word | TokenKind::QuotedName => {
                let name = identifier(&target, self.text);
                self.assignment(*scope, name.as_deref(), rest)
            }
            _ => SetItem::Unknown,
        }
    }

    fn names(mut self) -> SetItem<'a> {
        let (first, rest) = self.tokens.split_at(self.tokens.len().min(1));
        let collation = match rest {
            [] => None,
            [collate, name] if collate.is_word(self.text, "COLLATE") => match self.word_or_text(*name) {
                Some(name) => Some(name),
                None => return SetItem::Unknown,
            },
            _ => return SetItem::Unknown,
        };
        self.tokens = first;
        self.charset_name()
            .map_or(SetItem::Unknown, |charset| SetItem::Names { charset, collation })
    }

    /// The only token left, as a character set; the inner `None` is `DEFAULT`.
    fn charset_name(&self) -> Option<Option<Cow<'a, [u8]>>> {
        let [token] = self.tokens else { return None };
        if token.is_word(self.text, "DEFAULT") {
            return Some(None);
        }
        self.word_or_text(*token).map(Some)
    }

    fn word_or_text(&self, token: Token) -> Option<Cow<'a, [u8]>> {
        identifier(&token, self.text).or_else(|| string_value(&token, self.text, self.mode))
    }

    fn system_variable(&self, target: Token, rest: &[Token]) -> SetItem<'a> {
        let raw: Vec<u8> = target.span.of(self.text)[2..]
            .iter()
            .filter(|&&b| b != b'`')
            .copied()
            .collect();
        let lower = raw.to_ascii_lowercase();
        let mut parts = lower.splitn(2, |&b| b == b'.');
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        let (scope, name) = match (first, second) {
            (b"session" | b"local", Some(name)) => (Scope::Session, name),
            (b"global" | b"persist" | b"persist_only", Some(name)) => (Scope::Global, name),
            (
                b"tx_isolation" | b"transaction_isolation" | b"tx_read_only" | b"transaction_read_only",
                None,
            ) => (Scope::NextTransaction, first),
            (name, None) => (Scope::Session, name),
            _ => return SetItem::Unknown,
        };
        self.assignment(scope, Some(name), rest)
    }

    fn assignment(&self, scope: Scope, name: Option<&[u8]>, rest: &[Token]) -> SetItem<'a> {
        let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) else {
            return SetItem::Unknown;
        };
        let Some((operator, value)) = rest.split_first() else {
            return SetItem::Unknown;
        };
        let assigns = operator.is_operator(self.text, "=") || operator.is_operator(self.text, ":=");
        if !assigns || value.is_empty() {
            return SetItem::Unknown;
        }
        let value = self.value(value);
        let name = name.to_ascii_lowercase();
        match value.switch() {
            Some(on) if name == "autocommit" && scope == Scope::Session => SetItem::Autocommit(on),
            _ => SetItem::Variable { scope, name, value },
        }
    }

    fn value(&self, tokens: &[Token]) -> Value<'a> {
        let whole = || {
            Value::Expression(Span {
                start: tokens[0].span.start,
                end: tokens[tokens.len() - 1].span.end,
            })
        };
        match tokens {
            [token] if token.is_word(self.text, "DEFAULT") => Value::Default,
            [token] if token.kind == TokenKind::Word => Value::Word(token.span.of(self.text)),
            [token] if token.kind == TokenKind::Number => {
                Value::Number(Cow::Borrowed(token.span.of(self.text)))
            }
            [token] => self.word_or_text(*token).map_or_else(whole, Value::Text),
            [introducer, string] if introducer.kind == TokenKind::Introducer => {
                let text = string_value(string, self.text, self.mode);
                let is_plain = is_plain_introducer(introducer.span.of(self.text));
                let text = text.filter(|text| is_plain && text.is_ascii());
                text.map_or_else(whole, Value::Text)
            }
            [sign, number] if sign.is_operator(self.text, "-") && number.kind == TokenKind::Number => {
                Value::Number(Cow::Owned([b"-", number.span.of(self.text)].concat()))
            }
            _ => whole(),
        }
    }
}
