//! What rules say that they decide: true, for every rule of a map, and the same as long as the pattern is.

use std::collections::HashMap;

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_rules::{Body, EngineId, EngineRule, Rule};

use crate::examples::example;
use crate::support::*;

fn rows(compiled: &Compiled) -> impl Iterator<Item = (&Rule, &EngineRule)> {
    let rules = compiled.configuration.graph.rules.iter();
    rules.filter_map(|rule| match &rule.body {
        Body::Engine(row) => Some((rule, &**row)),
        Body::Native { .. } => None,
    })
}

#[test]
fn a_rule_that_places_a_key_names_it() {
    let keys: Vec<i64> = (1..=200).chain([5_000, 70_000]).collect();
    let compiled = compiled(&tenants(keys.iter().copied(), 1).finish(), EngineId::Proxysql27);
    let mut named = HashMap::new();
    for (rule, _) in rows(&compiled).filter(|(rule, _)| rule.address.is_shard()) {
        let shard = rule.address.as_str().rsplit_once(".t").unwrap().1;
        named.insert(shard.parse::<i64>().unwrap(), rule.summary.clone().unwrap());
    }
    assert_eq!(named.len(), keys.len());
    for key in keys {
        assert_eq!(named[&key], format!("tenant {key}"));
    }
}

#[test]
fn the_keys_of_a_branch_are_those_below_it() {
    let compiled = compiled(&tenants(1..=200, 1).finish(), EngineId::Proxysql27);
    let bounds = |summary: &str| {
        let (low, high) = summary.strip_prefix("branch tenant ")?.split_once("..")?;
        Some((low.parse::<i64>().ok()?, high.parse::<i64>().ok()?))
    };
    let mut branches = 0;
    for (rule, row) in rows(&compiled) {
        let Some((low, high)) = rule.summary.as_deref().and_then(bounds) else {
            continue;
        };
        branches += 1;
        for (below, _) in rows(&compiled).filter(|(below, _)| Some(below.flag_in) == row.flag_out) {
            let summary = below.summary.as_deref().unwrap();
            let (from, to) = match summary.strip_prefix("tenant ") {
                Some(key) => (key.parse().unwrap(), key.parse().unwrap()),
                None => bounds(summary).unwrap_or((low, high)),
            };
            assert!(low <= from && to <= high, "{summary} below {low}..{high}");
        }
    }
    assert!(branches > 5, "{branches}");
}

#[test]
fn every_rule_of_a_map_says_what_it_decides() {
    for name in ["composed", "tenants", "two-level", "schema-per-shard"] {
        let project = example(name);
        let compiled = compiled(&project, EngineId::Proxysql27);
        let of_maps = rows(&compiled).filter(|(rule, _)| rule.address.as_str().starts_with("shard_maps."));
        // A row that has a comment of its own says it there.
        for (rule, row) in of_maps.filter(|(_, row)| row.comment.is_none()) {
            let shows = row.username.is_some() || row.schemaname.is_some();
            assert!(rule.summary.is_some() || shows, "{name}: {rule:?}");
            let length = rule.summary.as_deref().unwrap_or_default().len();
            assert!(length <= 130, "{name}: {rule:?}");
            assert!(
                rule.comment().starts_with(rule.address.as_str()),
                "{name}: {rule:?}"
            );
        }
    }
}

#[test]
fn a_rule_that_does_not_change_keeps_its_words() {
    let first: Vec<i64> = (0..120).map(|at| at * 5).collect();
    let mut before = compile(
        &tenants(first.iter().copied(), 1).finish(),
        EngineId::Proxysql27,
        &Lock::default(),
        &Options::default(),
    );
    let mut compared = 0;
    for at in 1..=12 {
        let more = (0..at).map(|at| at * 37 + 1);
        let keys: std::collections::BTreeSet<i64> = first.iter().copied().chain(more).collect();
        let project = tenants(keys, 1).finish();
        let after = compile(&project, EngineId::Proxysql27, &before.lock, &Options::default());
        let words: HashMap<u32, (&EngineRule, &Option<String>)> = rows(&before)
            .map(|(rule, row)| (rule.id, (row, &rule.summary)))
            .collect();
        for (rule, row) in rows(&after) {
            let had = words.get(&rule.id).filter(|(had, _)| *had == row);
            if let Some((_, summary)) = had {
                assert_eq!(**summary, rule.summary, "{rule:?}");
                compared += 1;
            }
        }
        before = after;
    }
    assert!(compared > 1_000, "{compared}");
}
