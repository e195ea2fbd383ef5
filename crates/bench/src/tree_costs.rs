//! What trees of shards that are found by a comment cost a statement, as counts and by the prices of each engine.

use std::sync::Arc;

use serde_json::json;
use shardwright_compiler::{MapStats, Options, Traffic};
use shardwright_rules::EngineId;

use crate::shards::{ENGINES, Keys, compiled_from, one_cluster_files};
use crate::{Report, Table};

#[path = "../../compiler/tests/it/support/complete.rs"]
mod complete;

/// Numbers of shards, with the bounds on mean evaluations of the bundled engine and of ProxySQL.
const SIZES: [(u32, [Option<f64>; 2]); 5] = [
    (200, [Some(9.7), Some(14.0)]),
    (1_000, [Some(12.5), None]),
    (10_000, [Some(17.0), None]),
    (100_000, [None, None]),
    (1_000_000, [None, None]),
];
/// The cost of a tree of ProxySQL over that of the best complete tree is at most this, up to so many shards.
const OVER_COMPLETE: f64 = 1.05;
const COMPARED: u32 = 10_000;
/// Fan-outs of complete trees; the best one of a million keys has fewer than 200.
const FAN_OUTS: std::ops::RangeInclusive<i64> = 2..=256;
/// Keys that are asked for as 1/rank, the bound on evaluations of the bundled engine, and on the cost of ProxySQL over that
/// without traffic.
const ZIPF: (u32, f64, f64) = (10_000, 11.2, 0.8);

/// Compiles inside this process with `rule_layout: tree`, up to `most` shards.
pub fn run(most: u32, mut progress: impl FnMut(&str)) -> Report {
    let mut table = Table::new([
        "engine, shards",
        "rules",
        "depth",
        "mean evaluations",
        "bound",
        "worst",
        "mean cost ns",
        "compared with",
        "ratio",
        "bound",
    ]);
    let mut summary = Vec::new();
    let mut add = |row: Row| {
        table.row(row.cells());
        summary.push(row.json());
    };
    for (shards, bounds) in SIZES.into_iter().filter(|(shards, _)| *shards <= most) {
        for (engine, bound) in ENGINES.into_iter().zip(bounds) {
            progress(&format!("trees: {shards} shards, {engine}"));
            add(Row {
                name: format!("{engine}, {shards}"),
                stats: tree(shards, engine, None),
                most_evaluations: bound,
                compared: (engine == EngineId::Proxysql27 && shards <= COMPARED).then(|| {
                    let (fan_out, cost) = best_complete(shards, engine);
                    (format!("complete, fan-out {fan_out}"), cost, OVER_COMPLETE)
                }),
            });
        }
    }
    let (keys, most_evaluations, over_uniform) = ZIPF;
    for (order, is_mixed) in [("in order of rank", false), ("in random order", true)] {
        let traffic = Arc::new(zipf(keys, is_mixed));
        for engine in ENGINES {
            progress(&format!("trees: {keys} shards under traffic {order}, {engine}"));
            let is_bundled = engine == EngineId::Bundled;
            let uniform = tree(keys, engine, None).mean_cost_ns;
            add(Row {
                name: format!("{engine}, {keys}, traffic of 1/rank {order}"),
                stats: tree(keys, engine, Some(&traffic)),
                most_evaluations: is_bundled.then_some(most_evaluations),
                compared: (!is_bundled)
                    .then(|| ("the tree without traffic".to_owned(), uniform, over_uniform)),
            });
        }
    }
    Report {
        name: "trees",
        title: "What a statement with a known key costs in a compiled tree, guards included".to_owned(),
        parameters: json!({"most_shards": most, "fan_outs": [FAN_OUTS.start(), FAN_OUTS.end()]}),
        tables: vec![table],
        samples: Vec::new(),
        summary: json!(summary),
    }
}

struct Row {
    name: String,
    stats: MapStats,
    most_evaluations: Option<f64>,
    /// What, its cost, and how much of it is allowed.
    compared: Option<(String, f64, f64)>,
}

impl Row {
    fn cells(&self) -> [String; 10] {
        let within = |found: f64, bound: f64| if found <= bound { "" } else { " exceeded" };
        let stats = &self.stats;
        let bound = self.most_evaluations;
        let evaluations = bound.map(|bound| format!("{bound}{}", within(stats.mean_evaluations, bound)));
        let [what, ratio, allowed] = match &self.compared {
            None => Default::default(),
            Some((what, cost, allowed)) => {
                let ratio = stats.mean_cost_ns / cost;
                [
                    format!("{what}: {cost:.0} ns"),
                    format!("{ratio:.3}"),
                    format!("{allowed}{}", within(ratio, *allowed)),
                ]
            }
        };
        [
            self.name.clone(),
            stats.rules.to_string(),
            stats.depth.to_string(),
            format!("{:.2}", stats.mean_evaluations),
            evaluations.unwrap_or_default(),
            stats.worst_evaluations.to_string(),
            format!("{:.0}", stats.mean_cost_ns),
            what,
            ratio,
            allowed,
        ]
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "what": self.name,
            "stats": self.stats,
            "most_evaluations": self.most_evaluations,
            "compared": self.compared.as_ref().map(|(what, cost, allowed)| {
                json!({"with": what, "cost_ns": cost, "most_ratio": allowed})
            }),
        })
    }
}

fn tree(shards: u32, engine: EngineId, traffic: Option<&Arc<Traffic>>) -> MapStats {
    let mut files = one_cluster_files(shards, Keys::Single);
    files[1].1 = files[1].1.replace("    key:", "    rule_layout: tree\n    key:");
    let options = Options {
        traffic: traffic.cloned(),
        ..Options::default()
    };
    let compiled = compiled_from(files, engine, &options);
    let stats = &compiled.stats.shard_maps["tenants"];
    assert_eq!(
        stats.layout, "tree",
        "the layout of the generated project is forced"
    );
    stats.clone()
}

/// The cheapest complete tree: its fan-out and mean cost, without guards in front of it.
fn best_complete(keys: u32, engine: EngineId) -> (i64, f64) {
    FAN_OUTS
        .map(|fan_out| {
            (
                fan_out,
                complete::complete_tree_ns(i64::from(keys), fan_out, engine),
            )
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .expect("there are fan-outs")
}

/// Hits that fall as 1/rank, for keys in the order of their rank or mixed.
fn zipf(keys: u32, is_mixed: bool) -> Traffic {
    // A prime that does not divide the number of keys visits each once.
    let rank = |key: u64| {
        if is_mixed {
            key * 7_919 % u64::from(keys)
        } else {
            key
        }
    };
    let line = |key: u64| format!("{},{}\n", key + 1, 1_000_000_000 / (rank(key) + 1));
    let text: String = std::iter::once("key,count\n".to_owned())
        .chain((0..u64::from(keys)).map(line))
        .collect();
    Traffic::parse(&text).expect("the lines are well formed")
}
