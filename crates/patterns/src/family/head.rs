//! Where matches of a head end: its rarest byte is looked for, and around it the other parts are compared.

use regex_automata::util::look::{Look, LookMatcher};
use regex_syntax::hir::Hir;

use super::heads::Part;

/// Ends of the head in one text.
pub(super) const MOST_ENDS: usize = 8;

/// An expression of fixed length: bytes of some sets in a row, and assertions between them.
#[derive(Debug)]
pub(super) struct Head {
    parts: Vec<Part>,
    /// Bytes that a match reads.
    width: usize,
    rare: Option<Rare>,
    looks: LookMatcher,
}

/// The part that the fewest texts have: one to three bytes, and how many bytes of a match stand before it.
#[derive(Debug)]
struct Rare {
    bytes: Vec<u8>,
    before: usize,
}

impl Head {
    /// `None` if a part can read several bytes.
    pub(super) fn of(parts: &[Hir]) -> Option<Self> {
        let parts: Vec<Part> = parts.iter().map(Part::of).collect::<Option<_>>()?;
        let sets = parts.iter().filter_map(Part::bytes);
        let rare = sets
            .enumerate()
            .filter_map(|(before, bytes)| {
                let rare = (1..=3).contains(&bytes.len());
                rare.then_some(Rare { bytes, before })
            })
            .min_by_key(Rare::frequency);
        Some(Self {
            width: parts.iter().filter(|part| part.bytes().is_some()).count(),
            rare,
            parts,
            looks: LookMatcher::new(),
        })
    }

    /// The ends of all matches in `text`, overlapping ones too, ascending, and how many there are; `None` if there are more than
    /// `ends` holds, which then has the first ones.
    pub(super) fn ends(&self, text: &[u8], ends: &mut [usize]) -> Option<usize> {
        let mut count = 0;
        let mut add = |start: usize| {
            if self.is_at(text, start) {
                *ends.get_mut(count)? = start + self.width;
                count += 1;
            }
            Some(())
        };
        let Some(rare) = &self.rare else {
            let last = text.len().checked_sub(self.width);
            for start in last.map_or(0..0, |last| 0..last + 1) {
                add(start)?;
            }
            return Some(count);
        };
        let mut from = rare.before;
        while let Some(at) = text.get(from..).and_then(|rest| rare.find(rest)) {
            add(from + at - rare.before)?;
            from += at + 1;
        }
        Some(count)
    }

    fn is_at(&self, text: &[u8], start: usize) -> bool {
        let mut at = start;
        self.parts.iter().all(|part| match part {
            Part::Assertion(look) => {
                Look::from_repr(*look).is_some_and(|look| self.looks.matches(look, text, at))
            }
            Part::Bytes(set) => {
                let byte = text.get(at).copied();
                at += 1;
                byte.is_some_and(|byte| set[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1)
            }
        })
    }
}

impl Rare {
    fn find(&self, text: &[u8]) -> Option<usize> {
        match *self.bytes.as_slice() {
            [a] => memchr::memchr(a, text),
            [a, b] => memchr::memchr2(a, b, text),
            [a, b, c] => memchr::memchr3(a, b, c, text),
            _ => None,
        }
    }

    /// How often statements have such a byte, roughly.
    fn frequency(&self) -> u32 {
        let of = |byte: u8| match byte {
            b' ' | b'a' | b'e' | b'i' | b'n' | b'o' | b'r' | b's' | b't' => 8,
            b'a'..=b'z' | b'0'..=b'9' | b'A'..=b'Z' => 4,
            _ => 1,
        };
        self.bytes.iter().copied().map(of).sum()
    }
}
