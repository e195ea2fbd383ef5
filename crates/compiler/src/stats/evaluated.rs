//! Patterns that run, counted and priced.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Patterns that run, and what they cost on a text of usual length.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evaluated {
    pub(super) patterns: u32,
    pub(super) ns: f64,
}

impl Add for Evaluated {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            patterns: self.patterns + other.patterns,
            ns: self.ns + other.ns,
        }
    }
}

impl AddAssign for Evaluated {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Evaluated {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
