//! Turns: a load on one target after the other, and what everybody spends meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::samples::Sample;
use super::stage::{Cores, Server, Stage};
use super::targets::Target;
use crate::BenchError;
use crate::cpu_time::{cpu_time_of_children, cpu_time_of_group, own_cpu_time};
use crate::group_status::switches;
use crate::sysbench::{Load, Sysbench};

/// What a load has done.
pub(super) struct Done {
    pub(super) units: u64,
    pub(super) seconds: f64,
    pub(super) more: BTreeMap<&'static str, f64>,
}

/// Below this share of the core, a turn of a row on one core was disturbed.
const QUIET: f64 = 0.9;

/// The part of the time in which client, server and proxy had their core. What is missing to 1 went to other processes, or to
/// other machines on the same hardware: such a turn says little.
fn share_of_core(sample: &Sample) -> f64 {
    (sample.proxy_us + sample.server_us + sample.client_us) / sample.us()
}

/// What has been spent so far.
struct Spent {
    proxy: Duration,
    server: Duration,
    client: Duration,
    proxy_switches: u64,
    server_switches: u64,
}

impl Spent {
    fn now(target: &Target, server: u32) -> io::Result<Self> {
        let group = target.endpoint.group;
        let is_proxy = group != server;
        Ok(Self {
            proxy: if is_proxy {
                cpu_time_of_group(group)?
            } else {
                Duration::ZERO
            },
            proxy_switches: if is_proxy { switches(group)? } else { 0 },
            server: cpu_time_of_group(server)?,
            server_switches: switches(server)?,
            // A client is a process that has ended, or threads of this one.
            client: cpu_time_of_children()? + own_cpu_time(),
        })
    }
}

impl Stage<'_> {
    /// Every target has its turn in each round, after one second without figures.
    pub(super) fn turns(
        &self,
        server: &Server,
        targets: &[Target],
        load: impl Fn(&Target, Duration) -> Result<Done, BenchError>,
    ) -> Result<Vec<Sample>, BenchError> {
        for target in targets {
            load(target, Duration::from_secs(1))?;
        }
        let mut samples = Vec::new();
        for round in 1..=self.plan.rounds {
            for target in targets {
                let sample = self.turn(server, target, round, || load(target, self.plan.duration))?;
                (self.progress)(&self.line(server, &sample));
                samples.push(sample);
            }
        }
        Ok(samples)
    }

    fn line(&self, server: &Server, sample: &Sample) -> String {
        let disturbed = match server.cores == Cores::One && share_of_core(sample) < QUIET {
            true => "  (disturbed: the machine is not quiet)",
            false => "",
        };
        format!(
            "  round {}/{}  {:<24}  {:9.0}/s  proxy {:6.1} µs  server {:6.1}  client {:6.1}{disturbed}",
            sample.round,
            self.plan.rounds,
            sample.target,
            sample.per_second(),
            sample.proxy_us,
            sample.server_us,
            sample.client_us
        )
    }

    /// One turn.
    pub(super) fn turn(
        &self,
        server: &Server,
        target: &Target,
        round: u32,
        load: impl FnOnce() -> Result<Done, BenchError>,
    ) -> Result<Sample, BenchError> {
        let name = &target.endpoint.name;
        let spent = || {
            let failed = BenchError::io(format!("what {name} and its server spend"));
            Spent::now(target, server.maria.process_id()).map_err(failed)
        };
        let before = spent()?;
        let done = load()?;
        let after = spent()?;
        let units = done.units as f64;
        let us = |part: fn(&Spent) -> Duration| {
            part(&after).saturating_sub(part(&before)).as_secs_f64() * 1e6 / units
        };
        let count = |part: fn(&Spent) -> u64| part(&after).saturating_sub(part(&before)) as f64 / units;
        Ok(Sample {
            row: self.row,
            target: name.clone(),
            round,
            units: done.units,
            seconds: done.seconds,
            proxy_us: us(|spent| spent.proxy),
            server_us: us(|spent| spent.server),
            client_us: us(|spent| spent.client),
            proxy_switches: count(|spent| spent.proxy_switches),
            server_switches: count(|spent| spent.server_switches),
            more: done.more,
        })
    }
}

/// A load of sysbench, with its 99th percentile.
pub(super) fn sysbench(
    client: &Sysbench,
    load: &Load,
) -> impl Fn(&Target, Duration) -> Result<Done, BenchError> {
    move |target, duration| {
        let run = client.run(target.place(), duration, load)?;
        let p99 = run.latencies.percentile(0.99);
        Ok(Done {
            units: run.queries,
            seconds: run.seconds,
            more: p99.map(|p99| ("p99_ms", p99)).into_iter().collect(),
        })
    }
}
