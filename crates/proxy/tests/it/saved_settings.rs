//! Settings that are saved in a user variable and set back, as dumps do: each as on the server itself.

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::resets::{OWN, VALUES, try_text};
use crate::support::{PASSWORD, Setup, TestProxy, USER, server, start};

/// The proxy answers for max_allowed_packet by itself. It names the character set in its errors for those, where a server speaks
/// of the variable.
const ANSWERED_OTHERWISE: [&str; 4] = [
    "max_allowed_packet",
    "character_set_client",
    "character_set_connection",
    "collation_connection",
];

/// Answers on the way: saved, set to another value, set back, read.
fn answers(client: &mut Conn, name: &str) -> Vec<String> {
    let mut answers = vec![try_text(client, &format!("SET @old = @@session.{name}"))];
    for value in VALUES {
        if client.query_drop(format!("SET SESSION {name} = {value}")).is_ok() {
            answers.push(format!("took {value}"));
            break;
        }
    }
    for sql in [
        format!("SET SESSION {name} = @old"),
        format!("SELECT @@session.{name}"),
        format!("SET SESSION {name} = @none"),
        format!("SELECT @@session.{name}"),
    ] {
        answers.push(try_text(client, &sql));
    }
    answers
}

/// A session on the server itself, and one through a proxy.
fn beside_the_server(proxy: &TestProxy) -> [Conn; 2] {
    let options = shardwright_testkit::ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    };
    [server().connect(options).unwrap(), proxy.connect(None)]
}

/// Servers convert literals to `character_set_connection`, and find no value in text of two bytes a character.
#[test]
fn settings_are_set_back_in_a_session_that_converts_literals() {
    let proxy = start(&Setup::default());
    let mut both = beside_the_server(&proxy);
    for connection in ["utf16", "utf32", "ucs2", "latin1"] {
        for name in [
            "optimizer_switch",
            "sql_mode",
            "time_zone",
            "character_set_results",
        ] {
            let [expected, found] = both.each_mut().map(|client| {
                [
                    "SET NAMES utf8mb4".to_owned(),
                    format!("SET character_set_connection = {connection}"),
                    format!("SET @saved = @@{name}"),
                    format!("SET {name} = DEFAULT"),
                    format!("SET {name} = @saved"),
                    format!("SELECT @@{name}, @@character_set_connection"),
                    "SET collation_connection = DEFAULT".to_owned(),
                    "SELECT @@collation_connection, HEX('a')".to_owned(),
                ]
                .map(|sql| try_text(client, &sql))
            });
            assert_eq!(found, expected, "{connection}: {name}");
        }
    }
}

#[test]
fn no_server_takes_these_for_the_character_set_of_a_client() {
    let proxy = start(&Setup::default());
    let mut both = beside_the_server(&proxy);
    for charset in ["ucs2", "UTF16", "'utf16le'", "utf32"] {
        for sql in [
            format!("SET NAMES {charset}"),
            format!("SET CHARACTER SET {charset}"),
            format!("SET character_set_client = {charset}"),
            format!(
                "SET character_set_client = CONCAT('{}', '')",
                charset.trim_matches('\'')
            ),
        ] {
            let [expected, found] = both.each_mut().map(|client| crate::support::error(client, &sql));
            assert_eq!(found, expected, "{sql}");
        }
    }
}

#[test]
fn every_variable_is_set_back_as_at_the_server() {
    let proxy = start(&Setup::default());
    let options = || shardwright_testkit::ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    };
    let names: Vec<(String, String)> = server().root().unwrap().query("SHOW SESSION VARIABLES").unwrap();
    let mut different = Vec::new();
    for (name, _) in names {
        let mut direct = server().connect(options()).unwrap();
        let is_global = try_text(&mut direct, &format!("SELECT @@session.{name}")) == "error 1238";
        // What one server keeps for replication, or decides what a client reads of an answer.
        let is_own = OWN.contains(&name.as_str())
            || name.starts_with("gtid_")
            || [
                "max_relay_log_size",
                "resultset_metadata",
                "sql_slave_skip_counter",
            ]
            .contains(&name.as_str());
        if is_global || is_own || ANSWERED_OTHERWISE.contains(&name.as_str()) {
            continue;
        }
        let expected = answers(&mut direct, &name);
        let found = answers(&mut proxy.connect(None), &name);
        if found != expected {
            different.push(format!("{name}: {found:?} for {expected:?}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_value_keeps_its_type() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    let mut direct = server()
        .connect(shardwright_testkit::ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: None,
        })
        .unwrap();
    for name in [
        "sql_select_limit",
        "time_zone",
        "long_query_time",
        "foreign_key_checks",
        "sql_mode",
    ] {
        for value in [
            "4294967296",
            "-1",
            "5",
            "'5'",
            "1.5",
            "1.5e0",
            "'1.5'",
            "NULL",
            "'ON'",
            "'+01:00'",
            "x'4F4E'",
            "b'1'",
            "TRUE",
            "CAST(5 AS UNSIGNED)",
            "CAST('5' AS BINARY)",
            "DATE'2020-01-01'",
        ] {
            // The proxy refuses a number that is no list of modes before the server does, by another error.
            if name == "sql_mode" && (value.contains('.') || value == "-1") {
                continue;
            }
            for sql in [
                format!("SET @a = {value}"),
                format!("SET SESSION {name} = @a"),
                format!("SELECT @@session.{name}"),
                format!("SET SESSION {name} = DEFAULT"),
            ] {
                assert_eq!(
                    try_text(&mut client, &sql),
                    try_text(&mut direct, &sql),
                    "{sql}, @a = {value}"
                );
            }
        }
    }
}
