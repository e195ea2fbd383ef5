//! Server-side prepared statements.

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use shardwright_testkit::{ClientOptions, connect};

use crate::support::{PASSWORD, PATIENCE, Setup, USER, heavy, schema, server, start, value};

#[test]
fn statements_are_prepared_wherever_they_go() {
    let name = schema("prepared_basic");
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&name));
    client
        .query_drop("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(30), b BLOB)")
        .unwrap();
    let insert = client.prep("INSERT INTO t VALUES (?, ?, ?)").unwrap();
    for id in 0..20 {
        client
            .exec_drop(&insert, (id, format!("name {id}"), Value::NULL))
            .unwrap();
    }
    let select = client.prep("SELECT a FROM t WHERE id = ?").unwrap();
    // Other sessions take the connections in between, so that the statement is prepared on several.
    let mut others: Vec<_> = (0..4).map(|_| proxy.connect(Some(&name))).collect();
    for id in 0..20 {
        for other in &mut others {
            other.query_drop("SELECT 1").unwrap();
        }
        let found: Option<String> = client.exec_first(&select, (id,)).unwrap();
        assert_eq!(found, Some(format!("name {id}")));
    }
    // The same text for another session, with another type of parameter.
    let again = others[0].prep("SELECT a FROM t WHERE id = ?").unwrap();
    let found: Option<String> = others[0].exec_first(&again, ("7",)).unwrap();
    assert_eq!(found.as_deref(), Some("name 7"));
    let found: Option<String> = client.exec_first(&select, (8,)).unwrap();
    assert_eq!(found.as_deref(), Some("name 8"));
}

#[test]
fn a_text_that_is_prepared_again_keeps_the_transaction() {
    let name = schema("prepared_again");
    let proxy = start(&Setup::default());
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(&name),
    };
    // The driver would remember texts and prepare each of them once.
    let options = options
        .tcp(proxy.running().listen_address())
        .stmt_cache_size(Some(0));
    let mut client = mysql::Conn::new(options).unwrap();
    client.query_drop("CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    let connection = value(&mut client, "SELECT @@pseudo_thread_id");
    client.query_drop("BEGIN").unwrap();
    for id in 0..5 {
        client.exec_drop("INSERT INTO t VALUES (?)", (id,)).unwrap();
        let count: Option<i32> = client.exec_first("SELECT COUNT(*) FROM t", ()).unwrap();
        assert_eq!(count, Some(id + 1));
    }
    client.query_drop("COMMIT").unwrap();
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), "5");
    assert_eq!(value(&mut client, "SELECT @@pseudo_thread_id"), connection);
}

#[test]
fn preparing_holds_no_connection() {
    let proxy = start(&Setup {
        max_connections: 1,
        ..Setup::default()
    });
    let mut one = proxy.connect(None);
    let mut two = proxy.connect(None);
    let first = one.prep("SELECT 1").unwrap();
    let second = two.prep("SELECT 2").unwrap();
    for _ in 0..3 {
        assert_eq!(one.exec_first::<u32, _, _>(&first, ()).unwrap(), Some(1));
        assert_eq!(two.exec_first::<u32, _, _>(&second, ()).unwrap(), Some(2));
    }
}

#[test]
fn a_statement_means_the_schema_it_was_prepared_in() {
    let (one, two) = (schema("prepared_one"), schema("prepared_two"));
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&one));
    for (name, a) in [(&one, 1), (&two, 2)] {
        client
            .query_drop(format!("CREATE TABLE {name}.t (a INT)"))
            .unwrap();
        client
            .query_drop(format!("INSERT INTO {name}.t VALUES ({a})"))
            .unwrap();
    }
    let mut direct = directly(&one);
    for sql in [
        "SELECT a FROM t",
        "SET @a = (SELECT a FROM t)",
        "SELECT DATABASE()",
        "SELECT DATABASE(), a FROM t",
        "SELECT a FROM t WHERE DATABASE() = SCHEMA()",
        "SET @a = CONCAT(DATABASE(), (SELECT a FROM t))",
        "SET @a = DATABASE()",
        &format!("USE {one}"),
        &format!("USE {two}"),
    ] {
        let [here, there] = [&mut client, &mut direct].map(|of| {
            of.query_drop(format!("USE {one}")).unwrap();
            let statement = of.prep(sql);
            of.query_drop(format!("USE {two}")).unwrap();
            let rows = statement.and_then(|statement| of.exec::<Row, _, _>(&statement, ()));
            let left: Vec<Row> = of.query("SELECT @a, DATABASE()").unwrap();
            format!("{rows:?} {left:?}")
        });
        assert_eq!(here, there, "{sql}");
    }
    assert_eq!(value(&mut client, "SELECT a FROM t"), "2");
}

/// A connection to the server.
pub(crate) fn directly(schema: &str) -> Conn {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(schema),
    };
    connect(server().address(), options).unwrap()
}

#[test]
fn errors_are_the_servers() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    match client.prep("SELECT * FROM nowhere.t") {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1146),
        other => panic!("{:?}", other.map(|_| ())),
    }
    match client.prep("KILL ?") {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1295),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert_eq!(value(&mut client, "SELECT 1"), "1");
}

#[test]
fn parameters_in_pieces_arrive_whole() {
    let _alone = heavy();
    let name = schema("prepared_long");
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&name));
    client.query_drop("CREATE TABLE t (a LONGBLOB)").unwrap();
    let insert = client.prep("INSERT INTO t VALUES (?)").unwrap();
    // Past 16 MiB the driver sends the parameter by COM_STMT_SEND_LONG_DATA.
    let data: Vec<u8> = (0..20 << 20).map(|i: u32| (i % 251) as u8).collect();
    client.exec_drop(&insert, (&data,)).unwrap();
    let found: Option<Vec<u8>> = client.exec_first("SELECT a FROM t", ()).unwrap();
    assert!(found.unwrap() == data);
}

#[test]
fn statements_of_a_session_are_limited() {
    let proxy = start(&Setup {
        options: Box::new(|options| {
            options.limits.max_prepared_statements = 3;
            options.limits.max_backend_statements = 2;
        }),
        ..Setup::default()
    });
    let mut client = proxy.connect(None);
    let kept: Vec<_> = (0..3)
        .map(|n| client.prep(format!("SELECT {n}")).unwrap())
        .collect();
    match client.prep("SELECT 'one more'") {
        Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 1461),
        other => panic!("{:?}", other.map(|_| ())),
    }
    for _ in 0..2 {
        for (n, statement) in kept.iter().enumerate() {
            assert_eq!(client.exec_first::<usize, _, _>(statement, ()).unwrap(), Some(n));
        }
    }
    let mut direct = crate::support::server().root().unwrap();
    drop(client);
    shardwright_testkit::eventually(PATIENCE, || value(&mut direct, "SELECT 1") == "1");
}

#[test]
fn the_end_of_a_transaction_is_prepared_before_its_first_key_and_after() {
    let proxy = crate::maps::tenants("prepared_ends");
    let mut direct = crate::support::server().root().unwrap();
    for end in [
        "COMMIT",
        "ROLLBACK",
        "COMMIT AND NO CHAIN",
        "/* c */ ROLLBACK WORK",
    ] {
        direct.query_drop("BEGIN").unwrap();
        let expected = direct.exec_drop(end, ()).map_err(|error| error.to_string());
        for first in [None, Some("UPDATE /* tenant=1 */ t SET who = who + 1")] {
            let mut client = proxy.connect(Some("prepared_ends"));
            client.query_drop("BEGIN").unwrap();
            let prepared = client.prep(end).map_err(|error| error.to_string());
            if let Some(update) = first {
                client.query_drop(update).unwrap();
            }
            let answer =
                prepared.and_then(|end| client.exec_drop(end, ()).map_err(|error| error.to_string()));
            assert_eq!(answer, expected, "{end} after {first:?}");
        }
    }
    // COMMIT has kept its update, ROLLBACK has not.
    let mut client = proxy.connect(Some("prepared_ends"));
    assert_eq!(value(&mut client, "SELECT /* tenant=1 */ who FROM t"), "3");
}
