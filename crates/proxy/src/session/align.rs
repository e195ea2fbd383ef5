//! Giving a connection the session's state before a statement is sent on it.
//!
//! [`Alignment::adopt`] wipes what another session left, [`Alignment::align`] sends what differs. Example: an idle
//! connection in schema `a` for a session in `b` with one SET gets COM_RESET_CONNECTION, COM_INIT_DB `b`, SET NAMES if
//! names differ, and the SET.

use std::time::Duration;

use shardwright_rules::{Encoding, PendingKind};
use shardwright_wire::{Command, MysqlError, errors};

use super::held::Held;
use super::hidden_variables::HiddenVariables;
use super::holds::Holds;
use super::login::schema_beyond_ascii;
use super::pending_transaction::PendingTransaction;
use super::requirements::Requirements;
use super::settings::Settings;
use crate::backend::{Backend, BackendError};
use crate::characteristics::Characteristics;
use crate::set_names::SetNames;

/// A connection that was used within this time is not asked whether it is still there.
const LIKELY_ALIVE: Duration = Duration::from_secs(1);

/// Why a connection could not be made as the session needs it.
pub(super) enum AlignError {
    /// The server said no.
    Refused(MysqlError),
    Lost(BackendError),
    /// The session cannot have what the client was told had worked.
    Broken(MysqlError),
}

impl From<BackendError> for AlignError {
    fn from(error: BackendError) -> Self {
        Self::Lost(error)
    }
}

/// What a connection is to have.
pub(super) struct Alignment<'a> {
    /// The session's number.
    pub(super) session: u64,
    pub(super) settings: &'a mut Settings,
    pub(super) pending: &'a mut PendingTransaction,
    pub(super) hidden: &'a mut HiddenVariables,
    pub(super) requirements: &'a Requirements,
    /// The session's last statement was lost with its connection. Others of the same server may be about to end, so one that was idle is
    /// asked first: of a client, no second statement is to have an end that nobody knows.
    pub(super) follows_loss: bool,
}

/// What a connection has of a session.
struct StateOf<'a> {
    names: &'a Option<SetNames>,
    replayed: u64,
    has_forgotten_schema: bool,
    is_suspect: bool,
    autocommit: bool,
    next_transaction: Option<Characteristics>,
}

impl<'a> StateOf<'a> {
    fn now(backend: &'a Backend) -> Self {
        Self {
            names: &backend.names,
            replayed: backend.replayed,
            has_forgotten_schema: backend.has_forgotten_schema,
            is_suspect: backend.is_suspect,
            autocommit: backend.autocommit,
            next_transaction: backend.next_transaction,
        }
    }

    /// After a reset.
    fn reset(backend: &Backend) -> Self {
        Self {
            names: &None,
            replayed: 0,
            has_forgotten_schema: true,
            is_suspect: false,
            autocommit: backend.first_autocommit(),
            next_transaction: None,
        }
    }
}

impl Alignment<'_> {
    /// Makes a connection of the pool the session's, where that takes no answer of its server's; `false`: it takes one, and nothing
    /// was done. This is what most statements find.
    pub(super) fn adopt_at_once(&mut self, backend: &mut Backend) -> bool {
        let is_anothers = self.is_anothers(backend);
        let is_checked = self.requirements.asks() || self.follows_loss;
        if is_checked || (is_anothers && !self.can_reset_ahead(backend)) {
            return false;
        }
        let state = match is_anothers {
            true => StateOf::reset(backend),
            false => StateOf::now(backend),
        };
        if backend.may_be_killed || !self.is_in_state(backend, &state) {
            return false;
        }
        if is_anothers {
            self.hidden.taken_over(backend.serial);
            backend.takes_any_autocommit = self.settings.is_fresh;
            backend.reset_ahead();
        }
        backend.last_session = self.session;
        true
    }

    /// Whether [`Alignment::align`] would have nothing to do.
    pub(super) fn is_aligned(&self, backend: &Backend) -> bool {
        !backend.may_be_killed && self.is_in_state(backend, &StateOf::now(backend))
    }

    fn is_in_state(&self, backend: &Backend, state: &StateOf<'_>) -> bool {
        let (settings, requirements) = (&*self.settings, self.requirements);
        self.has_schema(backend, state.has_forgotten_schema)
            && *state.names == settings.names
            && settings.history.since(state.replayed).next().is_none()
            && (!state.is_suspect || requirements.is_question)
            && state.autocommit == settings.autocommit
            && settings.next.is_met(state.next_transaction, requirements)
            && !requirements.opens
    }

    fn is_anothers(&self, backend: &Backend) -> bool {
        backend.last_session != 0 && backend.last_session != self.session
    }

    /// Whether a reset that goes ahead of the statement is all that it takes to forget another session.
    fn can_reset_ahead(&self, backend: &Backend) -> bool {
        !self.requirements.may_find_counts()
            && !backend.has_insert_id()
            && !backend.may_outlast_reset
            && backend.idle_since.elapsed() < LIKELY_ALIVE
    }

    /// Makes a connection that was taken from the pool, or is new, the session's.
    pub(super) async fn adopt(&mut self, held: &mut Held) -> Result<(), AlignError> {
        let backend = &mut held.backend;
        backend.outlive_kill().await?;
        let is_anothers = self.is_anothers(backend);
        // A view or a trigger can call code that sets variables or takes locks, and nothing tells of it.
        if is_anothers {
            self.hidden.taken_over(backend.serial);
            backend.save_insert_id().await?;
            // One that was idle for long may be lost, which is told before the statement is sent.
            let is_alive = backend.idle_since.elapsed() < LIKELY_ALIVE && !self.follows_loss;
            if is_alive && !backend.may_outlast_reset {
                backend.takes_any_autocommit = self.settings.is_fresh;
                backend.reset_ahead();
            } else {
                refused(backend.reset().await?.err())?;
            }
        } else if self.follows_loss {
            backend.exchange(Command::Ping).await?;
        }
        // From here on it has this session's state, whether a statement runs on it or not.
        backend.last_session = self.session;
        if is_anothers && self.requirements.may_find_counts() {
            // MariaDB's reset leaves FOUND_ROWS() and ROW_COUNT() as they were.
            run(backend, b"SELECT 1 LIMIT 0").await?;
        }
        self.align(held).await
    }

    /// Gives a connection the session's schema, character set, variables, and the transaction that was begun.
    pub(super) async fn align(&mut self, held: &mut Held) -> Result<(), AlignError> {
        held.backend.outlive_kill().await?;
        let is_beyond_ascii = self
            .requirements
            .schema
            .as_ref()
            .is_some_and(|name| !name.is_ascii());
        if is_beyond_ascii && !self.is_utf8_to(&held.backend) {
            self.align_names(held).await?;
        }
        self.align_schema(&mut held.backend).await?;
        self.align_names(held).await?;
        self.replay_sets(held).await?;
        self.check_reading(&mut held.backend).await?;
        self.align_autocommit(held).await?;
        refused(self.settings.next.give(held, self.requirements).await?)?;
        if self.requirements.opens {
            self.open_transaction(held).await?;
        }
        Ok(())
    }

    /// Refuses a connection that reads texts otherwise than the session's statements are read.
    async fn check_reading(&self, backend: &mut Backend) -> Result<(), AlignError> {
        let is_asked = backend.is_suspect && !self.requirements.is_question;
        if is_asked && !backend.is_reading_in(self.settings.mode).await? {
            return Err(AlignError::Broken(errors::UNKNOWN.with(
                "code that ran in this session has changed its sql_mode or character set to one in which the proxy \
                 cannot read statements",
            )));
        }
        Ok(())
    }

    fn has_schema(&self, backend: &Backend, has_forgotten: bool) -> bool {
        let requirements = self.requirements;
        // SET CHARACTER SET, which is repeated, takes on that of the schema.
        let reads_charset =
            || requirements.reads_schema_charset || self.settings.history.has_set("character set");
        (backend.schema == requirements.schema && !(has_forgotten && reads_charset()))
            || requirements.any_schema
            || requirements.needs_no_schema
    }

    async fn align_schema(&self, backend: &mut Backend) -> Result<(), AlignError> {
        if self.has_schema(backend, backend.has_forgotten_schema) {
            return Ok(());
        }
        let Some(schema) = &self.requirements.schema else {
            return Err(AlignError::Refused(errors::NO_DB.with("No database selected")));
        };
        if !schema.is_ascii() && !self.is_utf8_to(backend) {
            return Err(AlignError::Refused(schema_beyond_ascii()));
        }
        refused(backend.exchange(Command::InitDb(schema.as_bytes())).await?.error)?;
        backend.schema = Some(schema.clone());
        backend.has_forgotten_schema = false;
        backend.key.has_schema = true;
        Ok(())
    }

    /// Whether names that are sent on a connection are UTF-8 to its server.
    fn is_utf8_to(&self, backend: &Backend) -> bool {
        let of_login = || SetNames::of_login(backend.key.collation);
        let names = backend.names.clone().or_else(of_login);
        let is_utf8 = names.is_some_and(|names| Encoding::of_charset(&names.charset) > Encoding::Ascii);
        is_utf8 && (backend.replayed == 0 || !self.settings.history.touches_charset())
    }

    async fn align_names(&mut self, held: &mut Held) -> Result<(), AlignError> {
        let names = &self.settings.names;
        let backend = &mut held.backend;
        if backend.names == *names {
            return Ok(());
        }
        if names.is_none() && backend.is_mariadb && held.holds.is_empty() {
            self.hidden.taken_over(backend.serial);
            return refused(backend.reset().await?.err());
        }
        let login_names = || SetNames::of_login(backend.key.collation);
        let Some(statement) = names.clone().or_else(login_names) else {
            return Ok(());
        };
        run(backend, statement.statement().as_bytes()).await?;
        backend.names.clone_from(names);
        backend.is_utf8 = false;
        Ok(())
    }

    /// Repeats the SETs that the connection does not have.
    async fn replay_sets(&self, held: &mut Held) -> Result<(), AlignError> {
        let history = &self.settings.history;
        for (number, text) in history.since(held.backend.replayed) {
            let outcome = held.backend.exchange(Command::Query(text)).await?;
            refused(outcome.error)?;
            held.backend.note_status(outcome.status);
            held.backend.replayed = number;
            held.backend.is_utf8 = false;
        }
        Ok(())
    }

    async fn align_autocommit(&mut self, held: &mut Held) -> Result<(), AlignError> {
        self.settings.begin_with(&mut held.backend.begins_with);
        let autocommit = self.settings.autocommit;
        if held.backend.autocommit != autocommit {
            let text: &[u8] = if autocommit {
                b"SET autocommit=1"
            } else {
                b"SET autocommit=0"
            };
            run(&mut held.backend, text).await?;
            held.backend.autocommit = autocommit;
        }
        Ok(())
    }

    async fn open_transaction(&mut self, held: &mut Held) -> Result<(), AlignError> {
        let hold = match self.pending.kind() {
            Some(PendingKind::Xa) => Holds::XA,
            _ => Holds::TRANSACTION,
        };
        let mut first_error = None;
        for (number, text) in self.pending.texts().iter().enumerate() {
            let outcome = held.backend.exchange(Command::Query(text)).await?;
            match outcome.error {
                None => held.holds |= hold,
                // Without its BEGIN, no transaction is open, and nothing behind it is meant for what comes next.
                Some(error) if self.pending.begins(number) => {
                    first_error = Some(error);
                    break;
                }
                // A savepoint that fails leaves the transaction open, and the server runs what is behind it.
                Some(error) => first_error = first_error.or(Some(error)),
            }
        }
        // Until here the connection may be lost, and the transaction with it: it is begun again on the next one.
        self.pending.clear();
        refused(first_error)
    }
}

/// Runs a statement of the proxy's own.
async fn run(backend: &mut Backend, text: &[u8]) -> Result<(), AlignError> {
    refused(backend.exchange(Command::Query(text)).await?.error)
}

fn refused(error: Option<MysqlError>) -> Result<(), AlignError> {
    error.map_or(Ok(()), |error| Err(AlignError::Refused(error)))
}
