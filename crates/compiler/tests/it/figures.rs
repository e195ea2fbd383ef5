//! What maps cost on each engine, as counts: the figures are those of the evaluator, and bounds that hold on any machine.

use std::sync::Arc;

use shardwright_compiler::{Compiled, Lock, MapStats, Options, Traffic, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, EngineSettings, RegexEngine};
use shardwright_topology::model::*;

use crate::support::complete::complete_tree_ns;
use crate::support::*;

const WIDE: IdRanges = IdRanges {
    hostgroups: 1_000_000..=1_999_999,
    rules: 10_000_000..=99_999_999,
    flags: 2_000_000..=2_999_999,
};

fn project(keys: i64, layout: RuleLayout) -> Project {
    let mut project = tenants(1..=keys, 1).ids(WIDE).finish();
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    maps[0].rule_layout = layout;
    project.topology.shard_maps = Table::new(maps);
    project
}

fn with(project: &Project, engine: EngineId, options: &Options) -> Compiled {
    let compiled = compile(project, engine, &Lock::default(), options);
    assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
    compiled
}

fn tree(keys: i64, engine: EngineId) -> MapStats {
    let compiled = with(&project(keys, RuleLayout::Tree), engine, &Options::default());
    let stats = compiled.stats.shard_maps["tenants"].clone();
    assert_eq!(stats.layout, "tree");
    stats
}

/// Hits that fall as 1/rank, for keys in the order of their rank or mixed.
fn zipf(keys: u64, mixed: bool) -> String {
    let rank = |key: u64| if mixed { key * 7_919 % keys } else { key };
    let line = |key: u64| format!("{},{}\n", key + 1, 1_000_000_000 / (rank(key) + 1));
    std::iter::once("key,count\n".to_owned())
        .chain((0..keys).map(line))
        .collect()
}

#[test]
fn figures_are_what_the_evaluator_counts() {
    let lines = zipf(60, true);
    let hits: Vec<u64> = lines
        .lines()
        .filter_map(|line| line.split_once(',')?.1.parse().ok())
        .collect();
    let traffic = Arc::new(Traffic::parse(&lines).expect("lines"));
    for engine in BOTH {
        for layout in [RuleLayout::Tree, RuleLayout::Flat] {
            for iterations in [0, 2, 9] {
                for traffic in [None, Some(&traffic)] {
                    let settings = EngineSettings {
                        query_processor_iterations: iterations,
                        regex: RegexEngine::Pcre,
                    };
                    let options = Options {
                        settings: Some(settings),
                        traffic: traffic.cloned(),
                        reshape: false,
                    };
                    let compiled = with(&project(60, layout), engine, &options);
                    counted(&compiled, traffic.map(|_| &hits[..]));
                }
            }
        }
    }
}

/// Sixty tenants on ten clusters with readers, `found` in the statement or by the session's schema.
fn with_sections(found: &str, layout: &str, sections: &str) -> Project {
    loaded(&format!(
        r#"
version: 1
clusters:
  c$(n): {{for_each: {{n: 0..9}}, type: replication, servers: {{a: {{host: "a$(n).db"}}, b: {{host: "b$(n).db"}}}}}}
users: {{app: {{password: {{env: P}}, cluster: c0}}}}
shard_maps:
  tenants:
    key: {{name: tenant, type: integer}}
    key_from: [{found}]
    rule_layout: {layout}
    shards: {{t$(n): {{for_each: {{n: 1..60}}, keys: [$(n)], cluster: "c$(n % 10)"}}}}
{sections}
"#
    ))
}

#[test]
fn policies_and_effects_are_counted() {
    let reads = "read_write_policies: {rw: {reads: {all: true}}}";
    let chosen = "read_write_policies: {rw: {reads: {only: [{match_digest: FROM never}]}}}";
    let slow = "throttles: {slow: {applies_to: {statements: [select]}, delay: 5ms}}";
    for sections in [
        "",
        reads,
        slow,
        &format!("{reads}\n{slow}"),
        &format!("{chosen}\n{slow}"),
    ] {
        for engine in BOTH {
            for layout in ["auto", "tree", "flat"] {
                let project = with_sections("comment: {}", layout, sections);
                counted(&with(&project, engine, &Options::default()), None);
            }
        }
    }
}

#[test]
fn fast_routing_counts_the_rules_that_its_statements_pass() {
    let reads = "read_write_policies: {rw: {reads: {all: true}}}";
    for sections in ["", reads] {
        let project = with_sections("schema: s_$(key)", "fast_routing", sections);
        let compiled = with(&project, EngineId::Proxysql27, &Options::default());
        let decider = Decider::new(&compiled);
        let decision = decider.decision("app", Some("s_7"), "SELECT 1 FROM t");
        let stats = &compiled.stats.shard_maps["tenants"];
        assert!(decision.evaluations > 0);
        assert_eq!(stats.mean_evaluations, f64::from(decision.evaluations));
        assert_eq!(stats.worst_evaluations, decision.evaluations);
        assert_eq!(stats.mean_visits, f64::from(decision.visits));
    }
}

/// `hits` has those of each key.
fn counted(compiled: &Compiled, hits: Option<&[u64]>) {
    let decider = Decider::new(compiled);
    let (mut evaluations, mut visits, mut total, mut worst) = (0, 0, 0, 0);
    for key in 1..=60u64 {
        let weight = hits.map_or(1, |hits| hits[key as usize - 1]);
        let decision = decider.decision("app", None, &format!("/* tenant={key} */ SELECT 1 FROM t"));
        evaluations += u64::from(decision.evaluations) * weight;
        visits += u64::from(decision.visits) * weight;
        worst = worst.max(decision.evaluations);
        total += weight;
    }
    let stats = &compiled.stats.shard_maps["tenants"];
    let near = |found: f64, sum: u64, what: &str| {
        let expected = sum as f64 / total as f64;
        let engine = compiled.configuration.engine;
        assert!(
            (found - expected).abs() < 1e-6,
            "{engine} {}: {what} {found}, counted {expected}",
            stats.layout
        );
    };
    near(stats.mean_evaluations, evaluations, "evaluations");
    near(stats.mean_visits, visits, "visits");
    assert_eq!(stats.worst_evaluations, worst);
}

#[test]
fn trees_of_the_bundled_engine() {
    for (keys, bound) in [(200, 9.7), (1_000, 12.5), (10_000, 17.0)] {
        let stats = tree(keys, EngineId::Bundled);
        assert!(stats.mean_evaluations <= bound, "{keys}: {stats:?}");
    }
}

#[test]
fn trees_of_proxysql_cost_little_more_than_the_best_complete_tree_without_its_guards() {
    // The statement is asked whether it is complete, which no complete tree counts.
    let guard = EngineId::Proxysql27
        .profile()
        .prices
        .evaluation_ns(RegexEngine::Pcre);
    for keys in [200, 1_000, 10_000] {
        let stats = tree(keys, EngineId::Proxysql27);
        let complete = (2..=200)
            .map(|fan_out| complete_tree_ns(keys, fan_out, EngineId::Proxysql27))
            .fold(f64::MAX, f64::min);
        assert!(
            stats.mean_cost_ns <= 1.05 * (complete + guard),
            "{keys}: {stats:?} and {complete}"
        );
        if keys == 200 {
            assert!(stats.mean_evaluations <= 14.0, "{stats:?}");
        }
    }
}

#[test]
fn traffic_shapes_trees() {
    let uniform = tree(10_000, EngineId::Proxysql27);
    for mixed in [false, true] {
        let traffic = Arc::new(Traffic::parse(&zipf(10_000, mixed)).expect("lines"));
        for engine in BOTH {
            let options = Options {
                traffic: Some(traffic.clone()),
                ..Options::default()
            };
            let compiled = with(&project(10_000, RuleLayout::Tree), engine, &options);
            let stats = &compiled.stats.shard_maps["tenants"];
            match engine {
                EngineId::Bundled => assert!(stats.mean_evaluations <= 11.2, "mixed {mixed}: {stats:?}"),
                EngineId::Proxysql27 | EngineId::Proxysql30 => {
                    assert!(
                        stats.mean_cost_ns <= 0.8 * uniform.mean_cost_ns,
                        "mixed {mixed}: {stats:?}"
                    );
                }
            }
            assert!(stats.uniform.is_some());
        }
    }
}

#[test]
fn a_statement_without_the_key_pays_two_evaluations_for_a_map() {
    let mut project = tenants(1..=20, 1).finish();
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    maps[0].missing_key = MissingKey {
        statements: MissingAction::Allow,
        session_setup: MissingAction::Allow,
        begin: MissingBegin::Allow,
    };
    let with_map = Table::new(maps);
    let evaluations = |maps: Table<ShardMap>| {
        project.topology.shard_maps = maps;
        let compiled = compile(
            &project,
            EngineId::Proxysql27,
            &Lock::default(),
            &Options::default(),
        );
        Decider::new(&compiled)
            .decision("app", None, "SELECT 1 FROM t")
            .evaluations
    };
    let mut evaluations = evaluations;
    let (with, without) = (evaluations(with_map), evaluations(Table::default()));
    // One of them fails at the first byte.
    assert!(with <= without + 2, "{with} and {without}");
}

#[test]
fn a_tree_that_no_statement_reaches_has_no_part_in_the_figures() {
    // The second level has a tree for readers of the first one's clusters, and statements without a cluster reach none.
    let project = loaded(
        r#"
version: 1
clusters:
  c$(n): {for_each: {n: 1..2}, type: replication, servers: {w: {host: "w$(n).db"}, r: {host: "r$(n).db"}}}
users:
  web: {password: {env: P}, cluster: c2}
  batch: {password: {env: P}, cluster: c1, role: reader}
shard_maps:
  first:
    key: {name: tenant, type: integer}
    key_from: [comment: {}]
    missing_key: {session_setup: reject}
    shards: {s1: {keys: [1], cluster: c1}, s2: {keys: [2], cluster: c2}}
  second:
    logical_schema: app
    key: {name: part, type: text}
    key_from: [comment: {}]
    shards: {p: {keys: [x, north, abc], schema: part_1}}
read_write_policies:
  rw: {reads: {except: [{functions: [now]}]}, writer_hint: {comment: {name: primary}}}
"#,
    );
    let compiled = with(&project, EngineId::Proxysql27, &Options::default());
    assert!(compiled.stats.shard_maps["second"].mean_evaluations > 0.0);
}

/// `compile --stats` counts whole statements, `explain` and SW331 the map's own rules. What two layouts differ by is the same.
#[test]
fn layouts_differ_by_the_same_cost_in_every_output() {
    for keys in [60, 200, 700] {
        let options = Options::default();
        let of = |layout| with(&project(keys, layout), EngineId::Proxysql27, &options);
        let (flat, tree) = (of(RuleLayout::Flat), of(RuleLayout::Tree));
        let counted = |compiled: &Compiled| compiled.stats.shard_maps["tenants"].mean_cost_ns;
        let in_stats = counted(&flat) - counted(&tree);
        let explained = flat.explain("shard_maps.tenants").unwrap().candidates;
        let best = explained.iter().map(|candidate| candidate.mean_cost_ns);
        let in_explain = explained[0].mean_cost_ns - best.fold(f64::MAX, f64::min);
        let told = problems(&flat, Severity::Warning);
        let costly = told.iter().find(|told| told.starts_with("SW331")).unwrap();
        let (_, figure) = costly.split_once(" costs ").unwrap();
        let in_warning: f64 = figure.split_once(" ns more").unwrap().0.parse().unwrap();
        let bytes = flat.stats.text_bytes;
        assert!(
            costly.contains(&format!("for a statement of {bytes} bytes")),
            "{costly}"
        );
        assert_eq!(format!("{in_explain:.0}"), format!("{in_warning:.0}"), "{keys}");
        let ratio = in_stats / in_explain;
        assert!(
            (0.98..=1.02).contains(&ratio),
            "{keys}: {in_stats} and {in_explain}"
        );
    }
}

#[test]
fn estimated_keys_are_told() {
    let project = |keys: u32| {
        loaded(&format!(
            "version: 1\nclusters:\n  home: {{type: single, servers: {{a: {{host: home.db}}}}}}\n\
             users:\n  app: {{password: {{env: P}}, cluster: home}}\n\
             shard_maps:\n  accounts:\n    key: {{name: account, type: integer}}\n    \
             key_from: [schema: \"acct_$(key)\"]\n    rule_layout: flat\n    \
             shards:\n      a$(n): {{for_each: {{n: 1..{keys}}}, keys: [$(n)], cluster: home}}\n"
        ))
    };
    for (keys, exact) in [(1_000, None), (1_001, Some(501)), (2_500, Some(834))] {
        let compiled = with(&project(keys), EngineId::Proxysql27, &Options::default());
        let stats = &compiled.stats.shard_maps["accounts"];
        assert_eq!((stats.keys, stats.exact_keys), (u64::from(keys), exact));
    }
    let tree = tree(3_000, EngineId::Proxysql27);
    assert_eq!((tree.keys, tree.exact_keys), (3_000, None));
}
