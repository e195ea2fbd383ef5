//! Clients at work while everything that can fail does, and a ledger of what each of them was told.
//!
//! Afterwards: what was acknowledged is there once; what was refused is not there; transactions are there whole or not at all;
//! and no client has had an answer that was not its own. `SHARDWRIGHT_SOAK=1200` asks for that many seconds instead of 5; see
//! docs/conformance.md.

use std::collections::BTreeMap;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use shardwright_rules::EngineRule;
use shardwright_testkit::{MariaDb, eventually};

use crate::raw::RawClient;
use crate::support::{self, PASSWORD, PATIENCE, Setup, TestProxy, USER, rule, start};

const CLIENTS: u64 = 12;
/// Errors of statements that were not executed: interrupted, no connection, no such schema as long as a server starts.
const NOT_DONE: [u16; 2] = [1317, 9001];

/// What a client was told of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Done,
    NotDone,
    /// The connection was lost: nobody can say.
    Unknown,
}

/// What a client was told, by the numbers of its rows; those of a transaction come together.
#[derive(Default)]
struct Ledger {
    rows: Vec<(Vec<u64>, Told)>,
    strange: Vec<String>,
    answers: u64,
    errors: BTreeMap<String, u64>,
}

struct Source(TestRng);

impl Source {
    fn new(seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }
}

/// One client: its number, its connection if it has one, and its ledger.
struct Client<'a> {
    number: u64,
    proxy: &'a TestProxy,
    connection: Option<Conn>,
    /// What `@mine` is on this connection.
    mine: Option<u64>,
    next: u64,
    ledger: Ledger,
    random: Source,
}

impl<'a> Client<'a> {
    fn new(proxy: &'a TestProxy, number: u64) -> Self {
        Self {
            number,
            proxy,
            connection: None,
            mine: None,
            next: 0,
            ledger: Ledger::default(),
            random: Source::new(number),
        }
    }

    fn step(&mut self) {
        if self.connection.is_none() {
            self.mine = None;
            self.connection = self.proxy.try_connect(USER, PASSWORD, None).ok();
            return;
        }
        match self.random.below(10) {
            0..3 => self.insert(),
            3..5 => self.transaction(),
            5..7 => self.ask(),
            7 => self.remember(),
            8 => self.prepared(),
            _ if self.random.below(10) == 0 => self.connection = None,
            _ => self.ask(),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Runs a statement; an error that is no answer of a server ends the connection.
    fn run(&mut self, sql: &str) -> Told {
        let Some(connection) = &mut self.connection else {
            return Told::Unknown;
        };
        match connection.query_drop(sql) {
            Ok(()) => Told::Done,
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&mut self, error: &mysql::Error) -> Told {
        let kind = match error {
            mysql::Error::MySqlError(error) => error.code.to_string(),
            _ => "lost".to_owned(),
        };
        *self.ledger.errors.entry(kind).or_default() += 1;
        match error {
            mysql::Error::MySqlError(error) if NOT_DONE.contains(&error.code) => Told::NotDone,
            _ => {
                self.connection = None;
                Told::Unknown
            }
        }
    }

    fn insert(&mut self) {
        let n = self.number();
        let told = self.run(&format!("INSERT INTO soak.t VALUES ({}, {n})", self.number));
        self.ledger.rows.push((vec![n], told));
    }

    fn transaction(&mut self) {
        let rows = vec![self.number(), self.number()];
        let is_kept = self.random.below(4) > 0;
        let mut told = self.run("BEGIN");
        for n in &rows {
            if told == Told::Done {
                told = self.run(&format!("INSERT INTO soak.t VALUES ({}, {n})", self.number));
            }
        }
        let end = if told == Told::Done && is_kept {
            "COMMIT"
        } else {
            "ROLLBACK"
        };
        let was_open = self.connection.is_some();
        let ended = self.run(end);
        let told = match (end, ended) {
            ("COMMIT", ended) => ended,
            (_, Told::Done) => Told::NotDone,
            // Without an end it is rolled back with its connection.
            _ if was_open || told != Told::Done => {
                self.connection = None;
                Told::NotDone
            }
            _ => Told::Unknown,
        };
        if ended == Told::NotDone {
            // A COMMIT that was interrupted leaves it open, or has been done.
            self.connection = None;
        }
        let told = if end == "COMMIT" && told == Told::NotDone {
            Told::Unknown
        } else {
            told
        };
        self.ledger.rows.push((rows, told));
    }

    /// An answer that only this client can get.
    fn ask(&mut self) {
        let (n, times) = (self.number(), 1 + self.random.below(400));
        let expected = format!("<{} {n}>", self.number);
        let sql = format!("SELECT REPEAT('{expected}', {times}) FROM soak.one");
        let Some(connection) = &mut self.connection else {
            return;
        };
        match connection.query_first::<String, _>(sql) {
            Ok(answer) => self.compare(answer, &expected.repeat(usize::try_from(times).unwrap())),
            Err(error) => {
                self.failed(&error);
            }
        }
    }

    fn prepared(&mut self) {
        let n = self.number();
        let expected = format!("{} {n}", self.number);
        let Some(connection) = &mut self.connection else {
            return;
        };
        match connection.exec_first::<String, _, _>("SELECT CONCAT(?, ' ', ?)", (self.number, n)) {
            Ok(answer) => self.compare(answer, &expected),
            Err(error) => {
                self.failed(&error);
            }
        }
    }

    fn compare(&mut self, answer: Option<String>, expected: &str) {
        self.ledger.answers += 1;
        if answer.as_deref() != Some(expected) {
            let answer = format!("{answer:?}");
            let shown = &answer[..answer.len().min(60)];
            self.ledger
                .strange
                .push(format!("{shown} in place of {:.60}", expected));
        }
    }

    /// A user variable is there as long as the session is.
    fn remember(&mut self) {
        if let Some(mine) = self.mine {
            let Some(connection) = &mut self.connection else {
                return;
            };
            match connection.query_first::<String, _>("SELECT CAST(@mine AS CHAR)") {
                Ok(answer) => self.compare(answer, &mine.to_string()),
                Err(error) => {
                    self.failed(&error);
                }
            }
        } else {
            let value = self.number * 1_000_000 + self.number();
            if self.run(&format!("SET @mine = {value}")) == Told::Done {
                self.mine = Some(value);
            }
        }
    }
}

/// What goes wrong. Waits are for a number of statements of the clients, not for a time.
struct Faults<'a> {
    proxy: &'a TestProxy,
    server: MariaDb,
    setup: &'a Setup,
    secret: std::path::PathBuf,
    random: Source,
    done: BTreeMap<&'static str, u64>,
}

impl Faults<'_> {
    fn happen(&mut self) {
        let kind = match self.random.below(40) {
            0 => {
                self.server.restart().unwrap();
                "the server dies and comes back"
            }
            1..4 => {
                self.server.pause().unwrap();
                thread::park_timeout(Duration::from_millis(self.random.below(100)));
                self.server.resume().unwrap();
                "the server stands still"
            }
            4..12 => {
                self.kill_on_server("KILL QUERY");
                "a statement is killed on the server"
            }
            12..18 => {
                self.kill_on_server("KILL CONNECTION");
                "a connection is killed on the server"
            }
            18..22 => {
                self.apply();
                "a configuration is applied"
            }
            22..32 => {
                self.vanish();
                "a client goes away"
            }
            _ => {
                self.kill_on_proxy();
                "a session is killed through the proxy"
            }
        };
        *self.done.entry(kind).or_default() += 1;
    }

    fn kill_on_server(&mut self, kill: &str) {
        let mut root = self.server.root().unwrap();
        let ids: Vec<u64> = root
            .query("SELECT id FROM information_schema.processlist WHERE user = 'app'")
            .unwrap();
        if !ids.is_empty() {
            let id = ids[usize::try_from(self.random.below(ids.len() as u64)).unwrap()];
            // It may have ended.
            let _gone = root.query_drop(format!("{kill} {id}"));
        }
    }

    /// Another session of the user, while it works or idles. Clients say no numbers, so it kills what it has opened.
    fn kill_on_proxy(&mut self) {
        let connect = || self.proxy.try_connect(USER, PASSWORD, None).ok();
        let Some((mut victim, mut killer)) = connect().zip(connect()) else {
            return;
        };
        let number = victim.connection_id();
        let kills = thread::spawn(move || killer.query_drop(format!("KILL QUERY {number}")).is_ok());
        // Either is fine: it was killed, or had ended.
        let _interrupted = victim.query_drop("SELECT COUNT(*) FROM soak.t");
        kills.join().unwrap();
    }

    fn apply(&mut self) {
        let mut configuration = support::configuration(self.setup, &self.secret);
        let id = 200 + u32::try_from(self.random.below(1000)).unwrap();
        let row = EngineRule {
            match_pattern: Some("no statement has this".into()),
            delay_ms: Some(1),
            ..EngineRule::default()
        };
        configuration.graph.rules.push(rule(id, row));
        support::apply(&mut self.proxy.admin(), &configuration).unwrap();
    }

    fn vanish(&mut self) {
        let address = self.proxy.running().listen_address();
        let logged_in = std::panic::catch_unwind(|| RawClient::log_in(address));
        let Ok(mut client) = logged_in else { return };
        client.send(0, b"\x03INSERT INTO soak.left_behind SELECT 1 FROM soak.one");
        client.stream.shutdown(Shutdown::Both).unwrap();
    }
}

#[test]
fn nothing_is_lost_doubled_or_answered_to_another() {
    let seconds = std::env::var("SHARDWRIGHT_SOAK").map_or(5, |seconds| seconds.parse().unwrap());
    // A server that is killed must still have what it has acknowledged.
    let options = shardwright_testkit::Options::default().arg("--innodb-flush-log-at-trx-commit=2");
    let own_server = MariaDb::start(options).unwrap();
    support::create_users(&own_server);
    own_server
        .run(
            "CREATE DATABASE soak; CREATE TABLE soak.t (client INT, n INT, KEY (client)) ENGINE=InnoDB; \
             CREATE TABLE soak.one (a INT); INSERT INTO soak.one VALUES (1); CREATE TABLE soak.left_behind (a INT)",
        )
        .unwrap();
    let port = own_server.port();
    let setup = Setup {
        port,
        max_connections: 6,
        options: Box::new(|options| {
            options.limits.backend_retry_after = Duration::from_millis(10);
            options.limits.checkout_timeout = Duration::from_secs(2);
        }),
        ..Setup::default()
    };
    let proxy = start(&setup);
    let (is_over, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (ledgers, mut faults) = thread::scope(|scope| {
        let clients: Vec<_> = (1..=CLIENTS)
            .map(|number| {
                let (proxy, is_over, steps) = (&proxy, &is_over, &steps);
                scope.spawn(move || {
                    let mut client = Client::new(proxy, number);
                    while !is_over.load(Ordering::SeqCst) {
                        client.step();
                        steps.fetch_add(1, Ordering::SeqCst);
                    }
                    client.ledger
                })
            })
            .collect();
        let mut faults = Faults {
            proxy: &proxy,
            server: own_server,
            setup: &setup,
            secret: proxy.directory.path().join("secret"),
            random: Source::new(0),
            done: BTreeMap::new(),
        };
        while Instant::now() < end {
            let wanted = steps.load(Ordering::SeqCst) + 50;
            eventually(PATIENCE, || steps.load(Ordering::SeqCst) >= wanted);
            faults.happen();
        }
        is_over.store(true, Ordering::SeqCst);
        let ledgers: Vec<Ledger> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (ledgers, faults)
    });
    let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut kept, mut answers, mut wrong) = (0_u64, 0_u64, Vec::new());
    for (ledger, number) in ledgers.iter().zip(1..) {
        let rows = rows_of(&mut faults.server, number);
        let count = |n: &u64| rows.get(n).copied().unwrap_or(0);
        for (numbers, told) in &ledger.rows {
            let counts: Vec<u64> = numbers.iter().map(count).collect();
            let is_whole = counts.iter().all(|count| *count == counts[0]) && counts[0] <= 1;
            let is_as_told = match told {
                Told::Done => counts[0] == 1,
                Told::NotDone => counts[0] == 0,
                Told::Unknown => true,
            };
            kept += counts.iter().sum::<u64>();
            if !is_whole || !is_as_told {
                wrong.push(format!(
                    "client {number}, rows {numbers:?}: told {told:?}, found {counts:?}"
                ));
            }
        }
        wrong.extend(
            ledger
                .strange
                .iter()
                .map(|strange| format!("client {number}: {strange}")),
        );
        answers += ledger.answers;
        for (kind, count) in &ledger.errors {
            *errors.entry(kind).or_default() += count;
        }
    }
    let steps = steps.into_inner();
    println!(
        "{seconds} s: {steps} steps, {kept} rows kept, {answers} answers compared; errors {errors:?}; faults {:?}",
        faults.done
    );
    if !wrong.is_empty() {
        // Is it the proxy, or a server that was killed too often?
        let checked: Vec<(String, String, String, String)> = faults
            .server
            .root()
            .unwrap()
            .query("CHECK TABLE soak.t EXTENDED")
            .unwrap();
        println!("{checked:?}");
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(kept > 100 && answers > 100, "{kept} {answers}");
}

/// How often each row of a client is there.
fn rows_of(server: &mut MariaDb, client: u64) -> BTreeMap<u64, u64> {
    let sql = format!("SELECT n, COUNT(*) FROM soak.t WHERE client = {client} GROUP BY n");
    let rows: Vec<(u64, u64)> = server.root().unwrap().query(sql).unwrap();
    rows.into_iter().collect()
}
