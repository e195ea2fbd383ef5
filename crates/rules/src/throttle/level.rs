//! A level of a signal.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// A level of a signal: a finite number, compared and hashed by its value. JSON holds no other numbers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub struct Level(f64);

impl Level {
    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl From<f64> for Level {
    /// What is no finite number becomes 0, and so does -0: both would compare in surprising ways.
    fn from(value: f64) -> Self {
        Self(if value.is_finite() && value != 0.0 {
            value
        } else {
            0.0
        })
    }
}

impl From<Level> for f64 {
    fn from(level: Level) -> Self {
        level.0
    }
}

impl PartialEq for Level {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Level {}

impl Hash for Level {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
