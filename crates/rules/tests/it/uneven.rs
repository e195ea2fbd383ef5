//! Replicas that wait for their disks: they apply in bursts, now faster and now slower. A throttle on their lag, and beside it the loop
//! of a script that looks every two seconds.

use std::time::Duration;

use shardwright_rules::throttle::{Backlog, Pace, Reading, Regulator, Signal, SignalSource, Speed};
use shardwright_rules::{OnUnknown, Throttle};

const STEP_S: f64 = 0.01;
const STEPS_TO_A_LOOK: usize = 10;
const SECONDS: f64 = 120.0;
/// What comes before is not judged.
const SETTLED_S: f64 = 30.0;

fn throttle() -> Throttle {
    Throttle {
        from_ms: 1,
        to_ms: 500,
        signal: Some(Signal {
            source: SignalSource::ReplicationLag,
            start_above: 3000.0.into(),
            stop_below: 1000.0.into(),
        }),
        hold_ms: 0,
        on_unknown: OnUnknown::Hold,
        max_concurrent: None,
        ends_at_s: None,
    }
}

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, with a deviation of 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// How uneven a disk is.
#[derive(Clone, Copy, Debug)]
struct Unevenness {
    /// Of the logarithm of its speed, the deviation.
    deviation: f64,
    /// For how long it stays faster or slower, s.
    lasts_s: f64,
    /// How often it stands still, times in a second, and for how long at most, s.
    stalls: (f64, f64),
}

struct Replica {
    applied: f64,
    applied_at_look: f64,
    /// The logarithm of how much faster it is than usual.
    faster: f64,
    stands_still_s: f64,
    speed: Speed,
    /// What it could have applied.
    could_apply: f64,
}

/// Clients that write one statement in each interval at most, and later where they have to wait.
#[derive(Clone, Copy, Debug)]
struct Clients {
    count: f64,
    interval_s: f64,
    /// Time of a statement without a delay.
    takes_s: f64,
}

struct Plant {
    chance: Chance,
    uneven: Unevenness,
    clients: Clients,
    /// What replicas apply in a second on average, in parts of what clients write without a delay.
    applies_per_s: f64,
    now_s: f64,
    /// What was written at the end of each step.
    written: Vec<f64>,
    replicas: [Replica; 2],
}

impl Plant {
    fn new(seed: u64, uneven: Unevenness, clients: Clients, overload: f64) -> Self {
        let demand = clients.count / clients.interval_s.max(clients.takes_s);
        let replica = || Replica {
            applied: 0.0,
            applied_at_look: 0.0,
            faster: 0.0,
            stands_still_s: 0.0,
            speed: Speed::default(),
            could_apply: 0.0,
        };
        Self {
            chance: Chance(seed),
            uneven,
            clients,
            applies_per_s: demand / overload,
            now_s: 0.0,
            written: vec![0.0],
            replicas: [replica(), replica()],
        }
    }

    fn total(&self) -> f64 {
        self.written[self.written.len() - 1]
    }

    fn step(&mut self, delay: Duration) {
        let own_s = self.clients.takes_s + delay.as_secs_f64();
        let written = self.total() + self.clients.count / own_s.max(self.clients.interval_s) * STEP_S;
        self.written.push(written);
        self.now_s += STEP_S;
        let Unevenness {
            deviation,
            lasts_s,
            stalls: (stalls_per_s, longest_s),
        } = self.uneven;
        for replica in &mut self.replicas {
            let moved = deviation * (2.0 * STEP_S / lasts_s).sqrt() * self.chance.normal();
            replica.faster += moved - replica.faster * STEP_S / lasts_s;
            if self.chance.next() < stalls_per_s * STEP_S {
                replica.stands_still_s = longest_s * self.chance.next();
            }
            if replica.stands_still_s > 0.0 {
                replica.stands_still_s -= STEP_S;
                continue;
            }
            let applies = self.applies_per_s * replica.faster.exp() * STEP_S;
            replica.could_apply += applies;
            replica.applied = (replica.applied + applies).min(written);
        }
    }

    fn lag_s(&self, replica: &Replica) -> f64 {
        if self.total() - replica.applied < 0.5 {
            return 0.0;
        }
        let after = self
            .written
            .partition_point(|written| *written <= replica.applied);
        self.now_s - after.saturating_sub(1) as f64 * STEP_S
    }

    fn worst_lag_s(&self) -> f64 {
        self.replicas
            .iter()
            .map(|replica| self.lag_s(replica))
            .fold(0.0, f64::max)
    }

    /// What monitors see, every so many steps.
    fn reading(&mut self, signal: &Signal) -> Reading {
        let look = Duration::from_secs_f64(STEP_S * STEPS_TO_A_LOOK as f64);
        let written = self.total();
        let lags_s: [f64; 2] = std::array::from_fn(|at| self.lag_s(&self.replicas[at]));
        let replicas = self.replicas.iter_mut().zip(lags_s);
        let readings = replicas.map(|(replica, lag_s)| {
            let applied = replica.applied - replica.applied_at_look;
            replica.applied_at_look = replica.applied;
            replica.speed.add(applied, look, Duration::from_secs_f64(lag_s));
            let backlog = replica.speed.per_s().map(|applied_per_s| Backlog {
                transactions: written - replica.applied,
                applied_per_s,
            });
            Reading::Known {
                value: lag_s * 1000.0,
                outlook: backlog.and_then(|backlog| backlog.outlook_ms()),
                pace: backlog.map(|backlog| Pace {
                    written,
                    age: Duration::ZERO,
                    may_per_s: backlog.may_per_s(signal),
                }),
            }
        });
        readings.reduce(Reading::worst).unwrap()
    }
}

/// What slows clients.
#[derive(Clone, Copy, Debug)]
enum Policy {
    Regulated,
    /// Every 2 s: 500 ms above 3 s, 1 ms below 1 s.
    Loop,
}

/// What a time under a policy has come to.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    /// The share of the time with a lag above 3 s.
    above: f64,
    /// What was written, in parts of what the slower replica could have applied.
    used: f64,
}

fn trial(policy: Policy, mut plant: Plant) -> Figures {
    let throttle = throttle();
    let signal = throttle.signal.clone().unwrap();
    let mut regulator = Regulator::default();
    let mut delay = Duration::ZERO;
    let (mut looks, mut above) = (0.0, 0.0);
    let mut at_first = (0.0, [0.0; 2]);
    let could_apply =
        |plant: &Plant| -> [f64; 2] { std::array::from_fn(|at| plant.replicas[at].could_apply) };
    for step in 0..(SECONDS / STEP_S) as usize {
        let is_look = step % STEPS_TO_A_LOOK == 0;
        match policy {
            Policy::Regulated if is_look => {
                let reading = plant.reading(&signal);
                regulator.look(&throttle, Duration::from_secs_f64(plant.now_s), reading);
                delay = regulator.delay();
            }
            Policy::Loop if step % (20 * STEPS_TO_A_LOOK) == 0 => match plant.worst_lag_s() {
                lag_s if lag_s > 3.0 => delay = Duration::from_millis(500),
                lag_s if lag_s < 1.0 => delay = Duration::from_millis(1),
                _ => {}
            },
            Policy::Regulated | Policy::Loop => {}
        }
        plant.step(delay);
        if plant.now_s < SETTLED_S {
            at_first = (plant.total(), could_apply(&plant));
        } else if is_look {
            looks += 1.0;
            above += f64::from(u8::from(plant.worst_lag_s() > 3.0));
        }
    }
    let least = (0..2)
        .map(|at| could_apply(&plant)[at] - at_first.1[at])
        .fold(f64::MAX, f64::min);
    Figures {
        above: above / looks,
        used: (plant.total() - at_first.0) / least,
    }
}

/// The mean of some runs.
fn mean(policy: Policy, uneven: Unevenness, clients: Clients, overload: f64) -> Figures {
    const RUNS: u64 = 12;
    let trials = (0..RUNS).map(|seed| trial(policy, Plant::new(seed, uneven, clients, overload)));
    trials.fold(Figures::default(), |sum, figures| Figures {
        above: sum.above + figures.above / RUNS as f64,
        used: sum.used + figures.used / RUNS as f64,
    })
}

const STEADY: Unevenness = Unevenness {
    deviation: 0.0,
    lasts_s: 1.0,
    stalls: (0.0, 0.0),
};
/// As two replicas on one disk behaved beside other programs.
const SHARED_DISK: Unevenness = Unevenness {
    deviation: 0.3,
    lasts_s: 4.0,
    stalls: (0.3, 0.6),
};
const ROUGH: Unevenness = Unevenness {
    deviation: 0.5,
    lasts_s: 4.0,
    stalls: (0.3, 0.6),
};
const PACED: Clients = Clients {
    count: 4.0,
    interval_s: 0.005,
    takes_s: 0.0015,
};

/// A throttle keeps the lag down where a loop swings, and lets as many statements through.
fn check(uneven: Unevenness, clients: Clients, overload: f64, most_above: f64) {
    let regulated = mean(Policy::Regulated, uneven, clients, overload);
    let looped = mean(Policy::Loop, uneven, clients, overload);
    let said = format!("{uneven:?}, {clients:?}, overload {overload}: {regulated:?}, loop {looped:?}");
    assert!(regulated.above <= most_above, "{said}");
    assert!(regulated.above <= looped.above / 2.0, "{said}");
    assert!(regulated.used >= looped.used.min(1.0) - 0.02, "{said}");
}

#[test]
fn a_steady_disk_is_used_up() {
    let regulated = mean(Policy::Regulated, STEADY, PACED, 1.5);
    assert!(regulated.above <= 0.0 && regulated.used >= 0.98, "{regulated:?}");
}

#[test]
fn writers_at_a_pace_of_their_own() {
    check(SHARED_DISK, PACED, 1.4, 0.1);
    check(SHARED_DISK, PACED, 2.0, 0.1);
    check(ROUGH, PACED, 1.8, 0.2);
}

#[test]
fn writers_that_wait_for_nothing() {
    let clients = Clients {
        count: 64.0,
        interval_s: 0.0,
        takes_s: 0.02,
    };
    check(SHARED_DISK, clients, 2.0, 0.1);
}

#[test]
fn writers_that_mostly_wait_for_other_things() {
    let clients = Clients {
        count: 16.0,
        interval_s: 0.0,
        takes_s: 0.1,
    };
    check(SHARED_DISK, clients, 1.3, 0.15);
}

#[test]
fn few_statements_in_a_second() {
    let clients = Clients {
        interval_s: 0.1,
        ..PACED
    };
    check(SHARED_DISK, clients, 1.4, 0.15);
}

/// What was seen of a replica while it hardly applied does not hold writers up for good when it keeps up with them.
#[test]
fn a_replica_that_was_slow_is_measured_anew() {
    let throttle = throttle();
    let signal = throttle.signal.clone().unwrap();
    let mut plant = Plant::new(1, STEADY, PACED, 0.8);
    let look = Duration::from_millis(100);
    for replica in &mut plant.replicas {
        for _ in 0..100 {
            replica.speed.add(1.0, look, Duration::from_secs(1));
        }
    }
    let mut regulator = Regulator::default();
    regulator.look(&throttle, Duration::ZERO, Reading::of(9000.0));
    let mut written = 0.0;
    for step in 0..(60.0 / STEP_S) as usize {
        if step % STEPS_TO_A_LOOK == 0 {
            let reading = plant.reading(&signal);
            regulator.look(&throttle, look + Duration::from_secs_f64(plant.now_s), reading);
        }
        plant.step(regulator.delay());
        if plant.now_s < 50.0 {
            written = plant.total();
        }
    }
    assert!(!regulator.is_started());
    let part = (plant.total() - written) / (10.0 * PACED.count / PACED.interval_s);
    assert!(part > 0.99, "{part}");
}
