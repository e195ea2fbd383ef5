//! Whether possessive quantifiers change what a pattern matches.
//!
//! They forbid to give back what was taken. In an expression where each byte of a text can be read in one way only, nothing
//! is ever given back, so with and without them it matches the same texts. Such expressions are called one-unambiguous
//! (Brüggemann-Klein and Wood, "One-Unambiguous Regular Languages", 1998): from each place of the expression (a byte class)
//! the places that may come next share no byte. `\z` counts as reading the end, which is no byte.
//!
//! `\A(?:[^']++|'[^']*+')*+\z` is one: behind a byte that is no quote comes such a byte, a quote that opens, or the end.
//! `\A(?:a++|ab)*+\z` is not: `a` may begin either branch, and the possessive one never gives `a` back for `ab`.
//!
//! Such expressions must also take a byte wherever they can: nothing lazy, and no branch that can be empty before another.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// Places of an expression; more are not looked at.
const MOST_PLACES: usize = 20_000;
/// Pairs of places that follow each other.
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

/// A part of the expression: whether it can be empty, and the places that it can begin and end with.
#[derive(Clone, Debug, Default)]
struct Part {
    empty: bool,
    first: Vec<u32>,
    last: Vec<u32>,
}

/// The places of an expression, and for each those that may come next.
#[derive(Default)]
struct Places {
    symbols: Vec<Symbols>,
    next: Vec<Vec<u32>>,
    pairs: usize,
}

/// Whether each text that the expression matches can be read in one way only, from its first byte to its end.
pub(crate) fn reads_one_way(hir: &Hir) -> bool {
    let mut places = Places::default();
    let Some(whole) = anchored(hir).and_then(|parts| places.concat(parts.iter().copied())) else {
        return false;
    };
    let ends = whole.last.iter().all(|&place| places.symbols[place as usize].end);
    ends && !whole.empty
        && places.disjoint(&whole.first)
        && places.next.iter().all(|next| places.disjoint(next))
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

impl Places {
    fn disjoint(&self, places: &[u32]) -> bool {
        let mut all = Symbols::default();
        places
            .iter()
            .all(|&place| all.join(&self.symbols[place as usize]))
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
                    let part = self.place(symbols)?;
                    whole = self.behind(whole, part)?;
                }
                Some(whole)
            }
            HirKind::Class(Class::Bytes(class)) => {
                let mut symbols = Symbols::default();
                for range in class.ranges() {
                    symbols.add(range.start(), range.end());
                }
                self.place(symbols)
            }
            HirKind::Class(Class::Unicode(class)) => {
                let mut symbols = Symbols::default();
                for range in class.ranges() {
                    let high = u8::try_from(range.end()).ok().filter(u8::is_ascii)?;
                    symbols.add(u8::try_from(range.start()).ok()?, high);
                }
                self.place(symbols)
            }
            HirKind::Look(Look::End) => self.place(Symbols {
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
            if max.is_none() && copy + 1 == copies {
                self.pair(&part.last, &part.first)?;
            }
            part.empty |= copy >= min;
            whole = self.behind(whole, part)?;
        }
        Some(whole)
    }

    fn place(&mut self, symbols: Symbols) -> Option<Part> {
        if self.symbols.len() >= MOST_PLACES {
            return None;
        }
        let place = u32::try_from(self.symbols.len()).ok()?;
        self.symbols.push(symbols);
        self.next.push(Vec::new());
        Some(Part {
            empty: false,
            first: vec![place],
            last: vec![place],
        })
    }

    fn behind(&mut self, before: Part, part: Part) -> Option<Part> {
        self.pair(&before.last, &part.first)?;
        let mut whole = Part {
            empty: before.empty && part.empty,
            first: before.first,
            last: part.last,
        };
        if before.empty {
            whole.first.extend(part.first);
        }
        if part.empty {
            whole.last.extend(before.last);
        }
        Some(whole)
    }

    fn pair(&mut self, from: &[u32], to: &[u32]) -> Option<()> {
        for &place in from {
            let next = &mut self.next[place as usize];
            for &other in to {
                if !next.contains(&other) {
                    next.push(other);
                    self.pairs += 1;
                }
            }
        }
        (self.pairs <= MOST_PAIRS).then_some(())
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
