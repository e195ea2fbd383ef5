//! Sessions that share connections, interleaved at random: everything that one leaves on a connection carries its number, and
//! no other ever sees that number.
//!
//! What is set in the text must also still be there for the session itself, and so must what a trigger has set, or the question
//! is refused. What functions of views set need not: nothing tells of it. `PROPTEST_CASES` in the environment asks for 60,000 steps instead of 2,500.

use std::num::NonZeroUsize;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::support::{self, Setup, TestProxy, schema, server, start};

const SESSIONS: usize = 16;
const CONNECTIONS: u32 = 8;

/// Sets what carries a number: a user variable, a session variable, a named lock.
const HIDDEN: &str = "\
    CREATE TABLE t (a INT, KEY (a)); \
    CREATE FUNCTION marks(n INT) RETURNS INT BEGIN SET @hidden = n; SET SESSION lock_wait_timeout = n; \
        RETURN GET_LOCK(CONCAT('ledger', n), 0); END; \
    CREATE TRIGGER at_insert BEFORE INSERT ON t FOR EACH ROW SET @by_trigger = NEW.a, @x = marks(NEW.a); \
    CREATE TABLE numbers (a INT PRIMARY KEY); \
    CREATE VIEW calls AS SELECT a, marks(a) AS b FROM numbers; \
    CREATE PROCEDURE marks_much(n INT) BEGIN SET @by_procedure = n; SET SESSION net_read_timeout = n; \
        DROP TEMPORARY TABLE IF EXISTS by_procedure; CREATE TEMPORARY TABLE by_procedure AS SELECT n; END;";

/// Statements that leave something; `{n}` is the session's number.
const LEAVES: [&str; 22] = [
    "SET @own = {n}",
    "SELECT @own := {n}",
    "SET SESSION net_write_timeout = {n}",
    "SET SESSION wait_timeout = {n}, interactive_timeout = {n}",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "INSERT INTO t VALUES ({n})",
    "SELECT * FROM calls WHERE a = {n}",
    "SELECT marks({n})",
    "CALL marks_much({n})",
    "CREATE TEMPORARY TABLE IF NOT EXISTS mine AS SELECT {n} AS n",
    "DROP TEMPORARY TABLE IF EXISTS mine",
    "PREPARE mine FROM 'SELECT {n}'",
    "SELECT GET_LOCK('ledger{n}', 0)",
    "DO RELEASE_ALL_LOCKS()",
    "SELECT LAST_INSERT_ID({n})",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SET autocommit = 0",
    "SET autocommit = 1",
    "SELECT SQL_CALC_FOUND_ROWS a FROM numbers LIMIT 1",
    "SELECT 1",
];

/// What others may have left. Every value is NULL, the server's own, or a number of a session.
const LOOKS: [&str; 8] = [
    "SELECT CONCAT_WS(' ', @own, @hidden, @by_trigger, @by_procedure, @x)",
    "SELECT @by_trigger",
    "SELECT CONCAT_WS(' ', @@lock_wait_timeout, @@net_read_timeout, @@net_write_timeout, @@wait_timeout)",
    "SELECT n FROM mine",
    "SELECT * FROM by_procedure",
    "EXECUTE mine",
    "SELECT LAST_INSERT_ID()",
    "SELECT IS_USED_LOCK('ledger{other}') = CONNECTION_ID()",
];

struct Session {
    number: u64,
    client: Conn,
    /// What `@own` must be.
    own: Option<u64>,
    /// What `@by_trigger` must be. A procedure, or a text that is run, may change that.
    by_trigger: Option<u64>,
    /// What it did, for the reader of a failure.
    done: Vec<String>,
}

impl Session {
    fn new(proxy: &TestProxy, schema: &str, number: u64) -> Self {
        Self {
            number,
            client: proxy.connect(Some(schema)),
            own: None,
            by_trigger: None,
            done: Vec::new(),
        }
    }

    /// Does what leaves something. The proxy may have no connection for it.
    fn leave(&mut self, text: &str) {
        let text = text.replace("{n}", &self.number.to_string());
        let done = self.client.query_drop(&text);
        self.done.push(format!("{text}: {done:?}"));
        if done.is_ok() && text.contains("@own") {
            self.own = Some(self.number);
        }
        if done.is_ok() && text.starts_with("INSERT") {
            self.by_trigger = Some(self.number);
        }
        if text.contains("marks") {
            self.by_trigger = None;
        }
        if let Err(error) = done {
            assert!(matches!(error, mysql::Error::MySqlError(_)), "{text}: {error}");
        }
    }

    /// Looks, and says what it should not have seen.
    fn look(&mut self, text: &str, other: u64, numbers: &std::ops::Range<u64>) -> Option<String> {
        let text = text.replace("{other}", &other.to_string());
        // An error is no sight: a table or a statement that is not there, no free connection.
        let seen = support::try_value(&mut self.client, &text);
        self.done.push(format!("{text}: {seen:?}"));
        if text.starts_with("EXECUTE") {
            self.by_trigger = None;
        }
        let seen = seen.ok()?;
        let is_lock = text.contains("IS_USED_LOCK");
        let is_others = |word: &str| match word.parse::<u64>() {
            Ok(1) if is_lock => true,
            Ok(number) => number != self.number && numbers.contains(&number),
            Err(_) => false,
        };
        let own_is_lost =
            text.contains("@own") && self.own.is_some_and(|own| !seen.starts_with(&own.to_string()));
        let set_is_lost =
            text.ends_with("@by_trigger") && self.by_trigger.is_some_and(|set| seen != set.to_string());
        (own_is_lost || set_is_lost || seen.split(' ').any(is_others)).then(|| {
            format!(
                "session {}: {text}: {seen}, after\n{}",
                self.number,
                self.done.join("\n")
            )
        })
    }
}

#[test]
fn nothing_is_seen_by_another_session() {
    let name = schema("ledger");
    server().run(format!("USE {name}; {HIDDEN}")).unwrap();
    let proxy = start(&Setup {
        max_connections: CONNECTIONS,
        options: Box::new(|options| {
            options.workers = Some(NonZeroUsize::MIN);
            options.limits.checkout_timeout = Duration::from_millis(1);
        }),
        ..Setup::default()
    });
    let steps = if std::env::var_os("PROPTEST_CASES").is_some() {
        60_000
    } else {
        2_500
    };
    let mut source = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut below = |limit: usize| (source.next_u64() % limit as u64) as usize;
    let first = 100_000_u64;
    let numbers: Vec<String> = (first..=first + steps).map(|n| format!("({n})")).collect();
    let numbers = format!("INSERT INTO {name}.numbers VALUES {}", numbers.join(","));
    server().run(numbers).unwrap();
    let mut next = first;
    let mut sessions: Vec<Session> = Vec::new();
    let (mut ledger, mut looks) = (Vec::new(), 0_u64);
    for _ in 0..steps {
        if sessions.len() < SESSIONS {
            sessions.push(Session::new(&proxy, &name, next));
            next += 1;
        }
        let at = below(sessions.len());
        let other = sessions[below(sessions.len())].number;
        match below(20) {
            0 => {
                sessions.swap_remove(at);
            }
            1 => {
                let session = &mut sessions[at];
                session.client.reset().unwrap();
                (session.own, session.by_trigger) = (None, None);
                session.done.push("reset".to_owned());
            }
            2..12 => sessions[at].leave(LEAVES[below(LEAVES.len())]),
            _ => {
                let session = &mut sessions[at];
                let other = if other == session.number { first } else { other };
                looks += 1;
                ledger.extend(session.look(LOOKS[below(LOOKS.len())], other, &(first..next)));
            }
        }
    }
    assert!(looks > steps / 5, "{looks} of {steps} steps have looked");
    assert!(ledger.is_empty(), "{}", ledger.join("\n\n"));
}
