//! COM_RESET_CONNECTION: the session of a connection becomes as it was after the login, except for its schema.
//!
//! MariaDB goes back to the character set of the login; MySQL to its global one (sql/sql_parse.cc of both,
//! COM_RESET_CONNECTION), so that SET NAMES goes along. MySQL's answer does not tell of autocommit and ANSI_QUOTES, so that
//! a SET goes along which tells.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use shardwright_sql::LexMode;
use shardwright_wire::{Command, MysqlError, ResponseShape, StatusFlags};

use super::exchange::PATIENCE;
use super::{Backend, BackendError};
use crate::backend_statements::BackendStatements;
use crate::reading::is_read_in;
use crate::set_names::SetNames;

/// Asks a connection that was reset for 0, without profiles, and its role behind that.
const MARIADB_RESIDUE: &[u8] =
    b"SELECT CONCAT(EXISTS (SELECT 1 FROM information_schema.PROFILING), COALESCE(CURRENT_ROLE(), ''))";

/// The same of MySQL: traces, and the role. The thread's resource group is told to few users, but no user is kept from seeing
/// that there is none beside the server's own. MySQL 5.7 has neither roles nor groups.
const MYSQL_RESIDUE: &[u8] = b"SELECT CONCAT(EXISTS (SELECT 1 FROM information_schema.OPTIMIZER_TRACE) \
    /*!80011 OR EXISTS (SELECT 1 FROM information_schema.RESOURCE_GROUPS WHERE RESOURCE_GROUP_NAME NOT IN \
    ('SYS_default', 'USR_default')), CURRENT_ROLE() */)";

fn says_autocommit(status: StatusFlags) -> bool {
    status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT)
}

/// A command of a reset that went ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// COM_RESET_CONNECTION
    Reset,
    /// A SET of what the reset does not tell, or has forgotten
    Settings,
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
        let mut status = outcome.status;
        if let Some(text) = self.settings_after() {
            let outcome = self.exchange(Command::Query(text.as_bytes())).await?;
            if outcome.error.is_some() {
                return Err(BackendError::NotReset);
            }
            status = outcome.status;
        }
        self.autocommit = status.is_none_or(says_autocommit);
        self.begins_with = (self.autocommit != self.first_autocommit()).then_some(self.autocommit);
        self.member.defaults.note_autocommit(self.autocommit);
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
        let residue = self.exchange_value(question).await?;
        let role = residue.as_deref().and_then(|residue| residue.strip_prefix(b"0"));
        if role.is_none_or(|role| *role != *self.first_role) {
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
        if let Some(text) = self.settings_after() {
            self.queue(Command::Query(text.as_bytes()));
        }
        self.await_ahead(Ahead::Reset);
        self.forget_session();
        self.autocommit = self.first_autocommit();
    }

    /// What MySQL is sent behind a reset: its answer tells of autocommit, which it does once autocommit has been switched, it
    /// fails under ANSI_QUOTES, and it brings back the names of the login.
    fn settings_after(&self) -> Option<String> {
        const REST: &str = "autocommit=1, autocommit=@@global.autocommit, sql_mode=IF(@@sql_mode LIKE '%ANSI_QUOTES%', '!', @@sql_mode)";
        if self.is_mariadb {
            return None;
        }
        let names = SetNames::of_login(self.key.collation);
        Some(match names {
            Some(names) => format!("{}, {REST}", names.statement()),
            None => format!("SET {REST}"),
        })
    }

    /// Reads the answer to a reset that went ahead.
    pub(crate) async fn finish_reset(&mut self) -> Result<(), BackendError> {
        if !self.is_resetting() {
            return Ok(());
        }
        // What follows is a command of the proxy's own: no statement has run under another autocommit.
        self.takes_any_autocommit = true;
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
            let is_last = self.is_mariadb || ahead == Ahead::Settings;
            self.check_ahead(is_last)?;
            if is_last {
                self.ahead = None;
            } else {
                self.await_ahead(Ahead::Settings);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The next answer is that to this command.
    fn await_ahead(&mut self, ahead: Ahead) {
        self.own.note_all();
        let shape = match ahead {
            Ahead::Reset => ResponseShape::Status,
            Ahead::Settings => ResponseShape::TextResults,
        };
        self.scanner.begin(shape, 1);
        self.ahead = Some(ahead);
    }

    /// Checks the answer to one command of a reset; the last one tells of autocommit.
    fn check_ahead(&mut self, is_last: bool) -> Result<(), BackendError> {
        let outcome = self.scanner.outcome();
        let Some(status) = outcome.status.filter(|_| outcome.error.is_none()) else {
            return Err(BackendError::NotReset);
        };
        if !self.is_read_plainly(status) {
            return Err(BackendError::NotReset);
        }
        if is_last {
            self.follow_autocommit(says_autocommit(status))?;
        }
        Ok(())
    }

    /// The server's global autocommit may have been changed since it was seen: other connections are taken as they are by then.
    /// A session that has run nothing takes what its server has now; another one's statement must not run under it.
    fn follow_autocommit(&mut self, autocommit: bool) -> Result<(), BackendError> {
        if autocommit == self.autocommit {
            return Ok(());
        }
        self.member.defaults.note_autocommit(autocommit);
        self.autocommit = autocommit;
        if self.takes_any_autocommit {
            self.begins_with = Some(autocommit);
            Ok(())
        } else {
            Err(BackendError::NotReset)
        }
    }

    /// Whether the server reads texts as it did when it was connected to.
    fn is_read_plainly(&self, status: StatusFlags) -> bool {
        is_read_in(LexMode::default(), status, self.is_mariadb)
    }

    /// What a reset does to what is known of the connection.
    fn forget_session(&mut self) {
        self.statements = BackendStatements::default();
        self.has_forgotten_schema = self.schema.is_some();
        self.is_suspect = false;
        self.is_utf8 = false;
        self.may_have_warnings = false;
        self.insert_id = None;
        self.next_transaction = None;
        self.wrote_for = 0;
        self.replayed = 0;
        self.names = None;
        self.begins_with = None;
    }
}
