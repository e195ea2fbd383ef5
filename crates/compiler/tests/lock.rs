//! Ids stay what they were, and the same input gives the same bytes.

mod support;

use std::collections::HashMap;

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{Address, EngineId};
use shardwright_topology::model::*;
use support::*;

fn again(project: &Project, engine: EngineId, lock: &Lock) -> Compiled {
    compile(project, engine, lock, &Options::default())
}

/// Rule ids of shards.
fn shard_ids(compiled: &Compiled) -> HashMap<Address, u32> {
    let rules = compiled.configuration.graph.rules.iter();
    rules
        .filter(|rule| rule.address.as_str().contains(".shards."))
        .map(|rule| (rule.address.clone(), rule.id))
        .collect()
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let project = tenants(1..=60, 2).finish();
    for engine in EngineId::ALL {
        let (a, b) = (compiled(&project, engine), compiled(&project, engine));
        assert_eq!(a.configuration.to_json(), b.configuration.to_json());
        assert_eq!(a.lock.to_string(), b.lock.to_string());
        let locked = again(&project, engine, &a.lock);
        assert_eq!(locked.configuration.to_json(), a.configuration.to_json());
        assert_eq!(locked.lock, a.lock);
    }
}

#[test]
fn hostgroups_are_the_same_on_every_engine() {
    let project = tenants(1..=60, 2).finish();
    let [bundled, proxysql] =
        EngineId::ALL.map(|engine| compiled(&project, engine).configuration.clusters.clone());
    assert_eq!(bundled, proxysql);
}

#[test]
fn a_lock_of_both_engines_keeps_the_ids_of_both() {
    let project = tenants(1..=20, 1).finish();
    let first = compiled(&project, EngineId::Bundled);
    let second = again(&project, EngineId::Proxysql27, &first.lock);
    let third = again(&project, EngineId::Bundled, &second.lock);
    assert_eq!(third.lock, second.lock);
    assert!(
        second
            .lock
            .iter()
            .any(|(name, _)| name.starts_with("rules.bundled."))
    );
}

#[test]
fn one_shard_more_renumbers_few() {
    let keys: Vec<i64> = (1..=200).map(|key| key * 2).collect();
    let before = compiled(&tenants(keys.clone(), 1).finish(), EngineId::Proxysql27);
    for added in [1, 133, 201, 399, 401] {
        let mut more = keys.clone();
        more.push(added);
        more.sort_unstable();
        let after = again(&tenants(more, 1).finish(), EngineId::Proxysql27, &before.lock);
        assert_eq!(problems(&after, Severity::Error), Vec::<String>::new());
        let (old, new) = (shard_ids(&before), shard_ids(&after));
        let changed = old
            .iter()
            .filter(|(address, id)| new.get(*address) != Some(id))
            .count();
        assert_eq!(changed, 0, "adding {added} renumbered {changed} of 200 shards");
        for cluster in &before.configuration.clusters {
            assert_eq!(
                after.configuration.cluster(&cluster.name),
                Some(cluster),
                "adding {added}"
            );
        }
    }
}

#[test]
fn exhausted_ranges_say_by_how_much() {
    let ids = IdRanges {
        hostgroups: 10..=19,
        rules: 100..=109,
        flags: 20..=21,
    };
    let project = tenants(1..=40, 1).ids(ids).finish();
    let compiled = again(&project, EngineId::Proxysql27, &Lock::default());
    insta::assert_snapshot!(problems(&compiled, Severity::Error).join("\n"), @r"
    SW323: ids.hostgroups 10-19 has 10 numbers, 31 too few for the hostgroups of this topology
    SW323: ids.flags 20-21 has 2 numbers, 14 too few for the chains of proxysql-2.7
    SW323: ids.rules 100-109 has room for 10 of 77 rules of proxysql-2.7 that stand together, 67 too few
    ");
}

#[test]
fn pins_win_and_clashes_are_told() {
    let mut build = tenants(1..=2, 1);
    build.clusters_mut()[0].hostgroups.writer = Some(1500);
    build.clusters_mut()[1].hostgroups.writer = Some(1500);
    let compiled = again(&build.finish(), EngineId::Bundled, &Lock::default());
    insta::assert_snapshot!(problems(&compiled, Severity::Error).join("\n"), @"SW324: hostgroup 1500 of hostgroups.shard-001.writer is also another hostgroup's number");
}
