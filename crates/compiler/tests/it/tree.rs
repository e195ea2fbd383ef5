//! Comment maps on both engines: every key reaches its shard, and everything else is told.

use proptest::prelude::*;
use shardwright_rules::{EngineId, RegexEngine};
use shardwright_topology::model::*;

use crate::support::hostile::hostile;
use crate::support::*;

/// Statements around a key that must not be taken for it, and what they are.
fn neighbours(key: i64, exists: impl Fn(i64) -> bool) -> Vec<(String, String)> {
    let placed = |value: i64| {
        if exists(value) {
            format!("shard-{value:03} writer")
        } else {
            "SW352".to_owned()
        }
    };
    let comment = |value: &str| format!("/* tenant={value} */ SELECT 1 FROM t");
    let mut cases = vec![
        (comment(&format!("{key}0")), placed(key * 10)),
        (comment(&format!("0{key}")), placed(key)),
        (comment(&(key / 10).to_string()), placed(key / 10)),
        (comment(&(key + 1).to_string()), placed(key + 1)),
        (comment(&format!("{key}a")), "SW352".to_owned()),
        (comment(&format!("x{key}")), "SW352".to_owned()),
        (comment(&format!("'{key}'")), placed(key)),
        (comment(&format!("\"{key}\"")), placed(key)),
        (format!("/* TENANT={key} */ SELECT 1 FROM t"), placed(key)),
        (format!("SELECT 1 FROM t /* app=x, tenant={key} */"), placed(key)),
        (format!("/* xtenant={key} */ SELECT 1 FROM t"), "SW351".to_owned()),
        (format!("/*! tenant={key} */ SELECT 1 FROM t"), "SW351".to_owned()),
        (format!("SELECT '/* tenant={key} */' FROM t"), "SW351".to_owned()),
        (format!("SELECT 1 FROM t WHERE tenant={key}"), "SW351".to_owned()),
    ];
    cases.push((comment(&key.to_string()), placed(key)));
    cases
}

fn check(keys: &[i64], compiled: &shardwright_compiler::Compiled) {
    let decider = Decider::new(compiled);
    for &key in keys {
        for (statement, expected) in neighbours(key, |value| keys.contains(&value)) {
            let engine = compiled.configuration.engine;
            assert_eq!(
                decider.short("app", Some("app"), &statement),
                expected,
                "{engine}: {statement}"
            );
        }
    }
}

#[test]
fn two_hundred_shards_on_both_engines() {
    let keys: Vec<i64> = (1..=200).collect();
    let project = tenants(keys.clone(), 1).finish();
    check(&keys, &compiled(&project, EngineId::Bundled));
    check(&keys, &compiled(&project, EngineId::Proxysql27));
}

#[test]
fn restarts_and_re2_change_nothing() {
    let keys: Vec<i64> = (1..=40).map(|n| n * 3).collect();
    let project = tenants(keys.clone(), 1).finish();
    for (iterations, regex) in [
        (5, RegexEngine::Pcre),
        (0, RegexEngine::Re2),
        (50, RegexEngine::Re2),
    ] {
        check(
            &keys,
            &compiled_with(&project, EngineId::Proxysql27, iterations, regex),
        );
    }
}

#[test]
fn figures_are_what_the_evaluator_counts() {
    for (count, bound) in [(3, 8.0), (50, 12.0), (200, 14.0)] {
        let project = tenants(1..=count, 1).finish();
        let compiled = compiled(&project, EngineId::Proxysql27);
        let decider = Decider::new(&compiled);
        let (mut evaluations, mut visits, mut worst) = (0, 0, 0);
        for key in 1..=count {
            let decision = decider.decision("app", None, &format!("/* tenant={key} */ SELECT 1 FROM t"));
            evaluations += decision.evaluations;
            visits += decision.visits;
            worst = worst.max(decision.evaluations);
        }
        let stats = &compiled.stats.shard_maps["tenants"];
        assert_eq!(
            stats.mean_evaluations,
            f64::from(evaluations) / count as f64,
            "{count} shards"
        );
        assert_eq!(
            stats.mean_visits,
            f64::from(visits) / count as f64,
            "{count} shards"
        );
        assert_eq!(stats.worst_evaluations, worst);
        assert!(stats.mean_evaluations <= bound, "{count} shards: {stats:?}");
    }
}

#[test]
fn transactions_and_session_setup_without_a_key() {
    let project = tenants(1..=3, 1).finish();
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        for (statement, expected) in [
            ("SET NAMES utf8mb4", "home writer"),
            ("SELECT @@version_comment LIMIT 1", "home writer"),
            ("SELECT DATABASE()", "home writer"),
            ("SHOW VARIABLES", "home writer"),
            ("SELECT my_function()", "SW351"),
            ("SELECT 1 FROM t", "SW351"),
            ("INSERT INTO t VALUES (1)", "SW351"),
            ("BEGIN", "SW359"),
            ("START TRANSACTION", "SW359"),
            ("/* tenant=2 */ BEGIN", "shard-002 writer"),
            ("COMMIT", "home writer"),
            ("ROLLBACK TO SAVEPOINT a", "home writer"),
            ("/* hostgroup=5 */ SELECT 1", "SW357"),
            ("/* tenant=2;hostgroup=5 */ SELECT 1", "SW357"),
        ] {
            let found = decider.short("app", None, statement);
            assert_goes(
                &found,
                expected,
                &format!("{}: {statement}", decider.configuration.engine),
            );
        }
    }
}

#[test]
fn unknown_and_missing_keys_can_have_a_cluster() {
    let mut build = tenants(1..=20, 1);
    let spare = build.cluster("spare", 1);
    let mut project = build.finish();
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    maps[0].unknown_key = UnknownKey::Cluster(spare);
    maps[0].missing_key.statements = MissingAction::Allow;
    project.topology.shard_maps = Table::new(maps);
    for engine in BOTH {
        let decider = Decider::new(&compiled(&project, engine));
        for (statement, expected) in [
            ("/* tenant=7 */ SELECT 1 FROM t", "shard-007 writer"),
            ("/* tenant=77 */ SELECT 1 FROM t", "spare writer"),
            ("SELECT 1 FROM t", "home writer"),
        ] {
            assert_eq!(
                decider.short("app", None, statement),
                expected,
                "{engine}: {statement}"
            );
        }
    }
}

#[test]
fn figures_at_ten_thousand_shards() {
    let ids = IdRanges {
        hostgroups: 10_000..=39_999,
        rules: 100_000..=199_999,
        flags: 40_000..=59_999,
    };
    let project = tenants(1..=10_000, 1).ids(ids).finish();
    let compiled = compiled(&project, EngineId::Proxysql27);
    let stats = &compiled.stats.shard_maps["tenants"];
    assert_eq!(stats.keys, 10_000);
    // Visits dominate at this size, so the cheapest tree is wide: prices decide, not evaluations alone.
    assert!(stats.mean_evaluations < 60.0 && stats.rules < 11_000, "{stats:?}");
    let explanation = compiled.explain("shard_maps.tenants").expect("the map has rules");
    let cheapest = explanation
        .candidates
        .iter()
        .map(|candidate| candidate.mean_cost_ns)
        .fold(f64::MAX, f64::min);
    assert_eq!(explanation.candidates[0].mean_cost_ns, cheapest);
}

fn text_keys() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[A-Ca-c0-2.é_ -]{1,5}", 1..24)
        .prop_map(|keys| {
            keys.into_iter()
                .filter(|key| key.trim() == key)
                .collect::<Vec<_>>()
        })
        .prop_filter("a map has keys", |keys: &Vec<String>| !keys.is_empty())
}

/// Two shards, and whatever has no key is left to the user's cluster, where a lost key would be silent.
fn both_engines() -> &'static [Decider; 2] {
    static DECIDERS: std::sync::OnceLock<[Decider; 2]> = std::sync::OnceLock::new();
    DECIDERS.get_or_init(|| {
        let mut project = tenants(1..=2, 1).finish();
        let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
        maps[0].missing_key.statements = MissingAction::Allow;
        project.topology.shard_maps = Table::new(maps);
        BOTH.map(|engine| Decider::new(&compiled(&project, engine)))
    })
}

#[test]
fn begin_is_seen_where_only_mariadb_reads_it() {
    let [bundled, proxysql] = both_engines();
    for statement in [
        "/*M!BEGIN",
        "/*M! begin */",
        "/*M!100000BEGIN*/ WORK",
        "START /*M! TRANSACTION */",
        "/*M!START*/ TRANSACTION",
        "/*M! BEGIN; */ SET a = 1",
    ] {
        for engine in [bundled, proxysql] {
            let answer = engine.short("app", None, statement);
            assert!(
                answer.starts_with("SW35") || answer == "SW361",
                "{statement}: {answer}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    /// The listed differences: a key behind the first quote does not count, several statements go where the key says, and
    /// COMMIT and its kin with a key go there.
    #[test]
    fn hostile_statements_go_to_the_same_place_or_are_refused(statement in hostile()) {
        let [bundled, proxysql] = both_engines();
        let (expected, found) = (bundled.short("app", None, &statement), proxysql.short("app", None, &statement));
        let refused = |answer: &str| answer.starts_with("SW35") || answer == "SW361";
        let quoted = statement.contains(['\'', '"', '`']) && found == "home writer";
        let several = statement.contains(';') || statement.contains("COMMIT");
        prop_assert!(
            expected == found || refused(&found) || quoted || several,
            "{:?}: {} and {}", statement, expected, found
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_integer_maps(
        keys in prop::collection::btree_set(-50i64..5_000, 1..60), layout in prop::sample::select(vec![RuleLayout::Auto, RuleLayout::Flat, RuleLayout::Tree]),
        shared in 1usize..4,
    ) {
        let keys: Vec<i64> = keys.into_iter().collect();
        let mut build = Build::new();
        let home = build.cluster("home", 1);
        let clusters: Vec<ClusterId> = (0..keys.len().div_ceil(shared)).map(|at| build.cluster(&format!("c{at}"), 1)).collect();
        build.user("app", home, None);
        build.map("m", &["app"], KeyKind::Integer, "tenant", vec![comment("tenant")]).rule_layout = layout;
        let of = |at: usize| at / shared;
        let shards = clusters.iter().enumerate().map(|(at, cluster)| {
            let own = keys.iter().enumerate().filter(|(place, _)| of(*place) == at).map(|(_, key)| *key);
            (format!("s{at}"), integers(own), Some(*cluster), None)
        });
        build.shards(shards.collect());
        let project = build.finish();
        let decider = Decider::new(&compiled(&project, EngineId::Proxysql27));
        for probe in keys.iter().flat_map(|&key| [key, key + 1, key - 1, key * 10, key / 10, -key]) {
            let expected = keys.binary_search(&probe).map_or("SW352".to_owned(), |at| format!("c{} writer", of(at)));
            let statement = format!("SELECT 1 /* tenant={probe} */ FROM t");
            prop_assert_eq!(decider.short("app", None, &statement), expected, "{}", statement);
        }
    }

    #[test]
    fn random_text_maps_agree_on_both_engines(keys in text_keys(), probes in text_keys()) {
        let mut build = Build::new();
        let home = build.cluster("home", 1);
        let clusters: Vec<ClusterId> = (0..keys.len()).map(|at| build.cluster(&format!("c{at}"), 1)).collect();
        build.user("app", home, None);
        build.map("m", &["app"], KeyKind::Text, "region", vec![comment("region")]);
        let shards = keys.iter().zip(&clusters).enumerate().map(|(at, (key, cluster))| {
            (format!("s{at}"), texts([key.as_str()]), Some(*cluster), None)
        });
        build.shards(shards.collect());
        let project = build.finish();
        let [bundled, proxysql] = BOTH.map(|engine| Decider::new(&compiled(&project, engine)));
        for probe in keys.iter().chain(&probes) {
            for value in [format!("'{probe}'"), probe.clone(), probe.to_uppercase(), format!("{probe}x")] {
                let statement = format!("/* region={value} */ SELECT 1 FROM t");
                let (a, b) = (bundled.short("app", None, &statement), proxysql.short("app", None, &statement));
                let refused = |answer: &str| answer.starts_with("SW35") || answer == "SW361";
                prop_assert!(a == b || (refused(&a) && refused(&b)), "{}: {} and {}", statement, a, b);
            }
        }
    }
}

#[test]
fn keys_of_one_shard_that_disagree_are_refused() {
    // One rule decides all keys of a range; the comment and the schema must still name the same one.
    for layout in ["tree", "flat"] {
        let project = loaded(&format!(
            r#"
version: 1
clusters:
  home: {{type: single, servers: {{a: {{host: home.db}}}}}}
  one: {{type: single, servers: {{a: {{host: one.db}}}}}}
users: {{app: {{password: {{env: P}}, cluster: home, schema: app}}}}
shard_maps:
  tenants:
    key: {{name: tenant, type: integer}}
    key_from: [{{comment: {{}}}}, {{schema: "t_$(key)"}}]
    conflict: reject
    rule_layout: {layout}
    shards: {{s: {{keys: [1, 2..9, 20], cluster: one}}}}
"#
        ));
        let decider = Decider::new(&compiled(&project, EngineId::Proxysql27));
        for (schema, key, expected) in [
            ("t_2", "2", "one writer"),
            ("t_2", "3", "SW355"),
            ("t_1", "2", "SW355"),
            ("t_2", "20", "SW355"),
            ("app", "3", "one writer"),
        ] {
            let sql = format!("/* tenant={key} */ UPDATE t SET a=1");
            assert_eq!(
                decider.short("app", Some(schema), &sql),
                expected,
                "{layout}: {schema}, {key}"
            );
        }
    }
}
