//! Many times the clients that a proxy serves best, with a limit of clients in the proxy.
//!
//! The knee is the number of clients with the most statements per second among those who do not wait long for each other: whose p99 is
//! at most four times that of one client. A proxy that lets in so many and refuses the others (`--max-connections`, error 1040) is
//! then asked by four and eight times as many. Who is refused tries again after a pause, as clients do.
//!
//! A knee by statements alone would be any number: where more clients are served together for less, the rate grows slowly for as long
//! as they wait longer, and what is measured then is how clients wait for each other without overload.
//!
//! The knee and the peak are found first, by the medians of three turns. Then both proxies take turns in each round: the open one
//! with one client and with those of the peak, the limited one with the many. Figures are compared inside a round. The most of
//! several single turns would be the luckiest of them, and no fair peak to compare another turn with.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use super::checks::{Bound, Check};
use super::samples::{Sample, of_target};
use super::stage::{Cores, Server, Stage};
use super::targets::Target;
use super::turns::Done;
use super::{Outcome, Row};
use crate::bundled::Setup;
use crate::wire_client::{ClientError, Security, WireClient, ids};
use crate::{BenchError, Summary};

pub(super) const OVERLOAD: Row = Row {
    name: "overload",
    about: "4 and 8 times the clients of the knee on a proxy that lets in those of the knee",
    unit: "statement",
    measure,
};

/// Numbers of clients among which the knee is looked for, beside one client. With one and two, what is served goes by where the system puts client,
/// proxy and server: on two cores the same two clients have half or twice as much from one turn to the next, and a proxy that lets in two
/// would be compared by that. Each is about √2 times the one before: where the next step is far above the knee, the clients that are too
/// many only wait for each other.
const STEPS: [u32; 9] = [4, 6, 8, 11, 16, 23, 32, 45, 64];
/// Turns of each of them. Two turns with one number of clients may differ more than those of one number and the next.
const TURNS: u32 = 3;
/// How many times as long as one client those of the knee may wait, by p99: less than those may wait who are let in under overload (five times).
const LONGER: f64 = 4.0;
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
    for round in 1..=TURNS {
        for clients in [1].into_iter().chain(STEPS) {
            samples.push(turn(
                stage,
                &server,
                &open,
                round,
                &clients_name(clients),
                clients,
            )?);
        }
    }
    let Clients { knee, peak } = Clients::of(&samples);
    let limited = Setup {
        most_clients: Some(knee),
        ..Setup::default()
    };
    let limited = stage.shardwright(&server, limited)?;
    let mut rounds: Vec<Compared> = Vec::new();
    for round in 1..=stage.plan.rounds {
        let mut one = |target: &Target, name: &str, clients: u32| {
            let sample = turn(stage, &server, target, round, name, clients)?;
            samples.push(sample.clone());
            Ok::<Sample, BenchError>(sample)
        };
        rounds.push(Compared {
            unloaded: one(&open, "unloaded", 1)?,
            peak: one(&open, "the peak, open", peak)?,
            overloaded: [
                one(&limited, &name(TIMES[0], knee), TIMES[0] * knee)?,
                one(&limited, &name(TIMES[1], knee), TIMES[1] * knee)?,
            ],
        });
    }
    let mut checks = vec![Check::of("the knee, clients", Summary::of([f64::from(knee)]))];
    for (at, times) in TIMES.into_iter().enumerate() {
        let check = |what: &str, figure: &dyn Fn(&Compared, &Sample) -> f64| {
            let figures = rounds.iter().map(|round| figure(round, &round.overloaded[at]));
            Check::of(format!("{}: {what}", name(times, knee)), Summary::of(figures))
        };
        checks.extend([
            check("statements/s over the peak", &|round, sample| {
                sample.per_second() / round.peak.per_second()
            })
            .must(Bound::AtLeast(0.8)),
            check("p99 of the admitted over unloaded", &|round, sample| {
                sample.more[P99] / round.unloaded.more[P99]
            })
            .must(Bound::AtMost(5.0)),
            check(REFUSED_WITHIN, &|_, sample| sample.more[REFUSED_WITHIN]).must(Bound::AtMost(100.0)),
            check("other errors", &|_, sample| sample.more["other errors"]).must(Bound::AtMost(0.0)),
        ]);
    }
    Ok(Outcome { samples, checks })
}

/// The turns of one round.
struct Compared {
    unloaded: Sample,
    peak: Sample,
    /// By [`TIMES`].
    overloaded: [Sample; 2],
}

fn name(times: u32, knee: u32) -> String {
    format!("{times} × {knee} clients")
}

fn clients_name(clients: u32) -> String {
    format!("{clients} clients")
}

/// How many clients the open proxy is asked by.
#[derive(Debug, PartialEq, Eq)]
struct Clients {
    knee: u32,
    /// Those with the most statements per second.
    peak: u32,
}

impl Clients {
    /// From turns of one client and of [`STEPS`], by the median of each.
    fn of(samples: &[Sample]) -> Self {
        let median = |clients: u32, figure: fn(&Sample) -> f64| {
            of_target(samples, &clients_name(clients), figure).map_or(0.0, |summary| summary.median)
        };
        let p99 = |clients: u32| median(clients, |sample| sample.more[P99]);
        let with_most = |steps: &[u32]| {
            let rate = |clients: &u32| median(*clients, Sample::per_second);
            let most = steps
                .iter()
                .max_by(|one, other| rate(one).total_cmp(&rate(other)));
            most.copied().unwrap_or(STEPS[0])
        };
        let longest = LONGER * p99(1);
        let soon_served: Vec<u32> = STEPS
            .into_iter()
            .filter(|clients| p99(*clients) <= longest)
            .collect();
        Self {
            knee: with_most(&soon_served),
            peak: with_most(&STEPS),
        }
    }
}

fn turn(
    stage: &Stage<'_>,
    server: &Server,
    target: &Target,
    round: u32,
    name: &str,
    clients: u32,
) -> Result<Sample, BenchError> {
    let mut sample = stage.turn(server, target, round, || {
        load(target, clients, stage.plan.duration)
    })?;
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
    for id in ids() {
        let start = Instant::now();
        if start >= end {
            break;
        }
        client.select(id)?;
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
    use std::iter::zip;

    use super::super::samples::tests::sample;
    use super::*;

    /// Turns of one client and of [`STEPS`], with what a statement takes and the p99 of each.
    fn turns(alone_ms: f64, steps: [(f64, f64); STEPS.len()]) -> Vec<Sample> {
        std::iter::once((1, (100.0, alone_ms)))
            .chain(zip(STEPS, steps))
            .map(|(clients, (us, p99))| {
                let mut sample = sample(1, &clients_name(clients), us, 1.0);
                sample.more.insert(P99, p99);
                sample
            })
            .collect()
    }

    const RATES_GROW: [(f64, f64); STEPS.len()] = [
        (48.0, 0.3),
        (40.0, 0.4),
        (33.0, 0.5),
        (34.0, 0.7),
        (31.0, 1.0),
        (30.0, 1.2),
        (27.0, 1.5),
        (26.0, 2.4),
        (32.0, 4.4),
    ];

    #[test]
    fn the_knee_has_the_most_statements_of_those_who_wait_shortly() {
        assert_eq!(
            Clients::of(&turns(0.2, RATES_GROW)),
            Clients { knee: 8, peak: 45 }
        );
        assert_eq!(
            Clients::of(&turns(0.3, RATES_GROW)),
            Clients { knee: 23, peak: 45 }
        );
    }

    #[test]
    fn where_all_wait_long_the_knee_is_the_least() {
        assert_eq!(
            Clients::of(&turns(0.01, RATES_GROW)),
            Clients { knee: 4, peak: 45 }
        );
    }

    #[test]
    fn percentiles_are_figures_that_were_measured() {
        let mut figures: Vec<u32> = (1..=200).rev().collect();
        assert_eq!(percentile(&mut figures, 0.99), 198.0);
        assert_eq!(percentile(&mut figures, 1.0), 200.0);
        assert_eq!(percentile(&mut [], 0.99), 0.0);
    }
}
