//! What comparisons cost that use up the default budget, and those of large rule sets.

use std::time::Instant;

use serde_json::{Value, json};
use shardwright_prover::equivalence::{Equivalence, Means, equivalence_by};
use shardwright_rules::{Address, Body, Configuration, EngineId, EngineRule, Modifiers, Rule};

use crate::cpu_time::own_cpu_time;
use crate::resident::{forget_own_peak, own_peak_kib};
use crate::shards::compiled;
use crate::{BenchError, Report, Summary, Table};

const REPEATS: usize = 3;
const SHARDS: u32 = 10_000;
const HAND_WRITTEN: usize = 20_000;

/// Two rule sets, and what they show.
struct Case {
    what: String,
    pair: [Configuration; 2],
}

impl Case {
    fn of(what: impl Into<String>, left: Configuration, right: Configuration) -> Self {
        Self {
            what: what.into(),
            pair: [left, right],
        }
    }
}

/// Measures inside this process. Only cases whose name holds `only`.
///
/// # Errors
/// When memory cannot be measured.
pub fn run(only: &str, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut table = Table::new([
        "what",
        "rules",
        "median ms",
        "processor ms",
        "peak MiB",
        "steps",
        "answer",
    ]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for case in cases() {
        let Case { what, pair } = case();
        if !what.contains(only) {
            continue;
        }
        progress(&format!("prove: {what}"));
        let [left, right] = &pair;
        let (mut times, mut processor, mut peak) = (Vec::new(), Vec::new(), 0);
        let mut answer = (String::new(), 0);
        for _ in 0..REPEATS {
            forget_own_peak().map_err(BenchError::io("measuring memory"))?;
            let (start, before) = (Instant::now(), own_cpu_time());
            let (answered, spent) = equivalence_by(left, right, &Means::default());
            times.push(start.elapsed().as_secs_f64() * 1e3);
            processor.push((own_cpu_time() - before).as_secs_f64() * 1e3);
            peak = own_peak_kib().max(peak);
            answer = (shown(&answered), spent.steps);
        }
        let middle = |times: &[f64]| Summary::of(times.iter().copied()).expect("there are repeats");
        let (wall, own) = (middle(&times), middle(&processor));
        let (rules, mib) = (left.graph.rules.len(), peak as f64 / 1024.0);
        let (answer, steps) = answer;
        table.row([
            what.clone(),
            rules.to_string(),
            format!("{:.0}", wall.median),
            format!("{:.0}", own.median),
            format!("{mib:.0}"),
            steps.to_string(),
            answer.clone(),
        ]);
        samples.push(json!({"what": what, "rules": rules, "ms": times, "processor_ms": processor}));
        summary.push(
            json!({"what": what, "rules": rules, "ms": wall, "processor_ms": own, "peak_mib": mib,
            "steps": steps, "answer": answer}),
        );
    }
    Ok(Report {
        name: "prove",
        title: "Comparisons with the default budget, inside one process".to_owned(),
        parameters: json!({"repeats": REPEATS}),
        tables: vec![table],
        samples,
        summary: Value::Array(summary),
    })
}

fn shown(answer: &Equivalence) -> String {
    match answer {
        Equivalence::Proved => "proved".to_owned(),
        Equivalence::Refuted { differences, .. } => {
            let shortest = String::from_utf8_lossy(&differences[0].statement).into_owned();
            format!("`{shortest}`")
        }
        Equivalence::Undecided { .. } => "undecided".to_owned(),
    }
}

type MakeCase = Box<dyn Fn() -> Case>;

/// Each is made when its turn comes: the memory of the others is not in its figures.
fn cases() -> Vec<MakeCase> {
    let mut cases: Vec<MakeCase> = vec![
        Box::new(|| {
            let [left, right] = moved();
            Case::of(format!("{SHARDS} shards, one moved"), left, right)
        }),
        Box::new(|| {
            Case::of(
                "written by hand, one hostgroup changed",
                hand_written(None),
                hand_written(Some(HAND_WRITTEN / 2)),
            )
        }),
        Box::new(|| {
            Case::of(
                "a rewrite that doubles the text, 60 restarts",
                doubling(20),
                doubling(30),
            )
        }),
        Box::new(|| Case::of("a million restarts", around(true, 20), around(false, 20))),
    ];
    for (flags, restarts) in [(12, 0), (20, 0), (12, 1), (20, 1), (12, 12), (20, 1_000_000)] {
        for has_dead in [false, true] {
            cases.push(Box::new(move || {
                let right = if has_dead {
                    connected(flags, restarts, 20, true)
                } else {
                    connected(flags, restarts, 30, false)
                };
                let change = if has_dead {
                    "a dead rule more"
                } else {
                    "one hostgroup changed"
                };
                Case::of(
                    format!("{flags} connected chains, {restarts} restarts, {change}"),
                    connected(flags, restarts, 20, false),
                    right,
                )
            }));
        }
    }
    cases
}

fn set(iterations: u32, rules: impl IntoIterator<Item = (u32, EngineRule)>) -> Configuration {
    let mut configuration = compiled(2, EngineId::Proxysql27).configuration.as_ref().clone();
    configuration.settings.query_processor_iterations = iterations;
    let rules = rules
        .into_iter()
        .enumerate()
        .map(|(position, (flag_in, row))| Rule {
            id: u32::try_from(position + 1).expect("a list has fewer than 2^32 rules"),
            address: Address::new("query_rules.list"),
            shards: Vec::new(),
            summary: None,
            flag_in,
            body: Body::Engine(Box::new(row)),
        });
    configuration.graph.rules = rules.collect();
    configuration
}

fn jump(pattern: String, flag: u32) -> EngineRule {
    EngineRule {
        match_digest: Some(pattern),
        flag_out: Some(flag),
        ..EngineRule::default()
    }
}

fn last(pattern: &str, hostgroup: u32) -> EngineRule {
    EngineRule {
        match_digest: Some(pattern.to_owned()),
        destination_hostgroup: Some(hostgroup),
        apply: true,
        ..EngineRule::default()
    }
}

/// Every chain leads to every other one; a dead rule asks for what the rule before it has taken.
fn connected(flags: u32, iterations: u32, hostgroup: u32, has_dead: bool) -> Configuration {
    let pairs = (0..flags).flat_map(|from| (0..flags).map(move |to| (from, to)));
    let jumps = pairs
        .filter(|(from, to)| from != to)
        .map(|(from, to)| (from, jump(format!("w{from}_{to}\\b"), to)));
    let mut rules: Vec<_> = jumps.collect();
    rules.push((flags - 1, last("^SELECT", hostgroup)));
    if has_dead {
        rules.push((flags - 1, last("^SELECT x", hostgroup + 10)));
    }
    set(iterations, rules)
}

fn doubling(hostgroup: u32) -> Configuration {
    let twice = EngineRule {
        match_pattern: Some("x".to_owned()),
        replace_pattern: Some("xx".to_owned()),
        re_modifiers: Modifiers {
            caseless: true,
            global: true,
        },
        flag_out: Some(0),
        ..EngineRule::default()
    };
    set(60, [(0, twice), (0, last("^SELECT", hostgroup))])
}

fn around(turns: bool, hostgroup: u32) -> Configuration {
    let turn = turns.then(|| (0, jump("^SELECT".to_owned(), 0)));
    set(
        1_000_000,
        turn.into_iter().chain([(0, last("^UPDATE", hostgroup))]),
    )
}

/// Rules as somebody writes them one after the other; one of them may be changed.
fn hand_written(changed: Option<usize>) -> Configuration {
    let words = ["orders", "users", "items", "carts", "events", "clicks", "stock"];
    let rule = |at: usize| {
        let table = format!("{}{at}", words[at % words.len()]);
        let mut row = EngineRule {
            destination_hostgroup: Some(if Some(at) == changed {
                30
            } else {
                20 + at as u32 % 2
            }),
            apply: true,
            ..EngineRule::default()
        };
        match at % 5 {
            0 => row.match_digest = Some(format!("^SELECT .* FROM {table}")),
            1 => row.match_digest = Some(format!("^UPDATE {table}")),
            2 => row.match_pattern = Some(format!(r"(?i)from\s+{table}\b")),
            3 => {
                row.username = Some("app".to_owned());
                row.match_digest = Some(format!("^SELECT.*JOIN {table}"));
            }
            _ => row.match_digest = Some(format!("^INSERT INTO {table} ")),
        }
        (0, row)
    };
    set(0, (0..HAND_WRITTEN).map(rule))
}

/// The compiled rules of many shards, and the same with one shard on another's hostgroup.
fn moved() -> [Configuration; 2] {
    let left = compiled(SHARDS, EngineId::Proxysql27)
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
