//! Whether possessive quantifiers change what a pattern matches.
//!
//! # Idea
//!
//! A possessive quantifier forbids the matcher to give back what it took. Where each byte of a text can be
//! read in one way only, nothing is ever given back, so the pattern matches the same texts with and without
//! possessive quantifiers. Such expressions are called one-unambiguous (Brüggemann-Klein and Wood,
//! "One-Unambiguous Regular Languages", 1998).
//!
//! The check numbers the positions of the expression: each literal byte, each class and each `\z` is one. For
//! each position it collects the positions that may come next (the construction of Glushkov).
//!
//! # Invariant
//!
//! The answer is true only if the positions that the expression can begin with share no byte, and those that may
//! come next to any position share none. Then the next byte decides the next position, and a second reading of the
//! same text does not exist. `\z` counts as reading the end, which is no byte. Three more conditions make
//! "the same texts" true:
//!
//! * The expression ends on every way with `\z`, or with a position that nothing comes behind: it never goes on where it
//!   could have ended. Without `\A` this holds from each byte that it may begin at, so it finds something in the same texts.
//! * It takes a byte wherever it can: nothing is lazy, and no branch that can be empty stands before another.
//! * No other assertion stands in it but `\b` and `\B`. A class is two positions, one for letters, digits and the underscore
//!   and one for the other bytes, so the position before such an assertion tells what it asks of the next byte.
//!
//! Branches of one alternation may begin alike, if each takes exactly one byte at a time until they differ: `[ab]x|ay`.
//! A branch that fails there has not been left, so the matcher comes back to the next one, possessive or not. A turn of
//! a loop and what stands behind the loop may begin alike in the same way: `(?:[ab]x|c)*ay`.
//!
//! False means that it is not shown: the pattern is treated as opaque. Counted repetitions are written out,
//! so positions grow with the counts. Beyond [`MOST_POSITIONS`] and [`MOST_PAIRS`] the answer is false.
//!
//! # Example
//!
//! `\A(?:[^']++|'[^']*+')*+\z` has five positions, with each class taken for one: 0 is `[^']` outside of quotes, 1 the opening
//! quote, 2 `[^']` between quotes, 3 the closing quote, 4 `\z`.
//!
//! | behind | come next |
//! |---|---|
//! | the beginning, 0, 3 | 0, 1, 4: no quote, a quote, the end |
//! | 1, 2 | 2, 3: no quote, a quote |
//!
//! In no row do two positions share a byte, so the answer is true.
//!
//! For `\A(?:a++|ab)*+\z` the answer is false: the beginning may come to the `a` of either branch. The
//! possessive branch never gives `a` back, so the pattern does not match `ab`. Without possessive quantifiers
//! it does.

mod beginning;
mod runs;
mod symbols;

use std::collections::{HashMap, HashSet};

use beginning::{Beginning, flat, is_loop};
use regex_syntax::hir::{Hir, HirKind, Look};
use symbols::Symbols;

pub(crate) use runs::{gives_nothing_back, marked};

/// Positions of an expression; more are not looked at.
const MOST_POSITIONS: usize = 20_000;
/// Pairs of positions that follow each other.
const MOST_PAIRS: usize = 400_000;

/// What may come next: a byte of a word, or another byte or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Anything,
    Word,
    NoWord,
}

/// An assertion on the bytes before and behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boundary {
    /// `\b`: one of them is of a word.
    Edge,
    /// `\B`: both are, or neither is.
    NoEdge,
}

/// A position that a part begins with, and what is asked in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct First {
    position: u32,
    asks: Option<Boundary>,
}

/// A position that a part ends with, and what may come behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    position: u32,
    asked: Asked,
}

/// A position that may come next, and for which bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    position: u32,
    asked: Asked,
}

/// A part of the expression: whether it can be empty, and the positions that it can begin and end with.
#[derive(Clone, Debug, Default)]
struct Part {
    empty: bool,
    /// What it asks of the positions beside it where it is empty.
    asks: Option<Boundary>,
    first: Vec<First>,
    last: Vec<Last>,
}

impl Asked {
    /// Both; `None` where nothing is left.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Anything, one) | (one, Self::Anything) => Some(one),
            (one, other) => (one == other).then_some(one),
        }
    }
}

impl Boundary {
    /// What it asks of the next byte, behind one that is of a word or not.
    fn asks(self, behind_word: bool) -> Asked {
        if (self == Self::Edge) == behind_word {
            Asked::NoWord
        } else {
            Asked::Word
        }
    }
}

impl Part {
    fn nothing() -> Self {
        Self {
            empty: true,
            ..Self::default()
        }
    }

    fn asking(boundary: Boundary) -> Self {
        Self {
            asks: Some(boundary),
            ..Self::nothing()
        }
    }
}

/// The positions of an expression, and for each those that may come next.
#[derive(Default)]
struct Positions {
    symbols: Vec<Symbols>,
    next: Vec<Vec<Next>>,
    pairs: usize,
    /// Beginnings of two ways to go on, the lower position first, that may share bytes and differ further on.
    parted: HashSet<(u32, u32)>,
    /// What a branch takes byte by byte, by the position that it begins with.
    beginnings: HashMap<u32, Beginning>,
}

/// Whether each text that the expression matches can be read in one way only, from the byte where that begins to its end; or,
/// where the expression ends with branches that nothing repeats, in one way by each branch: the matcher tries one after the
/// other.
pub(crate) fn reads_one_way(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Concat(parts) => {
            let branches = parts.split_last().and_then(|(last, before)| match last.kind() {
                HirKind::Alternation(branches) => Some((before, branches)),
                _ => None,
            });
            let each = branches.is_some_and(|(before, branches)| {
                branches.iter().all(|branch| {
                    let parts = before.iter().chain([branch]).cloned();
                    branch_reads_one_way(&Hir::concat(parts.collect()))
                })
            });
            each || branch_reads_one_way(hir)
        }
        _ => branch_reads_one_way(hir),
    }
}

fn branch_reads_one_way(hir: &Hir) -> bool {
    let mut positions = Positions::default();
    let anchored = anchored(hir);
    // The beginning of the text is no byte of a word.
    let behind_words: &[bool] = if anchored.is_some() {
        &[false]
    } else {
        &[false, true]
    };
    let parts = anchored.unwrap_or_else(|| vec![hir]);
    let Some(whole) = positions.concat(&parts) else {
        return false;
    };
    let ends = whole.last.iter().all(|last| {
        let position = last.position as usize;
        positions.symbols[position].end || positions.next[position].is_empty()
    });
    let begins = behind_words.iter().all(|&behind_word| {
        let first = whole.first.iter();
        let first = first.filter_map(|&first| positions.follows(Asked::Anything, behind_word, first));
        positions.disjoint(&first.collect::<Vec<_>>())
    });
    ends && begins && !whole.empty && positions.next.iter().all(|next| positions.disjoint(next))
}

/// What stands behind the `\A` that the expression begins with.
fn anchored(hir: &Hir) -> Option<Vec<&Hir>> {
    match hir.kind() {
        HirKind::Capture(capture) => anchored(&capture.sub),
        HirKind::Concat(parts) => {
            let (first, rest) = parts.split_first()?;
            let mut inner = match first.kind() {
                HirKind::Look(Look::Start) => Vec::new(),
                _ => anchored(first)?,
            };
            inner.extend(rest);
            Some(inner)
        }
        _ => None,
    }
}

impl Positions {
    fn disjoint(&self, next: &[Next]) -> bool {
        let mut all = Symbols::default();
        next.iter().all(|&one| {
            let symbols = self.taken(one);
            all.join(&symbols) || next.iter().all(|&other| self.differ(one, other))
        })
    }

    /// What is read at a position that comes next.
    fn taken(&self, next: Next) -> Symbols {
        let symbols = self.symbols[next.position as usize];
        match next.asked {
            Asked::Anything => symbols,
            Asked::Word => symbols.inside_words(),
            Asked::NoWord => symbols.outside_words(),
        }
    }

    /// A position as the next one, where what is asked leaves it any byte.
    fn follows(&self, asked: Asked, behind_word: bool, first: First) -> Option<Next> {
        let asks = first
            .asks
            .map_or(Asked::Anything, |boundary| boundary.asks(behind_word));
        let next = Next {
            position: first.position,
            asked: asked.and(asks)?,
        };
        (!self.taken(next).is_empty()).then_some(next)
    }

    /// Whether a position reads bytes of words; every one reads such bytes only, or none.
    fn is_of_words(&self, position: u32) -> bool {
        self.symbols[position as usize].is_of_words()
    }

    fn differ(&self, one: Next, other: Next) -> bool {
        let pair = (one.position.min(other.position), one.position.max(other.position));
        one == other || self.parted.contains(&pair) || self.taken(one).disjoint(&self.taken(other))
    }

    fn part(&mut self, hir: &Hir) -> Option<Part> {
        match hir.kind() {
            HirKind::Empty => Some(Part::nothing()),
            HirKind::Literal(literal) => {
                let mut whole = Part::nothing();
                for &byte in &literal.0 {
                    let part = self.position(Symbols::of_byte(byte))?;
                    whole = self.behind(whole, part)?;
                }
                Some(whole)
            }
            HirKind::Class(class) => self.class(Symbols::of_class(class)?),
            HirKind::Look(Look::End) => self.position(Symbols::END),
            HirKind::Look(Look::WordAscii) => Some(Part::asking(Boundary::Edge)),
            HirKind::Look(Look::WordAsciiNegate) => Some(Part::asking(Boundary::NoEdge)),
            HirKind::Look(_) => None,
            HirKind::Capture(capture) => self.part(&capture.sub),
            HirKind::Concat(parts) => self.concat(&parts.iter().collect::<Vec<_>>()),
            HirKind::Alternation(branches) => self.alternation(branches),
            // A lazy part leaves a byte that it could take, and a possessive one around it keeps to that.
            HirKind::Repetition(repetition) if !repetition.greedy => None,
            HirKind::Repetition(repetition) => self.repeated(&repetition.sub, repetition.min, repetition.max),
        }
    }

    fn alternation(&mut self, branches: &[Hir]) -> Option<Part> {
        let mut whole = Part::default();
        let mut before: Vec<(Beginning, Vec<First>)> = Vec::new();
        for branch in flat(branches) {
            // A branch that can be empty is taken before what stands behind it in the list.
            if whole.empty {
                return None;
            }
            let part = self.part(branch)?;
            let beginning = Beginning::of(&[branch]);
            for (_, firsts) in before.iter().filter(|(other, _)| other.parts_from(&beginning)) {
                self.part_pairs(firsts, &part.first);
            }
            for first in &part.first {
                let known = self.beginnings.entry(first.position).or_default();
                if known.steps() < beginning.steps() {
                    known.clone_from(&beginning);
                }
            }
            before.push((beginning, part.first.clone()));
            whole.empty |= part.empty;
            whole.asks = part.asks;
            whole.first.extend(part.first);
            whole.last.extend(part.last);
        }
        Some(whole)
    }

    fn concat(&mut self, parts: &[&Hir]) -> Option<Part> {
        let mut whole = Part::nothing();
        let mut turns: Vec<First> = Vec::new();
        for (at, hir) in parts.iter().enumerate() {
            let part = self.part(hir)?;
            // Where a turn of the loop before fails within single bytes, the loop ends and this part is tried.
            let beginning = Beginning::of(&parts[at..]);
            let fails = |turn: &First| {
                self.beginnings
                    .get(&turn.position)
                    .is_some_and(|turn| turn.parts_from(&beginning))
            };
            let ends: Vec<First> = turns.iter().copied().filter(fails).collect();
            self.part_pairs(&ends, &part.first);
            // An assertion between the loop and what stands behind it takes nothing.
            if !part.first.is_empty() {
                turns.clear();
            }
            if is_loop(hir) {
                turns.clone_from(&part.first);
            }
            whole = self.behind(whole, part)?;
        }
        Some(whole)
    }

    fn part_pairs(&mut self, ones: &[First], others: &[First]) {
        let pair = |one: u32, other: u32| (one.min(other), one.max(other));
        let pairs = ones
            .iter()
            .flat_map(|one| others.iter().map(move |other| pair(one.position, other.position)));
        self.parted.extend(pairs);
    }

    /// The positions behind which nothing of an empty part is taken.
    fn through(&self, before: &Part, asks: Option<Boundary>) -> Vec<Last> {
        let Some(boundary) = asks else {
            return before.last.clone();
        };
        let last = before.last.iter().filter_map(|last| {
            let asks = boundary.asks(self.is_of_words(last.position));
            Some(Last {
                asked: last.asked.and(asks)?,
                ..*last
            })
        });
        last.collect()
    }

    /// `{min,max}` is written out: `a{2,}` as `aaa*`.
    fn repeated(&mut self, hir: &Hir, min: u32, max: Option<u32>) -> Option<Part> {
        let mut whole = Part::nothing();
        let copies = max.unwrap_or_else(|| min.max(1));
        for copy in 0..copies {
            let mut part = self.part(hir)?;
            // Only the last copy repeats.
            if max.is_none() && copy + 1 == copies {
                self.pair(&part.last, &part.first)?;
            }
            // Copies beyond the minimum may be left out.
            if copy >= min {
                part.empty = true;
                part.asks = None;
            }
            whole = self.behind(whole, part)?;
        }
        Some(whole)
    }

    /// A position for the bytes of words in a class, and one for the others.
    fn class(&mut self, symbols: Symbols) -> Option<Part> {
        let (inside, outside) = (symbols.inside_words(), symbols.outside_words());
        if inside.is_empty() || outside.is_empty() {
            return self.position(symbols);
        }
        let mut whole = self.position(inside)?;
        let other = self.position(outside)?;
        whole.first.extend(other.first);
        whole.last.extend(other.last);
        Some(whole)
    }

    fn position(&mut self, symbols: Symbols) -> Option<Part> {
        if self.symbols.len() >= MOST_POSITIONS {
            return None;
        }
        let position = u32::try_from(self.symbols.len()).ok()?;
        self.symbols.push(symbols);
        self.next.push(Vec::new());
        Some(Part {
            empty: false,
            asks: None,
            first: vec![First { position, asks: None }],
            last: vec![Last {
                position,
                asked: Asked::Anything,
            }],
        })
    }

    /// `None` where two assertions stand behind each other with nothing known before them.
    fn behind(&mut self, before: Part, part: Part) -> Option<Part> {
        self.pair(&before.last, &part.first)?;
        let through = match part.empty {
            true => self.through(&before, part.asks),
            false => Vec::new(),
        };
        let mut whole = Part {
            empty: before.empty && part.empty,
            asks: None,
            first: before.first,
            last: part.last,
        };
        // An empty part lets the positions beside it through.
        if before.empty {
            if part.empty {
                whole.asks = one_of(before.asks, part.asks)?;
            }
            for first in part.first {
                whole.first.push(First {
                    asks: one_of(before.asks, first.asks)?,
                    ..first
                });
            }
        }
        whole.last.extend(through);
        Some(whole)
    }

    fn pair(&mut self, from: &[Last], to: &[First]) -> Option<()> {
        for last in from {
            let behind_word = self.is_of_words(last.position);
            for &first in to {
                let Some(other) = self.follows(last.asked, behind_word, first) else {
                    continue;
                };
                let next = &mut self.next[last.position as usize];
                if !next.contains(&other) {
                    next.push(other);
                    self.pairs += 1;
                    // Here and not behind the loops: each look into `next` takes as long as there are pairs.
                    if self.pairs > MOST_PAIRS {
                        return None;
                    }
                }
            }
        }
        Some(())
    }
}

/// The one that is there; `None` where both are.
fn one_of(one: Option<Boundary>, other: Option<Boundary>) -> Option<Option<Boundary>> {
    match (one, other) {
        (Some(_), Some(_)) => None,
        (one, other) => Some(one.or(other)),
    }
}

#[cfg(test)]
mod tests;
