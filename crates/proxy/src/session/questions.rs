//! Questions about the session's earlier statements: ROW_COUNT(), FOUND_ROWS(), warnings, `@@in_transaction`. A connection
//! answers them for the statement that it ran last, which need not be the session's.

use shardwright_rules::Statement;
use shardwright_sql::StatementClass;
use shardwright_wire::errors;

use super::holds::Holds;
use super::place::{Target, Trouble};
use super::text::mentions;
use super::{Held, NO_CONNECTION, Previous, Session};

impl Session {
    /// A connection for a statement, which gives what the statement asks about earlier ones the answer that one server would
    /// give.
    ///
    /// # Errors
    /// [`Trouble`] where there is no connection, and where it could not answer.
    pub(super) async fn obtain(&mut self, target: &Target) -> Result<Held, Trouble> {
        self.check_questions(target)?;
        let held = self.held_or_new(target).await?;
        let is_as_left = |previous: Previous| {
            previous.serial == held.backend.serial && previous.exchanges == held.backend.exchanges
        };
        if target.row_count && !self.previous.is_none_or(is_as_left) {
            // The connection was pinged, or given another schema, since the statement that the client means.
            self.keep_or_give(held);
            return Err(unknown_counts());
        }
        Ok(held)
    }

    fn check_questions(&self, target: &Target) -> Result<(), Trouble> {
        if target.in_transaction && !self.pending.is_empty() && !target.opens {
            return Err(Trouble::Refused(errors::UNKNOWN.with(
                "only the proxy knows of the transaction before its first statement that has a key; read \
                 @@in_transaction after that statement",
            )));
        }
        if target.asked.intersects(Holds::WARNINGS) && self.has_older_warnings() {
            return Err(Trouble::Refused(errors::UNKNOWN.with(
                "the session's previous statement ran on another connection than the one that warned last, so the proxy \
                 cannot tell which warnings are the latest; ask directly after the statement",
            )));
        }
        let ran_elsewhere = || {
            self.previous
                .is_some_and(|previous| previous.hostgroup != target.hostgroup)
        };
        let is_unknown = (target.row_count && (self.is_answered_here || target.opens))
            || (target.asked.intersects(Holds::FOUND_ROWS.with(Holds::WARNINGS)) && ran_elsewhere());
        if is_unknown {
            return Err(unknown_counts());
        }
        Ok(())
    }

    /// Whether the connection of the previous statement need not have the session's list of warnings.
    fn has_older_warnings(&self) -> bool {
        self.warned_on.is_some_and(|serial| {
            let is_previous = self.previous.is_none_or(|previous| previous.serial == serial);
            serial == NO_CONNECTION || !is_previous
        })
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
        if self.warned_on == Some(serial) && !failed && warnings == 0 && !had_warnings {
            return;
        }
        let list = warning_list(statement);
        let begins_list = failed || list == WarningList::Begins || (warnings > 0 && !had_warnings);
        // Warnings beside a list that is kept are the statement's own, or those of an earlier one there: the answer does
        // not tell.
        let may_begin_list = warnings > 0 || list == WarningList::Unknown;
        held.backend.may_have_warnings =
            failed || warnings > 0 || (had_warnings && list != WarningList::Begins);
        self.warned_on = match self.warned_on {
            _ if begins_list => Some(serial),
            Some(other) if may_begin_list && other != serial => Some(NO_CONNECTION),
            None if may_begin_list => Some(serial),
            unchanged => unchanged,
        };
    }
}

fn unknown_counts() -> Trouble {
    Trouble::Refused(errors::UNKNOWN.with(
        "the session's previous statement was answered elsewhere or by the proxy itself, so ROW_COUNT(), FOUND_ROWS() and \
         warnings cannot be known here",
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
        C::Select if shape.names_table && !mentions(statement.text(), b"DUAL") => WarningList::Begins,
        C::Insert | C::Update | C::Delete | C::Replace | C::Load => WarningList::Begins,
        C::Select | C::Set if shape.names_table || shape.runs_or_reads() => WarningList::Unknown,
        C::Select | C::Set | C::Use | C::Begin | C::Commit | C::Rollback | C::Savepoint => WarningList::Keeps,
        _ => WarningList::Unknown,
    }
}
