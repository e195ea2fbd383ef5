//! Values by integer: in a row where the keys nearly are one, in a hash table where they are far apart.
//!
//! Keys of the table come from the configuration; what clients send is only looked up, so nobody outside can make them
//! collide.

use rustc_hash::FxHashMap;

/// Places of a row for each key, at most.
const MOST_PLACES: u128 = 2;

/// A value for each of many integers; the first of equals counts.
#[derive(Debug)]
pub(crate) enum Integers<T> {
    /// From this key on, one place for each integer.
    Row(i64, Box<[Option<T>]>),
    Apart(FxHashMap<i64, T>),
}

impl<T> Default for Integers<T> {
    fn default() -> Self {
        Self::Row(0, Box::default())
    }
}

impl<T: Copy> Integers<T> {
    pub(crate) fn of(entries: Vec<(i64, T)>) -> Self {
        let keys = || entries.iter().map(|(key, _)| *key);
        let (Some(first), Some(last)) = (keys().min(), keys().max()) else {
            return Self::default();
        };
        let places = u128::from(last.abs_diff(first)) + 1;
        if places > MOST_PLACES * entries.len() as u128 {
            let mut apart = FxHashMap::default();
            for (key, value) in entries {
                apart.entry(key).or_insert(value);
            }
            return Self::Apart(apart);
        }
        let mut row = vec![None; places as usize].into_boxed_slice();
        for (key, value) in entries {
            let place = &mut row[key.abs_diff(first) as usize];
            *place = place.or(Some(value));
        }
        Self::Row(first, row)
    }

    /// What becomes of each value, for the keys where something does.
    pub(crate) fn filter_map<U>(&self, of: impl Fn(T) -> Option<U>) -> Integers<U> {
        match self {
            Self::Row(first, row) => {
                let values = row.iter().map(|value| value.and_then(&of));
                Integers::Row(*first, values.collect())
            }
            Self::Apart(apart) => {
                let values = apart.iter().filter_map(|(key, value)| Some((*key, of(*value)?)));
                Integers::Apart(values.collect())
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: i64) -> Option<T> {
        match self {
            Self::Row(first, row) => {
                if key < *first {
                    return None;
                }
                *row.get(usize::try_from(key.abs_diff(*first)).ok()?)?
            }
            Self::Apart(apart) => apart.get(&key).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_its_first_value_and_no_neighbour_has_one() {
        for keys in [
            vec![],
            vec![7],
            vec![1, 2, 3, 5, 2],
            vec![-3, -1, 0, 2],
            vec![i64::MIN, i64::MIN + 1],
            vec![i64::MAX - 1, i64::MAX, i64::MAX],
            vec![i64::MIN, 0, i64::MAX],
            vec![1000, 1, 1_000_000, 1],
        ] {
            let entries: Vec<(i64, usize)> = keys.iter().copied().zip(0..).collect();
            let integers = Integers::of(entries);
            let neighbours = keys
                .iter()
                .flat_map(|key| [key.wrapping_sub(1), *key, key.wrapping_add(1)]);
            for asked in neighbours.chain([0, i64::MIN, i64::MAX]) {
                let expected = keys.iter().position(|key| *key == asked);
                assert_eq!(integers.get(asked), expected, "{asked} in {keys:?}");
            }
        }
    }
}
