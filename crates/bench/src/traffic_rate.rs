//! How many statements of a log are compared in a second, on one core.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use shardwright_rules::{Configuration, EngineId};
use shardwright_simulation::traffic::{Assumed, Comparison, Format, Moves, read};

use crate::shards::compiled;
use crate::{BenchError, Report, Summary, Table};

/// The numbers of shards that are measured.
const SHARDS: [u32; 2] = [200, 10_000];
/// Repeats.
const REPEATS: usize = 5;
/// Statements of a log.
const STATEMENTS: u32 = 200_000;

/// Compares each configuration with itself: every statement is decided twice.
pub fn run(mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut table = Table::new(["log, engine, shards", "statements/s", "undecided %"]);
    let (mut samples, mut summary) = (Vec::new(), Vec::new());
    for (name, format) in [("statements", Format::Queries), ("digests", Format::Digests)] {
        for engine in EngineId::ALL {
            for shards in SHARDS {
                progress(&format!("traffic: {name}, {engine}, {shards} shards"));
                let configuration = compiled(shards, engine).configuration;
                let log = log(format, shards);
                let mut rates = Vec::new();
                let mut moves = Moves::default();
                for _ in 0..REPEATS {
                    let start = Instant::now();
                    moves = compare(&configuration, format, &log)?;
                    rates.push(f64::from(STATEMENTS) / start.elapsed().as_secs_f64());
                }
                let rate = Summary::of(rates.iter().copied()).map_or(0.0, |summary| summary.median);
                let undecided = moves.undecided_statements() as f64 * 100.0 / moves.statements.max(1) as f64;
                table.row([
                    format!("{name}, {engine}, {shards}"),
                    format!("{rate:.0}"),
                    format!("{undecided:.1}"),
                ]);
                samples.push(
                    json!({"log": name, "engine": engine, "shards": shards, "statements_per_s": rates}),
                );
                summary
                    .push(json!({"log": name, "engine": engine, "shards": shards, "statements_per_s": rate}));
            }
        }
    }
    Ok(Report {
        name: "traffic",
        title: "statements of a log that `traffic diff` compares in a second on one core, two decisions each"
            .to_owned(),
        parameters: json!({"repeats": REPEATS, "statements": STATEMENTS}),
        table,
        samples,
        summary: json!(summary),
    })
}

fn compare(configuration: &Arc<Configuration>, format: Format, log: &[u8]) -> Result<Moves, BenchError> {
    let assumed = Assumed {
        user: Some("app".to_owned()),
        schema: Some("app".to_owned()),
    };
    let mut comparison = Comparison::new(Arc::clone(configuration), Arc::clone(configuration), assumed);
    read(log, format, |record| comparison.add(record)).map_err(|error| BenchError::Output {
        what: "the log cannot be read".to_owned(),
        output: error.to_string(),
    })?;
    Ok(comparison.into_moves())
}

/// Statements with keys spread over all shards; of digests, as many with a table each.
fn log(format: Format, shards: u32) -> Vec<u8> {
    let mut log = Vec::new();
    let key = |n: u32| (u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % u64::from(shards) + 1;
    let result = (|| {
        if format == Format::Digests {
            writeln!(log, "username,digest_text,count_star")?;
        }
        for n in 0..STATEMENTS {
            match format {
                Format::Digests => writeln!(log, "app,SELECT id FROM t{} WHERE id=?,1", n % 5_000)?,
                _ => writeln!(log, "/* tenant={} */ SELECT id FROM t WHERE id={n}", key(n))?,
            }
        }
        std::io::Result::Ok(())
    })();
    result.expect("writing to memory does not fail");
    log
}
