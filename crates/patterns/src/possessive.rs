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
//! * The expression begins with `\A` and ends with `\z` on every way, so that it reads the whole text.
//! * It takes a byte wherever it can: nothing is lazy, and no branch that can be empty stands before another.
//! * No other assertion stands in it but `\b` behind a letter, digit or underscore, and `\B` behind any other byte: there
//!   both ask of the next byte that it is no such byte. Whether any other holds depends on more than the next byte.
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
//! `\A(?:[^']++|'[^']*+')*+\z` has five positions: 0 is `[^']` outside of quotes, 1 the opening quote, 2 `[^']`
//! between quotes, 3 the closing quote, 4 `\z`.
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

mod symbols;

use std::collections::{HashMap, HashSet};

use regex_syntax::hir::{Hir, HirKind, Look};
use symbols::{Symbols, flat, is_loop, part_ways, single_bytes, single_bytes_of};

/// Positions of an expression; more are not looked at.
const MOST_POSITIONS: usize = 20_000;
/// Pairs of positions that follow each other.
const MOST_PAIRS: usize = 400_000;

/// A position, and whether no byte of a word may come behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Last {
    position: u32,
    before_no_word: bool,
}

/// An assertion on the byte before, with which it asks that no byte of a word comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Boundary {
    /// `\b` behind a byte of a word.
    EndOfWord,
    /// `\B` behind another byte.
    NoWord,
}

/// A position that may come next, and whether only for bytes that are no part of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    position: u32,
    outside_words: bool,
}

impl Part {
    fn asking(boundary: Boundary) -> Self {
        Self {
            empty: true,
            asks: Some(boundary),
            ..Self::default()
        }
    }
}

impl Next {
    fn any(position: u32) -> Self {
        Self {
            position,
            outside_words: false,
        }
    }
}

/// A part of the expression: whether it can be empty, and the positions that it can begin and end with.
#[derive(Clone, Debug, Default)]
struct Part {
    empty: bool,
    /// What it asks of the positions beside it where it is empty.
    asks: Option<Boundary>,
    first: Vec<u32>,
    last: Vec<Last>,
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
    beginnings: HashMap<u32, Vec<Symbols>>,
}

/// Whether each text that the expression matches can be read in one way only, from its first byte to its end.
pub(crate) fn reads_one_way(hir: &Hir) -> bool {
    let mut positions = Positions::default();
    let Some(whole) = anchored(hir).and_then(|parts| positions.concat(&parts)) else {
        return false;
    };
    // Every position that the expression can end with is a `\z`.
    let ends = whole
        .last
        .iter()
        .all(|last| positions.symbols[last.position as usize].end);
    let first: Vec<Next> = whole.first.iter().copied().map(Next::any).collect();
    ends && !whole.empty
        && positions.disjoint(&first)
        && positions.next.iter().all(|next| positions.disjoint(next))
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
        if next.outside_words {
            symbols.outside_words()
        } else {
            symbols
        }
    }

    fn differ(&self, one: Next, other: Next) -> bool {
        let pair = (one.position.min(other.position), one.position.max(other.position));
        one == other || self.parted.contains(&pair) || self.taken(one).disjoint(&self.taken(other))
    }

    fn part(&mut self, hir: &Hir) -> Option<Part> {
        match hir.kind() {
            HirKind::Empty => Some(Part {
                empty: true,
                ..Part::default()
            }),
            HirKind::Literal(literal) => {
                let mut whole = Part {
                    empty: true,
                    ..Part::default()
                };
                for &byte in &literal.0 {
                    let mut symbols = Symbols::default();
                    symbols.add(byte, byte);
                    let part = self.position(symbols)?;
                    whole = self.behind(whole, part)?;
                }
                Some(whole)
            }
            HirKind::Class(class) => self.position(Symbols::of_class(class)?),
            HirKind::Look(Look::End) => self.position(Symbols::END),
            HirKind::Look(Look::WordAscii) => Some(Part::asking(Boundary::EndOfWord)),
            HirKind::Look(Look::WordAsciiNegate) => Some(Part::asking(Boundary::NoWord)),
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
        let mut before: Vec<(Vec<Symbols>, Vec<u32>)> = Vec::new();
        for branch in flat(branches) {
            // A branch that can be empty is taken before what stands behind it in the list.
            if whole.empty {
                return None;
            }
            let part = self.part(branch)?;
            let bytes = single_bytes(branch);
            for (_, firsts) in before.iter().filter(|(others, _)| part_ways(others, &bytes)) {
                self.part_pairs(firsts, &part.first);
            }
            for &first in &part.first {
                let known = self.beginnings.entry(first).or_default();
                if known.len() < bytes.len() {
                    known.clone_from(&bytes);
                }
            }
            before.push((bytes, part.first.clone()));
            whole.empty |= part.empty;
            whole.asks = part.asks;
            whole.first.extend(part.first);
            whole.last.extend(part.last);
        }
        Some(whole)
    }

    fn concat(&mut self, parts: &[&Hir]) -> Option<Part> {
        let mut whole = Part {
            empty: true,
            ..Part::default()
        };
        let mut turns: Vec<u32> = Vec::new();
        for (at, hir) in parts.iter().enumerate() {
            let part = self.part(hir)?;
            // Where a turn of the loop before fails within single bytes, the loop ends and this part is tried.
            let bytes = single_bytes_of(&parts[at..]);
            let fails = |turn: &u32| {
                self.beginnings
                    .get(turn)
                    .is_some_and(|turn| part_ways(turn, &bytes))
            };
            let ends: Vec<u32> = turns.iter().copied().filter(fails).collect();
            self.part_pairs(&ends, &part.first);
            turns = if is_loop(hir) {
                part.first.clone()
            } else {
                Vec::new()
            };
            whole = self.behind(whole, part)?;
        }
        Some(whole)
    }

    fn part_pairs(&mut self, ones: &[u32], others: &[u32]) {
        let pairs = ones
            .iter()
            .flat_map(|&one| others.iter().map(move |&other| (one.min(other), one.max(other))));
        self.parted.extend(pairs);
    }

    /// The positions behind which nothing of an empty part is taken.
    fn through(&self, before: &Part, asks: Option<Boundary>) -> Option<Vec<Last>> {
        let Some(boundary) = asks else {
            return Some(before.last.clone());
        };
        let holds = |last: &Last| {
            let symbols = self.symbols[last.position as usize];
            match boundary {
                Boundary::EndOfWord => symbols.is_of_words(),
                Boundary::NoWord => symbols.outside_words() == symbols && !symbols.end,
            }
        };
        (!before.empty && before.last.iter().all(holds)).then(|| {
            let last = before.last.iter().map(|last| Last {
                before_no_word: true,
                ..*last
            });
            last.collect()
        })
    }

    /// `{min,max}` is written out: `a{2,}` as `aaa*`.
    fn repeated(&mut self, hir: &Hir, min: u32, max: Option<u32>) -> Option<Part> {
        let mut whole = Part {
            empty: true,
            ..Part::default()
        };
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
            first: vec![position],
            last: vec![Last {
                position,
                before_no_word: false,
            }],
        })
    }

    fn behind(&mut self, before: Part, part: Part) -> Option<Part> {
        self.pair(&before.last, &part.first)?;
        let through = match part.empty {
            true => self.through(&before, part.asks)?,
            false => Vec::new(),
        };
        let mut whole = Part {
            empty: before.empty && part.empty,
            asks: before.asks.filter(|_| part.empty),
            first: before.first,
            last: part.last,
        };
        // An empty part lets the positions beside it through.
        if before.empty {
            whole.first.extend(part.first);
        }
        whole.last.extend(through);
        Some(whole)
    }

    fn pair(&mut self, from: &[Last], to: &[u32]) -> Option<()> {
        for last in from {
            let next = &mut self.next[last.position as usize];
            for &position in to {
                let other = Next {
                    position,
                    outside_words: last.before_no_word,
                };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    #[test]
    fn a_pattern_reads_one_way_or_not() {
        for (pattern, expected) in [
            (r"\A(?:[^']+|'[^']*')*\z", true),
            (r"\A(?:a+|ab)*\z", false),
            (r"\Aa*ab\z", false),
            (r"\A(?:a+)*\z", true),
            (r"\A(?:ab|cd)*(?:e|f)\z", true),
            (r"\A(?:x[^\n]*(?:\n|\z)|y)*\z", true),
            (r"\A(?:x[^\n]*\n?|y)*\z", false),
            (r"\Aa{2,3}b\z", true),
            (r"\Aa{2,3}a\z", false),
            (r"\A(?:a{2,}b)*\z", true),
            (r"(?:[^']+|'[^']*')*\z", false),
            (r"\A[ab]*", false),
            (r"\Ax\b\z", true),
            (r"\A!\b\z", false),
            (r"\A!\B\z", true),
            (r"\Ax\B\z", false),
            (r"\A(?:x(?:[y-z]+\b|\b)|y)*\z", true),
            (r"\A(?:x(?:[y-z]+|\b)|y)*\z", false),
            (r"\A(?:x(?:\b|y))*\z", false),
            (r"\A(?:!(?:x+\b|\B)|x+\b)*\z", true),
            (r"\A(?:!(?:x+\b)?|x+\b)*\z", false),
            (r"\A\bx\z", false),
            (r"\A(?:[0-9]+\b|[a-z]+!?)*\z", true),
            (r"\A(?:[0-9]+|[a-z0-9]+!)*\z", false),
            (r"\A(?:[0-9]+\b|x)*[0-9]\z", false),
            (r"\A(?:[ab]x+|ay)*\z", true),
            (r"\A(?:[ab]x|a(?:y|z)|abc)*\z", true),
            (r"\A(?:[ab]x|ay?)*\z", false),
            (r"\A(?:[ab]+x|ay)*\z", false),
            (r"\A(?:[ab]x|a)*\z", false),
            (r"\A(?:[ab]x|[ab]\b|a(?:y|z)+)*\z", true),
            (r"\A(?:[ab]x|a(?:y|z)*)*\z", false),
            (r"\A(?:[ab]x|a(?:y|x))*\z", false),
            (r"\A(?:ax?\b|a!)*\z", false),
            (r"\A(?:[ab]x|ay)*a\z", false),
            (r"\A(?:[ab]x|c)*ay\z", true),
            (r"\A(?:[ab]x|c)*y?a\z", false),
            (r"\A(?:[ab]x|a|c)*ay\z", false),
            (r"\A(?:[ab]x+|c)*ax\z", false),
            (r"\A(?:[ab]x)*ay\z", false),
            (r"\A(?:a\b|ab\w+\b|!)*ab\b(?:\b!|!)*\z", false),
            (r"\A(?:a\b|ab\w+\b|!)*ab\b(?:!)*\z", true),
            (r"\A(?:a*|b)c\z", false),
            (r"\A(?:b|a*)c\z", true),
            (r"\Aa*?b\z", false),
        ] {
            let hir =
                regex_automata::util::syntax::parse_with(&format!("(?-u:{pattern})"), &Pattern::syntax());
            assert_eq!(reads_one_way(&hir.unwrap()), expected, "{pattern}");
        }
    }
}
