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
pub(crate) enum Behaviour {
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

const STATEMENTS: [(Behaviour, &str); 27] = [
    (Behaviour::Write, "INSERT INTO t (id, a) VALUES (1, 'x')"),
    (Behaviour::Write, "UPDATE t SET a=1 WHERE id=1"),
    (Behaviour::Write, "DELETE FROM t WHERE id=1"),
    (Behaviour::Write, "REPLACE INTO t VALUES (1)"),
    (Behaviour::Write, "INSERT INTO t SELECT a FROM u"),
    (Behaviour::Write, "CREATE TABLE t (id INT)"),
    (Behaviour::Write, "TRUNCATE TABLE t"),
    (Behaviour::Locking, "SELECT a FROM t WHERE id=1 FOR UPDATE"),
    (Behaviour::Locking, "SELECT a\nFROM t\nWHERE id=1\nFOR UPDATE"),
    (Behaviour::LockingOddly, "SELECT a FROM t WHERE id=1 FOR UPDATE;"),
    (
        Behaviour::LockingOddly,
        "SELECT a FROM t WHERE id=1 FOR UPDATE SKIP LOCKED",
    ),
    (
        Behaviour::LockingOddly,
        "SELECT a FROM t WHERE id=1 LOCK IN SHARE MODE",
    ),
    (Behaviour::LockingOddly, "SELECT a FROM t WHERE id=1 FOR SHARE"),
    (Behaviour::LockingOddly, "SELECT GET_LOCK('a', 1)"),
    (Behaviour::Read, "SELECT a FROM t WHERE id=1"),
    (Behaviour::Read, "SELECT a FROM other.t WHERE id=1"),
    (Behaviour::Read, "SELECT 1"),
    (Behaviour::Volatile, "SELECT NOW()"),
    (Behaviour::Volatile, "SELECT UUID()"),
    (Behaviour::Variable, "SELECT @a"),
    (Behaviour::Variable, "SET @a=1"),
    (Behaviour::Variable, "SELECT @a:=a FROM t"),
    (Behaviour::Special, "COMMIT"),
    (Behaviour::Special, "ROLLBACK"),
    (Behaviour::Special, "USE app"),
    (Behaviour::Special, "SET NAMES utf8mb4"),
    (Behaviour::Special, "SET autocommit=1"),
];

/// A statement and what becomes of it.
#[derive(Debug)]
pub(crate) struct Trial {
    pub(crate) behaviour: Behaviour,
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
    let adapted = rows.filter_map(|row| Some(first?.clone().adapted_to(row, &set.session_values)));
    for session in usual.iter().cloned().chain(adapted) {
        if seen.len() < MOST_SESSIONS && !seen.contains(&session) {
            seen.push(session);
        }
    }
    let trial = |session: &Session, behaviour: Behaviour, text: &str| Trial {
        behaviour,
        decision: set.decide(session, text.as_bytes()),
        example: Example {
            session: session.clone(),
            text: text.as_bytes().to_vec(),
        },
    };
    let trials = STATEMENTS
        .iter()
        .flat_map(|(behaviour, text)| seen.iter().map(move |session| (session, *behaviour, *text)));
    trials
        .map(|(session, behaviour, text)| trial(session, behaviour, text))
        .collect()
}
