//! Backslash escapes, outside and inside classes.

use regex_syntax::hir::ClassUnicode;

use super::Front;
use super::class::{DIGIT, Ranges, WORD, complement};
use crate::error::PatternError;

/// What an escape stands for.
enum Escape {
    /// One byte or code point.
    Code(u32),
    /// A set, complemented or not.
    Set(bool, Ranges),
    /// Nothing of these: the letter behind the backslash.
    Other(u8),
}

const HORIZONTAL: [(u32, u32); 3] = [(0x09, 0x09), (0x20, 0x20), (0xa0, 0xa0)];
const VERTICAL: [(u32, u32); 2] = [(0x0a, 0x0d), (0x85, 0x85)];

impl Front<'_> {
    pub(super) fn escape(&mut self) -> Result<(), PatternError> {
        if self.takes("\\Q") {
            return self.quoted();
        }
        if !self.re2 && self.takes("\\E") {
            return Ok(());
        }
        let start = self.at;
        match self.read_escape(false)? {
            Escape::Code(code) => self.code(code),
            Escape::Set(negated, ranges) => self.set(negated, &ranges),
            Escape::Other(letter) => {
                self.at = start;
                self.assertion_or_reference(letter)
            }
        }
    }

    /// The escape at the current place within a class of bytes: a member, or a set whose ranges are added.
    pub(super) fn class_escape(
        &mut self,
        ranges: &mut Ranges,
        ends_range: bool,
    ) -> Result<Option<u32>, PatternError> {
        let start = self.at;
        match self.read_escape(true)? {
            Escape::Code(code) => Ok(Some(code)),
            Escape::Other(b'b') => Ok(Some(8)),
            Escape::Set(..) if ends_range => Err(self.invalid("this range ends in a class")),
            Escape::Set(negated, set) => {
                ranges.extend(if negated { complement(&set) } else { set });
                Ok(None)
            }
            Escape::Other(b'p' | b'P') => Err(self.undecided("a Unicode property")),
            Escape::Other(letter) => {
                let means_something = matches!(letter, b'N' | b'L' | b'l' | b'U' | b'u');
                let is_plain = b"FIJMOTYgijmqy".contains(&letter);
                if means_something || (ends_range && !is_plain) {
                    self.at = start;
                    return Err(self.invalid("this escape has no meaning in a class"));
                }
                Ok(Some(u32::from(letter)))
            }
        }
    }

    /// The escape at the current place within a class of characters: a member, or a set that is written to `set`, where
    /// a set may stand.
    pub(super) fn escaped_bound(
        &mut self,
        set: Option<&mut Option<ClassUnicode>>,
    ) -> Result<Option<u32>, PatternError> {
        match (self.read_escape(true)?, set) {
            (Escape::Code(code), _) => Ok(Some(code)),
            (Escape::Set(negated, ranges), Some(set)) => {
                let mut members = self.folded(&ranges)?;
                if negated {
                    members.negate();
                }
                *set = Some(members);
                Ok(None)
            }
            (Escape::Other(b'p' | b'P'), _) => Err(self.undecided("a Unicode property")),
            (Escape::Set(..) | Escape::Other(_), _) => {
                Err(self.invalid("this escape has no meaning in a class"))
            }
        }
    }

    fn quoted(&mut self) -> Result<(), PatternError> {
        let rest = &self.text[self.at..];
        let length = rest.find("\\E").unwrap_or(rest.len());
        let end = self.at + length;
        if length == 0 && self.re2 {
            self.unrepeatable = Some("a quantifier behind an empty quote");
        }
        while self.at < end {
            self.literal()?;
        }
        self.takes("\\E");
        Ok(())
    }

    fn read_escape(&mut self, in_class: bool) -> Result<Escape, PatternError> {
        let Some(&letter) = self.rest().get(1) else {
            return Err(self.invalid("a backslash ends the pattern"));
        };
        let digits_at = self.at + 1;
        self.at += 2;
        Ok(match letter {
            b'd' | b'D' => Escape::Set(letter == b'D', DIGIT.to_vec()),
            b'w' | b'W' => Escape::Set(letter == b'W', WORD.to_vec()),
            b's' | b'S' if self.re2 => Escape::Set(letter == b'S', vec![(9, 10), (12, 13), (32, 32)]),
            b's' | b'S' => Escape::Set(letter == b'S', vec![(9, 13), (32, 32)]),
            b'h' | b'H' if !self.re2 => Escape::Set(letter == b'H', HORIZONTAL.to_vec()),
            b'v' | b'V' if !self.re2 => Escape::Set(letter == b'V', VERTICAL.to_vec()),
            b'v' => Escape::Code(0x0b),
            b'N' if !self.re2 && self.peek() == Some(b'{') && self.counted().is_none() => {
                return Err(self.invalid("PCRE does not know characters by name"));
            }
            b'N' if !self.re2 && !in_class => Escape::Set(true, vec![(10, 10)]),
            b'C' if !self.re2 && !in_class => Escape::Set(false, vec![(0, 0xff)]),
            b'a' => Escape::Code(7),
            b'e' if !self.re2 => Escape::Code(0x1b),
            b'f' => Escape::Code(0x0c),
            b'n' => Escape::Code(0x0a),
            b'r' => Escape::Code(0x0d),
            b't' => Escape::Code(9),
            b'c' if !self.re2 => self.control()?,
            b'x' => self.hexadecimal()?,
            b'o' if !self.re2 => self.braced_octal()?,
            b'0'..=b'9' => {
                self.at = digits_at;
                self.number(letter, in_class)?
            }
            _ if letter.is_ascii_alphabetic() => Escape::Other(letter),
            _ if letter.is_ascii() => Escape::Code(u32::from(letter)),
            _ if self.re2 => return Err(self.invalid("this escape has no meaning")),
            // The first byte of a longer character; the others follow as literals.
            _ => Escape::Code(u32::from(letter)),
        })
    }

    fn control(&mut self) -> Result<Escape, PatternError> {
        match self.peek().filter(u8::is_ascii) {
            Some(byte) => {
                self.at += 1;
                Ok(Escape::Code(u32::from(byte.to_ascii_uppercase() ^ 0x40)))
            }
            None => Err(self.invalid("`\\c` wants an ASCII character")),
        }
    }

    fn hexadecimal(&mut self) -> Result<Escape, PatternError> {
        if self.peek() == Some(b'{') {
            return self.braced(16);
        }
        let digits = self.digits(2, u8::is_ascii_hexdigit);
        if self.re2 && digits.len() < 2 {
            return Err(self.invalid("`\\x` wants two hexadecimal digits"));
        }
        let code = u32::from_str_radix(digits, 16).unwrap_or(0);
        self.at += digits.len();
        Ok(Escape::Code(code))
    }

    fn braced_octal(&mut self) -> Result<Escape, PatternError> {
        if self.peek() == Some(b'{') {
            self.braced(8)
        } else {
            Err(self.invalid("`\\o` wants octal digits in braces"))
        }
    }

    /// `{…}`: a character code.
    fn braced(&mut self, radix: u32) -> Result<Escape, PatternError> {
        let highest = if self.re2 { 0x0010_ffff } else { 0xff };
        self.at += 1;
        let digits = self.digits(usize::MAX, |byte| char::from(*byte).is_digit(radix));
        let closed = self.rest().get(digits.len()) == Some(&b'}');
        // Leading zeros do not count, however many.
        let code = match digits.trim_start_matches('0') {
            "" if !digits.is_empty() => Ok(0),
            digits => u32::from_str_radix(digits, radix),
        };
        match code {
            Ok(code) if closed && code <= highest => {
                self.at += digits.len() + 1;
                Ok(Escape::Code(code))
            }
            _ => Err(self.invalid("this character code is malformed or too large")),
        }
    }

    /// At most `most` digits at the current place, which are not taken.
    fn digits(&self, most: usize, is_digit: impl Fn(&u8) -> bool) -> &str {
        let length = self.rest().iter().take(most).take_while(|b| is_digit(b)).count();
        std::str::from_utf8(&self.rest()[..length]).unwrap_or_default()
    }

    /// `\12`: an octal code or a reference.
    fn number(&mut self, first: u8, in_class: bool) -> Result<Escape, PatternError> {
        let octal = self.digits(3, |b| matches!(b, b'0'..=b'7'));
        let decimal = self.digits(usize::MAX, u8::is_ascii_digit);
        if !self.re2 && !in_class && first != b'0' && decimal.len() > 8 {
            return Err(self.undecided("a number of so many digits"));
        }
        let value: usize = decimal.parse().unwrap_or(usize::MAX);
        let is_reference = if self.re2 {
            first != b'0' && octal.len() < 2
        } else {
            first != b'0' && !in_class && (value < 8 || value <= self.groups)
        };
        if is_reference {
            self.at += decimal.len();
            return Ok(Escape::Other(first));
        }
        if octal.is_empty() {
            // PCRE reads `\8` and `\9` that are no references as the digit.
            self.at += 1;
            return Ok(Escape::Code(u32::from(first)));
        }
        let code = u32::from_str_radix(octal, 8).unwrap_or(0);
        if !self.re2 && code > 0xff {
            return Err(self.invalid("this character code is too large"));
        }
        self.at += octal.len();
        Ok(Escape::Code(code))
    }

    /// What is neither a code nor a set; `at` is at the backslash.
    fn assertion_or_reference(&mut self, letter: u8) -> Result<(), PatternError> {
        match letter {
            b'b' | b'B' => {
                let text = format!("\\{}", char::from(letter));
                let ascii = if self.re2 {
                    format!("(?-u:{text})")
                } else {
                    text.clone()
                };
                self.assertion(&ascii, &text);
            }
            b'A' => self.assertion(r"\A", r"\A"),
            b'z' => self.assertion(r"\z", r"\z"),
            b'Z' if !self.re2 => {
                self.at += 2;
                let multi_line = std::mem::take(&mut self.frame().flags.multi_line);
                self.end_of_text(false);
                self.frame().flags.multi_line = multi_line;
                return Ok(());
            }
            b'R' | b'1'..=b'9' if self.frame().looks_behind => {
                return Err(self.undecided("a look-behind for what may be of any length"));
            }
            b'R' => {
                self.make_opaque("`\\R`")?;
                self.atom(r"(?:\r\n|[\n-\r\x85])", r"(?>\r\n|[\n-\r\x85])", 4);
            }
            b'K' => {
                self.make_opaque("`\\K`")?;
                self.assertion("", r"\K");
            }
            b'1'..=b'9' => return self.reference(),
            b'C' | b'p' | b'P' if self.re2 => return Err(self.undecided("this escape")),
            b'g' | b'k' => return Err(self.unsupported("a reference by `\\g` or `\\k`")),
            b'G' | b'X' | b'p' | b'P' => return Err(self.unsupported("this escape")),
            b'L' | b'l' | b'U' | b'u' => return Err(self.invalid("this escape has no meaning")),
            _ if self.re2 => return Err(self.invalid("this escape has no meaning")),
            _ => {
                self.at += 2;
                return self.code(u32::from(letter));
            }
        }
        self.at += 2;
        Ok(())
    }

    fn reference(&mut self) -> Result<(), PatternError> {
        self.make_opaque("a back reference")?;
        self.at += 1;
        let digits = self.digits(usize::MAX, u8::is_ascii_digit);
        let length = digits.len();
        let group: usize = digits.parse().unwrap_or(usize::MAX);
        self.highest_reference = self.highest_reference.max(group);
        self.at += length;
        let text = format!("(?:\\{group})");
        self.atom("", &text, 4);
        Ok(())
    }
}
