//! The parser's view of a statement, made from this crate's own tokens so that both see the same statement.
//!
//! Positions in the tree are byte offsets: every token stands on line 1 in column offset + 1.

mod grouped_tables;
mod locks;
mod modifiers;

use std::cell::OnceCell;
use std::rc::Rc;

use sqlparser::ast;
use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span as TreeSpan, Token as TreeToken, TokenWithSpan};

use self::grouped_tables::GroupedTables;
use crate::class::{StatementClass, classify};
use crate::key_value::{KeyValue, Parameters};
use crate::lex::{LexMode, Lexer, Span, Token, TokenKind, difference, identifier, string_value};
use crate::names::folded;
use crate::work;

/// Statements with more tokens are not looked into: 24 bytes each.
const MAX_TOKENS: usize = 8_000_000;
/// Trees are not made of more: some 200 bytes each.
const MAX_TREE_TOKENS: usize = 1_000_000;
/// Operators and keywords that can pile up one node on another, along one path of parentheses. Trees are walked and
/// dropped by recursion, so their depth must stay bounded.
const MAX_CHAIN: usize = 20_000;
/// Piled up nodes for which any stack is deep enough.
const SHALLOW: usize = 200;
/// Bytes of stack for a node that is piled up: enough for builds without optimisation.
const STACK_OF_NODE: usize = 16 << 10;
/// Nesting that the parser follows.
const MAX_DEPTH: usize = 50;
/// Of a token that is no parenthesis, or one without a partner.
const NO_PARTNER: u32 = u32::MAX;

/// A single statement whose tokens are all sound.
pub(crate) struct Reading<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) mode: LexMode,
    pub(crate) class: StatementClass,
    /// Significant tokens, without trailing semicolons.
    pub(crate) tokens: Vec<Token>,
    /// What its `?` stand for.
    parameters: Parameters<'a>,
    /// Where they stand in the text; empty where nothing is known of them.
    placeholders: Rc<[usize]>,
    /// Of each parenthesis, the token that it belongs to; found when it is asked for.
    partners: OnceCell<Vec<u32>>,
}

impl<'a> Reading<'a> {
    /// Reads the tokens of `text`; the error says why it is not looked into.
    pub(crate) fn of(text: &'a [u8], mode: LexMode) -> Result<Self, String> {
        let mut tokens = Vec::new();
        for token in Lexer::new(text, mode) {
            if token.kind == TokenKind::ReadOtherwise {
                return Err(difference(text, mode).unwrap_or_default());
            }
            if !token.terminated {
                return Err("the statement ends inside a comment, string or quoted name".to_owned());
            }
            if token.kind == TokenKind::ExecutableComment {
                return Err("what an executable comment means depends on the server's version".to_owned());
            }
            if token.is_significant() {
                tokens.push(token);
            }
            if tokens.len() > MAX_TOKENS {
                return Err(format!(
                    "statements of more than {MAX_TOKENS} words are not looked into"
                ));
            }
        }
        while tokens
            .last()
            .is_some_and(|token| token.kind == TokenKind::Semicolon)
        {
            tokens.pop();
        }
        if tokens.iter().any(|token| token.kind == TokenKind::Semicolon) {
            return Err("there are several statements in one text".to_owned());
        }
        Ok(Reading {
            text,
            mode,
            class: classify(text, mode),
            tokens,
            parameters: Parameters::Unknown,
            placeholders: Rc::new([]),
            partners: OnceCell::new(),
        })
    }

    /// The same with what its `?` stand for.
    pub(crate) fn with_parameters(mut self, parameters: Parameters<'a>) -> Self {
        if let Parameters::Bound(values) = parameters {
            let is_placeholder = |token: &&Token| token.kind == TokenKind::Placeholder;
            let placeholders = self.tokens.iter().filter(is_placeholder);
            self.placeholders = placeholders.map(|token| token.span.start).collect();
            if self.placeholders.len() != values.len() {
                return self;
            }
        }
        Self { parameters, ..self }
    }

    /// The key that a `?` stands for.
    pub(crate) fn bound(&self, placeholder: &Token) -> Option<KeyValue> {
        match self.parameters {
            Parameters::Unknown => None,
            Parameters::Open => Some(KeyValue::Open),
            Parameters::Bound(values) => {
                let number = self.placeholders.binary_search(&placeholder.span.start).ok()?;
                values.get(number)?.as_ref().map(KeyValue::from)
            }
        }
    }

    pub(crate) fn is_word(&self, index: usize, word: &str) -> bool {
        self.tokens
            .get(index)
            .is_some_and(|token| token.is_word(self.text, word))
    }

    pub(crate) fn is_kind(&self, index: usize, kind: TokenKind) -> bool {
        self.tokens.get(index).is_some_and(|token| token.kind == kind)
    }

    /// The index of the token that begins at byte `offset`.
    pub(crate) fn index_at(&self, offset: usize) -> Option<usize> {
        self.tokens
            .binary_search_by_key(&offset, |token| token.span.start)
            .ok()
    }

    /// True if the token is a name equal to `name` without case.
    pub(crate) fn is_name(&self, token: &Token, name: &str) -> bool {
        identifier(token, self.text).is_some_and(|found| same_but_for_case(&found, name))
    }

    /// What an EXPLAIN explains; `None` where it is about something else than a statement.
    pub(crate) fn explained(&self) -> Option<Reading<'a>> {
        let mut at = 1;
        for word in ["ANALYZE", "EXTENDED", "PARTITIONS"] {
            at += usize::from(self.is_word(at, word));
        }
        let is_format = self.is_word(at, "FORMAT") && self.tokens.get(at + 1)?.is_operator(self.text, "=");
        at += if is_format { 3 } else { 0 };
        let part = (at < self.tokens.len()).then(|| self.part(at..self.tokens.len()))?;
        use StatementClass as C;
        matches!(
            part.class,
            C::Select | C::Insert | C::Replace | C::Update | C::Delete
        )
        .then_some(part)
    }

    /// A statement inside this one, of at least one token.
    pub(crate) fn part(&self, tokens: std::ops::Range<usize>) -> Reading<'a> {
        let tokens = self.tokens[tokens].to_vec();
        let start = tokens.first().map_or(self.text.len(), |token| token.span.start);
        Reading {
            text: self.text,
            mode: self.mode,
            class: classify(&self.text[start..], self.mode),
            tokens,
            parameters: self.parameters,
            placeholders: self.placeholders.clone(),
            partners: OnceCell::new(),
        }
    }

    /// The index of the parenthesis that closes or opens with the one at `index`.
    pub(crate) fn partner(&self, index: usize) -> Option<usize> {
        let partners = self.partners.get_or_init(|| {
            let mut partners = vec![NO_PARTNER; self.tokens.len()];
            let mut open = Vec::new();
            for (token, index) in self.tokens.iter().zip(0_u32..) {
                match token.kind {
                    TokenKind::LeftParen => open.push(index),
                    TokenKind::RightParen => {
                        if let Some(other) = open.pop() {
                            partners[other as usize] = index;
                            partners[index as usize] = other;
                        }
                    }
                    _ => {}
                }
            }
            partners
        });
        let partner = partners.get(index).filter(|&&partner| partner != NO_PARTNER)?;
        Some(*partner as usize)
    }

    /// What `look` sees in the tree of the statement; the error is human-readable.
    pub(crate) fn with_tree<T>(&self, look: impl FnOnce(&ast::Statement) -> T) -> Result<T, String> {
        let depth = self.depth()?;
        let read = || self.tree().map(|tree| look(&tree));
        match depth > SHALLOW {
            // It is dropped there, too.
            true => stacker::grow(depth * STACK_OF_NODE, read),
            false => read(),
        }
    }

    fn tree(&self) -> Result<ast::Statement, String> {
        if self.tokens.len() > MAX_TREE_TOKENS {
            return Err(format!(
                "statements of more than {MAX_TREE_TOKENS} words are not looked into"
            ));
        }
        let tokens = self.tree_tokens()?;
        let mut parser = Parser::new(&MySqlDialect {})
            .with_recursion_limit(MAX_DEPTH)
            .with_tokens_with_locations(tokens);
        let mut statements = parser
            .parse_statements()
            .map_err(|error| format!("the statement cannot be parsed ({error})"))?;
        // It takes END for the end of a block, and leaves what follows.
        let next = parser.peek_token();
        if next.token != TreeToken::EOF {
            return Err(format!(
                "the statement cannot be parsed (nothing is read from {next} on)"
            ));
        }
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            _ => Err("there is not exactly one statement in the text".to_owned()),
        }
    }

    /// The tokens as the parser knows them. It does not know some lock clauses, INTO @a, `a MOD b`, SOUNDS LIKE, tables in
    /// parentheses, and `UPDATE a, b`; it takes modifiers such as IGNORE for names. What is left out says nothing about rows.
    fn tree_tokens(&self) -> Result<Vec<TokenWithSpan>, String> {
        let mut tree = Vec::with_capacity(self.tokens.len());
        let mut is_before_set = self.class == StatementClass::Update;
        let (mut at, mut depth) = (0, 0_usize);
        let verb = self.verb();
        while let Some(token) = self.tokens.get(at) {
            if let Some(group) = self.grouped_tables(at) {
                self.push_grouped(&group, &mut tree)?;
                at = group.end;
                continue;
            }
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            is_before_set &= !(depth == 0 && self.is_word(at, "SET"));
            if let Some(behind) = self.behind_lock(at) {
                at = behind;
                continue;
            }
            if self.is_sounds_like(at) {
                at += 1;
                continue;
            }
            if self.is_word(at, "INTO") && self.is_kind(at + 1, TokenKind::UserVariable) {
                at += 2;
                while self.is_kind(at, TokenKind::Comma) && self.is_kind(at + 1, TokenKind::UserVariable) {
                    at += 2;
                }
                continue;
            }
            let is_call = self.is_kind(at + 1, TokenKind::LeftParen);
            match token.kind {
                TokenKind::Comma if is_before_set && depth == 0 => tree.extend(cross_join(token)),
                TokenKind::Word if !is_call && self.is_word(at, "MOD") => tree.push(TokenWithSpan {
                    token: TreeToken::Mod,
                    span: tree_span(token.span),
                }),
                _ => tree.push(self.tree_token(token)?),
            }
            at += 1;
            if verb == Some(at - 1) || self.is_word(at - 1, "SELECT") {
                let behind = self.behind_modifiers(at - 1);
                let are_kept = (at..behind).filter(|&index| self.says_which_rows(index));
                for index in are_kept {
                    tree.push(self.tree_token(&self.tokens[index])?);
                }
                at = behind;
            }
        }
        Ok(tree)
    }

    /// Tables that stand in parentheses, without those around one table.
    fn push_grouped(&self, group: &GroupedTables, tree: &mut Vec<TokenWithSpan>) -> Result<(), String> {
        let is_list = group.tables.len() > 1;
        let first = &self.tokens[group.tables[0].start];
        if is_list {
            tree.push(TokenWithSpan {
                token: TreeToken::LParen,
                span: tree_span(first.span),
            });
        }
        for (number, table) in group.tables.iter().enumerate() {
            if number > 0 {
                tree.extend(cross_join(&self.tokens[table.start]));
            }
            for token in &self.tokens[table.clone()] {
                tree.push(self.tree_token(token)?);
            }
        }
        if is_list {
            tree.push(self.tree_token(&self.tokens[group.end - 1])?);
        }
        Ok(())
    }

    /// Whether SOUNDS is the first word of an operator here. To the tree, `a LIKE b` is the same.
    fn is_sounds_like(&self, index: usize) -> bool {
        let words_before_names = [
            "SELECT", "DISTINCT", "ALL", "BY", "WHERE", "ON", "AND", "OR", "NOT", "HAVING",
        ];
        self.is_word(index, "SOUNDS")
            && self.is_word(index + 1, "LIKE")
            && index
                .checked_sub(1)
                .is_some_and(|before| match self.tokens[before].kind {
                    TokenKind::Word => !words_before_names.iter().any(|word| self.is_word(before, word)),
                    kind => matches!(
                        kind,
                        TokenKind::QuotedName | TokenKind::String | TokenKind::Number | TokenKind::RightParen
                    ),
                })
    }

    /// Nodes that can be piled up in the tree.
    fn depth(&self) -> Result<usize, String> {
        let mut open = vec![0_usize];
        let (mut total, mut most) = (0, 0);
        for token in &self.tokens {
            match token.kind {
                TokenKind::LeftParen => open.push(0),
                TokenKind::RightParen if open.len() > 1 => total -= open.pop().unwrap_or(0),
                TokenKind::Comma => total -= open.last_mut().map_or(0, std::mem::take),
                TokenKind::Word if !piles_up(token.span.of(self.text)) => {}
                TokenKind::Operator | TokenKind::Word => {
                    total += 1;
                    if let Some(level) = open.last_mut() {
                        *level += 1;
                    }
                }
                _ => {}
            }
            most = most.max(total);
            if total > MAX_CHAIN || open.len() > 4 * MAX_DEPTH {
                return Err(format!(
                    "an expression has more than {MAX_CHAIN} operators in a row"
                ));
            }
        }
        Ok(most)
    }

    fn tree_token(&self, token: &Token) -> Result<TokenWithSpan, String> {
        let raw = std::str::from_utf8(token.span.of(self.text))
            .map_err(|_| "the statement is not valid UTF-8".to_owned())?;
        let tree = match token.kind {
            TokenKind::Word | TokenKind::Introducer | TokenKind::UserVariable | TokenKind::SystemVariable => {
                word(raw)
            }
            TokenKind::QuotedName => {
                TreeToken::make_word(&self.utf8(identifier(token, self.text))?, Some('`'))
            }
            TokenKind::String => {
                TreeToken::SingleQuotedString(self.utf8(string_value(token, self.text, self.mode))?)
            }
            TokenKind::NationalString => TreeToken::NationalStringLiteral(raw[2..raw.len() - 1].to_owned()),
            TokenKind::HexString => TreeToken::HexStringLiteral(raw[2..raw.len() - 1].to_owned()),
            TokenKind::BitString => {
                TreeToken::SingleQuotedByteStringLiteral(raw[2..raw.len() - 1].to_owned())
            }
            TokenKind::Number => TreeToken::Number(raw.to_owned(), false),
            TokenKind::Placeholder => TreeToken::Placeholder("?".to_owned()),
            TokenKind::LeftParen => TreeToken::LParen,
            TokenKind::RightParen => TreeToken::RParen,
            TokenKind::Comma => TreeToken::Comma,
            TokenKind::Dot => TreeToken::Period,
            TokenKind::Operator => operator(raw)?,
            _ => return Err(format!("`{raw}` has no place in a statement")),
        };
        Ok(TokenWithSpan {
            token: tree,
            span: tree_span(token.span),
        })
    }

    fn utf8(&self, bytes: Option<std::borrow::Cow<'_, [u8]>>) -> Result<String, String> {
        let bytes = bytes.unwrap_or_default().into_owned();
        String::from_utf8(bytes).map_err(|_| "the statement is not valid UTF-8".to_owned())
    }
}

/// The byte span of a tree node.
pub(crate) fn offset(location: Location) -> Option<usize> {
    usize::try_from(location.column)
        .ok()?
        .checked_sub(1)
        .filter(|_| location.line == 1)
}

pub(crate) fn same_but_for_case(name: &[u8], wanted: &str) -> bool {
    work::count(1);
    name.eq_ignore_ascii_case(wanted.as_bytes())
        || (!(name.is_ascii() && wanted.is_ascii()) && folded(name) == folded(wanted.as_bytes()))
}

fn tree_span(span: Span) -> TreeSpan {
    let at = |offset: usize| Location {
        line: 1,
        column: offset as u64 + 1,
    };
    TreeSpan {
        start: at(span.start),
        end: at(span.end),
    }
}

/// What a comma between tables is.
fn cross_join(comma: &Token) -> [TokenWithSpan; 2] {
    ["CROSS", "JOIN"].map(|raw| TokenWithSpan {
        token: word(raw),
        span: tree_span(comma.span),
    })
}

fn word(raw: &str) -> TreeToken {
    TreeToken::make_word(raw, None)
}

/// Words that put one node on top of another, as operators do.
fn piles_up(word: &[u8]) -> bool {
    let words = [
        "AND",
        "OR",
        "XOR",
        "NOT",
        "IS",
        "LIKE",
        "RLIKE",
        "REGEXP",
        "IN",
        "BETWEEN",
        "DIV",
        "MOD",
        "COLLATE",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "JOIN",
        "STRAIGHT_JOIN",
        "INTERVAL",
        "BINARY",
        "CASE",
        "WHEN",
        "ELSE",
        "ESCAPE",
    ];
    words
        .iter()
        .any(|entry| word.eq_ignore_ascii_case(entry.as_bytes()))
}

/// Operators as the parser has them. `||` is OR or concatenation by `sql_mode`. `!` binds as closely as `~`, for which it stands;
/// `:=` binds otherwise than the parser has it, and no condition that has one is followed.
fn operator(raw: &str) -> Result<TreeToken, String> {
    Ok(match raw {
        "=" => TreeToken::Eq,
        "<=>" => TreeToken::Spaceship,
        "<>" | "!=" => TreeToken::Neq,
        "<" => TreeToken::Lt,
        ">" => TreeToken::Gt,
        "<=" => TreeToken::LtEq,
        ">=" => TreeToken::GtEq,
        "+" => TreeToken::Plus,
        "-" => TreeToken::Minus,
        "*" => TreeToken::Mul,
        "/" => TreeToken::Div,
        "%" => TreeToken::Mod,
        "&" => TreeToken::Ampersand,
        "|" => TreeToken::Pipe,
        "^" => TreeToken::Caret,
        "~" | "!" => TreeToken::Tilde,
        ":=" => TreeToken::Assignment,
        "<<" => TreeToken::ShiftLeft,
        ">>" => TreeToken::ShiftRight,
        "->" => TreeToken::Arrow,
        "->>" => TreeToken::LongArrow,
        "&&" => TreeToken::make_word("AND", None),
        _ => return Err(format!("the operator `{raw}` is not followed")),
    })
}
