//! The most patterns that a statement can have evaluated.

use std::collections::BTreeMap;

use shardwright_rules::{Body, Chains, Configuration, NativeStep, ReadSelection, Rule};

/// Restarts up to which the worst case is counted.
const MAX_ITERATIONS: u32 = 64;

/// The worst case by the chain that a statement enters.
pub(super) struct Costs {
    entering: Option<BTreeMap<u32, u32>>,
}

/// Patterns that a visit to a rule evaluates at most.
pub(super) fn patterns(rule: &Rule) -> u32 {
    let count = |scope: &shardwright_rules::Scope| {
        scope.match_digest.len()
            + scope.match_pattern.len()
            + scope.except_match_digest.len()
            + scope.except_match_pattern.len()
    };
    let patterns = match &rule.body {
        Body::Engine(row) => {
            usize::from(row.match_digest.is_some()) + usize::from(row.match_pattern.is_some())
        }
        Body::Native { scope, step } => {
            let reads = match step {
                NativeStep::Role(role) => match &role.reads {
                    ReadSelection::All => 0,
                    ReadSelection::Only(scopes) | ReadSelection::Except(scopes) => {
                        scopes.iter().map(count).sum()
                    }
                },
                _ => 0,
            };
            count(scope) + reads
        }
    };
    u32::try_from(patterns).unwrap_or(u32::MAX)
}

impl Costs {
    /// Counts from the last rule to the first: without restarts, jumps lead to later rules only; with them, a jump at one
    /// restart fewer is known already.
    pub(super) fn of(configuration: &Configuration) -> Self {
        let iterations = configuration.settings.query_processor_iterations;
        if iterations > MAX_ITERATIONS {
            return Self { entering: None };
        }
        let rules = &configuration.graph.rules;
        let chains = Chains::of(rules);
        let mut entering: BTreeMap<u32, u32> = BTreeMap::new();
        for round in 0..=iterations {
            let restarted = (round > 0).then_some(&entering);
            let costs = behind(rules, &chains, restarted);
            entering = chains
                .iter()
                .map(|(flag, positions)| (flag, costs[positions[0]]))
                .collect();
        }
        Self {
            entering: Some(entering),
        }
    }

    /// The worst case of a statement that enters a chain at its first rule.
    pub(super) fn entering(&self, flag: u32) -> Option<u32> {
        Some(self.entering.as_ref()?.get(&flag).copied().unwrap_or(0))
    }
}

/// For each rule the worst case of a statement that comes to it; `restarted`: that of entering a chain after a restart.
fn behind(rules: &[Rule], chains: &Chains, restarted: Option<&BTreeMap<u32, u32>>) -> Vec<u32> {
    let mut costs = vec![0_u32; rules.len()];
    for position in (0..rules.len()).rev() {
        let next = |flag: u32, costs: &[u32]| -> u32 {
            chains.next(flag, position + 1).map_or(0, |known| costs[known])
        };
        let rule = &rules[position];
        let onward = next(rule.flag_in, &costs);
        let after = match &rule.body {
            Body::Engine(row) => {
                let matched = if row.apply {
                    0
                } else {
                    let jumped = row.jumps().map(|flag| match restarted {
                        Some(entering) => entering.get(&flag).copied().unwrap_or(0),
                        None => next(flag, &costs),
                    });
                    jumped.max().unwrap_or(onward)
                };
                if row.is_unconditional() {
                    matched
                } else {
                    matched.max(onward)
                }
            }
            Body::Native { .. } => onward,
        };
        costs[position] = patterns(rule).saturating_add(after);
    }
    costs
}

#[cfg(test)]
mod tests {
    use shardwright_rules::{Address, EngineId, EngineRule};

    use super::*;

    fn worst(rules: &[(u32, EngineRule)], iterations: u32) -> Option<u32> {
        let mut configuration = Configuration::empty(EngineId::Proxysql27);
        configuration.settings.query_processor_iterations = iterations;
        configuration.graph.rules = rules
            .iter()
            .zip(1..)
            .map(|((flag_in, row), id)| Rule {
                id,
                address: Address::new("rules"),
                shards: Vec::new(),
                summary: None,
                flag_in: *flag_in,
                body: Body::Engine(Box::new(row.clone())),
            })
            .collect();
        Costs::of(&configuration).entering(0)
    }

    fn row(pattern: bool, flag_out: Option<u32>, apply: bool) -> EngineRule {
        EngineRule {
            match_digest: pattern.then(|| "x".to_owned()),
            flag_out,
            apply,
            ..EngineRule::default()
        }
    }

    #[test]
    fn the_worst_walk_is_counted() {
        let stop = || row(true, None, true);
        assert_eq!(worst(&[], 0), Some(0));
        assert_eq!(worst(&[(0, stop()), (0, stop()), (0, stop())], 0), Some(3));
        // A jump leaves the chain: one pattern here, two there; staying costs two.
        assert_eq!(
            worst(
                &[
                    (0, row(true, Some(5), false)),
                    (0, stop()),
                    (5, stop()),
                    (5, stop())
                ],
                0
            ),
            Some(3)
        );
        // Nobody comes behind a rule that takes all.
        assert_eq!(worst(&[(0, row(false, None, true)), (0, stop())], 0), Some(0));
        // A loop evaluates its pattern once for each restart and once more.
        assert_eq!(worst(&[(0, row(true, Some(0), false))], 3), Some(4));
        assert_eq!(worst(&[(0, row(true, Some(0), false))], 1_000_000), None);
    }
}
