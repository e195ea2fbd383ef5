//! Where a map tells reads from writes: the costs that `explain` shows for the root and for the leaves are those that the
//! evaluator counts. Rules with the split at the leaves are made here from those with the split at the root.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use shardwright_compiler::{Compiled, Lock, Options, SplitCost, Splits, Traffic, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{Body, EngineId, EngineRule, Role, Rule};
use shardwright_topology::model::*;

use crate::support::*;

const KEYS: i64 = 60;
const ENGINE: EngineId = EngineId::Proxysql27;

/// Shards of one key each on four clusters with replicas and one without; neighbours on the same one, or not.
fn project(neighbours: bool, policy: bool) -> Project {
    let mut build = Build::new();
    let home = build.cluster("home", 1);
    build.user("app", home, None);
    let servers = [2, 2, 1, 2, 2];
    let clusters: Vec<ClusterId> = servers
        .iter()
        .enumerate()
        .map(|(at, &servers)| build.cluster(&format!("c{at}"), servers))
        .collect();
    let map = build.map("m", &["app"], KeyKind::Integer, "tenant", vec![comment("tenant")]);
    map.rule_layout = RuleLayout::Tree;
    let shards = (0..KEYS).map(|key| {
        let cluster = if neighbours { key / (KEYS / 5) } else { key % 5 };
        (
            format!("s{key}"),
            integers([key]),
            Some(clusters[cluster as usize]),
            None,
        )
    });
    build.shards(shards.collect());
    if policy {
        build.policy("reads", &[], ReadSelection::All);
    }
    build.finish()
}

fn compile_for(project: &Project, traffic: Option<&Arc<Traffic>>) -> Compiled {
    let options = Options {
        traffic: traffic.cloned(),
        ..Options::default()
    };
    let compiled = compile(project, ENGINE, &Lock::default(), &options);
    assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
    compiled
}

fn splits(compiled: &Compiled) -> Splits {
    let explained = compiled.explain("shard_maps.m").expect("a map");
    explained.splits.expect("its reads go elsewhere")
}

/// What statements look at and run, and where they go.
#[derive(Debug, Default)]
struct Counted {
    evaluations: f64,
    reads: f64,
    writes: f64,
    routes: Vec<String>,
}

/// Means over keys, each as often as `weight` says. A comment behind the first keeps a statement from being a usual one, which
/// meets no split if it is a read.
fn counted(compiled: &Compiled, weight: impl Fn(i64) -> f64) -> Counted {
    let decider = Decider::new(compiled);
    let mut counted = Counted::default();
    let mut total = 0.0;
    for key in 0..KEYS {
        let read = format!("/* tenant={key} */ SELECT 1 FROM t /* a */");
        let write = format!("/* tenant={key} */ UPDATE t SET a = 1 /* a */");
        let of = |statement: &str| decider.decision("app", None, statement);
        let (reading, writing) = (of(&read), of(&write));
        let weight = weight(key);
        total += weight;
        counted.evaluations += weight * f64::from(reading.evaluations);
        assert_eq!(reading.evaluations, writing.evaluations);
        counted.reads += weight * f64::from(reading.visits);
        counted.writes += weight * f64::from(writing.visits);
        counted.routes.push(decider.short("app", None, &read));
        counted.routes.push(decider.short("app", None, &write));
    }
    for statement in [
        "/* tenant=60 */ SELECT 1 FROM t",
        "/* tenant=5 */ SELECT 1 FROM t FOR UPDATE",
    ] {
        counted.routes.push(decider.short("app", None, statement));
    }
    for sum in [&mut counted.evaluations, &mut counted.reads, &mut counted.writes] {
        *sum /= total;
    }
    counted
}

/// The flag of a chain.
fn flag(compiled: &Compiled, name: &str) -> u32 {
    let mut chains = compiled.chains.iter();
    *chains
        .find(|(_, own)| *own == name)
        .expect("a chain of the map")
        .0
}

/// Whether a rule belongs to the tree of writers or of readers, its chains included.
fn of_tree(compiled: &Compiled, rule: &Rule, role: &str) -> bool {
    let root = format!("shard_maps.m.{role}");
    let own = &compiled.chains[&rule.flag_in];
    *own == root || own.starts_with(&format!("{root}/"))
}

fn engine(rule: &Rule) -> &EngineRule {
    match &rule.body {
        Body::Engine(rule) => rule,
        Body::Native { .. } => panic!("ProxySQL has engine rules only"),
    }
}

fn with(rule: &Rule, flag_in: u32, change: impl FnOnce(&mut EngineRule)) -> Rule {
    let mut changed = engine(rule).clone();
    change(&mut changed);
    Rule {
        flag_in,
        body: Body::Engine(Box::new(changed)),
        ..rule.clone()
    }
}

/// The same configuration with the split at the leaves of the writers' tree.
fn at_the_leaves(mut compiled: Compiled) -> Compiled {
    let mut configuration = (*compiled.configuration).clone();
    let of_role = |role: Role| {
        let groups = configuration.hostgroups.iter();
        let groups = groups.filter(move |group| group.role == role);
        groups.map(|group| (group.cluster.clone(), group.id.0))
    };
    let readers: BTreeMap<_, u32> = of_role(Role::Reader).collect();
    let pairs: HashMap<u32, u32> = of_role(Role::Writer)
        .filter_map(|(cluster, writer)| Some((writer, *readers.get(&cluster)?)))
        .collect();
    let role = flag(&compiled, "shard_maps.m.role");
    let [to_readers, to_writers] =
        ["readers", "writers"].map(|role| flag(&compiled, &format!("shard_maps.m.{role}")));
    let rules = &configuration.graph.rules;
    let question: Vec<&Rule> = rules.iter().filter(|rule| rule.flag_in == role).collect();
    let tree: Vec<&Rule> = rules
        .iter()
        .filter(|rule| of_tree(&compiled, rule, "writers"))
        .collect();
    let last: HashMap<u32, usize> = tree
        .iter()
        .enumerate()
        .filter_map(|(at, rule)| Some((engine(rule).destination_hostgroup?, at)))
        .collect();
    let mut laid: Vec<Rule> = Vec::new();
    for (at, rule) in tree.iter().enumerate() {
        let writer = engine(rule).destination_hostgroup;
        let Some((writer, &reader)) = writer.and_then(|writer| Some((writer, pairs.get(&writer)?))) else {
            laid.push((*rule).clone());
            continue;
        };
        let own = 5_000_000 + writer;
        laid.push(with(rule, rule.flag_in, |rule| {
            (rule.apply, rule.flag_out) = (false, Some(own));
        }));
        if last[&writer] != at {
            continue;
        }
        laid.extend(question.iter().map(|asked| {
            with(asked, own, |rule| {
                rule.destination_hostgroup = (rule.flag_out == Some(to_readers)).then_some(reader);
                (rule.apply, rule.flag_out) = (true, None);
            })
        }));
    }
    let start = rules
        .iter()
        .position(|rule| rule.flag_in == role)
        .expect("the role chain");
    let is_replaced = |rule: &Rule| {
        rule.flag_in == role
            || ["readers", "writers"]
                .iter()
                .any(|role| of_tree(&compiled, rule, role))
    };
    // Usual reads go to the readers' tree, which is not there.
    let in_front = rules[..start].iter();
    let in_front = in_front.filter(|rule| engine(rule).flag_out != Some(to_readers));
    let mut all: Vec<Rule> = in_front.cloned().chain(laid).collect();
    all.extend(rules[start..].iter().filter(|rule| !is_replaced(rule)).cloned());
    for (at, rule) in all.iter_mut().enumerate() {
        rule.id = at as u32 + 1;
        if engine(rule).flag_out == Some(role) {
            *rule = with(rule, rule.flag_in, |rule| rule.flag_out = Some(to_writers));
        }
    }
    configuration.graph.rules = all;
    compiled.configuration = Arc::new(configuration);
    compiled
}

fn near(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() < 1e-6,
        "{what}: {found}, counted {expected}"
    );
}

/// Compares the figures of a split with the counts, of which the rules and patterns in front are none of its own.
fn agrees(split: &SplitCost, counted: &Counted, (rules, patterns): (f64, f64)) {
    near(
        split.mean_evaluations,
        counted.evaluations - patterns,
        &split.name,
    );
    near(
        split.mean_visits,
        f64::midpoint(counted.reads, counted.writes) - rules,
        &split.name,
    );
    let price = ENGINE.profile().prices;
    let more_ns = price.visit_ns * (counted.writes - counted.reads);
    near(split.write_ns - split.read_ns, more_ns, &split.name);
    near(
        f64::midpoint(split.read_ns, split.write_ns),
        split.mean_cost_ns,
        &split.name,
    );
}

#[test]
fn costs_of_both_places_are_what_the_evaluator_counts() {
    let hits = |key: i64| 1 + 6_000 / (1 + key * 7 % KEYS);
    let lines: String = (0..KEYS).map(|key| format!("{key},{}\n", hits(key))).collect();
    let traffic = Arc::new(Traffic::parse(&format!("key,count\n{lines}")).expect("lines"));
    for neighbours in [true, false] {
        for traffic in [None, Some(&traffic)] {
            let compiled = compile_for(&project(neighbours, true), traffic);
            let splits = splits(&compiled);
            // A hundredth of all hits is spread over every key.
            let total: i64 = (0..KEYS).map(hits).sum();
            let unseen = total as f64 / 100.0 / KEYS as f64;
            let weight = |key: i64| traffic.map_or(1.0, |_| hits(key) as f64 + unseen);
            let role = flag(&compiled, "shard_maps.m.role");
            let rules = &compiled.configuration.graph.rules;
            let in_front = rules
                .iter()
                .position(|rule| rule.flag_in == role)
                .expect("a chain") as f64;
            let unsplit = compile_for(&project(neighbours, false), traffic);
            let tree = unsplit.explain("shard_maps.m").expect("a map").candidates[0].mean_evaluations;
            let patterns = counted(&unsplit, weight).evaluations - tree;
            // Only the root has the rule that knows usual reads.
            let [of_root, of_leaves] = [(in_front, patterns + 1.0), (in_front - 1.0, patterns)];
            let root = counted(&compiled, weight);
            let leaves = counted(&at_the_leaves(compiled), weight);
            assert_eq!(root.routes, leaves.routes);
            assert!(root.routes.iter().any(|route| route == "c0 reader"));
            agrees(&splits.candidates[0], &root, of_root);
            agrees(&splits.candidates[1], &leaves, of_leaves);
        }
    }
}

#[test]
fn the_reason_says_what_costs_less_and_from_when_on() {
    let together = splits(&compile_for(&project(true, true), None)).reason;
    insta::assert_snapshot!(together, @"split at the root: with as many reads as writes it costs 540 ns on proxysql-2.7, split at the leaves would cost 498 ns, which is not laid out yet");
    let mut apart = tenants(1..=60, 2);
    apart.policy("reads", &[], ReadSelection::All);
    let compiled = compile_for(&apart.finish(), None);
    let explained = compiled.explain("shard_maps.tenants").expect("a map");
    let apart = explained.splits.expect("its reads go elsewhere").reason;
    insta::assert_snapshot!(apart, @"split at the root: with as many reads as writes it costs 1259 ns on proxysql-2.7, split at the leaves would cost 1459 ns");
}

#[test]
fn maps_whose_reads_stay_have_no_split() {
    for (project, engine) in [
        (project(true, false), ENGINE),
        (project(true, true), EngineId::Bundled),
    ] {
        let compiled = compile(&project, engine, &Lock::default(), &Options::default());
        assert_eq!(compiled.explain("shard_maps.m").expect("a map").splits, None);
    }
}
