//! COM_RESET_CONNECTION: the session of a connection becomes as it was after the login, except for its schema.
//!
//! MariaDB goes back to the character set of the login; MySQL to its global one (sql/sql_parse.cc of both,
//! COM_RESET_CONNECTION), so that SET NAMES goes along.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use shardwright_sql::LexMode;
use shardwright_wire::{Command, MysqlError, ResponseShape, StatusFlags};

use super::exchange::PATIENCE;
use super::{Backend, BackendError};
use crate::backend_statements::BackendStatements;
use crate::reading::is_read_in;
use crate::set_names::SetNames;

/// Asks a connection that was reset for 1: no role, no profiles.
const MARIADB_RESIDUE: &[u8] =
    b"SELECT CURRENT_ROLE() IS NULL AND NOT EXISTS (SELECT 1 FROM information_schema.PROFILING)";

/// The same of MySQL: no role, no traces. The thread's resource group is told to few users, but no user is kept from seeing
/// that there is none beside the server's own. MySQL 5.7 has neither roles nor groups.
const MYSQL_RESIDUE: &[u8] = b"SELECT NOT EXISTS (SELECT 1 FROM information_schema.OPTIMIZER_TRACE) \
    /*!80011 AND CURRENT_ROLE() = 'NONE' AND NOT EXISTS (SELECT 1 FROM information_schema.RESOURCE_GROUPS \
    WHERE RESOURCE_GROUP_NAME NOT IN ('SYS_default', 'USR_default')) */";

/// A command of a reset that went ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// COM_RESET_CONNECTION
    Reset,
    /// SET NAMES of the login
    Names,
}

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
        if let Some(text) = self.login_names()
            && self
                .exchange(Command::Query(text.as_bytes()))
                .await?
                .error
                .is_some()
        {
            return Err(BackendError::NotReset);
        }
        self.check_residue().await?;
        Ok(Ok(()))
    }

    /// Asks a connection on which unknown code ran for what a reset does not undo.
    async fn check_residue(&mut self) -> Result<(), BackendError> {
        if !self.may_outlast_reset {
            return Ok(());
        }
        let question = if self.is_mariadb {
            MARIADB_RESIDUE
        } else {
            MYSQL_RESIDUE
        };
        if self.exchange_value(question).await?.as_deref() != Some(b"1") {
            return Err(BackendError::NotReset);
        }
        self.may_outlast_reset = false;
        Ok(())
    }

    /// Resets by the time that the next command is executed: both go in one write.
    ///
    /// Servers cannot refuse it. Should one, the connection is closed before anything is read of the next answer.
    pub(crate) fn reset_ahead(&mut self) {
        self.queue(Command::ResetConnection);
        if let Some(text) = self.login_names() {
            self.queue(Command::Query(text.as_bytes()));
        }
        self.await_ahead(Ahead::Reset);
        self.forget_session();
        self.autocommit = self.first_autocommit;
    }

    /// SET NAMES of the login, where a reset forgets it.
    fn login_names(&self) -> Option<String> {
        let names = SetNames::of_login(self.key.collation).filter(|_| !self.is_mariadb);
        names.map(|names| names.statement())
    }

    /// Reads the answer to a reset that went ahead.
    pub(crate) async fn finish_reset(&mut self) -> Result<(), BackendError> {
        if !self.is_resetting() {
            return Ok(());
        }
        let clock = self.clock.clone();
        let finished = poll_fn(|cx| self.poll_reset(cx));
        match clock.timeout(PATIENCE, finished).await {
            Ok(finished) => finished,
            Err(_) => Err(BackendError::Silent(PATIENCE)),
        }
    }

    /// Whether a reset went ahead whose answer was not read.
    pub(crate) fn is_resetting(&self) -> bool {
        self.ahead.is_some()
    }

    /// Reads the answer to a reset that went ahead, as far as it has come.
    pub(crate) fn poll_reset(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BackendError>> {
        while let Some(ahead) = self.ahead {
            ready!(self.poll_answer(cx, true, &mut |_| ()))?;
            self.check_ahead()?;
            match ahead {
                Ahead::Reset if self.login_names().is_some() => self.await_ahead(Ahead::Names),
                Ahead::Reset | Ahead::Names => self.ahead = None,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The next answer is that to this command.
    fn await_ahead(&mut self, ahead: Ahead) {
        self.own.note_all();
        let shape = match ahead {
            Ahead::Reset => ResponseShape::Status,
            Ahead::Names => ResponseShape::TextResults,
        };
        self.scanner.begin(shape, 1);
        self.ahead = Some(ahead);
    }

    /// Checks the answer to one command of a reset.
    fn check_ahead(&self) -> Result<(), BackendError> {
        let outcome = self.scanner.outcome();
        let is_as_at_first = outcome.status.is_some_and(|status| {
            status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT) == self.first_autocommit
                && self.is_read_plainly(status)
        });
        match outcome.error.is_none() && is_as_at_first {
            true => Ok(()),
            false => Err(BackendError::NotReset),
        }
    }

    /// Whether the server reads texts as it did when it was connected to.
    fn is_read_plainly(&self, status: StatusFlags) -> bool {
        is_read_in(LexMode::default(), status, self.is_mariadb)
    }

    /// What a reset does to what is known of the connection.
    fn forget_session(&mut self) {
        self.statements = BackendStatements::default();
        self.is_suspect = false;
        self.is_utf8 = false;
        self.may_have_warnings = false;
        self.insert_id = None;
        self.next_transaction = None;
        self.wrote_for = 0;
        self.replayed = 0;
        self.names = None;
    }
}
