//! An sql_mode that a text has set which the session ran. (Procedures, functions, triggers and compound statements give it back.)
//!
//! A server reads the next text in that mode, and so does the session if the proxy can read texts in it.

use shardwright_sql::set::{self, Value};
use shardwright_wire::{Command, MysqlError, errors};

use super::held::Held;
use super::{End, Flow, Session};
use crate::backend::BackendError;
use crate::reading::{TOLD, is_read_in};

/// An sql_mode names some twenty modes.
const MAX_LIST: usize = 2048;

impl Session {
    /// Takes on the sql_mode of a connection, which is not the one that the session has set. If the proxy cannot read texts in it,
    /// the session ends with its next command.
    pub(super) async fn follow_mode(&mut self, held: &mut Held) -> Result<(), BackendError> {
        let list = held.backend.exchange_value(b"SELECT @@sql_mode LIMIT 1").await?;
        let list = list.filter(|list| list.len() <= MAX_LIST && list.iter().all(|byte| is_of_list(*byte)));
        let mode = list
            .as_deref()
            .and_then(|list| set::lex_mode_after(&Value::Text(list.into())).ok());
        let (Some(list), Some(mode)) = (list, mode) else {
            self.doom = Some(Box::new(unreadable()));
            return Ok(());
        };
        // MariaDB's status goes on telling of the mode of a procedure that has given it back. A SET puts it right.
        let text = [b"SET sql_mode='", &list[..], b"'"].concat();
        let outcome = held.backend.exchange(Command::Query(&text)).await?;
        let status = outcome.status.unwrap_or_default();
        if outcome.error.is_some() || !is_read_in(mode, status, held.backend.is_mariadb) {
            self.doom = Some(Box::new(unreadable()));
            return Ok(());
        }
        let settings = &mut self.settings;
        if mode != settings.mode {
            settings.mode = mode;
            settings.mode_told = status & TOLD;
            settings.history.push(&text, &["sql_mode".to_owned()], true);
            held.backend.replayed = settings.history.last();
        }
        Ok(())
    }

    /// Ends the session with the error that waits for its next command.
    pub(super) async fn meet_doom(&mut self) -> Flow {
        let seq = self.client.frame.next_seq();
        match self.doom.take() {
            Some(error) => self.refuse_and_close(*error, seq).await,
            None => Err(End::Closed),
        }
    }
}

fn unreadable() -> MysqlError {
    errors::UNKNOWN.with(
        "sql_mode is not what the session has set, and the proxy cannot read statements in it: code that the session ran, or its \
         server, has changed it",
    )
}

/// A byte of a list of modes, which needs no quoting.
fn is_of_list(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',')
}
