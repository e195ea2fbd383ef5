//! Circles of jumps: the strongly connected components of the flags.

use std::collections::{BTreeMap, BTreeSet};

use super::RuleSet;

/// Flags that can come back to themselves by jumps, grouped: strongly connected components, and flags with a rule that
/// jumps to its own chain.
pub(super) fn cycles(set: &RuleSet<'_>) -> Vec<Vec<u32>> {
    let mut targets: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for position in 0..set.rule_count() {
        targets
            .entry(set.flag_in(position))
            .or_default()
            .extend(set.jumps(position));
    }
    let mut search = Components::over(&targets);
    for &flag in targets.keys() {
        if !search.order.contains_key(&flag) {
            search.visit(flag);
        }
    }
    let mut found: Vec<Vec<u32>> = search
        .found
        .into_iter()
        .filter(|component| {
            component.len() > 1
                || targets
                    .get(&component[0])
                    .is_some_and(|to| to.contains(&component[0]))
        })
        .collect();
    found.sort();
    found
}

/// Tarjan's algorithm with a stack of its own, since chains can be many.
struct Components<'t> {
    targets: &'t BTreeMap<u32, Vec<u32>>,
    order: BTreeMap<u32, usize>,
    low: BTreeMap<u32, usize>,
    stack: Vec<u32>,
    on_stack: BTreeSet<u32>,
    found: Vec<Vec<u32>>,
}

impl<'t> Components<'t> {
    fn over(targets: &'t BTreeMap<u32, Vec<u32>>) -> Self {
        Self {
            targets,
            order: BTreeMap::new(),
            low: BTreeMap::new(),
            stack: Vec::new(),
            on_stack: BTreeSet::new(),
            found: Vec::new(),
        }
    }

    fn visit(&mut self, root: u32) {
        let mut open: Vec<(u32, usize)> = Vec::new();
        self.enter(root, &mut open);
        while let Some((flag, next)) = open.last_mut() {
            let flag = *flag;
            let to = self.targets.get(&flag).and_then(|to| to.get(*next)).copied();
            *next += 1;
            match to {
                Some(to) if !self.order.contains_key(&to) => self.enter(to, &mut open),
                Some(to) => {
                    if self.on_stack.contains(&to) {
                        self.lower(flag, self.order[&to]);
                    }
                }
                None => {
                    open.pop();
                    let low = self.low[&flag];
                    if let Some((parent, _)) = open.last() {
                        self.lower(*parent, low);
                    }
                    if low == self.order[&flag] {
                        let at = self.stack.iter().position(|&other| other == flag).unwrap_or(0);
                        let mut component = self.stack.split_off(at);
                        for flag in &component {
                            self.on_stack.remove(flag);
                        }
                        component.sort_unstable();
                        self.found.push(component);
                    }
                }
            }
        }
    }

    fn enter(&mut self, flag: u32, open: &mut Vec<(u32, usize)>) {
        let number = self.order.len();
        self.order.insert(flag, number);
        self.low.insert(flag, number);
        self.stack.push(flag);
        self.on_stack.insert(flag);
        open.push((flag, 0));
    }

    fn lower(&mut self, flag: u32, to: usize) {
        if let Some(low) = self.low.get_mut(&flag) {
            *low = to.min(*low);
        }
    }
}
