//! The table and the figures.

use serde_json::{Value, json};

use super::{DELAYS_MS, Plan, Policy, START_S, STOP_S, Sample};
use crate::report::{Report, Table};
use crate::statistics::Summary;

/// A line of progress.
pub(super) fn line(sample: &Sample) -> String {
    let Sample {
        round,
        policy,
        above,
        median_lag_s,
        greatest_lag_s,
        statements_per_s,
        settled_statements_per_s,
        backlog,
        refused,
        unknown,
        lost,
        errors,
        load: [before, after],
        switches,
        ..
    } = sample;
    format!(
        "{round} {}: above {:.0} %, median {median_lag_s:.2} s, greatest {greatest_lag_s:.2} s, {statements_per_s:.0} statements/s \
         ({settled_statements_per_s:.0} after the first seconds), {backlog} not applied at the end, refused {refused}, unknown {unknown}, \
         lost {lost}, errors {errors:?}, switched {switches} times, load {before:.1} to {after:.1}",
        policy.name(),
        above * 100.0
    )
}

pub(super) fn report(plan: &Plan, version: String, samples: &[Sample]) -> Report {
    let mut table = Table::new([
        "policy, round",
        "lag above 3 s, %",
        "median, s",
        "greatest, s",
        "statements/s",
        "after settling",
        "not applied",
        "refused",
        "unknown",
        "lost",
        "load",
    ]);
    let mut summary = Vec::new();
    for &policy in &plan.policies {
        let of: Vec<&Sample> = samples.iter().filter(|sample| sample.policy == policy).collect();
        for sample in &of {
            table.row(row(sample));
        }
        let (cells, figures) = medians(policy, &of);
        table.row(cells);
        summary.push(figures);
    }
    Report {
        name: "throttle",
        title: format!(
            "{} writers of {} statements/s, two replicas that wait for their disks, start {START_S} s, stop {STOP_S} s, delay {} to {} ms, {} rounds of {} s",
            plan.clients,
            plan.rate,
            DELAYS_MS[0],
            DELAYS_MS[1],
            plan.rounds,
            plan.duration.as_secs()
        ),
        parameters: json!({
            "server": version,
            "rounds": plan.rounds,
            "seconds": plan.duration.as_secs(),
            "settles_s": plan.settles.as_secs(),
            "writers": plan.clients,
            "statements_per_second_of_each": plan.rate,
            "heartbeat": plan.heartbeat,
        }),
        tables: vec![table],
        samples: samples
            .iter()
            .map(|sample| serde_json::to_value(sample).expect("a sample is data"))
            .collect(),
        summary: Value::Array(summary),
    }
}

fn row(sample: &Sample) -> Vec<String> {
    let [before, after] = sample.load;
    vec![
        format!("{}, {}", sample.policy.name(), sample.round),
        format!("{:.0}", sample.above * 100.0),
        format!("{:.2}", sample.median_lag_s),
        format!("{:.2}", sample.greatest_lag_s),
        format!("{:.0}", sample.statements_per_s),
        format!("{:.0}", sample.settled_statements_per_s),
        sample.backlog.to_string(),
        sample.refused.to_string(),
        sample.unknown.to_string(),
        sample.lost.to_string(),
        format!("{before:.1}..{after:.1}"),
    ]
}

fn medians(policy: Policy, of: &[&Sample]) -> (Vec<String>, Value) {
    let median = |figure: &dyn Fn(&Sample) -> f64| {
        let summary = Summary::of(of.iter().map(|sample| figure(sample)));
        summary.map_or(f64::NAN, |summary| summary.median)
    };
    let count = |figure: &dyn Fn(&Sample) -> usize| of.iter().map(|sample| figure(sample)).sum::<usize>();
    let above = median(&|sample| sample.above);
    let lag_s = median(&|sample| sample.median_lag_s);
    let greatest_s = median(&|sample| sample.greatest_lag_s);
    let rate = median(&|sample| sample.statements_per_s);
    let settled = median(&|sample| sample.settled_statements_per_s);
    let backlog = median(&|sample| sample.backlog as f64);
    let refused = count(&|sample| sample.refused);
    let unknown = count(&|sample| sample.unknown);
    let lost = count(&|sample| sample.lost);
    let cells = vec![
        format!("{}, median", policy.name()),
        format!("{:.0}", above * 100.0),
        format!("{lag_s:.2}"),
        format!("{greatest_s:.2}"),
        format!("{rate:.0}"),
        format!("{settled:.0}"),
        format!("{backlog:.0}"),
        refused.to_string(),
        unknown.to_string(),
        lost.to_string(),
    ];
    let figures = json!({
        "policy": policy, "above": above, "median_lag_s": lag_s, "greatest_lag_s": greatest_s,
        "statements_per_second": rate, "settled_statements_per_second": settled, "backlog": backlog,
        "refused": refused, "unknown": unknown, "lost": lost,
    });
    (cells, figures)
}
