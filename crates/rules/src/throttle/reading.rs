//! What is known of a signal at a moment.

use super::Pace;

/// What is known of a signal at a moment. A value that is missing, NULL or nonsense is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reading {
    /// Nothing.
    #[default]
    Unknown,
    /// It is this or more: of several replicas, some say how far they are behind and others do not.
    AtLeast(f64),
    /// It is this.
    Known {
        /// The value.
        value: f64,
        /// What the value is about to become with what is under way already. Lag shows what was written a while ago: the
        /// transactions that wait now are the lag to come.
        outlook: Option<f64>,
        /// For lag: how fast writers write and may write.
        pace: Option<Pace>,
    },
}

impl Reading {
    /// A value without an outlook; what is no number is unknown.
    #[must_use]
    pub fn of(value: f64) -> Self {
        match value.is_finite() {
            true => Self::Known {
                value,
                outlook: None,
                pace: None,
            },
            false => Self::Unknown,
        }
    }

    /// The value, or what it is at least.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::AtLeast(value) | Self::Known { value, .. } => Some(value),
        }
    }

    /// The greater of two readings of one signal. What is unknown of one leaves the other a lower bound.
    #[must_use]
    pub fn worst(self, other: Self) -> Self {
        let greater = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
        match (self, other) {
            (
                Self::Known {
                    value: a,
                    outlook: x,
                    pace: p,
                },
                Self::Known {
                    value: b,
                    outlook: y,
                    pace: q,
                },
            ) => Self::Known {
                value: a.max(b),
                outlook: greater(x, y),
                pace: match (p, q) {
                    (Some(p), Some(q)) => Some(p.slower(q)),
                    (p, q) => p.or(q),
                },
            },
            (a, b) => greater(a.value(), b.value()).map_or(Self::Unknown, Self::AtLeast),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unknown_leaves_a_lower_bound() {
        let (low, high) = (Reading::of(1.0), Reading::of(5.0));
        assert_eq!(low.worst(high), high);
        assert_eq!(high.worst(Reading::Unknown), Reading::AtLeast(5.0));
        assert_eq!(Reading::AtLeast(5.0).worst(low), Reading::AtLeast(5.0));
        assert_eq!(Reading::Unknown.worst(Reading::Unknown), Reading::Unknown);
        assert_eq!(Reading::of(f64::NAN), Reading::Unknown);
    }
}
