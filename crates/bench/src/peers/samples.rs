//! What turns have come to, and what is said about all rounds.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::statistics::Summary;

/// One turn of one target. Figures are for one unit: a statement, a connection or a result.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sample {
    pub(super) row: &'static str,
    pub(super) target: String,
    pub(super) round: u32,
    pub(super) units: u64,
    pub(super) seconds: f64,
    /// Processor time in microseconds; 0 where there is no proxy.
    pub(super) proxy_us: f64,
    pub(super) server_us: f64,
    pub(super) client_us: f64,
    /// Context switches, voluntary and not.
    pub(super) proxy_switches: f64,
    pub(super) server_switches: f64,
    /// Figures of this row alone, by name.
    pub(super) more: BTreeMap<&'static str, f64>,
}

impl Sample {
    /// Microseconds from one unit to the next, of all clients together.
    pub(super) fn us(&self) -> f64 {
        self.seconds * 1e6 / self.units as f64
    }

    pub(super) fn per_second(&self) -> f64 {
        self.units as f64 / self.seconds
    }
}

/// The samples of one row in one round.
#[derive(Clone, Copy)]
pub(super) struct Round<'s> {
    samples: &'s [Sample],
    number: u32,
}

impl<'s> Round<'s> {
    pub(super) fn of(&self, target: &str) -> Option<&'s Sample> {
        self.samples
            .iter()
            .find(|sample| sample.target == target && sample.round == self.number)
    }

    /// What `target` adds to the time of `base`, in microseconds.
    pub(super) fn added_us(&self, target: &str, base: &str) -> Option<f64> {
        Some(self.of(target)?.us() - self.of(base)?.us())
    }

    /// A figure of `target` over the same of `base`.
    pub(super) fn ratio(&self, figure: fn(&Sample) -> f64, target: &str, base: &str) -> Option<f64> {
        Some(figure(self.of(target)?) / figure(self.of(base)?))
    }
}

/// A figure in every round that has it; `None` where no round has.
pub(super) fn by_round(samples: &[Sample], figure: impl Fn(Round<'_>) -> Option<f64>) -> Option<Summary> {
    let last = samples.iter().map(|sample| sample.round).max().unwrap_or(0);
    Summary::of((1..=last).filter_map(|number| figure(Round { samples, number })))
}

/// A figure of one target in every round.
pub(super) fn of_target(
    samples: &[Sample],
    target: &str,
    figure: impl Fn(&Sample) -> f64,
) -> Option<Summary> {
    by_round(samples, |round| round.of(target).map(&figure))
}

/// The targets in the order of their first turns.
pub(super) fn targets(samples: &[Sample]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for sample in samples {
        if !names.contains(&sample.target.as_str()) {
            names.push(&sample.target);
        }
    }
    names
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A turn of a thousand units that took so many microseconds each, of which the proxy worked `proxy_us`.
    pub(in crate::peers) fn sample(round: u32, target: &str, us: f64, proxy_us: f64) -> Sample {
        Sample {
            row: "row",
            target: target.to_owned(),
            round,
            units: 1_000,
            seconds: us / 1e3,
            proxy_us,
            server_us: 9.0,
            client_us: 4.0,
            proxy_switches: 2.0,
            server_switches: 1.0,
            more: BTreeMap::new(),
        }
    }

    #[test]
    fn differences_and_ratios_are_taken_inside_a_round() {
        // The second round ran on a machine half as fast: every time doubles, no ratio changes.
        let mut samples = Vec::new();
        for (round, scale) in [(1, 1.0), (2, 2.0), (3, 1.0)] {
            samples.push(sample(round, "direct", 15.0 * scale, 0.0));
            samples.push(sample(round, "floor", 23.0 * scale, 6.0 * scale));
            samples.push(sample(round, "proxy", 25.0 * scale, 7.5 * scale));
        }
        let added = by_round(&samples, |round| round.added_us("proxy", "direct")).unwrap();
        assert_eq!((added.median, added.min, added.max), (10.0, 10.0, 20.0));
        let over_floor = by_round(&samples, |round| {
            Some(round.added_us("proxy", "direct")? / round.added_us("floor", "direct")?)
        })
        .unwrap();
        assert_eq!((over_floor.min, over_floor.max), (1.25, 1.25));
        let cpu = by_round(&samples, |round| round.ratio(|s| s.proxy_us, "proxy", "floor")).unwrap();
        assert_eq!((cpu.min, cpu.max), (1.25, 1.25));
        let rate = of_target(&samples, "proxy", Sample::per_second).unwrap();
        assert_eq!((rate.median, rate.min), (40_000.0, 20_000.0));
        assert_eq!(targets(&samples), ["direct", "floor", "proxy"]);
    }

    #[test]
    fn what_has_not_run_has_no_figure() {
        let samples = [sample(1, "direct", 15.0, 0.0)];
        assert_eq!(
            by_round(&samples, |round| round.added_us("proxy", "direct")),
            None
        );
        assert_eq!(of_target(&[], "direct", Sample::us), None);
    }
}
