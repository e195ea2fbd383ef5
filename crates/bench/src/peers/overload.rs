//! Many times the clients that a proxy serves best, with a limit of clients in the proxy.
//!
//! The knee is the smallest number of clients that has 95 % of the most statements per second. A proxy that lets in so many
//! and refuses the others (`--max-connections`, error 1040) is then asked by four and eight times as many. Who is refused
//! tries again after a pause, as clients do.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::checks::{Bound, Check};
use super::samples::Sample;
use super::stage::{Cores, Server, Stage};
use super::targets::Target;
use super::turns::Done;
use super::{Outcome, Row};
use crate::BenchError;
use crate::bundled::Setup;
use crate::wire_client::{ClientError, Security, WireClient};

pub(super) const OVERLOAD: Row = Row {
    name: "overload",
    about: "4 and 8 times the clients of the knee on a proxy that lets in those of the knee",
    unit: "statement",
    measure,
};

/// Numbers of clients among which the knee is looked for.
const STEPS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Of the most statements per second.
const KNEE: f64 = 0.95;
const TIMES: [u32; 2] = [4, 8];
/// Between two attempts of a client that was refused.
const PAUSE: Duration = Duration::from_millis(100);
/// Too many connections.
const REFUSED: u16 = 1040;

const P99: &str = "p99_ms";
const REFUSED_WITHIN: &str = "refused within, ms";

fn measure(stage: &Stage<'_>) -> Result<Outcome, BenchError> {
    let server = stage.server(Cores::All, 1, 1_000)?;
    let open = stage.shardwright(&server, Setup::default())?;
    let mut samples = Vec::new();
    for clients in STEPS {
        samples.push(turn(
            stage,
            &server,
            &open,
            &format!("{clients} clients"),
            clients,
        )?);
    }
    let (knee, peak) = knee(&samples);
    let unloaded = samples[0].more[P99];
    let limited = Setup {
        most_clients: Some(knee),
        ..Setup::default()
    };
    let limited = stage.shardwright(&server, limited)?;
    let mut checks = vec![Check::of("the knee, clients", of_one(f64::from(knee)))];
    for times in TIMES {
        let name = format!("{times} × {knee} clients");
        let sample = turn(stage, &server, &limited, &name, times * knee)?;
        let one = |what: &str, figure: f64| Check::of(format!("{name}: {what}"), of_one(figure));
        checks.push(one("statements/s over the peak", sample.per_second() / peak).must(Bound::AtLeast(0.8)));
        checks.push(
            one("p99 of the admitted over unloaded", sample.more[P99] / unloaded).must(Bound::AtMost(5.0)),
        );
        checks.push(one(REFUSED_WITHIN, sample.more[REFUSED_WITHIN]).must(Bound::AtMost(100.0)));
        checks.push(one("other errors", sample.more["other errors"]).must(Bound::AtMost(0.0)));
        samples.push(sample);
    }
    Ok(Outcome { samples, checks })
}

fn of_one(figure: f64) -> Option<crate::Summary> {
    crate::Summary::of([figure])
}

/// Clients, and the most statements per second.
fn knee(samples: &[Sample]) -> (u32, f64) {
    let peak = samples.iter().map(Sample::per_second).fold(0.0, f64::max);
    let reached = STEPS
        .iter()
        .zip(samples)
        .find(|(_, sample)| sample.per_second() >= KNEE * peak);
    (reached.map_or(STEPS[0], |(clients, _)| *clients), peak)
}

fn turn(
    stage: &Stage<'_>,
    server: &Server,
    target: &Target,
    name: &str,
    clients: u32,
) -> Result<Sample, BenchError> {
    let mut sample = stage.turn(server, target, 1, || load(target, clients, stage.plan.duration))?;
    name.clone_into(&mut sample.target);
    (stage.progress)(&format!(
        "  {name}: {:.0}/s, {:?}",
        sample.per_second(),
        sample.more
    ));
    Ok(sample)
}

/// What one client has seen.
#[derive(Default)]
struct Seen {
    /// How long statements took, in microseconds.
    statements: Vec<u32>,
    /// How long refusals took, in microseconds.
    refusals: Vec<u32>,
    others: u32,
}

fn load(target: &Target, clients: u32, duration: Duration) -> Result<Done, BenchError> {
    let all = Mutex::new(Seen::default());
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let seen = client(target, start + duration);
                let mut all = all.lock().expect("nothing panics with it");
                all.statements.extend(seen.statements);
                all.refusals.extend(seen.refusals);
                all.others += seen.others;
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let mut all = all.into_inner().expect("nothing panics with it");
    if all.statements.is_empty() {
        return Err(BenchError::Output {
            what: format!("{}: no statement was answered", target.endpoint.name),
            output: format!(
                "{} clients refused, {} other errors",
                all.refusals.len(),
                all.others
            ),
        });
    }
    Ok(Done {
        units: all.statements.len() as u64,
        seconds,
        more: BTreeMap::from([
            (P99, percentile(&mut all.statements, 0.99) / 1e3),
            ("refused", all.refusals.len() as f64),
            (REFUSED_WITHIN, percentile(&mut all.refusals, 1.0) / 1e3),
            ("other errors", f64::from(all.others)),
        ]),
    })
}

/// A client until that moment.
fn client(target: &Target, end: Instant) -> Seen {
    let mut seen = Seen::default();
    while Instant::now() < end {
        let start = Instant::now();
        let asked = WireClient::connect(target.endpoint.address, &Security::Plain)
            .and_then(|client| ask(client, end, &mut seen.statements));
        match asked {
            Ok(()) => {}
            Err(error) if error.code() == Some(REFUSED) => {
                seen.refusals.push(us(start));
                thread::sleep(PAUSE);
            }
            Err(_) => seen.others += 1,
        }
    }
    seen
}

fn ask(mut client: WireClient, end: Instant, statements: &mut Vec<u32>) -> Result<(), ClientError> {
    let mut id = 1;
    while Instant::now() < end {
        let start = Instant::now();
        id = id * 31 % 10_007;
        client.ask(&format!("SELECT c FROM sbtest1 WHERE id={id}"))?;
        statements.push(us(start));
    }
    client.close()
}

fn us(start: Instant) -> u32 {
    u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX)
}

/// The figure that a share of all does not exceed; 0 without any.
fn percentile(figures: &mut [u32], share: f64) -> f64 {
    figures.sort_unstable();
    let at = ((figures.len() as f64 * share).ceil() as usize).max(1);
    figures.get(at - 1).map_or(0.0, |figure| f64::from(*figure))
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::sample;
    use super::*;

    #[test]
    fn the_knee_is_the_fewest_clients_with_nearly_the_most() {
        let us = [40.0, 30.0, 21.0, 20.0, 20.5, 22.0, 30.0];
        let samples: Vec<Sample> = us.map(|us| sample(1, "clients", us, 1.0)).into();
        assert_eq!(knee(&samples), (4, 50_000.0));
    }

    #[test]
    fn percentiles_are_figures_that_were_measured() {
        let mut figures: Vec<u32> = (1..=200).rev().collect();
        assert_eq!(percentile(&mut figures, 0.99), 198.0);
        assert_eq!(percentile(&mut figures, 1.0), 200.0);
        assert_eq!(percentile(&mut [], 0.99), 0.0);
    }
}
