//! Bracketed classes and the sets that escapes stand for.

mod pcre;
mod re2;

use super::Front;
use crate::error::PatternError;

/// Inclusive ranges of bytes (PCRE) or code points (RE2).
pub(super) type Ranges = Vec<(u32, u32)>;

pub(super) const DIGIT: [(u32, u32); 1] = [(0x30, 0x39)];
pub(super) const WORD: [(u32, u32); 4] = [(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)];
const ALPHA: [(u32, u32); 2] = [(0x41, 0x5a), (0x61, 0x7a)];

/// One member of a class, or a literal, as a number: no character is special then.
pub(super) fn member(code: u32) -> String {
    match char::from_u32(code) {
        Some(plain) if plain.is_ascii_alphanumeric() || plain == '_' => plain.to_string(),
        _ if code < 0x100 => format!("\\x{code:02X}"),
        _ => format!("\\x{{{code:X}}}"),
    }
}

impl Front<'_> {
    /// Writes a class as an atom.
    pub(super) fn set(&mut self, negated: bool, ranges: &[(u32, u32)]) -> Result<(), PatternError> {
        if self.re2 {
            let members = self.folded(ranges)?;
            self.characters(negated, members);
            return Ok(());
        }
        let text = bracketed(negated, ranges.iter().copied());
        self.atom(&text, &text, 40);
        Ok(())
    }

    pub(super) fn class(&mut self) -> Result<(), PatternError> {
        if self.re2 {
            self.class_of_characters()
        } else {
            self.class_of_bytes()
        }
    }

    /// The members of a class by its POSIX name.
    fn named(&self, name: &[u8]) -> Result<&'static [(u32, u32)], PatternError> {
        let either_case = self.flags().caseless && !self.re2;
        Ok(match name {
            b"alpha" => &ALPHA,
            b"lower" | b"upper" if either_case => &ALPHA,
            b"lower" => &[(0x61, 0x7a)],
            b"upper" => &[(0x41, 0x5a)],
            b"alnum" => &[(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)],
            b"ascii" => &[(0, 0x7f)],
            b"blank" => &[(0x09, 0x09), (0x20, 0x20)],
            b"cntrl" => &[(0, 0x1f), (0x7f, 0x7f)],
            b"digit" => &DIGIT,
            b"graph" => &[(0x21, 0x7e)],
            b"print" => &[(0x20, 0x7e)],
            b"punct" => &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)],
            b"space" => &[(0x09, 0x0d), (0x20, 0x20)],
            b"word" => &WORD,
            b"xdigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
            _ => return Err(self.invalid("there is no class of this name")),
        })
    }
}

/// A class in the syntax of `regex-syntax`.
fn bracketed(negated: bool, ranges: impl Iterator<Item = (u32, u32)>) -> String {
    let mut text = String::from(if negated { "[^" } else { "[" });
    for (low, high) in ranges {
        text.push_str(&member(low));
        if high > low {
            text.push('-');
            text.push_str(&member(high));
        }
    }
    text.push(']');
    text
}

/// The other bytes; `ranges` are sorted.
pub(super) fn complement(ranges: &[(u32, u32)]) -> Ranges {
    let mut outside = Ranges::new();
    let mut next = 0;
    for &(low, high) in ranges {
        if low > next {
            outside.push((next, low - 1));
        }
        next = high + 1;
    }
    if next <= 0xff {
        outside.push((next, 0xff));
    }
    outside
}
