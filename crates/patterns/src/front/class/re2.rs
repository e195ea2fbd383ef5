//! Bracketed classes as RE2 reads them: sets of code points, folded when they are built.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::{Front, bracketed};
use crate::error::PatternError;
use crate::front::fold;

/// What RE2 takes for the characters from U+0080 on: also overlong forms, surrogates and what is beyond U+10FFFF.
const BEYOND_ASCII: &str =
    r"[\xC2-\xDF][\x80-\xBF]|[\xE0-\xEF][\x80-\xBF][\x80-\xBF]|[\xF0-\xF4][\x80-\xBF][\x80-\xBF][\x80-\xBF]";
const SURROGATES: &str = r"\xED[\xA0-\xBF][\x80-\xBF]";

impl Front<'_> {
    pub(super) fn class_of_characters(&mut self) -> Result<(), PatternError> {
        let opened_at = self.at;
        self.at += 1;
        let negated = self.takes("^");
        let mut members = ClassUnicode::empty();
        let mut first = true;
        loop {
            match self.peek() {
                None => {
                    self.at = opened_at;
                    return Err(self.invalid("this class is not closed"));
                }
                Some(b']') if !first => {
                    self.at += 1;
                    break;
                }
                Some(_) => {
                    first = false;
                    let item = self.item_of_characters()?;
                    members.union(&item);
                }
            }
        }
        self.characters(negated, members);
        Ok(())
    }

    /// One member, range, named class or class escape.
    fn item_of_characters(&mut self) -> Result<ClassUnicode, PatternError> {
        if self.rest().starts_with(b"[:")
            && let Some(length) = self.rest()[2..].windows(2).position(|pair| pair == b":]")
        {
            let name = &self.text.as_bytes()[self.at + 2..self.at + 2 + length];
            let members = match name.strip_prefix(b"^") {
                Some(name) => {
                    let mut members = self.folded(self.named(name)?)?;
                    members.negate();
                    members
                }
                None => self.folded(self.named(name)?)?,
            };
            self.at += length + 4;
            return Ok(members);
        }
        let mut set = None;
        let Some(low) = self.bound(Some(&mut set))? else {
            return Ok(set.unwrap_or_else(ClassUnicode::empty));
        };
        let is_range = self.rest().first() == Some(&b'-') && !matches!(self.rest().get(1), None | Some(b']'));
        if !is_range {
            return self.folded(&[(low, low)]);
        }
        let dash = self.at;
        self.at += 1;
        match self.bound(None)? {
            Some(high) if high >= low => self.folded(&[(low, high)]),
            _ => {
                self.at = dash;
                Err(self.invalid("this range ends before it begins"))
            }
        }
    }

    /// A single member; `None` if it was a class escape, which is written to `set`.
    fn bound(&mut self, set: Option<&mut Option<ClassUnicode>>) -> Result<Option<u32>, PatternError> {
        if self.peek() == Some(b'\\') {
            return self.escaped_bound(set);
        }
        let Some(character) = self.text[self.at..].chars().next() else {
            return Ok(None);
        };
        self.at += character.len_utf8();
        Ok(Some(u32::from(character)))
    }

    /// The characters of `ranges`, with the other cases of each if letter case does not count.
    pub(in crate::front) fn folded(&self, ranges: &[(u32, u32)]) -> Result<ClassUnicode, PatternError> {
        let mut members = ClassUnicode::empty();
        for &(low, high) in ranges {
            // The ends of what is no character: RE2 counts them in, `regex-syntax` cannot.
            let at_surrogates = |code| (0xd7ff..=0xe000).contains(&code);
            let (Some(first), Some(last)) = (char::from_u32(low), char::from_u32(high)) else {
                return Err(self.undecided("a surrogate"));
            };
            if at_surrogates(low) || at_surrogates(high) {
                return Err(self.undecided("a surrogate"));
            }
            if self.flags().caseless && fold::depends_on_release(low, high) {
                return Err(self.undecided("a letter whose other case depends on the release of Unicode"));
            }
            members.push(ClassUnicodeRange::new(first, last));
        }
        if self.flags().caseless {
            members
                .try_case_fold_simple()
                .map_err(|_| self.undecided("folding of letter case"))?;
        }
        Ok(members)
    }

    /// Writes a set of characters, folded already, as an atom of bytes.
    pub(super) fn characters(&mut self, negated: bool, mut members: ClassUnicode) {
        if negated {
            members.negate();
        }
        let cost = 2 + members.ranges().iter().map(instructions).sum::<usize>();
        let ranges = || {
            members
                .ranges()
                .iter()
                .map(|range| (u32::from(range.start()), u32::from(range.end())))
        };
        let last = ranges().next_back();
        let text = match last {
            None => r"[^\x00-\x{10FFFF}]".to_owned(),
            Some((low, 0x0010_ffff)) if low <= 0x80 => {
                let ascii = ranges().filter(|&(low, _)| low < 0x80);
                let ascii = ascii.map(|(low, high)| (low, high.min(0x7f))).collect::<Vec<_>>();
                if ascii.is_empty() {
                    format!("(?-u:{BEYOND_ASCII})")
                } else {
                    format!("(?-iu:{}|{BEYOND_ASCII})", bracketed(false, ascii.into_iter()))
                }
            }
            Some(_) if ranges().any(|(low, high)| low < 0xd800 && high > 0xdfff) => {
                format!("(?-i:{}|(?-u:{SURROGATES}))", bracketed(false, ranges()))
            }
            Some(_) => format!("(?-i:{})", bracketed(false, ranges())),
        };
        self.atom(&text, &text, cost);
    }
}

/// At most so many instructions of RE2's program for one range of a set; everything beyond ASCII has a form of its own.
fn instructions(range: &ClassUnicodeRange) -> usize {
    match (range.start(), range.end()) {
        (_, end) if end < '\u{80}' => 2,
        (start, end) if start == end => 6,
        (start, char::MAX) if start <= '\u{80}' => 14,
        _ => 26,
    }
}
