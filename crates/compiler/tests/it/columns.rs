//! Keys in columns on ProxySQL: a statement goes where the bundled engine sends it, or is refused.
//!
//! The bundled engine is held to an unsharded server by the differential test of the command line, with the same
//! generator of statements about the world.

use proptest::prelude::*;
use proptest::sample::select;
use shardwright_diagnostics::Severity;
use shardwright_rules::{Outcome, Route};

use crate::generator::{Random, statement};
use crate::support::*;

const STATEMENTS: usize = 5_000;

const CLUSTERS: &str = "
version: 1
clusters:
  a: {type: single, servers: {s: {host: a.db}}}
  b: {type: single, servers: {s: {host: b.db}}}
  c: {type: single, servers: {s: {host: c.db}}}
users:
  app: {password: {env: PW}, cluster: a}
shard_maps:
  m:
    applies_to: {users: [app]}
";
const WORLD: &str = "
    logical_schema: world
    key: {name: continent, type: text}
    key_from: [FINDERS]
    missing_key: {session_setup: allow}
    shards:
      europe: {keys: [Europe], schema: Europe, cluster: a}
      asia: {keys: [Asia], schema: Asia, cluster: b}
      africa: {keys: [Africa], schema: Africa, cluster: c}
      north: {keys: [North America], schema: NorthAmerica, cluster: c}
      rest: {keys: [South America, Oceania, Antarctica], schema: Rest, cluster: a}
";
const TENANTS: &str = "
    logical_schema: app
    key: {name: tenant, type: integer}
    key_from: [FINDERS]
    missing_key: {session_setup: allow}
    shards:
      low: {keys: [-20..-1], cluster: a}
      some: {keys: [1, 5, 17, 170], cluster: b}
      many: {keys: [1000..1999], cluster: c}
      one: {keys: [2000], cluster: a}
";

struct Both([Decider; 2]);

impl Both {
    fn of(map: &str, finders: &str) -> Self {
        let project = loaded(&format!("{CLUSTERS}{}", map.replace("FINDERS", finders)));
        Self(BOTH.map(|engine| {
            let compiled = compiled(&project, engine);
            assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
            Decider::new(&compiled)
        }))
    }

    /// Whether ProxySQL places the statement; an error where it places it otherwise than the bundled engine.
    fn compare(&self, schema: Option<&str>, sql: &str) -> Result<bool, String> {
        let [bundled, proxysql] = &self.0;
        let Outcome::Route(placed) = proxysql.decision("app", schema, sql).outcome else {
            return Ok(false);
        };
        match bundled.decision("app", schema, sql).outcome {
            Outcome::Route(expected) if place(&placed) == place(&expected) => Ok(expected.shard.is_some()),
            other => Err(format!(
                "{schema:?} {sql}\n  proxysql: {}\n  bundled:  {other:?}",
                proxysql.short("app", schema, sql)
            )),
        }
    }
}

fn place(route: &Route) -> (Option<&str>, Option<String>) {
    let rewritten = route.rewritten.as_deref().map(String::from_utf8_lossy);
    (
        route.cluster.as_deref(),
        rewritten.map(|text| text.replace('`', "")),
    )
}

#[test]
fn statements_about_the_world() {
    let both = Both::of(WORLD, "column: {name: Continent, in_shards: absent}");
    let mut random = Random::new(0x5EED_0002);
    let (mut placed, mut wrong) = (0, Vec::new());
    for id in 0..STATEMENTS {
        let sql = statement(&mut random, id).sharded;
        let schema = random.of(&[None, Some("other"), Some("other"), Some("world")]);
        match both.compare(schema, &sql) {
            Ok(is_placed) => placed += usize::from(is_placed),
            Err(difference) => wrong.push(difference),
        }
    }
    wrong.truncate(10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Refusing everything would be no map; the generator is fond of what patterns cannot read.
    assert!(placed >= 40, "{placed} of {STATEMENTS}");
}

/// Conditions on the key and beside it, sound and unsound.
const CONDITIONS: [&str; 36] = [
    "tenant = 17",
    "tenant=17",
    "tenant = 5",
    "`tenant` = 1000",
    "TENANT\n=\t-7",
    "tenant = '170'",
    "tenant = '017'",
    "tenant = 0017",
    "tenant = -0",
    "tenant = +5",
    "tenant = 17.0",
    "tenant = 1e3",
    "tenant = 0x11",
    "tenant = 99",
    "tenant = 2000",
    "tenant = ?",
    "tenant IN (5)",
    "tenant > 5",
    "o.tenant = 5",
    "xtenant = 5",
    "a$tenant = 5",
    "tenant <=> 5",
    "tenant = 5 = 1",
    "tenant = 5 COLLATE utf8_bin",
    "(tenant = 5)",
    "NOT tenant = 5",
    "name = 'x'",
    "name = 'tenant = 5'",
    "name = 'VALUES (5'",
    "name = 'it''s'",
    "name = 'a\\' OR tenant = 5 -- '",
    "name = \"x\"",
    "a.b <> 3",
    "c LIKE '%app%'",
    "d IS NOT NULL",
    "e BETWEEN 1 AND 2",
];
const GLUES: [&str; 8] = [
    " AND ", " and ", "\nAND\n", " AND ", " AND ", " OR ", " XOR ", " && ",
];
const HEADS: [&str; 20] = [
    "SELECT * FROM app.orders WHERE ",
    "SELECT * FROM orders WHERE ",
    "select a, COUNT(*) from app.orders o where ",
    "SELECT DISTINCT o.a AS x FROM app.`orders` AS o WHERE ",
    "SELECT a FROM `app`.orders WHERE ",
    "SELECT a FROM other.orders WHERE ",
    "SELECT a FROM app.orders, app.lines WHERE ",
    "SELECT a FROM app.orders JOIN app.lines ON 1 WHERE ",
    "SELECT f(a) FROM app.orders WHERE ",
    "SELECT (SELECT 1 FROM app.x) FROM app.orders WHERE ",
    "SELECT 1 FROM dual WHERE ",
    "UPDATE app.orders SET a = 1, b = b + 1, c = 'x' WHERE ",
    "UPDATE orders SET a = NULL WHERE ",
    "UPDATE app.orders SET tenant = 5 WHERE ",
    "DELETE FROM app.orders WHERE ",
    "DELETE FROM orders WHERE ",
    "INSERT INTO app.orders (a) SELECT a FROM app.lines WHERE ",
    "/* note */ SELECT a FROM app.orders WHERE ",
    "/*! SELECT */ SELECT a FROM app.orders WHERE ",
    "-- x\nSELECT a FROM app.orders WHERE ",
];
const TAILS: [&str; 14] = [
    "",
    "",
    "",
    " LIMIT 5",
    " ORDER BY a DESC LIMIT 5, 2",
    " GROUP BY a ORDER BY a",
    " FOR UPDATE",
    ";",
    "; DELETE FROM app.orders",
    " UNION SELECT a FROM app.lines",
    " /* tenant=5 */",
    " # x",
    " -- x",
    " /*! OR 1 */",
];
const OTHERS: [&str; 24] = [
    "INSERT INTO app.orders (tenant, a) VALUES (17, 'x')",
    "INSERT INTO orders (tenant) VALUES (5)",
    "REPLACE INTO app.orders (`tenant`, `a`, b) VALUES ( 1000 , NULL , -5 )",
    "INSERT IGNORE INTO app.orders (TENANT,a) VALUES ('5','tenant')",
    "INSERT INTO app.orders (a, tenant) VALUES (17, 5)",
    "INSERT INTO app.orders VALUES (5, 17)",
    "INSERT INTO app.orders (tenant, a) VALUES (5, 1), (17, 2)",
    "INSERT INTO app.orders (tenant, a) VALUES (5, 1) ON DUPLICATE KEY UPDATE a = 2",
    "INSERT INTO app.orders (tenant, a) VALUES (5, f(1))",
    "INSERT INTO app.orders SET tenant = 5",
    "INSERT INTO app.orders (tenant, tenant) VALUES (5, 17)",
    "SELECT 1",
    "SELECT 'app'",
    "SET NAMES utf8",
    "SHOW TABLES",
    "SHOW TABLES FROM app",
    "USE app",
    "BEGIN",
    "COMMIT",
    "ALTER TABLE app.orders ADD a INT",
    "TRUNCATE orders",
    "SELECT * FROM orders",
    "SELECT * FROM app.orders",
    "PREPARE x FROM 'SELECT * FROM app.orders WHERE tenant = 5'",
];

fn generated() -> impl Strategy<Value = String> {
    // Half of them sound, so that not every statement has something wrong with it.
    let sound = || [&CONDITIONS[..6], &CONDITIONS[26..28], &CONDITIONS[32..35]].concat();
    let condition = || prop_oneof![2 => select(sound()), 1 => select(&CONDITIONS[..])];
    let glue = || prop_oneof![2 => Just(" AND "), 1 => select(&GLUES[..])];
    let conditions = prop::collection::vec((condition(), glue()), 1..4);
    let read = (select(&HEADS[..]), conditions, select(&TAILS[..])).prop_map(|(head, conditions, tail)| {
        let mut sql = head.to_owned();
        for (at, (condition, glue)) in conditions.iter().enumerate() {
            if at > 0 {
                sql.push_str(glue);
            }
            sql.push_str(condition);
        }
        sql + tail
    });
    let hint = select(vec!["", "", "/* t=5 */ ", "/* t=17 */ "]);
    let body = prop_oneof![4 => read, 1 => select(&OTHERS[..]).prop_map(str::to_owned)];
    (hint, body).prop_map(|(hint, body)| format!("{hint}{body}"))
}

/// Where one engine needs no table to know better: these go to the user's own cluster, as nothing that has a key does. And
/// several statements in one text go where its one key says.
fn documented(sql: &str) -> bool {
    sql.contains("COMMIT") || sql.contains(';')
}

/// Where the bundled engine cannot read a statement that does not name the column, rules follow its comment, which nothing
/// contradicts.
fn only_unread(difference: &str, sql: &str) -> bool {
    let column = regex::Regex::new(r"(?i)\btenant\b").expect("a valid pattern");
    difference.contains("SW354") && sql.starts_with("/* t=") && !column.is_match(sql)
}

fn check(finders: &str) {
    let both = Both::of(TENANTS, finders);
    let mut placed = 0;
    let schemas = select(vec![None, Some("app"), Some("other")]);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..STATEMENTS {
        let case = (schemas.clone(), generated());
        let tree = case.new_tree(&mut runner).expect("the strategies reject nothing");
        let (schema, sql) = proptest::strategy::ValueTree::current(&tree);
        match both.compare(schema, &sql) {
            Ok(is_placed) => placed += usize::from(is_placed),
            Err(difference) if documented(&sql) || only_unread(&difference, &sql) => {}
            Err(difference) => panic!("{difference}"),
        }
    }
    assert!(placed * 40 > STATEMENTS, "{placed} of {STATEMENTS}");
}

#[test]
fn statements_about_tenants() {
    check("column: {name: tenant}");
}

#[test]
fn a_comment_beside_a_column() {
    check("{comment: {name: t}}, {column: {name: tenant}}");
}

#[test]
fn accepted_shapes_are_placed() {
    let tenants = Both::of(TENANTS, "column: {name: tenant}");
    for (schema, sql, expected) in [
        (None, "SELECT * FROM app.orders WHERE tenant = 17", "b writer"),
        (
            Some("app"),
            "SELECT * FROM orders WHERE a = 'x' AND tenant = '1500' LIMIT 3",
            "c writer",
        ),
        (
            Some("other"),
            "SELECT * FROM app.orders WHERE tenant = 170",
            "b writer",
        ),
        (None, "DELETE FROM app.orders WHERE tenant = -3", "a writer"),
        (
            None,
            "UPDATE app.orders SET a = a + 1 WHERE tenant = 2000",
            "a writer",
        ),
        (
            None,
            "INSERT INTO app.orders (tenant, a) VALUES (1000, 'x')",
            "c writer",
        ),
        (None, "SELECT * FROM app.orders WHERE tenant = 17 OR 1", "SW354"),
        (None, "SELECT * FROM app.orders WHERE tenant = 99", "SW352"),
        (None, "SELECT * FROM app.orders WHERE tenant = ?", "SW354"),
        (
            None,
            "SELECT * FROM app.orders WHERE tenant = 5 AND tenant = 17",
            "SW353",
        ),
        (Some("app"), "SELECT * FROM orders", "SW354"),
        (Some("app"), "SELECT @@version", "a writer"),
    ] {
        assert_eq!(tenants.0[1].short("app", schema, sql), expected, "{sql}");
    }
    let world = Both::of(WORLD, "column: {name: Continent, in_shards: absent}");
    for (sql, expected) in [
        (
            "SELECT Name FROM world.City WHERE Continent='Asia' LIMIT 3",
            "b writer: SELECT Name FROM `Asia`.City WHERE 1=1 LIMIT 3",
        ),
        (
            "UPDATE `world`.City SET Population = 5 WHERE `continent` = 'North America' AND Name = 'x'",
            "c writer: UPDATE `NorthAmerica`.City SET Population = 5 WHERE 1=1 AND Name = 'x'",
        ),
        ("SELECT * FROM world.City WHERE Continent='Asia'", "SW354"),
        ("SELECT Name FROM world.City WHERE Continent='Oceania'", "SW354"),
        ("SELECT Name FROM world.City WHERE Continent='asia'", "SW352"),
        (
            "SELECT Name FROM world.City WHERE Continent='Asia' AND Name='world'",
            "SW354",
        ),
        ("SELECT Continent FROM world.City WHERE Continent='Asia'", "SW353"),
    ] {
        assert_eq!(world.0[1].short("app", None, sql), expected, "{sql}");
    }
}

/// PCRE 8 compiles no pattern that comes to more than 64 KiB; long names make patterns longer.
#[test]
fn patterns_of_long_names_compile() {
    let (schema, column) = ("s".repeat(32), "c".repeat(40));
    let map = TENANTS.replace("logical_schema: app", &format!("logical_schema: {schema}"));
    let both = Both::of(&map, &format!("column: {{name: {column}}}"));
    let columns = ["a"; 7].join(", ");
    for sql in [
        format!("SELECT {columns}, a FROM {schema}.t WHERE {column} = 5 AND b = 1"),
        format!(
            "INSERT INTO {schema}.t ({column}, {columns}) VALUES (5, {})",
            ["1"; 7].join(", ")
        ),
    ] {
        assert_eq!(both.compare(None, &sql), Ok(true), "{sql}");
    }
}
