//! Bracketed classes as PCRE 8 reads them: byte by byte.

use super::{Front, Ranges, bracketed, complement};
use crate::error::PatternError;

impl Front<'_> {
    pub(super) fn class_of_bytes(&mut self) -> Result<(), PatternError> {
        let opened_at = self.at;
        for (written, regular, exact) in [
            ("[[:<:]]", r"\b{start}", r"(?:\b(?=\w))"),
            ("[[:>:]]", r"\b{end}", r"(?:\b(?<=\w))"),
        ] {
            if self.takes(written) {
                self.assertion(regular, exact);
                self.unrepeatable = Some("a quantifier behind a word boundary");
                return Ok(());
            }
        }
        if self.posix_end().is_some() {
            return Err(self.invalid("a POSIX class stands outside of brackets"));
        }
        self.at += 1;
        let mut negated = false;
        while self.takes("\\E") || self.takes("\\Q\\E") || (!negated && self.peek() == Some(b'^')) {
            if self.peek() == Some(b'^') && !negated {
                negated = true;
                self.at += 1;
            }
        }
        let mut ranges = Ranges::new();
        let (mut quoted, mut first) = (false, true);
        loop {
            let Some(byte) = self.peek() else {
                self.at = opened_at;
                return Err(self.invalid("this class is not closed"));
            };
            if byte == b']' && !quoted && !first {
                self.at += 1;
                break;
            }
            first = false;
            self.item_of_bytes(byte, &mut quoted, &mut ranges)?;
        }
        let text = bracketed(negated, ranges.into_iter());
        self.atom(&text, &text, 40);
        Ok(())
    }

    /// One member, range, named class, class escape or mark of quoting.
    fn item_of_bytes(
        &mut self,
        byte: u8,
        quoted: &mut bool,
        ranges: &mut Ranges,
    ) -> Result<(), PatternError> {
        if self.takes("\\E") {
            *quoted = false;
            return Ok(());
        }
        let mut low = u32::from(byte);
        if *quoted {
            self.at += 1;
        } else if let Some(end) = self.posix_end() {
            ranges.extend(self.posix_class(end)?);
            return Ok(());
        } else if self.takes("\\Q") {
            *quoted = !self.takes("\\E");
            return Ok(());
        } else if byte == b'\\' {
            match self.class_escape(ranges, false)? {
                Some(code) => low = code,
                None => return Ok(()),
            }
        } else {
            self.at += 1;
        }
        while self.takes("\\E") {
            *quoted = false;
        }
        let high = match self.peek() {
            Some(b'-') if !*quoted => self.end_of_range(quoted)?,
            _ => None,
        };
        match high {
            Some(high) if high < low => Err(self.invalid("this range ends before it begins")),
            high => {
                ranges.push((low, high.unwrap_or(low)));
                Ok(())
            }
        }
    }

    /// What follows the `-` at the current place; `None`, and nothing taken, where it is the last member.
    fn end_of_range(&mut self, quoted: &mut bool) -> Result<Option<u32>, PatternError> {
        let dash = self.at;
        self.at += 1;
        while self.takes("\\E") {}
        while self.takes("\\Q") {
            if !self.takes("\\E") {
                *quoted = true;
                break;
            }
        }
        match self.peek() {
            None => self.at = dash,
            Some(b']') if !*quoted => self.at = dash,
            Some(b'\\') if !*quoted => return self.class_escape(&mut Ranges::new(), true),
            Some(b'[') if !*quoted && self.posix_end().is_some() => {
                return Err(self.invalid("this range ends in a class"));
            }
            Some(byte) => {
                self.at += 1;
                return Ok(Some(u32::from(byte)));
            }
        }
        Ok(None)
    }

    /// Where `:]`, `.]` or `=]` ends what looks like a POSIX class at the current place.
    fn posix_end(&self) -> Option<usize> {
        let rest = self.rest();
        let &[b'[', mark @ (b':' | b'.' | b'='), ..] = rest else {
            return None;
        };
        let mut at = 2;
        loop {
            match (rest.get(at)?, rest.get(at + 1)) {
                (b'\\', Some(b']' | b'\\')) => at += 1,
                (b'[', Some(next)) if *next == mark => return None,
                (b']', _) => return None,
                (byte, Some(b']')) if *byte == mark => return Some(self.at + at),
                _ => {}
            }
            at += 1;
        }
    }

    /// `[:alpha:]`, whose `:]` is at `end`.
    fn posix_class(&mut self, end: usize) -> Result<Ranges, PatternError> {
        let body = &self.text.as_bytes()[self.at + 1..end];
        let Some(name) = body.strip_prefix(b":") else {
            return Err(self.invalid("PCRE has no collating elements"));
        };
        let ranges = match name.strip_prefix(b"^") {
            Some(name) => complement(self.named(name)?),
            None => self.named(name)?.to_vec(),
        };
        self.at = end + 2;
        Ok(ranges)
    }
}
