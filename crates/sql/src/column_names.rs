//! Names of result columns under edits.
//!
//! # Idea
//!
//! A server names a column of a SELECT by its alias, else by the column it reads, else by the bytes of the item itself,
//! comments included. So an edit within an item of the last kind changes a name that the client sees, or that a derived table, a
//! view or CREATE TABLE … SELECT stores. The item gets the name that it had as an alias:
//!
//! ```sql
//! SELECT world.City.n + 1 FROM world.City                   -- is sent as
//! SELECT Asia.City.n + 1 AS `world.City.n + 1` FROM Asia.City
//! ```
//!
//! # Invariant
//!
//! An alias is added only behind an item that is known to have none; where that is not known, the edits are refused.
//! Lists are found at their own depth of parentheses, so an item within an item gets its name as well.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::class::{StatementClass, classify};
use crate::lex::{LexMode, Lexer, Span, Token, TokenKind};
use crate::names::places;
use crate::rewrite::Edit;

/// Characters of the name that MySQL and MariaDB give to an item at most.
const MAX_NAME: usize = 255;
/// Characters of a name that a table or a view may have. Servers make a name of their own for an item that is longer.
const MAX_STORED: usize = 64;

/// Select lists inside each other: no server takes more (`MAX_SELECT_NESTING`), and an item is read with all that it holds.
const MOST_NESTED: usize = 64;

/// Between SELECT and the first item.
const MODIFIERS: [&str; 11] = [
    "ALL",
    "DISTINCT",
    "DISTINCTROW",
    "HIGH_PRIORITY",
    "STRAIGHT_JOIN",
    "SQL_SMALL_RESULT",
    "SQL_BIG_RESULT",
    "SQL_BUFFER_RESULT",
    "SQL_NO_CACHE",
    "SQL_CACHE",
    "SQL_CALC_FOUND_ROWS",
];
/// Reserved words that end a list.
const ENDS: [&str; 15] = [
    "FROM",
    "INTO",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "FOR",
    "LOCK",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "PROCEDURE",
    "ON",
    "FETCH",
];
/// Words that end a list, or are names of columns.
const MAY_END: [&str; 5] = ["WINDOW", "RETURNING", "MINUS", "OFFSET", "QUALIFY"];
/// Words behind which the operand of an expression stands, and no alias.
const LEADS: [&str; 31] = [
    "AND", "OR", "XOR", "NOT", "IS", "LIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV", "MOD", "COLLATE", "BINARY",
    "IN", "ESCAPE", "SOUNDS", "MEMBER", "OF", "OVER", "CASE", "WHEN", "THEN", "ELSE", "SELECT", "DISTINCT",
    "ALL", "ANY", "SOME", "EXISTS", "ROW", "FOR",
];
/// Words before a string that are one literal with it.
const TYPES: [&str; 3] = ["DATE", "TIME", "TIMESTAMP"];

/// The item in which an edit would change the name of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unnamed(pub Span);

/// The edits, and an alias for each item of a select list whose name they would change.
///
/// # Errors
/// [`Unnamed`] where an item has an edit and cannot be given its name.
pub fn keep(text: &[u8], mode: LexMode, mut edits: Vec<Edit>) -> Result<Vec<Edit>, Unnamed> {
    if edits.is_empty() || are_behind_the_list(text, &edits) {
        return Ok(edits);
    }
    let tokens: Vec<Token> = Lexer::new(text, mode).significant().collect();
    let class = classify(text, mode);
    let items = Lists::of(text, &tokens, class).items;
    // Of those that begin together, one that takes out a whole item comes first.
    edits.sort_by_key(|edit| (edit.span.start, Reverse(edit.span.end)));
    let mut aliases = Vec::new();
    for item in items {
        let span = item.span();
        let first = edits.partition_point(|edit| edit.span.start < span.start);
        let mut begun = edits[first..]
            .iter()
            .take_while(|edit| edit.span.start <= span.end);
        let inside = begun.find(|edit| edit.span.end <= span.end);
        // An item that is taken out has no name.
        if inside.is_some_and(|edit| edit.span != span || !edit.text.is_empty()) {
            aliases.extend(item.alias(class)?);
        }
    }
    edits.extend(aliases);
    Ok(edits)
}

/// Most statements: one list of plain names, or none, and edits behind it. Nothing is read of them twice.
fn are_behind_the_list(text: &[u8], edits: &[Edit]) -> bool {
    let places = |word: &'static [u8]| places(text, word);
    let mut selects = places(b"SELECT");
    match (selects.next(), selects.next()) {
        (None, _) => places(b"RETURNING").next().is_none(),
        (Some(_), Some(_)) => false,
        (Some(select), None) => {
            let Some(from) = places(b" FROM ").find(|from| *from > select) else {
                return false;
            };
            let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b" ,.*_".contains(byte);
            text[select..from].iter().all(is_plain) && edits.iter().all(|edit| edit.span.start > from)
        }
    }
}

/// The items of all select lists.
struct Lists<'t> {
    text: &'t [u8],
    tokens: &'t [Token],
    items: Vec<Item<'t>>,
    /// For each open parenthesis, and the text itself: where the item begins, if a list is open there.
    open: Vec<Option<usize>>,
    /// Lists that are open.
    depth: usize,
}

impl<'t> Lists<'t> {
    fn of(text: &'t [u8], tokens: &'t [Token], class: StatementClass) -> Self {
        use StatementClass as C;
        let mut lists = Self {
            text,
            tokens,
            items: Vec::new(),
            open: vec![None],
            depth: 0,
        };
        let may_return = matches!(class, C::Insert | C::Replace | C::Delete);
        for (at, token) in tokens.iter().enumerate() {
            match token.kind {
                TokenKind::LeftParen => lists.open.push(None),
                TokenKind::RightParen => {
                    lists.end(at, true);
                    if lists.open.len() > 1 {
                        lists.open.pop();
                    }
                }
                TokenKind::Comma if lists.is_open() => {
                    lists.end(at, true);
                    lists.begin(at + 1);
                }
                TokenKind::Semicolon => lists.end(at, true),
                TokenKind::Word if lists.is_key_word(at) => {
                    let returns = may_return && lists.open.len() == 1 && token.is_word(text, "RETURNING");
                    if token.is_word(text, "SELECT") {
                        lists.end(at, false);
                        lists.begin(at + 1);
                    } else if returns {
                        lists.end(at, true);
                        lists.begin(at + 1);
                    } else if is_any(token, text, &ENDS) {
                        lists.end(at, true);
                    } else if is_any(token, text, &MAY_END) && lists.is_open() {
                        lists.end(at, false);
                    }
                }
                _ => {}
            }
        }
        lists.end(tokens.len(), true);
        lists
    }

    fn is_open(&self) -> bool {
        matches!(self.open.last(), Some(Some(_)))
    }

    fn begin(&mut self, mut at: usize) {
        while self
            .tokens
            .get(at)
            .is_some_and(|token| is_any(token, self.text, &MODIFIERS))
        {
            at += 1;
        }
        if let Some(open) = self.open.last_mut() {
            self.depth += usize::from(open.is_none());
            *open = Some(at);
        }
    }

    /// The item that is open ends before this token.
    fn end(&mut self, at: usize, is_certain: bool) {
        let begun = self.open.last_mut().and_then(Option::take);
        let depth = self.depth;
        self.depth -= usize::from(begun.is_some());
        if let Some(begun) = begun
            && let Some(tokens) = self.tokens.get(begun..at)
            && !tokens.is_empty()
        {
            self.items.push(Item {
                text: self.text,
                tokens,
                is_certain: is_certain && !self.is_behind_comment(begun),
                is_deep: depth > MOST_NESTED,
            });
        }
    }

    /// Whether a comment stands between a comma and this token: MariaDB has it in the name, MySQL has not.
    fn is_behind_comment(&self, at: usize) -> bool {
        let Some(comma) = at.checked_sub(1).map(|before| &self.tokens[before]) else {
            return false;
        };
        let between = &self.text[comma.span.end..self.tokens[at].span.start];
        comma.kind == TokenKind::Comma && !between.iter().all(u8::is_ascii_whitespace)
    }

    /// False for a name in a chain, and for the FOR of NEXT VALUE FOR.
    fn is_key_word(&self, at: usize) -> bool {
        let before = at.checked_sub(1).map(|before| &self.tokens[before]);
        let is_of_sequence = before.is_some_and(|before| before.is_word(self.text, "VALUE"))
            && self.tokens[at].is_word(self.text, "FOR");
        !is_of_sequence && before.is_none_or(|before| before.kind != TokenKind::Dot)
    }
}

/// An item of a select list.
struct Item<'t> {
    text: &'t [u8],
    tokens: &'t [Token],
    /// Where it begins and ends is known.
    is_certain: bool,
    /// It stands inside of more items than are read.
    is_deep: bool,
}

impl Item<'_> {
    fn span(&self) -> Span {
        Span {
            start: self.tokens[0].span.start,
            end: self.tokens[self.tokens.len() - 1].span.end,
        }
    }

    /// The edit that adds its name; `None` where it has a name of its own.
    fn alias(&self, class: StatementClass) -> Result<Option<Edit>, Unnamed> {
        if self.is_deep {
            return Err(Unnamed(self.span()));
        }
        let is_named = self.is_column() || self.has_alias().ok_or(Unnamed(self.span()))?;
        if is_named {
            return Ok(None);
        }
        if !self.is_certain
            || self
                .tokens
                .iter()
                .any(|token| token.kind == TokenKind::ExecutableComment)
        {
            return Err(Unnamed(self.span()));
        }
        let name = self.name().ok_or(Unnamed(self.span()))?;
        if class == StatementClass::Ddl && name.len() > MAX_STORED {
            return Ok(None);
        }
        let end = self.span().end;
        let mut text = b" AS `".to_vec();
        for &byte in name.iter() {
            text.push(byte);
            if byte == b'`' {
                text.push(byte);
            }
        }
        text.push(b'`');
        Ok(Some(Edit {
            span: Span { start: end, end },
            text,
        }))
    }

    /// The name that servers give it.
    fn name(&self) -> Option<Cow<'_, [u8]>> {
        let bytes = self.span().of(self.text);
        if bytes.is_ascii() {
            return (!bytes.contains(&0)).then(|| Cow::Borrowed(&bytes[..bytes.len().min(MAX_NAME)]));
        }
        if bytes.len() > MAX_NAME || bytes.contains(&0) {
            return None;
        }
        // Names have three bytes a character at most.
        Some(match std::str::from_utf8(bytes) {
            Ok(text) if text.chars().any(|char| char.len_utf8() > 3) => {
                let name = text
                    .chars()
                    .map(|char| if char.len_utf8() > 3 { '?' } else { char });
                Cow::Owned(name.collect::<String>().into_bytes())
            }
            _ => Cow::Borrowed(bytes),
        })
    }

    /// A column, or all columns of a table: named by itself.
    fn is_column(&self) -> bool {
        let mut inner = self.tokens;
        while let [first, rest @ ..] = inner
            && (first.kind == TokenKind::LeftParen || first.is_operator(self.text, "+"))
        {
            inner = rest;
        }
        while let [rest @ .., last] = inner
            && last.kind == TokenKind::RightParen
        {
            inner = rest;
        }
        let is_in_place = |(at, token): (usize, &Token)| match at % 2 {
            0 => token.is_name() || (at > 0 && at + 1 == inner.len() && token.is_operator(self.text, "*")),
            _ => token.kind == TokenKind::Dot,
        };
        inner.len() % 2 == 1 && inner.iter().enumerate().all(is_in_place)
    }

    /// Whether it ends with an alias; `None` where that is not certain.
    fn has_alias(&self) -> Option<bool> {
        let is = |token: &Token, words: &[&str]| is_any(token, self.text, words);
        if self.tokens[0].kind == TokenKind::Operator && !is_sign(&self.tokens[0], self.text) {
            return None;
        }
        let [.., before, last] = self.tokens else {
            return Some(false);
        };
        if is(before, &["AS"]) {
            return Some(true);
        }
        let may_be_alias = last.is_name() || last.kind == TokenKind::String;
        let is_operand = match before.kind {
            TokenKind::Operator | TokenKind::Dot | TokenKind::LeftParen | TokenKind::Introducer => false,
            TokenKind::Word => !is(before, &LEADS),
            TokenKind::Unknown | TokenKind::Comma => return None,
            _ => true,
        };
        if !may_be_alias || !is_operand {
            return Some(false);
        }
        if last.kind == TokenKind::String && (before.is_string() || is(before, &TYPES)) {
            return Some(false);
        }
        // The unit of an interval and the end of a CASE stand where an alias would.
        if last.kind == TokenKind::Word && self.has_interval() {
            return None;
        }
        match (is(last, &["END"]), self.ends_case()) {
            (true, false) => None,
            (true, true) => Some(false),
            (false, _) => Some(true),
        }
    }

    /// Whether an interval stands outside parentheses.
    fn has_interval(&self) -> bool {
        let mut depth = 0_usize;
        self.tokens.iter().any(|token| {
            match token.kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.is_word(self.text, "INTERVAL")
        })
    }

    /// Whether an END at the end is that of a CASE.
    fn ends_case(&self) -> bool {
        let count = |word: &str| {
            self.tokens
                .iter()
                .filter(|token| token.is_word(self.text, word))
                .count()
        };
        count("CASE") == count("END")
    }
}

fn is_any(token: &Token, text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| token.is_word(text, word))
}

fn is_sign(token: &Token, text: &[u8]) -> bool {
    ["-", "+", "!", "~", "*"]
        .iter()
        .any(|sign| token.is_operator(text, sign))
}
