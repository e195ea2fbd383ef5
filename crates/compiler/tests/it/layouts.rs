//! Every layout of a map, on every engine that has it, means what the map says: for all keys and for all that look like
//! one, and the same as any other layout for statements of any kind.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use shardwright_compiler::{Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;
use shardwright_topology::model::*;

use crate::support::hostile::hostile;
use crate::support::*;

const LAYOUTS: [(EngineId, RuleLayout); 5] = [
    (EngineId::Bundled, RuleLayout::Dispatch),
    (EngineId::Bundled, RuleLayout::Tree),
    (EngineId::Bundled, RuleLayout::Flat),
    (EngineId::Proxysql27, RuleLayout::Tree),
    (EngineId::Proxysql27, RuleLayout::Flat),
];

/// The shards of a map: single keys and ranges, each of one shard.
#[derive(Clone, Debug)]
enum Keys {
    Integers(Vec<(i64, i64)>),
    Texts(Vec<String>),
}

fn project(keys: &Keys, layout: RuleLayout, missing: MissingAction) -> Project {
    let mut build = Build::new();
    let home = build.cluster("home", 1);
    build.user("app", home, None);
    let kind = match keys {
        Keys::Integers(_) => KeyKind::Integer,
        Keys::Texts(_) => KeyKind::Text,
    };
    let count = match keys {
        Keys::Integers(ranges) => ranges.len(),
        Keys::Texts(texts) => texts.len(),
    };
    let clusters: Vec<ClusterId> = (0..count).map(|at| build.cluster(&format!("c{at}"), 1)).collect();
    let map = build.map("m", &["app"], kind, "tenant", vec![comment("tenant")]);
    map.rule_layout = layout;
    map.missing_key.statements = missing;
    let lines = clusters.iter().enumerate().map(|(at, cluster)| {
        let keys = match keys {
            Keys::Integers(ranges) if ranges[at].0 == ranges[at].1 => integers([ranges[at].0]),
            Keys::Integers(_) => Vec::new(),
            Keys::Texts(list) => texts([list[at].as_str()]),
        };
        (format!("s{at}"), keys, Some(*cluster), None)
    });
    build.shards(lines.collect());
    let mut project = build.finish();
    if let Keys::Integers(ranges) = keys {
        let mut maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
        let mut shards: Vec<Shard> = maps[0].shards.iter().cloned().collect();
        for (shard, &(first, last)) in shards.iter_mut().zip(ranges) {
            if first < last {
                shard.ranges = Box::new([KeyRange { first, last }]);
            }
        }
        maps[0].shards = Table::new(shards);
        project.topology.shard_maps = Table::new(maps);
    }
    project
}

fn decider(keys: &Keys, (engine, layout): (EngineId, RuleLayout)) -> Decider {
    let project = project(keys, layout, MissingAction::Reject);
    let compiled = compile(&project, engine, &Lock::default(), &Options::default());
    assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
    let wanted = match layout {
        RuleLayout::Flat => "flat",
        RuleLayout::Dispatch => "dispatch",
        _ => "tree",
    };
    // A tree of one or two keys is one chain.
    let found = compiled.stats.shard_maps["m"].layout;
    assert!(
        found == wanted || (wanted == "tree" && found == "flat"),
        "{engine}: {found}"
    );
    Decider::new(&compiled)
}

/// Where a value goes, as the map says.
fn expected(keys: &Keys, value: &str) -> String {
    let at = match keys {
        Keys::Integers(ranges) => value.parse::<i64>().ok().and_then(|value| {
            ranges
                .iter()
                .position(|(first, last)| (first..=last).contains(&&value))
        }),
        Keys::Texts(texts) => texts.iter().position(|text| text == value),
    };
    at.map_or_else(|| "SW352".to_owned(), |at| format!("c{at} writer"))
}

/// A key, and what is one digit or letter away from it.
fn neighbours(value: &str) -> Vec<String> {
    let mut near = vec![
        value.to_owned(),
        format!("{value}0"),
        format!("{value}x"),
        format!("0{value}"),
        format!("x{value}"),
    ];
    let characters: Vec<char> = value.chars().collect();
    for at in 0..characters.len() {
        let without: String = characters
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != at)
            .map(|(_, c)| *c)
            .collect();
        near.push(without);
        for other in ['0', '9', 'b', 'Z'] {
            let mut changed = characters.clone();
            changed[at] = other;
            near.push(changed.into_iter().collect());
        }
    }
    near.extend([value.to_uppercase(), value.to_lowercase()]);
    near.retain(|value| !value.is_empty() && !value.starts_with('+'));
    near
}

fn check(keys: &Keys, probes: &[String]) {
    for layout in LAYOUTS {
        let decider = decider(keys, layout);
        for value in probes.iter().flat_map(|probe| neighbours(probe)) {
            let spaced =
                value.contains(|character: char| character.is_whitespace() || matches!(character, ',' | ';'));
            if value.trim() != value {
                continue;
            }
            let written = if spaced {
                format!("'{value}'")
            } else {
                value.clone()
            };
            let statement = format!("/* tenant={written} */ SELECT 1 FROM t");
            let found = decider.short("app", None, &statement);
            let refused = found.starts_with("SW35") && expected(keys, &value) == "SW352";
            assert!(
                refused || found == expected(keys, &value),
                "{layout:?}: {statement}: {found}"
            );
        }
    }
}

fn ranges() -> impl Strategy<Value = Keys> {
    let edges = prop_oneof![
        prop::collection::btree_set(-30i64..2_000, 2..40),
        prop::collection::btree_set(any::<i64>(), 2..24),
        Just([i64::MIN, -1, 0, 1, i64::MAX].into_iter().collect()),
    ];
    (edges, any::<u64>()).prop_map(|(edges, choice): (std::collections::BTreeSet<i64>, u64)| {
        let edges: Vec<i64> = edges.into_iter().collect();
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        let mut at = 0;
        while at < edges.len() {
            // Some of the keys stand alone, others are the ends of a range.
            if choice >> (at % 64) & 1 == 0 || at + 1 == edges.len() {
                ranges.push((edges[at], edges[at]));
                at += 1;
            } else {
                ranges.push((edges[at], edges[at + 1]));
                at += 2;
            }
        }
        Keys::Integers(ranges)
    })
}

fn written() -> impl Strategy<Value = Keys> {
    let text = prop_oneof![
        "[A-Ca-c0-2]{1,4}",
        "[a-b.+?(){}|^$\\[\\]é_ -]{1,5}".prop_map(|text: String| text.trim().to_owned()),
        Just("ä".repeat(64)),
        Just("x".repeat(64)),
    ];
    let keys = prop::collection::btree_set(text, 1..24);
    keys.prop_map(|keys| Keys::Texts(keys.into_iter().filter(|key| !key.is_empty()).collect()))
        .prop_filter(
            "a map has keys",
            |keys| matches!(keys, Keys::Texts(texts) if !texts.is_empty()),
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(debug_assertions) { 6 } else { 400 })
    })]

    #[test]
    fn integers_and_ranges(keys in ranges()) {
        let Keys::Integers(list) = &keys else { unreachable!() };
        let near = |value: i64| [Some(value), value.checked_add(1), value.checked_sub(1)];
        let ends = list.iter().flat_map(|&(first, last)| [first, last]).flat_map(near);
        let probes: Vec<String> = ends.flatten().map(|value| value.to_string()).collect();
        check(&keys, &probes);
    }

    #[test]
    fn texts_of_any_characters(keys in written()) {
        let Keys::Texts(list) = &keys else { unreachable!() };
        check(&keys, list);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(debug_assertions) { 1_000 } else { 100_000 })
    })]

    /// Layouts of one engine's rules answer alike. A search by patterns refuses what it cannot tell, where a look-up of the
    /// key reads the statement; what is known to differ is listed in the test of both engines.
    #[test]
    fn layouts_agree(statement in hostile()) {
        static DECIDERS: OnceLock<BTreeMap<&'static str, Vec<Decider>>> = OnceLock::new();
        let deciders = DECIDERS.get_or_init(|| {
            let mut deciders: BTreeMap<&'static str, Vec<Decider>> = BTreeMap::new();
            for (engine, layout) in LAYOUTS.into_iter().filter(|(_, layout)| *layout != RuleLayout::Dispatch) {
                let keys = Keys::Integers((1..=40).map(|key| (key, key)).collect());
                let project = project(&keys, layout, MissingAction::Allow);
                let compiled = compile(&project, engine, &Lock::default(), &Options::default());
                deciders.entry(engine.name()).or_default().push(Decider::new(&compiled));
            }
            deciders
        });
        for (engine, deciders) in deciders {
            let answers: Vec<String> = deciders.iter().map(|decider| decider.short("app", None, &statement)).collect();
            prop_assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{}: {:?}: {:?}", engine, statement, answers);
        }
    }
}

#[test]
fn a_nul_byte_hides_no_key_from_the_bundled_engine() {
    let keys = Keys::Integers((1..=40).map(|key| (key, key)).collect());
    let [dispatch, tree, flat] = [RuleLayout::Dispatch, RuleLayout::Tree, RuleLayout::Flat].map(|layout| {
        let project = project(&keys, layout, MissingAction::Allow);
        let compiled = compile(&project, EngineId::Bundled, &Lock::default(), &Options::default());
        Decider::new(&compiled)
    });
    for (statement, expected) in [
        ("INSERT INTO t VALUES (_binary'a\0b') /* tenant=2 */", "c1 writer"),
        ("/*\0*/ /* tenant=1 */ SET a=1", "c0 writer"),
        ("/* tenant=3 \0 */ DELETE FROM t", "c2 writer"),
        (
            "/* tenant=3 */ DELETE FROM t WHERE a='\0' /* tenant=4 */",
            "SW353",
        ),
        ("DELETE FROM t WHERE a='\0'", "home writer"),
    ] {
        assert_eq!(dispatch.short("app", None, statement), expected, "{statement:?}");
        for laid_out in [&tree, &flat] {
            let found = laid_out.short("app", None, statement);
            assert!(
                found == expected || found.starts_with("SW35"),
                "{statement:?}: {found}"
            );
        }
    }
}

#[test]
fn an_empty_map_refuses_every_key() {
    for layout in LAYOUTS {
        let decider = decider(&Keys::Integers(Vec::new()), layout);
        assert_eq!(
            decider.short("app", None, "/* tenant=1 */ SELECT 1 FROM t"),
            "SW352",
            "{layout:?}"
        );
    }
}
