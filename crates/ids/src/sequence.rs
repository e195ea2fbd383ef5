//! Ascending ids for rules in evaluation order: what is pinned stays, the rest goes between its neighbours.
//!
//! # Idea
//!
//! Written ids are fixed. Between two of them, the longest ascending run of locked ids is fixed too: that keeps as many rules
//! as possible at the id that live systems know. The rules between two fixed ids are a gap, and get ids that lie evenly in it.
//! A gap that is too small grows: it takes in the locked rule after it, or else the one before it.
//!
//! # Invariant
//!
//! Ids ascend in evaluation order, written ids are as written, and every other id is in the range. A gap only grows over
//! locked rules, so the work ends: at a written id on both sides there is nothing left to take in, and that is an error.
//!
//! # Example
//!
//! The range is 1000-1999. Three locked rules have 1100, 1200 and 1300, and a new rule comes after the first. The gap between
//! 1100 and 1200 has one rule: it gets 1150, and no other rule moves.

use crate::IdRange;

/// What is known of the id of one rule of the sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The user wrote it.
    Written(u32),
    /// The lock file remembers it.
    Locked(u32),
    /// Nothing.
    Free,
}

/// Why no ids could be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SequenceError {
    /// A written id is not above the written id of a rule that comes before it; both are indices.
    Unordered {
        /// The rule before.
        before: usize,
        /// The rule whose id is too small.
        after: usize,
    },
    /// The range cannot hold this many rules between two written ids.
    Exhausted {
        /// Rules that need an id.
        needed: usize,
        /// Ids there are.
        available: usize,
    },
}

/// Ids in ascending order, one for each wish. Free ids come from `range`, the written ones from
/// anywhere. Locked ids stay unless they break the order or leave no room for what stands between them.
pub fn allocate(wishes: &[Wish], range: IdRange) -> Result<Vec<u32>, SequenceError> {
    check_written(wishes)?;
    let mut fixed = fixed_points(wishes, range);
    let mut ids = vec![0; wishes.len()];
    let mut at = 0;
    while at < wishes.len() {
        if let Some(id) = fixed[at] {
            ids[at] = id;
            at += 1;
            continue;
        }
        at = fill_gap(wishes, &mut fixed, at, range, &mut ids)?;
    }
    Ok(ids)
}

/// Fills the gap that starts at `from`, letting go of locked ids behind it, and then before it, until there is room;
/// returns its end.
fn fill_gap(
    wishes: &[Wish],
    fixed: &mut [Option<u32>],
    mut from: usize,
    range: IdRange,
    ids: &mut [u32],
) -> Result<usize, SequenceError> {
    let mut end = from;
    loop {
        // The gap reaches to the next fixed id, or to the end of the sequence.
        while end < wishes.len() && fixed[end].is_none() {
            end += 1;
        }
        let below = from.checked_sub(1).map(|before| ids[before]);
        let above = if end < wishes.len() { fixed[end] } else { None };
        let low = below.map_or(range.first, |below| range.first.max(below.saturating_add(1)));
        let high = above.map_or(range.last, |above| range.last.min(above.saturating_sub(1)));
        let (needed, available) = (end - from, (u64::from(high) + 1).saturating_sub(u64::from(low)));
        if needed as u64 <= available {
            spread(&mut ids[from..end], low, available, above.is_none());
            return Ok(end);
        }
        let movable =
            |at: Option<usize>| at.filter(|&at| matches!(wishes.get(at), Some(Wish::Locked(_) | Wish::Free)));
        // Too small. Rules after the gap move first: the ids before it are given already.
        if let Some(behind) = movable(Some(end)) {
            fixed[behind] = None;
        } else if let Some(before) = movable(from.checked_sub(1)) {
            fixed[before] = None;
            from = before;
        } else {
            let available = available as usize;
            return Err(SequenceError::Exhausted { needed, available });
        }
    }
}

/// Spreads ids over `available` numbers from `low`; at the open end of the range with gaps of 100, or of what leaves room
/// for 256 times as many.
fn spread(ids: &mut [u32], low: u32, available: u64, open: bool) {
    const WIDEST_GAP: u64 = 100;
    let count = ids.len() as u64;
    let step = available / (count + 1);
    let widest = WIDEST_GAP.max(available / (256 * count.max(1)));
    // At the open end, later rules need room too: not the whole range is spread over the first ones.
    let step = if open { step.min(widest) } else { step };
    for (nth, id) in ids.iter_mut().enumerate() {
        let nth = nth as u64;
        let offset = if step == 0 { nth } else { (nth + 1) * step };
        // The rules after this one need the last numbers.
        *id = low
            + u32::try_from(offset.min(available - count + nth)).expect("an offset inside a range of u32");
    }
}

fn check_written(wishes: &[Wish]) -> Result<(), SequenceError> {
    let mut last: Option<(usize, u32)> = None;
    for (at, wish) in wishes.iter().enumerate() {
        if let Wish::Written(id) = *wish {
            if let Some((before, previous)) = last
                && id <= previous
            {
                return Err(SequenceError::Unordered { before, after: at });
            }
            last = Some((at, id));
        }
    }
    Ok(())
}

/// Written ids, and the longest ascending run of locked ones between them.
fn fixed_points(wishes: &[Wish], range: IdRange) -> Vec<Option<u32>> {
    let mut fixed: Vec<Option<u32>> = vec![None; wishes.len()];
    let mut from = 0;
    let mut below = None;
    while from < wishes.len() {
        let to = (from..wishes.len())
            .find(|&at| matches!(wishes[at], Wish::Written(_)))
            .unwrap_or(wishes.len());
        let above = match wishes.get(to) {
            Some(Wish::Written(id)) => Some(*id),
            _ => None,
        };
        let usable =
            |id: u32| range.contains(id) && below.is_none_or(|b| b < id) && above.is_none_or(|a| id < a);
        for at in longest_ascending(&wishes[from..to], usable) {
            if let Wish::Locked(id) = wishes[from + at] {
                fixed[from + at] = Some(id);
            }
        }
        if let Some(above) = above {
            fixed[to] = Some(above);
            below = Some(above);
        }
        from = to + 1;
    }
    fixed
}

/// Indices of a longest strictly ascending run of usable locked ids.
fn longest_ascending(wishes: &[Wish], usable: impl Fn(u32) -> bool) -> Vec<usize> {
    // Patience sorting: `tails[n]` is the smallest id that ends a run of `n + 1`, and each id remembers the one before it.
    let mut tails: Vec<(u32, usize)> = Vec::new();
    let mut previous: Vec<Option<usize>> = vec![None; wishes.len()];
    for (at, wish) in wishes.iter().enumerate() {
        let Wish::Locked(id) = *wish else { continue };
        if !usable(id) {
            continue;
        }
        let length = tails.partition_point(|&(tail, _)| tail < id);
        previous[at] = length.checked_sub(1).map(|before| tails[before].1);
        if length == tails.len() {
            tails.push((id, at));
        } else {
            tails[length] = (id, at);
        }
    }
    // The longest run, from its end.
    let mut run = Vec::with_capacity(tails.len());
    let mut next = tails.last().map(|&(_, at)| at);
    while let Some(at) = next {
        run.push(at);
        next = previous[at];
    }
    run.reverse();
    run
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: u32, last: u32) -> IdRange {
        IdRange { first, last }
    }

    #[test]
    fn neighbours_stay_when_one_comes_between() {
        let ids = allocate(&[Wish::Free; 3], range(1000, 1999)).expect("room");
        assert_eq!(ids, [1100, 1200, 1300]);
        let wishes = [
            Wish::Locked(1100),
            Wish::Free,
            Wish::Locked(1200),
            Wish::Locked(1300),
        ];
        assert_eq!(
            allocate(&wishes, range(1000, 1999)),
            Ok(vec![1100, 1150, 1200, 1300])
        );
    }

    #[test]
    fn written_ids_bind_and_locked_ones_give_way() {
        let wishes = [
            Wish::Written(7),
            Wish::Locked(5),
            Wish::Free,
            Wish::Written(20),
            Wish::Free,
        ];
        let ids = allocate(&wishes, range(1, 100)).expect("room");
        assert_eq!((ids[0], ids[3]), (7, 20));
        assert!(ids.is_sorted() && ids[1] > 7 && ids[2] < 20, "{ids:?}");
        let wishes = [Wish::Written(7), Wish::Free, Wish::Written(7)];
        assert_eq!(
            allocate(&wishes, range(1, 100)),
            Err(SequenceError::Unordered { before: 0, after: 2 })
        );
    }

    #[test]
    fn exhaustion_is_reported() {
        assert_eq!(
            allocate(&[Wish::Free; 11], range(1, 10)),
            Err(SequenceError::Exhausted {
                needed: 11,
                available: 10
            })
        );
        assert_eq!(allocate(&[Wish::Free; 10], range(1, 10)), Ok((1..=10).collect()));
    }

    fn wishes() -> impl Strategy<Value = Vec<Wish>> {
        prop::collection::vec(
            prop_oneof![Just(Wish::Free), (0u32..300).prop_map(Wish::Locked)],
            0..100,
        )
    }

    proptest! {
        #[test]
        fn ids_ascend_inside_the_range(wishes in wishes()) {
            let ids = allocate(&wishes, range(50, 250)).expect("100 rules fit into 201 ids");
            prop_assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
            prop_assert!(ids.iter().all(|id| (50..=250).contains(id)));
        }

        #[test]
        fn what_was_given_is_given_again(wishes in wishes()) {
            let ids = allocate(&wishes, range(50, 250)).expect("100 rules fit into 201 ids");
            let locked: Vec<Wish> = ids.iter().map(|&id| Wish::Locked(id)).collect();
            prop_assert_eq!(allocate(&locked, range(50, 250)), Ok(ids));
        }
    }
}
