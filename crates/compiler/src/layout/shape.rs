//! The shape of a tree of chains: which keys a chain decides itself and which it passes on, chosen by cost.

/// One item of a chain: it either decides an entry or hands a run of entries to a chain of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Decides one entry.
    Leaf,
    /// Hands entries on.
    Chain {
        /// The chain's items.
        items: Vec<Item>,
        /// What the lock file calls it, when it is remembered.
        name: Option<Box<str>>,
    },
}

impl Item {
    /// A new chain.
    fn chain(items: Vec<Item>) -> Self {
        Item::Chain { items, name: None }
    }

    /// Number of entries below.
    pub(crate) fn entries(&self) -> usize {
        match self {
            Item::Leaf => 1,
            Item::Chain { items, .. } => items.iter().map(Item::entries).sum(),
        }
    }
}

/// What a statement with a known key costs on its way through a tree, mean over entries of equal weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cost {
    /// Patterns evaluated.
    pub mean_evaluations: f64,
    /// Most patterns evaluated.
    pub worst_evaluations: u32,
    /// Rules looked at, of other chains too.
    pub mean_visits: f64,
    /// By the prices.
    pub mean_ns: f64,
    /// Rules of the tree, the end of each chain included.
    pub rules: usize,
    /// Chains of the tree.
    pub chains: usize,
    /// Chains on the longest way.
    pub depth: usize,
}

/// Prices of one evaluation and one visit, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Price {
    /// One pattern run.
    pub evaluation_ns: f64,
    /// One rule looked at.
    pub visit_ns: f64,
}

/// A shape with its name for people and its cost.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// `flat`, `fan-out 4`, `skewed`.
    pub name: String,
    /// The items of the root chain.
    pub shape: Vec<Item>,
    /// What it costs.
    pub cost: Cost,
}

/// One chain with a leaf for every entry.
pub(crate) fn flat(entries: usize) -> Vec<Item> {
    vec![Item::Leaf; entries]
}

/// The complete tree in which every inner chain has `fan_out` items of nearly equal size. Panics below 2.
pub(crate) fn complete(entries: usize, fan_out: usize) -> Vec<Item> {
    assert!(fan_out >= 2, "a tree needs two branches");
    if entries <= fan_out {
        return flat(entries);
    }
    (0..fan_out)
        .map(|nth| {
            let size = entries * (nth + 1) / fan_out - entries * nth / fan_out;
            if size == 1 {
                Item::Leaf
            } else {
                Item::chain(complete(size, fan_out))
            }
        })
        .collect()
}

/// The tree with the fewest evaluations when every chain costs `chain_price` evaluations, summed over all entries:
/// the items of a chain get smaller, because a later one pays for the tests before it.
pub(crate) fn skewed(entries: usize, chain_price: f64) -> Vec<Item> {
    let plan = Skewed::plan(entries, chain_price);
    plan.chain(entries)
}

struct Skewed {
    /// For each size, the size of the first item of a chain of that many entries.
    first: Vec<usize>,
}

impl Skewed {
    fn plan(entries: usize, chain_price: f64) -> Self {
        let mut cost = vec![0.0; entries + 1];
        let mut first = vec![1; entries + 1];
        for size in 1..=entries {
            let mut best = cost[size - 1];
            for part in nearby(size / 2).filter(|&part| part >= 2 && part < size) {
                let price = chain_price + cost[part] + cost[size - part];
                if price < best {
                    best = price;
                    first[size] = part;
                }
            }
            cost[size] = size as f64 + best;
        }
        Self { first }
    }

    fn chain(&self, entries: usize) -> Vec<Item> {
        let mut left = entries;
        let mut items = Vec::new();
        while left > 0 {
            let part = self.first[left];
            items.push(if part == 1 {
                Item::Leaf
            } else {
                Item::chain(self.chain(part))
            });
            left -= part;
        }
        items
    }
}

fn nearby(size: usize) -> impl Iterator<Item = usize> {
    let reach = 2 + size / 8;
    let step = (reach / 8).max(1);
    (size.saturating_sub(reach)..=size + reach)
        .step_by(step)
        .chain([size])
}

/// Costs a shape whose chains are laid out parents first, each chain in one piece.
pub(crate) fn cost(shape: &[Item], price: Price) -> Cost {
    let mut walk = Walk::default();
    walk.chain(shape, 0, 1);
    let leaves = walk.leaves.max(1) as f64;
    let mean_evaluations = walk.evaluations as f64 / leaves;
    let mean_visits = walk.visits as f64 / leaves;
    Cost {
        mean_evaluations,
        worst_evaluations: walk.worst,
        mean_visits,
        mean_ns: mean_evaluations * price.evaluation_ns + mean_visits * price.visit_ns,
        rules: walk.rules,
        chains: walk.chains,
        depth: walk.depth,
    }
}

#[derive(Default)]
struct Walk {
    leaves: u64,
    evaluations: u64,
    visits: u64,
    worst: u32,
    rules: usize,
    chains: usize,
    depth: usize,
}

impl Walk {
    fn chain(&mut self, items: &[Item], evaluated: u32, depth: usize) {
        self.chains += 1;
        self.depth = self.depth.max(depth);
        for (at, item) in items.iter().enumerate() {
            if *item == Item::Leaf {
                let evaluations = evaluated + at as u32 + 1;
                self.leaves += 1;
                self.evaluations += u64::from(evaluations);
                self.worst = self.worst.max(evaluations);
                self.visits += (self.rules + at + 1) as u64;
            }
        }
        self.rules += items.len() + 1;
        for (at, item) in items.iter().enumerate() {
            if let Item::Chain { items: below, .. } = item {
                self.chain(below, evaluated + at as u32 + 1, depth + 1);
            }
        }
    }
}

/// The shapes that are worth comparing for so many entries, cheapest first; ties go to the one with fewer rules.
pub(crate) fn candidates(entries: usize, price: Price) -> Vec<Candidate> {
    const WIDEST: usize = 32;
    const CHAIN_PRICES: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.5];
    let mut shapes = vec![("flat".to_owned(), flat(entries))];
    for fan_out in 2..=WIDEST.min(entries.saturating_sub(1)) {
        shapes.push((format!("fan-out {fan_out}"), complete(entries, fan_out)));
    }
    for factor in CHAIN_PRICES {
        let chain_price = factor * entries as f64 * price.visit_ns / price.evaluation_ns;
        shapes.push((format!("skewed {factor}"), skewed(entries, chain_price)));
    }
    let mut candidates: Vec<Candidate> = shapes
        .into_iter()
        .map(|(name, shape)| Candidate {
            name,
            cost: cost(&shape, price),
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
mod tests {
    use super::*;

    const PROXYSQL: Price = Price {
        evaluation_ns: 46.5,
        visit_ns: 4.5,
    };
    const NO_VISITS: Price = Price {
        evaluation_ns: 40.0,
        visit_ns: 0.0,
    };

    #[test]
    fn every_shape_holds_every_entry() {
        for entries in [0, 1, 2, 3, 7, 64, 200, 1000] {
            for candidate in candidates(entries, PROXYSQL) {
                let held: usize = candidate.shape.iter().map(Item::entries).sum();
                assert_eq!(held, entries, "{}", candidate.name);
            }
        }
    }

    #[test]
    fn published_figures() {
        let four = cost(&complete(200, 4), NO_VISITS);
        assert!((9.3..9.7).contains(&four.mean_evaluations), "{four:?}");
        assert_eq!(cost(&flat(200), NO_VISITS).mean_evaluations, 100.5);
        let best = &candidates(200, NO_VISITS)[0];
        assert!(best.cost.mean_evaluations < 8.3, "{} {:?}", best.name, best.cost);
        for (entries, bound) in [(1_000, 11.5), (10_000, 16.0)] {
            let best = &candidates(entries, NO_VISITS)[0];
            assert!(best.cost.mean_evaluations <= bound, "{entries}: {:?}", best.cost);
        }
    }

    #[test]
    fn the_choice_is_never_worse_than_a_complete_tree() {
        for entries in [5, 17, 200, 1_000] {
            let best = &candidates(entries, PROXYSQL)[0];
            for fan_out in 2..64 {
                let complete = cost(&complete(entries, fan_out), PROXYSQL);
                assert!(
                    best.cost.mean_ns <= complete.mean_ns,
                    "{entries}, fan-out {fan_out}"
                );
            }
        }
    }

    #[test]
    fn a_handful_stays_flat() {
        assert_eq!(candidates(3, PROXYSQL)[0].name, "flat");
    }
}
