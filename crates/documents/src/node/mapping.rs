//! Maps with text keys that keep the order of the file and find a key fast.

use shardwright_diagnostics::Span;

use crate::{Node, Style};

/// Maps up to this size are searched from the front.
const SEARCHED: usize = 8;

/// A key and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The text without quotes and escapes; `017` stays `017`.
    pub text: Box<str>,
    /// From the first to the last character, with quotes.
    pub span: Span,
    /// How it was written.
    pub style: Style,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Node,
}

/// Entries in the order of the file, each key once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mapping {
    entries: Vec<Entry>,
    /// Places in `entries` by key text; empty for maps that are searched from the front.
    by_key: Vec<u32>,
}

impl Mapping {
    /// Keeps the first entry of each key and gives the later ones beside it, each with the place of the first.
    #[must_use]
    pub fn new(mut entries: Vec<Entry>) -> (Self, Vec<(usize, Entry)>) {
        let (duplicates, mut by_key) = duplicates(&entries);
        let mut removed = Vec::with_capacity(duplicates.len());
        if !duplicates.is_empty() {
            let mut next = duplicates.iter().peekable();
            let mut places = Vec::with_capacity(entries.len());
            let mut kept = Vec::with_capacity(entries.len() - duplicates.len());
            for (at, entry) in entries.into_iter().enumerate() {
                match next.next_if(|(place, _)| *place == at) {
                    Some((_, first)) => removed.push((places[*first], entry)),
                    None => kept.push(entry),
                }
                // A first entry is kept, so its place is the last one when it is recorded.
                places.push(kept.len().saturating_sub(1));
            }
            entries = kept;
            by_key.clear();
            if entries.len() > SEARCHED {
                by_key = sorted_places(&entries);
            }
        }
        (Self { entries, by_key }, removed)
    }

    /// The entries in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entries in the order of the file.
    pub fn iter(&self) -> std::slice::Iter<'_, Entry> {
        self.entries.iter()
    }

    /// The texts of the keys in the order of the file.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.key.text)
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of a key.
    #[must_use]
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        if self.by_key.is_empty() {
            return self.entries.iter().find(|entry| &*entry.key.text == key);
        }
        let text = |place: &u32| &*self.entries[*place as usize].key.text;
        let at = self.by_key.binary_search_by(|place| text(place).cmp(key)).ok()?;
        self.entries.get(self.by_key[at] as usize)
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value)
    }

    /// The entries, for building another map.
    #[must_use]
    pub fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl<'a> IntoIterator for &'a Mapping {
    type Item = &'a Entry;
    type IntoIter = std::slice::Iter<'a, Entry>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The first entry of each key stays; the rest are dropped.
impl FromIterator<Entry> for Mapping {
    fn from_iter<T: IntoIterator<Item = Entry>>(entries: T) -> Self {
        Self::new(entries.into_iter().collect()).0
    }
}

/// Places of `entries` ordered by key text, equal keys in the order of the file.
fn sorted_places(entries: &[Entry]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..u32::try_from(entries.len()).unwrap_or(u32::MAX)).collect();
    places.sort_by(|a, b| entries[*a as usize].key.text.cmp(&entries[*b as usize].key.text));
    places
}

/// Places of entries whose key stands before them, ascending, each with the place of that first one; and all places by
/// key text, where there are too many to search from the front.
fn duplicates(entries: &[Entry]) -> (Vec<(usize, usize)>, Vec<u32>) {
    let mut duplicates = Vec::new();
    if entries.len() <= SEARCHED {
        for (at, entry) in entries.iter().enumerate() {
            let first = entries[..at]
                .iter()
                .position(|earlier| earlier.key.text == entry.key.text);
            duplicates.extend(first.map(|first| (at, first)));
        }
        return (duplicates, Vec::new());
    }
    let places = sorted_places(entries);
    let key = |place: &u32| &entries[*place as usize].key.text;
    for same in places.chunk_by(|a, b| key(a) == key(b)) {
        duplicates.extend(same[1..].iter().map(|at| (*at as usize, same[0] as usize)));
    }
    duplicates.sort_unstable();
    (duplicates, places)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shardwright_diagnostics::Sources;

    use super::*;
    use crate::Value;

    proptest! {
        #[test]
        fn the_first_of_each_key_is_kept_and_found(keys in proptest::collection::vec("[a-e]{0,2}", 0..40)) {
            let file = Sources::new().add("f", "");
            let entry = |(at, text): (usize, &String)| Entry {
                key: Key { text: text.as_str().into(), span: Span::new(file, 0, 0), style: Style::Plain },
                value: Node {
                    value: Value::Integer { value: at as i128, raw: "".into() },
                    span: Span::new(file, 0, 0),
                },
            };
            let (mapping, removed) = Mapping::new(keys.iter().enumerate().map(entry).collect());
            prop_assert_eq!(mapping.len() + removed.len(), keys.len());
            for (at, key) in keys.iter().enumerate() {
                let first = keys.iter().position(|other| other == key).expect("it is there") as i128;
                prop_assert_eq!(mapping.get(key).and_then(Node::as_integer), Some(first), "key {}", at);
            }
            for (first, entry) in &removed {
                prop_assert_eq!(&mapping.entries()[*first].key.text, &entry.key.text);
            }
            prop_assert!(mapping.get("zz").is_none());
        }
    }
}
