//! Times of reads on a logarithmic scale, and sums of them.

use std::ops::{AddAssign, Sub};
use std::time::Duration;

/// Steps of an octave.
pub(super) const STEPS: i32 = 256;
/// Added to each time, µs: differences below it are those of networks and of the proxy itself, not of servers.
const ALLOWANCE_US: u64 = 500;

/// A time on the logarithmic scale, in steps: twice the time is an octave more. Between two powers of 2 the scale is straight, which
/// is off by a twelfth of an octave at most.
pub(super) fn steps(time: Duration) -> i32 {
    let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let us = us.clamp(0, u64::from(u32::MAX)) + ALLOWANCE_US;
    let octave = us.ilog2();
    // The bits below the highest one, of which eight make the steps.
    let rest = (us << (u64::BITS - 1 - octave) << 1) >> (u64::BITS - 8);
    octave as i32 * STEPS + rest as i32
}

/// Sums of distances from the usual time, in steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Evidence {
    pub(crate) count: u64,
    pub(crate) sum: i64,
    pub(crate) squares: u64,
}

impl Evidence {
    /// Adds a read.
    pub(crate) fn add(&mut self, distance: i32) {
        self.count += 1;
        self.sum += i64::from(distance);
        self.squares += u64::from(distance.unsigned_abs()).pow(2);
    }

    /// The mean distance in octaves; 0 of nothing.
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / (self.count.max(1) as f64 * f64::from(STEPS))
    }

    /// The variance of the mean, in octaves squared. Few reads that happen to agree prove no more than `least`, which is the
    /// least deviation of a single read.
    pub(super) fn variance_of_mean(&self, least: f64) -> f64 {
        let count = self.count.max(1) as f64;
        let squares = self.squares as f64 / (count * f64::from(STEPS * STEPS));
        let variance = squares - self.mean().powi(2);
        variance.max(least * least) / count
    }
}

impl AddAssign for Evidence {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

impl Sub for Evidence {
    type Output = Self;

    /// What has come since `earlier`. Workers add while others look, so a part may be there before the rest.
    fn sub(self, earlier: Self) -> Self {
        Self {
            count: self.count.saturating_sub(earlier.count),
            sum: self.sum - earlier.sum,
            squares: self.squares.saturating_sub(earlier.squares),
        }
    }
}
