//! More clients than cores, on all cores.

use super::checks::{Bound, Check};
use super::samples::{Sample, by_round, of_target};
use super::stage::{Cores, Stage};
use super::targets::{FLOOR, HAPROXY, PLENTY, PROXYSQL, SHARDWRIGHT, Target};
use super::turns::sysbench;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::sysbench::Load;

pub(super) const SIXTEEN: Row = Row {
    name: "clients-16",
    about: "point selects of 16 clients on all cores; a proxy has a thread for each core",
    unit: "statement",
    measure: |stage| {
        let samples = all(stage, 16)?;
        let mut checks = over(&samples, PROXYSQL, &[HAPROXY, FLOOR]);
        checks.insert(
            0,
            rate(&samples, SHARDWRIGHT, PROXYSQL)
                .must(Bound::AtLeast(1.25))
                .stretch(Bound::AtLeast(1.35)),
        );
        Ok(Outcome { samples, checks })
    },
};

pub(super) const SIXTY_FOUR: Row = Row {
    name: "clients-64",
    about: "the same with 64 clients",
    unit: "statement",
    measure: |stage| {
        let samples = all(stage, 64)?;
        let mut checks = over(&samples, PROXYSQL, &[HAPROXY, FLOOR]);
        checks.insert(0, rate(&samples, SHARDWRIGHT, HAPROXY).must(Bound::AtLeast(1.0)));
        checks.insert(
            1,
            rate(&samples, SHARDWRIGHT, PROXYSQL).stretch(Bound::AtLeast(1.15)),
        );
        Ok(Outcome { samples, checks })
    },
};

pub(super) const SHARED: Row = Row {
    name: "shared-10",
    about: "point selects of 16 clients on 10 connections to the server",
    unit: "statement",
    measure: shared,
};

fn all(stage: &Stage<'_>, clients: u32) -> Result<Vec<Sample>, BenchError> {
    let server = stage.server(Cores::All, clients, PLENTY)?;
    let targets = stage.everybody(&server)?;
    stage.turns(&server, &targets, sysbench(&server.client, &Load::text()))
}

/// Statements per second of `target` over those of `base`.
pub(super) fn rate(samples: &[Sample], target: &str, base: &str) -> Check {
    let over = by_round(samples, |round| round.ratio(Sample::per_second, target, base));
    Check::of(format!("{target}: statements/s over {base}'s"), over)
}

fn over(samples: &[Sample], base: &str, targets: &[&str]) -> Vec<Check> {
    targets.iter().map(|target| rate(samples, target, base)).collect()
}

/// Processor time of the proxy for a unit.
pub(super) fn cpu(samples: &[Sample], target: &str) -> Check {
    let us = of_target(samples, target, |sample| sample.proxy_us);
    Check::of(format!("{target}: CPU of the proxy, µs"), us)
}

fn shared(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    const CONNECTIONS: u32 = 10;
    let server = stage.server(Cores::All, 16, PLENTY)?;
    let mut targets: Vec<Target> = stage.proxysql(&server, CONNECTIONS)?.into_iter().collect();
    let setup = Setup {
        max_connections: Some(CONNECTIONS),
        ..Setup::default()
    };
    targets.push(stage.shardwright(&server, setup)?);
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &Load::text()))?;
    let checks = vec![
        cpu(&samples, SHARDWRIGHT)
            .must(Bound::AtMost(22.0))
            .stretch(Bound::AtMost(20.0)),
        cpu(&samples, PROXYSQL),
    ];
    Ok(Outcome { samples, checks })
}
