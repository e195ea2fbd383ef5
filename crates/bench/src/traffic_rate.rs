//! How many statements of a log are compared in a second on one core, and how many one table decides.

mod setup;

use std::hint::black_box;
use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_routing::RoutingTable;
use shardwright_rules::{Body, Configuration, EngineId, SessionView, Statement};
use shardwright_simulation::traffic::{Assumed, Comparison, read};

use crate::cpu_time::{own_cpu_time, thread_cpu_time};
use crate::{BenchError, Report, Summary, Table};
use setup::Setup;

/// The numbers of shards that are measured.
const SHARDS: [u32; 2] = [200, 10_000];
/// Repeats.
const REPEATS: usize = 5;
/// Statements of a log that are measured.
const STATEMENTS: u32 = 200_000;
/// Those before them: what is only made for a table that is asked often is made while they are decided.
const FIRST: u32 = 2_000;

/// Compares each configuration with one that has another hostgroup in a rule, and with one that has a rule less, where
/// every statement is decided twice. One decision is measured as `test` and as
/// `route` make it. Only cases whose row holds `only`.
///
/// # Errors
/// When a log cannot be read, which is a defect.
pub fn run(only: &str, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let columns = [
        "log, engine, shards",
        "diff/s",
        "a rule less",
        "start-up, ms",
        "test/s",
        "route/s",
        "undecided %",
    ];
    let mut table = Table::new(columns);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for (setup, is_long, engine, shards) in cases() {
        let text = if is_long { ", 150 bytes" } else { "" };
        let name = format!("{}{text}", setup.name());
        let row = format!("{name}, {engine}, {shards}");
        if !row.contains(only) {
            continue;
        }
        progress(&format!("traffic: {row} shards"));
        let measured = Measured::of(setup, is_long, engine, shards)?;
        let middle = |figures: &[f64]| Summary::of(figures.iter().copied()).map(|summary| summary.median);
        let shown =
            |figures: &[f64]| middle(figures).map_or_else(String::new, |figure| format!("{figure:.0}"));
        table.row([
            row,
            shown(&measured.diff),
            shown(&measured.other_diff),
            shown(&measured.start_up_ms),
            shown(&measured.test),
            shown(&measured.route),
            format!("{:.1}", measured.undecided_percent),
        ]);
        let figures = |of: &dyn Fn(&[f64]) -> Value| {
            json!({"log": name, "engine": engine, "shards": shards, "statements_per_s": of(&measured.diff),
                "rule_less_statements_per_s": of(&measured.other_diff),
                "start_up_ms": of(&measured.start_up_ms), "test_decisions_per_s": of(&measured.test),
                "route_decisions_per_s": of(&measured.route)})
        };
        samples.push(figures(&|all| json!(all)));
        summary.push(figures(&|all| json!(middle(all))));
    }
    Ok(Report {
        name: "traffic",
        title: "statements of a log that `traffic diff` compares in a second of processor time, two decisions each; \
            decisions of `test` and of `route`"
            .to_owned(),
        parameters: json!({"repeats": REPEATS, "statements": STATEMENTS}),
        tables: vec![table],
        samples,
        summary: json!(summary),
    })
}

/// Every log on every engine; what only ProxySQL's patterns make dear, on one of its profiles.
fn cases() -> impl Iterator<Item = (Setup, bool, EngineId, u32)> {
    let lengths = |setup| match setup {
        Setup::Digests => vec![false],
        Setup::Comment | Setup::Split | Setup::Both => vec![false, true],
    };
    Setup::ALL.into_iter().flat_map(move |setup| {
        lengths(setup).into_iter().flat_map(move |is_long| {
            let is_usual = matches!(setup, Setup::Comment | Setup::Digests) && !is_long;
            let engines = EngineId::ALL.into_iter();
            engines
                .filter(move |&engine| is_usual || engine == EngineId::Proxysql27)
                .flat_map(move |engine| SHARDS.map(|shards| (setup, is_long, engine, shards)))
        })
    })
}

#[derive(Default)]
struct Measured {
    diff: Vec<f64>,
    /// The same where rules stand at other positions.
    other_diff: Vec<f64>,
    /// What it takes to prepare both sides and to decide the first statements.
    start_up_ms: Vec<f64>,
    test: Vec<f64>,
    route: Vec<f64>,
    undecided_percent: f64,
}

impl Measured {
    fn of(setup: Setup, is_long: bool, engine: EngineId, shards: u32) -> Result<Self, BenchError> {
        let configuration = setup.configuration(shards, engine);
        let [moved, shorter] = changed(&configuration);
        let first = setup.log(0..FIRST, shards, is_long);
        let log = setup.log(FIRST..FIRST + STATEMENTS, shards, is_long);
        let mut measured = Self::default();
        for _ in 0..REPEATS {
            let start = own_cpu_time();
            let mut comparison = comparison(&configuration, &moved);
            add(&mut comparison, setup, &first)?;
            let start_up = own_cpu_time() - start;
            measured.start_up_ms.push(start_up.as_secs_f64() * 1e3);
            let prepared = thread_cpu_time();
            add(&mut comparison, setup, &log)?;
            measured.diff.push(rate_since(prepared));
            let mut other = self::comparison(&configuration, &shorter);
            add(&mut other, setup, &first)?;
            let prepared = thread_cpu_time();
            add(&mut other, setup, &log)?;
            measured.other_diff.push(rate_since(prepared));
            let moves = comparison.into_moves();
            measured.undecided_percent =
                moves.undecided_statements() as f64 * 100.0 / moves.statements.max(1) as f64;
        }
        if setup == Setup::Digests {
            return Ok(measured);
        }
        let statements: Vec<_> = (0..STATEMENTS)
            .map(|n| setup.statement(n, shards, is_long))
            .collect();
        let table = RoutingTable::new(configuration);
        for _ in 0..REPEATS {
            measured.test.push(rate(&statements, |session, statement| {
                table.decide(session, statement)
            }));
            measured.route.push(rate(&statements, |session, statement| {
                table.explain(session, statement)
            }));
        }
        Ok(measured)
    }
}

/// Statements in a second of this thread's processor time.
fn rate_since(start: std::time::Duration) -> f64 {
    f64::from(STATEMENTS) / (thread_cpu_time() - start).as_secs_f64()
}

fn rate<D>(
    statements: &[(String, String)],
    mut decide: impl FnMut(&SessionView<'_>, &Statement<'_>) -> D,
) -> f64 {
    let start = thread_cpu_time();
    for (text, schema) in statements {
        let session = SessionView {
            user: "app",
            schema: Some(schema),
            ..SessionView::default()
        };
        black_box(decide(
            &session,
            &Statement::new(text.as_bytes(), Default::default()),
        ));
    }
    rate_since(start)
}

/// The configuration with another hostgroup in one rule, and without its last rule.
fn changed(configuration: &Configuration) -> [Arc<Configuration>; 2] {
    let (mut moved, mut shorter) = (configuration.clone(), configuration.clone());
    let rules = moved.graph.rules.iter_mut();
    let hostgroup = rules.rev().find_map(|rule| match &mut rule.body {
        Body::Engine(row) => row.destination_hostgroup.as_mut(),
        Body::Native { .. } => None,
    });
    if let Some(hostgroup) = hostgroup {
        *hostgroup += 1;
    }
    shorter.graph.rules.pop();
    [moved, shorter].map(Arc::new)
}

fn comparison(left: &Arc<Configuration>, right: &Arc<Configuration>) -> Comparison {
    let assumed = Assumed {
        user: Some("app".to_owned()),
        schema: Some("app".to_owned()),
        ..Assumed::default()
    };
    Comparison::new(Arc::clone(left), Arc::clone(right), assumed)
}

fn add(comparison: &mut Comparison, setup: Setup, log: &[u8]) -> Result<(), BenchError> {
    let read = read(log, setup.format(), |record| comparison.add(record));
    read.map(drop).map_err(|error| BenchError::Output {
        what: "the log cannot be read".to_owned(),
        output: error.to_string(),
    })
}
