//! Inserts of many rows at a time.

use super::checks::{Bound, Check};
use super::clients::cpu;
use super::samples::{Sample, by_round};
use super::stage::{Cores, Stage};
use super::targets::{DIRECT, FLOOR, HAPROXY, PROXYSQL, SHARDWRIGHT};
use super::turns::sysbench;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::SCHEMA;
use crate::sysbench::Scripts;

/// Clients that insert.
const CLIENTS: u32 = 4;
/// Of one insert, with 100 bytes each.
const ROWS: u32 = 1_000;

pub(super) const BULK: Row = Row {
    name: "bulk-insert",
    about: "inserts of 1,000 rows with 100 bytes, by 4 clients on all cores (K6)",
    unit: "insert",
    measure: bulk,
};

fn bulk(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, CLIENTS, 1_000)?;
    server.maria.run(format!(
        "CREATE TABLE {SCHEMA}.bulk (id BIGINT PRIMARY KEY AUTO_INCREMENT, c CHAR(100) NOT NULL)"
    ))?;
    let targets = stage.everybody(&server)?;
    let scripts = Scripts::new()?;
    let load = scripts.bulk_inserts(ROWS);
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &load))?;
    let over_direct = |target: &str| {
        let share = by_round(&samples, |round| round.ratio(Sample::per_second, target, DIRECT));
        Check::of(
            format!("{target}: inserts/s over those of the server alone"),
            share,
        )
    };
    let checks = vec![
        over_direct(SHARDWRIGHT).must(Bound::AtLeast(0.95)),
        over_direct(FLOOR),
        over_direct(HAPROXY),
        over_direct(PROXYSQL),
        cpu(&samples, SHARDWRIGHT),
    ];
    Ok(Outcome { samples, checks })
}
