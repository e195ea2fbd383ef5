//! Prices of the cost model from measured times.

use serde::Serialize;

/// Evaluations and visits are told apart by rule sets whose ratios of the two differ by more than about 0.1 %.
const LEAST_INDEPENDENT: f64 = 1e-6;

/// What the rules of one set took of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Patterns evaluated, mean.
    pub evaluations: f64,
    /// Rules looked at, mean.
    pub visits: f64,
    /// Processor time of the proxy above that without rules, in nanoseconds.
    pub ns: f64,
    /// All processor time of the proxy; an error is taken to be the same share of it everywhere.
    pub total_ns: f64,
}

/// Prices that fit points best.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fitted {
    /// One evaluation of a pattern.
    pub evaluation_ns: f64,
    /// One visit to a rule.
    pub visit_ns: f64,
    /// The largest difference between a measured time of rules and the one that the prices give, as a share of all
    /// processor time of that statement.
    pub worst_error: f64,
}

/// Why points give no prices.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// A count or time is negative, not finite, or a statement took no time.
    #[error("a rule set has no usable figures: {0:?}")]
    Unusable(Point),
    /// The rule sets do not tell evaluations from visits.
    #[error(
        "evaluations and visits are in the same proportion in every rule set, so their prices cannot be told apart"
    )]
    Dependent,
    /// The machine was too noisy, or the model does not hold.
    #[error(
        "the prices that fit best are not above 0: {evaluation_ns:.2} ns an evaluation, {visit_ns:.2} ns a visit"
    )]
    NotPositive {
        /// Of an evaluation.
        evaluation_ns: f64,
        /// Of a visit.
        visit_ns: f64,
    },
}

/// Weighted least squares for `ns = evaluations * evaluation_ns + visits * visit_ns`.
///
/// # Errors
/// [`FitError`] when the points do not determine two prices above 0.
pub fn fit(points: &[Point]) -> Result<Fitted, FitError> {
    let (mut ee, mut ev, mut vv, mut et, mut vt) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for point in points {
        let counts = [point.evaluations, point.visits];
        let is_usable = counts.iter().all(|count| count.is_finite() && *count >= 0.0)
            && point.ns.is_finite()
            && point.total_ns.is_finite()
            && point.total_ns > 0.0;
        if !is_usable {
            return Err(FitError::Unusable(*point));
        }
        let [evaluations, visits, time] =
            [point.evaluations, point.visits, point.ns].map(|of| of / point.total_ns);
        ee += evaluations * evaluations;
        ev += evaluations * visits;
        vv += visits * visits;
        et += evaluations * time;
        vt += visits * time;
    }
    let determinant = ee * vv - ev * ev;
    // Also with no points at all, or none that counts something.
    if determinant <= LEAST_INDEPENDENT * ee * vv {
        return Err(FitError::Dependent);
    }
    let evaluation_ns = (et * vv - vt * ev) / determinant;
    let visit_ns = (vt * ee - et * ev) / determinant;
    if evaluation_ns <= 0.0 || visit_ns <= 0.0 {
        return Err(FitError::NotPositive {
            evaluation_ns,
            visit_ns,
        });
    }
    let error = |point: &Point| {
        let expected = point.evaluations * evaluation_ns + point.visits * visit_ns;
        (point.ns - expected).abs() / point.total_ns
    };
    Ok(Fitted {
        evaluation_ns,
        visit_ns,
        worst_error: points.iter().map(error).fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A statement of a proxy that takes 30 µs without rules, by prices of 46.5 and 4.5, off by `error`.
    fn point(evaluations: f64, visits: f64, error: f64) -> Point {
        let ns = evaluations * 46.5 + visits * 4.5;
        let total_ns = 30_000.0 + ns;
        Point {
            evaluations,
            visits,
            ns: ns + error * total_ns,
            total_ns,
        }
    }

    #[test]
    fn exact_times_give_their_prices() {
        for points in [
            vec![point(101.5, 102.5, 0.0), point(12.6, 138.0, 0.0)],
            vec![
                point(101.5, 102.5, 0.0),
                point(12.6, 138.0, 0.0),
                point(2_501.5, 2_502.5, 0.0),
                point(24.0, 2_700.0, 0.0),
            ],
        ] {
            let fitted = fit(&points).unwrap();
            assert!((fitted.evaluation_ns - 46.5).abs() < 1e-6, "{fitted:?}");
            assert!((fitted.visit_ns - 4.5).abs() < 1e-6, "{fitted:?}");
            assert!(fitted.worst_error < 1e-9, "{fitted:?}");
        }
    }

    #[test]
    fn times_that_are_a_hundredth_off_give_prices_that_are_near() {
        let fitted = fit(&[
            point(101.5, 102.5, 0.01),
            point(12.6, 138.0, -0.01),
            point(501.5, 502.5, -0.01),
            point(16.8, 590.0, 0.01),
            point(2_501.5, 2_502.5, 0.01),
            point(24.0, 2_700.0, -0.01),
        ])
        .unwrap();
        assert!((fitted.evaluation_ns / 46.5 - 1.0).abs() < 0.1, "{fitted:?}");
        assert!((fitted.visit_ns / 4.5 - 1.0).abs() < 0.1, "{fitted:?}");
        assert!(
            fitted.worst_error > 0.005 && fitted.worst_error < 0.03,
            "{fitted:?}"
        );
    }

    #[test]
    fn points_that_do_not_determine_two_prices_give_none() {
        let flat = [point(100.0, 101.0, 0.0), point(1_000.0, 1_010.0, 0.0)];
        for points in [
            &[][..],
            &flat[..1],
            &flat,
            &[point(0.0, 0.0, 0.0); 3],
            &[point(0.0, 9.0, 0.0), flat[0]][..1],
        ] {
            assert_eq!(fit(points), Err(FitError::Dependent), "{points:?}");
        }
        let broken = [
            point(f64::NAN, 1.0, 0.0),
            point(1.0, f64::INFINITY, 0.0),
            point(-1.0, 1.0, 0.0),
            Point {
                total_ns: 0.0,
                ..flat[0]
            },
        ];
        for unusable in broken {
            assert!(
                matches!(fit(&[flat[0], unusable]), Err(FitError::Unusable(_))),
                "{unusable:?}"
            );
        }
        let noise = fit(&[point(100.0, 101.0, 0.0), point(12.0, 138.0, -0.5)]);
        assert!(matches!(noise, Err(FitError::NotPositive { .. })), "{noise:?}");
    }
}
