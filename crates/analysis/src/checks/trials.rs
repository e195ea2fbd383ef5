//! Statements as they are seen every day, decided once for the checks that look at what becomes of them.

use std::collections::BTreeSet;

use shardwright_rules::{Decision, EngineRule, Outcome, Route};

use shardwright_prover::RuleSet;
use shardwright_prover::{Example, sessions};
use shardwright_prover::{Session, given};

/// Sessions that differ by what rules ask for.
const MOST_SESSIONS: usize = 64;

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// It changes rows or definitions.
    Write,
    /// It takes locks that writers wait for.
    Locking,
    /// It takes locks in a form that patterns often forget.
    LockingOddly,
    /// It only reads.
    Read,
    /// Its answer is another one each time.
    Volatile,
    /// It sets or reads a user variable.
    Variable,
    /// The engine handles it itself, whatever rules say.
    Special,
}

const STATEMENTS: [(Kind, &str); 27] = [
    (Kind::Write, "INSERT INTO t (id, a) VALUES (1, 'x')"),
    (Kind::Write, "UPDATE t SET a=1 WHERE id=1"),
    (Kind::Write, "DELETE FROM t WHERE id=1"),
    (Kind::Write, "REPLACE INTO t VALUES (1)"),
    (Kind::Write, "INSERT INTO t SELECT a FROM u"),
    (Kind::Write, "CREATE TABLE t (id INT)"),
    (Kind::Write, "TRUNCATE TABLE t"),
    (Kind::Locking, "SELECT a FROM t WHERE id=1 FOR UPDATE"),
    (Kind::Locking, "SELECT a\nFROM t\nWHERE id=1\nFOR UPDATE"),
    (Kind::LockingOddly, "SELECT a FROM t WHERE id=1 FOR UPDATE;"),
    (
        Kind::LockingOddly,
        "SELECT a FROM t WHERE id=1 FOR UPDATE SKIP LOCKED",
    ),
    (
        Kind::LockingOddly,
        "SELECT a FROM t WHERE id=1 LOCK IN SHARE MODE",
    ),
    (Kind::LockingOddly, "SELECT a FROM t WHERE id=1 FOR SHARE"),
    (Kind::LockingOddly, "SELECT GET_LOCK('a', 1)"),
    (Kind::Read, "SELECT a FROM t WHERE id=1"),
    (Kind::Read, "SELECT a FROM other.t WHERE id=1"),
    (Kind::Read, "SELECT 1"),
    (Kind::Volatile, "SELECT NOW()"),
    (Kind::Volatile, "SELECT UUID()"),
    (Kind::Variable, "SELECT @a"),
    (Kind::Variable, "SET @a=1"),
    (Kind::Variable, "SELECT @a:=a FROM t"),
    (Kind::Special, "COMMIT"),
    (Kind::Special, "ROLLBACK"),
    (Kind::Special, "USE app"),
    (Kind::Special, "SET NAMES utf8mb4"),
    (Kind::Special, "SET autocommit=1"),
];

/// A statement and what becomes of it.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) kind: Kind,
    pub(crate) example: Example,
    pub(crate) decision: Decision,
}

impl Trial {
    /// Positions of the rules that matched.
    pub(crate) fn hits(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.decision.hits.iter().map(|&hit| hit as usize)
    }

    pub(crate) fn route(&self) -> Option<&Route> {
        match &self.decision.outcome {
            Outcome::Route(route) => Some(route),
            _ => None,
        }
    }

    /// The last matching rule of which `says` is true.
    pub(crate) fn said_by(&self, set: &RuleSet<'_>, says: impl Fn(&EngineRule) -> bool) -> Option<usize> {
        self.hits().rev().find(|&hit| set.row(hit).is_some_and(&says))
    }
}

/// Every statement in the sessions that written rules ask for.
pub(crate) fn all(set: &RuleSet<'_>) -> Vec<Trial> {
    let mut seen: Vec<Session> = Vec::new();
    let usual = sessions(set);
    let mut asked = BTreeSet::new();
    let rows = set.written().map(|(_, row)| row).filter(|row| {
        let wanted = [&row.username, &row.schemaname, &row.client_addr, &row.proxy_addr];
        let key = (wanted.map(|text| given(text).map(str::to_owned)), row.proxy_port);
        key != ([None, None, None, None], None) && asked.insert(key)
    });
    let first = usual.first();
    let bent = rows.filter_map(|row| Some(first?.clone().bent_to(row, &set.mentioned)));
    for session in usual.iter().cloned().chain(bent) {
        if seen.len() < MOST_SESSIONS && !seen.contains(&session) {
            seen.push(session);
        }
    }
    let trial = |session: &Session, kind: Kind, text: &str| Trial {
        kind,
        decision: set.decide(session, text.as_bytes()),
        example: Example {
            session: session.clone(),
            text: text.as_bytes().to_vec(),
        },
    };
    let trials = STATEMENTS
        .iter()
        .flat_map(|(kind, text)| seen.iter().map(move |session| (session, *kind, *text)));
    trials
        .map(|(session, kind, text)| trial(session, kind, text))
        .collect()
}
