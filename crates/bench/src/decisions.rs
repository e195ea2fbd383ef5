//! How long the evaluator and the routing table take to decide one statement, by number of shards.

use std::hint::black_box;
use std::sync::Arc;

use serde_json::json;
use shardwright_routing::RoutingTable;
use shardwright_rules::{
    Configuration, Decision, Dispatch, EngineId, Evaluator, Outcome, SessionView, Statement,
};

use crate::cpu_time::thread_cpu_time;
use crate::resident::own_kib;
use crate::shards::compiled;
use crate::{Report, Summary, Table};

/// The numbers of shards that are measured.
const SHARDS: [u32; 6] = [10, 200, 1_000, 10_000, 100_000, 1_000_000];
/// The most of them for ProxySQL, whose rules the evaluator goes through one by one.
const MOST_RULES: u32 = 10_000;
/// Repeats; the evaluator and the table take turns.
const REPEATS: usize = 7;
/// Statements that one repeat decides, at most; the evaluator of many shards gets fewer.
const STATEMENTS: u32 = 200_000;

/// Measures both engines' configurations, of `most` shards at most.
///
/// # Panics
/// When a statement is not routed, which is a defect.
pub fn run(most: u32, mut progress: impl FnMut(&str)) -> Report {
    let mut table = Table::new([
        "engine, shards",
        "evaluator ns",
        "routing table ns",
        "routing table MiB",
        "evaluations",
    ]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for engine in EngineId::ALL {
        let is_list = engine != EngineId::Bundled;
        for shards in SHARDS
            .into_iter()
            .filter(|&shards| shards <= if is_list { most.min(MOST_RULES) } else { most })
        {
            progress(&format!("decisions: {engine}, {shards} shards"));
            let configuration = compiled(shards, engine).configuration;
            let measured = measure(&configuration, shards);
            let middle =
                |figures: &[f64]| Summary::of(figures.iter().copied()).map_or(0.0, |summary| summary.median);
            let (evaluator, routed) = (middle(&measured.evaluator_ns), middle(&measured.table_ns));
            table.row([
                format!("{engine}, {shards}"),
                format!("{evaluator:.0}"),
                format!("{routed:.0}"),
                format!("{:.1}", measured.table_kib as f64 / 1024.0),
                format!("{:.2}", measured.mean_evaluations),
            ]);
            samples.push(
                json!({"engine": engine, "shards": shards, "evaluator_ns": measured.evaluator_ns,
                "routing_table_ns": measured.table_ns}),
            );
            summary.push(
                json!({"engine": engine, "shards": shards, "evaluator_ns": evaluator,
                "routing_table_ns": routed, "routing_table_kib": measured.table_kib,
                "mean_evaluations": measured.mean_evaluations}),
            );
        }
    }
    Report {
        name: "decisions",
        title: "time to decide `/* tenant=KEY */ SELECT id FROM t WHERE id=1`, random keys, lexing included"
            .to_owned(),
        parameters: json!({"repeats": REPEATS, "statements": STATEMENTS}),
        tables: vec![table],
        samples,
        summary: json!(summary),
    }
}

/// Nanoseconds for a decision of the bundled engine's routing table with so many shards, over the repeats.
pub(crate) fn bundled_ns(shards: u32) -> Option<Summary> {
    let table = RoutingTable::new(compiled(shards, EngineId::Bundled).configuration).prepared();
    let statements = statements(shards, STATEMENTS);
    Summary::of((0..REPEATS).map(|_| timed(&statements, |sql| dispatch(&table, sql))))
}

struct Measured {
    evaluator_ns: Vec<f64>,
    table_ns: Vec<f64>,
    /// What the resident set grew by while the table was built, without the configuration that it shares.
    table_kib: u64,
    mean_evaluations: f64,
}

fn measure(configuration: &Arc<Configuration>, shards: u32) -> Measured {
    let evaluator = Evaluator::new(Arc::clone(configuration));
    let before = own_kib();
    let table = RoutingTable::new(Arc::clone(configuration)).prepared();
    let table_kib = own_kib().saturating_sub(before);
    let few = (20_000 / shards).clamp(200, 20_000);
    let slow = statements(shards, few);
    let fast = statements(shards, STATEMENTS);
    let evaluations: u32 = slow.iter().map(|sql| decide(&evaluator, sql).evaluations).sum();
    let mut measured = Measured {
        evaluator_ns: Vec::new(),
        table_ns: Vec::new(),
        table_kib,
        mean_evaluations: f64::from(evaluations) / f64::from(few),
    };
    for _ in 0..REPEATS {
        measured
            .evaluator_ns
            .push(timed(&slow, |sql| decide(&evaluator, sql)));
        measured.table_ns.push(timed(&fast, |sql| dispatch(&table, sql)));
    }
    measured
}

fn session() -> SessionView<'static> {
    SessionView {
        user: "app",
        user_position: Some(0),
        schema: Some("app"),
        ..SessionView::default()
    }
}

fn decide(evaluator: &Evaluator, sql: &[u8]) -> Decision {
    let decision = evaluator.decide(&session(), &Statement::new(sql, Default::default()));
    assert!(
        matches!(decision.outcome, Outcome::Route(_)),
        "{:?}",
        decision.outcome
    );
    decision
}

/// What a proxy asks of every statement.
fn dispatch(table: &RoutingTable, sql: &[u8]) -> Dispatch {
    table.dispatch(&session(), &Statement::new(sql, Default::default()))
}

/// Statements with keys spread over all shards in no order that a cache could learn.
fn statements(shards: u32, count: u32) -> Vec<Vec<u8>> {
    let key = |n: u32| (u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % u64::from(shards) + 1;
    (0..count)
        .map(|n| format!("/* tenant={} */ SELECT id FROM t WHERE id=1", key(n)).into_bytes())
        .collect()
}

/// Nanoseconds on the processor for each statement, whatever else runs on the machine.
fn timed<D>(statements: &[Vec<u8>], mut decide: impl FnMut(&[u8]) -> D) -> f64 {
    let start = thread_cpu_time();
    for sql in statements {
        black_box(decide(black_box(sql)));
    }
    (thread_cpu_time() - start).as_secs_f64() * 1e9 / statements.len() as f64
}
