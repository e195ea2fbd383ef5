//! Where a map tells reads from writes: once in front of two trees, or behind every leaf of one.
//!
//! At the root, reads walk one tree and writes walk the other. An engine walks one list, so a write looks at
//! every rule of the readers' tree first. At the leaves there is one tree. Behind its leaf, a statement
//! passes the rest of the tree up to the rules of its leaf's group, and then those. A group is the set of
//! leaves that can share the rules of the split, because their statements go on alike: to the same cluster,
//! with the same schema. Its rules stand as early as they may: behind its last leaf.
//!
//! Both run the patterns of the tree and of the split. At the leaves, a key without a group (its reads stay
//! on the writer) skips those of the split. Invariant: weights and tree are the same for both, so the figures
//! differ by the position of the split alone. Nothing is chosen here: compiled rules split at the root, and
//! `explain` shows both.
//!
//! Example: keys 0, 1, 2 of equal weight in a flat chain, and only 1 has readers. The split has three rules
//! and two patterns. At the leaves the list is: 0, 1, the three rules, 2. Key 0 visits 1 rule and key 2
//! visits 6. A read of key 1 stops at the second rule of the split, after 4 visits, and a write at the third,
//! after 5. The mean is (1 + 4.5 + 6) / 3 = 3.8 visits, with 2 + 2 / 3 = 2.7 patterns. At the root, a read
//! visits 3 + 2 = 5 rules. A write visits the 4 rules of the readers' tree (three leaves and its end) as
//! well, which is 9. The mean is 7 visits, with 2 + 2 = 4 patterns.

use std::collections::HashMap;

use crate::cost::{Cost, Measure, Weights, cost};
use crate::order::TreeRule;
use crate::price::Price;
use crate::shape::Node;

/// The rules that tell reads from writes. The one before the last takes reads, the last one takes the rest.
#[derive(Clone, Copy, Debug)]
pub struct RoleRules {
    /// How many.
    pub rules: usize,
    /// Their chains.
    pub chains: usize,
    /// Patterns that a statement runs in them.
    pub patterns: f64,
}

/// A position of the split and what it costs, with the rules of the split, without those in front of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// `split at the root` or `split at the leaves`.
    pub name: &'static str,
    /// With as many reads as writes.
    pub cost: Cost,
    /// Of a read.
    pub read_ns: f64,
    /// Of a statement that stays on the writer.
    pub write_ns: f64,
}

/// What a tree costs with its split at the root and at its leaves. `groups` has the group of each entry;
/// `None`: its reads go nowhere else.
pub fn compare(shape: &[Node], measure: Measure<'_>, role: RoleRules, groups: &[Option<u32>]) -> [Split; 2] {
    let tree = cost(shape, measure);
    [
        at_the_root(&tree, measure.price, role),
        at_the_leaves(&tree, shape, measure, role, groups),
    ]
}

fn at_the_root(tree: &Cost, price: Price, role: RoleRules) -> Split {
    // The readers' tree stands behind the split, so a read looks at all rules of the split.
    let reads = role.rules as f64 + tree.mean_visits;
    let sums = Sums {
        evaluations: role.patterns + tree.mean_evaluations,
        reads,
        // The readers' tree stands first.
        writes: reads + tree.rules as f64,
    };
    let cost = Cost {
        rules: role.rules + 2 * tree.rules,
        chains: role.chains + 2 * tree.chains,
        depth: tree.depth + 1,
        ..Cost::default()
    };
    sums.split("split at the root", cost, price)
}

fn at_the_leaves(
    tree: &Cost,
    shape: &[Node],
    measure: Measure<'_>,
    role: RoleRules,
    groups: &[Option<u32>],
) -> Split {
    let Measure { weights, price } = measure;
    let order = entries_in_order(shape, weights);
    // A later leaf overwrites an earlier one, so the last leaf of each group remains.
    let mut last: HashMap<u32, usize> = HashMap::new();
    for (at, entry) in order.iter().enumerate() {
        if let Some(group) = entry.and_then(|entry| groups[entry]) {
            last.insert(group, at);
        }
    }
    // The list again, now with the rules of each group: how many are looked at up to the group's last one.
    let mut ends: HashMap<u32, usize> = HashMap::new();
    let mut visits = Vec::with_capacity(order.len());
    let mut rules = 0;
    for (at, entry) in order.iter().enumerate() {
        rules += 1;
        visits.push(rules);
        if let Some(group) = entry.and_then(|entry| groups[entry])
            && last.get(&group) == Some(&at)
        {
            rules += role.rules;
            ends.insert(group, rules);
        }
    }
    let (mut total, mut split, mut reads, mut writes) = (0.0, 0.0, 0.0, 0.0);
    for (visits, entry) in visits.into_iter().zip(&order) {
        let Some(entry) = *entry else { continue };
        let weight = weights.of[entry];
        total += weight;
        let end = groups[entry].and_then(|group| ends.get(&group));
        // A read stops at the rule before the group's last, a write at the last.
        reads += weight * end.map_or(visits, |end| end - 1) as f64;
        writes += weight * end.copied().unwrap_or(visits) as f64;
        split += if end.is_some() { weight } else { 0.0 };
    }
    let total = if total > 0.0 { total } else { 1.0 };
    let sums = Sums {
        evaluations: tree.mean_evaluations + role.patterns * split / total,
        reads: reads / total,
        writes: writes / total,
    };
    let cost = Cost {
        rules: tree.rules + ends.len() * role.rules,
        chains: tree.chains + ends.len() * role.chains,
        depth: tree.depth + 1,
        ..Cost::default()
    };
    sums.split("split at the leaves", cost, price)
}

/// The rules of a tree without the ends of chains; `None` where one hands keys on.
fn entries_in_order(shape: &[Node], weights: Weights<'_>) -> Vec<Option<usize>> {
    let entry = |rule: TreeRule<'_>| match rule.node {
        Node::Leaf(entry) => Some(*entry as usize),
        Node::Chain(_) => None,
    };
    weights.order(shape).into_iter().map(entry).collect()
}

/// Means over entries.
struct Sums {
    evaluations: f64,
    /// Rules that a read looks at.
    reads: f64,
    /// Rules that another statement looks at.
    writes: f64,
}

impl Sums {
    fn split(&self, name: &'static str, counts: Cost, price: Price) -> Split {
        let mean_visits = f64::midpoint(self.reads, self.writes);
        Split {
            name,
            read_ns: price.ns(self.evaluations, self.reads, 0.0),
            write_ns: price.ns(self.evaluations, self.writes, 0.0),
            cost: Cost {
                mean_evaluations: self.evaluations,
                mean_visits,
                mean_ns: price.ns(self.evaluations, mean_visits, 0.0),
                ..counts
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::{self, tests::PROXYSQL};

    /// Of a policy without a hint: quoted calls, reads, the rest.
    const ROLE: RoleRules = RoleRules {
        rules: 3,
        chains: 1,
        patterns: 2.0,
    };

    fn alike(weights: &[f64]) -> Measure<'_> {
        Measure {
            weights: Weights {
                of: weights,
                alike: true,
            },
            price: PROXYSQL,
        }
    }

    /// Nanoseconds of the root, of the leaves with neighbours on one cluster, and with neighbours apart; in
    /// brackets of a read and of a write.
    fn compared(shards: u32, clusters: u32) -> String {
        let weights = vec![1.0; shards as usize];
        let measure = alike(&weights);
        let shape = &choice::candidates(measure)[0].shape;
        let groups = |group: fn(u32, u32, u32) -> u32| -> Vec<Option<u32>> {
            (0..shards).map(|at| Some(group(at, shards, clusters))).collect()
        };
        let [together, apart] = [
            groups(|at, shards, clusters| at / (shards / clusters)),
            groups(|at, _, clusters| at % clusters),
        ]
        .map(|groups| compare(shape, measure, ROLE, &groups));
        assert_eq!(together[0], apart[0]);
        let figures = |split: &Split| {
            let (mean, read, write) = (split.cost.mean_ns, split.read_ns, split.write_ns);
            format!("{mean:.0} ({read:.0} {write:.0})")
        };
        let [root, together, apart] = [&together[0], &together[1], &apart[1]].map(figures);
        format!("{shards} on {clusters}: root {root}, neighbours together {together}, apart {apart}")
    }

    #[test]
    fn leaves_cost_less_where_few_clusters_are_shared() {
        let cases = [
            (200, 4),
            (200, 100),
            (200, 200),
            (10_000, 4),
            (10_000, 100),
            (10_000, 10_000),
        ];
        let lines: Vec<String> = cases.map(|(shards, clusters)| compared(shards, clusters)).into();
        insta::assert_snapshot!(lines.join("\n"), @r"
        200 on 4: root 1635 (1043 2227), neighbours together 1190 (1188 1192), apart 1559 (1557 1561)
        200 on 100: root 1635 (1043 2227), neighbours together 1712 (1709 1714), apart 1968 (1966 1970)
        200 on 200: root 1635 (1043 2227), neighbours together 2384 (2382 2386), apart 2384 (2382 2386)
        10000 on 4: root 48362 (24487 72236), neighbours together 30291 (30289 30294), apart 47660 (47658 47663)
        10000 on 100: root 48362 (24487 72236), neighbours together 25382 (25380 25385), apart 48091 (48089 48093)
        10000 on 10000: root 48362 (24487 72236), neighbours together 91978 (91976 91980), apart 91978 (91976 91980)
        ");
    }

    #[test]
    fn entries_whose_reads_stay_pass_no_rules_of_the_split() {
        let shape: Vec<Node> = (0..3).map(Node::Leaf).collect();
        let [_, leaves] = compare(&shape, alike(&[1.0; 3]), ROLE, &[None, Some(7), None]);
        // 1; 2 and then 2 or 3 of the split; 6.
        let near = |cost: f64, expected: f64| (cost - expected).abs() < 1e-9;
        assert!(near(leaves.cost.mean_visits, (1.0 + 4.5 + 6.0) / 3.0));
        assert!(near(leaves.cost.mean_evaluations, 2.0 + 2.0 / 3.0));
        assert_eq!((leaves.cost.rules, leaves.cost.chains), (7, 2));
    }
}
