//! `DATABASE()` and `SCHEMA()` of a session whose connection is in another schema: a session in a logical schema, whose statements
//! run in the schema of a shard, and a question about an earlier statement, which goes to the server of that.
//!
//! # Idea
//!
//! The session's schema takes the place of the call, in an expression that has the call's type, length, character set,
//! coercibility and flags, because it has the call among its arguments (RPAD has its length on a connection without a schema, too):
//!
//! ```sql
//! DELETE FROM t WHERE db = DATABASE()                                            -- is sent as
//! DELETE FROM shop_1.t WHERE db = IF(TRUE,'shop',RPAD(DATABASE(),64,DATABASE()))
//! ```
//!
//! # Invariant
//!
//! No value that is stored, compared or shown is another schema's name: where the call cannot be replaced, the statement is
//! refused. Two kinds of statements are sent as they are. The definition of a view, a routine, a trigger, an event or a table computes
//! nothing yet. A query of the server's own catalogue on a shard (`information_schema.tables`, SHOW) compares the call with names that
//! the server has, and there the shard's schema is the right one.

use shardwright_rules::Statement;
use shardwright_sql::columns::{CatalogueUse, catalogue_use};
use shardwright_sql::rewrite::{self, Edit};
use shardwright_sql::{
    LexMode, Lexer, SessionEffects, Shape, StatementClass, Token, TokenKind, column_names, dynamic,
};
use shardwright_wire::{MysqlError, errors};

use super::Session;
use super::own_values::{call, is_unseen};
use super::routed::RoutedStatement;

const NAMES: [&[u8]; 2] = [b"DATABASE", b"SCHEMA"];
/// Texts in texts that are looked into.
const MAX_NESTED: usize = 8;

const IN_COMMENT: &str =
    "an executable comment or a list of VALUES in the place of a SELECT stands in the statement";
const UNNAMED: &str = "the column that it is in would have another name; give it an alias with AS";
const IN_TEXT: &str = "it stands in a text that is prepared or executed by name";
const MIXED: &str =
    "the statement also reads tables of the server's catalogue, where the shard's schema has another name";
const STORED: &str = "the statement changes rows of a table that it defines";
const OTHER_KIND: &str = "statements of this kind are sent as they are";

/// Whether a statement may read the name of its schema, or give the server a text to run that does.
pub(super) fn may_name_schema(shape: &Shape) -> bool {
    shape.effects.intersects(SessionEffects::READS_SCHEMA)
        || matches!(shape.class, StatementClass::Prepare | StatementClass::Other)
}

impl Session {
    /// A text with the session's schema in the place of `DATABASE()`; `None` where the connection is in that schema, and where
    /// nothing is to be replaced.
    ///
    /// # Errors
    /// The error for the client, where a call cannot be replaced.
    pub(super) fn with_own_schema(
        &self,
        text: &[u8],
        routed: &RoutedStatement<'_>,
    ) -> Result<Option<Vec<u8>>, MysqlError> {
        let requirements = &routed.requirements;
        let schema = &self.settings.schema;
        if requirements.schema == *schema && !requirements.needs_no_schema {
            return Ok(None);
        }
        let own = OwnSchema {
            name: schema.as_deref(),
            is_on_shard: requirements.schema.is_some(),
        };
        own.put_in(text, routed.statement).map_err(|why| own.refusal(why))
    }
}

/// The schema that a session is in, as the client knows it.
#[derive(Clone, Copy)]
struct OwnSchema<'a> {
    name: Option<&'a str>,
    /// The statement runs in the schema of a shard.
    is_on_shard: bool,
}

impl OwnSchema<'_> {
    /// # Errors
    /// Why a call cannot be replaced.
    fn put_in(self, text: &[u8], statement: &Statement<'_>) -> Result<Option<Vec<u8>>, &'static str> {
        let (shape, mode) = (statement.shape(), statement.mode());
        if runs_such_text(text, mode, MAX_NESTED) {
            return Err(IN_TEXT);
        }
        if !shape.effects.intersects(SessionEffects::READS_SCHEMA) {
            return Ok(None);
        }
        let is_computed = match shape.class {
            StatementClass::Ddl => !fills_a_table(text, mode),
            class => self.is_on_shard && is_about_catalogue(text, mode, class)?,
        };
        if is_computed {
            return Ok(None);
        }
        match shape.class {
            StatementClass::Ddl => Err(STORED),
            class if !takes_schema(class) => Err(OTHER_KIND),
            class => self.replaced(text, mode, class),
        }
    }

    fn replaced(
        self,
        text: &[u8],
        mode: LexMode,
        class: StatementClass,
    ) -> Result<Option<Vec<u8>>, &'static str> {
        let tokens: Vec<Token> = Lexer::new(text, mode).significant().collect();
        if !is_unseen(text, &tokens, class) {
            return Err(IN_COMMENT);
        }
        let calls = (0..tokens.len()).filter_map(|at| call(text, &tokens, at, &NAMES));
        let edits: Vec<Edit> = calls
            .map(|span| Edit {
                span,
                text: self.expression().into_bytes(),
            })
            .collect();
        let shows_columns = !matches!(class, StatementClass::Explain | StatementClass::Show);
        let edits = if shows_columns {
            column_names::keep(text, mode, edits).map_err(|_| UNNAMED)?
        } else {
            edits
        };
        Ok((!edits.is_empty()).then(|| rewrite::apply(text, &edits)))
    }

    /// The name, of the type of the server's own.
    fn expression(self) -> String {
        let name = self.name.map_or_else(|| "NULL".to_owned(), literal);
        format!("IF(TRUE,{name},RPAD(DATABASE(),64,DATABASE()))")
    }

    fn refusal(self, why: &str) -> MysqlError {
        errors::NOT_SUPPORTED_YET.with(format_args!(
            "the proxy cannot give DATABASE() the value {} here: {why}; write the schema's name instead of the call",
            self.name.map_or_else(|| "NULL".to_owned(), |name| format!("'{name}'"))
        ))
    }
}

/// A name as a literal that every sql_mode and character set reads alike.
fn literal(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_$- ".contains(&byte);
    if name.bytes().all(is_plain) {
        return format!("'{name}'");
    }
    let digits: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("_utf8mb4 0x{digits}")
}

/// The kinds of statements that compute their expressions at once, and store no text of theirs.
fn takes_schema(class: StatementClass) -> bool {
    use StatementClass as C;
    matches!(
        class,
        C::Select
            | C::Insert
            | C::Replace
            | C::Update
            | C::Delete
            | C::Load
            | C::Call
            | C::Do
            | C::Set
            | C::Explain
            | C::Show
    )
}

/// Whether a text gives the server a text to run in which the function is called.
fn runs_such_text(text: &[u8], mode: LexMode, depth: usize) -> bool {
    if !dynamic::runs_text(text, mode) {
        return false;
    }
    let reads = |inner: &[u8]| {
        let is_called = Shape::of(inner, mode)
            .effects
            .intersects(SessionEffects::READS_SCHEMA);
        is_called || depth == 0 || runs_such_text(inner, mode, depth - 1)
    };
    dynamic::texts(text, mode).is_ok_and(|texts| texts.iter().any(|inner| reads(inner)))
}

/// Whether a statement asks what a server has, by names of that server.
///
/// # Errors
/// It reads tables of both kinds.
fn is_about_catalogue(text: &[u8], mode: LexMode, class: StatementClass) -> Result<bool, &'static str> {
    if class == StatementClass::Show {
        return Ok(true);
    }
    match catalogue_use(text, mode) {
        CatalogueUse::None => Ok(false),
        CatalogueUse::Only if matches!(class, StatementClass::Select | StatementClass::Explain) => Ok(true),
        CatalogueUse::Only | CatalogueUse::Mixed => Err(MIXED),
    }
}

/// `CREATE TABLE … SELECT …` and `ALTER TABLE`, whose new columns have their default in the rows that are there.
fn fills_a_table(text: &[u8], mode: LexMode) -> bool {
    let mut words = Lexer::new(text, mode).significant();
    let Some(first) = words.next() else {
        return false;
    };
    let is_query = |token: &Token| token.is_word(text, "SELECT") || token.is_word(text, "VALUES");
    let is_opaque = |token: &Token| token.kind == TokenKind::ExecutableComment;
    let mut before_table = words
        .by_ref()
        .take_while(|token| !token.is_word(text, "TABLE"))
        .collect::<Vec<_>>();
    let last = before_table.pop();
    let is_table = last.is_none_or(|token| {
        ["TEMPORARY", "REPLACE", "ONLINE", "OFFLINE", "IGNORE"]
            .iter()
            .any(|word| token.is_word(text, word))
    });
    is_table && (first.is_word(text, "ALTER") || words.any(|token| is_query(&token) || is_opaque(&token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_in(text: &str, is_on_shard: bool) -> Result<Option<String>, &'static str> {
        let own = OwnSchema {
            name: Some("shop"),
            is_on_shard,
        };
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        let sent = own.put_in(text.as_bytes(), &statement)?;
        Ok(sent.map(|sent| {
            let sent = String::from_utf8(sent).unwrap();
            sent.replace(&own.expression(), "'shop'")
        }))
    }

    #[test]
    fn the_sessions_schema_takes_the_place_of_the_call() {
        for (text, expected) in [
            (
                "SELECT DATABASE(), schema ( ) FROM t",
                "SELECT 'shop' AS `DATABASE()`, 'shop' AS `schema ( )` FROM t",
            ),
            (
                "DELETE FROM t WHERE db = DATABASE()",
                "DELETE FROM t WHERE db = 'shop'",
            ),
            (
                "INSERT INTO t VALUES (1, DATABASE()) ON DUPLICATE KEY UPDATE db = SCHEMA()",
                "INSERT INTO t VALUES (1, 'shop') ON DUPLICATE KEY UPDATE db = 'shop'",
            ),
            (
                "INSERT INTO t (db) VALUES ('x') RETURNING DATABASE()",
                "INSERT INTO t (db) VALUES ('x') RETURNING 'shop' AS `DATABASE()`",
            ),
            ("SET @a = DATABASE()", "SET @a = 'shop'"),
            ("DO DATABASE()", "DO 'shop'"),
            ("CALL p(DATABASE())", "CALL p('shop')"),
            (
                "ANALYZE DELETE FROM t WHERE db = DATABASE()",
                "ANALYZE DELETE FROM t WHERE db = 'shop'",
            ),
            (
                "LOAD DATA INFILE 'x' INTO TABLE t SET db = DATABASE()",
                "LOAD DATA INFILE 'x' INTO TABLE t SET db = 'shop'",
            ),
        ] {
            assert_eq!(put_in(text, true), Ok(Some(expected.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_no_call_stays() {
        for text in [
            "SELECT 'DATABASE()', `DATABASE`(), s.DATABASE(), a AS `schema` FROM t",
            "PREPARE s FROM 'SELECT ''DATABASE()'''",
            "CREATE VIEW v AS SELECT DATABASE()",
            "CREATE OR REPLACE VIEW v AS SELECT DATABASE() FROM t",
            "CREATE PROCEDURE p() CREATE TABLE t SELECT DATABASE()",
            "CREATE TABLE t (a VARCHAR(64) DEFAULT (DATABASE()))",
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()",
            "EXPLAIN SELECT 1 FROM mysql.db WHERE db = DATABASE()",
            "SHOW TABLES FROM shop WHERE 'shop' = DATABASE()",
        ] {
            assert_eq!(put_in(text, true), Ok(None), "{text}");
        }
    }

    #[test]
    fn a_call_that_stays_is_refused() {
        for (text, expected) in [
            ("SELECT /*! DATABASE(), */ 1", IN_COMMENT),
            ("SELECT * FROM (VALUES (DATABASE())) t", IN_COMMENT),
            ("SELECT DATABASE() + INTERVAL 1 DAY", UNNAMED),
            ("PREPARE s FROM 'SELECT DATABASE()'", IN_TEXT),
            ("EXECUTE IMMEDIATE 'PREPARE s FROM ''DO SCHEMA()'''", IN_TEXT),
            (
                "SELECT 1 FROM t, information_schema.tables WHERE table_schema = DATABASE()",
                MIXED,
            ),
            (
                "INSERT INTO t SELECT DATABASE() FROM information_schema.tables",
                MIXED,
            ),
            ("CREATE TABLE t SELECT DATABASE() AS a", STORED),
            (
                "CREATE OR REPLACE TEMPORARY TABLE t AS SELECT DATABASE() AS a",
                STORED,
            ),
            ("ALTER TABLE t ADD b VARCHAR(64) DEFAULT (DATABASE())", STORED),
            ("HANDLER t READ FIRST WHERE a = DATABASE()", OTHER_KIND),
            (
                "SET STATEMENT max_statement_time=1 FOR SELECT DATABASE()",
                OTHER_KIND,
            ),
        ] {
            assert_eq!(put_in(text, true), Err(expected), "{text}");
        }
    }

    #[test]
    fn off_the_shards_a_query_of_the_catalogue_has_the_sessions_schema() {
        let text = "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE()";
        let expected = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'shop'";
        assert_eq!(put_in(text, false), Ok(Some(expected.to_owned())));
    }

    #[test]
    fn names_are_read_alike_everywhere() {
        assert_eq!(literal("shop-2_a $"), "'shop-2_a $'");
        assert_eq!(literal("l'é"), "_utf8mb4 0x6c27c3a9");
    }
}
