//! Forms of SET, and what a session is told of its own beginning: each as on the server itself.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{ClientOptions, Flavour};

use crate::resets::try_text;
use crate::support::{PASSWORD, Setup, USER, server, start, value};

fn direct() -> Conn {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    };
    server().connect(options).unwrap()
}

/// Asks for all that the forms set.
const LOOK: &str = "SELECT CONCAT_WS(' ', @@sql_mode, @@character_set_client, @@character_set_connection, @@collation_connection, \
                    @@character_set_results, @@time_zone, @@sql_select_limit, HEX('é'))";

/// Each script runs in a session of its own.
const SCRIPTS: [&[&str]; 27] = [
    &["SELECT ROW_COUNT()", "SELECT ROW_COUNT()"],
    &["SELECT @@warning_count, @@error_count"],
    &["SHOW WARNINGS"],
    &["SELECT LAST_INSERT_ID()"],
    &["SET NAMES DEFAULT", LOOK],
    &["SET NAMES latin1", "SET NAMES DEFAULT", LOOK],
    &["SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET NAMES default", LOOK],
    &["SET character_set_client=latin1", "SET NAMES DEFAULT", LOOK],
    &["SET CHARACTER SET DEFAULT", LOOK],
    &["SET NAMES latin1", "SET CHARSET DEFAULT", LOOK],
    &["SET NAMES DEFAULT COLLATE latin1_bin", LOOK],
    &[
        "SET sql_mode=CONCAT(@@sql_mode, ',ANSI_QUOTES')",
        LOOK,
        "SELECT \"a\" FROM (SELECT 1 AS a) x",
    ],
    &["SET @a='ANSI'", "SET sql_mode=@a", LOOK],
    &["SET sql_mode=''", "SET sql_mode=DEFAULT", LOOK],
    &["SET sql_mode=4 + 8", LOOK],
    &["SET sql_mode=CAST(4 AS UNSIGNED)", LOOK],
    &["SET sql_mode=(SELECT 4)", LOOK],
    &["SET sql_mode=TRIM(' ANSI ')", LOOK],
    &["SET sql_mode=IF(1, 'ANSI', '')", LOOK],
    &["SET sql_mode=CASE WHEN 1 THEN 'ANSI' ELSE '' END", LOOK],
    &["SET sql_mode=NULL", LOOK],
    &[
        "SET sql_mode=REPLACE(@@sql_mode, 'STRICT_TRANS_TABLES', ''), time_zone='+01:00'",
        LOOK,
    ],
    &["SET resultset_metadata=NONE", "SELECT 1"],
    &["SET SESSION resultset_metadata=FULL", "SELECT 1"],
    &[
        "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
        LOOK,
        "/*!40101 SET SQL_MODE=@OLD_SQL_MODE */",
        LOOK,
    ],
    &["SET time_zone=DEFAULT, sql_select_limit=DEFAULT", LOOK],
    &["SET @@session.sql_mode := DEFAULT", LOOK],
];

/// MariaDB's.
const OF_MARIADB: [&[&str]; 13] = [
    &[
        "PREPARE s FROM 'SELECT @@sql_mode, ?'",
        "SET @a = 5",
        "SET STATEMENT sql_mode='ANSI_QUOTES' FOR EXECUTE s USING @a",
        "EXECUTE s USING @a",
        LOOK,
    ],
    &[
        "SET STATEMENT sql_mode=ONLY_FULL_GROUP_BY FOR EXECUTE IMMEDIATE 'SELECT @@sql_mode'",
        LOOK,
    ],
    &[
        "SET sql_mode='ANSI_QUOTES'",
        "SET STATEMENT sql_mode='ANSI' FOR EXECUTE IMMEDIATE 'SELECT \"a\" FROM (SELECT 1 AS a) x'",
        LOOK,
    ],
    &[
        "SET STATEMENT sql_mode='', max_statement_time=9 FOR BEGIN NOT ATOMIC SET @b = @@max_statement_time; SELECT @b, @@sql_mode; END",
        "SELECT @b, @@max_statement_time",
        LOOK,
    ],
    &["SET STATEMENT sql_mode='ANSI_QUOTES' FOR SELECT \"a\"", LOOK],
    &["SET STATEMENT sql_mode='PIPES_AS_CONCAT' FOR SELECT 1||2", LOOK],
    &[
        "SET STATEMENT sql_mode=CONCAT(@@sql_mode, ',ANSI') FOR SELECT @@sql_mode",
        LOOK,
    ],
    &[
        "SET STATEMENT sql_mode='ANSI_QUOTES' FOR SET @a=1",
        LOOK,
        "SELECT \"a\"",
    ],
    &["SET STATEMENT sql_mode='ORACLE' FOR SELECT 1", LOOK],
    &[
        "SET STATEMENT max_statement_time=1, sql_mode='' FOR SELECT @@sql_mode",
        LOOK,
    ],
    &["SET STATEMENT sql_mode=@nope FOR SELECT 1", LOOK],
    &["SET STATEMENT time_zone='+05:00' FOR SELECT @@time_zone", LOOK],
    &[
        "SET sql_mode='ANSI_QUOTES'",
        "SET STATEMENT sql_mode='' FOR SELECT \"a\" FROM (SELECT 1 AS a) x",
        LOOK,
    ],
];

#[test]
fn forms_of_set_are_answered_as_at_the_server() {
    let proxy = start(&Setup::default());
    let mut scripts = SCRIPTS.to_vec();
    if !Flavour::default().is_mysql() {
        scripts.extend(OF_MARIADB);
    }
    let mut different = Vec::new();
    for script in scripts {
        let (mut direct, mut client) = (direct(), proxy.connect(None));
        for sql in script {
            let (expected, found) = (try_text(&mut direct, sql), try_text(&mut client, sql));
            if found != expected {
                different.push(format!("{script:?}: {sql}: {found} for {expected}"));
            }
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_number_that_is_no_integer_is_no_mode() {
    let proxy = start(&Setup::default());
    for value in ["POW(2, 2)", "CAST(4 AS DECIMAL)", "4.0", "4e0"] {
        let (mut direct, mut client) = (direct(), proxy.connect(None));
        let before = try_text(&mut client, LOOK);
        for connection in [&mut direct, &mut client] {
            let answer = try_text(connection, &format!("SET sql_mode={value}"));
            assert!(answer.starts_with("error 123"), "{value}: {answer}");
            assert_eq!(try_text(connection, LOOK), before, "{value}");
        }
    }
}

#[test]
fn what_a_form_has_set_is_set_on_every_connection() {
    let proxy = start(&Setup::default());
    let mut different = Vec::new();
    for script in SCRIPTS.iter().filter(|script| script.contains(&LOOK)) {
        let (mut direct, mut client) = (direct(), proxy.connect(None));
        for sql in script.iter().filter(|sql| **sql != LOOK) {
            try_text(&mut direct, sql);
            try_text(&mut client, sql);
        }
        let expected = try_text(&mut direct, LOOK);
        // A user variable keeps the session on its connection.
        let hint = if script.iter().any(|sql| sql.contains('@')) {
            ""
        } else {
            "/* b */"
        };
        let found = try_text(&mut client, &LOOK.replace("SELECT", &format!("SELECT {hint}")));
        if found != expected {
            different.push(format!("{script:?}: {found} for {expected}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn texts_that_another_mode_reads_are_refused_under_set_statement() {
    if Flavour::default().is_mysql() {
        return;
    }
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    for sql in [
        "SET STATEMENT sql_mode='ANSI_QUOTES' FOR EXECUTE IMMEDIATE 'SELECT 1'",
        "SET STATEMENT sql_mode='ANSI_QUOTES' FOR PREPARE s FROM 'SELECT 1'",
    ] {
        let (code, message) = crate::support::error(&mut client, sql);
        assert_eq!(code, 1064, "{sql}: {message}");
        assert!(
            message.contains("SET STATEMENT must not change the character set, nor how EXECUTE"),
            "{message}"
        );
    }
}

#[test]
fn several_statements_may_set_a_mode_that_reads_alike() {
    let proxy = start(&Setup::default());
    let sql = "SELECT 1; SET sql_mode=''; SELECT @@sql_mode; SET NAMES DEFAULT; SELECT 2";
    let answers = |mut client: Conn| {
        let mut results = client.query_iter(sql).unwrap();
        let mut answers = Vec::new();
        while let Some(set) = results.iter() {
            answers.push(
                set.map(|row| crate::support::text_of(&row.unwrap()))
                    .collect::<Vec<_>>(),
            );
        }
        answers
    };
    assert_eq!(answers(proxy.connect(None)), answers(direct()));
}

/// `SET optimizer_switch='mrr=off'` leaves all other switches as they were, on every connection of the session.
#[test]
fn a_switch_that_is_set_leaves_the_others() {
    let proxy = crate::maps::tenants("set_switches");
    let mut client = proxy.connect(Some("set_switches"));
    for sql in [
        "SET optimizer_switch='mrr=on'",
        "SET SESSION optimizer_switch='index_merge=off,index_condition_pushdown=off'",
        "SET optimizer_switch='index_merge=on'",
        "SET optimizer_switch='index_merge=off'",
    ] {
        client.query_drop(sql).unwrap();
    }
    let look = |tenant: u32| {
        format!(
            "SELECT /* tenant={tenant} */ CONCAT(@@optimizer_switch LIKE 'index_merge=off,%', @@optimizer_switch LIKE '%,mrr=on,%', \
             @@optimizer_switch LIKE '%,index_condition_pushdown=off,%') FROM t"
        )
    };
    for tenant in [1, 2, 1] {
        assert_eq!(value(&mut client, &look(tenant)), "111", "{tenant}");
    }
    client.query_drop("SET optimizer_switch='default'").unwrap();
    let mut fresh = proxy.connect(Some("set_switches"));
    for tenant in [2, 1] {
        let of_server = value(&mut fresh, &look(tenant));
        assert_eq!(value(&mut client, &look(tenant)), of_server, "{tenant}");
    }
}
