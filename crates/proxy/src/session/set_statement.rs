//! What a SET statement means for a session: refused, kept by the proxy, or repeated on every connection.

use shardwright_rules::Statement;
use shardwright_sql::set::{self, Scope, SetItem, Value};
use shardwright_sql::{LexMode, StatementClass};
use shardwright_wire::charset::is_lexable;
use shardwright_wire::{MysqlError, errors};

use super::holds::SetLeft;
use super::statement_words::inside_executable_comment;
use crate::set_names::SetNames;

/// What to do about a SET statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SetPlan {
    /// The character set after it.
    pub(crate) names: Option<SetNames>,
    /// Autocommit after it.
    pub(crate) autocommit: Option<bool>,
    /// It is about the next transaction only.
    pub(crate) next_transaction: bool,
    /// What it leaves on a connection beside the above.
    pub(crate) left: SetLeft,
    /// The variables that it sets, when it sets nothing else; for finding what it supersedes.
    pub(crate) variables: Vec<String>,
    /// It changes the server, not the session.
    pub(crate) is_global: bool,
    /// It assigns user variables, which only a connection can keep.
    pub(crate) user_variables: bool,
}

impl SetPlan {
    /// Reads a SET statement; `None` for other statements.
    ///
    /// # Errors
    /// The error for the client, where statements after it could not be read rightly.
    pub(crate) fn of_statement(statement: &Statement<'_>) -> Result<Option<Self>, MysqlError> {
        let shape = statement.shape();
        if shape.class != StatementClass::Set {
            return Ok(None);
        }
        if shape.executable_comment {
            return Self::of_comment(statement).map(Some);
        }
        Self::of(statement.text(), statement.mode()).map(Some)
    }

    /// A SET that only some servers execute: it is sent to each connection, as what it leaves depends on the server.
    fn of_comment(statement: &Statement<'_>) -> Result<Self, MysqlError> {
        let Some(inside) = inside_executable_comment(statement.text()) else {
            return Err(errors::PARSE.with(
                "SET with an executable comment inside is not supported: the proxy cannot know what is set",
            ));
        };
        let mut plan = Self::of(inside, statement.mode())?;
        if plan.left == SetLeft::Nothing && (plan.names.is_some() || plan.next_transaction) {
            plan.left = match plan.user_variables {
                true => SetLeft::Unknown,
                false => SetLeft::Replayable,
            };
        }
        // A server of another version does not execute it, and keeps what it has.
        (plan.names, plan.autocommit) = (None, None);
        Ok(plan)
    }

    fn of(text: &[u8], mode: LexMode) -> Result<Self, MysqlError> {
        let mut plan = Self::default();
        for item in set::items(text, mode) {
            plan.take(&item, text, mode)?;
        }
        if plan.user_variables && plan.left == SetLeft::Replayable {
            // Repeated, `SET @a=@a+1, time_zone=…` would count twice.
            plan.left = SetLeft::Unknown;
        }
        Ok(plan)
    }

    /// Whether the proxy can keep all of it, without a server.
    pub(crate) fn is_kept_here(&self) -> bool {
        let is_about_session = self.names.is_some() || self.autocommit.is_some() || self.next_transaction;
        let is_mixed = self.next_transaction && (self.names.is_some() || self.autocommit.is_some());
        let is_ours_alone = !self.is_global && !self.user_variables;
        is_about_session && !is_mixed && self.left == SetLeft::Nothing && is_ours_alone
    }

    /// Whether it sets autocommit and nothing to an expression, which could read tables.
    pub(crate) fn says_autocommit(&self) -> bool {
        self.autocommit.is_some() && self.left != SetLeft::Unknown && !self.user_variables
    }

    /// Whether it changes how a transaction begins.
    pub(crate) fn is_about_transactions(&self) -> bool {
        const NAMES: [&str; 5] = [
            "transaction",
            "tx_isolation",
            "tx_read_only",
            "transaction_isolation",
            "transaction_read_only",
        ];
        let has_name = |variable: &String| NAMES.contains(&variable.as_str());
        self.next_transaction || self.variables.iter().any(has_name)
    }

    fn take(&mut self, item: &SetItem<'_>, text: &[u8], mode: LexMode) -> Result<(), MysqlError> {
        match item {
            SetItem::Names {
                charset: Some(charset),
                collation,
            } => {
                let charset = lexable(charset)?;
                self.variables.push("names".to_owned());
                match collation.as_deref().map(name_of) {
                    Some(None) => self.left = SetLeft::Unknown,
                    collation => {
                        self.names = Some(SetNames {
                            charset,
                            collation: collation.flatten(),
                        });
                    }
                }
            }
            SetItem::CharacterSet(Some(charset)) => {
                lexable(charset)?;
                self.leave(vec!["character set".to_owned()]);
            }
            SetItem::Names { charset: None, .. } | SetItem::CharacterSet(None) => {
                return Err(errors::UNKNOWN_CHARACTER_SET
                    .with("name the character set: the proxy does not know the server's default"));
            }
            SetItem::Autocommit(on) => self.autocommit = Some(*on),
            SetItem::Variable {
                scope: Scope::Global, ..
            }
            | SetItem::Transaction {
                scope: Scope::Global, ..
            } => {
                self.is_global = true;
            }
            SetItem::Variable {
                scope: Scope::NextTransaction,
                ..
            }
            | SetItem::Transaction {
                scope: Scope::NextTransaction,
                ..
            } => self.next_transaction = true,
            SetItem::Transaction {
                scope: Scope::Session,
                ..
            } => self.leave(vec!["transaction".to_owned()]),
            SetItem::Variable {
                scope: Scope::Session,
                name,
                value,
            } => self.variable(name, value, text, mode)?,
            // The statement mentions a user variable, which is a reason of its own to keep the connection.
            SetItem::UserVariable(_) => self.user_variables = true,
            SetItem::Unknown => self.left = SetLeft::Unknown,
        }
        Ok(())
    }

    fn variable(
        &mut self,
        name: &str,
        value: &Value<'_>,
        text: &[u8],
        mode: LexMode,
    ) -> Result<(), MysqlError> {
        match name {
            "sql_mode" if *value != Value::Default => match set::lex_mode_after(mode, value, text) {
                Some(after) if after == LexMode::default() => {}
                Some(_) => {
                    return Err(errors::WRONG_VALUE_FOR_VAR.with(
                        "sql_mode must not have ANSI_QUOTES or NO_BACKSLASH_ESCAPES: the proxy cannot read statements under them",
                    ));
                }
                None => {
                    return Err(errors::WRONG_VALUE_FOR_VAR.with(
                        "write sql_mode as a literal: the proxy must know that it has no ANSI_QUOTES and no NO_BACKSLASH_ESCAPES",
                    ));
                }
            },
            "character_set_client" | "collation_connection" | "character_set_connection" => {
                match value.text() {
                    Some(charset) => {
                        // A collation's name begins with its character set's.
                        let charset = charset.split(|&byte| byte == b'_').next().unwrap_or_default();
                        lexable(charset)?;
                    }
                    None => {
                        return Err(errors::UNKNOWN_CHARACTER_SET
                            .with("name the character set: the proxy must know how to read statements"));
                    }
                }
            }
            _ => {}
        }
        match value {
            // An expression may read what is different elsewhere.
            Value::Expression(_) if name != "sql_mode" => self.left = SetLeft::Unknown,
            _ => self.leave(vec![name.to_owned()]),
        }
        Ok(())
    }

    fn leave(&mut self, variables: Vec<String>) {
        self.variables.extend(variables);
        if self.left == SetLeft::Nothing {
            self.left = SetLeft::Replayable;
        }
    }
}

/// The name of a character set in which statements can be read.
fn lexable(charset: &[u8]) -> Result<String, MysqlError> {
    match name_of(charset) {
        Some(name) if is_lexable(&name) && set::charset_is_ascii_safe(charset) => Ok(name),
        _ => Err(errors::UNKNOWN_CHARACTER_SET.with(format_args!(
            "character set '{}' is not supported: the proxy cannot read statements in it",
            String::from_utf8_lossy(&charset[..charset.len().min(64)])
        ))),
    }
}

/// A name that can be put into a statement as it is.
fn name_of(bytes: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let fits = !bytes.is_empty() && bytes.len() <= 64 && bytes.iter().all(is_plain);
    fits.then(|| String::from_utf8_lossy(bytes).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sql: &str) -> Result<SetPlan, u16> {
        SetPlan::of(sql.as_bytes(), LexMode::default()).map_err(|error| error.code)
    }

    #[test]
    fn names_and_autocommit_are_kept_here() {
        for sql in [
            "SET NAMES utf8mb4",
            "SET NAMES latin1 COLLATE latin1_bin",
            "SET autocommit=0",
            "SET NAMES utf8, autocommit=1",
        ] {
            assert!(plan(sql).unwrap().is_kept_here(), "{sql}");
        }
        assert_eq!(
            plan("SET NAMES latin1 COLLATE latin1_bin").unwrap().names,
            Some(SetNames {
                charset: "latin1".into(),
                collation: Some("latin1_bin".into())
            })
        );
        assert_eq!(plan("SET autocommit=0").unwrap().autocommit, Some(false));
        assert!(plan("SET TRANSACTION READ ONLY").unwrap().next_transaction);
    }

    #[test]
    fn other_variables_are_repeated() {
        for sql in [
            "SET SESSION sql_mode='STRICT_TRANS_TABLES'",
            "SET time_zone='+00:00', wait_timeout=100",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SET sql_mode=CONCAT(@@sql_mode, ',STRICT_TRANS_TABLES')",
            "SET character_set_results=NULL",
            "SET CHARACTER SET utf8",
        ] {
            let plan = plan(sql).unwrap();
            assert_eq!(plan.left, SetLeft::Replayable, "{sql}");
            assert!(!plan.is_kept_here(), "{sql}");
        }
    }

    #[test]
    fn what_cannot_be_repeated_is_known() {
        for sql in [
            "SET time_zone=(SELECT tz FROM t)",
            "SET ROLE admin",
            "SET time_zone='+00:00', @a=1",
            "SET @a=1, time_zone='+00:00'",
        ] {
            assert_eq!(plan(sql).unwrap().left, SetLeft::Unknown, "{sql}");
        }
        assert_eq!(plan("SET @a=1").unwrap().left, SetLeft::Nothing);
        assert!(!plan("SET @a=1, autocommit=0").unwrap().is_kept_here());
        assert!(!plan("SET NAMES latin1, @a=1").unwrap().is_kept_here());
        assert!(plan("SET GLOBAL max_connections=5").unwrap().is_global);
    }

    #[test]
    fn what_would_blind_the_lexer_is_refused() {
        for (sql, code) in [
            ("SET NAMES gbk", 1115),
            ("SET NAMES 'SJIS'", 1115),
            ("SET CHARACTER SET big5", 1115),
            ("SET character_set_client=gb18030", 1115),
            ("SET character_set_client=@a", 1115),
            ("SET collation_connection=cp932_bin", 1115),
            ("SET NAMES DEFAULT", 1115),
            ("SET sql_mode='ANSI_QUOTES'", 1231),
            ("SET sql_mode='ANSI'", 1231),
            ("SET SESSION sql_mode='NO_BACKSLASH_ESCAPES'", 1231),
            ("SET sql_mode=@a", 1231),
        ] {
            assert_eq!(plan(sql), Err(code), "{sql}");
        }
    }
}
