//! Backslash escapes, outside and inside classes.

use super::Front;
use super::class::{DIGIT, Ranges, WORD};
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
        if self.takes("\\E") {
            return Ok(());
        }
        let start = self.at;
        match self.read_escape(false)? {
            Escape::Code(code) => self.code(code),
            Escape::Set(negated, ranges) => {
                self.set(negated, &ranges);
                Ok(())
            }
            Escape::Other(letter) => {
                self.at = start;
                self.assertion_or_reference(letter)
            }
        }
    }

    /// The escape at the current place within a class: a member, or a set whose ranges are added.
    pub(super) fn class_escape(&mut self, ranges: &mut Ranges) -> Result<Option<u32>, PatternError> {
        let start = self.at;
        match self.read_escape(true)? {
            Escape::Code(code) => Ok(Some(code)),
            Escape::Set(negated, set) => {
                ranges.extend(if negated { self.complement(&set) } else { set });
                Ok(None)
            }
            Escape::Other(b'b') if !self.re2 => Ok(Some(8)),
            Escape::Other(letter) if self.re2 || matches!(letter, b'N' | b'R' | b'X' | b'p' | b'P') => {
                self.at = start;
                Err(self.invalid("this escape has no meaning in a class"))
            }
            Escape::Other(letter) => Ok(Some(u32::from(letter))),
        }
    }

    fn quoted(&mut self) -> Result<(), PatternError> {
        let rest = &self.text[self.at..];
        let length = rest.find("\\E").unwrap_or(rest.len());
        let end = self.at + length;
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
            b'0'..=b'9' => {
                self.at = digits_at;
                self.number(letter, in_class)?
            }
            _ if letter.is_ascii_alphabetic() => Escape::Other(letter),
            _ if letter.is_ascii() => Escape::Code(u32::from(letter)),
            _ => {
                // A backslash before a longer character: the character itself.
                self.at = digits_at;
                let Some(character) = self.text[self.at..].chars().next() else {
                    return Ok(Escape::Other(letter));
                };
                if self.re2 {
                    return Err(self.invalid("this escape has no meaning"));
                }
                self.at += 1;
                let _ = character;
                Escape::Code(u32::from(letter))
            }
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
        let highest = if self.re2 { 0x0010_ffff } else { 0xff };
        let digits = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if self.peek() == Some(b'{') {
            let length = digits(&self.rest()[1..]);
            let closed = self.rest().get(length + 1) == Some(&b'}');
            let code = u32::from_str_radix(&self.text[self.at + 1..self.at + 1 + length], 16);
            match code {
                Ok(code) if closed && code <= highest => {
                    self.at += length + 2;
                    return Ok(Escape::Code(code));
                }
                _ => return Err(self.invalid("this character code is malformed or too large")),
            }
        }
        let length = digits(self.rest()).min(2);
        if self.re2 && length < 2 {
            return Err(self.invalid("`\\x` wants two hexadecimal digits"));
        }
        let code = u32::from_str_radix(&self.text[self.at..self.at + length], 16).unwrap_or(0);
        self.at += length;
        Ok(Escape::Code(code))
    }

    /// `\12`: an octal code or a reference.
    fn number(&mut self, first: u8, in_class: bool) -> Result<Escape, PatternError> {
        let octal = self
            .rest()
            .iter()
            .take(3)
            .take_while(|b| matches!(b, b'0'..=b'7'))
            .count();
        let decimal = self
            .rest()
            .iter()
            .take(4)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let value: usize = self.text[self.at..self.at + decimal]
            .parse()
            .unwrap_or(usize::MAX);
        let is_reference = if self.re2 {
            first != b'0' && octal < 2
        } else {
            first != b'0' && !in_class && (value < 10 || value <= self.total_groups)
        };
        if is_reference {
            self.at += decimal;
            return Ok(Escape::Other(first));
        }
        if octal == 0 {
            // PCRE reads `\8` and `\9` that are no references as a NUL and the digit.
            return Ok(Escape::Code(0));
        }
        let code = u32::from_str_radix(&self.text[self.at..self.at + octal], 8).unwrap_or(0);
        self.at += octal;
        Ok(Escape::Code(code & 0xff))
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
            b'R' if self.frame().looks_behind => {
                return Err(self.invalid("what a look-behind looks for must have one length"));
            }
            b'R' => {
                self.make_opaque("`\\R`")?;
                self.atom(r"(?:\r\n|[\n-\r\x85])", r"(?>\r\n|[\n-\r\x85])");
            }
            b'K' => {
                self.make_opaque("`\\K`")?;
                self.assertion("", r"\K");
            }
            b'1'..=b'9' => return self.reference(),
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
        let length = self
            .rest()
            .iter()
            .take(4)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let group: usize = self.text[self.at..self.at + length].parse().unwrap_or(usize::MAX);
        if group > self.total_groups {
            return Err(self.invalid("this refers to a group that does not exist"));
        }
        self.at += length;
        let text = format!("(?:\\{group})");
        self.atom("", &text);
        Ok(())
    }
}
