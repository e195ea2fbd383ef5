//! Keys that are hard to spell in a pattern, and numbers at the ends of their range: placed right, or a diagnostic at the
//! line; never a wrong pattern.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use shardwright_compiler::{Compiled, Lock, Options, compile};
use shardwright_diagnostics::Severity;
use shardwright_rules::{EngineId, EngineSettings, RegexEngine};
use shardwright_topology::model::*;

use crate::support::*;

/// Every engine, layout and library that keys of a comment can be searched with; the first reads statements by the lexer.
fn ways() -> Vec<(EngineId, RuleLayout, EngineSettings)> {
    let settings = |regex, iterations| EngineSettings {
        query_processor_iterations: iterations,
        regex,
    };
    let mut ways = vec![(
        EngineId::Bundled,
        RuleLayout::Dispatch,
        settings(RegexEngine::Pcre, 0),
    )];
    for engine in EngineId::ALL {
        for layout in [RuleLayout::Tree, RuleLayout::Flat] {
            for regex in [RegexEngine::Pcre, RegexEngine::Re2] {
                ways.push((engine, layout, settings(regex, 0)));
            }
        }
    }
    ways.push((
        EngineId::Proxysql27,
        RuleLayout::Tree,
        settings(RegexEngine::Pcre, 3),
    ));
    ways
}

/// A cluster for each of these keys.
fn project(keys: &[String], layout: RuleLayout) -> Project {
    let mut build = Build::new();
    let home = build.cluster("home", 1);
    build.user("app", home, None);
    let clusters: Vec<ClusterId> = (0..keys.len())
        .map(|at| build.cluster(&format!("c{at}"), 1))
        .collect();
    let map = build.map("m", &["app"], KeyKind::Text, "tenant", vec![comment("tenant")]);
    map.rule_layout = layout;
    let lines = keys.iter().zip(clusters).enumerate();
    let shard = |(at, (key, cluster)): (usize, (&String, ClusterId))| {
        (format!("s{at}"), texts([key.as_str()]), Some(cluster), None)
    };
    build.shards(lines.map(shard).collect());
    build.finish()
}

fn compiled_so(
    keys: &[String],
    (engine, layout, settings): (EngineId, RuleLayout, EngineSettings),
) -> Compiled {
    let options = Options {
        settings: Some(settings),
        ..Options::default()
    };
    compile(&project(keys, layout), engine, &Lock::default(), &options)
}

/// A key, what is one character away from it, and each in the forms that a comment may have.
fn statements(keys: &[String]) -> Vec<String> {
    let mut values: BTreeSet<String> = BTreeSet::new();
    for key in keys {
        values.insert(key.clone());
        values.extend(
            ["x", "0", "\\", "'", ".", " "]
                .iter()
                .flat_map(|end| [format!("{key}{end}"), format!("{end}{key}")]),
        );
        let characters: Vec<char> = key.chars().collect();
        for at in 0..characters.len().min(6) {
            for other in [None, Some('x'), Some('.'), Some('\\')] {
                let mut changed = characters.clone();
                match other {
                    None => drop(changed.remove(at)),
                    Some(other) => changed[at] = other,
                }
                values.insert(changed.into_iter().collect());
            }
        }
        values.extend([key.to_uppercase(), key.to_lowercase()]);
    }
    let forms = |value: String| {
        let body = "SELECT 1 FROM t";
        [
            format!("/* tenant={value} */ {body}"),
            format!("/* tenant='{value}' */ {body}"),
            format!("/* tenant=\"{value}\" */ {body}"),
        ]
    };
    values.into_iter().flat_map(forms).collect()
}

/// Every way refuses what the lexer refuses, and places where it places, or refuses.
fn check(keys: &[String]) {
    let mut reference: Option<Decider> = None;
    let statements = statements(keys);
    for way in ways() {
        let compiled = compiled_so(keys, way);
        let errors = problems(&compiled, Severity::Error);
        let Some(reference) = &reference else {
            assert_eq!(errors, Vec::<String>::new(), "{way:?}: {keys:?}");
            reference = Some(Decider::new(&compiled));
            continue;
        };
        // A key that no pattern can read is told by itself.
        for error in &errors {
            let named = keys.iter().any(|key| error.contains(&format!("`{key}`")));
            assert!(error.starts_with("SW320") && named, "{way:?}: {error}");
        }
        if !errors.is_empty() {
            continue;
        }
        let decider = Decider::new(&compiled);
        for statement in &statements {
            let (right, found) = (
                reference.short("app", None, statement),
                decider.short("app", None, statement),
            );
            assert!(
                found == right || found.starts_with("SW35"),
                "{way:?}: {keys:?}: {statement:?}: {found}, by the lexer {right}"
            );
        }
    }
}

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ab01]",
        3 => prop::sample::select(vec![
            ".", "*", "+", "?", "(", ")", "[", "]", "{2}", "|", "^", "$", "-", "#", "&", "~", "\\", "\\d", "\\E", "\\Q",
            "'", "\"", "`", "\n", "\r", "\t", " ", "  ", ",", ";", "=", "%", "%41", "/", "*/", "/*", "--", "@", ":", "\0",
            "(?i)", "a|b", "é", "É", "ß", "İ", "\u{212a}", "日本", "\u{1F600}",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(if cfg!(debug_assertions) { 12 } else { 2_000 })
    })]

    #[test]
    fn texts_go_where_the_lexer_says_or_are_refused(keys in prop::collection::btree_set(hostile_text(), 1..9)) {
        check(&keys.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn keys_that_once_were_hard() {
    let keys = |list: &[&str]| list.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    for list in [
        &["a.b", "a+b", "a*b", "axb", "(x)", "[y]", "^", "$", "a|b", "{2}"][..],
        &["a'b", "ab"],
        &["a\"b", "ab"],
        &["a\\b", "a\\\\b", "\\d", "d"],
        &["a\nb", "a b", "ab"],
        &["a*/b", "a/*b"],
        &["\\Qa\\E", "a"],
        &["007", "07", "7"],
    ] {
        check(&keys(list));
    }
    let long = |character: &str| character.repeat(64);
    check(&[long("日"), long("é"), long("\u{1F600}"), long("a")]);
}

/// What loading says, as `line: CODE: message`.
fn told(shards: &str) -> Vec<String> {
    let topology = yaml(shards);
    let loaded = read(&topology, None);
    let line = |problem: &shardwright_diagnostics::Diagnostic| {
        let span = problem.primary.as_ref().map(|label| label.span);
        span.map_or(0, |span| {
            1 + topology[..span.start as usize].matches('\n').count()
        })
    };
    loaded
        .problems
        .sorted()
        .iter()
        .map(|problem| format!("{}: {}: {}", line(problem), problem.code, problem.message))
        .collect()
}

fn yaml(shards: &str) -> String {
    format!(
        "version: 1\nclusters:\n  home: {{type: single, servers: {{a: {{host: home.db}}}}}}\n  \
         c$(n): {{for_each: {{n: 0..3}}, type: single, servers: {{a: {{host: \"c$(n).db\"}}}}}}\n\
         users:\n  app: {{password: {{env: P}}, cluster: home}}\n\
         shard_maps:\n  m:\n    key: {{name: tenant, type: integer}}\n    key_from: [comment: {{}}]\n    shards:\n{shards}"
    )
}

#[test]
fn numbers_at_the_ends_of_64_bits_are_placed_right() {
    let shards = "      low: {keys: [\"-9223372036854775808..-1\"], cluster: c0}\n      \
                  zero: {keys: [0], cluster: c1}\n      \
                  high: {keys: [\"1..9223372036854775806\"], cluster: c2}\n      \
                  last: {keys: [9223372036854775807], cluster: c3}\n";
    let project = loaded(&yaml(shards));
    let maps: Vec<ShardMap> = project.topology.shard_maps.iter().cloned().collect();
    for (engine, layout, settings) in ways() {
        let mut project = project.clone();
        let mut maps = maps.clone();
        maps[0].rule_layout = layout;
        project.topology.shard_maps = Table::new(maps);
        let options = Options {
            settings: Some(settings),
            ..Options::default()
        };
        let compiled = compile(&project, engine, &Lock::default(), &options);
        assert_eq!(problems(&compiled, Severity::Error), Vec::<String>::new());
        let decider = Decider::new(&compiled);
        for (key, expected) in [
            ("-9223372036854775808", "c0 writer"),
            ("-9223372036854775807", "c0 writer"),
            ("-10", "c0 writer"),
            ("-1", "c0 writer"),
            ("0", "c1 writer"),
            ("1", "c2 writer"),
            ("4611686018427387904", "c2 writer"),
            ("9223372036854775806", "c2 writer"),
            ("9223372036854775807", "c3 writer"),
            ("9223372036854775808", "SW352"),
            ("-9223372036854775809", "SW352"),
            ("18446744073709551615", "SW352"),
            ("99999999999999999999999999", "SW352"),
        ] {
            let statement = format!("/* tenant={key} */ SELECT 1 FROM t");
            let found = decider.short("app", None, &statement);
            assert!(
                found == expected || (expected == "SW352" && found.starts_with("SW35")),
                "{engine} {layout:?}: {statement}: {found}"
            );
        }
    }
}

#[test]
fn numbers_that_are_none_are_told_at_their_line() {
    insta::assert_snapshot!(
        told(
            "      a: {keys: [18446744073709551615], cluster: c0}\n      \
             b: {keys: [007], cluster: c1}\n      \
             c: {keys: [\"5..1\"], cluster: c2}\n      \
             d: {keys: [\"0..18446744073709551615\"], cluster: c3}\n      \
             e: {keys: [\"1\\n2\"], cluster: c3}\n"
        )
        .join("\n"),
        @r"
    12: SW116: keys are integers from -9223372036854775808 to 9223372036854775807, found `18446744073709551615`
    14: SW116: the range `5..1` is empty: it ends before it starts
    15: SW116: keys are integers from -9223372036854775808 to 9223372036854775807, found `0..18446744073709551615`
    16: SW116: expected an integer, or a range such as 1..200, found `1
    2`
    "
    );
}

#[test]
fn ten_thousand_overlapping_ranges_are_told_in_few_words() {
    let mut shards = String::new();
    for n in 0..10_000 {
        writeln!(
            shards,
            "      s{n}: {{keys: [\"{n}..{}\"], cluster: c0}}",
            n + 100_000
        )
        .expect("writing to a string cannot fail");
    }
    let told = told(&shards);
    assert!(told.len() <= 101, "{} diagnostics", told.len());
    insta::assert_snapshot!(told[..2].join("\n"), @r"
    13: SW301: the shards `s0` and `s1` both have the key `1..100000`
    14: SW301: the shards `s1` and `s2` both have the key `2..100001`
    ");
    insta::assert_snapshot!(told.last().expect("something is told"), @"10011: SW301: 9899 more keys or ranges also belong to an earlier shard");
}

#[test]
fn a_map_without_shards_is_told_at_its_line() {
    insta::assert_snapshot!(told("      {}\n").join("\n"), @"11: SW114: a shard map needs at least one shard");
}
