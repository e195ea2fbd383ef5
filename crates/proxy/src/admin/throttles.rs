//! `stats_shardwright_throttles`: what each throttle does on each cluster.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use shardwright_mysqlite::Value;
use shardwright_rules::throttle::Reading;

use super::rows::{Rows, int, text};
use crate::shared::Shared;
use crate::stats::WorkerFigures;
use crate::throttles::Gate;

/// The signal and what is known of it, what follows, and what is counted since the start.
pub(super) const COLUMNS: &[&str] = &[
    "throttle VARCHAR",
    "cluster VARCHAR",
    "signal VARCHAR",
    "reading REAL",
    "outlook REAL",
    "started INT",
    "since_s INT",
    "delay_ms REAL",
    "max_concurrent INT",
    "running INT",
    "waiting INT",
    "starts INT",
    "delayed INT",
    "limited INT",
    "waited_ms INT",
    "refused INT",
];

pub(super) fn rows(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    snapshot.gates.all().iter().map(row).collect()
}

fn row(gate: &Arc<Gate>) -> Vec<Value> {
    let figures = gate.figures();
    let (known, outlook) = match figures.reading {
        Reading::Known { value, outlook, .. } => {
            (Value::Real(value), outlook.map_or(Value::Null, Value::Real))
        }
        Reading::AtLeast(_) | Reading::Unknown => (Value::Null, Value::Null),
    };
    let since = figures
        .since
        .and_then(|since| since.duration_since(UNIX_EPOCH).ok());
    let optional = |number: Option<usize>| number.map_or(Value::Null, int);
    let limit = gate.throttle.max_concurrent;
    vec![
        text(gate.address.as_str()),
        text(gate.cluster.as_str()),
        text(gate.signal()),
        known,
        outlook,
        int(u8::from(figures.is_started)),
        since.map_or(Value::Null, |since| int(since.as_secs())),
        Value::Real(figures.delay.as_secs_f64() * 1000.0),
        limit.map_or(Value::Null, int),
        optional(figures.running),
        int(figures.waiting),
        int(figures.starts),
        int(figures.delayed),
        int(figures.limited),
        int(figures.waited.as_millis()),
        int(figures.refused),
    ]
}
