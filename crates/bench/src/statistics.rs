//! Summaries of repeated measurements.

use serde::Serialize;

/// What is said about a handful of repeats: the median, because one disturbed repeat must not decide, and the range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// `None` without figures.
    #[must_use]
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (min, max) = (*figures.first()?, *figures.last()?);
        let middle = figures.len() / 2;
        let median = if figures.len() % 2 == 1 {
            figures[middle]
        } else {
            f64::midpoint(figures[middle - 1], figures[middle])
        };
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_the_sorted_figures() {
        assert_eq!(Summary::of([]), None);
        assert_eq!(
            Summary::of([5.0, 1.0, 9.0]),
            Some(Summary {
                median: 5.0,
                min: 1.0,
                max: 9.0
            })
        );
        assert_eq!(
            Summary::of([4.0, 1.0]),
            Some(Summary {
                median: 2.5,
                min: 1.0,
                max: 4.0
            })
        );
    }
}
