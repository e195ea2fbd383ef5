//! A throttle looks at a recorded series of its signal: when it starts and stops, and what delay it asks for.
//!
//! # Idea
//!
//! [`Regulator`] is what regulates in the proxy, and is asked as often as there. The series is given:
//! it does not fall because statements wait. So the first start is what would have happened. What follows is what the series asks
//! for, and no forecast: the delay of a range climbs as long as the recorded signal stays high.
//!
//! # Example
//!
//! `start_above: 3`, `stop_below: 1`, and one value each second: 0, 4, 2, 2, 0. It starts at 1 s and stops at 4 s.

mod series;

use std::time::Duration;

use shardwright_rules::Throttle;
use shardwright_rules::throttle::{Change, LOOK_EVERY, Reading, Regulator};

pub use series::{ReadOptions, Sample, Series, SeriesError, Unit};

/// What a throttle made of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The time in equal parts, each as one picture of it needs it.
    pub parts: Vec<Part>,
    /// When it started and stopped.
    pub changes: Vec<Changed>,
    /// How long the series lasts.
    pub lasts: Duration,
    /// How long it was started.
    pub started: Duration,
    /// How long its signal was not known.
    pub unknown: Duration,
    /// The greatest delay.
    pub greatest_delay: Duration,
    /// The mean delay while it was started.
    pub mean_delay: Duration,
}

/// A part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// When it begins, from the first sample.
    pub at: Duration,
    /// The greatest value of the signal; `None`: it was not known in the whole part.
    pub value: Option<f64>,
    /// The greatest delay.
    pub delay: Duration,
    /// Whether it was started at some time in it.
    pub is_started: bool,
}

/// The throttle started or stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Changed {
    /// When, from the first sample.
    pub at: Duration,
    /// What happened.
    pub change: Change,
    /// The value of the signal then, if it was known.
    pub value: Option<f64>,
}

/// Has a throttle look at a series, which is shown in so many parts.
#[must_use]
pub fn replay(throttle: &Throttle, series: &Series, parts: usize) -> Replay {
    let lasts = series.lasts();
    let parts = parts.max(1);
    let looks = u64::try_from(lasts.as_nanos() / LOOK_EVERY.as_nanos()).unwrap_or(u64::MAX);
    let mut regulator = Regulator::default();
    let mut replay = Replay {
        parts: (0..parts)
            .map(|part| Part {
                at: lasts.mul_f64(part as f64 / parts as f64),
                ..Part::default()
            })
            .collect(),
        changes: Vec::new(),
        lasts,
        started: Duration::ZERO,
        unknown: Duration::ZERO,
        greatest_delay: Duration::ZERO,
        mean_delay: Duration::ZERO,
    };
    let mut readings = series.readings();
    let mut delays_s = 0.0;
    let mut drawn = 0;
    for look in 0..=looks {
        let at = LOOK_EVERY.mul_f64(look as f64);
        let reading = readings.at(at);
        if let Some(change) = regulator.look(throttle, at, reading) {
            replay.changes.push(Changed {
                at,
                change,
                value: reading.value(),
            });
        }
        if look < looks {
            replay.started += if regulator.is_started() {
                LOOK_EVERY
            } else {
                Duration::ZERO
            };
            replay.unknown += if reading == Reading::Unknown {
                LOOK_EVERY
            } else {
                Duration::ZERO
            };
            delays_s += regulator.delay().as_secs_f64() * LOOK_EVERY.as_secs_f64();
        }
        replay.greatest_delay = replay.greatest_delay.max(regulator.delay());
        let part = ((look as f64 / looks.max(1) as f64 * parts as f64) as usize).min(parts - 1);
        // A short series has more parts than looks: what was seen last holds in the parts between.
        for at in drawn + 1..part {
            replay.parts[at] = Part {
                at: replay.parts[at].at,
                ..replay.parts[drawn]
            };
        }
        drawn = part;
        if let Some(part) = replay.parts.get_mut(part) {
            part.is_started |= regulator.is_started();
            part.delay = part.delay.max(regulator.delay());
            part.value = match (part.value, reading.value()) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            };
        }
    }
    if !replay.started.is_zero() {
        replay.mean_delay = Duration::from_secs_f64(delays_s / replay.started.as_secs_f64());
    }
    replay
}

#[cfg(test)]
mod tests {
    use shardwright_rules::OnUnknown;
    use shardwright_rules::throttle::{Signal, SignalSource};

    use super::*;

    fn throttle(from_ms: u32, to_ms: u32, hold_ms: u32, on_unknown: OnUnknown) -> Throttle {
        Throttle {
            from_ms,
            to_ms,
            signal: Some(Signal {
                source: SignalSource::Status("Threads_running".to_owned()),
                start_above: 3.0.into(),
                stop_below: 1.0.into(),
            }),
            hold_ms,
            on_unknown,
            max_concurrent: None,
            ends_at_s: None,
        }
    }

    fn series(values: &[&str]) -> Series {
        let rows: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(second, value)| format!("{second},{value}"))
            .collect();
        let text = format!("time,value\n{}\n", rows.join("\n"));
        Series::read(text.as_bytes(), &ReadOptions::default()).unwrap()
    }

    fn changes(replay: &Replay) -> Vec<(u64, Change)> {
        let changes = replay.changes.iter();
        changes
            .map(|changed| (changed.at.as_secs(), changed.change))
            .collect()
    }

    #[test]
    fn it_starts_and_stops_as_the_levels_say() {
        let fixed = throttle(5, 5, 0, OnUnknown::Hold);
        let replay = replay(&fixed, &series(&["0", "4", "2", "2", "0", "0"]), 5);
        assert_eq!(changes(&replay), [(1, Change::Started), (4, Change::Stopped)]);
        assert_eq!(replay.started, Duration::from_secs(3));
        assert_eq!(replay.greatest_delay, Duration::from_millis(5));
        assert_eq!(replay.mean_delay.as_millis(), 5);
        let started: Vec<bool> = replay.parts.iter().map(|part| part.is_started).collect();
        assert_eq!(started, [false, true, true, true, false]);
    }

    #[test]
    fn every_part_of_a_short_series_is_known() {
        let fixed = throttle(5, 5, 0, OnUnknown::Hold);
        for parts in [1, 2, 7, 72, 600] {
            let replay = replay(&fixed, &series(&["0", "4", "2"]), parts);
            assert!(replay.unknown.is_zero());
            let known = replay.parts.iter().filter(|part| part.value.is_some()).count();
            assert_eq!(known, parts);
            assert!(parts < 7 || !replay.parts[0].is_started && replay.parts[parts - 1].is_started);
        }
        let unknown = replay(&fixed, &series(&["0", "NULL", "0"]), 72);
        let known = unknown.parts.iter().filter(|part| part.value.is_some()).count();
        assert!((30..=42).contains(&known), "{known}");
    }

    #[test]
    fn what_is_not_known_follows_the_policy() {
        let values = ["4", "4", "NULL", "NULL", "0", "0"];
        let held = replay(&throttle(5, 5, 0, OnUnknown::Hold), &series(&values), 5);
        assert_eq!(changes(&held), [(0, Change::Started), (4, Change::Stopped)]);
        assert_eq!(held.unknown, Duration::from_secs(2));
        let released = replay(&throttle(5, 5, 0, OnUnknown::Release), &series(&values), 5);
        assert_eq!(changes(&released), [(0, Change::Started), (2, Change::Released)]);
    }

    #[test]
    fn a_state_is_held() {
        let held = throttle(5, 5, 3000, OnUnknown::Hold);
        let replay = replay(&held, &series(&["4", "0", "0", "0", "0", "0"]), 5);
        assert_eq!(changes(&replay), [(0, Change::Started), (3, Change::Stopped)]);
    }

    #[test]
    fn a_range_climbs_as_long_as_the_series_stays_high() {
        let range = throttle(1, 200, 0, OnUnknown::Hold);
        let values: Vec<&str> = std::iter::repeat_n("9", 40).collect();
        let replay = replay(&range, &series(&values), 40);
        let delays: Vec<Duration> = replay.parts.iter().map(|part| part.delay).collect();
        assert!(delays.is_sorted(), "{delays:?}");
        assert_eq!(replay.greatest_delay, Duration::from_millis(200));
    }
}
