//! An sql_mode that code has set, and pieces of parameters that do not fit: as on a server, or an error that says why.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::ClientOptions;

use crate::raw::RawClient;
use crate::resets::try_text;
use crate::support::{PASSWORD, Setup, USER, error, schema, server, start, text_of};

const MODES: [&str; 5] = [
    "'ANSI_QUOTES'",
    "'NO_BACKSLASH_ESCAPES'",
    "'ANSI,NO_BACKSLASH_ESCAPES'",
    "'STRICT_TRANS_TABLES'",
    "''",
];

/// Statements that set a mode without saying so.
const WAYS: [&str; 7] = [
    "CALL sets()",
    "EXECUTE IMMEDIATE @set",
    "BEGIN NOT ATOMIC SET sql_mode={mode}; END",
    "EXECUTE s",
    "INSERT INTO t VALUES (1)",
    "SELECT f()",
    "SELECT * FROM v",
];

fn direct(schema: &str) -> Conn {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(schema),
    };
    server().connect(options).unwrap()
}

fn prepare(name: &str, mode: &str) {
    server()
        .run(format!(
            "USE {name}; DROP TABLE IF EXISTS t; DROP PROCEDURE IF EXISTS sets; DROP FUNCTION IF EXISTS f; \
             DROP VIEW IF EXISTS v; CREATE TABLE t (a INT); CREATE PROCEDURE sets() SET sql_mode={mode}; \
             CREATE FUNCTION f() RETURNS INT DETERMINISTIC BEGIN SET sql_mode={mode}; RETURN 1; END; \
             CREATE VIEW v AS SELECT f() AS a; \
             CREATE TRIGGER at_insert BEFORE INSERT ON t FOR EACH ROW SET sql_mode={mode};"
        ))
        .unwrap();
}

/// The proxy asks a connection for its mode after code that it has not seen. MySQL cannot leave a statement out of the trace.
#[test]
fn the_optimizer_trace_is_that_of_the_sessions_statement() {
    if server().flavour().is_mysql() {
        return;
    }
    let name = schema("hidden_trace");
    let proxy = start(&Setup::default());
    server()
        .run(format!(
            "USE {name}; CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 2), (2, 3); \
             CREATE PROCEDURE sees() SELECT b FROM t WHERE a = 2; \
             CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN (SELECT MAX(b) FROM t); \
             CREATE VIEW v AS SELECT f() AS a;"
        ))
        .unwrap();
    let mut both = [direct(&name), proxy.connect(Some(&name))];
    for client in &mut both {
        client.query_drop("SET optimizer_trace = 1").unwrap();
        client
            .query_drop("PREPARE s FROM 'SELECT b FROM t WHERE a = 1'")
            .unwrap();
    }
    for way in [
        "EXECUTE s",
        "EXECUTE IMMEDIATE 'SELECT a FROM t WHERE b = 3'",
        "CALL sees()",
        "SELECT f()",
        "SELECT a FROM v",
        "DELETE FROM t WHERE b = f() + 1",
    ] {
        let traces = both.each_mut().map(|client| {
            client
                .query_drop(way)
                .unwrap_or_else(|error| panic!("{way}: {error}"));
            let trace = "SELECT CONCAT(QUERY, TRACE) FROM information_schema.OPTIMIZER_TRACE";
            client.query::<String, _>(trace).unwrap()
        });
        assert!(!traces[0].is_empty(), "{way}");
        assert_eq!(traces[0], traces[1], "{way}");
    }
}

#[test]
fn texts_are_read_in_a_mode_that_code_has_set() {
    let name = schema("hidden_modes");
    let proxy = start(&Setup::default());
    let is_mysql = server().flavour().is_mysql();
    for mode in MODES {
        prepare(&name, mode);
        for way in WAYS {
            let (mut direct, mut client) = (direct(&name), proxy.connect(Some(&name)));
            let set = format!("PREPARE s FROM \"SET sql_mode={mode}\"");
            let way = &way.replace("{mode}", mode);
            let variable = format!("SET @set = \"SET sql_mode={mode}\"");
            for sql in [
                &set,
                &variable,
                way,
                "SELECT 'a\\\\b'",
                "SELECT \"a\"",
                "SELECT /* b */ 'a\\\\b'",
                "SELECT @@sql_mode",
            ] {
                let expected = try_text(&mut direct, sql);
                let found = client.query_first::<mysql::Row, _>(sql);
                let found = match found {
                    Ok(row) => row.as_ref().map_or("none".to_owned(), text_of),
                    Err(mysql::Error::MySqlError(error)) if error.code != 1105 => {
                        format!("error {}", error.code)
                    }
                    // MySQL does not tell of ANSI_QUOTES with its answers: the session ends, and says why.
                    Err(mysql::Error::MySqlError(_)) if is_mysql && mode.contains("ANSI") => break,
                    Err(error) => panic!("{way} {mode}: {sql}: {error}"),
                };
                assert_eq!(found, expected, "{way} {mode}: {sql}");
            }
        }
    }
}

#[test]
fn a_mode_that_cannot_be_read_ends_the_session_with_a_reason() {
    if server().flavour().is_mysql() {
        return;
    }
    let name = schema("hidden_oracle");
    prepare(&name, "'ORACLE'");
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&name));
    client
        .query_drop("EXECUTE IMMEDIATE 'SET sql_mode=ORACLE'")
        .unwrap();
    let (code, message) = error(&mut client, "SELECT 1");
    assert_eq!(code, 1105, "{message}");
    assert!(message.contains("sql_mode"), "{message}");
    assert!(client.query_drop("SELECT 1").is_err());
    // What a procedure sets, it gives back.
    let mut client = proxy.connect(Some(&name));
    client.query_drop("CALL sets()").unwrap();
    client.query_drop("SELECT 1").unwrap();
}

/// Answers to pieces that fit and pieces that do not, and to an execution behind them.
fn answers_to_pieces(address: std::net::SocketAddr) -> Vec<Option<u16>> {
    let mut client = RawClient::log_in(address);
    client.send(0, b"\x16SELECT ?");
    let prepared = client.packet().unwrap();
    let id = &prepared[1..5];
    // A definition and EOF for the parameter, and the same for the column.
    for _ in 0..4 {
        client.packet().unwrap();
    }
    let piece = |id: &[u8], parameter: u8| [b"\x18", id, &[parameter, 0], b"piece"].concat();
    let execute = [b"\x17", id, b"\0\x01\0\0\0\0\x01\xfd\0"].concat();
    let mut answers = Vec::new();
    client.send(0, &piece(&[9, 9, 9, 9], 0));
    answers.push(client.code(b"\x0e"));
    client.send(0, &piece(id, 7));
    answers.push(client.code(b"\x0e"));
    for _ in 0..2 {
        // MySQL refuses the execution with another error.
        answers.push(
            client
                .code(&execute)
                .map(|code| if code == 1835 { 1210 } else { code }),
        );
    }
    answers.push(client.code(&[b"\x1a", id].concat()));
    client.send(0, &piece(id, 0));
    answers.push(client.code(&execute));
    answers
}

#[test]
fn a_piece_that_does_not_fit_fails_its_execution_alone() {
    let proxy = start(&Setup::default());
    let found = answers_to_pieces(proxy.running().listen_address());
    assert_eq!(
        found,
        [Some(0), Some(0), Some(1210), Some(1210), Some(0), Some(0)]
    );
    assert_eq!(found, answers_to_pieces(server().address()));
}

/// MySQL finds variables without regard to accents; MariaDB has none of these names.
#[test]
fn names_of_variables_are_in_ascii() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    for sql in [
        "SET sql_möde = 'ANSI_QUOTES'",
        "SET time_zone = '+00:00', SESSION `sql_möde` = ''",
        "SET @@session.character_set_clïent = gbk",
        "SET GLOBAL optimizer_träce = 'enabled=on'",
        "SET autocommït = 0",
        "/*!40101 SET sql_möde = 'ANSI_QUOTES' */",
        "/*! SET @@sql_möde = 'ANSI_QUOTES' */",
        "SELECT @@ïdentity",
        "SELECT @@session.`warnïng_count`",
        "SELECT /*! @@last_insert_ïd */ 1",
    ] {
        let (code, message) = error(&mut client, sql);
        assert_eq!(code, 1193, "{sql}: {message}");
    }
    assert_eq!(error(&mut client, "SET sql_mode = 'ANSI_QÜOTES'").0, 1231);
    // Texts and other names may have any letter.
    client.query_drop("SET @ö = 'ö'").unwrap();
    assert_eq!(
        crate::support::value(&mut client, "SELECT 'user@@exämple' /* @@ä */"),
        "user@@exämple"
    );
}
