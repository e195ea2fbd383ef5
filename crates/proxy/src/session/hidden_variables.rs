//! User variables that a trigger, or other code, may have set: no text and no answer tells of it.
//!
//! INSERT INTO t fires a trigger with `SET @id = NEW.id`, and the connection goes back to the pool. `SELECT @id` is then
//! sent on that very connection. Once another session has had it the value is gone, and the question is refused in place of
//! answered with NULL. A variable that the session has assigned itself is where its connection is held, and is no concern here.
//!
//! Writes on several connections: the last one may have set it, or one before. So the last one's connection is asked, and where
//! it has no value the question is refused, too.

use std::collections::HashSet;

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::{SessionEffects, StatementClass};
use shardwright_wire::{MysqlError, errors};

use super::diagnostics::needed_elsewhere;
use super::held::Held;
use super::place::Place;
use super::statement_words::runs_text;
use super::variables::{VariableNames, Variables};

/// Names that are kept for a session; one with more is not asked about variables that it has not assigned.
const MAX_NAMES: usize = 1_000;
/// Bytes of a name: 64 characters.
const LONGEST_NAME: usize = 256;
/// Connections that are remembered.
const MAX_PLACES: usize = 16;

#[derive(Default)]
pub(super) struct HiddenVariables {
    /// Connections on which statements ran that may have run such code, the latest last.
    written: Vec<Written>,
    /// The number of the last such statement whose connection is not remembered any more; 0: none.
    forgotten: u64,
    /// Such statements.
    count: u64,
    assigned: Assigned,
}

/// A connection with statements that may have run such code, by their numbers.
#[derive(Clone, Copy, Debug)]
struct Written {
    place: Place,
    first: u64,
    last: u64,
}

/// Names of variables that texts of the session have assigned.
#[derive(Debug)]
enum Assigned {
    Names(Box<KnownNames>),
    /// More than are kept.
    Any,
}

/// Names of variables in a session's texts.
#[derive(Debug, Default)]
struct KnownNames {
    assigned: HashSet<Vec<u8>>,
    /// In texts that it has prepared by name. A text that is itself a variable is not looked into.
    prepared: HashSet<Vec<u8>>,
}

impl Default for Assigned {
    fn default() -> Self {
        Self::Names(Box::default())
    }
}

/// Whether the connection of the latest write tells the value of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It does.
    None,
    /// Only if it has one: writes on other connections came before all of its own.
    Unset,
    /// A write elsewhere came between, or its connection is gone.
    Lost,
}

impl HiddenVariables {
    /// The variables that a statement reads and no text of the session has assigned, though a trigger may have.
    pub(super) fn read_by(&self, statement: &Statement<'_>) -> Option<Box<VariableNames>> {
        let Assigned::Names(known) = &self.assigned else {
            return None;
        };
        if self.count == 0 || !mentions_variables(statement) {
            return None;
        }
        let found = Variables::of(statement);
        let mut read = found.read;
        read.extend(found.arguments.into_iter().map(|(_, name)| name));
        if !known.prepared.is_empty() && runs_text(statement) {
            read.extend(known.prepared.iter().cloned());
        }
        read.retain(|name| !known.assigned.contains(name));
        (!read.is_empty()).then(|| Box::new(VariableNames(read)))
    }

    /// The positions of a CALL's arguments that are among them, if it reads none of them in an expression.
    pub(super) fn arguments_of(&self, statement: &Statement<'_>) -> Option<Vec<usize>> {
        let Assigned::Names(known) = &self.assigned else {
            return None;
        };
        let found = Variables::of(statement);
        if statement.shape().class != StatementClass::Call
            || found.read.iter().any(|name| !known.assigned.contains(name))
        {
            return None;
        }
        let arguments = found.arguments.into_iter();
        let positions = arguments.filter_map(|(at, name)| (!known.assigned.contains(&name)).then_some(at));
        Some(positions.collect())
    }

    /// Where a question about nothing else can be answered.
    pub(super) fn hostgroup(&self) -> Option<HostgroupId> {
        self.written.last().map(|written| written.place.hostgroup)
    }

    /// The connection for a statement that reads such a variable.
    ///
    /// # Errors
    /// For the client: it is not there any more, or the statement belongs elsewhere.
    pub(super) fn place(&self, hostgroup: HostgroupId) -> Result<Place, MysqlError> {
        let latest = self.written.last().filter(|_| self.doubt() != Doubt::Lost);
        let place = latest.ok_or_else(lost)?.place;
        if place.hostgroup == hostgroup {
            Ok(place)
        } else {
            let what = "a user variable that a trigger may have set";
            Err(needed_elsewhere(what, place.hostgroup, hostgroup))
        }
    }

    pub(super) fn doubt(&self) -> Doubt {
        let Some((latest, others)) = self.written.split_last() else {
            return Doubt::Lost;
        };
        let last_elsewhere = others.iter().map(|other| other.last).max();
        let last_elsewhere = last_elsewhere.unwrap_or_default().max(self.forgotten);
        match last_elsewhere {
            _ if latest.last < self.forgotten || last_elsewhere > latest.first => Doubt::Lost,
            0 => Doubt::None,
            _ => Doubt::Unset,
        }
    }

    /// A statement was answered on this connection.
    pub(super) fn note(&mut self, held: &Held, statement: &Statement<'_>, failed: bool) {
        if runs_code(statement) {
            self.note_write(Place::of(held));
        }
        if failed || !mentions_variables(statement) {
            return;
        }
        let Assigned::Names(known) = &mut self.assigned else {
            return;
        };
        let found = Variables::of(statement);
        // Servers refuse longer ones.
        let is_name = |name: &Vec<u8>| name.len() <= LONGEST_NAME;
        known.assigned.extend(found.assigned.into_iter().filter(is_name));
        known.prepared.extend(found.prepared.into_iter().filter(is_name));
        if known.assigned.len().max(known.prepared.len()) > MAX_NAMES {
            self.assigned = Assigned::Any;
        }
    }

    fn note_write(&mut self, place: Place) {
        self.count += 1;
        let number = self.count;
        if let Some(latest) = self.written.last_mut().filter(|latest| latest.place == place) {
            latest.last = number;
            return;
        }
        let before = self.written.iter().position(|written| written.place == place);
        let first = before.map_or(number, |at| self.written.remove(at).first);
        if self.written.len() == MAX_PLACES {
            self.forgotten = self.written.remove(0).last;
        }
        self.written.push(Written {
            place,
            first,
            last: number,
        });
    }

    /// The session gets this connection from another one: what was set there is gone.
    pub(super) fn taken_over(&mut self, serial: u64) {
        if let Some(at) = self
            .written
            .iter()
            .position(|written| written.place.serial == serial)
        {
            self.forgotten = self.forgotten.max(self.written.remove(at).last);
        }
    }
}

/// Whether one of these variables has a value, in SQL.
pub(super) fn any_is_unset(names: &VariableNames) -> Vec<u8> {
    let unset = names.0.iter().map(|name| {
        let name = String::from_utf8_lossy(name);
        format!("@`{name}` IS NULL")
    });
    format!("SELECT {}", unset.collect::<Vec<_>>().join(" OR ")).into_bytes()
}

/// The error for a question that cannot be answered.
pub(super) fn lost() -> MysqlError {
    errors::UNKNOWN.with(
        "a trigger may have set this user variable, on a connection that the session has no more: the proxy cannot tell its \
         value; assign it in this session first, or read it in the transaction of the statement that sets it",
    )
}

/// Whether it may run code that its text does not show: triggers, procedures, functions, prepared texts.
fn runs_code(statement: &Statement<'_>) -> bool {
    use StatementClass as C;
    let shape = statement.shape();
    let is_write = matches!(
        shape.class,
        C::Insert | C::Update | C::Delete | C::Replace | C::Load
    );
    is_write || (shape.effects.intersects(SessionEffects::UNKNOWN) && !only_prepares(statement))
}

/// PREPARE and DEALLOCATE run nothing: servers take no call and no subquery in the place of the text.
fn only_prepares(statement: &Statement<'_>) -> bool {
    let shape = statement.shape();
    let is_alone = !shape.executable_comment && !shape.several;
    shape.class == StatementClass::Prepare && is_alone && !runs_text(statement)
}

fn mentions_variables(statement: &Statement<'_>) -> bool {
    let effects = statement.shape().effects;
    effects.intersects(SessionEffects::USER_VARIABLE | SessionEffects::UNKNOWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(serial: u64) -> Place {
        Place {
            hostgroup: HostgroupId(serial as u32),
            member: serial,
            serial,
        }
    }

    #[test]
    fn the_latest_write_tells_unless_another_came_between() {
        for (writes, taken, expected) in [
            (&[1][..], None, Doubt::None),
            (&[1, 1], None, Doubt::None),
            (&[1, 2], None, Doubt::Unset),
            (&[1, 2, 2], None, Doubt::Unset),
            (&[1, 2, 1], None, Doubt::Lost),
            (&[1], Some(1), Doubt::Lost),
            (&[1, 2], Some(1), Doubt::Unset),
            (&[1, 2], Some(2), Doubt::Lost),
            (&[1, 2, 1, 3], None, Doubt::Unset),
        ] {
            let mut hidden = HiddenVariables::default();
            writes.iter().for_each(|serial| hidden.note_write(place(*serial)));
            if let Some(serial) = taken {
                hidden.taken_over(serial);
            }
            assert_eq!(hidden.doubt(), expected, "{writes:?} {taken:?}");
        }
    }
}
