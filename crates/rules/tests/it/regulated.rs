//! Regulated throttles: levels, hold and what is unknown, and plants that answer the delay as servers do.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use shardwright_rules::throttle::{Backlog, Change, Pace, Reading, Regulator, Signal, SignalSource, Speed};
use shardwright_rules::{OnUnknown, Throttle};

fn three_and_one() -> Signal {
    Signal {
        source: SignalSource::ReplicationLag,
        start_above: 3000.0.into(),
        stop_below: 1000.0.into(),
    }
}

fn on_lag(from_ms: u32, to_ms: u32) -> Throttle {
    Throttle {
        from_ms,
        to_ms,
        signal: Some(three_and_one()),
        hold_ms: 0,
        on_unknown: OnUnknown::Hold,
        max_concurrent: None,
        ends_at_s: None,
    }
}

/// What a throttle does as its signal is read once a second: `+` it has started, `-` it has stopped, `.` nothing.
fn story(throttle: &Throttle, readings: &[Option<f64>]) -> String {
    let mut regulator = Regulator::default();
    let look = |(second, reading): (usize, &Option<f64>)| {
        let reading = reading.map_or(Reading::Unknown, Reading::of);
        match regulator.look(throttle, Duration::from_secs(second as u64), reading) {
            Some(Change::Started) => '+',
            Some(Change::Stopped | Change::Released) => '-',
            None => '.',
        }
    };
    readings.iter().enumerate().map(look).collect()
}

#[test]
fn it_starts_above_one_level_and_stops_below_another() {
    let readings = [0.0, 3000.0, 3001.0, 2000.0, 1000.0, 999.0, 2999.0, 4000.0].map(Some);
    assert_eq!(story(&on_lag(5, 5), &readings), "..+..-.+");
}

#[test]
fn it_stays_in_a_state_for_the_time_of_hold() {
    let throttle = Throttle {
        hold_ms: 3000,
        ..on_lag(5, 5)
    };
    let readings = [0.0, 9000.0, 0.0, 0.0, 0.0, 9000.0, 9000.0, 9000.0].map(Some);
    assert_eq!(story(&throttle, &readings), ".+..-..+");
}

#[test]
fn a_signal_that_is_lost_ends_no_throttle_unless_it_says_release() {
    let readings = [
        Some(9000.0),
        None,
        None,
        Some(f64::NAN),
        Some(2000.0),
        None,
        Some(500.0),
    ];
    assert_eq!(story(&on_lag(5, 5), &readings), "+.....-");
    let releases = Throttle {
        on_unknown: OnUnknown::Release,
        ..on_lag(5, 5)
    };
    assert_eq!(story(&releases, &readings), "+-.....");
}

#[test]
fn a_lower_bound_can_start_a_throttle_and_not_stop_it() {
    let throttle = on_lag(5, 50);
    let mut regulator = Regulator::default();
    let mut look = |second, reading| regulator.look(&throttle, Duration::from_secs(second), reading);
    assert_eq!(look(0, Reading::AtLeast(0.0)), None);
    assert_eq!(look(1, Reading::AtLeast(5000.0)), Some(Change::Started));
    assert_eq!(look(2, Reading::AtLeast(0.0)), None);
    assert_eq!(look(3, Reading::of(0.0)), Some(Change::Stopped));
}

/// A lag and an outlook, ms, of writers that have written so much and may write so much in a second.
fn waiting(value: f64, outlook: f64, written: f64, may_per_s: f64) -> Reading {
    Reading::Known {
        value,
        outlook: Some(outlook),
        pace: Some(Pace {
            written,
            age: Duration::ZERO,
            may_per_s,
        }),
    }
}

#[test]
fn it_starts_by_what_waits_and_stops_when_nothing_does() {
    let throttle = on_lag(5, 5);
    let mut regulator = Regulator::default();
    let mut look = |second, value, outlook| {
        let reading = waiting(value, outlook, 0.0, 100.0);
        regulator.look(&throttle, Duration::from_secs(second), reading)
    };
    // A burst of which nobody knows how fast it is applied.
    assert_eq!(look(0, 999.0, 60_000.0), None);
    assert_eq!(look(1, 1000.0, 3000.0), None);
    assert_eq!(look(2, 1000.0, 3001.0), Some(Change::Started));
    assert_eq!(look(3, 500.0, 1000.0), None);
    assert_eq!(look(4, 500.0, 999.0), Some(Change::Stopped));
}

#[test]
fn a_range_of_delays_stops_when_it_has_been_of_no_use_for_five_seconds() {
    let throttle = on_lag(1, 500);
    let mut regulator = Regulator::default();
    let mut written = 0.0;
    let mut look = |tick: u32, lag, writes_per_s: f64| {
        written += writes_per_s / 10.0;
        let change = regulator.look(&throttle, TICK * tick, waiting(lag, lag, written, 400.0));
        (change, regulator.delay())
    };
    assert_eq!(look(0, 3500.0, 800.0).0, Some(Change::Started));
    for tick in 1..20 {
        assert_eq!(look(tick, 2000.0, 800.0).0, None);
    }
    // Writers that keep their pace: the throttle keeps the lag low, and it would not stay so without.
    for tick in 20..100 {
        let (change, delay) = look(tick, 500.0, 400.0);
        assert_eq!(change, None);
        assert!(delay > Duration::from_millis(2), "{delay:?}");
    }
    // Writers that write less than they may: the delay is down within a second, and five seconds later it is over.
    let stopped = (100..200).find(|tick| look(*tick, 500.0, 100.0).0 == Some(Change::Stopped));
    assert!(
        stopped.is_some_and(|tick| (150..170).contains(&tick)),
        "{stopped:?}"
    );
}

#[test]
fn another_writer_is_measured_anew() {
    let throttle = on_lag(1, 500);
    let mut regulator = Regulator::default();
    let mut look = |tick: u32, written| {
        regulator.look(&throttle, TICK * tick, waiting(2000.0, 3500.0, written, 400.0));
        regulator.delay()
    };
    let mut written = 0.0;
    for tick in 0..10 {
        written += 80.0;
        look(tick, written);
    }
    let steady: Vec<Duration> = (10..100)
        .map(|tick| {
            written += 40.0;
            look(tick, written)
        })
        .collect();
    let steady = steady[steady.len() - 1];
    assert!(steady > Duration::from_millis(2), "{steady:?}");
    // Its numbers begin at 0: that is no time in which nothing was written.
    for tick in 100..110 {
        let delay = look(tick, f64::from(tick - 100) * 40.0);
        let part = delay.as_secs_f64() / steady.as_secs_f64();
        assert!((0.99..1.01).contains(&part), "{delay:?} after {steady:?}");
    }
}

#[test]
fn a_throttle_that_is_written_anew_goes_on_within_its_new_range() {
    let mut regulator = Regulator::default();
    regulator.look(&on_lag(100, 100), Duration::ZERO, Reading::of(9000.0));
    let taken = regulator.taken_over_by(&on_lag(1, 20));
    assert!(taken.is_started());
    assert_eq!(taken.delay(), Duration::from_millis(20));
    let without_signal = Throttle {
        signal: None,
        ..on_lag(1, 20)
    };
    assert!(!regulator.taken_over_by(&without_signal).is_started());
}

/// How often a throttle is looked at.
const TICK: Duration = Duration::from_millis(100);

/// Clients that write one transaction after the other, and wait in between as the throttle says; a replica that applies
/// at a steady rate.
struct Replica {
    clients: f64,
    /// Time of a transaction at the primary.
    takes_s: f64,
    applies_per_s: f64,
    written: f64,
    applied: f64,
    /// When how much was written.
    history: VecDeque<(f64, f64)>,
    now_s: f64,
    /// How unevenly it is seen to apply, look by look, as a share.
    uneven: f64,
    speed: Speed,
    applied_at_look: f64,
}

impl Replica {
    fn new(clients: f64, takes_s: f64, overload: f64) -> Self {
        Self {
            clients,
            takes_s,
            applies_per_s: clients / takes_s / overload,
            written: 0.0,
            applied: 0.0,
            history: VecDeque::new(),
            now_s: 0.0,
            uneven: 0.0,
            speed: Speed::default(),
            applied_at_look: 0.0,
        }
    }

    /// Between -1 and 1, another one at each time.
    fn chance(&self) -> f64 {
        let mixed = self.now_s.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn tick(&mut self, delay: Duration) {
        let tick_s = TICK.as_secs_f64();
        self.history.push_back((self.now_s, self.written));
        self.now_s += tick_s;
        self.written += self.clients / (self.takes_s + delay.as_secs_f64()) * tick_s;
        self.applied = (self.applied + self.applies_per_s * tick_s).min(self.written);
        while self
            .history
            .get(1)
            .is_some_and(|(_, written)| *written <= self.applied)
        {
            self.history.pop_front();
        }
    }

    fn lag_s(&self) -> f64 {
        let behind = self.written - self.applied;
        self.history
            .front()
            .filter(|_| behind > 0.001)
            .map_or(0.0, |(at, _)| self.now_s - at)
    }

    fn known(&mut self) -> Reading {
        let applied = (self.applied - self.applied_at_look) * (1.0 + self.uneven * self.chance());
        self.applied_at_look = self.applied;
        self.speed
            .add(applied, TICK, Duration::from_secs_f64(self.lag_s()));
        let backlog = self.speed.per_s().map(|applied_per_s| Backlog {
            transactions: self.written - self.applied,
            applied_per_s,
        });
        Reading::Known {
            value: self.lag_s() * 1000.0,
            outlook: backlog.and_then(|backlog| backlog.outlook_ms()),
            pace: backlog.map(|backlog| Pace {
                written: self.written,
                age: Duration::ZERO,
                may_per_s: backlog.may_per_s(&three_and_one()),
            }),
        }
    }

    /// As `SHOW REPLICA STATUS` says it.
    fn in_whole_seconds(&mut self) -> Reading {
        Reading::of(self.lag_s().floor() * 1000.0)
    }
}

/// What has become of a replica that was overloaded for 240 s.
struct Trial {
    /// The greatest lag after 120 s, s.
    worst_s: f64,
    starts: usize,
    /// The longest statement of the last 60 s, its delay included, in parts of the shortest.
    swing: f64,
    /// What was written in the last 60 s, in parts of what the replica can apply.
    used: f64,
}

fn trial(mut replica: Replica, throttle: &Throttle, reading: fn(&mut Replica) -> Reading) -> Trial {
    const SECONDS: usize = 240;
    let ticks_per_s = (1.0 / TICK.as_secs_f64()) as usize;
    let mut regulator = Regulator::default();
    let mut trial = Trial {
        worst_s: 0.0,
        starts: 0,
        swing: 1.0,
        used: 0.0,
    };
    let (mut least, mut greatest, mut written) = (f64::MAX, 0.0_f64, 0.0);
    for tick in 0..SECONDS * ticks_per_s {
        let at_s = tick as f64 * TICK.as_secs_f64();
        let change = regulator.look(throttle, TICK * tick as u32, reading(&mut replica));
        trial.starts += usize::from(change == Some(Change::Started));
        let delay = match regulator.is_started() {
            true => regulator.delay(),
            false => Duration::ZERO,
        };
        replica.tick(delay);
        if at_s > 120.0 {
            trial.worst_s = trial.worst_s.max(replica.lag_s());
        }
        if at_s < SECONDS as f64 - 60.0 {
            written = replica.written;
            continue;
        }
        let takes_s = replica.takes_s + delay.as_secs_f64();
        least = least.min(takes_s);
        greatest = greatest.max(takes_s);
    }
    trial.swing = greatest / least;
    trial.used = (replica.written - written) / (replica.applies_per_s * 60.0);
    trial
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// With an outlook, lag comes back, stays, and the delay comes to rest.
    #[test]
    fn lag_returns_and_stays(
        clients in 1_u32..64,
        takes_ms in 0.2_f64..20.0,
        overload in 1.1_f64..6.0,
        from_ms in 0_u32..2,
        uneven in 0.0_f64..0.1,
    ) {
        let rests_at_ms = takes_ms * (overload - 1.0);
        prop_assume!(rests_at_ms > 1.2 * f64::from(from_ms).max(0.1));
        let replica = Replica {
            uneven,
            ..Replica::new(clients.into(), takes_ms / 1000.0, overload)
        };
        let trial = trial(replica, &on_lag(from_ms, 500), Replica::known);
        prop_assert!(trial.worst_s <= 4.0, "{}", trial.worst_s);
        prop_assert_eq!(trial.starts, 1);
        prop_assert!(trial.used > 0.97, "{}", trial.used);
        prop_assert!(trial.swing < 2.0, "{}", trial.swing);
    }

    /// Clients that wait much longer by themselves than the first delays slow them: the lag does not grow far beyond its level.
    #[test]
    fn a_small_first_delay_grows_in_time(
        clients in 1_u32..64,
        takes_ms in 1.0_f64..250.0,
        overload in 1.1_f64..1.35,
        uneven in 0.0_f64..0.1,
    ) {
        let mut replica = Replica {
            uneven,
            ..Replica::new(clients.into(), takes_ms / 1000.0, overload)
        };
        let mut regulator = Regulator::default();
        let mut worst_s = 0.0_f64;
        for tick in 0..1_200 {
            regulator.look(&on_lag(1, 500), TICK * tick, replica.known());
            replica.tick(regulator.delay());
            worst_s = worst_s.max(replica.lag_s());
        }
        prop_assert!(worst_s <= 5.2, "{} s", worst_s);
    }

    /// After a minute in which more was written than is applied, the lag is back within another one, also where clients wait
    /// longer between two writes than the throttle delays them at first.
    #[test]
    fn the_backlog_of_a_minute_is_worked_off_in_a_minute(
        clients in 1_u32..64,
        takes_ms in 1.0_f64..200.0,
        overload in 1.1_f64..1.4,
        uneven in 0.0_f64..0.1,
    ) {
        let throttle = on_lag(1, 500);
        let mut replica = Replica {
            uneven,
            ..Replica::new(clients.into(), takes_ms / 1000.0, overload)
        };
        let a_minute = 60 * 1000 / TICK.as_millis() as u32;
        for _ in 0..a_minute {
            replica.tick(Duration::ZERO);
        }
        prop_assume!(replica.lag_s() > 3.0);
        let mut regulator = Regulator::default();
        let is_back = (0..a_minute).any(|tick| {
            regulator.look(&throttle, TICK * tick, replica.known());
            replica.tick(regulator.delay());
            replica.lag_s() <= 3.0
        });
        prop_assert!(is_back, "{} s", replica.lag_s());
    }

    /// In whole seconds and without an outlook, what is seen is as late as the lag is long: the delay swings, within bounds.
    #[test]
    fn lag_in_whole_seconds_returns(clients in 1_u32..64, takes_ms in 0.2_f64..20.0, overload in 1.1_f64..2.0) {
        prop_assume!(takes_ms * (overload - 1.0) > 1.2);
        let replica = Replica::new(clients.into(), takes_ms / 1000.0, overload);
        let trial = trial(replica, &on_lag(1, 500), Replica::in_whole_seconds);
        prop_assert!(trial.worst_s <= 25.0, "{}", trial.worst_s);
        prop_assert!(trial.used > 0.6, "{}", trial.used);
    }

    /// A status variable that follows the delay, by any power of it, with noise.
    #[test]
    fn a_variable_comes_to_rest_between_its_levels(
        power in 0.3_f64..2.0,
        load in 1.2_f64..8.0,
        noise in prop::collection::vec(-0.03_f64..0.03, 600),
    ) {
        let throttle = Throttle {
            signal: Some(Signal {
                source: SignalSource::Status("Threads_running".into()),
                start_above: 64.0.into(),
                stop_below: 32.0.into(),
            }),
            ..on_lag(1, 10_000)
        };
        let mut regulator = Regulator::default();
        let mut value = 64.0 * load;
        let mut starts = 0;
        for (tick, noise) in noise.iter().enumerate() {
            let seen = value * (1.0 + noise);
            let change = regulator.look(&throttle, TICK * tick as u32, Reading::of(seen));
            starts += u32::from(change == Some(Change::Started));
            let delay_ms = if regulator.is_started() { regulator.delay().as_secs_f64() * 1000.0 } else { 0.0 };
            value = 64.0 * load / (1.0 + delay_ms / 10.0).powf(power);
        }
        prop_assert_eq!(starts, 1);
        prop_assert!((32.0..64.0).contains(&value), "{}", value);
    }

    /// Whatever is read: the delay is within its range while started, and 0 while stopped; no state is shorter than hold.
    #[test]
    fn the_delay_stays_within_its_range(
        readings in prop::collection::vec(prop_oneof![
            Just(None),
            any::<f64>().prop_map(Some),
            (0.0_f64..10_000.0).prop_map(Some),
        ], 1..200),
        steps_ms in prop::collection::vec(0_u64..3_000, 200),
        range in (0_u32..1_000, 0_u32..10_000),
        hold_ms in 0_u32..5_000,
    ) {
        let throttle = Throttle { hold_ms, ..on_lag(range.0, range.0 + range.1) };
        let mut regulator = Regulator::default();
        let (mut at, mut changed) = (Duration::ZERO, None);
        for (reading, step_ms) in readings.into_iter().zip(steps_ms) {
            at += Duration::from_millis(step_ms);
            let reading = reading.map_or(Reading::Unknown, Reading::of);
            if regulator.look(&throttle, at, reading).is_some() {
                let is_long_enough = changed.is_none_or(|since| at - since >= Duration::from_millis(hold_ms.into()));
                prop_assert!(is_long_enough);
                changed = Some(at);
            }
            let delay_ms = regulator.delay().as_secs_f64() * 1000.0;
            if regulator.is_started() {
                prop_assert!(delay_ms >= f64::from(throttle.from_ms) - 0.001);
                prop_assert!(delay_ms <= f64::from(throttle.to_ms) + 0.001);
            } else {
                prop_assert_eq!(delay_ms, 0.0);
            }
        }
    }
}
