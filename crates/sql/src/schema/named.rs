//! Every name in a statement that may be a schema's, wherever a server would read it.

use std::borrow::Cow;

use super::references;
use crate::class::{MAX_NESTED, StatementClass, classify, code_of};
use crate::dynamic::{self, MadeAtRunTime};
use crate::lex::{LexMode, Lexer, Token, TokenKind, identifier};

/// Words that a schema's name stands directly behind.
const BEFORE_SCHEMAS: [&str; 5] = ["FROM", "IN", "DATABASE", "SCHEMA", "EXISTS"];

/// The names that may be schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedSchemas<'a> {
    /// Quotes removed, with repeats. Some are tables, aliases, or columns in truth.
    pub names: Vec<Cow<'a, [u8]>>,
    /// Why there may be more of them, human-readable.
    pub unseen: Option<&'static str>,
}

/// The first names of dotted chains; what stands behind FROM and kin in SHOW and in changes of schemas; every name where
/// an executable comment stands, as what it belongs to depends on the server's version; and all of these in texts that
/// the statement gives the server to run.
pub fn named_schemas(text: &[u8], mode: LexMode) -> NamedSchemas<'_> {
    let mut named = NamedSchemas::default();
    collect(text, mode, MAX_NESTED, &mut named);
    named
}

fn collect<'a>(text: &'a [u8], mode: LexMode, depth: usize, named: &mut NamedSchemas<'a>) {
    let references = references(text, mode);
    named
        .names
        .extend(references.into_iter().map(|reference| reference.name));
    let has_code = has_code(text, mode);
    if has_code {
        every_name(text, mode, depth, named);
    } else if is_about_rows(classify(text, mode)) {
        return;
    }
    behind_words(text, mode, named);
    if !dynamic::runs_text(text, mode) {
        return;
    }
    match (dynamic::texts(text, mode), depth.checked_sub(1)) {
        (Ok(texts), Some(depth)) => {
            for inner in texts {
                let mut found = NamedSchemas::default();
                collect(&inner, mode, depth, &mut found);
                let names = found.names.into_iter().map(|name| Cow::Owned(name.into_owned()));
                named.names.extend(names);
                named.unseen = named.unseen.or(found.unseen);
            }
        }
        (Err(MadeAtRunTime), _) | (_, None) => {
            named.unseen = Some("the text that it runs is made at run time")
        }
    }
}

fn has_code(text: &[u8], mode: LexMode) -> bool {
    // Without one of these bytes there is no such token.
    memchr::memchr2(b'/', b'$', text).is_some()
        && Lexer::new(text, mode).any(|token| {
            matches!(
                token.kind,
                TokenKind::ExecutableComment | TokenKind::ReadOtherwise
            )
        })
}

fn is_about_rows(class: StatementClass) -> bool {
    use StatementClass as C;
    matches!(class, C::Select | C::Insert | C::Replace | C::Update | C::Delete)
}

/// Every name outside and inside executable comments.
fn every_name<'a>(text: &'a [u8], mode: LexMode, depth: usize, named: &mut NamedSchemas<'a>) {
    for token in Lexer::new(text, mode) {
        if token.kind == TokenKind::ExecutableComment {
            let inner = code_of(token.span.of(text));
            match depth.checked_sub(1) {
                Some(depth) => every_name(inner, mode, depth, named),
                None => named.unseen = Some("its executable comments are nested too deep"),
            }
        } else {
            named.names.extend(identifier(&token, text));
        }
        if !token.terminated {
            named.unseen = Some("it ends inside a comment, string or quoted name");
        }
    }
}

fn behind_words<'a>(text: &'a [u8], mode: LexMode, named: &mut NamedSchemas<'a>) {
    let mut previous: Option<Token> = None;
    for token in Lexer::new(text, mode).significant() {
        let before = previous.replace(token);
        let follows =
            before.is_some_and(|before| BEFORE_SCHEMAS.iter().any(|word| before.is_word(text, word)));
        if follows {
            named.names.extend(identifier(&token, text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_seen_wherever_a_server_reads_them() {
        let finds = |text: &str| {
            let named = named_schemas(text.as_bytes(), LexMode::default());
            named.unseen.is_some() || named.names.iter().any(|name| &**name == b"acct_01")
        };
        for text in [
            "SELECT c FROM acct_01.bal",
            "SELECT c FROM /*! acct_01. */ bal",
            "SELECT c FROM /*!50000 `acct_01` */ /*M! . */ bal",
            "SELECT c FROM /*! /*!99999 acct_01 */ . */ bal",
            "SHOW TABLES FROM acct_01",
            "show full columns from bal in `acct_01`",
            "SHOW CREATE DATABASE IF NOT EXISTS acct_01",
            "DROP DATABASE acct_01",
            "ALTER SCHEMA acct_01 COLLATE utf8mb4_bin",
            "DESCRIBE acct_01.bal",
            "EXPLAIN SELECT * FROM acct_01.bal",
            "HANDLER acct_01.bal OPEN",
            "CALL acct_01.p()",
            "EXECUTE IMMEDIATE 'select c from acct_01.bal'",
            "PREPARE s FROM 'show tables from acct_01'",
            "PREPARE s FROM 'execute immediate ''drop schema acct_01'''",
            "PREPARE s FROM @q",
            "EXECUTE IMMEDIATE CONCAT('select c from acct', '_01.bal')",
            "EXECUTE /*! IMMEDIATE */ 'select 1'",
            "SET STATEMENT max_statement_time=1 FOR EXECUTE IMMEDIATE @q",
        ] {
            assert!(finds(text), "{text}");
        }
        for text in [
            "SELECT acct_01 FROM bal",
            "SELECT 'acct_01.bal' /* acct_01.bal */",
            "SELECT /*!40001 SQL_NO_CACHE */ c FROM bal",
            "SHOW TABLES",
            "ALTER TABLE bal ADD acct_01 INT",
            "EXECUTE s USING @a",
            "PREPARE s FROM 'select c from bal'",
        ] {
            assert!(!finds(text), "{text}");
        }
    }
}
