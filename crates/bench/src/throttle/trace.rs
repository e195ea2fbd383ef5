//! What there is at each moment of a turn.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use serde::Serialize;

use super::START_S;
use super::beats::Beats;
use super::servers::REPLICAS;
use crate::BenchError;
use crate::statistics::Summary;

/// Everything: another program may know fewer columns.
const THROTTLE: &str = "SELECT * FROM stats_shardwright_throttles";

/// A moment of a turn.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Moment {
    at_s: f64,
    /// How far replicas are behind.
    lag_s: [f64; REPLICAS],
    /// What the proxy knows, ms.
    reading_ms: Option<f64>,
    outlook_ms: Option<f64>,
    delay_ms: f64,
    is_started: bool,
    starts: u64,
    /// Acknowledged so far.
    statements: u64,
    /// Rows that replicas have.
    applied: [u64; REPLICAS],
}

/// The moments of a turn.
pub(super) struct Trace {
    began: Instant,
    admin: Conn,
    moments: Vec<Moment>,
}

/// What a turn has come to.
pub(super) struct Figures {
    pub(super) above: f64,
    pub(super) median_lag_s: f64,
    pub(super) greatest_lag_s: f64,
    pub(super) statements_per_s: f64,
    pub(super) settled_statements_per_s: f64,
    pub(super) starts: u64,
}

impl Trace {
    pub(super) fn new(admin: Conn) -> Self {
        Self {
            began: Instant::now(),
            admin,
            moments: Vec::new(),
        }
    }

    /// Takes up a moment.
    pub(super) fn take(&mut self, beats: &Beats, statements: u64) -> Result<(), BenchError> {
        let (at_s, lag_s) = (self.began.elapsed().as_secs_f64(), beats.lags_s());
        let row: Option<Row> = self.admin.query_first(THROTTLE)?;
        let number = |column: &str| row.as_ref()?.get::<Option<f64>, _>(column)?;
        self.moments.push(Moment {
            at_s,
            lag_s,
            reading_ms: number("reading"),
            outlook_ms: number("outlook"),
            delay_ms: number("delay_ms").unwrap_or_default(),
            is_started: number("started").is_some_and(|started| started > 0.0),
            starts: number("starts").map_or(0, |starts| starts as u64),
            statements,
            applied: beats.applied(),
        });
        Ok(())
    }

    /// What the moments come to; lag is judged after `settles`.
    pub(super) fn figures(&self, settles: Duration, duration: Duration) -> Figures {
        let settled = self
            .moments
            .iter()
            .filter(|moment| moment.at_s >= settles.as_secs_f64());
        let lags: Vec<f64> = settled.clone().map(Moment::worst_lag_s).collect();
        let above = lags.iter().filter(|lag| **lag > START_S).count() as f64 / lags.len() as f64;
        let summary = Summary::of(lags);
        let last = self.moments.last();
        let [first_settled, statements] =
            [settled.clone().next(), last].map(|moment| moment.map_or(0, |moment| moment.statements));
        let settled_s = duration.saturating_sub(settles).as_secs_f64();
        Figures {
            above,
            median_lag_s: summary.map_or(f64::NAN, |summary| summary.median),
            greatest_lag_s: summary.map_or(f64::NAN, |summary| summary.max),
            statements_per_s: statements as f64 / duration.as_secs_f64(),
            settled_statements_per_s: (statements - first_settled) as f64 / settled_s,
            starts: last.map_or(0, |moment| moment.starts),
        }
    }

    /// The first moment of each second.
    pub(super) fn each_second(&self) -> Vec<Moment> {
        let mut next_s = 0.0;
        let mut kept = Vec::new();
        for moment in &self.moments {
            if moment.at_s >= next_s {
                kept.push(moment.clone());
                next_s = moment.at_s.floor() + 1.0;
            }
        }
        kept
    }

    /// Writes every moment as a line of a table.
    pub(super) fn save(&self, directory: &Path, name: &str) -> Result<(), BenchError> {
        let mut text = String::from(
            "at_s,lag1_s,lag2_s,reading_ms,outlook_ms,delay_ms,started,statements,applied1,applied2\n",
        );
        for moment in &self.moments {
            let [lag1, lag2] = moment.lag_s;
            let [applied1, applied2] = moment.applied;
            let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
            let _written = writeln!(
                text,
                "{:.2},{lag1:.2},{lag2:.2},{},{},{:.2},{},{},{applied1},{applied2}",
                moment.at_s,
                number(moment.reading_ms),
                number(moment.outlook_ms),
                moment.delay_ms,
                u8::from(moment.is_started),
                moment.statements
            );
        }
        std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(directory.join(name), text))
            .map_err(BenchError::io(format!(
                "writing a trace to {}",
                directory.display()
            )))
    }
}

impl Moment {
    fn worst_lag_s(&self) -> f64 {
        self.lag_s.into_iter().fold(0.0, f64::max)
    }
}
