//! The cost of one statement through a proxy: server, proxy and one connection on one core.
//!
//! On one core nothing overlaps and no wake-up crosses cores, so the time a proxy adds to a statement is what it and
//! the kernel really do for it. Targets take turns within a round, so that what changes on the machine changes for
//! all of them; differences and ratios are taken inside a round.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::BenchError;
use crate::cpu_time::{cpu_time_of_children, cpu_time_of_group};
use crate::endpoint::Endpoint;
use crate::report::{Report, Table};
use crate::statistics::Summary;
use crate::sysbench::PointSelect;

/// Below this share of the core a run was disturbed.
const QUIET: f64 = 0.9;

/// What to measure and how often.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The server without a proxy; the time of every other target is compared with it.
    pub direct: &'a Endpoint,
    /// The raw passthrough; the ratio of every proxy is taken to it.
    pub floor: &'a Endpoint,
    /// The proxies.
    pub proxies: &'a [Endpoint],
    /// The client.
    pub client: &'a PointSelect,
    /// How many rounds.
    pub rounds: u32,
    /// How long each target runs in a round.
    pub duration: Duration,
    /// Versions and other facts to keep with the figures.
    pub about: Value,
}

/// One run of one target.
#[derive(Debug, Clone, Serialize)]
struct Sample {
    round: u32,
    target: String,
    queries: u64,
    seconds: f64,
    /// Microseconds from one statement to the next.
    us_per_statement: f64,
    /// Processor time of the target's processes, in microseconds.
    cpu_us_per_statement: f64,
    /// The part of the run's time in which client, server and target had the core. What is missing to 1 went to other
    /// processes, or to other machines on the same hardware: such a run says little.
    share_of_core: f64,
}

/// A target's figures over all rounds.
#[derive(Debug, Clone, Serialize)]
struct Figures {
    target: String,
    us_per_statement: Summary,
    /// Added to the direct time of the same round.
    hop_us: Option<Summary>,
    /// The hop over the floor's hop of the same round.
    hop_to_floor: Option<Summary>,
    cpu_us_per_statement: Option<Summary>,
    share_of_core: Summary,
    /// Processor time over the floor's of the same round.
    cpu_to_floor: Option<Summary>,
}

/// Measures; `progress` hears of each run.
///
/// # Errors
/// The first run that fails ends the measurement.
pub fn run(plan: &Plan<'_>, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let targets: Vec<&Endpoint> = [plan.direct, plan.floor]
        .into_iter()
        .chain(plan.proxies)
        .collect();
    for target in &targets {
        target.pin(&plan.client.cores)?;
        progress(&format!("warming up {}", target.name));
        plan.client.run(target.address, Duration::from_secs(1))?;
    }
    let mut samples = Vec::new();
    for round in 1..=plan.rounds {
        for target in &targets {
            let sample = measure(plan, target, round)?;
            progress(&format!(
                "round {round}/{}  {:<14}  {:7.2} µs/statement{}",
                plan.rounds,
                target.name,
                sample.us_per_statement,
                if sample.share_of_core < QUIET {
                    "  (disturbed: the machine is not quiet)"
                } else {
                    ""
                }
            ));
            samples.push(sample);
        }
    }
    report(plan, &samples)
}

fn measure(plan: &Plan<'_>, target: &Endpoint, round: u32) -> Result<Sample, BenchError> {
    let failed = || BenchError::io(format!("processor time of {}", target.name));
    let spent = || -> Result<[Duration; 3], BenchError> {
        let of_group = |group| cpu_time_of_group(group).map_err(failed());
        let client = cpu_time_of_children().map_err(failed())?;
        Ok([of_group(target.group)?, of_group(plan.direct.group)?, client])
    };
    let before = spent()?;
    let run = plan.client.run(target.address, plan.duration)?;
    let after = spent()?;
    let [own, server, client] =
        std::array::from_fn(|part| after[part].saturating_sub(before[part]).as_secs_f64());
    // For the direct target its own time is the server's.
    let proxy = if target.group == plan.direct.group {
        0.0
    } else {
        own
    };
    let queries = run.queries as f64;
    Ok(Sample {
        round,
        target: target.name.clone(),
        queries: run.queries,
        seconds: run.seconds,
        us_per_statement: run.seconds * 1e6 / queries,
        cpu_us_per_statement: own * 1e6 / queries,
        share_of_core: ((proxy + server + client) / run.seconds).min(1.0),
    })
}

/// A figure of `target` in every round, as `of` makes it from the target's sample and those of direct and floor.
fn per_round(
    plan: &Plan<'_>,
    samples: &[Sample],
    target: &str,
    of: impl Fn(&Sample, &Sample, &Sample) -> Option<f64>,
) -> Option<Summary> {
    let find = |name: &str, round: u32| samples.iter().find(|s| s.target == name && s.round == round);
    let figures = (1..=plan.rounds).filter_map(|round| {
        of(
            find(target, round)?,
            find(&plan.direct.name, round)?,
            find(&plan.floor.name, round)?,
        )
    });
    Summary::of(figures)
}

fn figures(plan: &Plan<'_>, samples: &[Sample], target: &str) -> Option<Figures> {
    let is_direct = target == plan.direct.name;
    let hop = |sample: &Sample, direct: &Sample| sample.us_per_statement - direct.us_per_statement;
    let proxied = |of: &dyn Fn(&Sample, &Sample, &Sample) -> Option<f64>| {
        if is_direct {
            None
        } else {
            per_round(plan, samples, target, of)
        }
    };
    Some(Figures {
        target: target.to_owned(),
        us_per_statement: per_round(plan, samples, target, |sample, _, _| {
            Some(sample.us_per_statement)
        })?,
        hop_us: proxied(&|sample, direct, _| Some(hop(sample, direct))),
        hop_to_floor: proxied(&|sample, direct, floor| Some(hop(sample, direct) / hop(floor, direct))),
        cpu_us_per_statement: proxied(&|sample, _, _| Some(sample.cpu_us_per_statement)),
        share_of_core: per_round(plan, samples, target, |sample, _, _| Some(sample.share_of_core))?,
        cpu_to_floor: proxied(&|sample, _, floor| {
            Some(sample.cpu_us_per_statement / floor.cpu_us_per_statement)
        }),
    })
}

fn report(plan: &Plan<'_>, samples: &[Sample]) -> Result<Report, BenchError> {
    let encode = |value: serde_json::Result<Value>| {
        value.map_err(|error| BenchError::io("writing figures as JSON")(error.into()))
    };
    let names = [plan.direct, plan.floor]
        .into_iter()
        .chain(plan.proxies)
        .map(|target| &target.name);
    let summary: Vec<Figures> = names.filter_map(|name| figures(plan, samples, name)).collect();
    let mut table = Table::new([
        "target",
        "µs/statement",
        "hop µs",
        "(min..max)",
        "hop/floor",
        "CPU µs/statement",
        "CPU/floor",
        "share of core",
    ]);
    let median = |summary: Option<Summary>| summary.map_or_else(String::new, |s| format!("{:.2}", s.median));
    for row in &summary {
        table.row([
            row.target.clone(),
            median(Some(row.us_per_statement)),
            median(row.hop_us),
            row.hop_us
                .map_or_else(String::new, |s| format!("{:.2}..{:.2}", s.min, s.max)),
            median(row.hop_to_floor),
            median(row.cpu_us_per_statement),
            median(row.cpu_to_floor),
            format!("{:.0} %", row.share_of_core.min * 100.0),
        ]);
    }
    Ok(Report {
        name: "proxy",
        title: format!(
            "point select by primary key, 1 connection; server, proxy and client on core {}; medians of {} rounds of {} s",
            plan.client.cores,
            plan.rounds,
            plan.duration.as_secs()
        ),
        parameters: json!({
            "protocol": "pinned serial",
            "core": plan.client.cores,
            "rounds": plan.rounds,
            "seconds": plan.duration.as_secs(),
            "about": plan.about,
        }),
        table,
        samples: samples
            .iter()
            .map(serde_json::to_value)
            .map(encode)
            .collect::<Result<_, _>>()?,
        summary: encode(serde_json::to_value(&summary))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(round: u32, target: &str, us: f64, cpu: f64) -> Sample {
        Sample {
            round,
            target: target.to_owned(),
            queries: 1,
            seconds: us / 1e6,
            us_per_statement: us,
            cpu_us_per_statement: cpu,
            share_of_core: 0.98,
        }
    }

    #[test]
    fn differences_and_ratios_are_taken_inside_a_round() {
        let at = |name: &str| Endpoint::running(name, "127.0.0.1:1".parse().unwrap(), 1);
        let (direct, floor, proxies) = (at("direct"), at("raw"), [at("proxy")]);
        let client = PointSelect {
            user: String::new(),
            password: String::new(),
            schema: String::new(),
            threads: 1,
            cores: "0".to_owned(),
        };
        let plan = Plan {
            direct: &direct,
            floor: &floor,
            proxies: &proxies,
            client: &client,
            rounds: 3,
            duration: Duration::from_secs(4),
            about: json!({}),
        };
        // The second round ran on a machine half as fast: every time doubles, no ratio changes.
        let mut samples = Vec::new();
        for (round, scale) in [(1, 1.0), (2, 2.0), (3, 1.0)] {
            samples.push(sample(round, "direct", 15.0 * scale, 9.0));
            samples.push(sample(round, "raw", 23.0 * scale, 6.0 * scale));
            samples.push(sample(round, "proxy", 25.0 * scale, 7.5 * scale));
        }
        let figures = figures(&plan, &samples, "proxy").unwrap();
        assert_eq!(
            figures.hop_us,
            Some(Summary {
                median: 10.0,
                min: 10.0,
                max: 20.0
            })
        );
        assert_eq!(
            figures.hop_to_floor,
            Some(Summary {
                median: 1.25,
                min: 1.25,
                max: 1.25
            })
        );
        assert_eq!(
            figures.cpu_to_floor,
            Some(Summary {
                median: 1.25,
                min: 1.25,
                max: 1.25
            })
        );
        let report = report(&plan, &samples).unwrap();
        assert_eq!(
            report.table.to_string(),
            "target  µs/statement  hop µs    (min..max)  hop/floor  CPU µs/statement  CPU/floor  share of core\n\
             direct         15.00                                                                         98 %\n\
             raw            23.00    8.00   8.00..16.00       1.00              6.00       1.00           98 %\n\
             proxy          25.00   10.00  10.00..20.00       1.25              7.50       1.25           98 %\n"
        );
        assert_eq!(report.samples.len(), 9);
    }
}
