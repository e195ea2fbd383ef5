//! The same bytes: clients of different capabilities, each on a server and through the proxy.

use std::net::SocketAddr;

use shardwright_wire::{CapabilityFlags, Command, HEADER_LEN, ResponseScanner, ResponseShape, ScanEvent};

use crate::raw::RawClient;
use crate::support::{Setup, schema, server, start, value};

pub(crate) fn server_address() -> SocketAddr {
    ([127, 0, 0, 1], server().port()).into()
}

/// A client that reads answers whole, as bytes.
pub(crate) struct Exact {
    raw: RawClient,
    scanner: ResponseScanner,
    /// The statement that was prepared last.
    prepared: u32,
}

impl Exact {
    pub(crate) fn log_in(address: SocketAddr, capabilities: CapabilityFlags) -> Self {
        Self {
            raw: RawClient::log_in_with(address, capabilities),
            scanner: ResponseScanner::new(capabilities),
            prepared: 0,
        }
    }

    /// What a client with these capabilities is answered to `commands`.
    fn session(address: SocketAddr, capabilities: CapabilityFlags, commands: &[Command<'_>]) -> Vec<Vec<u8>> {
        let mut client = Self::log_in(address, capabilities);
        commands
            .iter()
            .map(|command| client.answer_of_last(command))
            .collect()
    }

    /// The answer's bytes, headers included. `file` is sent where the server asks for one.
    pub(crate) fn answer(&mut self, command: &Command<'_>, file: &[&[u8]]) -> Vec<u8> {
        let mut payload = Vec::new();
        command.encode(&mut payload);
        self.raw.send(0, &payload);
        let mut bytes = Vec::new();
        self.scanner.begin(command.response_shape(), 1);
        if command.response_shape() == ResponseShape::None {
            return bytes;
        }
        loop {
            let packet = self.raw.whole_packet().expect("an answer");
            bytes.extend_from_slice(&packet);
            match self.scanner.feed(&packet).unwrap().event {
                ScanEvent::More => {}
                ScanEvent::Complete => return bytes,
                ScanEvent::LocalInfile => {
                    let mut seq = packet[HEADER_LEN - 1];
                    for piece in file.iter().chain([&&b""[..]]) {
                        seq = seq.wrapping_add(1);
                        self.raw.send(seq, piece);
                    }
                    self.scanner.resume_after_infile(seq.wrapping_add(1));
                }
            }
        }
    }

    /// The same for the statement that was prepared last, whatever its number; that is left out of the answer.
    pub(crate) fn answer_of_last(&mut self, command: &Command<'_>) -> Vec<u8> {
        let last = self.prepared;
        let command = match *command {
            Command::StmtExecute {
                flags, parameters, ..
            } => Command::StmtExecute {
                statement_id: last,
                flags,
                parameters,
            },
            Command::StmtReset(_) => Command::StmtReset(last),
            Command::StmtClose(_) => Command::StmtClose(last),
            Command::StmtFetch { rows, .. } => Command::StmtFetch {
                statement_id: last,
                rows,
            },
            command => command,
        };
        let mut answer = self.answer(&command, &[]);
        if let Some(prepared) = self.scanner.outcome().prepared {
            self.prepared = prepared.statement_id;
            answer[5..9].fill(0);
        }
        answer
    }

    pub(crate) fn query(&mut self, text: &str) -> Vec<u8> {
        self.answer(&Command::Query(text.as_bytes()), &[])
    }

    /// The number of the error that the last answer was.
    pub(crate) fn code(&self) -> Option<u16> {
        self.scanner.outcome().error.as_ref().map(|error| error.code)
    }

    pub(crate) fn rows(&self) -> u64 {
        self.scanner.outcome().rows
    }
}

pub(crate) const SETS: [CapabilityFlags; 4] = [
    CapabilityFlags::empty(),
    CapabilityFlags::CLIENT_DEPRECATE_EOF,
    CapabilityFlags::CLIENT_MULTI_STATEMENTS.union(CapabilityFlags::CLIENT_MULTI_RESULTS),
    CapabilityFlags::CLIENT_DEPRECATE_EOF
        .union(CapabilityFlags::CLIENT_MULTI_STATEMENTS)
        .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
        .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS),
];

#[test]
fn answers_are_the_servers_own() {
    let name = schema("alike");
    server()
        .run(format!("CREATE TABLE {name}.t (a INT, b TEXT); CREATE TABLE {name}.one (a INT); INSERT INTO {name}.one VALUES (1)"))
        .unwrap();
    let proxy = start(&Setup::default());
    for capabilities in SETS {
        let mut both = [server_address(), proxy.running().listen_address()]
            .map(|address| Exact::log_in(address, capabilities));
        let init = Command::InitDb(name.as_bytes());
        let execute_plain = Command::StmtExecute {
            statement_id: 1,
            flags: 0,
            parameters: &[],
        };
        for command in [
            init,
            Command::Query(b"SELECT 1, 'a', NULL"),
            Command::Query(b"SELECT a FROM one WHERE 0"),
            Command::Query(b"INSERT INTO t VALUES (1, REPEAT('x', 70000)), (2, '')"),
            Command::Query(b"SELECT b, a FROM t ORDER BY a"),
            Command::Query(b"SELECT nothing"),
            Command::Query(b"SELECT 1; SELECT b FROM t ORDER BY a; UPDATE t SET a = a + 1; SELECT 2"),
            Command::Query(b"SELECT 1; SELECT nothing; SELECT 2"),
            Command::Query(b"DELETE FROM t; SELECT COUNT(*) FROM t"),
            Command::FieldList {
                table: b"t",
                wildcard: b"",
            },
            Command::SetOption {
                multi_statements: false,
            },
            Command::StmtPrepare(b"SELECT ?, a FROM one WHERE a = ?"),
            // NULLs need no types.
            Command::StmtExecute {
                statement_id: 1,
                flags: 0,
                parameters: &[3, 0],
            },
            Command::StmtExecute {
                statement_id: 1,
                flags: 0,
                parameters: &[0, 1, 8, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            },
            Command::StmtReset(1),
            Command::StmtPrepare(b"DO 1"),
            // What changes the session is not prepared on a server.
            Command::StmtPrepare(b"SET time_zone = '+03:00'"),
            execute_plain,
            Command::StmtPrepare(b"BEGIN"),
            execute_plain,
            Command::Query(b"SELECT @@time_zone, @@in_transaction"),
            Command::StmtPrepare(b"SAVEPOINT a"),
            execute_plain,
            Command::StmtPrepare(b"COMMIT"),
            execute_plain,
            Command::Ping,
        ] {
            let [direct, through] = both.each_mut().map(|client| client.answer_of_last(&command));
            let is_refused = both[0].code().is_some();
            if is_refused {
                // Words of a syntax error may differ.
                assert_eq!(both[0].code(), both[1].code(), "{command:?} {capabilities:?}");
            } else {
                assert_eq!(direct, through, "{command:?} {capabilities:?}");
            }
        }
    }
}

#[test]
fn files_of_the_client_reach_the_server() {
    let name = schema("local_files");
    let proxy = start(&Setup::default());
    let capabilities = CapabilityFlags::CLIENT_LOCAL_FILES | CapabilityFlags::CLIENT_DEPRECATE_EOF;
    let big = "9,ninth\n".repeat(200_000);
    let pieces: Vec<&[u8]> = big.as_bytes().chunks(400_001).collect();
    let mut seen = Vec::new();
    for address in [server_address(), proxy.running().listen_address()] {
        let mut client = Exact::log_in(address, capabilities);
        client.query(&format!("USE {name}"));
        client.query("CREATE OR REPLACE TABLE t (a INT, b TEXT)");
        let mut load = |file: &str, pieces: &[&[u8]], to: &str| {
            let text = format!("LOAD DATA LOCAL INFILE '{file}' INTO TABLE {to} FIELDS TERMINATED BY ','");
            client.answer(&Command::Query(text.as_bytes()), pieces)
        };
        seen.push(vec![
            load("a.csv", &[b"1,first\n2,sec", b"ond\n"], "t"),
            load("it''s a \\\\ file", &[], "t"),
            load("big", &pieces, "t"),
            load("a.csv", &[b"1,first\n"], "nothing"),
            client.query("SELECT COUNT(*), MAX(a), MIN(b), MAX(b) FROM t"),
            client.query("SELECT @@in_transaction"),
        ]);
        assert_eq!(client.rows(), 1);
    }
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn files_are_only_asked_of_clients_that_take_it() {
    let name = schema("no_local_files");
    let proxy = start(&Setup::default());
    for address in [server_address(), proxy.running().listen_address()] {
        let mut client = Exact::log_in(address, CapabilityFlags::empty());
        client.query(&format!("USE {name}"));
        client.query("CREATE OR REPLACE TABLE t (a INT)");
        client.query("LOAD DATA LOCAL INFILE 'a.csv' INTO TABLE t");
        assert_eq!(client.code(), Some(4166), "{address}");
        client.query("SELECT 1");
        assert_eq!((client.code(), client.rows()), (None, 1));
    }
}

#[test]
fn cursors_are_those_of_the_server() {
    let name = schema("cursors");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a INT); INSERT INTO {name}.t SELECT seq FROM {name}.seq_1_to_10"
        ))
        .unwrap();
    let proxy = start(&Setup::default());
    let select = format!("SELECT a FROM {name}.t ORDER BY a");
    let prepare = Command::StmtPrepare(select.as_bytes());
    let execute = |flags| Command::StmtExecute {
        statement_id: 0,
        flags,
        parameters: &[],
    };
    let fetch = |rows| Command::StmtFetch {
        statement_id: 0,
        rows,
    };
    for capabilities in SETS {
        let mut both = [server_address(), proxy.running().listen_address()]
            .map(|address| Exact::log_in(address, capabilities));
        for command in [
            prepare,
            fetch(1),
            execute(1),
            fetch(3),
            Command::Query(b"SELECT 1"),
            fetch(3),
            fetch(9),
            fetch(1),
            execute(1),
            fetch(2),
            execute(1),
            fetch(2),
            Command::StmtReset(0),
            fetch(1),
            execute(0),
            execute(1),
            fetch(1),
            Command::StmtClose(0),
            fetch(1),
            prepare,
            execute(1),
            fetch(20),
            Command::StmtPrepare(b"DO 1"),
            execute(1),
            fetch(1),
        ] {
            let [direct, through] = both.each_mut().map(|client| client.answer_of_last(&command));
            match both[0].code() {
                // The number of the statement is in the message.
                Some(code) => assert_eq!(Some(code), both[1].code(), "{command:?} {capabilities:?}"),
                None => assert_eq!(direct, through, "{command:?} {capabilities:?}"),
            }
        }
    }
}

/// Routines that have cursors open while they send rows, under every set of capabilities, as text and prepared, with and without
/// a cursor for the client.
#[test]
fn cursors_of_routines_are_not_the_clients() {
    let name = schema("routine_cursors");
    let cursor = "DECLARE x INT; DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a; OPEN c; FETCH c INTO x";
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2), (3); CREATE TABLE nothing (a INT); \
             CREATE PROCEDURE closes() BEGIN {cursor}; SELECT a FROM t; CLOSE c; END; \
             CREATE PROCEDURE leaves() BEGIN {cursor}; SELECT a FROM t; END; \
             CREATE PROCEDURE several() BEGIN {cursor}; SELECT a FROM t; SELECT a FROM nothing; CLOSE c; SELECT x; END; \
             CREATE PROCEDURE quiet() BEGIN {cursor}; END; \
             CREATE PROCEDURE fails() BEGIN {cursor}; SELECT a FROM t; SELECT a FROM missing; END; \
             CREATE PROCEDURE gives(OUT o INT) BEGIN {cursor}; SELECT a FROM t; SET o = x; END; \
             CREATE FUNCTION f() RETURNS INT READS SQL DATA BEGIN {cursor}; RETURN x; END"
        ))
        .unwrap();
    let proxy = start(&Setup::default());
    let results = CapabilityFlags::CLIENT_MULTI_RESULTS;
    let one = CapabilityFlags::CLIENT_PS_MULTI_RESULTS;
    let sets = SETS.into_iter().chain([
        results,
        results | one,
        one | CapabilityFlags::CLIENT_DEPRECATE_EOF,
        results | CapabilityFlags::CLIENT_SESSION_TRACK,
    ]);
    for capabilities in sets {
        let mut both = [server_address(), proxy.running().listen_address()]
            .map(|address| Exact::log_in(address, capabilities));
        let mut compare = |command: Command<'_>| {
            let [direct, through] = both.each_mut().map(|client| client.answer_of_last(&command));
            match both[0].code() {
                Some(code) => assert_eq!(Some(code), both[1].code(), "{command:?} {capabilities:?}"),
                None => assert_eq!(direct, through, "{command:?} {capabilities:?}"),
            }
        };
        compare(Command::InitDb(name.as_bytes()));
        for text in [
            "CALL closes()",
            "CALL leaves()",
            "CALL several()",
            "CALL quiet()",
            "CALL fails()",
            "CALL gives(@o)",
            "CALL gives(?)",
            "SELECT f()",
            "SELECT f() FROM t",
            "SELECT a FROM t ORDER BY a",
        ] {
            if !text.contains('?') {
                compare(Command::Query(text.as_bytes()));
            }
            compare(Command::StmtPrepare(text.as_bytes()));
            let parameters: &[u8] = if text.contains('?') { &[1, 1, 3, 0] } else { &[] };
            for flags in [0, 1, 0, 1] {
                compare(Command::StmtExecute {
                    statement_id: 0,
                    flags,
                    parameters,
                });
                if flags == 1 {
                    compare(Command::StmtFetch {
                        statement_id: 0,
                        rows: 2,
                    });
                    compare(Command::StmtFetch {
                        statement_id: 0,
                        rows: 9,
                    });
                }
            }
            compare(Command::StmtClose(0));
            compare(Command::Query(b"DO 0"));
        }
    }
    proxy.settle();
}

#[test]
fn a_cursor_holds_its_connection_and_nobody_elses() {
    let name = schema("held_cursors");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a INT); INSERT INTO {name}.t SELECT seq FROM {name}.seq_1_to_10"
        ))
        .unwrap();
    let proxy = start(&Setup::default());
    let select = format!("SELECT a FROM {name}.t ORDER BY a");
    let mut admin = proxy.admin();
    let mut held = || {
        value(
            &mut admin,
            "SELECT SUM(ConnUsed) FROM stats_mysql_connection_pool",
        )
    };
    let mut client = Exact::log_in(proxy.running().listen_address(), CapabilityFlags::empty());
    let open = |client: &mut Exact| {
        client.answer_of_last(&Command::StmtPrepare(select.as_bytes()));
        let statement_id = client.prepared;
        client.answer(
            &Command::StmtExecute {
                statement_id,
                flags: 1,
                parameters: &[],
            },
            &[],
        );
        statement_id
    };
    let fetch = |client: &mut Exact, statement_id, rows| {
        let answer = client.answer(&Command::StmtFetch { statement_id, rows }, &[]);
        assert_eq!(client.code(), None);
        (client.rows(), answer)
    };
    let (first, second) = (open(&mut client), open(&mut client));
    assert_eq!(held(), "1");
    let of_first = fetch(&mut client, first, 4);
    assert_eq!(fetch(&mut client, second, 4), of_first, "each has its own place");
    assert_eq!(fetch(&mut client, first, 7).0, 6);
    assert_eq!(held(), "1");
    client.answer(&Command::StmtClose(second), &[]);
    // Commands are done in their order, and the close has no answer.
    client.answer(&Command::Ping, &[]);
    assert_eq!(held(), "0");
    let third = open(&mut client);
    assert_eq!(held(), "1");
    client.answer(&Command::ResetConnection, &[]);
    client.answer(
        &Command::StmtFetch {
            statement_id: third,
            rows: 1,
        },
        &[],
    );
    assert_eq!(client.code(), Some(1243));
    proxy.settle();
}

#[test]
fn clients_are_told_of_changes_in_their_session() {
    let name = schema("tracked");
    server()
        .run(format!(
            "CREATE TABLE {name}.t (a INT); CREATE PROCEDURE {name}.zone() SET time_zone = '+01:00'"
        ))
        .unwrap();
    let proxy = start(&Setup::default());
    let use_it = format!("USE {name}");
    let texts = [
        use_it.as_str(),
        "USE mysql",
        "SET NAMES latin1",
        "SET NAMES utf8mb4",
        "SET NAMES utf8",
        "SET autocommit=0",
        "SET autocommit=1",
        "SET time_zone='+02:00'",
        "SELECT 1",
        "SET NAMES latin1, time_zone='+03:00'",
        "SET @a = 1",
        "BEGIN",
        "COMMIT",
        "SET session_track_system_variables='*'",
        "SET wait_timeout=1000",
        "SET autocommit=0",
        "SET autocommit=1",
        "SET sql_mode=''",
        "SET NAMES utf8mb4",
        use_it.as_str(),
        "SET session_track_system_variables='time_zone'",
        "SET autocommit=0",
        "SET autocommit=1",
        "SET time_zone='+04:00'",
        "SET session_track_schema=OFF",
        "USE mysql",
        "SET session_track_schema=1",
        use_it.as_str(),
        "SET session_track_system_variables='*'",
        "CALL zone()",
        "INSERT INTO t VALUES (1)",
        "DROP TABLE t",
        "CREATE TABLE t (a INT)",
    ];
    let mut commands: Vec<Command<'_>> = texts.iter().map(|text| Command::Query(text.as_bytes())).collect();
    commands.extend([
        Command::InitDb(b"mysql"),
        Command::InitDb(name.as_bytes()),
        Command::Ping,
        Command::ResetConnection,
        Command::Query(b"SELECT 1"),
        Command::Query(b"SET NAMES latin1"),
    ]);
    let track = CapabilityFlags::CLIENT_SESSION_TRACK;
    for capabilities in [track, track | CapabilityFlags::CLIENT_DEPRECATE_EOF] {
        let direct = Exact::session(server_address(), capabilities, &commands);
        let through = Exact::session(proxy.running().listen_address(), capabilities, &commands);
        for ((command, direct), through) in commands.iter().zip(direct).zip(through) {
            assert_eq!(direct, through, "{command:?}");
        }
    }
}
