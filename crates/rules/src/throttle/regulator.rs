//! What a throttle does at a moment: started or stopped, and how long statements wait.
//!
//! # Idea
//!
//! A throttle starts above one level of its signal and stops below another; between both it stays as it is. While it is
//! started, a range of delays is regulated so that the signal comes to rest between both levels: there, the throttle
//! slows no more than it must, and does not switch. The delay is moved on a logarithmic scale: from 1 ms to 2 ms is as far as from
//! 100 ms to 200 ms, and slows a client by as much.
//!
//! Lag answers late: what a replica applies now was written as long ago as the lag itself. Replicas apply unevenly besides. A delay that is
//! moved by lag overshoots and swings. So where it is known what waits on replicas and how fast they apply it, two loops follow each
//! other. What waits says how fast writers may write (`backlog.rs`). The delay follows how fast they write (`follow.rs`), which it changes
//! at once. The throttle starts by what waits too: when the lag of a replica with twice its load reaches 3 s, it is about to be 6 s.
//!
//! Where only the lag is known, and for status variables, the delay is moved by a proportional and an integral part: by how far the signal
//! has moved since the last look, and by how far it is from the middle; for lag the more slowly the greater it is. The
//! proportional part is about the average of some looks, and is bounded by itself. Otherwise steps that cancel each other out use up
//! what the delay may move at a time, and the integral part never acts.
//!
//! Flow control comes to rest nowhere between two levels: it is 0 as soon as the delay suffices. Its delay moves by
//! rules of its own (`backoff.rs`), and the throttle stops when the delay has come down to the least.
//!
//! # Invariants
//!
//! The delay is 0 while the throttle is stopped, and within its range while it is started. A signal that is not known
//! changes nothing, unless the throttle says `release`.
//!
//! # Example
//!
//! `replication_lag` 3 s and 1 s, `delay: {from: 1ms, to: 500ms}`. The lag gets to 1.5 s and the outlook above 3 s: started, 1 ms. The
//! delay doubles at each look until writers write less than the replica applies. The outlook falls to 1.8 s; the delay
//! stays near 14 ms, at which writers write as fast as the replica applies. The writers end: the delay falls to 1 ms, lag and outlook below
//! 1 s; after 5 s, it is stopped.

mod backoff;
mod follow;

use std::time::Duration;

use self::backoff::{Backoff, Pressure};
use self::follow::{Follow, Target};
use super::{Pace, Reading, Signal, SignalSource, Throttle};
use crate::OnUnknown;

/// From one look at what is known of a signal to the next.
pub const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest time between two looks that the delay is moved for.
const LONGEST_STEP: Duration = Duration::from_secs(1);
/// The delay at most doubles or halves in this time.
const DOUBLES_IN_S: f64 = 0.25;
/// The same where it follows how fast writers write.
const FOLLOWS_IN_S: f64 = 0.1;
/// The signal is averaged over this time for how far it has moved.
const SMOOTHED_OVER_S: f64 = 0.5;
/// How long a throttle that follows writers is of no use before it stops: the lag is low, and the delay is the least. Until then, writers that
/// write more again are slowed as soon as more waits than should. One that stops lets them write until the lag is on its way to the upper level.
const STOPS_AFTER: Duration = Duration::from_secs(5);
/// A delay of 0 cannot be doubled: this is where it begins, ms.
const LEAST_MS: f64 = 0.1;

/// What a throttle has come to, without its configuration.
#[derive(Clone, Debug, Default)]
pub struct Regulator {
    is_started: bool,
    /// When it started or stopped last; none: it has not started yet.
    since: Option<Duration>,
    /// Milliseconds; 0 while stopped.
    delay_ms: f64,
    /// When the signal was last known; its distance from the middle, averaged, or the share of flow control.
    last: Option<(Duration, f64)>,
    backoff: Backoff,
    follow: Follow,
    /// Since when it has been of no use.
    idle_since: Option<Duration>,
}

/// A throttle has started or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The signal is above `start_above`, or is about to be.
    Started,
    /// The signal is below `stop_below`, and stays there.
    Stopped,
    /// The signal is not known, and the throttle lets statements pass then.
    Released,
}

impl Regulator {
    /// Whether statements are slowed.
    #[must_use]
    pub fn is_started(&self) -> bool {
        self.is_started
    }

    /// How long a statement waits now.
    #[must_use]
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay_ms / 1000.0)
    }

    /// When it started or stopped last, on the clock of [`Regulator::look`].
    #[must_use]
    pub fn since(&self) -> Option<Duration> {
        self.since
    }

    /// The same state for a throttle whose configuration has changed: what is started stays started until the signal says
    /// otherwise, and without a signal there is nothing to start.
    #[must_use]
    pub fn taken_over_by(&self, throttle: &Throttle) -> Self {
        if throttle.signal.is_none() || !self.is_started {
            return Self::default();
        }
        Self {
            delay_ms: within(throttle, self.delay_ms),
            last: None,
            backoff: Backoff::default(),
            follow: Follow::default(),
            idle_since: None,
            ..self.clone()
        }
    }

    /// Takes up what is known of the signal of `throttle`. `at` is the time since any fixed moment, and does not go back.
    pub fn look(&mut self, throttle: &Throttle, at: Duration, reading: Reading) -> Option<Change> {
        let signal = throttle.signal.as_ref()?;
        let hold = Duration::from_millis(u64::from(throttle.hold_ms));
        let is_held = self.since.is_some_and(|since| at.saturating_sub(since) < hold);
        let verdict = verdict(signal, reading);
        let is_idle = verdict == Verdict::Low && self.delay_ms <= within(throttle, 0.0);
        self.idle_since = is_idle.then(|| self.idle_since.unwrap_or(at));
        let change = match verdict {
            Verdict::High if !self.is_started && !is_held => Some(Change::Started),
            Verdict::Low if self.is_started && !is_held && self.may_stop(throttle, signal, at, reading) => {
                Some(Change::Stopped)
            }
            Verdict::Unknown if self.is_started && throttle.on_unknown == OnUnknown::Release => {
                Some(Change::Released)
            }
            _ => None,
        };
        if let Some(change) = change {
            self.is_started = change == Change::Started;
            self.since = Some(at);
            self.last = None;
            self.backoff = Backoff::default();
            self.follow = Follow::default();
            self.idle_since = None;
            self.delay_ms = match self.is_started {
                true => within(throttle, f64::from(throttle.from_ms)),
                false => 0.0,
            };
        }
        self.regulate(throttle, signal, at, reading);
        change
    }

    /// Whether a low signal says that the throttle is needed no more. It does not where the throttle itself keeps it low.
    fn may_stop(&self, throttle: &Throttle, signal: &Signal, at: Duration, reading: Reading) -> bool {
        if signal.source == SignalSource::FlowControl {
            return self.idle_since.is_some();
        }
        let follows = matches!(reading, Reading::Known { pace: Some(_), .. });
        let is_long = |since: Duration| at.saturating_sub(since) >= STOPS_AFTER;
        !follows || throttle.from_ms >= throttle.to_ms || self.idle_since.is_some_and(is_long)
    }

    fn regulate(&mut self, throttle: &Throttle, signal: &Signal, at: Duration, reading: Reading) {
        if signal.source == SignalSource::FlowControl {
            return self.back_off(throttle, signal, at, reading);
        }
        let middle = (signal.start_above.get() + signal.stop_below.get()) / 2.0;
        let value = match reading {
            Reading::Known { pace: Some(pace), .. } => return self.follow(throttle, at, &pace),
            Reading::Known { value, .. } => value,
            // It cannot be lowered by what is only a lower bound.
            Reading::AtLeast(value) if value > middle => value,
            Reading::AtLeast(_) | Reading::Unknown => {
                self.last = None;
                return;
            }
        };
        self.follow = Follow::default();
        if !self.is_started {
            return;
        }
        let gains = Gains::of(signal, value);
        let distance = (value - middle) / gains.unit;
        let Some((before_at, before)) = self.last else {
            self.last = Some((at, distance));
            return;
        };
        let step_s = step_s(before_at, at);
        // What is measured is uneven: steps of it that cancel out must not use up what the delay may move.
        let smoothed = before + (distance - before) * (step_s / SMOOTHED_OVER_S).min(1.0);
        self.last = Some((at, smoothed));
        let most = most(step_s, DOUBLES_IN_S);
        let wanted = (gains.proportional * (smoothed - before)).clamp(-most, most)
            + gains.integral * distance.clamp(-gains.farthest, gains.farthest) * step_s;
        self.delay_ms = within(throttle, self.delay_ms * wanted.clamp(-most, most).exp());
    }

    /// Moves the delay to where writers keep a pace.
    fn follow(&mut self, throttle: &Throttle, at: Duration, pace: &Pace) {
        self.last = None;
        if !self.is_started {
            return;
        }
        let delay = within(throttle, self.delay_ms).ln();
        if let Some(Target {
            delay: wanted,
            step_s,
        }) = self.follow.target(at, pace, delay)
        {
            let most = most(step_s, FOLLOWS_IN_S);
            let moved = (wanted - delay).clamp(-most, most);
            self.delay_ms = within(throttle, (delay + moved).exp());
        }
    }

    /// Moves the delay by the share of flow control: by its last look where that says more than the average.
    fn back_off(&mut self, throttle: &Throttle, signal: &Signal, at: Duration, reading: Reading) {
        let Some(average) = reading.value().filter(|_| self.is_started) else {
            self.last = None;
            return;
        };
        let share = match reading {
            Reading::Known {
                outlook: Some(outlook),
                ..
            } => outlook,
            _ => average,
        };
        let Some((before_at, _)) = self.last.replace((at, share)) else {
            return;
        };
        let pressure = match (
            share > signal.start_above.get(),
            average < signal.stop_below.get(),
        ) {
            (true, _) => Pressure::TooMuch,
            (false, true) => Pressure::Little,
            (false, false) => Pressure::Allowed,
        };
        let step_s = step_s(before_at, at);
        let wanted = self.backoff.step(pressure, share, at, step_s);
        let most = most(step_s, DOUBLES_IN_S);
        self.delay_ms = within(throttle, self.delay_ms * wanted.clamp(-most, most).exp());
    }
}

/// The time from one look to the next that the delay is moved for.
fn step_s(before: Duration, at: Duration) -> f64 {
    at.saturating_sub(before).min(LONGEST_STEP).as_secs_f64()
}

/// The most that the logarithm of the delay moves in a time.
fn most(step_s: f64, doubles_in_s: f64) -> f64 {
    std::f64::consts::LN_2 * step_s / doubles_in_s
}

/// A delay within the range of a throttle.
fn within(throttle: &Throttle, delay_ms: f64) -> f64 {
    let to = f64::from(throttle.to_ms);
    let least = f64::from(throttle.from_ms).max(LEAST_MS);
    delay_ms.clamp(least.min(to), to)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    High,
    Low,
    /// Between both levels.
    Between,
    Unknown,
}

fn verdict(signal: &Signal, reading: Reading) -> Verdict {
    let (start, stop) = (signal.start_above.get(), signal.stop_below.get());
    let (value, outlook) = match reading {
        Reading::AtLeast(value) if value > start => return Verdict::High,
        Reading::Known { value, outlook, .. } if !value.is_nan() => (value, outlook),
        Reading::Known { .. } | Reading::AtLeast(_) | Reading::Unknown => return Verdict::Unknown,
    };
    // What waits on replicas says what their lag is about to be. A lag below the lower level is none to start by, whatever waits:
    // that is a burst of which it is not yet known how fast it is applied.
    let outlook = outlook.filter(|_| signal.source == SignalSource::ReplicationLag);
    let is_growing = value >= stop && outlook.is_some_and(|outlook| outlook > start);
    if value > start || is_growing {
        Verdict::High
    } else if value < stop && outlook.is_none_or(|outlook| outlook < stop) {
        Verdict::Low
    } else {
        Verdict::Between
    }
}

/// How strongly the delay answers: by which factor, as a logarithm.
struct Gains {
    /// What a distance of 1 is, in the unit of the signal.
    unit: f64,
    /// For each unit that the signal has moved.
    proportional: f64,
    /// For each unit of distance, in each second.
    integral: f64,
    /// The greatest distance that counts in the integral part.
    farthest: f64,
}

impl Gains {
    fn of(signal: &Signal, value: f64) -> Self {
        let (start, stop) = (signal.start_above.get(), signal.stop_below.get());
        match signal.source {
            // Lag grows by up to a second each second, whatever its levels are: a loop that settles in about three times `settles_s`
            // without swinging. It must be slower than the signal is late.
            SignalSource::ReplicationLag => {
                let settles_s = (1.5 * value / 1000.0).clamp(3.0, 6.0);
                Self {
                    unit: 1000.0,
                    proportional: 2.0 / settles_s,
                    integral: 1.0 / (settles_s * settles_s),
                    // A backlog is worked off at three quarters of the replica's speed: a delay that stops writers altogether
                    // would be far from where it comes to rest when the lag is back.
                    farthest: 1.5 * settles_s,
                }
            }
            // It follows the delay at once, by an unknown amount: the integral part does the work.
            SignalSource::Status(_) | SignalSource::FlowControl => Self {
                unit: (start - stop).max(start.abs() / 20.0).max(f64::MIN_POSITIVE),
                proportional: 0.3,
                integral: 0.5,
                farthest: 2.0,
            },
        }
    }
}
