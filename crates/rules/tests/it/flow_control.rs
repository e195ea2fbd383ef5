//! Throttles on Galera's flow control, and a cluster whose slowest member stops the others when its queue is full.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;
use shardwright_rules::throttle::{Change, Reading, Regulator, Signal, SignalSource};
use shardwright_rules::{OnUnknown, Throttle};

/// How often a throttle is looked at.
const TICK: Duration = Duration::from_millis(100);
/// How finely the queue is followed, s.
const STEP_S: f64 = 0.001;
/// Over what time the share is averaged, s.
const AVERAGED_OVER_S: f64 = 2.0;
/// The queue at which a member stops the others, and at which it lets them go on.
const LIMITS: (f64, f64) = (16.0, 8.0);

fn on_flow_control(to_ms: u32) -> Throttle {
    Throttle {
        from_ms: 1,
        to_ms,
        signal: Some(Signal {
            source: SignalSource::FlowControl,
            start_above: 0.005.into(),
            stop_below: 0.001.into(),
        }),
        hold_ms: 0,
        on_unknown: OnUnknown::Hold,
        max_concurrent: None,
        ends_at_s: None,
    }
}

/// Clients that write one transaction after the other, and wait in between as the throttle says; the slowest member.
struct Cluster {
    clients: f64,
    /// Time of a transaction where nothing holds it up.
    takes_s: f64,
    applies_per_s: f64,
    queue: f64,
    is_paused: bool,
    average: f64,
    written: f64,
    /// Delays that clients do not know of yet: they wait in flow control.
    delays: VecDeque<Duration>,
}

impl Cluster {
    /// A delay has an effect so many ticks late.
    fn new(clients: u32, takes_s: f64, overload: f64, late: usize) -> Self {
        let clients = f64::from(clients);
        Self {
            clients,
            takes_s,
            applies_per_s: clients / takes_s / overload,
            queue: 0.0,
            is_paused: false,
            average: 0.0,
            written: 0.0,
            delays: vec![Duration::ZERO; late].into(),
        }
    }

    /// What is known after a tick, and the share of flow control in it.
    fn tick(&mut self, delay: Duration) -> (Reading, f64) {
        self.delays.push_back(delay);
        let delay = self.delays.pop_front().unwrap_or_default();
        let steps = (TICK.as_secs_f64() / STEP_S) as u32;
        let mut paused = 0;
        for _ in 0..steps {
            let applied = self.queue.min(self.applies_per_s * STEP_S);
            self.queue -= applied;
            match self.is_paused {
                true => paused += 1,
                false => {
                    let written = self.clients / (self.takes_s + delay.as_secs_f64()) * STEP_S;
                    self.written += written;
                    self.queue += written;
                }
            }
            let limit = if self.is_paused { LIMITS.1 } else { LIMITS.0 };
            self.is_paused = self.queue > limit;
        }
        let share = f64::from(paused) / f64::from(steps);
        self.average += (share - self.average) * TICK.as_secs_f64() / AVERAGED_OVER_S;
        let reading = Reading::Known {
            value: self.average,
            outlook: Some(share),
            pace: None,
        };
        (reading, share)
    }
}

/// A throttle that slows the clients of a cluster.
struct Regulated {
    cluster: Cluster,
    regulator: Regulator,
    at: Duration,
    starts: u32,
}

impl Regulated {
    fn new(cluster: Cluster) -> Self {
        Self {
            cluster,
            regulator: Regulator::default(),
            at: Duration::ZERO,
            starts: 0,
        }
    }

    /// The share of the time in flow control, and what is written in parts of what the slowest member applies.
    fn run(&mut self, throttle: &Throttle, lasts_s: u32) -> (f64, f64) {
        let ticks = lasts_s * 10;
        let written = self.cluster.written;
        let mut paused = 0.0;
        for _ in 0..ticks {
            let (reading, share) = self.cluster.tick(self.regulator.delay());
            paused += share / f64::from(ticks);
            self.at += TICK;
            let change = self.regulator.look(throttle, self.at, reading);
            self.starts += u32::from(change == Some(Change::Started));
        }
        let used = (self.cluster.written - written) / (self.cluster.applies_per_s * f64::from(lasts_s));
        (paused, used)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Half a minute after the load has begun, flow control is rare, the throttle has not switched, and most of what the slowest
    /// member can apply is written.
    #[test]
    fn it_is_rare_and_the_slowest_member_is_used(
        clients in 1_u32..64,
        takes_ms in 0.5_f64..20.0,
        overload in 1.3_f64..40.0,
        late in 0_usize..5,
    ) {
        prop_assume!(takes_ms * (overload - 1.0) > 2.0);
        let cluster = Cluster::new(clients, takes_ms / 1000.0, overload, late);
        // Half a queue takes a slower member so long that the least flow control is more than a hundredth of half a minute.
        prop_assume!(cluster.applies_per_s > 40.0);
        let mut regulated = Regulated::new(cluster);
        let throttle = on_flow_control(5_000);
        regulated.run(&throttle, 30);
        let (paused, used) = regulated.run(&throttle, 240);
        prop_assert!(paused < 0.01, "{}", paused);
        prop_assert!(used > 0.7, "{}", used);
        prop_assert_eq!(regulated.starts, 1);
    }

    /// When the load has gone, so has the throttle after two minutes and a half.
    #[test]
    fn it_ends_after_the_load(takes_ms in 0.5_f64..20.0, overload in 1.3_f64..40.0) {
        prop_assume!(takes_ms * (overload - 1.0) > 2.0);
        let mut regulated = Regulated::new(Cluster::new(16, takes_ms / 1000.0, overload, 3));
        let throttle = on_flow_control(5_000);
        regulated.run(&throttle, 60);
        prop_assert!(regulated.regulator.is_started());
        regulated.cluster.clients = 0.0;
        regulated.run(&throttle, 150);
        prop_assert!(!regulated.regulator.is_started(), "{:?}", regulated.regulator.delay());
    }
}

#[test]
fn a_fixed_delay_ends_as_soon_as_flow_control_does() {
    let throttle = on_flow_control(1);
    let mut regulator = Regulator::default();
    let mut look = |second, share| regulator.look(&throttle, Duration::from_secs(second), Reading::of(share));
    assert_eq!(look(1, 0.5), Some(Change::Started));
    assert_eq!(look(2, 0.003), None);
    assert_eq!(look(3, 0.0), Some(Change::Stopped));
}
