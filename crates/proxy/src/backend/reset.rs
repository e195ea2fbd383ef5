//! COM_RESET_CONNECTION: the session of a connection becomes as it was after the login, except for its schema.

use shardwright_sql::LexMode;
use shardwright_wire::{Command, MysqlError, StatusFlags};

use super::{Backend, BackendError};
use crate::backend_statements::BackendStatements;
use crate::reading::is_read_in;
use crate::set_names::SetNames;

impl Backend {
    /// Resets, and waits for the answer.
    pub(crate) async fn reset(&mut self) -> Result<Result<(), MysqlError>, BackendError> {
        let outcome = self.exchange(Command::ResetConnection).await?;
        self.forget_session();
        if let Some(error) = outcome.error {
            return Ok(Err(error));
        }
        if outcome.status.is_some_and(|status| !self.is_read_plainly(status)) {
            return Err(BackendError::NotReset);
        }
        self.autocommit = outcome
            .status
            .is_none_or(|status| status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT));
        Ok(Ok(()))
    }

    /// Resets by the time that the next command is executed: both go in one write.
    ///
    /// Servers cannot refuse it. Should one, the connection is closed before anything is read of the next answer.
    pub(crate) fn reset_ahead(&mut self) {
        let mut payload = Vec::new();
        Command::ResetConnection.encode(&mut payload);
        self.channel.queue(&mut 0, &payload);
        self.is_resetting = true;
        self.forget_session();
        self.autocommit = self.first_autocommit;
    }

    /// Reads the answer to a reset that went ahead.
    pub(crate) async fn finish_reset(&mut self) -> Result<(), BackendError> {
        if !std::mem::take(&mut self.is_resetting) {
            return Ok(());
        }
        self.exchanges += 1;
        self.scanner.begin(Command::ResetConnection.response_shape(), 1);
        self.read_answer(true, &mut |_| ()).await?;
        let outcome = self.scanner.outcome();
        let is_as_at_first = outcome.status.is_some_and(|status| {
            status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT) == self.first_autocommit
                && self.is_read_plainly(status)
        });
        if outcome.error.is_some() || !is_as_at_first {
            return Err(BackendError::NotReset);
        }
        Ok(())
    }

    /// Whether the server reads texts as it did when it was connected to.
    fn is_read_plainly(&self, status: StatusFlags) -> bool {
        is_read_in(LexMode::default(), status, self.is_mariadb)
    }

    /// What a reset does to what is known of the connection.
    fn forget_session(&mut self) {
        self.statements = BackendStatements::default();
        self.is_suspect = false;
        self.may_have_warnings = false;
        self.insert_id = None;
        self.replayed = 0;
        // MariaDB goes back to the character set of the login; MySQL to its global one (sql/sql_parse.cc of both,
        // COM_RESET_CONNECTION).
        self.names = match self.is_mariadb {
            true => None,
            false => Some(SetNames::unknown()),
        };
    }
}
