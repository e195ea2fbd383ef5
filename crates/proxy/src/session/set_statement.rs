//! What a SET statement means for a session: refused, kept by the proxy, or repeated on every connection.

use std::borrow::Cow;
use std::time::Duration;

use shardwright_rules::{Encoding, Statement};
use shardwright_sql::set::{self, Scope, SetItem, UnknownMode, Value};
use shardwright_sql::{LexMode, StatementClass};
use shardwright_wire::charset::{charset_of_collation, is_lexable, is_never_of_clients};
use shardwright_wire::{MysqlError, errors};

use super::holds::SetLeft;
use super::statement_words::ExecutableComment;
use super::system_variables::beyond_ascii;
use crate::characteristics::{Characteristics, SessionDefaults};
use crate::set_names::SetNames;

pub(super) mod switches;

/// Variables whose SET does something, once, in place of giving them a value: it must not be repeated.
const NO_VALUES: [&str; 13] = [
    "debug",
    "debug_dbug",
    "debug_sync",
    "gtid_next",
    "gtid_seq_no",
    "identity",
    "insert_id",
    "last_insert_id",
    "profiling",
    "pseudo_replica_mode",
    "pseudo_slave_mode",
    "rand_seed1",
    "rand_seed2",
];

/// Variables whose SET begins or ends a record of statements, which COM_RESET_CONNECTION does not empty.
const RECORDS: [&str; 2] = ["optimizer_trace", "profiling"];

/// The only collation of `filename`, which mysql_common does not list.
const COLLATION_OF_FILES: u16 = 17;

/// A SET of sql_mode.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SqlModeSet {
    /// How statements are read after it.
    pub(crate) mode: LexMode,
    /// A SET that does this and nothing else, where the text says what it is set to.
    pub(crate) alone: Option<Vec<u8>>,
}

/// What to do about a SET statement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SetPlan {
    /// The character set after it.
    pub(crate) names: Option<SetNames>,
    /// `character_set_client` after it, where it sets that.
    pub(crate) client: Option<Encoding>,
    /// `character_set_connection` after it, where it sets that.
    pub(crate) connection: Option<Encoding>,
    /// Autocommit after it.
    pub(crate) autocommit: Option<bool>,
    /// What it sets for the next transaction only.
    pub(crate) next_transaction: Option<Characteristics>,
    /// Every server takes it as it is.
    pub(crate) is_plain: bool,
    /// What it sets for all further transactions.
    pub(crate) defaults: SessionDefaults,
    /// The sql_mode after it, where it sets one.
    pub(crate) sql_mode: Option<SqlModeSet>,
    /// What it leaves on a connection beside the above.
    pub(crate) left: SetLeft,
    /// The variables that it sets, when it sets nothing else; for finding what it supersedes.
    pub(crate) variables: Vec<String>,
    /// What it sets may depend on what was set before, or on the server.
    pub(crate) is_relative: bool,
    /// `wait_timeout` after it: the time for which the client may be silent, where it is said in the text. None: as it was.
    pub(crate) wait_timeout: Option<Duration>,
    /// Whether the client is told of its schema after it, where it sets that in the text.
    pub(crate) tracks_schema: Option<bool>,
    /// It changes the server, not the session.
    pub(crate) is_global: bool,
    /// It sets what COM_RESET_CONNECTION does not undo, or what the proxy cannot tell from that.
    pub(crate) outlasts_reset: bool,
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
        if let Some(set) = Characteristics::read(statement) {
            return Ok(Some(Self {
                next_transaction: Some(set),
                is_plain: true,
                ..Self::default()
            }));
        }
        Self::of(statement.text(), statement.mode()).map(Some)
    }

    /// A SET that only some servers execute: it is sent to each connection, as what it leaves depends on the server.
    fn of_comment(statement: &Statement<'_>) -> Result<Self, MysqlError> {
        let Some(comment) = ExecutableComment::read(statement.text(), statement.mode()) else {
            return Err(errors::PARSE.with(
                "not every server executes a comment inside this SET, so the proxy cannot know what is set: write it without the comment",
            ));
        };
        let mut plan = Self::of(comment.inside, statement.mode())?;
        // Whether it is executed depends on the server.
        plan.next_transaction = plan.next_transaction.map(|_| Characteristics::UNKNOWN);
        if plan.left == SetLeft::Nothing && plan.names.is_some() {
            plan.left = match plan.user_variables {
                true => SetLeft::Unknown,
                false => SetLeft::Replayable,
            };
        }
        // A server of another version does not execute it, and keeps what it has.
        (plan.names, plan.autocommit) = (None, None);
        plan.is_relative = true;
        if !comment.is_for_all {
            plan.client = plan.client.map(|_| Encoding::Ascii);
            plan.connection = plan.connection.map(|_| Encoding::Ascii);
        }
        if !comment.is_for_all && plan.changes_mode(statement.mode()) {
            return Err(errors::WRONG_VALUE_FOR_VAR.with(
                "sql_mode must not be set to ANSI_QUOTES or NO_BACKSLASH_ESCAPES, or back, in a comment that only \
                 some servers execute: the proxy could not read later statements",
            ));
        }
        Ok(plan)
    }

    /// Whether statements are read otherwise after it than in this mode.
    pub(crate) fn changes_mode(&self, before: LexMode) -> bool {
        self.sql_mode
            .as_ref()
            .is_some_and(|set| !set.mode.is_same_sql_mode(before))
    }

    fn of(text: &[u8], mode: LexMode) -> Result<Self, MysqlError> {
        let mut plan = Self::default();
        for item in set::items(text, mode) {
            plan.take(&item)?;
        }
        if plan.user_variables && plan.left == SetLeft::Replayable {
            // Repeated, `SET @a=@a+1, time_zone=…` would count twice.
            plan.left = SetLeft::Unknown;
        }
        let can_be_repeated = |set: &SqlModeSet| plan.left != SetLeft::Unknown || set.alone.is_some();
        if plan.changes_mode(mode) && !plan.sql_mode.as_ref().is_some_and(can_be_repeated) {
            return Err(errors::WRONG_VALUE_FOR_VAR.with(
                "set sql_mode in a SET of its own, or to a literal: the proxy cannot repeat this SET on other connections",
            ));
        }
        Ok(plan)
    }

    /// Whether earlier SETs of the same variables do not matter any more.
    pub(crate) fn supersedes(&self) -> bool {
        !self.is_relative
    }

    /// Whether the proxy can keep all of it, without a server.
    pub(crate) fn is_kept_here(&self) -> bool {
        if self.next_transaction.is_some() {
            return self.is_plain;
        }
        let is_about_session = self.names.is_some() || self.autocommit.is_some();
        let is_ours_alone = !self.is_global && !self.user_variables;
        is_about_session && self.left == SetLeft::Nothing && is_ours_alone
    }

    /// Whether it sets autocommit and nothing to an expression, which could read tables.
    pub(crate) fn says_autocommit(&self) -> bool {
        self.autocommit.is_some() && self.left != SetLeft::Unknown && !self.user_variables
    }

    /// Whether autocommit may be another after it.
    pub(crate) fn may_switch_autocommit(&self) -> bool {
        self.autocommit.is_some() || self.left == SetLeft::Unknown
    }

    /// Whether it sets something for the next transaction, or for all further ones.
    pub(crate) fn sets_transactions(&self) -> bool {
        self.next_transaction.is_some() || self.defaults != SessionDefaults::default()
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
        self.next_transaction.is_some() || self.variables.iter().any(has_name)
    }

    fn take(&mut self, item: &SetItem<'_>) -> Result<(), MysqlError> {
        if let SetItem::Variable { name, .. } = item
            && !name.is_ascii()
        {
            return Err(beyond_ascii(name));
        }
        match item {
            SetItem::Names {
                charset: Some(charset),
                collation,
            } => {
                let charset = lexable(charset)?;
                let encoding = Some(Encoding::of_charset(&charset));
                (self.client, self.connection) = (encoding, encoding);
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
                // The connection gets the character set of the schema, which is not known.
                self.client = Some(Encoding::of_charset(&lexable(charset)?));
                self.connection = Some(Encoding::Ascii);
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
                name,
                value,
            } => {
                let before = self.next_transaction.unwrap_or_default();
                self.next_transaction = Some(before.and(Characteristics::of_variable(name, value)));
            }
            SetItem::Transaction {
                scope: Scope::NextTransaction,
                ..
            } => self.next_transaction = Some(Characteristics::UNKNOWN),
            SetItem::Transaction {
                scope: Scope::Session,
                isolation,
                read_only,
            } => {
                self.defaults.isolation |= isolation.is_some();
                self.defaults.access |= read_only.is_some();
                let names = [
                    isolation.as_ref().map(|_| "transaction_isolation"),
                    read_only.map(|_| "transaction_read_only"),
                ];
                self.leave(names.into_iter().flatten().map(str::to_owned).collect());
            }
            SetItem::Variable {
                scope: Scope::Session,
                name,
                value,
            } => self.variable(name, value)?,
            // The statement mentions a user variable, which is a reason of its own to keep the connection.
            SetItem::UserVariable(_) => self.user_variables = true,
            // ROLE and RESOURCE GROUP are among them.
            SetItem::Unknown => {
                self.left = SetLeft::Unknown;
                self.outlasts_reset = true;
            }
        }
        Ok(())
    }

    fn variable(&mut self, name: &str, value: &Value<'_>) -> Result<(), MysqlError> {
        match name {
            "sql_mode" => {
                self.sql_mode = Some(SqlModeSet {
                    mode: set::lex_mode_after(value).map_err(unreadable)?,
                    alone: setting_sql_mode(value),
                });
            }
            "character_set_client" => {
                let Some(charset) = charset_of(value) else {
                    return Err(errors::UNKNOWN_CHARACTER_SET
                        .with("name the character set: the proxy must know how to read statements"));
                };
                let charset = lexable(&charset).map_err(|error| as_written(error, value));
                self.client = Some(Encoding::of_charset(&charset?));
            }
            // Servers convert literals to it. The text is read in the client's character set.
            "collation_connection" | "character_set_connection" => {
                let charset =
                    charset_of(value).map(|charset| name_of(&charset).ok_or_else(|| unsupported(&charset)));
                let encoding = charset.transpose()?.map(|charset| Encoding::of_charset(&charset));
                self.connection = Some(encoding.unwrap_or(Encoding::Other));
            }
            "tx_isolation" | "transaction_isolation" => self.defaults.isolation = true,
            "tx_read_only" | "transaction_read_only" => self.defaults.access = true,
            "session_track_schema" => self.tracks_schema = value.switch(),
            "wait_timeout" => {
                if let Value::Number(seconds) = value {
                    self.wait_timeout = seconds_of(seconds);
                }
            }
            _ => {}
        }
        self.outlasts_reset |= RECORDS.contains(&name);
        let is_expression = matches!(value, Value::Expression(_));
        self.is_relative |= is_expression;
        // An expression may read what is different elsewhere.
        if is_expression || NO_VALUES.contains(&name) {
            self.left = SetLeft::Unknown;
        } else {
            let name = match name {
                // MariaDB's names for them.
                "tx_isolation" => "transaction_isolation",
                "tx_read_only" => "transaction_read_only",
                name => name,
            };
            self.leave(switches::set_by(name, value));
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

fn unreadable(unknown: UnknownMode) -> MysqlError {
    errors::WRONG_VALUE_FOR_VAR.with(match unknown {
        UnknownMode::OtherGrammar => {
            "sql_mode must not have ORACLE or MSSQL: the proxy cannot read statements of those grammars"
        }
        UnknownMode::Undecided => {
            "write sql_mode as a literal, or as CONCAT, REPLACE and their kin of literals, @@sql_mode and user variables: the proxy must know whether it has ANSI_QUOTES and NO_BACKSLASH_ESCAPES"
        }
    })
}

/// `SET sql_mode='…'`, read alike in every mode; `None` for an expression.
fn setting_sql_mode(value: &Value<'_>) -> Option<Vec<u8>> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b' ');
    match value {
        Value::Default => Some(b"SET sql_mode=DEFAULT".to_vec()),
        Value::Number(number) => Some([b"SET sql_mode=", &number[..]].concat()),
        Value::Text(_) | Value::Word(_) => {
            let list = value.text().filter(|list| list.iter().all(is_plain))?;
            Some([b"SET sql_mode='", list, b"'"].concat())
        }
        Value::Expression(_) => None,
    }
}

/// The name of a character set in which statements can be read.
fn lexable(charset: &[u8]) -> Result<String, MysqlError> {
    match name_of(charset) {
        Some(name) if is_lexable(&name) && set::charset_is_ascii_safe(charset) => Ok(name),
        _ => Err(unsupported(charset)),
    }
}

/// The character set that a variable for one, or for a collation, is set to, where the text says it.
fn charset_of<'a>(value: &'a Value<'_>) -> Option<Cow<'a, [u8]>> {
    if let Value::Number(id) = value {
        return match std::str::from_utf8(id).ok()?.parse().ok()? {
            COLLATION_OF_FILES => Some(Cow::Borrowed(b"filename")),
            id => Some(Cow::Owned(charset_of_collation(id)?.into_bytes())),
        };
    }
    // A collation's name begins with its character set's.
    let name = value.text()?.split(|&byte| byte == b'_').next();
    Some(Cow::Borrowed(name.unwrap_or_default()))
}

/// Of a variable's value, servers show what was written; of SET NAMES, the name of the set.
fn as_written(error: MysqlError, value: &Value<'_>) -> MysqlError {
    let written = match value {
        Value::Number(id) => Some(&**id),
        value => value.text(),
    };
    match written {
        Some(written) if error.code == errors::WRONG_VALUE_FOR_VAR.code => never_of_clients(written),
        _ => error,
    }
}

/// The error of servers for what they do not take for the character set of a client.
pub(super) fn never_of_clients(charset: &[u8]) -> MysqlError {
    errors::WRONG_VALUE_FOR_VAR.with(format_args!(
        "Variable 'character_set_client' can't be set to the value of '{}'",
        String::from_utf8_lossy(&charset[..charset.len().min(64)])
    ))
}

fn unsupported(charset: &[u8]) -> MysqlError {
    if let Some(name) = name_of(charset).filter(|name| is_never_of_clients(name)) {
        return never_of_clients(name.as_bytes());
    }
    errors::UNKNOWN_CHARACTER_SET.with(format_args!(
        "character set '{}' is not supported: the proxy cannot read statements in it",
        String::from_utf8_lossy(&charset[..charset.len().min(64)])
    ))
}

fn seconds_of(number: &[u8]) -> Option<Duration> {
    let seconds: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    // Servers take 0 for 1.
    Some(Duration::from_secs(seconds.max(1)))
}

/// A name that can be put into a statement as it is.
fn name_of(bytes: &[u8]) -> Option<String> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let fits = !bytes.is_empty() && bytes.len() <= 64 && bytes.iter().all(is_plain);
    fits.then(|| String::from_utf8_lossy(bytes).to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
