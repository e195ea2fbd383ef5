//! One connection on one core: what a proxy adds to a statement is what it and the kernel really do for it.

use super::checks::{Bound, Check};
use super::samples::by_round;
use super::stage::{Cores, Stage};
use super::targets::{DIRECT, FLOOR, HAPROXY, PLENTY, PROXYSQL, SHARDWRIGHT};
use super::turns::sysbench;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::sysbench::{Load, Scripts};

pub(super) const TEXT: Row = Row {
    name: "pinned-text",
    about: "point select, 1 connection; server, proxy and client on one core",
    unit: "statement",
    measure: |stage| over_floor(stage, &Load::text(), 1.12, 1.06),
};

pub(super) const PREPARED: Row = Row {
    name: "pinned-prepared",
    about: "the same, prepared",
    unit: "statement",
    measure: |stage| over_floor(stage, &Load::prepared(), 1.15, 1.08),
};

pub(super) const GROWTH: Row = Row {
    name: "growth",
    about: "the same with a key in a comment, without shards and with 10,000",
    unit: "statement",
    measure: growth,
};

fn over_floor(stage: &Stage<'_>, load: &Load, must: f64, stretch: f64) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::One, 1, PLENTY)?;
    let targets = stage.everybody(&server)?;
    let samples = stage.turns(&server, &targets, sysbench(&server.client, load))?;
    let added = |target: &str| {
        let over = by_round(&samples, |round| {
            Some(round.added_us(target, DIRECT)? / round.added_us(FLOOR, DIRECT)?)
        });
        Check::of(format!("{target}: added, over the floor's"), over)
    };
    let checks = vec![
        added(SHARDWRIGHT)
            .must(Bound::AtMost(must))
            .stretch(Bound::AtMost(stretch)),
        added(HAPROXY),
        added(PROXYSQL),
        Check::of(
            "floor: added, µs",
            by_round(&samples, |round| round.added_us(FLOOR, DIRECT)),
        ),
    ];
    Ok(Outcome { samples, checks })
}

fn growth(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    const SHARDS: u32 = 10_000;
    let names = ["no shards", "10,000 shards"];
    let server = stage.server(Cores::One, 1, PLENTY)?;
    let mut targets = Vec::new();
    for (name, shards) in names.into_iter().zip([0, SHARDS]) {
        let setup = Setup {
            shards,
            ..Setup::default()
        };
        targets.push(stage.shardwright(&server, setup)?.named(name));
    }
    let scripts = Scripts::new()?;
    let load = scripts.tenants(SHARDS);
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &load))?;
    let grown = by_round(&samples, |round| round.added_us(names[1], names[0]));
    let check = Check::of("10,000 shards: added to none, µs", grown)
        .must(Bound::AtMost(0.2))
        .stretch(Bound::AtMost(0.1));
    Ok(Outcome {
        samples,
        checks: vec![check],
    })
}
