//! The tables and the figures of a run: what each row must reach, and what each target has done.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::checks::number;
use super::samples::{Sample, by_round, of_target, targets};
use super::{Outcome, Plan, Row};
use crate::report::{Report, Table};
use crate::statistics::Summary;

type Measured<'a> = (&'a Row, Outcome);

pub(super) fn report(plan: &Plan, measured: &[Measured<'_>], failed: &[String]) -> Report {
    let mut tables = vec![verdicts(measured)];
    tables.extend(
        measured
            .iter()
            .filter(|(_, outcome)| !outcome.samples.is_empty())
            .map(|(row, outcome)| figures(row, &outcome.samples)),
    );
    let samples = measured.iter().flat_map(|(_, outcome)| &outcome.samples);
    Report {
        name: "proxy",
        title: format!(
            "the bundled proxy beside its peers; medians of {} rounds of {} s",
            plan.rounds,
            plan.duration.as_secs()
        ),
        parameters: json!({
            "rounds": plan.rounds, "seconds": plan.duration.as_secs(), "core": plan.core, "only": plan.only,
            "client": "sysbench, mysql", "has_proxysql": plan.programs.proxysql.is_some(),
        }),
        tables,
        samples: samples.map(encoded).collect(),
        summary: json!({
            "rows": measured.iter().map(|(row, outcome)| summary(row, outcome)).collect::<Vec<_>>(),
            "failed": failed,
        }),
    }
}

fn encoded(sample: &Sample) -> Value {
    serde_json::to_value(sample).expect("a sample is data")
}

fn verdicts(measured: &[Measured<'_>]) -> Table {
    let mut table = Table::new(["row", "figure", "median", "(min..max)", "must", "stretch", ""]);
    for (row, outcome) in measured {
        for check in &outcome.checks {
            table.row([row.name.to_owned()].into_iter().chain(check.cells()));
        }
    }
    table
}

/// A column: its head, and the figure.
type Column = (&'static str, fn(&Sample) -> f64);

const COLUMNS: [Column; 6] = [
    ("per s", Sample::per_second),
    ("proxy CPU µs", |sample| sample.proxy_us),
    ("server CPU µs", |sample| sample.server_us),
    ("client CPU µs", |sample| sample.client_us),
    ("proxy switches", |sample| sample.proxy_switches),
    ("server switches", |sample| sample.server_switches),
];

/// What each target of a row has done, for a unit.
fn figures(row: &Row, samples: &[Sample]) -> Table {
    let head = format!("{} ({})", row.name, row.unit);
    let columns = COLUMNS.map(|(name, _)| name);
    let own = own_columns(samples);
    let mut table = Table::new(
        [head.as_str(), "µs", "(min..max)"]
            .into_iter()
            .chain(columns)
            .chain(own.iter().copied()),
    );
    for target in targets(samples) {
        let median = |figure: &dyn Fn(&Sample) -> f64| {
            of_target(samples, target, figure).map_or_else(String::new, |summary| number(summary.median))
        };
        let range = |us: Summary| format!("{}..{}", number(us.min), number(us.max));
        let us = of_target(samples, target, Sample::us);
        let start = [
            target.to_owned(),
            us.map_or_else(String::new, |us| number(us.median)),
            us.map_or_else(String::new, range),
        ];
        let general = COLUMNS.iter().map(|(_, figure)| median(figure));
        let own = own.iter().map(|name| {
            let figure = by_round(samples, |round| round.of(target)?.more.get(name).copied());
            figure.map_or_else(String::new, |summary| number(summary.median))
        });
        table.row(start.into_iter().chain(general).chain(own));
    }
    table
}

/// Names of figures that only this row has.
fn own_columns(samples: &[Sample]) -> Vec<&'static str> {
    let names: BTreeSet<&'static str> = samples
        .iter()
        .flat_map(|sample| sample.more.keys().copied())
        .collect();
    names.into_iter().collect()
}

fn summary(row: &Row, outcome: &Outcome) -> Value {
    let samples = &outcome.samples;
    let figures = |target: &str| {
        let of = |figure: fn(&Sample) -> f64| of_target(samples, target, figure);
        let general: serde_json::Map<String, Value> = COLUMNS
            .iter()
            .map(|(name, figure)| ((*name).to_owned(), json!(of(*figure))))
            .collect();
        json!({"target": target, "us": of(Sample::us), "figures": general})
    };
    let targets: Vec<Value> = targets(samples).into_iter().map(figures).collect();
    json!({"row": row.name, "about": row.about, "unit": row.unit, "targets": targets, "checks": outcome.checks})
}

#[cfg(test)]
mod tests {
    use super::super::checks::{Bound, Check};
    use super::super::samples::tests::sample;
    use super::*;
    use insta::assert_snapshot;

    #[test]
    fn verdicts_come_first_and_every_row_has_its_table() {
        let row = Row {
            name: "pinned",
            about: "one client",
            unit: "statement",
            measure: |_| unreachable!("nothing is measured here"),
        };
        let mut samples = vec![
            sample(1, "direct", 20.0, 0.0),
            sample(1, "floor", 30.0, 8.0),
            sample(2, "direct", 40.0, 0.0),
            sample(2, "floor", 60.0, 16.0),
        ];
        samples[1].more.insert("p99_ms", 0.5);
        let added = Check::of("floor: added, µs", Summary::of([10.0, 20.0])).must(Bound::AtMost(12.0));
        let outcome = Outcome {
            samples,
            checks: vec![added, Check::of("over ProxySQL", None)],
        };
        let plan = Plan {
            programs: crate::failover::Programs {
                shardwright: "shardwright".into(),
                proxysql: None,
            },
            other: None,
            passthrough: "passthrough".into(),
            only: Vec::new(),
            rounds: 2,
            duration: std::time::Duration::from_secs(3),
            core: 0,
        };
        let report = report(&plan, &[(&row, outcome)], &["burst: no server".to_owned()]);
        assert_snapshot!(report.to_string(), @"
        proxy: the bundled proxy beside its peers; medians of 2 rounds of 3 s

        row               figure  median    (min..max)  must  stretch
        pinned  floor: added, µs   15.00  10.00..20.00  ≤ 12                 missed
        pinned     over ProxySQL       –                               not measured

        pinned (statement)     µs    (min..max)  per s  proxy CPU µs  server CPU µs  client CPU µs  proxy switches  server switches  p99_ms
        direct              30.00  20.00..40.00  37500          0.00           9.00           4.00            2.00             1.00
        floor               45.00  30.00..60.00  25000         12.00           9.00           4.00            2.00             1.00    0.50
        ");
        assert_eq!(report.samples.len(), 4);
        assert_eq!(report.samples[1]["more"]["p99_ms"], 0.5);
        assert_eq!(report.summary["failed"][0], "burst: no server");
        assert_eq!(report.summary["rows"][0]["targets"][1]["us"]["median"], 45.0);
    }
}
