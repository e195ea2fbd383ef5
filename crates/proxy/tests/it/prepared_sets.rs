//! SETs that are prepared, with and without parameters: prepared and executed as on the server itself, and held on every
//! connection of the session.

use mysql::prelude::Queryable;
use mysql::{Conn, Value, params};
use shardwright_testkit::ClientOptions;

use crate::maps::tenants;
use crate::support::{PASSWORD, USER, server};

const NAME: &str = "prepared_sets";

/// All that the scripts set, on the connection of tenant 2.
const LOOK: &str = "SELECT /* tenant=2 */ CONCAT_WS('|', @@sql_mode, @@time_zone, @@sql_select_limit, @@lock_wait_timeout, \
                    @@character_set_results, @@autocommit) FROM t";
/// A user variable, and what it is.
const LOOK_AT_VARIABLE: &str = "SELECT HEX(@a), CHARSET(@a), COLLATION(@a), @a IS NULL, @a + 0, LENGTH(@a)";

fn text(text: &str) -> Value {
    Value::from(text)
}

/// Statements with their values, each executed in the same session.
fn scripts() -> Vec<Vec<(&'static str, Vec<Value>)>> {
    let one = |text: &'static str, value: Value| vec![(text, vec![value])];
    vec![
        one("SET time_zone=?", text("+03:00")),
        one("SET SESSION sql_mode=?", text("ANSI")),
        one(
            "SET SESSION sql_mode=?",
            text("NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES"),
        ),
        one("SET sql_select_limit=?", Value::UInt(u64::MAX)),
        one("SET sql_select_limit=?", Value::Int(7)),
        one("SET @@lock_wait_timeout=?", Value::Int(70)),
        one("SET lock_wait_timeout=?", text("seventy")),
        one("SET lock_wait_timeout=?", Value::Double(1.5)),
        one("SET autocommit=?", Value::Int(0)),
        one("SET character_set_results=?", Value::NULL),
        vec![(
            "SET time_zone=?, lock_wait_timeout=?",
            vec![text("+01:00"), Value::Int(9)],
        )],
        vec![
            ("SET time_zone=?", vec![text("+01:00")]),
            ("SET time_zone=?", vec![text("it's \\ no zone")]),
            ("SET time_zone=DEFAULT", vec![]),
            ("SET time_zone=?", vec![text("-02:00")]),
        ],
        one("SET @a=?", Value::Int(-5)),
        one("SET @a=?", Value::UInt(u64::MAX)),
        one("SET @a=?", Value::Double(0.1)),
        one("SET @a=?", Value::Float(0.1)),
        one("SET @a=?", Value::NULL),
        one("SET @a=?", text("it's \\ \"é\" ? /* */ --")),
        one("SET @a=?", text("")),
        one("SET @a=?", Value::Date(2026, 11, 29, 1, 2, 3, 4)),
        one("SET @a=?", Value::Date(2026, 11, 29, 1, 2, 3, 0)),
        one("SET @a=?", Value::Date(2026, 11, 29, 0, 0, 0, 0)),
        one("SET @a=?", Value::Time(true, 1, 2, 3, 4, 5)),
        one("SET @a=?", Value::Time(false, 0, 2, 3, 4, 0)),
        one("SET @a=? + ?", Value::Int(1)),
        vec![("SET @a=? + ?", vec![Value::Int(1), text("2")])],
        vec![("SET @a='?', @b=?", vec![text("x")])],
        // A server says no as they are prepared.
        vec![("SET no_such_variable=1", vec![])],
        vec![("SET no_such_variable=?", vec![Value::Int(1)])],
        vec![("SET time_zone=", vec![])],
        vec![("SET NAMES ?", vec![text("latin1")])],
        vec![("SET NAMES latin1", vec![])],
        vec![("SET PASSWORD=?", vec![text("x")])],
        vec![
            ("SET TRANSACTION READ ONLY", vec![]),
            ("SET @a=?", vec![text("after")]),
        ],
    ]
}

/// What a client sees of a script: whether each statement is prepared, with how many parameters, how it is executed, and what is set
/// then.
fn seen(mut client: Conn, script: &[(&str, Vec<Value>)]) -> Vec<String> {
    let code = |error: mysql::Error| match error {
        mysql::Error::MySqlError(error) if matches!(error.code, 1105 | 1148) => error.to_string(),
        mysql::Error::MySqlError(error) => format!("error {}", error.code),
        other => format!("{other:?}"),
    };
    let mut seen = Vec::new();
    for (text, values) in script {
        let statement = match client.prep(text) {
            Ok(statement) => statement,
            Err(error) => {
                seen.push(format!("not prepared: {}", code(error)));
                continue;
            }
        };
        seen.push(format!("{} parameters", statement.num_params()));
        let values = match values.is_empty() {
            true => params::Params::Empty,
            false => params::Params::Positional(values.clone()),
        };
        seen.push(
            client
                .exec_drop(&statement, values)
                .map_or_else(code, |()| "executed".to_owned()),
        );
    }
    for look in [LOOK_AT_VARIABLE, LOOK] {
        let row = client.query_first::<mysql::Row, _>(look);
        seen.push(row.map_or_else(code, |row| format!("{:?}", row.map(mysql::Row::unwrap))));
    }
    seen
}

#[test]
fn a_prepared_set_sets_what_it_sets_on_a_server() {
    let proxy = tenants(NAME);
    let direct = format!("{NAME}_2");
    let mut different = Vec::new();
    for script in scripts() {
        let options = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: Some(&direct),
        };
        let there = seen(server().connect(options).unwrap(), &script);
        let here = seen(proxy.connect(Some(NAME)), &script);
        if here != there {
            different.push(format!("{script:?}\n  here  {here:?}\n  there {there:?}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
