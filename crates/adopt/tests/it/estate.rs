//! A shop's nodes: what becomes of their rules, and that no statement goes another way.

use std::collections::BTreeSet;

use shardwright_adopt::{Adopted, Proof};
use shardwright_prover::equivalence::alike;
use shardwright_rules::{Configuration, Evaluator, SessionView, Statement};

use crate::support::{files, imported, lifted, lifts};

/// The least share of active rules that has to become objects, in percent.
const LEAST_LIFTED: usize = 60;

fn estate(node: &str) -> String {
    let text = |name: &str| {
        let path = format!("{}/../testkit/estate/{name}.sql", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap()
    };
    text("rules") + &text(node)
}

/// Texts that meet every table and word that the rules look for, in sessions of every user, and of every schema that is named.
fn statements(configuration: &Configuration) -> Vec<(String, String, &'static str, String)> {
    let tables = [
        "currencies",
        "countries",
        "feature_flags",
        "online_users",
        "categories",
        "products",
        "search_index",
        "archive_a",
        "orders",
        "facts_a",
        "dim_a",
        "report_a",
        "cohort_a",
        "carts",
        "stock",
        "sessions",
        "archive_orders",
        "products_search",
        "reviews",
        "rates",
        "jobs_queue",
        "t",
    ];
    let mut texts: Vec<String> = [
        "DROP TABLE t",
        "LOAD DATA INFILE 'a' INTO TABLE t",
        "SELECT GET_LOCK('a', 1)",
        "BEGIN",
        "SELECT @@tx_isolation",
        "CREATE TEMPORARY TABLE a (b INT)",
        "DELETE FROM sessions WHERE id=1",
        "UPDATE products SET a=1",
        "INSERT INTO clickstream VALUES (1)",
        "UPDATE outbox SET a=1",
        "SELECT COUNT(*) FROM online_users",
        "INSERT INTO staging_a VALUES (1)",
        "SELECT LAST_INSERT_ID()",
        "GRANT SELECT ON a.* TO b",
        "/* route:writer */ SELECT a FROM t",
        "/* route:reader */ SELECT a FROM stock",
        "/* route:x */ DELETE FROM sessions",
        "SELECT a FROM t JOIN dim_calendar",
        "SET NAMES utf8mb4",
        "COMMIT",
    ]
    .map(str::to_owned)
    .to_vec();
    for table in tables {
        texts.push(format!("SELECT a FROM {table} WHERE id=1"));
        texts.push(format!("SELECT a FROM {table} WHERE id=1 FOR UPDATE"));
        texts.push(format!("UPDATE {table} SET a=1 WHERE id=1"));
    }
    let named = configuration
        .graph
        .fast_routing
        .iter()
        .map(|row| row.schemaname.clone());
    let own = configuration
        .users
        .iter()
        .filter_map(|user| user.default_schema.clone());
    let others = ["catalog", "warehouse", "archive", "reporting", "nowhere"].map(str::to_owned);
    let schemas: BTreeSet<String> = named.chain(own).chain(others).collect();
    let clients = ["10.1.0.1", "10.2.0.1", "10.9.0.1"];
    let mut all = Vec::new();
    for (nth, user) in configuration.users.iter().enumerate() {
        for (at, schema) in schemas.iter().enumerate() {
            // A part of the texts in each session; all of them in a few.
            let step = if at % 20 == nth % 20 { 1 } else { 13 };
            for text in texts.iter().skip((at + nth) % step).step_by(step) {
                let client = clients[(at + nth) % clients.len()];
                all.push((user.name.clone(), schema.clone(), client, text.clone()));
            }
        }
    }
    all
}

/// Asserts that statements go alike before and after.
fn assert_routed_alike(before: &Configuration, adopted: &Adopted) {
    let after = adopted.built.configuration();
    let sides = [
        Evaluator::new(before.clone().into()),
        Evaluator::new(after.clone()),
    ];
    let is_written = |user: &str| after.users.iter().any(|own| own.name == user);
    let asked = statements(before);
    let asked: Vec<_> = asked.iter().filter(|(user, ..)| is_written(user)).collect();
    assert!(asked.len() > 2_000, "{}", asked.len());
    for (user, schema, client, text) in asked {
        let session = SessionView {
            user,
            schema: Some(schema),
            client_addr: Some(client),
            listener: Some(("0.0.0.0", 6033)),
            ..SessionView::default()
        };
        let statement = Statement::new(text.as_bytes(), Default::default());
        let [one, other] = [0, 1].map(|side| sides[side].decide(&session, &statement).outcome);
        assert!(
            alike(&one, &other),
            "{user} in {schema} from {client}: {text}\n{one:?}\n{other:?}"
        );
    }
}

#[test]
fn most_rules_of_a_shop_become_objects_and_no_statement_goes_another_way() {
    for node in ["mirrors", "firewall"] {
        let file = imported(&estate(node));
        let adopted = lifted(&file);
        assert_eq!(adopted.proof, Proof::Equal, "{node}: {}", files(&adopted));
        let all = file.configuration.graph.rules.len();
        let lifted: usize = adopted.lifted.lifts.iter().map(|lift| lift.rules.len()).sum();
        assert!(
            lifted * 100 >= all * LEAST_LIFTED,
            "{node}: {lifted} of {all}\n{}",
            lifts(&adopted)
        );
        // Rows of fast routing and the firewall keep nothing from being lifted: each reason is about the rule.
        for resisted in &adopted.lifted.resisted {
            let why = &resisted.why;
            assert!(
                !why.contains("firewall") && !why.contains("fast routing"),
                "{node}: {}: {why}",
                resisted.rule
            );
        }
        assert_routed_alike(&file.configuration, &adopted);
        insta::assert_snapshot!(format!("estate_{node}"), lifts(&adopted));
    }
}
