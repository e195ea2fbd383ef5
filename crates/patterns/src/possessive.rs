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
//! * No other assertion stands in it: whether one holds depends on more than the next byte.
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

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Positions of an expression; more are not looked at.
const MOST_POSITIONS: usize = 20_000;
/// Pairs of positions that follow each other.
const MOST_PAIRS: usize = 400_000;

/// Bytes, and the end of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Symbols {
    bytes: [u64; 4],
    end: bool,
}

impl Symbols {
    fn add(&mut self, low: u8, high: u8) {
        for byte in low..=high {
            self.bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    /// Adds the other's symbols; false if they share one.
    fn join(&mut self, other: &Self) -> bool {
        let mut disjoint = !(self.end && other.end);
        self.end |= other.end;
        for (own, more) in self.bytes.iter_mut().zip(other.bytes) {
            disjoint &= *own & more == 0;
            *own |= more;
        }
        disjoint
    }
}

/// A part of the expression: whether it can be empty, and the positions that it can begin and end with.
#[derive(Clone, Debug, Default)]
struct Part {
    empty: bool,
    first: Vec<u32>,
    last: Vec<u32>,
}

/// The positions of an expression, and for each those that may come next.
#[derive(Default)]
struct Positions {
    symbols: Vec<Symbols>,
    next: Vec<Vec<u32>>,
    pairs: usize,
}

/// Whether each text that the expression matches can be read in one way only, from its first byte to its end.
pub(crate) fn reads_one_way(hir: &Hir) -> bool {
    let mut positions = Positions::default();
    let Some(whole) = anchored(hir).and_then(|parts| positions.concat(parts.iter().copied())) else {
        return false;
    };
    // Every position that the expression can end with is a `\z`.
    let ends = whole
        .last
        .iter()
        .all(|&position| positions.symbols[position as usize].end);
    ends && !whole.empty
        && positions.disjoint(&whole.first)
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
    fn disjoint(&self, positions: &[u32]) -> bool {
        let mut all = Symbols::default();
        positions
            .iter()
            .all(|&position| all.join(&self.symbols[position as usize]))
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
            HirKind::Class(Class::Bytes(class)) => {
                let mut symbols = Symbols::default();
                for range in class.ranges() {
                    symbols.add(range.start(), range.end());
                }
                self.position(symbols)
            }
            HirKind::Class(Class::Unicode(class)) => {
                let mut symbols = Symbols::default();
                for range in class.ranges() {
                    // Beyond ASCII a character is several bytes, and a position is one.
                    let high = u8::try_from(range.end()).ok().filter(u8::is_ascii)?;
                    symbols.add(u8::try_from(range.start()).ok()?, high);
                }
                self.position(symbols)
            }
            HirKind::Look(Look::End) => self.position(Symbols {
                end: true,
                ..Symbols::default()
            }),
            HirKind::Look(_) => None,
            HirKind::Capture(capture) => self.part(&capture.sub),
            HirKind::Concat(parts) => self.concat(parts.iter()),
            HirKind::Alternation(parts) => {
                let mut whole = Part::default();
                for part in parts {
                    // A branch that can be empty is taken before what stands behind it in the list.
                    if whole.empty {
                        return None;
                    }
                    let part = self.part(part)?;
                    whole.empty |= part.empty;
                    whole.first.extend(part.first);
                    whole.last.extend(part.last);
                }
                Some(whole)
            }
            // A lazy part leaves a byte that it could take, and a possessive one around it keeps to that.
            HirKind::Repetition(repetition) if !repetition.greedy => None,
            HirKind::Repetition(repetition) => self.repeated(&repetition.sub, repetition.min, repetition.max),
        }
    }

    fn concat<'h>(&mut self, parts: impl Iterator<Item = &'h Hir>) -> Option<Part> {
        let mut whole = Part {
            empty: true,
            ..Part::default()
        };
        for part in parts {
            let part = self.part(part)?;
            whole = self.behind(whole, part)?;
        }
        Some(whole)
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
            part.empty |= copy >= min;
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
            first: vec![position],
            last: vec![position],
        })
    }

    fn behind(&mut self, before: Part, part: Part) -> Option<Part> {
        self.pair(&before.last, &part.first)?;
        let mut whole = Part {
            empty: before.empty && part.empty,
            first: before.first,
            last: part.last,
        };
        // An empty part lets the positions beside it through.
        if before.empty {
            whole.first.extend(part.first);
        }
        if part.empty {
            whole.last.extend(before.last);
        }
        Some(whole)
    }

    fn pair(&mut self, from: &[u32], to: &[u32]) -> Option<()> {
        for &position in from {
            let next = &mut self.next[position as usize];
            for &other in to {
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
            (r"\Ax\b\z", false),
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
