//! Transactions and their characteristics: sessions that share connections, with and without reads split, against sessions on the
//! server itself.
//!
//! `SHARDWRIGHT_TRANSACTIONS=STEPS` compares so many steps.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{EngineRule, HostgroupId, Role};
use shardwright_testkit::{ClientOptions, Flavour, text_rows};

use crate::support::{self, PASSWORD, Setup, TestProxy, USER, rule, server, start};

/// Sessions that share the connections.
const SESSIONS: usize = 4;
/// Steps of an ordinary run, of each way.
const STEPS: usize = 1200;

/// What a session can do. `{n}` is a number of its own; `?…` is prepared; `!…` is no statement.
const STATEMENTS: &[&str] = &[
    "SET TRANSACTION READ ONLY",
    "SET TRANSACTION READ ONLY",
    "SET TRANSACTION READ WRITE",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ ONLY",
    "set transaction read write, isolation level read committed",
    "SET TRANSACTION READ ONLY, READ WRITE",
    "SET TRANSACTION ISOLATION LEVEL NONE",
    "SET TRANSACTION",
    "SET SESSION TRANSACTION READ ONLY",
    "SET SESSION TRANSACTION READ WRITE",
    "SET SESSION TRANSACTION READ WRITE",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET LOCAL TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE",
    "SET @@{isolation}='READ-UNCOMMITTED'",
    "SET @@{access}=1",
    "SET SESSION {isolation}='REPEATABLE-READ'",
    "SET SESSION {access}=0",
    "SET {access}=0",
    "SET @@{isolation}='NONE'",
    "BEGIN",
    "BEGIN",
    "START TRANSACTION",
    "START TRANSACTION READ ONLY",
    "START TRANSACTION READ WRITE",
    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
    "COMMIT",
    "COMMIT",
    "ROLLBACK",
    "COMMIT AND CHAIN",
    "ROLLBACK AND CHAIN",
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "SET autocommit=0",
    "SET autocommit=1",
    "SET autocommit=1",
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM t",
    "?SELECT COUNT(*) FROM t",
    "SELECT COUNT(*) FROM m",
    "SELECT 1",
    "SELECT @@{isolation}",
    "SELECT @@{access}, @@autocommit",
    "SELECT * FROM nope",
    "SELECT nope FROM t",
    "SELECT (SELECT id FROM three)",
    "SELECT id FROM t WHERE id = 1 FOR UPDATE",
    "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = 'none'",
    "SHOW TABLES LIKE 't'",
    "SHOW COLUMNS FROM t",
    "SHOW CREATE TABLE nope",
    "EXPLAIN SELECT * FROM nope",
    "DO 1",
    "SELECT * FROM",
    "INSERT INTO t VALUES ({n})",
    "INSERT INTO t VALUES ({n})",
    "?INSERT INTO t VALUES ({n})",
    "INSERT INTO t VALUES (1)",
    "INSERT INTO m VALUES ({n})",
    "INSERT INTO nope VALUES (1)",
    "UPDATE t SET id = -id WHERE id = {n}",
    "DELETE FROM t WHERE id > 100000",
    "TRUNCATE TABLE d",
    "CREATE TABLE IF NOT EXISTS d (id INT)",
    "!ping",
    "!isolation",
    "!isolation",
];

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// A session, and what changes its tables meanwhile.
struct Side {
    client: Conn,
    other: Conn,
}

impl Side {
    fn new(client: Conn, schema: &str) -> Self {
        let mut other = server().root().unwrap();
        other.query_drop(format!("USE {schema}")).unwrap();
        // What it inserts is seen by those that read what is not committed.
        other.query_drop("BEGIN").unwrap();
        other.query_drop("INSERT INTO u VALUES (1)").unwrap();
        Self { client, other }
    }

    fn answer(&mut self, statement: &str) -> String {
        match statement {
            // Ended by it, a transaction leaves what it had to the next one on its connection.
            "SET autocommit=1" => {
                let ended = shown(text_rows(&mut self.client, "COMMIT").map(|_| "ok".to_owned()));
                ended + &shown(text_rows(&mut self.client, statement).map(|_| "ok".to_owned()))
            }
            "!ping" => format!("{:?}", self.client.ping().is_ok()),
            "!isolation" => self.isolation(),
            _ => match statement.strip_prefix('?') {
                Some(text) => {
                    let rows = self.client.exec::<mysql::Row, _, _>(text, ());
                    shown(rows.map(|rows| {
                        let rows: Vec<_> = rows.into_iter().map(mysql::Row::unwrap).collect();
                        format!("{rows:?}")
                    }))
                }
                None => shown(text_rows(&mut self.client, statement).map(|rows| format!("{rows:?}"))),
            },
        }
    }

    /// Whether it sees what is not committed, and what was committed since it has begun.
    fn isolation(&mut self) -> String {
        let mut read = |table: &str| self.answer(&format!("SELECT COUNT(*) FROM {table}"));
        let (uncommitted, before) = (read("u"), read("c"));
        let mut committing = server().root().unwrap();
        let schema: String = self.other.query_first("SELECT DATABASE()").unwrap().unwrap();
        committing
            .query_drop(format!("INSERT INTO {schema}.c VALUES (1)"))
            .unwrap();
        let after = self.answer("SELECT COUNT(*) FROM c");
        format!("{uncommitted} {}", before == after)
    }
}

fn shown(answer: mysql::Result<String>) -> String {
    match answer {
        Ok(rows) => rows,
        Err(mysql::Error::MySqlError(error)) if matches!(error.code, 1105 | 9001..) => error.to_string(),
        Err(mysql::Error::MySqlError(error)) => format!("error {}", error.code),
        Err(error) => panic!("a connection is lost: {error}"),
    }
}

fn tables(name: &str) -> String {
    let name = support::schema(name);
    server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO {name}.t VALUES (1);
             CREATE TABLE {name}.three (id INT) ENGINE=InnoDB; INSERT INTO {name}.three VALUES (1), (2), (3);
             CREATE TABLE {name}.m (id INT) ENGINE=MyISAM; CREATE TABLE {name}.d (id INT) ENGINE=InnoDB;
             CREATE TABLE {name}.u (id INT) ENGINE=InnoDB; CREATE TABLE {name}.c (id INT) ENGINE=InnoDB"
        ))
        .unwrap();
    name
}

/// A proxy on one worker, whose sessions share a few connections. `splits`: SELECTs go to the readers.
fn proxy(splits: bool) -> TestProxy {
    start(&Setup {
        max_connections: 2 * SESSIONS as u32,
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        configuration: Box::new(move |configuration| {
            configuration.clusters.truncate(1);
            configuration.clusters[0].reader = Some(HostgroupId(20));
            let cluster = configuration.clusters[0].address.clone();
            let readers = &mut configuration.hostgroups[1];
            (readers.cluster, readers.role) = (cluster, Role::Reader);
            configuration.graph.rules.clear();
            if splits {
                let reads = EngineRule {
                    match_pattern: Some("^SELECT (?!.*FOR UPDATE)".into()),
                    destination_hostgroup: Some(20),
                    apply: true,
                    ..EngineRule::default()
                };
                configuration.graph.rules.push(rule(100, reads));
            }
        }),
        ..Setup::default()
    })
}

fn steps() -> usize {
    let steps = std::env::var("SHARDWRIGHT_TRANSACTIONS").ok();
    steps.map_or(STEPS, |steps| {
        steps
            .parse()
            .expect("SHARDWRIGHT_TRANSACTIONS is a number of steps")
    })
}

/// Compares sessions step by step; the first difference with what led to it.
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn compare(splits: bool, seed: u64) {
    let proxy = proxy(splits);
    let way = if splits { "split" } else { "whole" };
    let mut sessions: Vec<(Side, Side)> = (0..SESSIONS)
        .map(|number| {
            let ours = tables(&format!("transactions_{way}_{number}"));
            let theirs = tables(&format!("transactions_{way}_direct_{number}"));
            let options = ClientOptions {
                user: USER,
                password: PASSWORD,
                schema: Some(&theirs),
            };
            let direct = Side::new(server().connect(options).unwrap(), &theirs);
            (Side::new(proxy.connect(Some(&ours)), &ours), direct)
        })
        .collect();
    let mut histories = vec![Vec::new(); SESSIONS];
    let mut random = Random(seed);
    let is_mysql = Flavour::default().is_mysql();
    let [isolation, access] = match is_mysql {
        true => ["transaction_isolation", "transaction_read_only"],
        false => ["tx_isolation", "tx_read_only"],
    };
    for step in 0..steps() {
        let at = random.below(SESSIONS);
        let statement = STATEMENTS[random.below(STATEMENTS.len())]
            .replace("{n}", &(step + 10).to_string())
            .replace("{isolation}", isolation)
            .replace("{access}", access);
        let (ours, theirs) = &mut sessions[at];
        let history: &mut Vec<String> = &mut histories[at];
        let (here, there) = (ours.answer(&statement), theirs.answer(&statement));
        history.push(format!("{statement} -> {there}"));
        let tail = &history[history.len().saturating_sub(60)..];
        assert_eq!(
            here,
            there,
            "step {step} of session {at}, {way}:\n{}",
            tail.join("\n")
        );
    }
    for (at, (ours, theirs)) in sessions.iter_mut().enumerate() {
        for statement in [
            "ROLLBACK",
            "SELECT SUM(id), COUNT(*) FROM t",
            "SELECT SUM(id), COUNT(*) FROM m",
        ] {
            assert_eq!(
                ours.answer(statement),
                theirs.answer(statement),
                "session {at}: {statement}"
            );
        }
    }
    println!("{} steps, reads {way}: none different", steps());
}

#[test]
fn characteristics_are_what_the_server_makes_of_them() {
    compare(false, 0x9E37_79B9_7F4A_7C15);
}

#[test]
fn characteristics_are_what_one_server_makes_of_them_where_reads_are_split() {
    compare(true, 0xD1B5_4A32_D192_ED03);
}

/// Named sequences of statements, each with what the server answers last.
#[test]
fn what_is_not_used_up_stays_for_the_next() {
    let proxy = proxy(true);
    let name = tables("transactions_named");
    let end = |statements: &[&str]| {
        let mut client = proxy.connect(Some(&name));
        let mut last = String::new();
        for statement in statements {
            last = shown(text_rows(&mut client, statement).map(|_| "ok".to_owned()));
        }
        last
    };
    let insert = "INSERT INTO d VALUES (1)";
    for (statements, expected) in [
        (
            &["SET TRANSACTION READ ONLY", "SELECT * FROM nope", "BEGIN", insert][..],
            "error 1792",
        ),
        (
            &["SET TRANSACTION READ ONLY", insert, "SELECT 1 FROM t", insert],
            "ok",
        ),
        (&["SET TRANSACTION READ ONLY", insert, insert], "error 1792"),
        (
            &["SET TRANSACTION READ ONLY", "SELECT 1 FROM t", "BEGIN", insert],
            "ok",
        ),
        (
            &[
                "SET TRANSACTION READ ONLY",
                "SET SESSION TRANSACTION READ WRITE",
                insert,
            ],
            "ok",
        ),
        (
            &[
                "SET TRANSACTION READ ONLY",
                "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
                insert,
            ],
            "error 1792",
        ),
        (&["BEGIN", "SET TRANSACTION READ ONLY"], "error 1568"),
        (&["SET TRANSACTION ISOLATION LEVEL NOWHERE"], "error 1064"),
        (&["SET TRANSACTION READ ONLY", "COMMIT", insert], "ok"),
        (
            &[
                "BEGIN",
                insert,
                "SET @@tx_isolation='NONE'",
                "SET TRANSACTION READ ONLY",
            ],
            "error 1568",
        ),
        (
            &[
                "BEGIN",
                insert,
                "SELECT (SELECT id FROM three)",
                "SET TRANSACTION READ ONLY",
            ],
            "error 1568",
        ),
        (
            &["BEGIN", insert, "SET autocommit=1", "SET TRANSACTION READ ONLY"],
            "error 1568",
        ),
        (
            &[
                "SET TRANSACTION READ WRITE",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                "SET SESSION TRANSACTION READ WRITE",
                "SET TRANSACTION READ ONLY",
            ],
            "error 1568",
        ),
    ] {
        assert_eq!(end(statements), expected, "{statements:?}");
    }
}
