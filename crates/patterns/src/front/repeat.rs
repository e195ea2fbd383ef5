//! Quantifiers.

use super::{Front, POSSESSIVE};
use crate::error::PatternError;

/// A quantifier's bounds and its length in bytes.
pub(super) type Counted = (u32, Option<u32>, usize);

impl Front<'_> {
    /// `{n}`, `{n,}` or `{n,m}` at the current place; anything else is a literal brace.
    pub(super) fn counted(&self) -> Option<Counted> {
        let rest = self.rest();
        let end = rest.iter().position(|&b| b == b'}')?;
        let body = std::str::from_utf8(&rest[1..end]).ok()?;
        let number = |digits: &str| {
            // RE2 takes no leading zeros and no more than eight digits for a count.
            if self.re2 && (digits.len() > 8 || (digits.len() > 1 && digits.starts_with('0'))) {
                return None;
            }
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().unwrap_or(u32::MAX))
        };
        let (low, high) = match body.split_once(',') {
            None => (number(body)?, Some(number(body)?)),
            Some((low, "")) => (number(low)?, None),
            Some((low, high)) => (number(low)?, Some(number(high)?)),
        };
        Some((low, high, end + 1))
    }

    pub(super) fn repeat(&mut self) -> Result<(), PatternError> {
        if let Some(what) = self.unrepeatable.take() {
            return Err(self.undecided(what));
        }
        let copied = self.copied.take();
        let Some((regular_at, exact_at)) = self.repeatable.take() else {
            return Err(self.invalid("there is nothing to repeat"));
        };
        let fixed =
            matches!(self.counted(), Some((low, high, _)) if high == Some(low)) && self.peek() == Some(b'{');
        if self.frame().looks_behind && fixed && copied.is_some() {
            return Err(self.undecided("a repeated group in a look-behind"));
        }
        if self.frame().looks_behind && !fixed {
            return Err(self.invalid("what a look-behind looks for must have one length"));
        }
        let quantifier = match self.counted().filter(|_| self.peek() == Some(b'{')) {
            Some((low, high, length)) => {
                let limit = if self.re2 { 1000 } else { 65_535 };
                if low > limit || high.is_some_and(|high| high > limit) {
                    return Err(self.invalid(&format!("a count is above {limit}")));
                }
                if high.is_some_and(|high| high < low) {
                    return Err(self.invalid("the counts are in the wrong order"));
                }
                self.at += length;
                self.count_copies(high.unwrap_or(low), copied)?;
                match high {
                    Some(high) => format!("{{{low},{high}}}"),
                    None => format!("{{{low},}}"),
                }
            }
            None => {
                let operator = char::from(self.rest()[0]);
                self.at += 1;
                operator.to_string()
            }
        };
        self.before_more();
        self.both(&quantifier);
        self.skip_extended();
        if self.takes("?") {
            self.both("?");
        } else if self.peek() == Some(b'+') {
            if self.re2 {
                return Err(self.invalid(&format!("RE2 does not know {POSSESSIVE}")));
            }
            self.possessive.push(regular_at..self.regular.len());
            self.at += 1;
            self.exact.insert_str(exact_at, "(?>");
            self.exact.push(')');
        }
        Ok(())
    }

    /// What the engine writes out `times` times: groups in PCRE, everything in RE2.
    fn count_copies(&mut self, times: u32, copied: Option<(usize, u32)>) -> Result<(), PatternError> {
        let Some((before, product)) = copied else {
            return Ok(());
        };
        let size = self.cost.saturating_sub(before).saturating_add(16);
        self.cost = before.saturating_add(size.saturating_mul(times.max(1) as usize));
        let product = product.saturating_mul(times.max(1));
        if self.re2 && product > 1000 {
            return Err(self.invalid("nested counts make more than 1000"));
        }
        let frame = self.frame();
        frame.product = frame.product.max(product);
        Ok(())
    }
}
