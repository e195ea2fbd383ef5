//! How long the analysis takes: rules compiled from shards, and lists as people write them.

use std::time::Instant;

use serde_json::{Value, json};
use shardwright_analysis::analyse;
use shardwright_prover::equivalence::{Equivalence, equivalence};
use shardwright_rules::{Address, Body, Configuration, EngineId, EngineRule, Rule};

use crate::cpu_time::own_cpu_time;
use crate::resident::own_peak_kib;
use crate::shards::compiled;
use crate::{Report, Summary, Table};

const REPEATS: usize = 3;
/// Shards whose compiled trees have about 1,000 and 10,000 rules.
const TREES: [u32; 2] = [850, 8_500];
const LISTS: [usize; 3] = [1_000, 5_000, 10_000];
const REVISED_SHARDS: u32 = 10_000;

/// Measures inside this process, sizes from small to large: the peak only grows.
pub fn run(mut progress: impl FnMut(&str)) -> Report {
    let mut table = Table::new([
        "what",
        "rules",
        "median ms",
        "processor ms",
        "peak MiB so far",
        "found",
    ]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    let mut measure = |what: String, rules: usize, work: &mut dyn FnMut() -> String| {
        progress(&format!("lint: {what}"));
        let (mut times, mut processor) = (Vec::new(), Vec::new());
        let mut found = String::new();
        for _ in 0..REPEATS {
            let (start, before) = (Instant::now(), own_cpu_time());
            found = work();
            times.push(start.elapsed().as_secs_f64() * 1e3);
            processor.push((own_cpu_time() - before).as_secs_f64() * 1e3);
        }
        let middle = |times: &[f64]| Summary::of(times.iter().copied()).expect("there are repeats");
        let (wall, own) = (middle(&times), middle(&processor));
        let mib = own_peak_kib() as f64 / 1024.0;
        table.row([
            what.clone(),
            rules.to_string(),
            format!("{:.0}", wall.median),
            format!("{:.0}", own.median),
            format!("{mib:.0}"),
            found.clone(),
        ]);
        samples.push(json!({"what": what, "rules": rules, "ms": times, "processor_ms": processor}));
        summary.push(json!({
            "what": what, "rules": rules, "ms": wall, "processor_ms": own, "peak_mib": mib, "found": found,
        }));
    };
    for shards in TREES {
        let tree = compiled(shards, EngineId::Proxysql27).configuration;
        let rules = tree.graph.rules.len();
        measure(format!("compiled tree, {shards} shards"), rules, &mut || {
            findings(&tree)
        });
    }
    for (name, list) in [
        ("shadowing list", shadowing as fn(usize) -> Configuration),
        ("shard list", sharding),
    ] {
        for rules in LISTS {
            let flat = list(rules);
            measure(format!("{name}, written by hand"), rules, &mut || findings(&flat));
        }
    }
    let [left, right] = revisions();
    let rules = left.graph.rules.len();
    measure(
        format!("equivalence, {REVISED_SHARDS} shards, one moved"),
        rules,
        &mut || match equivalence(&left, &right) {
            Equivalence::Refuted { differences, .. } => {
                let shortest = String::from_utf8_lossy(&differences[0].statement).into_owned();
                format!("`{shortest}`")
            }
            other => format!("{other:?}"),
        },
    );
    Report {
        name: "lint",
        title: "The analysis of one configuration, inside one process".to_owned(),
        parameters: json!({"repeats": REPEATS}),
        table,
        samples,
        summary: Value::Array(summary),
    }
}

fn findings(configuration: &Configuration) -> String {
    let found = analyse(configuration);
    let of = |code: &str| {
        found
            .iter()
            .filter(|finding| finding.code.as_str() == code)
            .count()
    };
    format!("{} findings, {} of them SW201", found.len(), of("SW201"))
}

fn list(rules: impl Iterator<Item = EngineRule>) -> Configuration {
    let mut configuration = compiled(10, EngineId::Proxysql27).configuration.as_ref().clone();
    let rules = rules.enumerate().map(|(position, row)| Rule {
        id: u32::try_from(position + 1).expect("a list has fewer than 2^32 rules"),
        address: Address::new("query_rules.list"),
        shards: Vec::new(),
        flag_in: 0,
        body: Body::Engine(Box::new(row)),
    });
    configuration.graph.rules = rules.collect();
    configuration
}

/// A tenth of the rules stand behind a rule that takes their statements.
fn shadowing(rules: usize) -> Configuration {
    let verbs = ["SELECT", "INSERT INTO", "UPDATE", "DELETE FROM", "REPLACE INTO"];
    list((0..rules).map(move |n| {
        let (verb, table) = (verbs[n % verbs.len()], n / verbs.len());
        let pattern = match n % 10 {
            9 => format!(
                "^{} .*table_{:05}\\b.*WHERE",
                verbs[(n - 1) % verbs.len()],
                (n - 1) / verbs.len()
            ),
            _ => format!("^{verb} .*table_{table:05}\\b"),
        };
        EngineRule {
            match_digest: Some(pattern),
            destination_hostgroup: Some(u32::try_from(n % 7).unwrap_or_default()),
            apply: true,
            ..EngineRule::default()
        }
    }))
}

/// One rule for each shard, found by a comment.
fn sharding(rules: usize) -> Configuration {
    list((0..rules).map(|n| EngineRule {
        match_pattern: Some(format!(r"/\*\s*shard={n:05}\s*\*/")),
        destination_hostgroup: Some(u32::try_from(n).unwrap_or_default()),
        apply: true,
        ..EngineRule::default()
    }))
}

/// The compiled rules of many shards, and the same with one shard on another's hostgroup.
fn revisions() -> [Configuration; 2] {
    let left = compiled(REVISED_SHARDS, EngineId::Proxysql27)
        .configuration
        .as_ref()
        .clone();
    let mut right = left.clone();
    let half = right.graph.rules.len() / 2;
    let placing = right.graph.rules[half..]
        .iter_mut()
        .find_map(|rule| match &mut rule.body {
            Body::Engine(row) => row.destination_hostgroup.as_mut(),
            Body::Native { .. } => None,
        });
    *placing.expect("half of the rules of a tree place statements") += 1;
    [left, right]
}
