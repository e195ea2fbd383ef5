//! Prepared statements whose key is bound when they are executed.
//!
//! Every statement runs through the proxy in front of two shards and on one server that holds all rows. With the same
//! values both answer the same, or the proxy refuses.

use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use shardwright_rules::{Finder, InShards, KeyKind, KeyValue, MapStep, Unqualified};

use crate::support::{self, Setup, TestProxy, error, map_alone, server, start, tenants_by_comment};

const ROWS: [(&str, &str, i64, i64); 4] = [
    ("1", "eu", 1, 10),
    ("1", "eu", 2, 11),
    ("2", "us", 1, 20),
    ("2", "us", 3, 21),
];

/// Two shards, and `SCHEMA_all` with the rows of both. The key is `tenant`, an integer, or `region`, a text.
fn by_column(schema: &'static str, kind: KeyKind, in_shards: InShards) -> TestProxy {
    let key = match kind {
        KeyKind::Integer => "tenant",
        KeyKind::Text => "region",
    };
    for (suffix, of) in [("1", Some("1")), ("2", Some("2")), ("all", None)] {
        let name = format!("{schema}_{suffix}");
        let rows: Vec<String> = ROWS
            .iter()
            .filter(|row| of.is_none_or(|of| row.0 == of))
            .map(|(tenant, region, id, c)| format!("({tenant}, '{region}', {id}, {c})"))
            .collect();
        let drop = match (in_shards, of) {
            (InShards::Absent, Some(_)) => format!("ALTER TABLE {name}.bal DROP COLUMN {key}"),
            _ => "DO 0".to_owned(),
        };
        server()
            .run(format!(
                "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; \
                 CREATE TABLE {name}.bal (tenant BIGINT, region VARCHAR(20), id INT, c INT); \
                 INSERT INTO {name}.bal VALUES {}; {drop}",
                rows.join(", ")
            ))
            .unwrap();
    }
    let mut map = MapStep {
        kind,
        key: key.into(),
        finders: vec![Finder::Column {
            column: key.into(),
            in_shards,
        }],
        unqualified: Unqualified::Qualify,
        ..tenants_by_comment(schema)
    };
    if kind == KeyKind::Text {
        for (shard, region) in map.shards.iter_mut().zip(["eu", "us"]) {
            shard.keys = vec![KeyValue::Text(region.into())];
        }
    }
    start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.graph.rules = map_alone(map.clone());
        }),
        ..Setup::default()
    })
}

/// Every value that a driver may bind for a key, right or wrong.
fn values() -> Vec<Value> {
    let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
    vec![
        Value::Int(1),
        Value::Int(2),
        Value::Int(3),
        Value::Int(-1),
        Value::UInt(2),
        Value::UInt(u64::MAX),
        Value::Double(1.0),
        Value::Double(1.5),
        Value::Float(2.0),
        Value::NULL,
        text("1"),
        text("01"),
        text(" 2"),
        text("2.0"),
        text("eu"),
        text("EU"),
        text("us "),
        text(""),
        Value::Date(2026, 11, 23, 0, 0, 0, 0),
    ]
}

type Outcome = Result<Vec<Vec<Value>>, u16>;

fn executed(connection: &mut Conn, sql: &str, values: &[Value]) -> Outcome {
    let rows: mysql::Result<Vec<mysql::Row>> = connection
        .prep(sql)
        .and_then(|statement| connection.exec(&statement, values.to_vec()));
    match rows {
        Ok(rows) => Ok(rows.into_iter().map(mysql::Row::unwrap).collect()),
        Err(mysql::Error::MySqlError(error)) => Err(error.code),
        Err(other) => panic!("{sql}: {other}"),
    }
}

/// How many of the executions were answered; none may be answered otherwise than by one server with all rows.
fn answered(proxy: &TestProxy, schema: &str, statements: &[&str]) -> usize {
    let mut client = proxy.connect(Some(schema));
    let mut whole = proxy
        .try_connect("other", support::PASSWORD, Some(&format!("{schema}_all")))
        .unwrap();
    let mut answered = 0;
    for sql in statements {
        let parameters = sql.matches('?').count();
        for value in values() {
            for second in if parameters > 1 {
                values()
            } else {
                vec![Value::NULL]
            } {
                let bound = [value.clone(), second][..parameters].to_vec();
                let found = executed(&mut client, sql, &bound);
                if found == Err(1148) {
                    continue;
                }
                assert_eq!(found, executed(&mut whole, sql, &bound), "{sql} with {bound:?}");
                answered += 1;
            }
        }
    }
    answered
}

#[test]
fn integers_place_an_execution() {
    let proxy = by_column("bound_integers", KeyKind::Integer, InShards::Present);
    let statements = [
        "SELECT id, c FROM bal WHERE tenant = ? ORDER BY id",
        "SELECT id, c FROM bal WHERE ? = tenant ORDER BY id",
        "SELECT COUNT(*) FROM bal WHERE tenant <=> ?",
        "SELECT id FROM bal WHERE tenant = ? AND id = ?",
        "SELECT id FROM bal WHERE id = ? AND tenant = ?",
        "SELECT id FROM bal WHERE tenant IN (?, ?) ORDER BY id",
        "SELECT id FROM bal WHERE tenant IN (1, ?) ORDER BY id",
        "SELECT id FROM bal WHERE tenant BETWEEN ? AND ? ORDER BY id",
        "SELECT id FROM bal WHERE (tenant = ? OR tenant = ?) ORDER BY id",
        "SELECT id FROM bal WHERE (tenant, id) = (?, ?)",
        "SELECT a.id, b.c FROM bal a JOIN bal b ON a.tenant = b.tenant WHERE a.tenant = ? AND b.id = ? ORDER BY 1, 2",
        "SELECT a.id FROM bal a, bal b WHERE a.tenant = ? AND b.tenant = ? ORDER BY 1",
        "SELECT ?, COUNT(*) FROM bal WHERE tenant = ?",
        "SELECT c FROM bal WHERE tenant = 2 AND id = ?",
        "SELECT COUNT(*) FROM bal WHERE tenant = ? OR id = ?",
        "SELECT COUNT(*) FROM bal WHERE tenant > ?",
        "SELECT COUNT(*) FROM bal WHERE NOT (tenant = ?)",
    ];
    let answered = answered(&proxy, "bound_integers", &statements);
    assert!(answered > 300, "{answered}");
}

#[test]
fn texts_place_an_execution_and_numbers_do_not() {
    let proxy = by_column("bound_texts", KeyKind::Text, InShards::Present);
    let statements = [
        "SELECT id, c FROM bal WHERE BINARY region = ? ORDER BY id",
        "SELECT id FROM bal WHERE region IN (?, ?) AND BINARY region IN ('eu', 'us') ORDER BY id",
    ];
    answered(&proxy, "bound_texts", &statements);
    let mut client = proxy.connect(Some("bound_texts"));
    let sql = "SELECT c FROM bal WHERE region = ? ORDER BY c";
    let values = |client: &mut Conn, key: Value| executed(client, sql, &[key]);
    let rows = |numbers: [i64; 2]| Ok(numbers.map(|number| vec![Value::Int(number)]).to_vec());
    assert_eq!(values(&mut client, "eu".into()), rows([10, 11]));
    assert_eq!(values(&mut client, "us".into()), rows([20, 21]));
    // `'eu' = 0` is true to a server.
    for wrong in [
        Value::Int(0),
        Value::Double(0.0),
        "EU".into(),
        "eu ".into(),
        Value::NULL,
    ] {
        assert_eq!(values(&mut client, wrong), Err(1148));
    }
}

#[test]
fn a_column_that_shards_lack_leaves_the_parameters_as_they_are() {
    let proxy = by_column("bound_absent", KeyKind::Integer, InShards::Absent);
    let statements = [
        "SELECT id, c FROM bal WHERE tenant = ? ORDER BY id",
        "SELECT id FROM bal WHERE id = ? AND tenant = ?",
        "SELECT id FROM bal WHERE tenant = ? AND id = ?",
        "SELECT a.id FROM bal a JOIN bal b ON a.id = b.id AND b.tenant = ? WHERE a.tenant = ? ORDER BY 1",
    ];
    let answered = answered(&proxy, "bound_absent", &statements);
    assert!(answered > 40, "{answered}");
    let mut client = proxy.connect(Some("bound_absent"));
    let insert = client.prep("INSERT INTO bal (tenant, id) VALUES (?, ?)");
    assert!(
        insert
            .unwrap_err()
            .to_string()
            .contains("cannot be taken out of new rows")
    );
}

#[test]
fn new_rows_go_where_their_key_is() {
    let proxy = by_column("bound_rows", KeyKind::Integer, InShards::Present);
    let mut client = proxy.connect(Some("bound_rows"));
    let insert = client
        .prep("INSERT INTO bal (tenant, id, c) VALUES (?, ?, 5)")
        .unwrap();
    for n in 100..140 {
        client.exec_drop(&insert, (n % 2 + 1, n)).unwrap();
    }
    let two = client
        .prep("INSERT INTO bal (id, tenant) VALUES (?, ?), (?, ?)")
        .unwrap();
    client.exec_drop(&two, (200, 2, 201, "2")).unwrap();
    let across = client.exec_drop(&two, (202, 1, 203, 2)).unwrap_err().to_string();
    assert!(across.contains("2 shards"), "{across}");
    let update = client
        .prep("UPDATE bal SET c = c + ? WHERE tenant = ? AND id >= ?")
        .unwrap();
    client.exec_drop(&update, (1, 1.0, 100)).unwrap();
    let set = client.prep("INSERT INTO bal SET tenant = ?, id = 300").unwrap();
    client.exec_drop(&set, (2,)).unwrap();
    let mut whole = proxy.try_connect("other", support::PASSWORD, None).unwrap();
    for (shard, tenant, expected) in [(1, 1, (22, 120, 0)), (2, 2, (25, 100, 0))] {
        let sql = format!(
            "SELECT COUNT(*), CAST(SUM(IF(id >= 100, c, 0)) AS INT), CAST(SUM(tenant <> {tenant}) AS INT) FROM bound_rows_{shard}.bal"
        );
        let found: Option<(i64, i64, i64)> = whole.query_first(sql).unwrap();
        assert_eq!(found, Some(expected), "shard {shard}");
    }
}

#[test]
fn a_transaction_goes_on_where_it_is() {
    let proxy = by_column("bound_transaction", KeyKind::Integer, InShards::Present);
    let mut client = proxy.connect(Some("bound_transaction"));
    for tenant in [2, 1] {
        client.query_drop("BEGIN").unwrap();
        client
            .query_drop(format!("UPDATE bal SET c = 0 WHERE tenant = {tenant}"))
            .unwrap();
        let read = client.prep("SELECT SUM(c) FROM bal WHERE tenant = ?").unwrap();
        let sum: Option<i64> = client.exec_first(&read, (tenant,)).unwrap();
        assert_eq!(sum, Some(0));
        let elsewhere: mysql::Result<Option<i64>> = client.exec_first(&read, (3 - tenant,));
        assert!(elsewhere.is_err());
        client.query_drop("ROLLBACK").unwrap();
        let sum: Option<i64> = client.exec_first(&read, (3 - tenant,)).unwrap();
        assert_eq!(sum, Some(if tenant == 1 { 41 } else { 21 }));
    }
}

#[test]
fn a_key_elsewhere_must_be_the_bound_one() {
    let setup = Setup {
        configuration: Box::new(|configuration| {
            let mut map = tenants_by_comment("bound_comment");
            map.finders.push(Finder::Column {
                column: "tenant".into(),
                in_shards: InShards::Present,
            });
            configuration.graph.rules = map_alone(map);
        }),
        ..Setup::default()
    };
    drop(by_column("bound_comment", KeyKind::Integer, InShards::Present));
    let proxy = start(&setup);
    let mut client = proxy.connect(Some("bound_comment"));
    let read = client
        .prep("SELECT /* tenant=2 */ CAST(SUM(c) AS INT) FROM bal WHERE tenant = ?")
        .unwrap();
    assert_eq!(client.exec_first(&read, (2,)).unwrap(), Some(41_i64));
    let other: mysql::Result<Option<i64>> = client.exec_first(&read, (1,));
    assert!(other.unwrap_err().to_string().contains("SW353"));
    assert!(
        error(&mut client, "SELECT /* tenant=2 */ c FROM bal WHERE tenant = 1")
            .1
            .contains("SW353")
    );
}
