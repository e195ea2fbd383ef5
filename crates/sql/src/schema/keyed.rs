//! Keys in the names of a statement's tables: `orders_0017`.
//!
//! Rows are read and written through a tree, which tells a table from an alias or a column of the same name. Other
//! statements are read by their tokens: a name counts as a table only directly behind a word that a table must follow.
//! A statement with a name of the form that is not shown to be a table, or not to be one, is undecidable.

use std::collections::HashSet;
use std::hash::Hash;

use super::{NamedTable, Naming, tables};
use crate::class::{MAX_NESTED, StatementClass, classify};
use crate::lex::{LexMode, Lexer, Token, TokenKind, difference, identifier};

/// Words that a table stands behind.
const BEFORE_TABLES: [&str; 14] = [
    "TABLE",
    "TABLES",
    "EXISTS",
    "FROM",
    "INTO",
    "IN",
    "JOIN",
    "ON",
    "LIKE",
    "TRUNCATE",
    "REFERENCES",
    "HANDLER",
    "DESCRIBE",
    "DESC",
];

/// What the name of a table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableName<K> {
    /// It holds this key.
    Key(K),
    /// It would hold one in other letter case, and `lower_case_table_names` decides whether it does.
    OtherCase,
    /// It holds none.
    Plain,
}

/// What is asked of a statement.
#[derive(Clone, Copy, Debug)]
pub struct TableQuestion<'q> {
    /// Only tables of this schema count; none: those of every schema.
    pub logical_schema: Option<&'q str>,
    /// The session's default schema.
    pub session_schema: Option<&'q str>,
    /// How the session's statements are lexed.
    pub mode: LexMode,
}

/// The keys that a statement's tables carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableKeys<K> {
    /// No table that counts carries one.
    None,
    /// Distinct keys in the order of the text.
    Found(Vec<K>),
    /// Something in the statement has the form of such a table, and whether it is one cannot be shown.
    Undecidable {
        /// Why, human-readable.
        reason: String,
        /// The keys of everything that has the form; none where not all of it can be seen.
        mentioned: Option<Vec<K>>,
    },
}

/// The keys in the names of the tables of `text`; `read` says what a name holds.
pub fn table_keys<K: Clone + Eq + Hash>(
    text: &[u8],
    question: &TableQuestion<'_>,
    read: impl Fn(&str) -> TableName<K>,
) -> TableKeys<K> {
    let tokens: Vec<Token> = Lexer::new(text, question.mode).significant().collect();
    let mentions = mentions(text, &tokens, &read);
    if hidden(text, &tokens, question.mode, &read, MAX_NESTED) {
        return TableKeys::Undecidable {
            reason: difference(text, question.mode)
                .unwrap_or_else(|| "a table may stand in an executable comment".to_owned()),
            mentioned: None,
        };
    }
    if mentions.is_empty() {
        return TableKeys::None;
    }
    use StatementClass as C;
    let says = |word: &str| tokens.iter().any(|token| token.is_word(text, word));
    let names_none = match classify(text, question.mode) {
        C::Begin | C::Commit | C::Rollback | C::Savepoint | C::Xa | C::Use | C::Kill | C::Empty => true,
        C::Set | C::Do => !says("SELECT"),
        C::Show => !["FROM", "IN", "CREATE", "TABLE", "TABLES"].into_iter().any(says),
        C::Lock => says("UNLOCK"),
        _ => false,
    };
    if names_none {
        return TableKeys::None;
    }
    let found = match classify(text, question.mode) {
        C::Select | C::Insert | C::Replace | C::Update | C::Delete => of_rows(text, question, &read),
        _ => of_tokens(text, &tokens, question, &mentions, &read),
    };
    match found {
        Ok(keys) if keys.is_empty() => TableKeys::None,
        Ok(keys) => TableKeys::Found(keys),
        Err(reason) => TableKeys::Undecidable {
            reason,
            mentioned: mentions.into_iter().map(|(_, key)| key).collect(),
        },
    }
}

/// Places among the tokens of all names that have the form, with their keys; no key for another letter case.
fn mentions<K>(
    text: &[u8],
    tokens: &[Token],
    read: &impl Fn(&str) -> TableName<K>,
) -> Vec<(usize, Option<K>)> {
    let key = |token: &Token| match read(&String::from_utf8_lossy(&identifier(token, text)?)) {
        TableName::Key(key) => Some(Some(key)),
        TableName::OtherCase => Some(None),
        TableName::Plain => None,
    };
    tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.is_name())
        .filter_map(|(place, token)| Some((place, key(token)?)))
        .collect()
}

/// Whether an executable comment holds a name of the form, or cannot be looked into.
fn hidden<K>(
    text: &[u8],
    tokens: &[Token],
    mode: LexMode,
    read: &impl Fn(&str) -> TableName<K>,
    depth: usize,
) -> bool {
    if tokens.iter().any(|token| token.kind == TokenKind::ReadOtherwise) {
        return true;
    }
    let mut comments = tokens
        .iter()
        .filter(|token| token.kind == TokenKind::ExecutableComment);
    comments.any(|comment| {
        let raw = comment.span.of(text);
        let body = raw
            .strip_prefix(b"/*!")
            .or_else(|| raw.strip_prefix(b"/*M!"))
            .and_then(|body| body.strip_suffix(b"*/"));
        let (Some(body), Some(depth)) = (body.filter(|_| comment.terminated), depth.checked_sub(1)) else {
            return true;
        };
        let digits = body
            .iter()
            .take(6)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let body = &body[digits..];
        let inner: Vec<Token> = Lexer::new(body, mode).collect();
        inner.iter().any(|token| !token.terminated)
            || !mentions(body, &inner, read).is_empty()
            || hidden(body, &inner, mode, read, depth)
    })
}

fn of_rows<K: Clone + Eq + Hash>(
    text: &[u8],
    question: &TableQuestion<'_>,
    read: &impl Fn(&str) -> TableName<K>,
) -> Result<Vec<K>, String> {
    let mut keys = DistinctKeys::default();
    for NamedTable { schema, table, .. } in tables(text, question.mode)? {
        add(&mut keys, schema.as_deref(), &table, question, read)?;
    }
    Ok(keys.all)
}

fn of_tokens<K: Clone + Eq + Hash>(
    text: &[u8],
    tokens: &[Token],
    question: &TableQuestion<'_>,
    mentions: &[(usize, Option<K>)],
    read: &impl Fn(&str) -> TableName<K>,
) -> Result<Vec<K>, String> {
    let kind = |place: usize| tokens.get(place).map(|token| token.kind);
    let name = |place: usize| {
        let name = identifier(&tokens[place], text).unwrap_or_default();
        String::from_utf8_lossy(&name).into_owned()
    };
    let mut keys = DistinctKeys::default();
    for (place, _) in mentions {
        let qualified = *place >= 2 && kind(place - 1) == Some(TokenKind::Dot) && tokens[place - 2].is_name();
        let first = if qualified { place - 2 } else { *place };
        let behind = first.checked_sub(1).map(|before| &tokens[before]);
        let is_table = behind.is_some_and(|token| BEFORE_TABLES.iter().any(|word| token.is_word(text, word)));
        if !is_table || kind(place + 1) == Some(TokenKind::Dot) {
            return Err(format!(
                "whether `{}` is a table here cannot be told",
                name(*place)
            ));
        }
        let schema = qualified.then(|| name(first));
        add(&mut keys, schema.as_deref(), &name(*place), question, read)?;
    }
    Ok(keys.all)
}

/// Keys in the order of the text.
struct DistinctKeys<K> {
    known: HashSet<K>,
    all: Vec<K>,
}

impl<K> Default for DistinctKeys<K> {
    fn default() -> Self {
        Self {
            known: HashSet::new(),
            all: Vec::new(),
        }
    }
}

/// Adds the key of a table that counts.
fn add<K: Clone + Eq + Hash>(
    keys: &mut DistinctKeys<K>,
    schema: Option<&str>,
    table: &str,
    question: &TableQuestion<'_>,
    read: &impl Fn(&str) -> TableName<K>,
) -> Result<(), String> {
    let name = read(table);
    if matches!(name, TableName::Plain) {
        return Ok(());
    }
    if let Some(logical) = question.logical_schema {
        let Some(schema) = schema.or(question.session_schema) else {
            return Ok(());
        };
        match Naming::of(schema.as_bytes(), logical) {
            Naming::Same => {}
            Naming::Other => return Ok(()),
            Naming::SameButForCase => {
                return Err(format!(
                    "`{logical}` is written in other letter case, which may be another schema"
                ));
            }
        }
    }
    match name {
        TableName::Key(key) => {
            if keys.known.insert(key.clone()) {
                keys.all.push(key);
            }
        }
        TableName::Plain => {}
        TableName::OtherCase => {
            return Err(format!(
                "`{table}` has the form of a shard's table in other letter case, which may be another table"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `o_17` holds 17; `O_17` may.
    fn read(name: &str) -> TableName<u32> {
        let key = |prefix: &str| name.strip_prefix(prefix).and_then(|key| key.parse().ok());
        match (key("o_"), key("O_")) {
            (Some(key), _) => TableName::Key(key),
            (None, Some(_)) => TableName::OtherCase,
            (None, None) => TableName::Plain,
        }
    }

    fn shown(text: &str, logical_schema: Option<&str>) -> String {
        let question = TableQuestion {
            logical_schema,
            session_schema: Some("app"),
            mode: LexMode::default(),
        };
        match table_keys(text.as_bytes(), &question, read) {
            TableKeys::None => "none".to_owned(),
            TableKeys::Found(keys) => format!("{keys:?}"),
            TableKeys::Undecidable { mentioned, .. } => match mentioned {
                Some(keys) => format!("undecidable {keys:?}"),
                None => "undecidable".to_owned(),
            },
        }
    }

    #[test]
    fn tables_are_told_from_what_only_looks_like_them() {
        for (text, expect) in [
            ("SELECT o_17.id FROM o_17 JOIN c ON c.id = o_17.c", "[17]"),
            ("SELECT a AS o_17 FROM c", "none"),
            ("SELECT 1 FROM c AS o_17", "none"),
            ("SELECT 'o_17' /* o_18 */ FROM c -- o_19", "none"),
            ("SELECT 1 FROM `o_17` a, x.o_17 b, o_18", "[17, 18]"),
            ("INSERT INTO o_17 VALUES (1)", "[17]"),
            ("INSERT INTO o_17 SELECT * FROM o_18", "[17, 18]"),
            ("UPDATE o_17 SET a = 1", "[17]"),
            ("DELETE FROM o_17", "[17]"),
            ("WITH o_17 AS (SELECT 1) SELECT * FROM o_17", "none"),
            ("SELECT 1 FROM O_17", "undecidable"),
            ("SELECT 1 FROM o_x, xo_17, o_17x", "none"),
            ("SELECT FROM WHERE o_17", "undecidable [17]"),
            ("SELECT 1 /*! FROM o_17 */", "undecidable"),
            ("/*!40101 SET NAMES utf8 */", "none"),
            ("SELECT 1 /*!40101 , 'o_17' */ FROM o_18", "undecidable [18]"),
        ] {
            assert_eq!(shown(text, None), expect, "{text}");
        }
    }

    #[test]
    fn statements_without_rows_are_read_by_their_tokens() {
        for (text, expect) in [
            ("ALTER TABLE o_17 ADD c INT", "[17]"),
            ("CREATE TABLE IF NOT EXISTS x.`o_17` (a INT)", "[17]"),
            ("TRUNCATE o_17", "[17]"),
            ("CREATE INDEX i ON o_17 (a)", "[17]"),
            ("CREATE TABLE audit (o_17 INT)", "undecidable [17]"),
            ("CREATE INDEX o_17 ON c (a)", "undecidable [17]"),
            ("RENAME TABLE o_17 TO o_18", "undecidable [17, 18]"),
            ("DROP TABLE o_17, o_18", "undecidable [17, 18]"),
            ("SHOW CREATE TABLE o_17", "[17]"),
            ("EXPLAIN SELECT o_17.a FROM o_17", "undecidable [17, 17]"),
            ("USE o_17", "none"),
            ("SHOW VARIABLES LIKE 'o_17'", "none"),
            ("SHOW COLUMNS FROM o_17", "[17]"),
            ("SET @a = (SELECT b FROM o_17)", "[17]"),
            ("LOCK TABLES o_17 WRITE", "[17]"),
            ("SET @o_17 = 1", "none"),
            ("BEGIN", "none"),
        ] {
            assert_eq!(shown(text, None), expect, "{text}");
        }
    }

    #[test]
    fn a_logical_schema_limits_the_tables_that_count() {
        for (text, expect) in [
            ("SELECT 1 FROM o_17", "[17]"),
            ("SELECT 1 FROM app.o_17", "[17]"),
            ("SELECT 1 FROM other.o_17", "none"),
            ("SELECT 1 FROM App.o_17", "undecidable [17]"),
            ("TRUNCATE other.o_17", "none"),
        ] {
            assert_eq!(shown(text, Some("app")), expect, "{text}");
        }
    }
}
