//! The bundled proxy beside its peers: every measure of one table in one run.
//!
//! A row starts its own server and proxies. They take turns in each round, so that what changes on the machine changes for all
//! of them, and differences and ratios are taken inside a round. What a row must reach is judged by the median over rounds.

mod checks;
mod clients;
mod connects;
mod crowds;
mod decide;
mod encrypted;
mod inserts;
mod memory;
mod overload;
mod pinned;
mod report;
mod results;
mod samples;
mod shards;
mod sockets;
mod stage;
mod swap;
mod targets;
pub(crate) mod threads;
pub(crate) mod tls;
mod turns;

use std::path::PathBuf;
use std::time::Duration;

use crate::failover::Programs;
use crate::{BenchError, Report};
use checks::Check;
use samples::Sample;
use stage::Stage;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The proxies.
    pub programs: Programs,
    /// Another build of the bundled proxy, which has its turn where proxies have no rules.
    pub other: Option<PathBuf>,
    /// The passthrough.
    pub passthrough: PathBuf,
    /// The rows, by name; none: all.
    pub only: Vec<String>,
    /// How often each target has its turn.
    pub rounds: u32,
    /// How long a turn is.
    pub duration: Duration,
    /// The core of rows that are pinned to one.
    pub core: u32,
}

/// A measure, with all that it is measured on.
struct Row {
    name: &'static str,
    /// What is measured, in one line.
    about: &'static str,
    /// What figures are for: a statement, a connection, a result.
    unit: &'static str,
    measure: fn(&Stage<'_>) -> Result<Outcome, BenchError>,
}

/// What a row has come to.
struct Outcome {
    samples: Vec<Sample>,
    checks: Vec<Check>,
}

const ROWS: &[Row] = &[
    pinned::TEXT,
    pinned::PREPARED,
    pinned::GROWTH,
    clients::SIXTEEN,
    clients::SIXTY_FOUR,
    encrypted::CLIENTS_16,
    shards::THOUSAND,
    clients::SHARED,
    connects::PLAIN,
    connects::TLS,
    encrypted::BOTH,
    results::LARGE,
    results::LONG,
    inserts::BULK,
    memory::IDLE,
    sockets::CELLS,
    crowds::IDLE,
    crowds::BURST,
    overload::OVERLOAD,
    swap::SWAP,
    decide::DECISIONS,
];

/// The names of all rows, in their order.
pub fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name)
}

/// Figures, and the rows that could not be measured.
#[derive(Debug)]
pub struct Measured {
    /// All that could be measured.
    pub report: Report,
    /// Names and reasons of the rest.
    pub failed: Vec<String>,
}

/// Measures; `progress` hears of each turn. A row that fails does not end the others.
#[must_use]
pub fn run(plan: &Plan, progress: impl Fn(&str)) -> Measured {
    let chosen = |row: &&Row| plan.only.is_empty() || plan.only.iter().any(|name| name == row.name);
    let (mut measured, mut failed) = (Vec::new(), Vec::new());
    for row in ROWS.iter().filter(chosen) {
        progress(&format!("{}: {}", row.name, row.about));
        let stage = Stage {
            plan,
            row: row.name,
            progress: &progress,
        };
        match (row.measure)(&stage) {
            Ok(outcome) => {
                for check in &outcome.checks {
                    progress(&check.line());
                }
                measured.push((row, outcome));
            }
            Err(error) => {
                let reason = format!("{}: {error}", row.name);
                progress(&reason);
                failed.push(reason);
            }
        }
    }
    Measured {
        report: report::report(plan, &measured, &failed),
        failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own() {
        let mut sorted: Vec<&str> = names().collect();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), ROWS.len());
    }
}
