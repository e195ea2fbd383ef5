//! MySQL's SQL as SQLite takes it. Token by token: what SQLite understands is passed on as it is.

use shardwright_wire::MysqlError;

use super::create_table;
use super::lexer::{Token, TokenKind, without_space};
use super::names::{quote_name, quote_text};

/// A statement for SQLite.
#[derive(Debug, Default)]
pub(super) struct Translated {
    pub(super) sql: String,
    /// Texts that were replaced: SQLite names columns by their text.
    replaced: Vec<Replacement>,
    /// String literals, which name columns by their contents.
    literals: Vec<Replacement>,
    /// Names before a `.`: they may be schemas.
    pub(super) qualifiers: Vec<String>,
}

/// A text that SQLite has in place of another.
#[derive(Debug)]
struct Replacement {
    sqlite: String,
    mysql: String,
}

impl Translated {
    /// The name that MySQL would give a column that SQLite calls `name`.
    pub(super) fn column_name(&self, name: &str) -> String {
        if let Some(literal) = self.literals.iter().find(|literal| literal.sqlite == name) {
            return literal.mysql.clone();
        }
        let mut name = name.to_owned();
        for Replacement { sqlite, mysql } in &self.replaced {
            if name.contains(sqlite.as_str()) {
                name = name.replace(sqlite.as_str(), mysql);
            }
        }
        name
    }
}

/// Translates a statement; new tables go into `schema`.
pub(super) fn translate(tokens: &[Token<'_>], schema: Option<&str>) -> Result<Translated, MysqlError> {
    let significant: Vec<Token<'_>> = without_locking(without_space(tokens));
    let created = create_table::rewrite(&significant);
    let tokens = created.as_deref().unwrap_or(&significant);
    let new_name_at = created_name(tokens);
    let mut out = Translated::default();
    for (at, token) in tokens.iter().enumerate() {
        let previous = at.checked_sub(1).and_then(|at| tokens.get(at));
        let next = tokens.get(at + 1);
        if needs_space(previous, token) {
            out.sql.push(' ');
        }
        if new_name_at == Some(at)
            && !next.is_some_and(|next| next.is_symbol("."))
            && let Some(schema) = schema
        {
            out.sql.push_str(&quote_name(schema));
            out.sql.push('.');
        }
        if next.is_some_and(|next| next.is_symbol("."))
            && let Some(name) = token.name()
        {
            out.qualifiers.push(name);
        }
        put(&mut out, token, previous, next);
    }
    Ok(out)
}

/// Writes one token.
fn put(out: &mut Translated, token: &Token<'_>, previous: Option<&Token<'_>>, next: Option<&Token<'_>>) {
    let is_name = previous.is_some_and(|previous| previous.is_symbol("."))
        || next.is_some_and(|next| next.is_symbol("."));
    let replacement = match token.kind {
        TokenKind::Text => quote_text(&token.string().unwrap_or_default()),
        TokenKind::SystemVariable => call("mysql_system_variable", &token.text[2..]),
        TokenKind::UserVariable => call("mysql_user_variable", &token.text[1..]),
        TokenKind::Symbol => match token.text {
            "||" => "OR".to_owned(),
            "&&" => "AND".to_owned(),
            "<=>" => "IS".to_owned(),
            "!" => "NOT".to_owned(),
            same => same.to_owned(),
        },
        TokenKind::Word if is_name => token.text.to_owned(),
        // A character set before a string, as in _utf8mb4'…'.
        TokenKind::Word
            if token.text.starts_with('_') && next.is_some_and(|next| next.kind == TokenKind::Text) =>
        {
            String::new()
        }
        TokenKind::Word if token.is_word("DIV") => "/".to_owned(),
        TokenKind::Word if token.is_word("MOD") && !next.is_some_and(|next| next.is_symbol("(")) => {
            "%".to_owned()
        }
        TokenKind::Word
            if token.is_word("IGNORE")
                && previous.is_some_and(|word| word.is_word("INSERT") || word.is_word("UPDATE")) =>
        {
            "OR IGNORE".to_owned()
        }
        _ => token.text.to_owned(),
    };
    if let Some(contents) = token.string() {
        out.literals.push(Replacement {
            sqlite: replacement.clone(),
            mysql: contents,
        });
    }
    if replacement != token.text {
        out.replaced.push(Replacement {
            sqlite: replacement.clone(),
            mysql: token.text.to_owned(),
        });
    }
    out.sql.push_str(&replacement);
}

fn call(function: &str, name: &str) -> String {
    format!("{function}({})", quote_text(name))
}

/// Tokens that stood together stay together, so that columns keep their names.
fn needs_space(previous: Option<&Token<'_>>, token: &Token<'_>) -> bool {
    let Some(previous) = previous else { return false };
    let is_apart = previous.text.as_bytes().as_ptr_range().end != token.text.as_ptr();
    let is_double_minus = previous.is_symbol("-") && token.is_symbol("-");
    is_apart || is_double_minus || is_spelled_out(previous) || is_spelled_out(token)
}

/// Operators that become words.
fn is_spelled_out(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Symbol && matches!(token.text, "||" | "&&" | "<=>" | "!")
}

/// Takes `FOR UPDATE`, `FOR SHARE` and `LOCK IN SHARE MODE` off the end of a query: SQLite locks whole databases.
fn without_locking(mut tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let endings: [&[&str]; 3] = [
        &["FOR", "UPDATE"],
        &["FOR", "SHARE"],
        &["LOCK", "IN", "SHARE", "MODE"],
    ];
    for waiting in [["NOWAIT"].as_slice(), &["SKIP", "LOCKED"], &[]] {
        for ending in endings {
            let words: Vec<&str> = ending.iter().chain(waiting).copied().collect();
            if tokens.len() > words.len() && ends_with(&tokens, &words) {
                tokens.truncate(tokens.len() - words.len());
                return tokens;
            }
        }
    }
    tokens
}

fn ends_with(tokens: &[Token<'_>], words: &[&str]) -> bool {
    tokens[tokens.len() - words.len()..]
        .iter()
        .zip(words)
        .all(|(token, word)| token.is_word(word))
}

/// Where the name of what a CREATE statement makes stands, unless it is temporary: SQLite makes it in its main
/// database, which is not the current schema.
fn created_name(tokens: &[Token<'_>]) -> Option<usize> {
    if !tokens.first()?.is_word("CREATE") {
        return None;
    }
    let kinds = ["TABLE", "VIEW", "INDEX", "TRIGGER"];
    let at = tokens
        .iter()
        .take(4)
        .position(|token| kinds.iter().any(|kind| token.is_word(kind)))?;
    if tokens[1..at]
        .iter()
        .any(|token| token.is_word("TEMPORARY") || token.is_word("TEMP"))
    {
        return None;
    }
    let is_conditional = tokens.get(at + 1).is_some_and(|token| token.is_word("IF"));
    Some(if is_conditional { at + 4 } else { at + 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::lexer;

    fn translated(sql: &str) -> String {
        translate(&lexer::tokens(sql).unwrap(), Some("world"))
            .unwrap()
            .sql
    }

    #[test]
    fn mysql_becomes_sqlite() {
        for (mysql, sqlite) in [
            (r"SELECT 'it\'s'", "SELECT 'it''s'"),
            ("SELECT \"text\"", "SELECT 'text'"),
            ("SELECT `a``b` FROM `t`", "SELECT `a``b` FROM `t`"),
            ("SELECT a||b && c <=> d", "SELECT a OR b AND c IS d"),
            (
                "SELECT 5 DIV 2, 5 MOD 2, MOD(5, 2)",
                "SELECT 5 / 2, 5 % 2, MOD(5, 2)",
            ),
            ("SELECT 1--1", "SELECT 1- -1"),
            ("SELECT a # c\nFROM t -- d", "SELECT a FROM t"),
            ("SELECT 1 FOR UPDATE", "SELECT 1"),
            ("SELECT 1 FOR UPDATE SKIP LOCKED", "SELECT 1"),
            ("SELECT 1 LOCK IN SHARE MODE", "SELECT 1"),
            (
                "INSERT IGNORE INTO t VALUES (1)",
                "INSERT OR IGNORE INTO t VALUES (1)",
            ),
            ("SELECT _utf8mb4'x'", "SELECT 'x'"),
            ("CREATE TABLE t (a INT)", "CREATE TABLE \"world\".t (a INTEGER )"),
            (
                "CREATE TABLE IF NOT EXISTS u.t (a INT)",
                "CREATE TABLE IF NOT EXISTS u.t (a INTEGER )",
            ),
            (
                "CREATE TEMPORARY TABLE t (a INT)",
                "CREATE TEMPORARY TABLE t (a INTEGER )",
            ),
            (
                "CREATE UNIQUE INDEX i ON t (a)",
                "CREATE UNIQUE INDEX \"world\".i ON t (a)",
            ),
        ] {
            assert_eq!(translated(mysql), sqlite, "{mysql}");
        }
    }

    #[test]
    fn columns_keep_the_names_that_mysql_gives_them() {
        let tokens = lexer::tokens("SELECT @@version_comment, \"x\"").unwrap();
        let translated = translate(&tokens, None).unwrap();
        assert_eq!(
            translated.column_name("mysql_system_variable('version_comment')"),
            "@@version_comment"
        );
        assert_eq!(translated.column_name("'x'"), "x");
        assert_eq!(translated.column_name("plain"), "plain");
    }

    #[test]
    fn qualifiers_are_collected() {
        let tokens = lexer::tokens("SELECT c.name FROM Europe.City c JOIN `Asia`.City").unwrap();
        assert_eq!(
            translate(&tokens, None).unwrap().qualifiers,
            ["c", "Europe", "Asia"]
        );
    }
}
