//! GET_LOCK() and its kin. A lock lives on one server, which need not be that of the next statement: IS_USED_LOCK() with another
//! key would say that nobody has it.
//!
//! A statement goes where its key and the rules send it. If the session holds the lock that it names on another server, it is
//! refused. Which locks a connection holds is asked of its server, as the session may have freed them.

use shardwright_rules::{HostgroupId, Statement};
use shardwright_sql::{ReadHazards, TokenKind};
use shardwright_wire::{MysqlError, errors};

use super::Session;
use super::checkout_error::CheckoutError;
use super::holds::Holds;

/// Functions about the lock that their first argument names.
const OF_ONE_LOCK: [&str; 4] = ["GET_LOCK", "IS_FREE_LOCK", "IS_USED_LOCK", "RELEASE_LOCK"];

/// The locks that a statement is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LockNames {
    /// Those of these names, which are plain ASCII.
    These(Vec<Vec<u8>>),
    /// The text does not tell, or all of the session's.
    Any,
}

/// The locks that a statement is about; `None` for nearly every statement, which is about none.
pub(super) fn lock_names(statement: &Statement<'_>) -> Option<Box<LockNames>> {
    let hazards = statement.shape().read_hazards;
    hazards
        .intersects(ReadHazards::NAMED_LOCK)
        .then(|| Box::new(named(statement).map_or(LockNames::Any, LockNames::These)))
}

/// The names, if all of them are literals.
fn named(statement: &Statement<'_>) -> Option<Vec<Vec<u8>>> {
    let text = statement.text();
    if statement.shape().executable_comment {
        return None;
    }
    let mut names = Vec::new();
    let mut tokens = statement.tokens();
    while let Some(token) = tokens.next() {
        if token.is_word(text, "RELEASE_ALL_LOCKS") {
            return None;
        }
        if !OF_ONE_LOCK.iter().any(|name| token.is_word(text, name)) {
            continue;
        }
        tokens.next().filter(|token| token.kind == TokenKind::LeftParen)?;
        let name = tokens.next().filter(|token| token.kind == TokenKind::String)?;
        tokens
            .next()
            .filter(|token| matches!(token.kind, TokenKind::Comma | TokenKind::RightParen))?;
        let written = name.span.of(text);
        let bare = written.get(1..written.len() - 1)?;
        let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && !matches!(byte, b'\'' | b'"' | b'\\');
        names.push(Some(bare).filter(|bare| bare.iter().all(is_plain))?.to_vec());
    }
    Some(names)
}

impl Session {
    /// Refuses a statement about a lock that the session holds on another server.
    pub(super) async fn check_locks(
        &mut self,
        names: &LockNames,
        hostgroup: HostgroupId,
    ) -> Result<(), CheckoutError> {
        let holding: Vec<HostgroupId> = self
            .held
            .hostgroups_with(Holds::NAMED_LOCKS)
            .filter(|holding| *holding != hostgroup)
            .collect();
        for there in holding {
            let is_held = match names {
                LockNames::Any => true,
                LockNames::These(names) => self.holds_lock(there, names).await?,
            };
            if is_held {
                return Err(CheckoutError::Refused(locked_elsewhere(there, hostgroup)));
            }
        }
        Ok(())
    }

    /// Whether the session's connection to this hostgroup has one of these locks.
    async fn holds_lock(&mut self, there: HostgroupId, names: &[Vec<u8>]) -> Result<bool, CheckoutError> {
        let Some(mut held) = self.held.take(there) else {
            return Ok(false);
        };
        let conditions: Vec<String> = names.iter().map(|name| is_own(name)).collect();
        let question = format!("SELECT {}", conditions.join(" OR "));
        let answer = held.backend.exchange_value(question.as_bytes()).await;
        let answer = answer.map_err(|error| CheckoutError::Fatal(error.for_client()))?;
        self.held.keep(held);
        Ok(answer.is_none_or(|answer| answer == b"1"))
    }
}

/// Whether a connection has a lock, in SQL.
fn is_own(name: &[u8]) -> String {
    let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("COALESCE(IS_USED_LOCK(CONVERT(x'{digits}' USING utf8mb4)) = CONNECTION_ID(), 0)")
}

fn locked_elsewhere(there: HostgroupId, hostgroup: HostgroupId) -> MysqlError {
    errors::PROXY_HOSTGROUP_LOCKED.with(format_args!(
        "the session holds a named lock on hostgroup {there}, and this statement belongs to hostgroup {hostgroup}; the lock is \
         unknown there: use one key for all statements about a lock, or none"
    ))
}

#[cfg(test)]
mod tests {
    use shardwright_sql::LexMode;

    use super::*;

    #[test]
    fn names_are_read_where_they_are_literals() {
        let these = |names: &[&str]| {
            let names = names.iter().map(|name| name.as_bytes().to_vec());
            Some(LockNames::These(names.collect()))
        };
        for (text, expected) in [
            ("SELECT 1", None),
            ("SELECT GET_LOCK('a', 0)", these(&["a"])),
            ("DO RELEASE_LOCK(\"a.b\")", these(&["a.b"])),
            ("SELECT GET_LOCK('a', 0), IS_USED_LOCK('b')", these(&["a", "b"])),
            ("SELECT GET_LOCK(CONCAT('a', id), 0) FROM t", Some(LockNames::Any)),
            ("SELECT GET_LOCK('a' 'b', 0)", Some(LockNames::Any)),
            ("SELECT GET_LOCK(?, 0)", Some(LockNames::Any)),
            ("SELECT RELEASE_ALL_LOCKS()", Some(LockNames::Any)),
            ("SELECT /*! GET_LOCK('a', 0) */", Some(LockNames::Any)),
        ] {
            let statement = Statement::new(text.as_bytes(), LexMode::default());
            assert_eq!(lock_names(&statement).map(|names| *names), expected, "{text}");
        }
    }
}
