//! Large results.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::checks::{Bound, Check};
use super::clients::cpu;
use super::samples::{by_round, of_target};
use super::stage::{Cores, Stage};
use super::targets::{DIRECT, FLOOR, HAPROXY, PROXYSQL, SHARDWRIGHT, Target};
use super::threads::failed;
use super::turns::{Done, sysbench};
use super::{Outcome, Row};
use crate::BenchError;
use crate::group_status::resident_kib;
use crate::sysbench::Scripts;
use crate::wire_client::{ClientError, Security, WireClient};

/// Clients that ask for results.
const CLIENTS: u32 = 4;
/// With 200 bytes each.
const ROWS: u32 = 1_000;
/// The same, in one result.
const MANY_ROWS: u64 = 2_000_000;

pub(super) const LARGE: Row = Row {
    name: "result-200k",
    about: "results of 1,000 rows with 200 bytes, by 4 clients on all cores; floor and proxy read 64 KiB at most",
    unit: "result",
    measure: large,
};

pub(super) const LONG: Row = Row {
    name: "rows-2m",
    about: "one result of 2,000,000 rows with 200 bytes; server, proxy and client on one core",
    unit: "row",
    measure: long,
};

fn large(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, CLIENTS, 1_000)?;
    let targets = stage.proxies(&server)?;
    let scripts = Scripts::new()?;
    let load = scripts.results(ROWS);
    let samples = stage.turns(&server, &targets, sysbench(&server.client, &load))?;
    let over_floor = by_round(&samples, |round| {
        round.ratio(|sample| sample.proxy_us, SHARDWRIGHT, FLOOR)
    });
    let checks = vec![
        cpu(&samples, SHARDWRIGHT)
            .must(Bound::AtMost(65.0))
            .stretch(Bound::AtMost(55.0)),
        Check::of(format!("{SHARDWRIGHT}: CPU over the floor's"), over_floor).must(Bound::AtMost(1.0)),
        cpu(&samples, FLOOR),
        cpu(&samples, HAPROXY),
        cpu(&samples, PROXYSQL),
    ];
    Ok(Outcome { samples, checks })
}

fn long(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::One, 1, 1_000)?;
    let targets = stage.everybody(&server)?;
    let core = stage.plan.core as usize;
    let samples = stage.turns(&server, &targets, |target, _| read(target, core))?;
    let added = |target: &str| {
        let ns = by_round(&samples, |round| Some(round.added_us(target, DIRECT)? * 1e3));
        Check::of(format!("{target}: added per row, ns"), ns)
    };
    let grown = of_target(&samples, SHARDWRIGHT, |sample| sample.more[GROWN]);
    let checks = vec![
        added(SHARDWRIGHT)
            .must(Bound::AtMost(60.0))
            .stretch(Bound::AtMost(40.0)),
        Check::of(format!("{SHARDWRIGHT}: memory grown by a result, KiB"), grown).must(Bound::AtMost(0.0)),
        added(FLOOR),
        added(HAPROXY),
        added(PROXYSQL),
    ];
    Ok(Outcome { samples, checks })
}

const GROWN: &str = "grown KiB";

/// One result on a thread of that core, and what the target's resident set grew by.
fn read(target: &Target, core: usize) -> Result<Done, BenchError> {
    let resident = || resident_kib(target.endpoint.group).map_err(BenchError::io("resident set"));
    let before = resident()?;
    let seconds = thread::scope(|scope| {
        let reader = scope.spawn(|| -> Result<f64, ClientError> {
            let mut cores = CpuSet::new();
            cores.set(core).map_err(std::io::Error::from)?;
            sched_setaffinity(Pid::from_raw(0), &cores).map_err(std::io::Error::from)?;
            let mut client = WireClient::connect(target.endpoint.address, &Security::Plain)?;
            let start = Instant::now();
            let rows = client.ask(&format!("SELECT REPEAT('x', 200) FROM seq_1_to_{MANY_ROWS}"))?;
            assert_eq!(rows, MANY_ROWS, "every row arrives");
            let seconds = start.elapsed().as_secs_f64();
            client.close()?;
            Ok(seconds)
        });
        reader.join().expect("every row arrives")
    });
    let seconds = seconds.map_err(failed)?;
    let grown = resident()? as f64 - before as f64;
    Ok(Done {
        units: MANY_ROWS,
        seconds,
        more: BTreeMap::from([(GROWN, grown)]),
    })
}
