//! Ids of rules: those of trees stay where live systems have them, and all ascend in the order of evaluation.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use shardwright_ids::sequence::{self, SequenceError, Wish};
use shardwright_ids::tree_ids::{self, Bounds, TreeRule};
use shardwright_ids::{IdRange, Lock};
use shardwright_topology::model::IdRanges;

use super::{Flag, Sequence, SequencedRule, TreePosition};
use crate::diagnostics::{Diagnostics, NUMBERS};
use crate::draft::ChainRef;

impl Sequence {
    /// An id for each rule, in their order; sorts the rules of trees by theirs. None where they do not fit, which is reported.
    pub(super) fn rule_ids(&mut self, ids: &IdRanges, lock: &Lock, report: &mut Diagnostics<'_>) -> Vec<u32> {
        let engine = report.engine;
        let pinned = |name: &str| lock.get(&format!("rules.{engine}.{name}"));
        let mut wishes: Vec<Wish> = self
            .rules
            .iter()
            .map(|rule| match rule.written {
                Some((id, _)) => Wish::Written(id),
                None => pinned(&rule.name)
                    .or_else(|| pinned(rule.formerly.as_deref()?))
                    .map_or(Wish::Free, Wish::Locked),
            })
            .collect();
        let range = IdRange::from(&ids.rules);
        self.place_trees(&mut wishes, range);
        match self.allocate(&wishes, range) {
            Ok(ids) => ids,
            Err(SequenceError::Unordered { before, after }) => {
                let (id, origin) = self.rules[after]
                    .written
                    .expect("only written ids are out of order");
                let message = format!(
                    "rule_id {id} comes after {} in the order of evaluation, so it must be greater than that rule's id",
                    self.rules[before].address
                );
                report.error(NUMBERS, origin, "rule_id", message);
                Vec::new()
            }
            Err(SequenceError::Exhausted { needed, available }) => {
                let message = format!(
                    "ids.rules {}-{} has {available} numbers for {needed} rules of {engine} that must be consecutive, {} too few",
                    range.first,
                    range.last,
                    needed.saturating_sub(available)
                );
                report.exhausted(message);
                Vec::new()
            }
        }
    }

    /// Puts the rules of trees that live systems have in the order of their ids, with ids for those that are new.
    fn place_trees(&mut self, wishes: &mut [Wish], range: IdRange) {
        let mut from = 0;
        while from < self.rules.len() {
            let Some(TreePosition { root, .. }) = self.rules[from].tree else {
                from += 1;
                continue;
            };
            let same = |rule: &SequencedRule| rule.tree.is_some_and(|tree| tree.root == root);
            let to = from + self.rules[from..].iter().take_while(|rule| same(rule)).count();
            let within = bounds(wishes, from..to, range);
            let of_tree = tree_rules(&self.rules[from..to], &wishes[from..to]);
            let ids = tree_ids::allocate(&of_tree, within).or_else(|| {
                let below = self.farthest(to, wishes, range);
                tree_ids::allocate(&of_tree, Bounds { below, ..within })
            });
            if let Some(ids) = ids {
                drop(of_tree);
                self.let_go(to, wishes, ids.iter().copied().max().unwrap_or(within.above));
                let mut order: Vec<usize> = (0..ids.len()).collect();
                order.sort_unstable_by_key(|&at| ids[at]);
                let mut taken: Vec<Option<SequencedRule>> =
                    self.rules.splice(from..to, []).map(Some).collect();
                let sorted: Vec<SequencedRule> = order.iter().filter_map(|&at| taken[at].take()).collect();
                self.rules.splice(from..from, sorted);
                for (wish, at) in wishes[from..to].iter_mut().zip(order) {
                    *wish = Wish::Locked(ids[at]);
                }
            }
            from = to;
        }
    }

    /// The first id behind all that a tree which ends at `to` may take: rules behind it that are nobody's shard make room.
    fn farthest(&self, to: usize, wishes: &[Wish], range: IdRange) -> u32 {
        let (mut loose, mut farthest) = (0, u32::MAX);
        for (rule, wish) in self.rules[to..].iter().zip(&wishes[to..]) {
            match wish {
                Wish::Written(id) => farthest = farthest.min(id.saturating_sub(loose)),
                Wish::Locked(id) if rule.tree.is_some() => farthest = farthest.min(id.saturating_sub(loose)),
                Wish::Locked(_) | Wish::Free => loose += 1,
            }
        }
        farthest.min(range.last.saturating_add(1).saturating_sub(loose))
    }

    /// Rules behind a tree that have an id of it get another.
    fn let_go(&self, to: usize, wishes: &mut [Wish], last: u32) {
        for (rule, wish) in self.rules[to..].iter().zip(&mut wishes[to..]) {
            if rule.tree.is_none() && matches!(wish, Wish::Locked(id) if *id <= last) {
                *wish = Wish::Free;
            }
        }
    }

    /// Ids in the order of the rules. Behind each tree that live systems do not have yet there is room for it to grow.
    fn allocate(&self, wishes: &[Wish], range: IdRange) -> Result<Vec<u32>, SequenceError> {
        let (mut roomy, mut rules) = (Vec::with_capacity(wishes.len()), Vec::with_capacity(wishes.len()));
        let mut grown = 0;
        for (at, wish) in wishes.iter().enumerate() {
            rules.push(roomy.len());
            roomy.push(*wish);
            let tree = |at: usize| {
                self.rules
                    .get(at)
                    .and_then(|rule| rule.tree)
                    .map(|tree| tree.root)
            };
            grown += usize::from(tree(at).is_some());
            if tree(at).is_some() && tree(at) != tree(at + 1) {
                let both_free =
                    *wish == Wish::Free && wishes.get(at + 1).is_none_or(|next| *next == Wish::Free);
                roomy.extend(vec![Wish::Free; if both_free { 8 + grown / 4 } else { 0 }]);
                grown = 0;
            }
        }
        match sequence::allocate(&roomy, range) {
            Ok(ids) => Ok(rules.into_iter().map(|at| ids[at]).collect()),
            Err(_) => sequence::allocate(wishes, range),
        }
    }
}

/// The ids that others have in front of some rules and behind them.
fn bounds(wishes: &[Wish], rules: Range<usize>, range: IdRange) -> Bounds {
    let pinned = |wish: &Wish| match wish {
        Wish::Written(id) | Wish::Locked(id) => Some(*id),
        Wish::Free => None,
    };
    let low = wishes[..rules.start].iter().filter_map(pinned).max().unwrap_or(0);
    let high = wishes[rules.end..]
        .iter()
        .filter_map(pinned)
        .min()
        .unwrap_or(u32::MAX);
    Bounds {
        above: low.max(range.first.saturating_sub(1)),
        below: high.min(range.last.saturating_add(1)),
    }
}

/// The rules of one tree, for their ids.
fn tree_rules<'r>(rules: &'r [SequencedRule], wishes: &[Wish]) -> Vec<TreeRule<'r>> {
    let chain_of = |rule: &SequencedRule| match rule.flag {
        Flag::Chain(chain) => chain,
        Flag::Number(_) => unreachable!("trees are made of chains"),
    };
    let branches: HashSet<ChainRef> = rules.iter().map(chain_of).collect();
    // A chain gets its number from the rule that jumps to it, which stands in front of its own.
    let mut numbers: HashMap<ChainRef, usize> = HashMap::new();
    numbers.extend(
        rules
            .iter()
            .filter_map(|rule| rule.tree)
            .map(|tree| (tree.root, 0))
            .take(1),
    );
    for to in rules
        .iter()
        .filter_map(|rule| rule.jump)
        .filter(|to| branches.contains(to))
    {
        let next = numbers.len();
        numbers.entry(to).or_insert(next);
    }
    let tree_rule = |(rule, wish): (&'r SequencedRule, &Wish)| TreeRule {
        chain: numbers[&chain_of(rule)],
        opens: rule.jump.and_then(|to| numbers.get(&to).copied()),
        ends: rule.ends,
        locked: match wish {
            Wish::Locked(id) => Some(*id),
            Wish::Written(_) | Wish::Free => None,
        },
        name: &rule.name,
    };
    rules.iter().zip(wishes).map(tree_rule).collect()
}
