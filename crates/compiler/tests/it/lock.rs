//! Ids stay what they were, and the same input gives the same bytes.

use std::collections::{BTreeMap, HashMap};

use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{Address, EngineId, Rule};
use shardwright_topology::model::*;

use crate::support::*;

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
    for engine in BOTH {
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
    let [bundled, proxysql] = BOTH.map(|engine| compiled(&project, engine).configuration.clusters.clone());
    assert_eq!(bundled, proxysql);
}

#[test]
fn a_lock_of_both_engines_keeps_the_ids_of_both() {
    let project = tenants(1..=20, 1).finish();
    let first = compiled(&project, EngineId::Bundled);
    let second = again(&project, EngineId::Proxysql27, &first.lock);
    let third = again(&project, EngineId::Bundled, &second.lock);
    assert_eq!(third.lock, second.lock);
    assert!(second.lock.below("rules.bundled.").next().is_some());
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
    SW323: ids.hostgroups 10-19 has 10 numbers, 6 too few for the hostgroups that refuse executions on proxysql-2.7
    SW323: ids.flags 20-21 has 2 numbers, 21 too few for the chains of proxysql-2.7
    SW323: ids.rules 100-109 has 10 numbers for 102 rules of proxysql-2.7 that must be consecutive, 92 too few
    ");
}

#[test]
fn pins_win_and_clashes_are_told() {
    let mut build = tenants(1..=2, 1);
    build.clusters_mut()[0].hostgroups.writer = Some(1500);
    build.clusters_mut()[1].hostgroups.writer = Some(1500);
    let compiled = again(&build.finish(), EngineId::Bundled, &Lock::default());
    insta::assert_snapshot!(problems(&compiled, Severity::Error).join("\n"), @"SW324: hostgroup number 1500 of hostgroups.shard-001.writer is also the number of another hostgroup");
}

/// Rules by id.
fn rules(compiled: &Compiled) -> HashMap<u32, Rule> {
    let rules = compiled.configuration.graph.rules.iter();
    rules.map(|rule| (rule.id, rule.clone())).collect()
}

/// Rules that were added, changed or taken away, and shards whose rule has another id.
fn changes(before: &Compiled, after: &Compiled) -> (usize, usize) {
    let (old, new) = (rules(before), rules(after));
    let gone = old.keys().filter(|id| !new.contains_key(id)).count();
    let changed = new.iter().filter(|(id, rule)| old.get(id) != Some(rule)).count();
    let (old, new) = (shard_ids(before), shard_ids(after));
    let moved = old
        .iter()
        .filter(|(shard, id)| new.get(*shard).is_some_and(|new| new != *id))
        .count();
    (gone + changed, moved)
}

const WIDE: IdRanges = IdRanges {
    hostgroups: 1_000_000..=1_999_999,
    rules: 10_000_000..=99_999_999,
    flags: 2_000_000..=2_999_999,
};

/// Shards of a map, each key on one of three clusters.
fn placed(keys: &BTreeMap<i64, u8>, ids: &IdRanges) -> Project {
    let mut build = Build::new().ids(ids.clone());
    let home = build.cluster("home", 1);
    let clusters: Vec<ClusterId> = (0..3).map(|at| build.cluster(&format!("c{at}"), 1)).collect();
    build.user("app", home, Some("app"));
    build.map(
        "tenants",
        &["app"],
        KeyKind::Integer,
        "tenant",
        vec![comment("tenant")],
    );
    let shards = keys.iter().map(|(key, cluster)| {
        let cluster = clusters[usize::from(*cluster)];
        (format!("t{key}"), integers([*key]), Some(cluster), None)
    });
    build.shards(shards.collect());
    build.user("batch", home, Some("app"));
    build.map(
        "orders",
        &["batch"],
        KeyKind::Integer,
        "order",
        vec![comment("order")],
    );
    let others = (0..50).map(|key| (format!("o{key}"), integers([key * 3]), Some(clusters[0]), None));
    build.shards(others.collect());
    build.finish()
}

/// Numbers that repeat from run to run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Adds, removes or moves one key.
fn edit(keys: &mut BTreeMap<i64, u8>, draws: &mut Draws) {
    let some = |keys: &BTreeMap<i64, u8>, draws: &mut Draws| {
        let at = draws.below(keys.len() as u64) as usize;
        *keys.keys().nth(at).expect("a place below the length")
    };
    match draws.below(8) {
        0 | 1 => {
            let last = keys.keys().next_back().map_or(0, |last| last + 1);
            keys.insert(last, draws.below(3) as u8);
        }
        2..=4 => {
            keys.insert(draws.below(1 << 22) as i64, draws.below(3) as u8);
        }
        5 | 6 if keys.len() > 20 => {
            let gone = some(keys, draws);
            keys.remove(&gone);
        }
        _ => {
            let moved = some(keys, draws);
            let cluster = keys.get_mut(&moved).expect("a key of the map");
            *cluster = (*cluster + 1) % 3;
        }
    }
}

/// With every map laid out as a tree.
fn trees(mut project: Project) -> Project {
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    for map in &mut maps {
        map.rule_layout = RuleLayout::Tree;
    }
    project.topology.shard_maps = Table::new(maps);
    project
}

/// A walk of edits: each changes few rules and renumbers none, and the tree stays near the best one.
fn walk(shards: u64, edits: usize, engine: EngineId, ids: &IdRanges) {
    let mut draws = Draws(shards);
    let mut keys: BTreeMap<i64, u8> = (0..shards as i64).map(|key| (key * 5, (key % 3) as u8)).collect();
    let mut before = again(&trees(placed(&keys, ids)), engine, &Lock::default());
    let (mut total, mut renumbered) = (0, 0);
    for _ in 0..edits {
        edit(&mut keys, &mut draws);
        let project = trees(placed(&keys, ids));
        let after = again(&project, engine, &before.lock);
        assert_eq!(problems(&after, Severity::Error), Vec::<String>::new());
        let (changed, moved) = changes(&before, &after);
        renumbered += moved;
        total += changed;
        before = after;
    }
    let project = trees(placed(&keys, ids));
    let told = problems(&before, Severity::Warning);
    let cost = |compiled: &Compiled| compiled.stats.shard_maps["tenants"].mean_cost_ns;
    let best = again(&project, engine, &Lock::default());
    let ratio = cost(&before) / cost(&best);
    let mean = total as f64 / edits as f64;
    let what = format!(
        "{edits} edits of {shards} shards on {engine}: {mean:.2} rules an edit, {renumbered} renumbered, {ratio:.3} of the best"
    );
    assert!(
        ratio <= 1.25 || told.iter().any(|told| told.contains("--reshape")),
        "{what}"
    );
    assert_eq!(renumbered, 0, "{what}");
    let logarithm = f64::from(u32::try_from(keys.len()).expect("few keys")).log2();
    assert!(mean <= 2.0 * logarithm, "{what}");
    every_key_is_placed(&before, &keys);
}

fn every_key_is_placed(compiled: &Compiled, keys: &BTreeMap<i64, u8>) {
    let decider = Decider::new(compiled);
    for (key, cluster) in keys.iter().step_by(keys.len() / 50 + 1) {
        let statement = format!("/* tenant={key} */ SELECT 1 FROM t");
        assert_eq!(
            decider.short("app", None, &statement),
            format!("c{cluster} writer"),
            "{statement}"
        );
    }
}

#[test]
fn edits_change_few_rules_and_renumber_none() {
    for engine in BOTH {
        walk(200, 60, engine, &IdRanges::default());
    }
    walk(1_000, 20, EngineId::Proxysql27, &WIDE);
}

/// A lock whose rules have ids one behind the other, and the name of the last.
fn without_room(lock: &Lock) -> (Lock, String) {
    let mut rules: Vec<(&str, u32)> = lock
        .below("")
        .filter(|(name, _)| name.starts_with("rules."))
        .collect();
    rules.sort_by_key(|(_, id)| *id);
    let mut dense = lock.clone();
    for ((name, _), id) in rules.iter().zip(rules[0].1..) {
        dense.set((*name).to_owned(), id);
    }
    (dense, rules[rules.len() - 1].0.to_owned())
}

#[test]
fn rules_behind_a_tree_make_room_for_it() {
    for engine in BOTH {
        let project = |keys: i64| trees(tenants(1..=keys, 1).finish());
        let (lock, last) = without_room(&compiled(&project(20), engine).lock);
        let before = again(&project(20), engine, &lock);
        assert_eq!(before.lock, lock);
        let after = again(&project(21), engine, &lock);
        assert_eq!(problems(&after, Severity::Error), Vec::<String>::new());
        assert_eq!(changes(&before, &after).1, 0, "{engine}");
        assert!(after.lock.get(&last) > lock.get(&last), "{engine}");
    }
}

#[cfg(not(debug_assertions))]
mod at_full_size {
    use super::*;

    #[test]
    fn ten_thousand_edits_of_200_shards() {
        for engine in BOTH {
            walk(200, 10_000, engine, &IdRanges::default());
        }
    }

    #[test]
    fn ten_thousand_edits_in_wide_ranges() {
        for engine in BOTH {
            walk(200, 10_000, engine, &WIDE);
        }
    }

    #[test]
    fn edits_of_10_000_shards() {
        for engine in BOTH {
            walk(10_000, 200, engine, &WIDE);
        }
    }

    #[test]
    fn edits_of_100_000_shards() {
        for engine in BOTH {
            walk(100_000, 20, engine, &WIDE);
        }
    }
}

#[test]
fn reshaping_lays_out_again() {
    let alternating = |key: i64| (key, (key % 2) as u8);
    let mut keys: BTreeMap<i64, u8> = (0..40).map(alternating).collect();
    let before = again(&placed(&keys, &WIDE), EngineId::Proxysql27, &Lock::default());
    keys.extend((1_000..1_300).map(alternating));
    let kept = again(&placed(&keys, &WIDE), EngineId::Proxysql27, &before.lock);
    let reason = kept.explain("shard_maps.tenants").and_then(|map| map.reason);
    assert!(reason.is_some_and(|reason| reason.starts_with("the lock keeps this tree")));
    let options = Options {
        reshape: true,
        ..Options::default()
    };
    let reshaped = compile(&placed(&keys, &WIDE), EngineId::Proxysql27, &kept.lock, &options);
    let best = again(&placed(&keys, &WIDE), EngineId::Proxysql27, &Lock::default());
    assert_eq!(reshaped.stats.shard_maps, best.stats.shard_maps);
    assert_eq!(
        again(&placed(&keys, &WIDE), EngineId::Proxysql27, &reshaped.lock).lock,
        reshaped.lock
    );
    every_key_is_placed(&kept, &keys);
}

#[test]
fn a_small_forced_tree_is_not_said_to_be_outgrown() {
    let mut project = tenants(1..=3, 1).finish();
    let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    maps[0].rule_layout = RuleLayout::Tree;
    project.topology.shard_maps = Table::new(maps);
    let first = compiled(&project, EngineId::Proxysql27);
    let second = again(&project, EngineId::Proxysql27, &first.lock);
    let told = [&first, &second].map(|compiled| problems(compiled, Severity::Warning));
    assert_eq!(told[1], told[0]);
    assert!(told[0].iter().all(|told| told.starts_with("SW331")), "{told:?}");
}
