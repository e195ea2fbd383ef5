//! Quantifiers.

use super::Front;
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
        let Some((regular_at, exact_at)) = self.repeatable.take() else {
            return Err(self.invalid("there is nothing to repeat"));
        };
        let fixed =
            matches!(self.counted(), Some((low, high, _)) if high == Some(low)) && self.peek() == Some(b'{');
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
        if self.takes("?") {
            self.both("?");
        } else if self.peek() == Some(b'+') {
            self.make_opaque("a possessive quantifier")?;
            self.at += 1;
            self.exact.insert_str(exact_at, "(?>");
            self.exact.push(')');
        }
        debug_assert!(regular_at <= self.regular.len());
        Ok(())
    }
}
