//! Bracketed classes and the sets that escapes stand for.

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
    fn highest(&self) -> u32 {
        if self.re2 { 0x0010_ffff } else { 0xff }
    }

    /// The complement of `ranges`, which need not be sorted.
    pub(super) fn complement(&self, ranges: &[(u32, u32)]) -> Ranges {
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        let mut outside = Ranges::new();
        let mut next = 0;
        for (low, high) in sorted {
            if low > next {
                outside.push((next, low - 1));
            }
            next = next.max(high + 1);
        }
        if next <= self.highest() {
            outside.push((next, self.highest()));
        }
        outside
    }

    /// Writes a class as an atom.
    pub(super) fn set(&mut self, negated: bool, ranges: &[(u32, u32)]) {
        let mut text = String::from(if negated { "[^" } else { "[" });
        for &(low, high) in ranges {
            text.push_str(&member(low));
            if high > low {
                text.push('-');
                text.push_str(&member(high));
            }
        }
        text.push(']');
        self.atom(&text, &text);
    }

    pub(super) fn class(&mut self) -> Result<(), PatternError> {
        let opened_at = self.at;
        self.at += 1;
        let negated = self.takes("^");
        let mut ranges = Ranges::new();
        let mut first = true;
        loop {
            let Some(byte) = self.peek() else {
                self.at = opened_at;
                return Err(self.invalid("this class is not closed"));
            };
            if byte == b']' && !first {
                self.at += 1;
                break;
            }
            first = false;
            if self.takes("\\Q") {
                self.quoted_members(&mut ranges);
                continue;
            }
            if self.takes("\\E") {
                continue;
            }
            self.item(&mut ranges)?;
        }
        self.set(negated, &ranges);
        Ok(())
    }

    fn quoted_members(&mut self, ranges: &mut Ranges) {
        let rest = &self.text[self.at..];
        let end = rest.find("\\E").unwrap_or(rest.len());
        let quoted = &rest[..end];
        if self.re2 {
            ranges.extend(quoted.chars().map(|c| (u32::from(c), u32::from(c))));
        } else {
            ranges.extend(quoted.bytes().map(|b| (u32::from(b), u32::from(b))));
        }
        self.at += end + if end < rest.len() { 2 } else { 0 };
    }

    /// One member, range, named class or class escape.
    fn item(&mut self, ranges: &mut Ranges) -> Result<(), PatternError> {
        if self.rest().starts_with(b"[:")
            && let Some(named) = self.named_class()?
        {
            ranges.extend(named);
            return Ok(());
        }
        let Some(low) = self.bound(ranges)? else {
            return Ok(());
        };
        let is_range = self.rest().first() == Some(&b'-') && !matches!(self.rest().get(1), None | Some(b']'));
        if !is_range {
            ranges.push((low, low));
            return Ok(());
        }
        let dash = self.at;
        self.at += 1;
        let before = ranges.len();
        match self.bound(ranges)? {
            Some(high) if high < low => {
                self.at = dash;
                return Err(self.invalid("this range ends before it begins"));
            }
            Some(high) => ranges.push((low, high)),
            None if self.re2 => return Err(self.invalid("this range ends in a class")),
            // PCRE takes the dash for itself where a class follows.
            None => {
                debug_assert!(ranges.len() >= before);
                ranges.extend([(low, low), (0x2d, 0x2d)]);
            }
        }
        Ok(())
    }

    /// A single member; `None` if it was a class escape, whose ranges are added.
    fn bound(&mut self, ranges: &mut Ranges) -> Result<Option<u32>, PatternError> {
        if self.peek() == Some(b'\\') {
            return self.class_escape(ranges);
        }
        if self.re2 {
            let Some(character) = self.text[self.at..].chars().next() else {
                return Ok(None);
            };
            self.at += character.len_utf8();
            return Ok(Some(u32::from(character)));
        }
        let byte = self.next_byte_of_class();
        Ok(byte.map(u32::from))
    }

    /// PCRE in byte mode reads each byte of a longer character as a member of its own.
    fn next_byte_of_class(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// `[:alpha:]`; `None` if it is none after all.
    fn named_class(&mut self) -> Result<Option<Ranges>, PatternError> {
        let body = &self.text.as_bytes()[self.at + 2..];
        let Some(length) = body.iter().position(|b| !(b.is_ascii_alphabetic() || *b == b'^')) else {
            return Ok(None);
        };
        if !body[length..].starts_with(b":]") {
            return Ok(None);
        }
        let (negated, name) = match body[..length].strip_prefix(b"^") {
            Some(name) => (true, name),
            None => (false, &body[..length]),
        };
        let either_case = self.flags().caseless && !self.re2;
        let ranges: &[(u32, u32)] = match name {
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
        };
        let ranges = if negated {
            self.complement(ranges)
        } else {
            ranges.to_vec()
        };
        self.at += 2 + length + 2;
        Ok(Some(ranges))
    }
}
