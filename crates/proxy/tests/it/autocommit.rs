//! Autocommit and the transactions that it opens and ends, however it is switched.

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::support::{self, Setup, schema, value};

const COUNT: &str = "SELECT COUNT(*) FROM t";

/// Ways to switch autocommit that do not say so in a form that is read in the text.
fn switches(name: &str, on: u8) -> Vec<String> {
    vec![
        format!("SET autocommit=(SELECT {on})"),
        format!("SET @a=1, autocommit={on}"),
        format!("EXECUTE IMMEDIATE 'SET autocommit={on}'"),
        format!("CALL {name}.switches({on})"),
        format!("/*! SET autocommit={on} */"),
        format!("SET time_zone='+00:00', autocommit={on}"),
    ]
}

fn tables(name: &str) {
    support::server()
        .run(format!(
            "CREATE TABLE {name}.t (id INT AUTO_INCREMENT PRIMARY KEY);
             CREATE PROCEDURE {name}.switches(switch INT) SET autocommit=switch;
             CREATE FUNCTION {name}.nothing() RETURNS INT RETURN NULL"
        ))
        .unwrap();
}

#[test]
fn autocommit_is_what_the_server_says_after_any_statement() {
    let proxy = support::start(&Setup::default());
    let name = schema("autocommit_off");
    tables(&name);
    let mut other = proxy.connect(Some(&name));
    let mut ways = switches(&name, 0);
    ways.push(format!("SET autocommit={name}.nothing()"));
    for switch in ways {
        let mut client = proxy.connect(Some(&name));
        client.query_drop(&switch).unwrap();
        client.query_drop("INSERT INTO t VALUES (NULL)").unwrap();
        client.query_drop("INSERT INTO t VALUES (NULL)").unwrap();
        assert_eq!(value(&mut client, COUNT), "2", "{switch}");
        assert_eq!(value(&mut other, COUNT), "0", "{switch}");
        client.query_drop("ROLLBACK").unwrap();
        assert_eq!(value(&mut client, COUNT), "0", "{switch}");
        assert_eq!(value(&mut client, "SELECT @@autocommit"), "0", "{switch}");
    }
}

#[test]
fn autocommit_that_a_server_turns_on_stays_on() {
    let proxy = support::start(&Setup::default());
    let name = schema("autocommit_on");
    tables(&name);
    let mut other = proxy.connect(Some(&name));
    for (position, switch) in switches(&name, 1).iter().enumerate() {
        let mut client = proxy.connect(Some(&name));
        client.query_drop("SET autocommit=0").unwrap();
        client.query_drop("INSERT INTO t VALUES (NULL)").unwrap();
        client.query_drop(switch).unwrap();
        let rows = 2 * position + 1;
        assert_eq!(value(&mut other, COUNT), rows.to_string(), "{switch}");
        client.query_drop("INSERT INTO t VALUES (NULL)").unwrap();
        client.query_drop("ROLLBACK").unwrap();
        assert_eq!(value(&mut other, COUNT), (rows + 1).to_string(), "{switch}");
    }
}

#[test]
fn autocommit_that_a_server_turns_off_is_off_on_every_connection() {
    let proxy = support::start(&Setup::default());
    let name = schema("autocommit_everywhere");
    tables(&name);
    let mut client = proxy.connect(Some(&name));
    client.query_drop("SET time_zone='+00:00', autocommit=0").unwrap();
    client.query_drop("/* b */ INSERT INTO t VALUES (NULL)").unwrap();
    client.query_drop("ROLLBACK").unwrap();
    assert_eq!(value(&mut client, COUNT), "0");
}

#[test]
fn turning_autocommit_on_commits_what_was_begun_before_it_was_off() {
    let proxy = support::start(&Setup::default());
    let name = schema("autocommit_begun");
    tables(&name);
    let mut client = proxy.connect(Some(&name));
    for sql in [
        "BEGIN",
        "INSERT INTO t VALUES (NULL)",
        "SET autocommit=0",
        "SET autocommit=1",
        "ROLLBACK",
    ] {
        client.query_drop(sql).unwrap();
    }
    assert_eq!(value(&mut client, COUNT), "1");
}

#[test]
fn a_user_variable_beside_what_the_proxy_keeps_is_set() {
    let proxy = support::start(&Setup::default());
    let mut client = proxy.connect(None);
    for (number, sql) in ["SET autocommit=0, @a=0", "SET @a=1, NAMES latin1"]
        .iter()
        .enumerate()
    {
        client.query_drop(sql).unwrap();
        assert_eq!(value(&mut client, "SELECT @a"), number.to_string(), "{sql}");
    }
    client.query_drop("SET @a=@a+1, time_zone='+01:00'").unwrap();
    assert_eq!(value(&mut client, "SELECT @a"), "2");
}

#[test]
fn what_a_comment_says_to_other_servers_is_not_done() {
    let proxy = support::start(&Setup::default());
    let name = schema("autocommit_comment");
    tables(&name);
    let mut client = proxy.connect(Some(&name));
    client.query_drop("SET NAMES utf8mb4").unwrap();
    client.query_drop("/*!999999 SET autocommit=0 */").unwrap();
    client.query_drop("/*!999999 SET NAMES latin1 */").unwrap();
    for hint in ["", "/* b */"] {
        let sql = format!("SELECT {hint} CONCAT(@@character_set_client, @@autocommit = 1)");
        assert_eq!(value(&mut client, &sql), "utf8mb41", "{sql}");
    }
    client.query_drop("INSERT INTO t VALUES (NULL)").unwrap();
    assert_eq!(value(&mut proxy.connect(Some(&name)), COUNT), "1");
}

/// MariaDB does not know of the transaction that such a SET begins: a reset leaves it open, and whoever has the
/// connection next would commit it.
#[test]
fn what_was_not_committed_is_gone_with_its_session() {
    let proxy = support::start(&Setup::default());
    let name = schema("autocommit_gone");
    tables(&name);
    let switch = "(SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA='')";
    for switch in [
        format!("SET autocommit=(SELECT COUNT(*) FROM {name}.t)"),
        format!("SET autocommit={switch}"),
        format!("EXECUTE IMMEDIATE 'SET autocommit=(SELECT COUNT(*) FROM {name}.t)'"),
        format!("SET autocommit=0, @a=(SELECT COUNT(*) FROM {name}.t)"),
    ] {
        let mut client = proxy.connect(Some(&name));
        client.query_drop(&switch).unwrap();
        client.query_drop("INSERT INTO t VALUES (NULL)").unwrap();
        drop(client);
        proxy.settle();
        for _ in 0..2 {
            assert_eq!(value(&mut proxy.connect(Some(&name)), COUNT), "0", "{switch}");
        }
    }
}

#[test]
fn turning_it_on_within_xa_is_refused_and_the_session_goes_on() {
    let proxy = support::start(&Setup::default());
    let codes = |mut client: Conn| {
        let statements = [
            "XA START 'within'",
            "SET autocommit=0",
            "SET autocommit=1",
            "SELECT 1",
            "XA END 'within'",
            "XA ROLLBACK 'within'",
            "SET autocommit=1",
        ];
        statements.map(|sql| match client.query_drop(sql) {
            Err(mysql::Error::MySqlError(error)) => error.code,
            Err(error) => panic!("{sql}: {error}"),
            Ok(()) => 0,
        })
    };
    let direct = codes(support::server().root().unwrap());
    assert_eq!(codes(proxy.connect(None)), direct);
    assert!(direct.contains(&1399));
}
