//! Which patterns begin alike, told by the structure of their expressions and not by how they are written.

use regex_syntax::hir::{Class, ClassBytes, Hir, HirKind};
use rustc_hash::FxHashMap;

use crate::Pattern;
use crate::committed::Committed;

/// Members of the smallest family: fewer patterns are asked one by one.
const FEWEST_MEMBERS: usize = 8;
/// Bytes that a head reads at least: a shorter one ends in too many places.
const LEAST_WIDTH: usize = 3;
/// Bytes of the largest class that a tail may repeat, and the most that it may repeat anything but a byte of a class.
const MOST_REPEATED: u32 = 16;
/// Parts of a head that are looked at.
const MOST_PARTS: usize = 64;

/// Members of one family.
pub(super) struct Group {
    pub(super) members: Vec<u32>,
    pub(super) head_parts: usize,
    pub(super) past_nul: bool,
    /// The first end of the head decides.
    pub(super) first_decides: bool,
}

/// A part of an expression that reads at most one byte, whatever that byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// Its number in `regex-syntax`, which is that in `regex-automata` too.
    Assertion(u32),
    Bytes([u64; 4]),
}

impl Part {
    /// The bytes of the set that it reads one of; `None` if it reads none.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Assertion(_) => None,
            Self::Bytes(set) => {
                let is_in = |byte: &u8| set[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1;
                Some((0..=u8::MAX).filter(is_in).collect())
            }
        }
    }

    pub(super) fn of(hir: &Hir) -> Option<Self> {
        match hir.kind() {
            HirKind::Look(look) => Some(Self::Assertion(look.as_repr())),
            HirKind::Literal(literal) => match *literal.0 {
                [byte] => Some(Self::Bytes(set([(byte, byte)]))),
                _ => None,
            },
            HirKind::Class(class) => Some(Self::Bytes(bytes_of(class)?)),
            _ => None,
        }
    }
}

/// The bytes of a class; `None` where a member is several bytes.
fn bytes_of(class: &Class) -> Option<[u64; 4]> {
    let ranges = |class: &ClassBytes| set(class.ranges().iter().map(|range| (range.start(), range.end())));
    match class {
        Class::Bytes(class) => Some(ranges(class)),
        Class::Unicode(class) if class.is_ascii() => Some(ranges(&class.to_byte_class()?)),
        Class::Unicode(_) => None,
    }
}

fn is_small(class: &Class) -> bool {
    bytes_of(class)
        .is_some_and(|bytes| bytes.iter().map(|word| word.count_ones()).sum::<u32>() <= MOST_REPEATED)
}

fn set(ranges: impl IntoIterator<Item = (u8, u8)>) -> [u64; 4] {
    let mut bytes = [0_u64; 4];
    for (first, last) in ranges {
        for byte in first..=last {
            bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }
    bytes
}

/// A pattern by the parts that it begins with.
struct Entry {
    past_nul: bool,
    first_decides: bool,
    /// Numbers of the parts.
    beginning: Vec<u32>,
    number: u32,
}

/// The families among patterns.
pub(super) fn groups<'p>(patterns: impl IntoIterator<Item = (u32, &'p Pattern)>) -> Vec<Group> {
    let mut numbers: FxHashMap<Part, u32> = FxHashMap::default();
    let mut reads_byte = Vec::new();
    let mut entries = Vec::new();
    for (number, pattern) in patterns {
        let Some(hir) = searched(pattern).filter(|hir| is_suitable(hir)) else {
            continue;
        };
        let committed = pattern.committed();
        let beginning = beginning(committed.map_or(hir, Committed::head))
            .into_iter()
            .map(|part| {
                *numbers.entry(part).or_insert_with(|| {
                    reads_byte.push(matches!(part, Part::Bytes(_)));
                    reads_byte.len() as u32 - 1
                })
            });
        entries.push(Entry {
            past_nul: pattern.is_past_nul(),
            first_decides: committed.is_some(),
            beginning: beginning.collect(),
            number,
        });
    }
    let order = |entry: &Entry| (entry.past_nul, entry.first_decides);
    entries.sort_by(|a, b| (order(a), &a.beginning, a.number).cmp(&(order(b), &b.beginning, b.number)));
    let mut groups = Vec::new();
    for entries in entries.chunk_by(|a, b| order(a) == order(b)) {
        if entries[0].first_decides {
            // What decides is the end of the whole head, so a family has one of them.
            for entries in entries.chunk_by(|a, b| a.beginning == b.beginning) {
                split(entries, entries[0].beginning.len(), &reads_byte, &mut groups);
            }
        } else {
            split(entries, 0, &reads_byte, &mut groups);
        }
    }
    groups
}

/// What is searched for in a text: the pattern, or for one of which the first place decides, the pattern at that place.
pub(super) fn searched(pattern: &Pattern) -> Option<&Hir> {
    pattern
        .committed()
        .map(Committed::whole)
        .or_else(|| pattern.hir())
}

/// The families of sorted entries whose first `shared` parts are alike: a family ends at the first part that differs.
fn split(entries: &[Entry], mut shared: usize, reads_byte: &[bool], groups: &mut Vec<Group>) {
    let [first, .., last] = entries else { return };
    if entries.len() < FEWEST_MEMBERS {
        return;
    }
    let is_same = |at: usize| {
        let part = first.beginning.get(at);
        part.is_some() && part == last.beginning.get(at)
    };
    while is_same(shared) {
        shared += 1;
    }
    let head = &first.beginning[..shared];
    let width = head.iter().filter(|&&part| reads_byte[part as usize]).count();
    if width >= LEAST_WIDTH {
        let mut members: Vec<u32> = entries.iter().map(|entry| entry.number).collect();
        members.sort_unstable();
        groups.push(Group {
            members,
            head_parts: shared,
            past_nul: first.past_nul,
            first_decides: first.first_decides,
        });
        return;
    }
    let next = |entry: &Entry| entry.beginning.get(shared).copied();
    for entries in entries.chunk_by(|a, b| next(a) == next(b)) {
        if next(&entries[0]).is_some() {
            split(entries, shared + 1, reads_byte, groups);
        }
    }
}

/// The expression as parts in a row, each byte of a literal for itself.
pub(super) fn parts(hir: &Hir) -> Vec<Hir> {
    let mut parts = Vec::new();
    add_parts(hir, &mut |part| parts.push(part));
    parts
}

fn add_parts(hir: &Hir, add: &mut impl FnMut(Hir)) {
    match hir.kind() {
        HirKind::Capture(capture) => add_parts(&capture.sub, add),
        HirKind::Concat(subs) => subs.iter().for_each(|sub| add_parts(sub, add)),
        HirKind::Literal(literal) => literal.0.iter().for_each(|&byte| add(Hir::literal([byte]))),
        HirKind::Empty => {}
        _ => add(hir.clone()),
    }
}

/// The parts before the first that reads another number of bytes than one.
fn beginning(hir: &Hir) -> Vec<Part> {
    let mut parts = Vec::new();
    add_beginning(hir, &mut parts);
    parts
}

/// Adds the parts that `hir` begins with; true if these are all.
fn add_beginning(hir: &Hir, parts: &mut Vec<Part>) -> bool {
    if parts.len() >= MOST_PARTS {
        return false;
    }
    match hir.kind() {
        HirKind::Capture(capture) => add_beginning(&capture.sub, parts),
        HirKind::Concat(subs) => subs.iter().all(|sub| add_beginning(sub, parts)),
        HirKind::Literal(literal) => {
            parts.extend(literal.0.iter().map(|&byte| Part::Bytes(set([(byte, byte)]))));
            true
        }
        HirKind::Empty => true,
        _ => match Part::of(hir) {
            Some(part) => {
                parts.push(part);
                true
            }
            None => false,
        },
    }
}

/// Whether an automaton of many such expressions stays small.
fn is_suitable(hir: &Hir) -> bool {
    !hir.properties().look_set().contains_word_unicode() && repeats_little(hir)
}

fn repeats_little(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Look(_) | HirKind::Class(_) => true,
        HirKind::Capture(capture) => repeats_little(&capture.sub),
        HirKind::Concat(subs) | HirKind::Alternation(subs) => subs.iter().all(repeats_little),
        HirKind::Repetition(repetition) => {
            let sub = &repetition.sub;
            match (repetition.max, sub.kind()) {
                (Some(0 | 1), _) => repeats_little(sub),
                (most, HirKind::Class(class)) => {
                    most.is_none_or(|most| most <= MOST_REPEATED) && is_small(class)
                }
                (most, HirKind::Literal(literal)) => {
                    most.is_none_or(|most| most <= MOST_REPEATED) && literal.0.len() == 1
                }
                (Some(most), _) => most <= MOST_REPEATED && repeats_little(sub),
                (None, _) => false,
            }
        }
    }
}
