//! The shapes that are worth comparing, and the one that costs least.
//!
//! The builders of [`build`] know evaluations and a price for each chain. They do not know visits, which
//! depend on the order of all rules in the list. So several shapes are built, each with another guess of what
//! a chain costs in visits, and [`cost`] then measures each one with visits. Invariant: the figures of a
//! candidate are measured, so a bad guess can only miss a better shape; it never gives a wrong figure.
//!
//! Example: three keys of equal weight at the prices of ProxySQL give `flat`, `fan-out 2` and five `skewed`.
//! Flat runs 2 patterns and visits 2 rules on average, which is 2 * 46.5 + 2 * 4.5 = 102 ns. `fan-out 2` is
//! `0 (1 2)`, with (1 + 3 + 4) / 3 patterns: each skewed shape is flat as well, and `flat` wins by its name.

use crate::build::{self, Sizes};
use crate::cost::{Cost, Measure, cost};
use crate::shape::Node;

/// What a chain adds to the path of those behind it, in rules: its entry, in front of half of the keys. Others
/// are tried too, because visits count in steps.
const CHAIN_RULES: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.25];
/// Complete trees are compared up to this fan-out, in maps of up to this many entries.
const WIDEST: usize = 64;
const COMPARED: usize = 2_000;

/// The name of the shape that the lock holds.
pub const KEPT: &str = "kept";

/// A shape with its human-readable name and its cost.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// `flat`, `fan-out 4`, `skewed 0.5`.
    pub name: String,
    /// The nodes of the root chain.
    pub shape: Vec<Node>,
    /// What it costs.
    pub cost: Cost,
}

/// The shapes for entries of these weights, cheapest first; ties go to the one with fewer rules.
pub fn candidates(measure: Measure<'_>) -> Vec<Candidate> {
    let Measure { weights, price } = measure;
    let entries: Vec<u32> = (0..weights.of.len() as u32).collect();
    let total: f64 = weights.of.iter().sum();
    let mut shapes = vec![("flat".to_owned(), build::flat(&entries, weights.of))];
    if weights.alike && entries.len() <= COMPARED {
        for fan_out in 2..=WIDEST.min(entries.len().saturating_sub(1)) {
            shapes.push((format!("fan-out {fan_out}"), build::complete(&entries, fan_out)));
        }
    }
    let tried = if price.visit_ns > 0.0 {
        &CHAIN_RULES[..]
    } else {
        &[0.0]
    };
    for &rules in tried {
        let shape = if weights.alike {
            let chain_price = price.chain(entries.len() as f64, rules);
            Sizes::up_to(entries.len(), chain_price).lay(&entries)
        } else {
            build::weighted(&entries, weights.of, price.chain(total, rules)).nodes
        };
        shapes.push((format!("skewed {rules}"), shape));
    }
    let mut candidates: Vec<Candidate> = shapes
        .into_iter()
        .map(|(name, shape)| Candidate {
            name,
            cost: cost(&shape, measure),
            shape,
        })
        .collect();
    candidates.sort_by(|a, b| {
        a.cost
            .mean_ns
            .total_cmp(&b.cost.mean_ns)
            .then(a.cost.rules.cmp(&b.cost.rules))
            .then(a.name.cmp(&b.name))
    });
    candidates
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::cost::Weights;
    use crate::price::Price;
    use crate::shape;

    /// Those of ProxySQL 2.7.1, whatever a profile is refreshed to.
    pub(crate) const PROXYSQL: Price = Price {
        evaluation_ns: 46.5,
        visit_ns: 4.5,
        lookup_ns: 40.0,
    };
    const NO_VISITS: Price = Price {
        evaluation_ns: 40.0,
        visit_ns: 0.0,
        lookup_ns: 20.0,
    };

    fn alike(weights: &[f64], price: Price) -> Measure<'_> {
        Measure {
            weights: Weights {
                of: weights,
                alike: true,
            },
            price,
        }
    }

    #[test]
    fn every_shape_holds_every_entry() {
        for entries in [0, 1, 2, 3, 7, 64, 200, 1000] {
            let weights = vec![1.0; entries];
            for candidate in candidates(alike(&weights, PROXYSQL)) {
                let held = shape::entries(&candidate.shape);
                assert_eq!(
                    held,
                    (0..entries as u32).collect::<Vec<_>>(),
                    "{}",
                    candidate.name
                );
            }
        }
    }

    #[test]
    fn published_figures() {
        let weights = vec![1.0; 10_000];
        let all: Vec<u32> = (0..200).collect();
        let four = cost(&build::complete(&all, 4), alike(&weights[..200], NO_VISITS));
        assert!((9.3..9.7).contains(&four.mean_evaluations), "{four:?}");
        let flat = build::flat(&all, &weights);
        assert_eq!(
            cost(&flat, alike(&weights[..200], NO_VISITS)).mean_evaluations,
            100.5
        );
        for (entries, bound) in [(200, 8.081), (1_000, 10.465), (10_000, 13.78)] {
            let best = &candidates(alike(&weights[..entries], NO_VISITS))[0];
            assert!(best.cost.mean_evaluations <= bound, "{entries}: {:?}", best.cost);
        }
    }

    #[test]
    fn the_choice_is_never_worse_than_a_complete_tree() {
        for entries in [5, 17, 200, 1_000, 5_000] {
            let weights = vec![1.0; entries];
            let all: Vec<u32> = (0..entries as u32).collect();
            let best = &candidates(alike(&weights, PROXYSQL))[0];
            for fan_out in 2..200 {
                let complete = cost(&build::complete(&all, fan_out), alike(&weights, PROXYSQL));
                assert!(
                    best.cost.mean_ns <= complete.mean_ns,
                    "{entries}, fan-out {fan_out}: {} {}",
                    best.cost.mean_ns,
                    complete.mean_ns
                );
            }
        }
    }

    /// A visit costs 0.75 to 1 ns where the rules are in the cache, and 2 to 5 ns where they are not. One layout serves both.
    #[test]
    fn the_choice_is_good_for_warm_and_cold_caches() {
        for entries in [5, 17, 50, 200, 1_000, 2_000, 10_000] {
            let weights = vec![1.0; entries];
            let chosen = candidates(alike(&weights, PROXYSQL)).swap_remove(0);
            for (visit_ns, most) in [(0.75, 1.065), (1.0, 1.05), (2.0, 1.02), (5.0, 1.005)] {
                let real = alike(&weights, Price { visit_ns, ..PROXYSQL });
                let best = candidates(real).swap_remove(0).cost.mean_ns;
                let ratio = cost(&chosen.shape, real).mean_ns / best;
                assert!(
                    (1.0..=most).contains(&ratio),
                    "{entries} entries, {visit_ns} ns a visit: {} costs {ratio:.3} of the best",
                    chosen.name
                );
            }
        }
    }

    #[test]
    fn a_handful_stays_flat() {
        assert_eq!(candidates(alike(&[1.0; 3], PROXYSQL))[0].name, "flat");
    }

    #[test]
    fn traffic_takes_a_fifth_of_the_cost_where_visits_count() {
        let weights: Vec<f64> = (0..10_000u64)
            .map(|at| 1.0 / ((at * 7_919 % 10_000 + 1) as f64))
            .collect();
        let shaped = &candidates(Measure {
            weights: Weights {
                of: &weights,
                alike: false,
            },
            price: PROXYSQL,
        })[0];
        let uniform = &candidates(alike(&vec![1.0; 10_000], PROXYSQL))[0];
        assert!(
            shaped.cost.mean_ns < 0.5 * uniform.cost.mean_ns,
            "{:?} {:?}",
            shaped.cost,
            uniform.cost
        );
    }
}
