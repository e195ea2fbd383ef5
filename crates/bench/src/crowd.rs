//! Many clients, of which some work: what the server spends on them with a thread each, with a pool of threads, and behind a
//! proxy that shares connections.
//!
//! Idle connections are opened before a run and closed behind it. Targets take turns within a round.

use std::io;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use shardwright_testkit::{ClientOptions, connect};

use crate::BenchError;
use crate::cpu_time::cpu_time_of_group;
use crate::endpoint::Endpoint;
use crate::group_status::{resident_kib, switches, threads};
use crate::report::{Report, Table};
use crate::statistics::Summary;
use crate::sysbench::{Load, Sysbench};

/// Where clients connect, and the server that does the work.
#[derive(Debug)]
pub struct Target {
    /// Where clients connect.
    pub endpoint: Endpoint,
    /// The server's process group; that of the endpoint if there is no proxy.
    pub server: u32,
}

/// What to measure and how often.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Those that take turns.
    pub targets: &'a [Target],
    /// Connections that are open and do nothing.
    pub idle: u32,
    /// How they log in.
    pub login: ClientOptions<'a>,
    /// The clients that work.
    pub client: &'a Sysbench,
    /// How many rounds.
    pub rounds: u32,
    /// How long each target runs in a round.
    pub duration: Duration,
}

/// One run of one target.
#[derive(Debug, Clone, Serialize)]
struct Sample {
    round: u32,
    target: String,
    statements_per_second: f64,
    server_cpu_us_per_statement: f64,
    proxy_cpu_us_per_statement: f64,
    /// Context switches of the server's threads, voluntary and not.
    switches_per_statement: f64,
    /// With all clients connected.
    server_resident_mib: f64,
    server_threads: u64,
    proxy_resident_mib: f64,
}

/// Measures; `progress` hears of each run.
///
/// # Errors
/// The first run that fails ends the measurement.
pub fn run(plan: &Plan<'_>, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let mut samples = Vec::new();
    for round in 1..=plan.rounds {
        for target in plan.targets {
            let sample = measure(plan, target, round)?;
            progress(&format!(
                "round {round}/{}  {:<28}  {:8.0} statements/s",
                plan.rounds, sample.target, sample.statements_per_second
            ));
            samples.push(sample);
        }
    }
    Ok(report(plan, &samples))
}

fn measure(plan: &Plan<'_>, target: &Target, round: u32) -> Result<Sample, BenchError> {
    let name = &target.endpoint.name;
    let failed = || BenchError::io(format!("figures of {name}"));
    let has_proxy = target.endpoint.group != target.server;
    let mut idle = Vec::new();
    for _ in 0..plan.idle {
        idle.push(connect(target.endpoint.address, plan.login)?);
    }
    let load = Load::text();
    plan.client
        .run(target.endpoint.address, Duration::from_secs(1), &load)?;
    let spent = || -> io::Result<_> {
        let proxy = cpu_time_of_group(target.endpoint.group)?;
        Ok((cpu_time_of_group(target.server)?, proxy, switches(target.server)?))
    };
    let before = spent().map_err(failed())?;
    let run = plan.client.run(target.endpoint.address, plan.duration, &load)?;
    let after = spent().map_err(failed())?;
    let queries = run.queries as f64;
    let per_statement =
        |after: Duration, before: Duration| after.saturating_sub(before).as_secs_f64() * 1e6 / queries;
    let resident_mib = |group| Ok::<_, io::Error>(resident_kib(group)? as f64 / 1024.0);
    let of_proxy = |value: f64| if has_proxy { value } else { 0.0 };
    Ok(Sample {
        round,
        target: name.clone(),
        statements_per_second: queries / run.seconds,
        server_cpu_us_per_statement: per_statement(after.0, before.0),
        proxy_cpu_us_per_statement: of_proxy(per_statement(after.1, before.1)),
        switches_per_statement: after.2.saturating_sub(before.2) as f64 / queries,
        server_resident_mib: resident_mib(target.server).map_err(failed())?,
        server_threads: threads(target.server).map_err(failed())?,
        proxy_resident_mib: of_proxy(resident_mib(target.endpoint.group).map_err(failed())?),
    })
}

fn report(plan: &Plan<'_>, samples: &[Sample]) -> Report {
    let mut table = Table::new([
        "target",
        "statements/s",
        "(min..max)",
        "server CPU µs",
        "proxy CPU µs",
        "switches",
        "server threads",
        "server MiB",
        "proxy MiB",
    ]);
    let mut summary = Vec::new();
    for target in plan.targets {
        let of = |figure: fn(&Sample) -> f64| {
            let own = samples
                .iter()
                .filter(|sample| sample.target == target.endpoint.name);
            Summary::of(own.map(figure)).expect("every target has run")
        };
        let rate = of(|sample| sample.statements_per_second);
        let columns: [fn(&Sample) -> f64; 6] = [
            |sample| sample.server_cpu_us_per_statement,
            |sample| sample.proxy_cpu_us_per_statement,
            |sample| sample.switches_per_statement,
            |sample| sample.server_threads as f64,
            |sample| sample.server_resident_mib,
            |sample| sample.proxy_resident_mib,
        ];
        let places = [1, 1, 2, 0, 0, 0];
        let medians = columns.map(|figure| of(figure).median);
        let cells = medians
            .iter()
            .zip(places)
            .map(|(median, places)| format!("{median:.places$}"));
        let head = [
            target.endpoint.name.clone(),
            format!("{:.0}", rate.median),
            format!("{:.0}..{:.0}", rate.min, rate.max),
        ];
        table.row(head.into_iter().chain(cells));
        summary
            .push(json!({"target": target.endpoint.name, "statements_per_second": rate, "medians": medians}));
    }
    Report {
        name: "crowd",
        title: format!(
            "{} clients, of which {} select by primary key; medians of {} rounds of {} s",
            plan.idle + plan.client.threads,
            plan.client.threads,
            plan.rounds,
            plan.duration.as_secs()
        ),
        parameters: json!({
            "idle": plan.idle, "active": plan.client.threads, "rounds": plan.rounds, "seconds": plan.duration.as_secs(),
        }),
        tables: vec![table],
        samples: samples
            .iter()
            .map(|sample| serde_json::to_value(sample).expect("figures have a text"))
            .collect(),
        summary: json!(summary),
    }
}
