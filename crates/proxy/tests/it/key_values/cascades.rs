//! Statements that change key columns of other rows through foreign keys.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{Finder, KeyKind, KeyValue};
use shardwright_testkit::{MariaDb, Options};

use super::tables::proxy_of;
use crate::support::{PASSWORD, TestProxy, USER, error, server, text_of};

/// Parents whose `code` some key columns refer to, and `mid` between two of them.
const TABLES: &str = "
    CREATE TABLE par (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) NOT NULL UNIQUE, name VARCHAR(20));
    CREATE TABLE chi (id INT PRIMARY KEY, region VARCHAR(20), FOREIGN KEY (region) REFERENCES par (code) ON UPDATE CASCADE);
    CREATE TABLE nulled (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE);
    CREATE TABLE of_nulled (id INT PRIMARY KEY, region VARCHAR(20),
        FOREIGN KEY (region) REFERENCES nulled (code) ON UPDATE SET NULL);
    CREATE TABLE gone (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE);
    CREATE TABLE of_gone (id INT PRIMARY KEY, region VARCHAR(20),
        FOREIGN KEY (region) REFERENCES gone (code) ON DELETE SET NULL);
    CREATE TABLE top (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE);
    CREATE TABLE mid (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE,
        FOREIGN KEY (code) REFERENCES top (code) ON UPDATE CASCADE ON DELETE CASCADE);
    CREATE TABLE low (id INT PRIMARY KEY, region VARCHAR(20),
        FOREIGN KEY (region) REFERENCES mid (code) ON UPDATE CASCADE ON DELETE SET NULL);
    CREATE TABLE self (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE,
        FOREIGN KEY (region) REFERENCES self (code) ON UPDATE CASCADE);
    CREATE TABLE pair (region VARCHAR(20), id INT, name VARCHAR(20), PRIMARY KEY (region, id));
    CREATE TABLE of_pair (id INT PRIMARY KEY, region VARCHAR(20), pair INT,
        FOREIGN KEY (region, pair) REFERENCES pair (region, id) ON UPDATE CASCADE);
    CREATE TABLE loose (region VARCHAR(20), id INT, name VARCHAR(20), PRIMARY KEY (region, id));
    CREATE TABLE of_loose (id INT PRIMARY KEY, region VARCHAR(20), pair INT,
        FOREIGN KEY (region, pair) REFERENCES loose (region, id) ON UPDATE SET NULL ON DELETE SET NULL);
    CREATE TABLE kept (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE);
    CREATE TABLE of_kept (id INT PRIMARY KEY, region VARCHAR(20), FOREIGN KEY (region) REFERENCES kept (code));
    CREATE TABLE set_by (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) NOT NULL UNIQUE, name VARCHAR(20));
    CREATE TABLE of_set_by (id INT PRIMARY KEY, region VARCHAR(20),
        FOREIGN KEY (region) REFERENCES set_by (code) ON UPDATE CASCADE);
    CREATE TRIGGER sets BEFORE UPDATE ON set_by FOR EACH ROW SET NEW.code = NEW.name;
    CREATE TABLE root (id INT PRIMARY KEY, region VARCHAR(20), code VARCHAR(20) UNIQUE);
    CREATE TABLE computed (id INT PRIMARY KEY, code VARCHAR(20), region VARCHAR(20) AS (code) VIRTUAL,
        FOREIGN KEY (code) REFERENCES root (code) ON UPDATE CASCADE);
    CREATE VIEW v_par AS SELECT region, code AS label, name FROM par";

/// The tables that have a column `code`.
const CODED: [&str; 8] = ["par", "nulled", "gone", "top", "mid", "self", "set_by", "root"];

fn regions(server: &MariaDb, name: &'static str) -> TestProxy {
    proxy_of(server, name, TABLES, |map| {
        map.kind = KeyKind::Text;
        map.key = "region".into();
        for (shard, key) in map.shards.iter_mut().zip(["eu", "us"]) {
            shard.keys = vec![KeyValue::Text(key.into())];
        }
        for finder in &mut map.finders {
            if let Finder::Column { column, .. } = finder {
                *column = "region".into();
            }
        }
        let views = &mut map.tables.views;
        views.insert("v_par".into(), ["par".into()].into());
    })
}

fn whole(proxy: &TestProxy, schema: &str) -> Conn {
    proxy.try_connect("other", PASSWORD, Some(schema)).unwrap()
}

/// A row of `eu` in each table.
fn fill(client: &mut Conn) {
    for table in CODED {
        let sql = format!("INSERT INTO {table} (id, region, code) VALUES (1, 'eu', 'eu')");
        client
            .query_drop(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for sql in [
        "INSERT INTO kept (id, region, code) VALUES (1, 'eu', 'eu')",
        "INSERT INTO pair (region, id) VALUES ('eu', 1)",
        "INSERT INTO loose (region, id) VALUES ('eu', 1)",
        "INSERT INTO of_pair (id, region, pair) VALUES (1, 'eu', 1)",
        "INSERT INTO of_loose (id, region, pair) VALUES (1, 'eu', 1)",
    ] {
        client
            .query_drop(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    for table in ["chi", "of_nulled", "of_gone", "low", "of_set_by"] {
        let sql = format!("INSERT INTO {table} (id, region) VALUES (1, 'eu')");
        client
            .query_drop(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

const KEYED: [&str; 15] = [
    "par",
    "chi",
    "nulled",
    "of_nulled",
    "gone",
    "of_gone",
    "top",
    "mid",
    "low",
    "self",
    "pair",
    "of_pair",
    "loose",
    "of_loose",
    "set_by",
];

/// The rows of a region, of all tables.
fn rows(client: &mut Conn, region: &str) -> Vec<String> {
    let of_table = |table: &&str| {
        let sql = format!("SELECT * FROM {table} WHERE region = '{region}' ORDER BY id");
        let rows: Vec<mysql::Row> = client
            .query(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let texts = rows.iter().map(|row| format!("{table}: {}", text_of(row)));
        texts.collect::<Vec<_>>()
    };
    KEYED.iter().flat_map(of_table).collect()
}

/// Statements, and the key column that they are refused for.
const STATEMENTS: &[(&str, &str)] = &[
    (
        "UPDATE par SET code = 'us' WHERE region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE par SET `CODE` = 'us' WHERE region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE par p SET p.code = 'us' WHERE p.region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE regions.par SET regions.par.code = 'us' WHERE region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE par SET name = 'a', code = 'us' WHERE region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE kept k JOIN par p USING (region) SET p.code = 'us' WHERE k.region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE kept k, par p SET k.id = 1, code = 'us' WHERE k.region = 'eu' AND p.region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "INSERT INTO par (id, region, code) VALUES (1, 'eu', 'x') ON DUPLICATE KEY UPDATE name = 'a', code = 'us'",
        "region of regions_eu.chi",
    ),
    (
        "INSERT INTO par (id, region, code) VALUES (1, 'eu', 'x') ON DUPLICATE KEY UPDATE par.code = VALUES(code)",
        "region of regions_eu.chi",
    ),
    (
        "INSERT INTO par SET id = 1, region = 'eu', code = 'x' ON DUPLICATE KEY UPDATE regions.par.code = 'us'",
        "region of regions_eu.chi",
    ),
    (
        "INSERT INTO par (id, region, code) SELECT id, region, 'us' FROM kept WHERE region = 'eu' \
         ON DUPLICATE KEY UPDATE code = 'us'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE v_par SET label = 'us' WHERE region = 'eu'",
        "region of regions_eu.chi",
    ),
    (
        "UPDATE nulled SET code = 'us' WHERE region = 'eu'",
        "region of regions_eu.of_nulled",
    ),
    (
        "DELETE FROM gone WHERE region = 'eu'",
        "region of regions_eu.of_gone",
    ),
    (
        "DELETE g FROM gone g JOIN kept k USING (region) WHERE k.region = 'eu'",
        "region of regions_eu.of_gone",
    ),
    (
        "DELETE FROM g USING gone g JOIN kept k USING (region) WHERE k.region = 'eu'",
        "region of regions_eu.of_gone",
    ),
    (
        "REPLACE INTO gone (id, region, code) VALUES (1, 'eu', 'us')",
        "region of regions_eu.of_gone",
    ),
    (
        "REPLACE INTO gone SET id = 1, region = 'eu', code = 'us'",
        "region of regions_eu.of_gone",
    ),
    (
        "UPDATE top SET code = 'us' WHERE region = 'eu'",
        "region of regions_eu.low",
    ),
    ("DELETE FROM top WHERE region = 'eu'", "region of regions_eu.low"),
    (
        "UPDATE self SET code = 'us' WHERE region = 'eu'",
        "region of regions_eu.self",
    ),
    (
        "UPDATE loose SET id = 2 WHERE region = 'eu'",
        "region of regions_eu.of_loose",
    ),
    (
        "DELETE FROM loose WHERE region = 'eu' AND id = 1",
        "region of regions_eu.of_loose",
    ),
    (
        "UPDATE set_by SET name = 'us' WHERE region = 'eu'",
        "region of regions_eu.of_set_by",
    ),
    (
        "UPDATE root SET code = 'us' WHERE region = 'eu'",
        "region of regions_eu.computed",
    ),
    // The same rows after these as on one server.
    ("UPDATE par SET name = 'x' WHERE region = 'eu'", ""),
    ("UPDATE par SET id = 7 WHERE region = 'eu'", ""),
    (
        "UPDATE v_par SET name = 'z' WHERE region = 'eu' AND FALSE",
        "region of regions_eu.chi",
    ),
    (
        "INSERT INTO par (id, region, code) VALUES (7, 'eu', 'x') ON DUPLICATE KEY UPDATE name = code",
        "",
    ),
    ("INSERT INTO par (id, region, code) VALUES (8, 'eu', 'y')", ""),
    ("REPLACE INTO par (id, region, code) VALUES (8, 'eu', 'z')", ""),
    ("DELETE FROM par WHERE region = 'eu' AND id = 8", ""),
    (
        "UPDATE gone SET region = region WHERE region = 'eu'",
        "would move the row",
    ),
    ("UPDATE chi SET id = 9 WHERE region = 'eu'", ""),
    ("DELETE FROM nulled WHERE region = 'eu' AND id = 5", ""),
    (
        "UPDATE kept k JOIN gone g USING (region) SET k.code = 'eu2' WHERE k.region = 'eu'",
        "",
    ),
    (
        "DELETE k FROM kept k JOIN gone g USING (region) WHERE k.region = 'eu' AND k.id = 5",
        "",
    ),
    (
        "DELETE FROM kept WHERE region = 'eu' AND EXISTS (SELECT 1 FROM gone WHERE region = 'eu')",
        "",
    ),
    ("UPDATE pair SET id = 2, name = 'a' WHERE region = 'eu'", ""),
    ("DELETE FROM of_pair WHERE region = 'eu'", ""),
    ("DELETE FROM pair WHERE region = 'eu'", ""),
    ("DELETE FROM low WHERE region = 'eu'", ""),
];

#[test]
fn a_statement_whose_changes_foreign_keys_pass_on_to_key_columns_is_refused() {
    let proxy = regions(server(), "regions");
    let mut whole = whole(&proxy, "regions_all");
    let mut client = proxy.connect(Some("regions"));
    fill(&mut client);
    fill(&mut whole);
    for (sql, expected) in STATEMENTS {
        let expected = expected.replace("regions_eu", "regions_1");
        if expected.is_empty() {
            client
                .query_drop(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
            let on_one = sql.replace("regions.", "regions_all.");
            whole
                .query_drop(&on_one)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        } else {
            let (code, message) = error(&mut client, sql);
            assert!(code == 1148 && message.contains(&expected), "{sql}: {message}");
        }
        for region in ["eu", "us"] {
            assert_eq!(rows(&mut client, region), rows(&mut whole, region), "{sql}");
        }
    }
}

#[test]
fn bound_values_and_new_foreign_keys_are_seen() {
    let proxy = regions(server(), "cascaded");
    let mut client = proxy.connect(Some("cascaded"));
    fill(&mut client);
    let refused = client.exec_drop("UPDATE par SET code = ? WHERE region = ?", ("us", "eu"));
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("SW365: ") && message.contains("cascaded_1.chi"),
        "{message}"
    );
    client
        .exec_drop("UPDATE par SET name = ? WHERE region = ?", ("us", "eu"))
        .unwrap();
    let statement = client.prep("UPDATE kept SET code = ? WHERE region = ?").unwrap();
    client.exec_drop(&statement, ("eu2", "eu")).unwrap();
    let mut other = whole(&proxy, "cascaded_1");
    other
        .query_drop(
            "CREATE TABLE late (id INT PRIMARY KEY, region VARCHAR(20), FOREIGN KEY (region) REFERENCES kept (code) ON \
             UPDATE CASCADE)",
        )
        .unwrap();
    let refused = client.exec_drop(&statement, ("eu3", "eu"));
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("cascaded_1.late"), "{message}");
    other.query_drop("DROP TABLE late").unwrap();
    client.exec_drop(&statement, ("eu3", "eu")).unwrap();
}

/// MariaDB shows the rules of a foreign key only to those who may do more than read its table.
#[test]
fn a_rule_that_the_user_may_not_see_counts_as_one_that_changes_rows() {
    let server = MariaDb::start(Options::default()).unwrap();
    server.create_user(USER, PASSWORD, Some("SELECT ON *.*")).unwrap();
    server.create_user("other", PASSWORD, None).unwrap();
    let proxy = regions(&server, "unseen");
    server
        .run(format!("GRANT UPDATE ON unseen_1.par TO '{USER}'@'%'"))
        .unwrap();
    let mut client = proxy.connect(Some("unseen"));
    let (_, message) = error(&mut client, "UPDATE par SET code = 'us' WHERE region = 'eu'");
    assert!(message.contains("region of unseen_1.chi"), "{message}");
    client
        .query_drop("UPDATE par SET name = 'us' WHERE region = 'eu'")
        .unwrap();
}

#[test]
fn foreign_keys_are_seen_in_every_character_set() {
    let proxy = regions(server(), "cascade_sets");
    fill(&mut proxy.connect(Some("cascade_sets")));
    for set in [
        "SET NAMES koi8r",
        "SET NAMES binary",
        "SET NAMES utf8mb4 COLLATE utf8mb4_bin",
        "SET collation_connection = latin1_bin",
        "SET collation_connection = utf8mb4_unicode_ci, character_set_client = cp1251",
    ] {
        // What is known of tables ends with a change of one.
        whole(&proxy, "cascade_sets_1")
            .query_drop("CREATE OR REPLACE VIEW v AS SELECT 1 AS a")
            .unwrap();
        let mut client = proxy.connect(Some("cascade_sets"));
        client.query_drop(set).unwrap();
        let refused = client.query_drop("UPDATE par SET code = 'us' WHERE region = 'eu'");
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("SW365: "), "{set}: {message}");
        client
            .query_drop("UPDATE par SET name = 'us' WHERE region = 'eu'")
            .unwrap_or_else(|error| panic!("{set}: {error}"));
    }
}
