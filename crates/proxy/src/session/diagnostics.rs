//! Questions about the session's earlier statements: ROW_COUNT(), FOUND_ROWS(), warnings, `@@in_transaction`. A connection
//! answers them for the statement that it ran last, which need not be the session's.

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::StatementClass;
use shardwright_wire::{MysqlError, errors};

use super::held::Held;
use super::holds::Holds;
use super::requirements::Requirements;
use super::statement_words::{asked, mentions};
use crate::backend::Backend;

/// Where the session's earlier statements ran.
#[derive(Default)]
pub(super) struct Diagnostics {
    pub(super) previous: Option<Previous>,
    warnings: Warnings,
    /// The last one of the proxy's own.
    error: Option<Box<MysqlError>>,
    /// Whether the list is a MySQL's, which every statement begins anew; MariaDB's is begun by those that use a table. `None`:
    /// no server has answered yet.
    is_of_mysql: Option<bool>,
    /// The proxy answered the last statement by itself: no server knows its ROW_COUNT().
    is_answered_here: bool,
}

/// How the session's last statement left its connection.
#[derive(Clone, Copy)]
pub(super) struct Previous {
    pub(super) hostgroup: HostgroupId,
    pub(super) member: u64,
    /// The connection; `None`: what it would answer is not about the session's last statement.
    pub(super) serial: Option<u64>,
    /// Exchanges of the proxy's own on that connection until then.
    pub(super) exchanges: u64,
}

/// Where the session's list of warnings is. On MariaDB, a statement that names no table and warns of nothing leaves the list
/// of an earlier one, and only where it runs itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Warnings {
    /// No statement has begun one.
    #[default]
    NoList,
    /// On the connection with this serial number.
    On(u64),
    /// It is empty: the proxy answered a statement that has begun it.
    Empty,
    /// It is the error by which the proxy has answered a statement.
    Own,
    /// On no connection, or nobody knows on which.
    Lost,
}

impl Diagnostics {
    /// The proxy answers a command by itself.
    pub(super) fn answered_here(&mut self) {
        self.is_answered_here = true;
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

    /// Whether a connection has to be rid of its list for a question about the session's.
    pub(super) fn needs_empty_list(&self, requirements: &Requirements, backend: &Backend) -> bool {
        let is_asked = requirements.asked.intersects(Holds::WARNINGS);
        is_asked && self.warnings == Warnings::Empty && backend.may_have_warnings
    }

    /// The proxy answers a statement by an error, which is the session's latest warning; no server has it.
    pub(super) fn failed_here(&mut self, error: &MysqlError) {
        self.warnings = Warnings::Own;
        self.error = Some(Box::new(error.clone()));
        self.is_answered_here = true;
    }

    /// The error of the proxy's own, as long as it is the session's list of warnings.
    pub(super) fn own_error(&self) -> Option<&MysqlError> {
        let error = self.error.as_deref();
        error.filter(|_| self.warnings == Warnings::Own)
    }

    /// A statement of the proxy's own has taken the place of the list of warnings.
    pub(super) fn lose_warnings(&mut self) {
        self.warnings = Warnings::Lost;
    }

    /// Nothing that a connection answers is about the session's last statement any more.
    pub(super) fn lose_previous(&mut self) {
        if let Some(previous) = &mut self.previous {
            previous.serial = None;
        }
    }

    /// Notes the statement that was answered. `exchanges` are those of the connection when the answer came.
    pub(super) fn note_statement(&mut self, held: &Held, exchanges: u64) {
        self.is_answered_here = false;
        self.previous = Some(Previous {
            hostgroup: held.hostgroup,
            member: held.backend.member.number,
            serial: Some(held.backend.serial),
            exchanges,
        });
    }

    /// Whether a connection is as the session's last statement left it.
    pub(super) fn is_as_left(&self, backend: &Backend) -> bool {
        self.previous.is_none_or(|previous| {
            previous.serial == Some(backend.serial) && previous.exchanges == backend.exchanges
        })
    }

    /// Refuses questions that no connection can answer.
    ///
    /// # Errors
    /// The error for the client.
    pub(super) fn check(&self, requirements: &Requirements, is_pending: bool) -> Result<(), MysqlError> {
        if requirements.in_transaction && is_pending && !requirements.opens {
            return Err(errors::UNKNOWN.with(
                "only the proxy knows the transaction before its first statement with a key; read @@in_transaction after that statement",
            ));
        }
        if requirements.asked.intersects(Holds::WARNINGS) && self.has_older_warnings() {
            return Err(errors::UNKNOWN.with(
                "the session's latest warnings are on another connection than that of its previous statement, or they are an error \
                 of the proxy's own; ask directly after a statement that a server has answered",
            ));
        }
        let ran_elsewhere = || {
            self.previous
                .is_some_and(|previous| previous.hostgroup != requirements.hostgroup)
        };
        let of_previous = match self.warnings {
            Warnings::Empty => Holds::FOUND_ROWS,
            _ => Holds::FOUND_ROWS | Holds::WARNINGS,
        };
        let asks_previous = requirements.asked.intersects(of_previous);
        let is_unknown = (requirements.row_count && (self.is_answered_here || requirements.opens))
            || (asks_previous && ran_elsewhere());
        if is_unknown {
            return Err(unknown_counts());
        }
        Ok(())
    }

    /// Whether the connection of the previous statement need not have the session's list of warnings.
    fn has_older_warnings(&self) -> bool {
        match self.warnings {
            Warnings::NoList | Warnings::Empty => false,
            Warnings::On(serial) => self
                .previous
                .is_some_and(|previous| previous.serial != Some(serial)),
            Warnings::Own | Warnings::Lost => true,
        }
    }

    /// Learns which connection has the session's list of warnings after a statement.
    pub(super) fn note_warnings(
        &mut self,
        held: &mut Held,
        statement: &Statement<'_>,
        failed: bool,
        warnings: u16,
    ) {
        let serial = held.backend.serial;
        let had_warnings = held.backend.may_have_warnings;
        // Nearly every statement: the list is known to be empty, and stays so. Its text need not be read.
        if self.warnings == Warnings::On(serial) && !failed && warnings == 0 && !had_warnings {
            return;
        }
        self.is_of_mysql = Some(!held.backend.is_mariadb);
        let list = match held.backend.is_mariadb {
            true => warning_list(statement),
            false if asked(statement).intersects(Holds::WARNINGS) => WarningList::Unknown,
            false => WarningList::Begins,
        };
        let begins_list = failed || list == WarningList::Begins || (warnings > 0 && !had_warnings);
        // Warnings beside a list that is kept are the statement's own, or those of an earlier one there: the answer does
        // not tell.
        let may_begin_list = warnings > 0 || list == WarningList::Unknown;
        held.backend.may_have_warnings =
            failed || warnings > 0 || (had_warnings && list != WarningList::Begins);
        self.warnings = match self.warnings {
            _ if begins_list => Warnings::On(serial),
            Warnings::On(other) if may_begin_list && other != serial => Warnings::Lost,
            Warnings::Own if may_begin_list => Warnings::Lost,
            Warnings::NoList | Warnings::Empty if may_begin_list => Warnings::On(serial),
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
        C::Select if shape.names_table && !mentions(statement.text(), b"DUAL") => WarningList::Begins,
        C::Insert | C::Update | C::Delete | C::Replace | C::Load => WarningList::Begins,
        C::Select | C::Set if shape.names_table || shape.runs_or_reads() => WarningList::Unknown,
        C::Select | C::Set | C::Use | C::Begin | C::Commit | C::Rollback | C::Savepoint => WarningList::Keeps,
        _ => WarningList::Unknown,
    }
}
