//! User variables that a trigger may have set: no text and no answer tells of it.
//!
//! INSERT INTO t fires a trigger with `SET @id = NEW.id`, and the connection goes back to the pool. `SELECT @id` is then
//! sent on that very connection. Once another session has had it the value is gone, and the question is refused in place of
//! answered with NULL. A variable that the session has assigned itself is where its connection is held, and is no concern here.

use std::collections::HashSet;

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::{Lexer, SessionEffects, StatementClass, Token, TokenKind};
use shardwright_wire::{MysqlError, errors};

use crate::backend::Backend;

/// Names that are kept for a session; one with more is not asked about variables that it has not assigned.
const MAX_NAMES: usize = 1_000;

#[derive(Default)]
pub(super) struct HiddenVariables {
    latest: Latest,
    assigned: Assigned,
}

/// Where the session's latest statement ran that may have fired a trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Latest {
    #[default]
    Nowhere,
    On(Place),
    /// Another session has had the connection since.
    Taken,
}

/// A connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) hostgroup: HostgroupId,
    pub(super) member: u64,
    pub(super) serial: u64,
}

/// Names of variables that texts of the session have assigned.
#[derive(Debug)]
enum Assigned {
    Names(HashSet<Vec<u8>>),
    /// A procedure, or what cannot be read, may have assigned any.
    Any,
}

impl Default for Assigned {
    fn default() -> Self {
        Self::Names(HashSet::new())
    }
}

impl HiddenVariables {
    /// Whether a statement reads a variable that no text of the session has assigned, though a trigger may have.
    pub(super) fn are_read_by(&self, statement: &Statement<'_>) -> bool {
        let Assigned::Names(known) = &self.assigned else {
            return false;
        };
        if self.latest == Latest::Nowhere || !mentions_variables(statement) || assigns_any(statement) {
            return false;
        }
        let mut here = HashSet::new();
        let mut read = Vec::new();
        for (name, is_assigned) in variables(statement) {
            if is_assigned {
                here.insert(name);
            } else {
                read.push(name);
            }
        }
        read.iter()
            .any(|name| !known.contains(name) && !here.contains(name))
    }

    /// Where a question about nothing else can be answered.
    pub(super) fn hostgroup(&self) -> Option<HostgroupId> {
        match self.latest {
            Latest::On(place) => Some(place.hostgroup),
            Latest::Nowhere | Latest::Taken => None,
        }
    }

    /// The connection for a statement that reads such a variable; `None`: any will do.
    ///
    /// # Errors
    /// For the client: it is not there any more.
    pub(super) fn place(&self, hostgroup: HostgroupId) -> Result<Option<Place>, MysqlError> {
        match self.latest {
            Latest::Nowhere => Ok(None),
            Latest::On(place) if place.hostgroup == hostgroup => Ok(Some(place)),
            Latest::On(_) | Latest::Taken => Err(lost()),
        }
    }

    /// A statement was answered on this connection.
    pub(super) fn note(
        &mut self,
        hostgroup: HostgroupId,
        backend: &Backend,
        statement: &Statement<'_>,
        failed: bool,
    ) {
        if fires_triggers(statement.shape().class) {
            self.latest = Latest::On(Place {
                hostgroup,
                member: backend.member.number,
                serial: backend.serial,
            });
        }
        if failed || !mentions_variables(statement) {
            return;
        }
        let Assigned::Names(known) = &mut self.assigned else {
            return;
        };
        known.extend(variables(statement).filter_map(|(name, is_assigned)| is_assigned.then_some(name)));
        if assigns_any(statement) || known.len() > MAX_NAMES {
            self.assigned = Assigned::Any;
        }
    }

    /// The session gets this connection from another one.
    pub(super) fn taken_over(&mut self, backend: &Backend) {
        if matches!(self.latest, Latest::On(place) if place.serial == backend.serial) {
            self.latest = Latest::Taken;
        }
    }
}

/// The error for a question that cannot be answered.
pub(super) fn lost() -> MysqlError {
    errors::UNKNOWN.with(
        "a trigger may have set this user variable, on a connection that the session has no more: the proxy cannot tell its \
         value; assign it in this session first, or read it in the transaction of the statement that sets it",
    )
}

fn fires_triggers(class: StatementClass) -> bool {
    use StatementClass as C;
    matches!(class, C::Insert | C::Update | C::Delete | C::Replace | C::Load)
}

fn mentions_variables(statement: &Statement<'_>) -> bool {
    let effects = statement.shape().effects;
    effects.intersects(SessionEffects::USER_VARIABLE | SessionEffects::UNKNOWN)
}

/// Whether it may assign variables that its words do not show.
fn assigns_any(statement: &Statement<'_>) -> bool {
    let shape = statement.shape();
    shape.executable_comment || shape.effects.intersects(SessionEffects::UNKNOWN)
}

/// The names of a statement's user variables, and whether it assigns them there.
fn variables(statement: &Statement<'_>) -> impl Iterator<Item = (Vec<u8>, bool)> {
    use StatementClass as C;
    let text = statement.text();
    let class = statement.shape().class;
    let tokens: Vec<Token> = Lexer::new(text, statement.mode()).significant().collect();
    // In a condition `=` compares.
    let is_query = class == C::Select || (fires_triggers(class) && class != C::Load);
    let mut is_into = false;
    let found: Vec<_> = tokens
        .iter()
        .enumerate()
        .filter_map(|(at, token)| {
            is_into = match token.kind {
                TokenKind::UserVariable | TokenKind::Comma => is_into,
                _ => token.is_word(text, "INTO"),
            };
            let next = tokens.get(at + 1).map(|next| next.span.of(text));
            let is_assigned = match next {
                Some(b":=") => true,
                Some(b"=") => !is_query,
                _ => is_into || class == C::Load,
            };
            let name = name(token.span.of(text));
            (token.kind == TokenKind::UserVariable).then_some((name, is_assigned))
        })
        .collect();
    found.into_iter()
}

/// `@a`, `` @`A` `` and `@'a'` are one variable.
fn name(written: &[u8]) -> Vec<u8> {
    let quotes = [b'@', b'`', b'\'', b'"'];
    let bare = written.iter().filter(|byte| !quotes.contains(byte));
    bare.map(u8::to_ascii_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn what_is_assigned_and_what_is_read() {
        for (text, assigned, read) in [
            ("SET @a = 1, @B := @c", "a b", "c"),
            ("SELECT @a := 1, @b + 1", "a", "b"),
            ("SELECT * FROM t WHERE a = @a AND @`B` = 2", "", "a b"),
            ("SELECT 1, 2 INTO @a, @b", "a b", ""),
            ("SELECT @a INTO @b FROM t WHERE c = @d", "b", "a d"),
            ("UPDATE t SET a = @a, b = @b := 3", "b", "a"),
            ("INSERT INTO t VALUES (@a)", "", "a"),
            ("LOAD DATA INFILE 'f' INTO TABLE t (@a, b) SET c = @a", "a a", ""),
            ("EXECUTE s USING @a", "", "a"),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            let names = |wanted: bool| {
                let found = variables(&statement).filter(|(_, is_assigned)| *is_assigned == wanted);
                let names: Vec<_> = found.map(|(name, _)| String::from_utf8(name).unwrap()).collect();
                names.join(" ")
            };
            assert_eq!(
                (names(true).as_str(), names(false).as_str()),
                (assigned, read),
                "{text}"
            );
        }
    }
}
