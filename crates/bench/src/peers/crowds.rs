//! Very many clients: most of them idle, or all of them at once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::checks::{Bound, Check};
use super::samples::of_target;
use super::stage::{Cores, Stage};
use super::targets::{PROXYSQL, SHARDWRIGHT, Target};
use super::turns::Done;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::sysbench::{Load, Sysbench};
use crate::wire_client::{Security, WireClient};

/// Connections to the server.
const SHARED: u32 = 100;
/// Threads that open and ask connections.
const THREADS: u32 = 50;
const ERRORS: &str = "errors";
const SELECT: &str = "SELECT c FROM sbtest1 WHERE id=5000";

pub(super) const IDLE: Row = Row {
    name: "crowd-10000",
    about: "10,000 clients connect and wait while 200 others select as fast as they can; then each of them asks once",
    unit: "statement",
    measure: |stage| {
        without_errors(stage, 200, |target, client, duration| {
            idle(target, client, duration)
        })
    },
};

pub(super) const BURST: Row = Row {
    name: "burst",
    about: "5,000 clients connect within 5 s, evenly, select once and stay",
    unit: "connection",
    measure: |stage| without_errors(stage, 1, |target, _, _| Ok(burst(target))),
};

const IDLE_CLIENTS: u32 = 10_000;
const BURST_CLIENTS: u32 = 5_000;
const BURST_WITHIN: Duration = Duration::from_secs(5);

/// One round: connections that have to be opened are the larger part of it.
fn without_errors(
    stage: &Stage<'_>,
    threads: u32,
    load: impl Fn(&Target, &Sysbench, Duration) -> Result<Done, BenchError>,
) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, threads, 1_000)?;
    let mut targets: Vec<Target> = stage.proxysql(&server, SHARED)?.into_iter().collect();
    let setup = Setup {
        max_connections: Some(SHARED),
        ..Setup::default()
    };
    targets.push(stage.shardwright(&server, setup)?);
    let mut samples = Vec::new();
    for target in &targets {
        let run = || load(target, &server.client, stage.plan.duration);
        let sample = stage.turn(&server, target, 1, run)?;
        (stage.progress)(&format!("  {}: {:?}", sample.target, sample.more));
        samples.push(sample);
    }
    let errors = |target: &str| {
        let errors = of_target(&samples, target, |sample| sample.more[ERRORS]);
        Check::of(format!("{target}: errors"), errors)
    };
    let checks = vec![errors(SHARDWRIGHT).must(Bound::AtMost(0.0)), errors(PROXYSQL)];
    Ok(Outcome { samples, checks })
}

fn idle(target: &Target, client: &Sysbench, duration: Duration) -> Result<Done, BenchError> {
    let (mut waiting, refused) = opened(target, IDLE_CLIENTS, |_| Duration::ZERO);
    let run = client.run(target.endpoint.address, duration, &Load::text());
    let dead = asked(&mut waiting);
    let errors = refused + dead;
    // A statement of the active ones that fails ends them all.
    let run = run.inspect_err(|_| drop(waiting))?;
    let p99 = run.latencies.percentile(0.99).unwrap_or(f64::NAN);
    Ok(Done {
        units: run.queries,
        seconds: run.seconds,
        more: BTreeMap::from([(ERRORS, f64::from(errors)), ("p99_ms", p99)]),
    })
}

fn burst(target: &Target) -> Done {
    let start = Instant::now();
    let due = |number: u32| BURST_WITHIN * number / BURST_CLIENTS;
    let slowest = Mutex::new(Duration::ZERO);
    let (waiting, refused) = opened(target, BURST_CLIENTS, |number| {
        let late = start.elapsed().saturating_sub(due(number));
        let mut slowest = slowest.lock().expect("nothing panics with it");
        *slowest = (*slowest).max(late);
        due(number).saturating_sub(start.elapsed())
    });
    drop(waiting);
    let late = slowest.into_inner().expect("nothing panics with it");
    Done {
        units: u64::from(BURST_CLIENTS),
        seconds: start.elapsed().as_secs_f64(),
        more: BTreeMap::from([
            (ERRORS, f64::from(refused)),
            ("begun late, ms", late.as_secs_f64() * 1e3),
        ]),
    }
}

/// Connections that have asked once, and how many were not to be had. `wait` says how long until a connection is due.
fn opened(target: &Target, clients: u32, wait: impl Fn(u32) -> Duration + Sync) -> (Vec<WireClient>, u32) {
    let (next, refused) = (AtomicU32::new(0), AtomicU32::new(0));
    let open = || {
        let mut own = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= clients {
                return own;
            }
            thread::sleep(wait(number));
            let connected = WireClient::connect(target.endpoint.address, &Security::Plain)
                .and_then(|mut client| client.ask(SELECT).map(|_| client));
            match connected {
                Ok(mut client) => {
                    client.rest();
                    own.push(client);
                }
                Err(_) => {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    };
    let clients = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(open)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("a client has nothing that panics"))
            .collect()
    });
    (clients, refused.into_inner())
}

/// Asks each once more; how many had no answer. Many are asked at a time: a proxy that looks at all its connections for each
/// statement takes milliseconds for one.
fn asked(waiting: &mut [WireClient]) -> u32 {
    let share = waiting.len().div_ceil(THREADS as usize).max(1);
    let dead = |clients: &mut [WireClient]| {
        let answers = clients.iter_mut().map(|client| client.ask(SELECT));
        answers.filter(Result::is_err).count()
    };
    let dead: usize = thread::scope(|scope| {
        let threads: Vec<_> = waiting
            .chunks_mut(share)
            .map(|clients| scope.spawn(move || dead(clients)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a client has nothing that panics"))
            .sum()
    });
    u32::try_from(dead).unwrap_or(u32::MAX)
}
