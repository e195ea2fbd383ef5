//! Texts that a session prepares again: nothing is left of the statement before. The key is a parameter, so that it decides where a
//! statement is executed, and not where it is prepared.

use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};
use shardwright_rules::{Finder, InShards, MapStep};

use crate::prepared::directly;
use crate::support::{Setup, TestProxy, map_alone, server, start, tenants_by_comment};

const TABLE: &str = "CREATE TABLE t (tenant INT, id INT, u BIGINT UNSIGNED, d DECIMAL(20,0), s VARCHAR(30), t DATETIME); \
                     INSERT INTO t VALUES (2, 1, 9007199254740992, 9007199254740992, '9007199254740992', '2026-01-01'), \
                     (2, 2, 9007199254740993, 9007199254740993, '9007199254740993', '2026-01-02'), (2, 3, 7, 7, '7e0', '2026-01-03')";

/// A proxy with tenants in columns, a session of it, and one of the server with the rows of tenant 2.
fn sessions(name: &'static str) -> (TestProxy, Conn, Conn) {
    for end in ["1", "2"] {
        let schema = format!("{name}_{end}");
        server()
            .run(format!(
                "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; {TABLE}"
            ))
            .unwrap();
    }
    let map = MapStep {
        finders: vec![Finder::Column {
            column: "tenant".into(),
            in_shards: InShards::Present,
        }],
        ..tenants_by_comment(name)
    };
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| configuration.graph.rules = map_alone(map.clone())),
        ..Setup::default()
    });
    let client = proxy.connect(Some(name));
    (proxy, client, directly(&format!("{name}_2")))
}

/// The rows of a statement that is prepared for one execution. An error is an answer, too.
fn ask(of: &mut Conn, sql: &str, value: &Value) -> String {
    let mut ask = || -> mysql::Result<Vec<Row>> {
        let statement = of.prep(sql)?;
        let mut parameters = vec![Value::Int(2)];
        parameters.resize(usize::from(statement.num_params()), value.clone());
        let rows = of.exec(&statement, parameters);
        of.close(statement)?;
        rows
    };
    format!("{:?}", ask())
}

#[test]
fn types_that_were_bound_before_change_no_answer() {
    let (_proxy, mut client, mut direct) = sessions("again_types");
    let values = [
        Value::Int((1 << 53) + 1),
        Value::UInt((1 << 53) + 1),
        Value::Double(7.0),
        Value::Float(7.0),
        Value::Bytes(b"9007199254740993".to_vec()),
        Value::Date(2026, 1, 1, 0, 0, 0, 0),
        Value::NULL,
    ];
    for sql in [
        "SELECT id FROM t WHERE tenant = ? AND u = ? ORDER BY id",
        "SELECT id FROM t WHERE tenant = ? AND u <=> ? ORDER BY id",
        "SELECT id FROM t WHERE tenant = ? AND d IN (?, 0) ORDER BY id",
        "SELECT id FROM t WHERE tenant = ? AND s = ? ORDER BY id",
        "SELECT id FROM t WHERE tenant = ? AND t >= ? ORDER BY id",
        "SELECT id FROM t WHERE tenant = ? AND d - ? < 100 ORDER BY id",
    ] {
        for before in &values {
            for value in &values {
                ask(&mut client, sql, before);
                let [seen, expected] = [&mut client, &mut direct].map(|of| ask(of, sql, value));
                assert_eq!(seen, expected, "{sql}: {value:?} behind {before:?}");
            }
        }
    }
}

#[test]
fn variables_that_were_set_before_change_no_answer() {
    let (_proxy, mut client, mut direct) = sessions("again_variables");
    for (variable, values, sql) in [
        ("group_concat_max_len", ["1000", "4"], "GROUP_CONCAT(s)"),
        ("div_precision_increment", ["4", "9"], "MAX(id / 7)"),
        ("lc_time_names", ["'en_US'", "'de_DE'"], "MONTHNAME(MAX(t))"),
        ("default_week_format", ["0", "3"], "WEEK(MAX(t))"),
        ("time_zone", ["'+00:00'", "'+03:00'"], "FROM_UNIXTIME(MAX(id))"),
    ] {
        let sql = format!("SELECT {sql} FROM t WHERE tenant = ?");
        for value in [values, values].concat() {
            let [seen, expected] = [&mut client, &mut direct].map(|of| {
                of.query_drop(format!("SET {variable}={value}")).unwrap();
                ask(of, &sql, &Value::NULL)
            });
            assert_eq!(seen, expected, "{variable}={value}");
        }
    }
}
