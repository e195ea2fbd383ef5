//! The table and the figures of a comparison.

use serde_json::{Value, json};

use super::proxies::INTERVAL_MS;
use super::{Cluster, Fault, NOTICES_AFTER, Plan, Proxy, Sample};
use crate::report::{Report, Table};
use crate::statistics::Summary;

/// A line of progress.
pub(super) fn line(sample: &Sample) -> String {
    format!(
        "{:?} {:?} {:?} {}: gap {:.0} ms{}, {} commits, refused {}, unknown {} (there {}), lost {}, doubled {}, errors {:?}",
        sample.cluster,
        sample.fault,
        sample.proxy,
        sample.round,
        sample.gap_ms,
        if sample.is_open {
            " and writes were not back"
        } else {
            ""
        },
        sample.commits,
        sample.refused,
        sample.unknown,
        sample.unknown_and_there,
        sample.lost,
        sample.doubled,
        sample.errors
    )
}

fn spread(figures: Option<Summary>) -> String {
    figures.map_or_else(
        || "–".to_owned(),
        |figures| format!("{:.0} ({:.0}..{:.0})", figures.median, figures.min, figures.max),
    )
}

pub(super) fn report(plan: &Plan, samples: &[Sample]) -> Report {
    let mut table = Table::new([
        "cluster, fault, proxy",
        "gap, ms",
        "after promotion, ms",
        "errors seen",
        "unknown",
        "there",
        "lost",
        "doubled",
        "not back",
    ]);
    let mut summary = Vec::new();
    for &cluster in &plan.clusters {
        for &fault in &plan.faults {
            for proxy in [Proxy::Shardwright, Proxy::Haproxy, Proxy::Proxysql] {
                let of: Vec<&Sample> = samples
                    .iter()
                    .filter(|sample| (sample.cluster, sample.fault, sample.proxy) == (cluster, fault, proxy))
                    .collect();
                if !of.is_empty() {
                    let (cells, figures) = row(cluster, fault, proxy, &of);
                    table.row(cells);
                    summary.push(figures);
                }
            }
        }
    }
    Report {
        name: "failover",
        title: format!(
            "inserts while the writer fails, {} trials each, {} clients, {} commits/s asked for",
            plan.rounds, plan.clients, plan.rate
        ),
        parameters: json!({
            "rounds": plan.rounds,
            "clients": plan.clients,
            "commits_per_second": plan.rate,
            "check_interval_ms": INTERVAL_MS,
            "promoted_after_ms": u64::try_from(NOTICES_AFTER.as_millis()).unwrap_or(u64::MAX),
        }),
        tables: vec![table],
        samples: samples
            .iter()
            .map(|sample| serde_json::to_value(sample).expect("a sample is data"))
            .collect(),
        summary: Value::Array(summary),
    }
}

fn row(cluster: Cluster, fault: Fault, proxy: Proxy, of: &[&Sample]) -> (Vec<String>, Value) {
    let gap = Summary::of(of.iter().map(|sample| sample.gap_ms));
    let after = Summary::of(of.iter().filter_map(|sample| sample.after_promotion_ms));
    let sum = |figure: &dyn Fn(&Sample) -> u64| of.iter().map(|sample| figure(sample)).sum::<u64>();
    let errors = sum(&|sample| sample.errors.iter().map(|(_, _, count)| count).sum());
    let counts = [
        errors,
        sum(&|sample| sample.unknown as u64),
        sum(&|sample| sample.unknown_and_there as u64),
        sum(&|sample| sample.lost as u64),
        sum(&|sample| sample.doubled as u64),
        sum(&|sample| u64::from(sample.is_open)),
    ];
    let name = format!("{cluster:?}, {fault:?}, {proxy:?}").to_lowercase();
    let cells = [name, spread(gap), spread(after)]
        .into_iter()
        .chain(counts.map(|count| count.to_string()))
        .collect();
    let [errors, unknown, there, lost, doubled, not_back] = counts;
    let figures = json!({
        "cluster": cluster, "fault": fault, "proxy": proxy, "gap_ms": gap, "after_promotion_ms": after,
        "errors": errors, "unknown": unknown, "unknown_and_there": there, "lost": lost, "doubled": doubled,
        "not_back": not_back,
    });
    (cells, figures)
}
