//! Reads and writes on a Galera cluster with more and more clients, each of which connects anew for every event, behind different
//! proxies.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::failover::proxies::InFront;
use crate::failover::servers::Servers;
use crate::failover::{Cluster, PASSWORD, Programs, Proxy, SCHEMA, USER};
use crate::statistics::Summary;
use crate::sysbench::Histogram;
use crate::{BenchError, Report, Table};

/// Rows of the table.
const ROWS: u32 = 10_000;

/// An event connects, and reads five rows or changes two in a transaction.
const SCRIPT: &str = r#"
sysbench.cmdline.options = {writes = {"Whether events write", false}}
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE IF NOT EXISTS scaling (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL)")
  con:bulk_insert_init("REPLACE INTO scaling (id, k, c) VALUES")
  for i = 1, ROWS do
    con:bulk_insert_next(string.format("(%d, %d, '%s')", i, i, sysbench.rand.string(string.rep("@", 100))))
  end
  con:bulk_insert_done()
end
function thread_init()
  drv = sysbench.sql.driver()
end
function event()
  local con = drv:connect()
  if sysbench.opt.writes then
    con:query("BEGIN")
    for i = 1, 2 do
      con:query("UPDATE scaling SET k = k + 1 WHERE id = " .. sysbench.rand.uniform(1, ROWS))
    end
    con:query("COMMIT")
  else
    for i = 1, 5 do
      con:query("SELECT c FROM scaling WHERE id = " .. sysbench.rand.uniform(1, ROWS))
    end
  end
  con:disconnect()
end
"#;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The proxies.
    pub programs: Programs,
    /// How often each proxy has its turn.
    pub rounds: u32,
    /// How long each run is.
    pub duration: Duration,
    /// Numbers of clients.
    pub threads: Vec<u32>,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    round: u32,
    proxy: Proxy,
    load: &'static str,
    threads: u32,
    events_per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    /// Errors that were ignored, such as deadlocks; none: the run was ended by an error.
    errors: Option<u64>,
    failure: Option<String>,
}

const LOADS: [&str; 2] = ["reads", "writes"];

/// Measures. Proxies take turns within a level.
///
/// # Errors
/// Something does not start.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let failed = || BenchError::io("the script of sysbench");
    let directory = tempfile::tempdir().map_err(failed())?;
    let script = directory.path().join("scaling.lua");
    fs::write(&script, SCRIPT.replace("ROWS", &ROWS.to_string())).map_err(failed())?;
    let servers = Servers::start(Cluster::Galera)?;
    let mut in_front = Vec::new();
    for proxy in plan.programs.proxies() {
        in_front.push((proxy, InFront::start(&plan.programs, proxy, &servers)?));
    }
    sysbench(&script, in_front[0].1.address(), &["prepare"])?;
    let mut samples = Vec::new();
    for round in 1..=plan.rounds {
        for &threads in &plan.threads {
            for load in LOADS {
                for (proxy, in_front) in &in_front {
                    let address = if load == "reads" {
                        in_front.reads()
                    } else {
                        in_front.address()
                    };
                    let sample = sample(plan, &script, address, (*proxy, load, threads, round));
                    progress(&format!("{sample:?}"));
                    samples.push(sample);
                }
            }
        }
        in_front.rotate_left(1);
    }
    Ok(report(plan, &samples))
}

fn sample(
    plan: &Plan,
    script: &Path,
    address: SocketAddr,
    (proxy, load, threads, round): (Proxy, &'static str, u32, u32),
) -> Sample {
    let writes = if load == "writes" { "on" } else { "off" };
    let arguments = [
        format!("--threads={threads}"),
        format!("--time={}", plan.duration.as_secs().max(1)),
        format!("--writes={writes}"),
        "--histogram".to_owned(),
        "--mysql-ignore-errors=all".to_owned(),
        "run".to_owned(),
    ];
    let run = sysbench(script, address, &arguments);
    let parsed = run.as_ref().ok().and_then(|output| parse(output));
    let (rate, p50, p99, errors) = parsed.unwrap_or_default();
    Sample {
        round,
        proxy,
        load,
        threads,
        events_per_second: rate,
        p50_ms: p50,
        p99_ms: p99,
        errors: parsed.map(|_| errors),
        failure: match (run, parsed) {
            (_, Some(_)) => None,
            (Ok(output), None) => Some(output),
            (Err(error), None) => Some(error.to_string()),
        },
    }
}

fn sysbench(
    script: &Path,
    address: SocketAddr,
    arguments: &[impl AsRef<std::ffi::OsStr>],
) -> Result<String, BenchError> {
    let output = Command::new("sysbench")
        .arg(script)
        .arg("--db-driver=mysql")
        .arg(format!("--mysql-host={}", address.ip()))
        .arg(format!("--mysql-port={}", address.port()))
        .arg(format!("--mysql-user={USER}"))
        .arg(format!("--mysql-password={PASSWORD}"))
        .arg(format!("--mysql-db={SCHEMA}"))
        .args(arguments)
        .output()
        .map_err(BenchError::io("sysbench (Debian: apt-get install sysbench)"))?;
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(BenchError::Output {
            what: format!("sysbench failed ({})", output.status),
            output: text,
        }),
    }
}

/// Events in a second, the median and the 99th percentile of their time in milliseconds, and ignored errors.
fn parse(output: &str) -> Option<(f64, f64, f64, u64)> {
    let after = |name: &str| {
        let line = output.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.split_whitespace().next()
    };
    let events: f64 = after("total number of events:")?.parse().ok()?;
    let seconds: f64 = after("total time:")?.strip_suffix('s')?.parse().ok()?;
    let errors = after("ignored errors:")?.parse().ok()?;
    let latencies = Histogram::parse(output);
    let percentile = |share| latencies.percentile(share);
    Some((events / seconds, percentile(0.5)?, percentile(0.99)?, errors))
}

fn report(plan: &Plan, samples: &[Sample]) -> Report {
    let mut table = Table::new([
        "load, clients, proxy",
        "events/s",
        "p50, ms",
        "p99, ms",
        "p99/p50",
        "errors",
        "failed runs",
    ]);
    let mut summary = Vec::new();
    for load in LOADS {
        for &threads in &plan.threads {
            for proxy in plan.programs.proxies() {
                let of: Vec<&Sample> = samples
                    .iter()
                    .filter(|sample| (sample.load, sample.threads, sample.proxy) == (load, threads, proxy))
                    .collect();
                let median = |figure: &dyn Fn(&Sample) -> f64| {
                    let whole = of.iter().filter(|sample| sample.failure.is_none());
                    Summary::of(whole.map(|sample| figure(sample)))
                };
                let figures = [
                    median(&|sample| sample.events_per_second),
                    median(&|sample| sample.p50_ms),
                    median(&|sample| sample.p99_ms),
                    median(&|sample| sample.p99_ms / sample.p50_ms),
                ];
                let errors: u64 = of.iter().filter_map(|sample| sample.errors).sum();
                let failures = of.iter().filter(|sample| sample.failure.is_some()).count();
                let cell = |(figure, digits): (&Option<Summary>, usize)| {
                    figure.map_or_else(|| "–".to_owned(), |figure| format!("{:.digits$}", figure.median))
                };
                let name = format!("{load}, {threads}, {proxy:?}").to_lowercase();
                let cells = figures.iter().zip([0, 1, 1, 1]).map(cell);
                table.row(
                    std::iter::once(name)
                        .chain(cells)
                        .chain([errors.to_string(), failures.to_string()]),
                );
                summary.push(json!({
                    "load": load, "threads": threads, "proxy": proxy, "events_per_second": figures[0], "p50_ms": figures[1],
                    "p99_ms": figures[2], "p99_to_p50": figures[3], "errors": errors, "failed_runs": failures,
                }));
            }
        }
    }
    Report {
        name: "scaling",
        title: format!(
            "a new connection for each event, Galera of three servers, medians of {} rounds",
            plan.rounds
        ),
        parameters: json!({"rounds": plan.rounds, "seconds": plan.duration.as_secs(), "rows": ROWS, "script": SCRIPT}),
        tables: vec![table],
        samples: samples
            .iter()
            .map(|sample| serde_json::to_value(sample).expect("a sample is data"))
            .collect(),
        summary: Value::Array(summary),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_come_from_the_histogram() {
        let output = "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n       \
                      1.000 |****************************************  98\n       2.500 |*                                         1\n       \
                      9.000 |*                                         1\n \nSQL statistics:\n    ignored errors:                      3      \
                      (0.30 per sec.)\nGeneral statistics:\n    total time:                          10.0000s\n    \
                      total number of events:              100\n";
        assert_eq!(parse(output), Some((10.0, 1.0, 2.5, 3)));
        assert_eq!(parse("FATAL: unable to connect"), None);
    }
}
