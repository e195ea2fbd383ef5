//! Transaction control in every order, before a transaction has its first statement with a key and behind it: each answer has the
//! error and the status flags that a server gives by itself.
//!
//! `SHARDWRIGHT_CONTROL=SEQUENCES` compares so many sequences of three statements.

use std::collections::BTreeMap;

use shardwright_wire::{CapabilityFlags, ResponseScanner, ResponseShape, ScanEvent, StatusFlags};

use crate::maps::tenants;
use crate::raw::RawClient;
use crate::support::server;

const NAME: &str = "control_sequences";
/// Sequences of three statements in an ordinary run.
const SEQUENCES: usize = 500;
/// Flags that clients decide by.
const COMPARED: StatusFlags = StatusFlags::SERVER_STATUS_IN_TRANS
    .union(StatusFlags::SERVER_STATUS_IN_TRANS_READONLY)
    .union(StatusFlags::SERVER_STATUS_AUTOCOMMIT);

/// `{x}` is a name of the session's own; `?…` is prepared.
const STATEMENTS: &[&str] = &[
    "BEGIN",
    "START TRANSACTION READ WRITE",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "ROLLBACK",
    "BEGIN foo",
    "START TRANSACTION READ",
    "ROLLBACK bar",
    "COMMIT AND CHAIN RELEASE",
    "COMMIT NO RELEASE",
    "SAVEPOINT a b",
    "SAVEPOINT a",
    "ROLLBACK TO a",
    "RELEASE SAVEPOINT a",
    "XA START '{x}'",
    "XA BEGIN '{x}' JOIN",
    "XA START '{x}' RESUME",
    "XA START {x}",
    "XA END '{x}'",
    "XA END 'nosuch'",
    "XA PREPARE '{x}'",
    "XA PREPARE 'nosuch'",
    "XA COMMIT '{x}'",
    "XA COMMIT 'nosuch'",
    "XA COMMIT '{x}' ONE PHASE",
    "XA ROLLBACK '{x}'",
    "XA RECOVER",
    "SET time_zone='+00:00'",
    "SET NAMES utf8mb4",
    "SET autocommit=0",
    "SET autocommit=1",
    "SELECT 1",
    "SELECT @@autocommit",
    "?SELECT @@autocommit",
    "SHOW VARIABLES LIKE 'autocommit'",
    "SELECT /* tenant=2 */ 1 FROM nowhere",
    "SELECT /* tenant=2 */ who FROM t",
    "?SELECT /* tenant=2 */ who FROM t",
    "UPDATE /* tenant=2 */ t SET who=who+1",
];

/// Ends whatever a sequence has left.
const ENDS: &[&str] = &[
    "XA END '{x}'",
    "XA ROLLBACK '{x}'",
    "ROLLBACK",
    "SET autocommit=1",
    "SELECT /* tenant=2 */ who FROM t",
];

/// A session, and how its answers end.
struct Session {
    client: RawClient,
    capabilities: CapabilityFlags,
}

/// The number of the error with its text, or the status.
type Answer = Result<StatusFlags, (u16, String)>;

impl Session {
    fn read(&mut self, shape: ResponseShape) -> (Answer, Option<u32>) {
        let mut scanner = ResponseScanner::new(self.capabilities);
        scanner.begin(shape, 1);
        loop {
            let packet = self.client.whole_packet().expect("the session goes on");
            if scanner.feed(&packet).unwrap().event == ScanEvent::Complete {
                break;
            }
        }
        let outcome = scanner.outcome();
        let answer = match &outcome.error {
            Some(error) => Err((error.code, error.message.clone())),
            None => Ok(outcome.status.unwrap_or_default() & COMPARED),
        };
        (
            answer,
            outcome.prepared.as_ref().map(|prepared| prepared.statement_id),
        )
    }

    fn answer(&mut self, statement: &str) -> Answer {
        let Some(text) = statement.strip_prefix('?') else {
            self.client.send(0, &[b"\x03", statement.as_bytes()].concat());
            return self.read(ResponseShape::TextResults).0;
        };
        self.client.send(0, &[b"\x16", text.as_bytes()].concat());
        let (prepared, id) = self.read(ResponseShape::Prepare);
        prepared?;
        let id = id.expect("it is prepared").to_le_bytes();
        self.client
            .send(0, &[&[0x17][..], &id, &[0, 1, 0, 0, 0]].concat());
        self.read(ResponseShape::BinaryResults).0
    }
}

struct Pair {
    here: Session,
    there: Session,
}

/// What is said by the proxy and by no server.
fn is_refused(answer: &Answer) -> Option<String> {
    let (_, message) = answer.as_ref().err()?;
    let is_ours = message.contains("the proxy") || message.starts_with("SW");
    is_ours.then(|| message.chars().take(60).collect())
}

/// How a sequence came out that was not the server's to its end.
enum Outcome {
    Refused(String),
    Different(String),
}

/// Compares one sequence.
fn compare(pair: &mut Pair, sequence: &[&str], number: usize) -> Option<Outcome> {
    let mut told = Vec::new();
    let mut outcome = None;
    for statement in sequence.iter().chain(ENDS) {
        let named = |side: &str| statement.replace("{x}", &format!("{side}{number}"));
        let here = pair.here.answer(&named("here"));
        let there = pair.there.answer(&named("there"));
        told.push(format!("{statement} -> {here:?}, server {there:?}"));
        if outcome.is_some() {
            continue;
        }
        let code = |answer: &Answer| answer.clone().map_err(|(code, _)| code);
        outcome = is_refused(&here).map(Outcome::Refused);
        if outcome.is_none() && code(&here) != code(&there) {
            outcome = Some(Outcome::Different(told.join("\n")));
        }
    }
    outcome
}

/// Numbers that are the same in every run.
fn next(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % below as u64) as usize
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are what it is run for")]
fn control_is_answered_as_a_server_answers_it() {
    let proxy = tenants(NAME);
    let direct = format!("{NAME}_direct");
    server()
        .run(format!(
            "DROP DATABASE IF EXISTS {direct}; CREATE DATABASE {direct}; \
             CREATE TABLE {direct}.t (id INT PRIMARY KEY, who INT); INSERT INTO {direct}.t VALUES (1, 2)"
        ))
        .unwrap();
    let sequences = std::env::var("SHARDWRIGHT_CONTROL").ok();
    let sequences = sequences.map_or(SEQUENCES, |number| number.parse().expect("a number of sequences"));
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut different = Vec::new();
    let mut state = 0x9E37_79B9_7F4A_7C15;
    let pairs = STATEMENTS.len() * STATEMENTS.len();
    for number in 0..pairs + sequences {
        let capabilities = match number % 2 {
            0 => CapabilityFlags::CLIENT_PROTOCOL_41,
            _ => CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_DEPRECATE_EOF,
        };
        let session = |address, schema: &str| Session {
            client: RawClient::log_in_to(address, capabilities, Some(schema)).0,
            capabilities,
        };
        let mut pair = Pair {
            here: session(proxy.running().listen_address(), NAME),
            there: session(server().address(), &direct),
        };
        let sequence = match number.checked_sub(pairs) {
            None => vec![
                STATEMENTS[number / STATEMENTS.len()],
                STATEMENTS[number % STATEMENTS.len()],
            ],
            Some(_) => (0..3)
                .map(|_| STATEMENTS[next(&mut state, STATEMENTS.len())])
                .collect(),
        };
        match compare(&mut pair, &sequence, number) {
            Some(Outcome::Refused(message)) => *refused.entry(message).or_default() += 1,
            Some(Outcome::Different(told)) => different.push(told),
            None => {}
        }
    }
    println!("{} sequences, refused {refused:#?}", pairs + sequences);
    let first = different.iter().take(30).cloned().collect::<Vec<_>>();
    assert!(
        different.is_empty(),
        "{} differ\n{}",
        different.len(),
        first.join("\n\n")
    );
    let share = refused.values().sum::<usize>() as f64 / (pairs + sequences) as f64;
    assert!(share < 0.5, "{share}");
}
