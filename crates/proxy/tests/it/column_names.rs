//! Statements that are placed on a shard: columns have the names and types that they have in the logical schema.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::ClientOptions;

use crate::support::{PASSWORD, Setup, USER, map_alone, schema, server, start, tenants_by_comment};

/// `w` is the logical schema.
const QUERIES: [&str; 33] = [
    "SELECT w.t.a, w . t . b, `w`.`t`.a FROM w.t",
    "SELECT w.t.a + 1 FROM w.t",
    "SELECT -w.t.a, +w.t.a, (w.t.a), ((w.t.a)), (w.t.a + 1), NOT w.t.a FROM w.t",
    "SELECT w.t.*, t.*, a FROM w.t",
    "SELECT w.t.a /* c */ * 2 /* d */, w.t.a*2 x, w.t.a*2 AS y, w.t.a*2 'z', w.t.a*2 `v` FROM w.t",
    "SELECT DISTINCT w.t.a*2 FROM w.t ORDER BY w.t.a*2",
    "SELECT (SELECT a FROM w.t LIMIT 1)",
    "SELECT (SELECT MAX(w.t.a) FROM w.t) + 1, EXISTS (SELECT 1 FROM w.t)",
    "SELECT (SELECT a FROM t LIMIT 1), (SELECT b FROM `t` LIMIT 1) FROM t",
    "SELECT a IN (SELECT a FROM t), a FROM t",
    "SELECT CASE w.t.a WHEN 1 THEN b END, CASE WHEN w.t.a THEN 1 END c FROM w.t",
    "SELECT w.t.a IS NULL, w.t.a IS NOT NULL n, w.t.a BETWEEN 1 AND 2, w.t.a IN (1, 2), w.t.b LIKE 'x' FROM w.t",
    "SELECT w.t.b COLLATE utf8mb4_bin, BINARY w.t.b, w.t.b = 'a' 'b' FROM w.t",
    "SELECT COUNT(*), COUNT(w.t.a), SUM(w.t.a) s, GROUP_CONCAT(w.t.a ORDER BY w.t.a) FROM w.t",
    "SELECT SUM(w.t.a) OVER (ORDER BY w.t.a), ROW_NUMBER() OVER (ORDER BY w.t.a) r FROM w.t",
    "SELECT SUM(w.t.a) OVER n FROM w.t WINDOW n AS (ORDER BY w.t.a)",
    "SELECT EXTRACT(DAY FROM w.t.b), SUBSTRING(w.t.b FROM 1 FOR 2), TRIM(BOTH 'x' FROM w.t.b) FROM w.t",
    "SELECT DATE_ADD(w.t.b, INTERVAL 1 DAY), w.t.a + INTERVAL 1 DAY AS d FROM w.t",
    "SELECT IF(w.t.a, '\u{20ac}', '`'), IF(w.t.a, '\u{1d11e}', '''') FROM w.t",
    "SELECT w.t.a\n\t+ 1 # c\n, 2 -- d\n FROM w.t",
    "SELECT w.t.a                                                                                                                                                                                                                                                                                              + 1 FROM w.t",
    "SELECT w.t.a + 1 UNION SELECT 1",
    "SELECT w.t.a + 1 FROM w.t UNION SELECT w.t.a + 2 FROM w.t ORDER BY 1",
    "(SELECT w.t.a + 1 FROM w.t) UNION ALL (SELECT w.t.a * 3 FROM w.t) ORDER BY 1",
    "SELECT * FROM (SELECT w.t.a + 1, b FROM w.t) d",
    "SELECT * FROM (SELECT (SELECT w.t.a + 1 FROM w.t LIMIT 1), b FROM w.t) d",
    "WITH c AS (SELECT w.t.a + 1 FROM w.t) SELECT * FROM c",
    "SELECT x.a + y.a, x.a FROM w.t x JOIN w.t y ON x.a = y.a",
    "SELECT w.t.a + 1 FROM w.t LIMIT 1 FOR UPDATE",
    "SELECT w.t.a > 0 AND w.t.a < 9, w.t.a OR b, w.t.a DIV 2, w.t.a MOD 2, w.t.a <=> 1 FROM w.t",
    "SELECT w.f(1), w.f(w.t.a) g FROM w.t",
    "SELECT ALL SQL_CALC_FOUND_ROWS w.t.a + 1, 'x' 'y', 1 one FROM w.t",
    "SELECT JSON_EXTRACT(w.t.b, '$.a'), COALESCE(w.t.a, (SELECT MAX(a) FROM w.t)) FROM w.t",
];

/// Statements that store names, or give them back; `x` is looked at behind each.
const STORES: [&str; 5] = [
    "CREATE TABLE w.x SELECT w.t.a + 1, (SELECT MAX(w.t.a) FROM w.t), b FROM w.t",
    "CREATE VIEW w.x AS SELECT w.t.a + 1, (SELECT MAX(w.t.a) FROM w.t), b FROM w.t",
    "CREATE VIEW w.x AS SELECT w.t.a                                                                + 1 FROM w.t",
    "CREATE VIEW w.x (p, q) AS SELECT w.t.a + 1, w.t.a * 2 FROM w.t",
    "DELETE FROM w.t WHERE a = 7 RETURNING a + (SELECT MAX(a) FROM w.u), a",
];

const LOGICAL: &str = "column_names";

fn fill(name: &str) {
    server()
        .run(format!(
            "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; \
             CREATE TABLE t (a INT, b VARCHAR(20)); INSERT INTO t VALUES (1, '2020-01-02'), (2, 'b'); CREATE TABLE u (a INT); \
             CREATE FUNCTION f(i INT) RETURNS INT DETERMINISTIC RETURN i"
        ))
        .unwrap();
}

/// The columns of each result, or the number of an error; and the rows.
fn seen<T: mysql::prelude::Protocol>(result: mysql::Result<mysql::QueryResult<'_, '_, '_, T>>) -> String {
    let mut result = match result {
        Ok(result) => result,
        Err(mysql::Error::MySqlError(error)) => return format!("error {}", error.code),
        Err(error) => panic!("{error}"),
    };
    let mut seen = String::new();
    while let Some(set) = result.iter() {
        for column in set.columns().as_ref() {
            seen += &format!(
                "{:?} {:?} {:?} {} {}\n",
                column.name_str(),
                column.column_type(),
                column.flags(),
                column.column_length(),
                column.decimals()
            );
        }
        for row in set {
            seen += &format!("{:?}\n", row.map(mysql::Row::unwrap));
        }
    }
    seen
}

fn both_ways(client: &mut Conn, sql: &str) -> String {
    let text = seen(client.query_iter(sql));
    let binary = match client.prep(sql) {
        Ok(statement) => seen(client.exec_iter(&statement, ())),
        Err(mysql::Error::MySqlError(error)) => format!("error {}", error.code),
        Err(error) => panic!("{sql}: {error}"),
    };
    text + "binary\n" + &binary
}

#[test]
fn a_shard_gives_columns_the_names_of_the_clients_text() {
    let name = schema(LOGICAL);
    let shards = format!("{name}_1");
    let proxy = start(&Setup {
        configuration: Box::new(|configuration| {
            configuration.graph.rules = map_alone(tenants_by_comment(LOGICAL));
        }),
        ..Setup::default()
    });
    fill(&name);
    fill(&shards);
    let login = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(&name),
    };
    let mut direct = server().connect(login).unwrap();
    let mut through = proxy.connect(Some(&name));
    let named = |sql: &str| {
        sql.replace("w.", &format!("{name}."))
            .replace("`w`", &format!("`{name}`"))
            .replace("w .", &format!("{name} ."))
    };
    let mut wrong = Vec::new();
    for sql in QUERIES.map(named) {
        let expected = both_ways(&mut direct, &sql);
        let found = both_ways(&mut through, &format!("/* tenant=1 */ {sql}"));
        if expected != found {
            wrong.push(format!("{sql}\n{expected}\n--- here\n{found}"));
        }
    }
    // Tables without a schema are not looked for in DDL.
    let mut through = proxy.connect(None);
    for sql in STORES.map(named) {
        let drop = |schema: &str| {
            server()
                .run(format!(
                    "DROP TABLE IF EXISTS {schema}.x; DROP VIEW IF EXISTS {schema}.x"
                ))
                .unwrap();
        };
        let columns = |schema: &str| {
            let mut root = server().root().unwrap();
            seen(root.query_iter(format!(
                "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE FROM information_schema.COLUMNS \
                 WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = 'x' ORDER BY ORDINAL_POSITION"
            )))
        };
        drop(&name);
        drop(&shards);
        let expected = seen(direct.query_iter(&sql)) + &columns(&name);
        let found = seen(through.query_iter(format!("/* tenant=1 */ {sql}"))) + &columns(&shards);
        if expected != found {
            wrong.push(format!("{sql}\n{expected}\n--- here\n{found}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n=====\n")
    );
}
