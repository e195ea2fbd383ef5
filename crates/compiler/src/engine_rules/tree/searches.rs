//! What one rule of a tree searches, such that the keys beside it do not match.

use crate::key_patterns::lock_name::KeyBounds;
use crate::key_patterns::{KeyPatterns, Sought};
use crate::key_patterns::{integer, text};
use crate::map_plans::{Entry, Values};

/// What is searched for the keys of one entry.
pub(super) fn entry(patterns: &KeyPatterns, entry: &Entry) -> Sought {
    match &entry.values {
        Values::Integers(ranges) => patterns.number(&integer::pattern(ranges, patterns.writing)),
        Values::Texts(texts) => patterns.texts(&texts.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

/// The bounds of the chain for entries at `own` (indices, ascending): those that it had, where they still hold, or the
/// roundest that reach no neighbouring key.
pub(super) fn bounds(entries: &[Entry], own: &[u32], had: Option<KeyBounds>) -> KeyBounds {
    let run = Run {
        first: *own.first().expect("a chain holds entries"),
        last: *own.last().expect("a chain holds entries"),
    };
    match (
        edge(entries, run.first, End::First),
        edge(entries, run.last, End::Last),
    ) {
        (Edge::Integer(low), Edge::Integer(high)) => {
            let Neighbours { below, above } = run.neighbours(entries);
            let holds = |had_low: i64, had_high: i64| {
                had_low <= low
                    && high <= had_high
                    && below.is_none_or(|below| below < had_low)
                    && above.is_none_or(|above| had_high < above)
            };
            match had {
                Some(KeyBounds::Integers(had_low, had_high)) if holds(had_low, had_high) => {
                    KeyBounds::Integers(had_low, had_high)
                }
                _ => {
                    let (low, high) = integer::rounded((low, high), below, above);
                    KeyBounds::Integers(low, high)
                }
            }
        }
        (Edge::Text(low), Edge::Text(high)) => match had {
            Some(KeyBounds::Texts(had_low, had_high)) if *had_low <= *low && *high <= *had_high => {
                KeyBounds::Texts(had_low, had_high)
            }
            _ => KeyBounds::Texts(low.to_owned(), high.to_owned()),
        },
        _ => unreachable!("keys of a map are of one kind"),
    }
}

/// The integers that [`run`] searches, as ranges; none where keys are texts.
pub(super) fn ranges(entries: &[Entry], own: &[u32], bounds: &KeyBounds) -> Vec<(i64, i64)> {
    let KeyBounds::Integers(low, high) = bounds else {
        return Vec::new();
    };
    let rounded = |run: Run| {
        let ends = (
            edge(entries, run.first, End::First),
            edge(entries, run.last, End::Last),
        );
        let (Edge::Integer(low), Edge::Integer(high)) = ends else {
            return None;
        };
        let Neighbours { below, above } = run.neighbours(entries);
        Some(integer::rounded((low, high), below, above))
    };
    let mut ranges: Vec<(i64, i64)> = runs(own).into_iter().filter_map(rounded).collect();
    // The bounds reach into gaps only, as far as they did when the chain was made.
    if let Some(first) = ranges.first_mut() {
        first.0 = *low;
    }
    if let Some(last) = ranges.last_mut() {
        last.1 = *high;
    }
    ranges
}

/// What is searched for the keys of entries at `own` (indices, ascending) of a chain with these bounds.
pub(super) fn run(patterns: &KeyPatterns, entries: &[Entry], own: &[u32], bounds: &KeyBounds) -> Sought {
    if let KeyBounds::Integers(..) = bounds {
        let mut ranges = ranges(entries, own, bounds);
        // Bounds are round: no key is 0 where they begin with it, and -0 need not be searched.
        if let (Edge::Integer(1..), Some(first @ (0, _))) =
            (edge(entries, own[0], End::First), ranges.first_mut())
        {
            first.0 = 1;
        }
        return patterns.number(&integer::pattern(&ranges, patterns.writing));
    }
    runs(own)
        .into_iter()
        .map(|run| {
            let texts: Vec<&str> = entries[run.first as usize..=run.last as usize]
                .iter()
                .flat_map(|entry| match &entry.values {
                    Values::Texts(texts) => texts.iter().map(String::as_str).collect(),
                    Values::Integers(_) => Vec::new(),
                })
                .collect();
            let text_at = |index: Option<u32>, end: End| match edge(entries, index?, end) {
                Edge::Text(text) => Some(text),
                Edge::Integer(_) => None,
            };
            let below = text_at(run.before(), End::Last);
            let above = text_at(run.after(entries), End::First);
            patterns.run(&text::between(&texts, below, above))
        })
        .fold(Sought::default(), Sought::or)
}

/// Entries that follow each other.
#[derive(Clone, Copy)]
struct Run {
    first: u32,
    last: u32,
}

/// The integers on either side of a run of entries.
struct Neighbours {
    below: Option<i64>,
    above: Option<i64>,
}

impl Run {
    /// The entry in front of it.
    fn before(self) -> Option<u32> {
        self.first.checked_sub(1)
    }

    /// The entry behind it.
    fn after(self, entries: &[Entry]) -> Option<u32> {
        Some(self.last + 1).filter(|&index| (index as usize) < entries.len())
    }

    fn neighbours(self, entries: &[Entry]) -> Neighbours {
        let integer = |index: Option<u32>, end: End| match edge(entries, index?, end) {
            Edge::Integer(value) => Some(value),
            Edge::Text(_) => None,
        };
        Neighbours {
            below: integer(self.before(), End::Last),
            above: integer(self.after(entries), End::First),
        }
    }
}

/// The runs of entries in ascending indices.
fn runs(own: &[u32]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for &entry in own {
        match runs.last_mut() {
            Some(run) if run.last + 1 == entry => run.last = entry,
            _ => runs.push(Run {
                first: entry,
                last: entry,
            }),
        }
    }
    runs
}

/// One of the two ends of an entry.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// A key at an end of an entry.
enum Edge<'e> {
    Integer(i64),
    Text(&'e str),
}

fn edge(entries: &[Entry], index: u32, end: End) -> Edge<'_> {
    match (&entries[index as usize].values, end) {
        (Values::Integers(ranges), End::First) => Edge::Integer(ranges[0].0),
        (Values::Integers(ranges), End::Last) => Edge::Integer(ranges[ranges.len() - 1].1),
        (Values::Texts(texts), End::First) => Edge::Text(&texts[0]),
        (Values::Texts(texts), End::Last) => Edge::Text(&texts[texts.len() - 1]),
    }
}
