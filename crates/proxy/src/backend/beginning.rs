//! The state of a connection after its login, as far as the answer to the login does not tell it.
//!
//! A server runs `init_connect` after that answer. MySQL's answer says autocommit whatever it is, and so do the answers after it
//! until a SET of autocommit; it has no flag for ANSI_QUOTES. (Measured on MariaDB 10.11 and MySQL 9.7.)

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use rustc_hash::FxHasher;
use shardwright_sql::LexMode;
use shardwright_sql::set::{self, Value};
use shardwright_wire::charset::is_lexable;
use shardwright_wire::{Command, TextRows};

use super::{Backend, BackendError, ConnectFailure};
use crate::server_defaults::ServerDefaults;

/// Who is spared `init_connect`.
const IS_SPARED: &str = "(SELECT COUNT(*) FROM information_schema.USER_PRIVILEGES WHERE PRIVILEGE_TYPE IN ('SUPER', 'CONNECTION ADMIN', \
    'CONNECTION_ADMIN') AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), ''''))";

/// Values in the order of the question.
struct Beginning<'a>(&'a TextRows);

impl Beginning<'_> {
    fn text(&self, at: usize) -> Option<&[u8]> {
        self.0.rows.first()?.get(at)?.as_deref()
    }

    fn is_on(&self, at: usize) -> bool {
        self.text(at) == Some(b"1")
    }
}

impl Backend {
    /// Asks a connection that has just logged in how its session begins. A server that does not say, as to an account whose
    /// password has expired, is taken at the word of its login.
    pub(super) async fn learn_beginning(&mut self, patience: Duration) -> Result<(), ConnectFailure> {
        let read_only = if self.is_mariadb {
            "tx_read_only"
        } else {
            "transaction_read_only"
        };
        // MySQL 5.7 has no roles.
        let role = if self.is_mariadb {
            ", CURRENT_ROLE()"
        } else {
            "/*!80011 , CURRENT_ROLE() */"
        };
        let question = format!(
            "SELECT @@autocommit, @@global.autocommit, @@global.{read_only}, @@global.completion_type = 'NO_CHAIN', \
             @@global.init_connect = '', @@character_set_client, @@sql_mode, @@global.session_track_schema, \
             FIND_IN_SET('autocommit', @@global.session_track_system_variables) > 0 OR \
             @@global.session_track_system_variables = '*', @@global.max_connections, \
             CONCAT_WS(':', @@hostname, @@port, @@server_id){role} LIMIT 1"
        );
        let answer = self
            .exchange_rows(question.as_bytes(), patience)
            .await
            .map_err(lost)?;
        let Some(rows) = answer
            .ok()
            .filter(|rows| rows.rows.first().is_some_and(|row| row.len() >= 11))
        else {
            return Ok(());
        };
        let beginning = Beginning(&rows);
        let mut defaults = ServerDefaults::empty();
        for (flag, is_set) in [
            (ServerDefaults::AUTOCOMMIT, beginning.is_on(1)),
            (ServerDefaults::READ_ONLY, beginning.is_on(2)),
            (ServerDefaults::CHAINS, !beginning.is_on(3)),
            (ServerDefaults::INIT_CONNECT, !beginning.is_on(4)),
            (ServerDefaults::TRACKS_SCHEMA, beginning.is_on(7)),
            (ServerDefaults::TRACKS_AUTOCOMMIT, beginning.is_on(8)),
        ] {
            defaults.set(flag, is_set);
        }
        self.member.defaults.note(defaults);
        self.learn_room(&beginning);
        self.first_role = beginning.text(11).unwrap_or_default().into();
        if defaults.contains(ServerDefaults::INIT_CONNECT) {
            let question = format!("SELECT {IS_SPARED} LIMIT 1");
            let spared = self.exchange_value(question.as_bytes()).await.map_err(lost)?;
            self.has_run_init_connect = spared.is_none_or(|privileges| privileges == b"0");
        }
        check_reading(&beginning)?;
        let autocommit = beginning.is_on(0);
        if autocommit != self.autocommit {
            let text: &[u8] = if autocommit {
                b"SET autocommit=1"
            } else {
                b"SET autocommit=1, autocommit=0"
            };
            self.exchange(Command::Query(text)).await.map_err(lost)?;
            self.autocommit = autocommit;
        }
        Ok(())
    }
}

impl Backend {
    /// Takes in how many connections the server has. An address may lead to several servers.
    fn learn_room(&self, beginning: &Beginning<'_>) {
        let text = |at| std::str::from_utf8(beginning.text(at)?).ok();
        let (Some(max_connections), Some(server)) = (text(9), text(10)) else {
            return;
        };
        if let Ok(max_connections) = max_connections.parse() {
            let mut hasher = FxHasher::default();
            server.hash(&mut hasher);
            self.member.room.learn(max_connections, hasher.finish());
        }
    }
}

fn lost(error: BackendError) -> ConnectFailure {
    match error {
        BackendError::Io(error) => ConnectFailure::Io(error),
        BackendError::Silent(patience) => ConnectFailure::Timeout(patience),
        _ => ConnectFailure::Closed,
    }
}

fn check_reading(beginning: &Beginning<'_>) -> Result<(), ConnectFailure> {
    let charset = String::from_utf8_lossy(beginning.text(5).unwrap_or_default());
    if !is_lexable(&charset) {
        return Err(ConnectFailure::Unfit(
            "its character_set_client is one in which statements cannot be read, whatever clients ask for",
        ));
    }
    let modes = Cow::Borrowed(beginning.text(6).unwrap_or_default());
    match set::lex_mode_after(&Value::Text(modes)) {
        Ok(mode) if mode.is_same_sql_mode(LexMode::default()) => Ok(()),
        Ok(_) | Err(_) => Err(ConnectFailure::Unfit(super::OTHER_SQL_MODE)),
    }
}
