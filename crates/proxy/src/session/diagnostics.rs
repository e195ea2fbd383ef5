//! Questions about the session's earlier statements: ROW_COUNT(), FOUND_ROWS(), warnings, `@@in_transaction`. A connection
//! answers them for the statement that it ran last, which need not be the session's.
//!
//! Each answer has a place of its own: it is on the connection of the statement that has begun it, or the proxy knows it, or it
//! is lost. SELECT on a reader, INSERT on the writer: FOUND_ROWS() stays on the reader's connection, ROW_COUNT() is on the
//! writer's. A question goes where its answer is, and is refused if that is in two places.

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::StatementClass;
use shardwright_sql::names::mentions;
use shardwright_wire::{Command, MysqlError, errors};

use super::asked::Asked;
use super::found_rows::{FoundRowsChange, change_of_found_rows};
use super::held::Held;
use super::place::Place;
use super::requirements::Requirements;
use super::statement_words::{asked, asked_in, asks_for_diagnostics, runs_text};
use crate::backend::{Backend, OwnCommands};

/// A SET that changes nothing, which begins a list of warnings on MySQL.
const EMPTY_LIST: Command<'static> = Command::Query(b"SET sql_safe_updates=@@SESSION.sql_safe_updates");
const FOUND_ROWS_0: Command<'static> = Command::Query(b"SELECT 1 LIMIT 0");
const FOUND_ROWS_1: Command<'static> = Command::Query(b"SELECT 1");
const ROW_COUNT_0: Command<'static> = Command::Ping;
/// It leaves everything else.
const ROW_COUNT_OF_ROWS: Command<'static> = Command::Query(b"SHOW WARNINGS LIMIT 0");

/// Where the answers about the session's earlier statements are.
#[derive(Default)]
pub(super) struct Diagnostics {
    /// Where the last statement ran that a server has answered.
    previous: Option<HostgroupId>,
    found_rows: Count,
    row_count: Count,
    warnings: Warnings,
    /// The last one of the proxy's own.
    error: Option<Box<MysqlError>>,
    /// A server has warned of a statement since a prepared one was last to be executed as a text.
    has_warned: bool,
    /// What texts ask that the session has prepared by name.
    of_texts: Asked,
    /// Whether the list is a MySQL's, which every statement begins anew; MariaDB's is begun by those that use a table. `None`:
    /// no server has answered yet.
    is_of_mysql: Option<bool>,
}

/// Where a number is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Count {
    /// It is 0: nothing has run, or the proxy has answered OK.
    #[default]
    Zero,
    /// The proxy has answered with a row, or with an error: FOUND_ROWS() is 1, and ROW_COUNT() -1.
    Rows,
    /// On this connection, unless commands of the proxy's own have changed it since.
    On(Place, OwnCommands),
    /// On no connection, or nobody knows on which.
    Lost,
}

/// Where the session's list of warnings is. On MariaDB, a statement that names no table and warns of nothing leaves the list
/// of an earlier one, and only where it runs itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Warnings {
    /// No statement has begun one.
    #[default]
    NoList,
    /// On this connection, unless commands of the proxy's own have changed it since.
    On(Place, OwnCommands),
    /// It is empty: the proxy answered a statement that has begun it.
    Empty,
    /// It is the error by which the proxy has answered a statement.
    Own,
    /// On no connection, or nobody knows on which.
    Lost,
}

/// How a statement was answered that a server has run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) failed: bool,
    pub(super) warnings: u16,
    /// Of its connection, when the answer came.
    pub(super) own: OwnCommands,
}

impl Diagnostics {
    /// Where the last statement ran that a server has answered.
    pub(super) fn previous(&self) -> Option<HostgroupId> {
        self.previous
    }

    /// The proxy answers a command by itself with an OK.
    pub(super) fn answered_ok(&mut self) {
        self.row_count = Count::Zero;
    }

    /// The proxy answers a statement by itself with a row.
    pub(super) fn answered_row(&mut self) {
        self.row_count = Count::Rows;
        self.found_rows = Count::Rows;
    }

    /// The proxy answers SHOW WARNINGS by itself, which leaves FOUND_ROWS().
    pub(super) fn showed_own_error(&mut self) {
        self.row_count = Count::Rows;
    }

    /// The proxy answers a statement by itself, or prepares it. MySQL begins a list of warnings with it; with a ping and its
    /// like it does not.
    pub(super) fn begins_list_here(&mut self) {
        self.warnings = match self.is_of_mysql {
            Some(true) => Warnings::Empty,
            None if self.warnings == Warnings::Own => Warnings::Lost,
            Some(false) | None => self.warnings,
        };
    }

    /// The proxy answers a statement by an error, which is the session's latest warning; no server has it.
    pub(super) fn failed_here(&mut self, error: &MysqlError) {
        self.warnings = Warnings::Own;
        self.error = Some(Box::new(error.clone()));
        self.row_count = Count::Rows;
    }

    /// The error of the proxy's own, as long as it is the session's list of warnings.
    pub(super) fn own_error(&self) -> Option<&MysqlError> {
        let error = self.error.as_deref();
        error.filter(|_| self.warnings == Warnings::Own)
    }

    /// Rows of a cursor were fetched.
    pub(super) fn fetched(&mut self) {
        self.row_count = Count::Lost;
    }

    /// A statement of the proxy's own has taken the place of what the client's would have warned of.
    pub(super) fn lose_warnings(&mut self) {
        self.warnings = Warnings::Lost;
    }

    /// A prepared statement is about to be executed as a text.
    pub(super) fn executes_text(&mut self) {
        self.has_warned = false;
    }

    /// A prepared statement was executed as a text. MySQL warns of what is deprecated in a text when it prepares it: its list
    /// would be without that after the execution.
    pub(super) fn executed_text(&mut self) {
        if self.has_warned && self.is_of_mysql == Some(true) {
            self.warnings = Warnings::Lost;
        }
    }

    /// What a statement asks, and what the text asks that it runs.
    pub(super) fn asked_by(&self, statement: &Statement<'_>) -> Asked {
        let asked = match statement.class() {
            // MySQL may take the value now.
            StatementClass::Prepare if self.is_of_mysql != Some(false) => asked_in(statement.text()),
            _ => asked(statement),
        };
        if self.of_texts.is_nothing() || !runs_text(statement) {
            return asked;
        }
        asked.and(self.of_texts)
    }

    /// The connection that a statement needs for what it asks; `None`: any will do, or none.
    pub(super) fn place(&self, asked: Asked) -> Option<Place> {
        self.places(asked).next()
    }

    fn places(&self, asked: Asked) -> impl Iterator<Item = Place> {
        let count = |count: Count| match count {
            Count::On(place, _) => Some(place),
            Count::Zero | Count::Rows | Count::Lost => None,
        };
        let warnings = match self.warnings {
            Warnings::On(place, _) => Some(place),
            _ => None,
        };
        [
            warnings.filter(|_| asked.warnings),
            count(self.found_rows).filter(|_| asked.found_rows),
            count(self.row_count).filter(|_| asked.row_count),
        ]
        .into_iter()
        .flatten()
    }

    /// Refuses questions that no connection can answer, and statements that need another one than that of their key.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) fn check(&self, requirements: &Requirements, is_pending: bool) -> Result<(), MysqlError> {
        if requirements.in_transaction && is_pending && !requirements.opens {
            return Err(errors::UNKNOWN.with(
                "only the proxy knows the transaction before its first statement with a key; read @@in_transaction after that statement",
            ));
        }
        let asked = requirements.asked;
        if asked.warnings && matches!(self.warnings, Warnings::Own | Warnings::Lost) {
            return Err(errors::UNKNOWN.with(
                "the proxy cannot show the session's latest warnings: another connection than that of its previous statement has \
                 them, they are an error of the proxy's own, or they are those of a prepared SET, which it ran as a text; ask \
                 directly after a statement that a server has answered",
            ));
        }
        let is_lost = (asked.found_rows && self.found_rows == Count::Lost)
            || (asked.row_count && self.row_count == Count::Lost);
        if is_lost {
            return Err(unknown_counts());
        }
        let Some(place) = self.place(asked) else {
            return Ok(());
        };
        if self.places(asked).any(|other| other.serial != place.serial) {
            return Err(unknown_counts());
        }
        if place.hostgroup != requirements.hostgroup {
            return Err(needed_elsewhere(
                asked.text(),
                place.hostgroup,
                requirements.hostgroup,
            ));
        }
        Ok(())
    }

    /// What a connection has to be sent, so that it answers as one server would.
    ///
    /// # Errors
    /// The error for the client: commands of the proxy's own have changed the answer, or would.
    pub(super) fn preparation(
        &self,
        asked: Asked,
        backend: &Backend,
    ) -> Result<Vec<Command<'static>>, MysqlError> {
        let mut commands = Vec::new();
        let is_as_left = |count: Count, own: fn(&OwnCommands) -> u32| match count {
            Count::On(_, then) => own(&then) == own(&backend.own),
            Count::Zero | Count::Rows | Count::Lost => true,
        };
        let is_changed = (asked.found_rows && !is_as_left(self.found_rows, |own| own.found_rows))
            || (asked.row_count && !is_as_left(self.row_count, |own| own.row_count))
            || matches!(self.warnings, Warnings::On(_, then)
                if asked.warnings && then.warnings != backend.own.warnings);
        if is_changed {
            return Err(unknown_counts());
        }
        let has_no_list = matches!(self.warnings, Warnings::Empty | Warnings::NoList);
        if asked.warnings && has_no_list && backend.may_have_warnings && !backend.is_mariadb {
            commands.push(EMPTY_LIST);
        }
        if asked.found_rows {
            match self.found_rows {
                Count::Zero => commands.push(FOUND_ROWS_0),
                Count::Rows => commands.push(FOUND_ROWS_1),
                Count::On(..) | Count::Lost => {}
            }
        }
        // Such a SELECT takes the place of the statement whose count is on the connection.
        let is_count_there = asked.row_count && matches!(self.row_count, Count::On(..));
        let is_list_there = asked.warnings && !backend.is_mariadb;
        let changes_found_rows = commands.contains(&FOUND_ROWS_0) || commands.contains(&FOUND_ROWS_1);
        if (is_count_there && !commands.is_empty()) || (is_list_there && changes_found_rows) {
            return Err(unknown_counts());
        }
        if asked.row_count {
            match self.row_count {
                Count::Zero => commands.push(ROW_COUNT_0),
                Count::Rows => commands.push(ROW_COUNT_OF_ROWS),
                Count::On(..) | Count::Lost => {}
            }
        }
        Ok(commands)
    }

    /// Notes a statement that a server has answered.
    pub(super) fn note_statement(&mut self, held: &mut Held, statement: &Statement<'_>, answer: Answer) {
        let place = Place::of(held);
        self.previous = Some(held.hostgroup);
        if statement.class() == StatementClass::Prepare {
            self.of_texts = self.of_texts.and(asked_in(statement.text()));
        }
        self.row_count = Count::On(place, answer.own);
        let is_mariadb = held.backend.is_mariadb;
        self.found_rows = match (
            change_of_found_rows(statement, is_mariadb, answer.failed),
            self.found_rows,
        ) {
            (FoundRowsChange::Begins, _) => Count::On(place, answer.own),
            (FoundRowsChange::Keeps, before) => before,
            // Whether it is the statement's or that of an earlier one, it is there.
            (FoundRowsChange::Unknown, before @ Count::On(on, _)) if on.serial == place.serial => before,
            (FoundRowsChange::Unknown, _) => Count::Lost,
        };
        self.note_warnings(held, statement, answer);
    }

    /// Notes that a server has prepared a statement, or refused to.
    pub(super) fn note_prepared(&mut self, held: &mut Held, statement: &Statement<'_>, answer: Answer) {
        if answer.failed {
            self.row_count = Count::Rows;
        }
        self.note_warnings(held, statement, answer);
    }

    /// Learns which connection has the session's list of warnings after a statement.
    fn note_warnings(&mut self, held: &mut Held, statement: &Statement<'_>, answer: Answer) {
        let Answer {
            failed,
            warnings,
            own,
        } = answer;
        let place = Place::of(held);
        let had_warnings = held.backend.may_have_warnings;
        // Nearly every statement: the list is known to be empty, and stays so. Its text need not be read.
        if self.warnings == Warnings::On(place, own) && !failed && warnings == 0 && !had_warnings {
            return;
        }
        self.has_warned |= warnings > 0 && !failed;
        self.is_of_mysql = Some(!held.backend.is_mariadb);
        let list = match held.backend.is_mariadb {
            true => warning_list(statement),
            false if asked(statement).warnings => WarningList::Unknown,
            false => WarningList::Begins,
        };
        let begins_list = failed || list == WarningList::Begins || (warnings > 0 && !had_warnings);
        // Warnings beside a list that is kept are the statement's own, or those of an earlier one there: the answer does
        // not tell.
        let may_begin_list = warnings > 0 || list == WarningList::Unknown;
        held.backend.may_have_warnings =
            failed || warnings > 0 || (had_warnings && list != WarningList::Begins);
        self.warnings = match self.warnings {
            _ if begins_list => Warnings::On(place, own),
            Warnings::On(other, _) if may_begin_list && other.serial != place.serial => Warnings::Lost,
            Warnings::Own if may_begin_list => Warnings::Lost,
            Warnings::NoList | Warnings::Empty if may_begin_list => Warnings::On(place, own),
            unchanged => unchanged,
        };
    }
}

/// The error for a question that cannot be answered.
pub(super) fn unknown_counts() -> MysqlError {
    errors::UNKNOWN.with(
        "another server or the proxy itself answered the session's previous statement, so ROW_COUNT(), FOUND_ROWS() and warnings are unknown here",
    )
}

/// The error for a statement that needs two servers.
pub(super) fn needed_elsewhere(what: &str, there: HostgroupId, hostgroup: HostgroupId) -> MysqlError {
    errors::PROXY_HOSTGROUP_LOCKED.with(format_args!(
        "{what} is about an earlier statement, which ran on hostgroup {there}, and this statement belongs to hostgroup \
         {hostgroup}; read it in a statement of its own, and send the value"
    ))
}

/// What a statement that succeeds does with its connection's list of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WarningList {
    /// It begins a new one: it uses a table.
    Begins,
    /// MariaDB leaves it as it was where the statement warns of nothing: it uses no table.
    Keeps,
    /// The text does not tell.
    Unknown,
}

fn warning_list(statement: &Statement<'_>) -> WarningList {
    use StatementClass as C;
    let shape = statement.shape();
    match shape.class {
        _ if asks_for_diagnostics(statement) => WarningList::Keeps,
        C::Select if shape.names_table && !mentions(statement.text(), b"DUAL") => WarningList::Begins,
        C::Insert | C::Update | C::Delete | C::Replace | C::Load => WarningList::Begins,
        C::Select | C::Set if shape.names_table || shape.runs_or_reads() => WarningList::Unknown,
        C::Select | C::Set | C::Use | C::Begin | C::Commit | C::Rollback | C::Savepoint => WarningList::Keeps,
        _ => WarningList::Unknown,
    }
}
