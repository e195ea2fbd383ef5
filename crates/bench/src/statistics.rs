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

/// The exponent e of the power law y = c x^e that fits points best, by least squares over logarithms; `None` with fewer than
/// two different x, or values that are not above 0.
#[must_use]
pub fn growth(points: impl IntoIterator<Item = (f64, f64)>) -> Option<f64> {
    let logarithms: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logarithms.len() as f64;
    let mean = |part: fn(&(f64, f64)) -> f64| logarithms.iter().map(part).sum::<f64>() / count;
    let (middle_x, middle_y) = (mean(|point| point.0), mean(|point| point.1));
    let of = |part: &dyn Fn(f64, f64) -> f64| -> f64 {
        logarithms
            .iter()
            .map(|&(x, y)| part(x - middle_x, y - middle_y))
            .sum()
    };
    let exponent = of(&|x, y| x * y) / of(&|x, _| x * x);
    exponent.is_finite().then_some(exponent)
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

    #[test]
    fn growth_is_the_exponent_of_a_power_law() {
        for exponent in [0.5, 1.0, 2.0] {
            let points = [10.0_f64, 100.0, 1_000.0].map(|x| (x, 3.0 * x.powf(exponent)));
            let found = growth(points).unwrap();
            assert!((found - exponent).abs() < 1e-9, "{found} for {exponent}");
        }
        assert_eq!(growth([(1.0, 1.0)]), None);
        assert_eq!(growth([(1.0, 1.0), (2.0, 0.0)]), None);
    }
}
