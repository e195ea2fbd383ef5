//! What one rule of a tree searches, such that the keys beside it do not match.

use crate::key_patterns::lock_name::KeyBounds;
use crate::key_patterns::{KeyPatterns, Sought};
use crate::key_patterns::{integer, text};
use crate::map_plans::{Entry, Values};

/// What is searched for the keys of one entry.
pub(super) fn entry(patterns: &KeyPatterns, entry: &Entry) -> Sought {
    Sought::whole(match &entry.values {
        Values::Integers(ranges) => patterns.number(&integer::pattern(ranges, patterns.writing)),
        Values::Texts(texts) => patterns.texts(&texts.iter().map(String::as_str).collect::<Vec<_>>()),
    })
}

/// The bounds of the chain for entries at `own` (indices, ascending): those that it had, where they still hold, or the
/// roundest that reach no key beside it.
pub(super) fn bounds(entries: &[Entry], own: &[u32], had: Option<KeyBounds>) -> KeyBounds {
    let (first, last) = ends(own);
    let found = match (edge(entries, first, false), edge(entries, last, true)) {
        (Edge::Integer(low), Edge::Integer(high)) => {
            let (low, high) = rounded(entries, (first, last), (low, high));
            KeyBounds::Integers(low, high)
        }
        (Edge::Text(low), Edge::Text(high)) => KeyBounds::Texts(low.to_owned(), high.to_owned()),
        _ => unreachable!("keys of a map are of one kind"),
    };
    match (&had, &found) {
        (Some(KeyBounds::Integers(had_low, had_high)), KeyBounds::Integers(..)) => {
            let (Edge::Integer(low), Edge::Integer(high)) =
                (edge(entries, first, false), edge(entries, last, true))
            else {
                return found;
            };
            let (below, above) = beside(entries, (first, last));
            let holds = *had_low <= low
                && high <= *had_high
                && below.is_none_or(|below| below < *had_low)
                && above.is_none_or(|above| *had_high < above);
            if holds { had.unwrap_or(found) } else { found }
        }
        (Some(KeyBounds::Texts(had_low, had_high)), KeyBounds::Texts(low, high))
            if had_low <= low && high <= had_high =>
        {
            had.unwrap_or(found)
        }
        _ => found,
    }
}

/// What is searched for the keys of entries at `own` (indices, ascending) of a chain with these bounds.
pub(super) fn run(patterns: &KeyPatterns, entries: &[Entry], own: &[u32], bounds: &KeyBounds) -> Sought {
    let parts = segments(own);
    let ranges: Vec<(i64, i64)> = parts
        .iter()
        .filter_map(
            |&(first, last)| match (edge(entries, first, false), edge(entries, last, true)) {
                (Edge::Integer(low), Edge::Integer(high)) => {
                    Some(rounded(entries, (first, last), (low, high)))
                }
                _ => None,
            },
        )
        .collect();
    if let KeyBounds::Integers(low, high) = bounds {
        let mut ranges = ranges;
        // The bounds reach into gaps only, as far as they did when the chain was made.
        if let Some(first) = ranges.first_mut() {
            first.0 = *low;
        }
        if let Some(last) = ranges.last_mut() {
            last.1 = *high;
        }
        return Sought::whole(patterns.number(&integer::pattern(&ranges, patterns.writing)));
    }
    parts
        .into_iter()
        .map(|(first, last)| {
            let texts: Vec<&str> = entries[first as usize..=last as usize]
                .iter()
                .flat_map(|entry| match &entry.values {
                    Values::Texts(texts) => texts.iter().map(String::as_str).collect(),
                    Values::Integers(_) => Vec::new(),
                })
                .collect();
            let text_at = |at: Option<u32>, last: bool| match edge(entries, at?, last) {
                Edge::Text(text) => Some(text),
                Edge::Integer(_) => None,
            };
            let below = text_at(first.checked_sub(1), true);
            let above = text_at(Some(last + 1).filter(|&at| (at as usize) < entries.len()), false);
            patterns.run(&text::between(&texts, below, above))
        })
        .fold(Sought::default(), Sought::or)
}

/// Runs of entries that follow each other.
fn segments(own: &[u32]) -> Vec<(u32, u32)> {
    let mut segments: Vec<(u32, u32)> = Vec::new();
    for &entry in own {
        match segments.last_mut() {
            Some((_, last)) if *last + 1 == entry => *last = entry,
            _ => segments.push((entry, entry)),
        }
    }
    segments
}

enum Edge<'e> {
    Integer(i64),
    Text(&'e str),
}

/// The first or the last key of an entry.
fn edge(entries: &[Entry], at: u32, last: bool) -> Edge<'_> {
    match &entries[at as usize].values {
        Values::Integers(ranges) if last => Edge::Integer(ranges[ranges.len() - 1].1),
        Values::Integers(ranges) => Edge::Integer(ranges[0].0),
        Values::Texts(texts) if last => Edge::Text(&texts[texts.len() - 1]),
        Values::Texts(texts) => Edge::Text(&texts[0]),
    }
}

fn ends(own: &[u32]) -> (u32, u32) {
    let (first, last) = (own.first(), own.last());
    (
        *first.expect("a chain holds entries"),
        *last.expect("a chain holds entries"),
    )
}

/// The integers beside a run of entries.
fn beside(entries: &[Entry], (first, last): (u32, u32)) -> (Option<i64>, Option<i64>) {
    let integer = |at: Option<u32>, last: bool| match edge(entries, at?, last) {
        Edge::Integer(value) => Some(value),
        Edge::Text(_) => None,
    };
    (
        integer(first.checked_sub(1), true),
        integer(Some(last + 1).filter(|&at| (at as usize) < entries.len()), false),
    )
}

fn rounded(entries: &[Entry], run: (u32, u32), range: (i64, i64)) -> (i64, i64) {
    let (below, above) = beside(entries, run);
    integer::rounded(range, below, above)
}
