//! Which states of an automaton no text tells apart, in n log n steps (Hopcroft 1971).

/// The number of blocks, and the block of each state of a complete automaton with `next[state * width + class]`.
pub(super) fn coarsest(next: &[u32], width: usize, accepting: &[bool]) -> (usize, Vec<u32>) {
    let before = Predecessors::of(next, width, accepting.len());
    let mut partition = Partition::of(accepting);
    let mut splitters: Vec<(usize, usize)> = Vec::new();
    // Splitting by one of two blocks is enough; which one is left out decides nothing but the time.
    if partition.ranges.len() == 2 {
        splitters.extend((0..width).map(|class| (partition.smaller(), class)));
    }
    let mut found = Vec::new();
    while let Some((block, class)) = splitters.pop() {
        found.clear();
        for &state in partition.states_of(block) {
            found.extend_from_slice(before.of_state(state, class));
        }
        for fresh in partition.split(&found) {
            splitters.extend((0..width).map(|class| (fresh, class)));
        }
    }
    (partition.ranges.len(), partition.block)
}

/// The states from which each class leads to a state.
struct Predecessors {
    states: usize,
    /// Where those of `class * states + state` begin; one more at the end.
    from: Vec<u32>,
    all: Vec<u32>,
}

impl Predecessors {
    fn of(next: &[u32], width: usize, states: usize) -> Self {
        let mut from = vec![0_u32; width * states + 1];
        let edges = || next.chunks_exact(width.max(1)).zip(0_u32..);
        for (row, _) in edges() {
            for (class, &to) in row.iter().enumerate() {
                from[class * states + to as usize + 1] += 1;
            }
        }
        for at in 1..from.len() {
            from[at] += from[at - 1];
        }
        let (mut free, mut all) = (from.clone(), vec![0; next.len()]);
        for (row, state) in edges() {
            for (class, &to) in row.iter().enumerate() {
                let at = &mut free[class * states + to as usize];
                all[*at as usize] = state;
                *at += 1;
            }
        }
        Self { states, from, all }
    }

    fn of_state(&self, state: u32, class: usize) -> &[u32] {
        let at = class * self.states + state as usize;
        &self.all[self.from[at] as usize..self.from[at + 1] as usize]
    }
}

struct Partition {
    /// The states of a block stand together.
    states: Vec<u32>,
    place: Vec<u32>,
    block: Vec<u32>,
    /// Where each block begins and ends.
    ranges: Vec<(usize, usize)>,
    /// How many states at the beginning of each block are marked.
    marked: Vec<usize>,
}

impl Partition {
    /// Accepting states and others.
    fn of(accepting: &[bool]) -> Self {
        let numbers = 0_u32..;
        let mut states: Vec<u32> = numbers.take(accepting.len()).collect();
        states.sort_by_key(|&state| !accepting[state as usize]);
        let split = accepting.iter().filter(|&&accepts| accepts).count();
        let mut ranges = vec![(0, split), (split, states.len())];
        ranges.retain(|(from, to)| from < to);
        let mut partition = Self {
            place: vec![0; states.len()],
            block: vec![0; states.len()],
            marked: vec![0; ranges.len()],
            states,
            ranges,
        };
        for at in 0..partition.states.len() {
            let state = partition.states[at] as usize;
            partition.place[state] = number(at);
            partition.block[state] = u32::from(partition.ranges.len() == 2 && at >= split);
        }
        partition
    }

    fn states_of(&self, block: usize) -> &[u32] {
        let (from, to) = self.ranges[block];
        &self.states[from..to]
    }

    fn smaller(&self) -> usize {
        let size = |block: &usize| self.states_of(*block).len();
        (0..self.ranges.len()).min_by_key(size).unwrap_or(0)
    }

    /// Tells these states apart from the others of their blocks; the blocks that are new, each no larger than the one it
    /// was taken from.
    fn split(&mut self, apart: &[u32]) -> Vec<usize> {
        let mut touched = Vec::new();
        for &state in apart {
            let block = self.block[state as usize] as usize;
            if self.marked[block] == 0 {
                touched.push(block);
            }
            self.swap(
                self.place[state as usize] as usize,
                self.ranges[block].0 + self.marked[block],
            );
            self.marked[block] += 1;
        }
        touched
            .into_iter()
            .filter_map(|block| self.divide(block))
            .collect()
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.states.swap(a, b);
        for at in [a, b] {
            self.place[self.states[at] as usize] = number(at);
        }
    }

    /// A block of the marked states of one, or of the others if they are fewer.
    fn divide(&mut self, block: usize) -> Option<usize> {
        let (from, to) = self.ranges[block];
        let middle = from + std::mem::take(&mut self.marked[block]);
        if middle == to {
            return None;
        }
        let (kept, taken) = if middle - from <= to - middle {
            ((middle, to), (from, middle))
        } else {
            ((from, middle), (middle, to))
        };
        let fresh = self.ranges.len();
        self.ranges[block] = kept;
        self.ranges.push(taken);
        self.marked.push(0);
        for &state in &self.states[taken.0..taken.1] {
            self.block[state as usize] = number(fresh);
        }
        Some(fresh)
    }
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("states are numbered by u32")
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Refines by acceptance and successors until nothing changes.
    fn slowly(next: &[u32], width: usize, accepting: &[bool]) -> Vec<u32> {
        let mut block: Vec<u32> = accepting.iter().map(|&accepts| u32::from(accepts)).collect();
        for _ in accepting {
            let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
            let signature = |state: usize| {
                let row = &next[state * width..][..width];
                let successors = row.iter().map(|&to| block[to as usize]);
                std::iter::once(block[state]).chain(successors).collect()
            };
            let refined = (0..accepting.len()).map(|state| {
                let fresh = known.len() as u32;
                *known.entry(signature(state)).or_insert(fresh)
            });
            block = refined.collect();
        }
        block
    }

    fn automaton() -> impl Strategy<Value = (Vec<u32>, usize, Vec<bool>)> {
        (1..30_usize, 1..4_usize).prop_flat_map(|(states, width)| {
            let next = prop::collection::vec(0..states as u32, states * width);
            (next, Just(width), prop::collection::vec(any::<bool>(), states))
        })
    }

    proptest! {
        #[test]
        fn blocks_are_those_of_slow_refinement((next, width, accepting) in automaton()) {
            let (blocks, block) = coarsest(&next, width, &accepting);
            let slow = slowly(&next, width, &accepting);
            for a in 0..block.len() {
                prop_assert!((block[a] as usize) < blocks);
                for b in 0..a {
                    prop_assert_eq!(block[a] == block[b], slow[a] == slow[b], "states {} and {}", a, b);
                }
            }
        }
    }
}
