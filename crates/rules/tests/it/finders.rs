//! Keys in the names of tables and users, beside other finders.

use serde_json::{Value, json};

use crate::common::{World, check, configuration, native};

/// Keys 16 and 17 on one shard, 18 on another; names have three digits.
fn world(finders: Value, change: Value) -> World {
    let shard = |name: &str, cluster: &str, keys: Value| json!({"address": format!("shard_maps.m.shards.{name}"), "cluster": cluster, "keys": keys});
    let mut step = json!({
        "map": "m", "key": "id", "kind": "integer", "finders": finders, "conflict": "reject", "unqualified": "reject",
        "shards": [shard("low", "a", json!([16, 17])), shard("high", "b", json!([18]))],
        "missing": {"statements": "reject", "session_setup": "allow", "begin": "reject"}, "unknown": "reject"});
    for (key, value) in change.as_object().unwrap() {
        step[key] = value.clone();
    }
    World::new(configuration(
        "bundled",
        json!([native(1, json!({}), json!({"map": step}))]),
    ))
}

fn template(prefix: &str) -> Value {
    json!({"template": {"prefix": prefix, "width": 3, "suffix": ""}})
}

const LIKE: &str = "refused: SW351: no shard key: shard map m needs id; write a table like o_NNN";
const UNSURE: &str = "refused: SW354: cannot be placed on one shard: shard map m: ";

#[test]
fn tables_place_a_statement() {
    check(
        &world(json!([{"table": template("o_")}]), json!({})),
        &[
            ("SELECT o_017.a FROM o_017", "10 m/low"),
            ("SELECT 1 FROM o_016 JOIN o_017", "10 m/low"),
            ("SELECT 1 FROM x.`o_018` JOIN c", "20 m/high"),
            ("INSERT INTO o_018 (a) VALUES ('o_017')", "20 m/high"),
            ("ALTER TABLE o_018 ADD c INT", "20 m/high"),
            ("SELECT 1 FROM o_17", LIKE),
            ("SELECT o_017 FROM t", LIKE),
            ("SELECT 1 FROM t AS o_017", LIKE),
            ("SELECT 1", "10"),
            (
                "SELECT 1 FROM o_017, o_018",
                "refused: SW354: the statement's keys are on 2 shards: m/low, m/high; ask each shard for its own keys",
            ),
            (
                "SELECT 1 FROM o_099",
                "refused: SW352: unknown shard key: shard map m has no id 099; shards: low, high",
            ),
            (
                "SELECT 1 FROM O_017",
                &format!(
                    "{UNSURE}`O_017` has the form of a shard's table in other letter case, which may be another table"
                ),
            ),
            (
                "RENAME TABLE o_017 TO o_018",
                &format!("{UNSURE}whether `o_018` is a table here cannot be told"),
            ),
            (
                "SELECT 1 /*! FROM o_017 */",
                &format!("{UNSURE}a table may stand in an executable comment"),
            ),
        ],
    );
}

#[test]
fn whole_names_of_tables_are_keys_too() {
    let shard = |name: &str, cluster: &str, keys: Value| json!({"address": format!("shard_maps.m.shards.{name}"), "cluster": cluster, "keys": keys});
    let world = world(
        json!([{"table": {"template": {"prefix": "", "suffix": ""}}}]),
        json!({"kind": "text", "shards": [
            shard("sales", "a", json!(["invoices", "orders"])), shard("stock", "b", json!(["parts"]))]}),
    );
    check(
        &world,
        &[
            ("SELECT orders.a FROM orders JOIN invoices AS parts", "10 m/sales"),
            ("UPDATE shop.parts SET orders = 1", "20 m/stock"),
            ("SET NAMES utf8mb4", "10"),
            ("SELECT @@version", "10"),
            ("SHOW WARNINGS", "10"),
            (
                "SELECT 1 FROM orders JOIN parts",
                "refused: SW354: the statement's keys are on 2 shards: m/sales, m/stock; ask each shard for its own keys",
            ),
            (
                "SELECT 1 FROM others",
                "refused: SW352: unknown shard key: shard map m has no id others; shards: sales, stock",
            ),
            (
                "DROP TABLE orders",
                &format!("{UNSURE}whether `DROP` is a table here cannot be told"),
            ),
        ],
    );
}

#[test]
fn a_comment_settles_what_tables_leave_open() {
    let conflict = "refused: SW353: more than one shard key: shard map m takes one id a statement: ";
    let comment = json!({"comment": {"word": "id", "form": "pairs"}});
    for finders in [
        json!([comment, {"table": template("o_")}]),
        json!([{"table": template("o_")}, comment]),
    ] {
        check(
            &world(finders, json!({})),
            &[
                ("/* id=17 */ SELECT 1 FROM t", "10 m/low"),
                ("/* id=17 */ SELECT 1 FROM o_017", "10 m/low"),
                ("/* id=17 */ CREATE INDEX o_017 ON t (a)", "10 m/low"),
                (
                    "/* id=18 */ CREATE INDEX o_017 ON t (a)",
                    &format!("{UNSURE}whether `o_017` is a table here cannot be told"),
                ),
                ("/* id=18 */ SELECT 1 FROM o_017", &format!("{conflict}017, 18")),
                (
                    "/* id=17 */ SELECT 1 FROM o_017, o_018",
                    "refused: SW354: the statement's keys are on 2 shards: m/low, m/high; ask each shard for its own keys",
                ),
            ],
        );
    }
}

#[test]
fn the_user_places_whatever_it_sends() {
    let finders = json!([{"user": template("app_")}, {"comment": {"word": "id", "form": "pairs"}}]);
    let of = |user: &'static str| World {
        user,
        ..world(finders.clone(), json!({}))
    };
    check(
        &of("app_018"),
        &[
            ("SELECT 1 FROM t", "20 m/high"),
            ("BEGIN", "20 m/high"),
            ("SET @a = 1", "20 m/high"),
            ("/* id=18 */ SELECT 1 FROM t", "20 m/high"),
            (
                "/* id=17 */ SELECT 1 FROM t",
                "refused: SW353: more than one shard key: shard map m takes one id a statement: 018, 17",
            ),
        ],
    );
    check(
        &of("app_099"),
        &[(
            "SELECT 1 FROM t",
            "refused: SW352: unknown shard key: shard map m has no id 099; shards: low, high",
        )],
    );
    check(
        &of("app_18"),
        &[
            (
                "SELECT 1 FROM t",
                "refused: SW351: no shard key: shard map m needs id; write a user like app_NNN, or /* id=VALUE */",
            ),
            ("/* id=17 */ SELECT 1 FROM t", "10 m/low"),
        ],
    );
}

#[test]
fn the_rest_of_a_list_must_be_on_the_shard_of_the_comment() {
    let finders = json!([
        {"comment": {"word": "id", "form": "pairs"}},
        {"column": {"column": "id", "in_shards": "present"}}]);
    let world = world(finders, json!({"logical_schema": "app"}));
    check(
        &world,
        &[
            ("/* id=17 */ SELECT 1 FROM t WHERE id IN (16, 17)", "10 m/low"),
            (
                "/* id=17 */ SELECT 1 FROM t WHERE id IN (17, 18)",
                "refused: SW354: the statement's keys are on 2 shards: m/low, m/high; ask each shard for its own keys",
            ),
        ],
    );
}

/// Whatever schema the session is in, and wherever its transaction is.
#[test]
fn a_use_is_decided_for_the_schema_that_it_goes_to() {
    let finders = json!([
        {"comment": {"word": "id", "form": "pairs"}},
        {"schema": template("id_")}]);
    let shard = |name: &str, cluster: &str, key: i64| {
        json!({"address": format!("shard_maps.m.shards.{name}"), "cluster": cluster, "keys": [key],
            "schema": format!("id_0{key}")})
    };
    let change = json!({"logical_schema": "shop", "shards": [shard("low", "a", 17), shard("high", "b", 18)]});
    for (schema, transaction) in [("id_017", None), ("id_017", Some(10)), ("shop", Some(20))] {
        let world = World {
            schema: Some(schema),
            transaction,
            ..world(finders.clone(), change.clone())
        };
        check(
            &world,
            &[
                ("USE shop", "10"),
                ("use `id_018`;", "20 m/high"),
                ("/* id=17 */ USE shop", "10 m/low in id_017"),
                (
                    "/* id=17 */ USE id_018",
                    "refused: SW353: more than one shard key: shard map m takes one id a statement: 018, 17",
                ),
            ],
        );
    }
}
