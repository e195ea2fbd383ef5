//! Ids from a hash of a name, so that two branches that add different things seldom take the same number.

use std::collections::HashSet;

use crate::IdRange;

/// Ids of one range, with those that are taken.
#[derive(Debug)]
pub struct Probe {
    range: IdRange,
    taken: HashSet<u32>,
    refused: usize,
}

impl Probe {
    /// A range of which nothing is taken.
    pub fn new(range: IdRange) -> Self {
        Self {
            range,
            taken: HashSet::new(),
            refused: 0,
        }
    }

    /// Marks an id as used, inside the range or not; false when it was already.
    pub fn take(&mut self, id: u32) -> bool {
        self.taken.insert(id)
    }

    /// Whether the id lies in the range and is free.
    pub fn is_free(&self, id: u32) -> bool {
        self.range.contains(id) && !self.taken.contains(&id)
    }

    /// Whether `name` gets this id if it is free: what a lock that has ids gives to new names.
    pub fn is_first_choice(&self, name: &str, id: u32) -> bool {
        u64::from(self.range.first) + hash(name) % self.size() == u64::from(id)
    }

    /// The first free id from the hash of `name` on, around the end of the range; `None` when all are taken.
    pub fn give(&mut self, name: &str) -> Option<u32> {
        let size = self.size();
        let start = hash(name) % size;
        if (self.taken.len() as u64) >= size && self.free() == 0 {
            self.refused += 1;
            return None;
        }
        let id = (0..size)
            .map(|step| {
                self.range.first
                    + u32::try_from((start + step) % size).expect("an offset inside a range of u32")
            })
            .find(|id| !self.taken.contains(id))?;
        self.taken.insert(id);
        Some(id)
    }

    /// How many names got no id.
    pub fn missing(&self) -> usize {
        self.refused
    }

    /// Ids in the range.
    pub fn size(&self) -> u64 {
        u64::from(self.range.last.saturating_sub(self.range.first)) + 1
    }

    fn free(&self) -> u64 {
        let inside = self.taken.iter().filter(|&&id| self.range.contains(id)).count();
        self.size() - inside as u64
    }
}

/// FNV-1a, 64 bits.
pub(crate) fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_range_is_given_once() {
        let mut probe = Probe::new(IdRange { first: 10, last: 19 });
        probe.take(12);
        let mut ids: Vec<u32> = (0..9).filter_map(|n| probe.give(&format!("n{n}"))).collect();
        ids.sort_unstable();
        assert_eq!(ids, [10, 11, 13, 14, 15, 16, 17, 18, 19]);
        assert_eq!(probe.give("more"), None);
        assert_eq!(probe.missing(), 1);
    }

    #[test]
    fn an_id_depends_on_its_name_only() {
        let id = |names: &[&str]| {
            let mut probe = Probe::new(IdRange {
                first: 1000,
                last: 2999,
            });
            names.iter().map(|name| probe.give(name)).next_back().flatten()
        };
        assert_eq!(id(&["clusters.b"]), id(&["clusters.a", "clusters.b"]));
    }
}
