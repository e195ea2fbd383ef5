//! MariaDB's bulk executions: one command with a row of parameters for each execution.
//!
//! Where no value decides a shard, a server gets the command as the client has sent it, and answers as it answers without the
//! proxy. Elsewhere clients are not offered it.

use std::net::SocketAddr;

use shardwright_rules::{Finder, InShards, MapStep};
use shardwright_testkit::Flavour;
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, Command, Greeting, MariadbCapabilities, ResponseShape,
};

use crate::raw::{RawClient, credentials};
use crate::several::direct;
use crate::support::{self, Setup, TestProxy, map_alone, schema, server, start, tenants_by_comment};

const BULK: MariadbCapabilities = MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS;
const SEND_TYPES: u16 = 128;
/// MYSQL_TYPE_LONG and MYSQL_TYPE_VAR_STRING.
const TYPES: [u8; 4] = [3, 0, 0xFD, 0];

/// A parameter of a row.
#[derive(Clone, Copy)]
enum Cell {
    Long(i32),
    Text(&'static str),
    Null,
    Default,
    Ignore,
}

use Cell::{Default, Ignore, Long, Null, Text};

fn log_in(address: SocketAddr, schema: Option<&str>) -> (RawClient, Greeting) {
    let credentials = BackendCredentials {
        database: schema.map(Into::into),
        capabilities: credentials().capabilities
            | CapabilityFlags::CLIENT_MULTI_RESULTS
            | CapabilityFlags::CLIENT_PS_MULTI_RESULTS,
        mariadb_capabilities: BULK,
        ..credentials()
    };
    let (client, _, greeting) = RawClient::log_in_as(address, &credentials);
    (client, greeting)
}

/// The number of a statement, and the answer without it.
fn prepare(client: &mut RawClient, text: &str) -> (u32, Vec<u8>) {
    let mut answer = client.ask(&Command::StmtPrepare(text.as_bytes()));
    if answer[4] != 0 {
        return (0, answer);
    }
    let id = u32::from_le_bytes(answer[5..9].try_into().unwrap());
    answer.drain(5..9);
    (id, answer)
}

fn rows(cells: &[[Cell; 2]]) -> Vec<u8> {
    let mut out = Vec::new();
    for cell in cells.iter().flatten() {
        match cell {
            Long(n) => {
                out.push(0);
                out.extend(n.to_le_bytes());
            }
            Text(text) => {
                out.extend([0, u8::try_from(text.len()).unwrap()]);
                out.extend(text.as_bytes());
            }
            Null => out.push(1),
            Default => out.push(2),
            Ignore => out.push(3),
        }
    }
    out
}

fn bulk(client: &mut RawClient, id: u32, cells: &[[Cell; 2]]) -> Vec<u8> {
    let rows = [&TYPES[..], &rows(cells)].concat();
    client.ask(&Command::StmtBulkExecute {
        statement_id: id,
        flags: SEND_TYPES,
        rows: &rows,
    })
}

/// The error number of an answer; 0 for another answer.
fn code(answer: &[u8]) -> u16 {
    match answer {
        [_, _, _, _, 0xFF, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    }
}

const TABLE: &str =
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL DEFAULT 7, b VARCHAR(5) UNIQUE)";
const PROBES: [&str; 2] = [
    "SELECT LAST_INSERT_ID(), @@warning_count",
    "SELECT id, a, b FROM t ORDER BY id",
];

/// Statements with two parameters, and the rows that each is executed with.
const SCRIPT: [(&str, &[[Cell; 2]]); 10] = [
    (
        "INSERT INTO t (a, b) VALUES (?, ?)",
        &[[Long(1), Text("x")], [Default, Text("y")], [Long(3), Null]],
    ),
    // One text is a duplicate.
    (
        "INSERT INTO t (a, b) VALUES (?, ?)",
        &[[Long(4), Text("z")], [Long(5), Text("x")], [Long(6), Text("w")]],
    ),
    (
        "INSERT IGNORE INTO t (a, b) VALUES (?, ?)",
        &[[Long(4), Text("too long")], [Long(5), Text("x")]],
    ),
    (
        "INSERT INTO t (a, b) VALUES (?, ?) RETURNING id, b",
        &[[Long(8), Text("r")], [Long(9), Text("s")]],
    ),
    (
        "UPDATE t SET a = ? WHERE b = ?",
        &[
            [Long(10), Text("x")],
            [Ignore, Text("y")],
            [Default, Text("r")],
            [Long(11), Text("none")],
        ],
    ),
    // The second row fails, and the first has been executed.
    (
        "UPDATE t SET a = ? WHERE b = ?",
        &[[Long(12), Text("x")], [Null, Text("y")], [Long(13), Text("r")]],
    ),
    (
        "REPLACE INTO t (a, b) VALUES (?, ?)",
        &[[Long(14), Text("x")], [Long(15), Text("q")]],
    ),
    (
        "DELETE FROM t WHERE a = ? OR b = ?",
        &[[Long(14), Null], [Long(0), Text("q")]],
    ),
    (
        "DELETE FROM t WHERE a = ? OR b = ? RETURNING id",
        &[[Long(7), Null], [Long(0), Text("s")]],
    ),
    ("SELECT a FROM t WHERE a = ? OR b = ?", &[[Long(1), Null]]),
];

/// All answers to the script in a schema that is empty.
fn answers(address: SocketAddr) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let name = schema("bulk");
    server().run(format!("USE {name}; {TABLE}")).unwrap();
    let (mut client, _) = log_in(address, Some(&name));
    let mut answers_to = |text, cells: &[[Cell; 2]]| {
        let (id, prepared) = prepare(&mut client, text);
        let mut answers = vec![prepared, bulk(&mut client, id, cells)];
        answers.extend(PROBES.map(|probe| client.ask(&Command::Query(probe.as_bytes()))));
        // The types hold for the next execution, too.
        answers.push(client.ask(&Command::StmtBulkExecute {
            statement_id: id,
            flags: 0,
            rows: &rows(&cells[..1]),
        }));
        answers.extend(PROBES.map(|probe| client.ask(&Command::Query(probe.as_bytes()))));
        answers
    };
    SCRIPT
        .map(|(text, cells)| (text, answers_to(text, cells)))
        .to_vec()
}

#[test]
fn rows_in_bulk_do_what_they_do_on_the_server() {
    if Flavour::default().is_mysql() {
        return;
    }
    let proxy = start(&Setup::default());
    let expected = answers(server().address());
    assert!(expected.iter().any(|(_, answers)| code(&answers[1]) == 0));
    let found = answers(proxy.running().listen_address());
    for ((text, expected), (_, found)) in expected.iter().zip(&found) {
        let shown = |answers: &[Vec<u8>]| {
            let texts = answers
                .iter()
                .map(|answer| String::from_utf8_lossy(answer).into_owned());
            texts.collect::<Vec<_>>()
        };
        assert_eq!(shown(found), shown(expected), "{text}");
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_a_server_runs_as_text_is_not_run_in_bulk() {
    if Flavour::default().is_mysql() {
        return;
    }
    let proxy = start(&Setup::default());
    for address in [server().address(), proxy.running().listen_address()] {
        let (mut client, _) = log_in(address, None);
        let (id, _) = prepare(&mut client, "SET @a = ?, @b = ?");
        assert_eq!(code(&bulk(&mut client, id, &[[Long(1), Text("x")]])), 1295);
        let (id, _) = prepare(&mut client, "SET @a = 1");
        assert_eq!(code(&bulk(&mut client, id, &[])), 1295);
    }
}

#[test]
fn the_statement_that_was_prepared_last_needs_no_number() {
    if Flavour::default().is_mysql() {
        return;
    }
    let proxy = start(&Setup::default());
    const LAST: u32 = u32::MAX;
    let execute = Command::StmtExecute {
        statement_id: LAST,
        flags: 0,
        parameters: &[],
    };
    let asked: [&[Command<'_>]; 4] = [
        &[Command::StmtPrepare(b"SELECT 5"), execute, execute],
        &[
            Command::StmtPrepare(b"SELECT 5"),
            Command::StmtPrepare(b"SELECT nothing"),
            execute,
        ],
        &[
            Command::StmtPrepare(b"SELECT 5"),
            Command::StmtClose(LAST),
            execute,
        ],
        &[
            Command::StmtPrepare(b"SELECT 5"),
            Command::ResetConnection,
            execute,
        ],
    ];
    for commands in asked {
        let [expected, found] = [server().address(), proxy.running().listen_address()].map(|address| {
            let (mut client, _) = log_in(address, None);
            // All are sent before the first answer.
            for command in commands {
                let mut payload = Vec::new();
                command.encode(&mut payload);
                client.send(0, &payload);
            }
            let mut answers = Vec::new();
            for command in commands {
                let mut answer = client.answer(command.response_shape());
                if command.response_shape() == ResponseShape::Prepare && answer[4] == 0 {
                    answer.drain(5..9);
                }
                answers.push(answer);
            }
            answers
        });
        assert_eq!(found, expected, "{commands:?}");
    }
}

/// A map whose key is a column.
fn map(schema: &str) -> MapStep {
    MapStep {
        finders: vec![Finder::Column {
            column: "tenant".into(),
            in_shards: InShards::Present,
        }],
        ..tenants_by_comment(schema)
    }
}

fn is_offered(proxy: &TestProxy) -> bool {
    let (_, greeting) = log_in(proxy.running().listen_address(), None);
    greeting.mariadb_capabilities.contains(BULK)
}

#[test]
fn where_values_decide_the_shard_rows_are_executed_one_by_one() {
    let setup = |has_map: bool| Setup {
        configuration: Box::new(move |configuration| {
            if has_map {
                configuration.graph.rules = map_alone(map("bulk_map"));
            }
        }),
        ..Setup::default()
    };
    for name in ["bulk_map_1", "bulk_map_2"] {
        let name = schema(name);
        let table = "CREATE TABLE t (tenant INT, b VARCHAR(5))";
        server().run(format!("USE {name}; {table}")).unwrap();
    }
    let (proxy, mapped) = (start(&setup(false)), start(&setup(true)));
    let is_mariadb = !Flavour::default().is_mysql();
    assert_eq!((is_offered(&proxy), is_offered(&mapped)), (is_mariadb, false));
    // A client that was offered nothing, and one whose offer was made before there was a map.
    let (mut stranger, _) = log_in(mapped.running().listen_address(), Some("bulk_map_1"));
    let (id, _) = prepare(&mut stranger, "INSERT INTO bulk_map_1.t VALUES (?, ?)");
    assert_eq!(code(&bulk(&mut stranger, id, &[[Long(1), Null]])), 1295);
    if !is_mariadb {
        return;
    }
    let (mut client, _) = log_in(proxy.running().listen_address(), None);
    let secret = proxy.directory.path().join("secret");
    support::apply(&mut proxy.admin(), &support::configuration(&setup(true), &secret)).unwrap();
    for (text, refused) in [
        ("INSERT INTO bulk_map.t (tenant, b) VALUES (?, ?)", true),
        (
            "INSERT INTO bulk_map.t (tenant, b) VALUES (1, CONCAT(?, ?))",
            false,
        ),
    ] {
        let (id, prepared) = prepare(&mut client, text);
        assert_eq!(code(&prepared), 0, "{prepared:?}");
        let answer = bulk(&mut client, id, &[[Long(1), Text("x")], [Long(2), Text("x")]]);
        let shown = String::from_utf8_lossy(&answer);
        assert_eq!(code(&answer) != 0, refused, "{text}: {shown}");
    }
    let counts =
        ["bulk_map_1", "bulk_map_2"].map(|name| support::value(&mut direct(name), "SELECT COUNT(*) FROM t"));
    assert_eq!(counts, ["2", "0"]);
}
