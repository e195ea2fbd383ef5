//! Statements that no shard was found for, in a session that is in a logical schema.
//!
//! # Idea
//!
//! A server may have a schema of the logical name, with the tables that are not spread over shards. There such a statement runs as on
//! an unsharded server. Else it runs in no schema, and the server says so where it needs one (1046).
//!
//! # Invariant
//!
//! A name without a schema never means a table of a shard that the statement was not placed on: inside a transaction, the connection
//! may still be in the schema of the shard that the statement before belonged to. A statement in which no name can mean the schema runs
//! in any.

use std::sync::Arc;

use shardwright_rules::{Destination, Statement};
use shardwright_sql::schema::{self, Unqualified};
use shardwright_sql::{SessionEffects, StatementClass, Token, TokenKind, dynamic};

use super::routed::RoutedStatement;
use super::{Flow, Session};

impl Session {
    /// The schema that a statement is to run in, as far as its server needs not be asked; and whether any will do where there is none.
    pub(super) fn schema_for(
        &self,
        statement: &Statement<'_>,
        route: &Destination,
    ) -> (Option<Arc<str>>, bool) {
        let session_schema = self.settings.schema.as_ref();
        let session_schema = session_schema.filter(|_| !statement.follows_transaction());
        let is_logical = self.login.is_logical(session_schema.map(|schema| &**schema));
        let own_schema = session_schema.filter(|_| !is_logical);
        let schema = route.besides().backend_schema.as_ref().or(own_schema);
        (schema.cloned(), schema.is_none() && is_logical)
    }

    /// Whether it has to be known if the statement's server has the logical schema.
    pub(super) fn may_mean_logical_schema(&self, routed: &RoutedStatement<'_>) -> bool {
        let requirements = &routed.requirements;
        requirements.any_schema && !requirements.needs_no_schema && !runs_anywhere(routed.statement)
    }

    /// Has a statement run in the logical schema if its server has one, else in none.
    pub(super) async fn look_for_logical_schema(&mut self, routed: &mut RoutedStatement<'_>) -> Flow {
        let Some(logical) = self.settings.schema.clone() else {
            return Ok(());
        };
        let hostgroup = routed.requirements.hostgroup;
        let is_known = self.is_known_schema(hostgroup, &logical);
        // To change the schema of a connection and change it back takes longer than to read the statement.
        let is_in_another = self
            .held
            .on(hostgroup)
            .is_some_and(|held| held.backend.schema.as_ref() != Some(&logical));
        if (!is_known || is_in_another) && !may_be_within(routed.statement, &logical) {
            return Ok(());
        }
        // A command on the connection would take the place of the statement that is asked about.
        let may_try = !routed.requirements.asks();
        let is_there = is_known || (may_try && self.is_schema_there(hostgroup, &logical).await?);
        routed.requirements.any_schema = false;
        routed.requirements.schema = Some(logical).filter(|_| is_there);
        Ok(())
    }
}

/// Whether no name can stand in the statement that means the session's schema, as its class and its words tell.
fn runs_anywhere(statement: &Statement<'_>) -> bool {
    use StatementClass as C;
    let shape = statement.shape();
    match shape.class {
        // A server keeps the schema with the text that it has prepared.
        C::Prepare => {
            !shape.executable_comment
                && !shape.runs_or_reads()
                && !dynamic::runs_text(statement.text(), statement.mode())
        }
        C::Show => !shape.executable_comment && !shape.runs_or_reads() && !shows_schema(statement),
        C::Do => !shape.beside_code && !shape.runs_or_reads(),
        C::Select | C::Set => statement.is_session_setup(),
        class => class.is_transaction_control() || matches!(class, C::Begin | C::Use | C::Kill | C::Empty),
    }
}

/// Whether a name in the statement may mean the session's schema.
fn may_be_within(statement: &Statement<'_>, logical: &str) -> bool {
    let shape = statement.shape();
    let is_description = shape.class == StatementClass::Explain
        && statement
            .tokens()
            .nth(2)
            .is_some_and(|token| token.kind == TokenKind::Dot);
    if shape.effects.intersects(SessionEffects::UNKNOWN) {
        return true;
    }
    if shape.class == StatementClass::Show {
        return shows_schema(statement);
    }
    let placed = schema::place(
        statement.text(),
        statement.mode(),
        logical,
        Some(logical),
        logical,
        Unqualified::Reject,
    );
    !is_description && placed.is_err()
}

/// Whether a SHOW is about the session's schema or a table in it: `SHOW TABLES`, `SHOW COLUMNS FROM t`, `SHOW CREATE VIEW v`.
fn shows_schema(statement: &Statement<'_>) -> bool {
    let text = statement.text();
    let is_any = |token: &Token, words: &[&str]| words.iter().any(|word| token.is_word(text, word));
    let tokens: Vec<Token> = statement
        .tokens()
        .skip(1)
        .take_while(|token| !is_any(token, &["LIKE", "WHERE", "LIMIT"]))
        .collect();
    let Some(what) = tokens
        .iter()
        .find(|token| !is_any(token, &["FULL", "EXTENDED", "OPEN"]))
    else {
        return false;
    };
    let names_schema = tokens.iter().any(|token| token.kind == TokenKind::Dot);
    let froms = tokens
        .iter()
        .filter(|token| is_any(token, &["FROM", "IN"]))
        .count();
    if is_any(what, &["TABLES", "TABLE", "TRIGGERS", "EVENTS"]) {
        froms == 0
    } else if is_any(what, &["COLUMNS", "FIELDS", "INDEX", "INDEXES", "KEYS"]) {
        froms < 2 && !names_schema
    } else if what.is_word(text, "CREATE") {
        let is_server = tokens
            .iter()
            .any(|token| is_any(token, &["DATABASE", "SCHEMA", "USER", "SERVER"]));
        !is_server && !names_schema
    } else {
        is_any(what, &["PROCEDURE", "FUNCTION", "PACKAGE"])
            && tokens.iter().any(|token| token.is_word(text, "CODE"))
    }
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn names_that_may_mean_the_schema_are_known() {
        for (text, expected) in [
            ("SELECT 1", false),
            ("SELECT @@version, DATABASE()", false),
            ("SELECT a FROM t", true),
            ("SELECT a FROM other.t, shop.u", false),
            ("SELECT 1 FROM information_schema.tables", false),
            ("SELECT f(1)", true),
            ("SELECT 1 /*! FROM t */", true),
            ("SET @a = 1", false),
            ("SET @a = f(1)", true),
            ("SET @a = (SELECT 1 FROM t)", true),
            ("DO SLEEP(0)", false),
            ("COMMIT", false),
            ("SHOW VARIABLES LIKE 'a'", false),
            ("SHOW DATABASES", false),
            ("SHOW TABLES", true),
            ("SHOW FULL TABLES FROM shop", false),
            ("SHOW TABLES LIKE 'FROM'", true),
            ("SHOW TABLE STATUS WHERE Name IN ('a')", true),
            ("SHOW COLUMNS FROM t", true),
            ("SHOW COLUMNS FROM t FROM shop", false),
            ("SHOW INDEX IN shop.t", false),
            ("SHOW CREATE TABLE t", true),
            ("SHOW CREATE TABLE shop.t", false),
            ("SHOW CREATE DATABASE shop", false),
            ("SHOW WARNINGS", false),
            ("DESCRIBE t", true),
            ("DESCRIBE shop.t", false),
            ("EXPLAIN SELECT a FROM t", true),
            ("EXPLAIN SELECT a FROM shop.t", false),
            ("INSERT INTO shop.t VALUES (1)", false),
            ("UPDATE t SET a = 1", true),
            ("CREATE TABLE t (a INT)", true),
            ("CALL p()", true),
            ("PREPARE s FROM 'SELECT 1'", true),
            ("EXECUTE IMMEDIATE 'SELECT 1'", true),
            ("EXECUTE s USING @a", false),
            ("DEALLOCATE PREPARE s", false),
            ("/*!40101 SET NAMES utf8 */", false),
            ("/*!50003 SET @a = f(1) */", true),
            ("/*! SHOW TABLES */", true),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let found = !runs_anywhere(&statement) && may_be_within(&statement, "shop");
            assert_eq!(found, expected, "{text}");
        }
    }
}
