//! What tells the answers of one statement from those of every other.

use std::fmt;

/// A text that stands in a statement and comes back in its answer. Its last part is computed from the others, so bytes that a lie has
/// changed are no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// The session that the statement is of; a session that begins anew is another one.
    pub(super) owner: u32,
    pub(super) statement: u32,
}

const PREFIX: &str = "token";
const DIGITS: usize = 8;

impl Token {
    fn check(self) -> u32 {
        let mixed = u64::from(self.owner) << 32 | u64::from(self.statement);
        (mixed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }

    /// The tokens in some bytes.
    pub(super) fn all_in(bytes: &[u8]) -> impl Iterator<Item = Self> {
        bytes
            .windows(PREFIX.len() + 3 * DIGITS)
            .filter_map(|window| window.strip_prefix(PREFIX.as_bytes()))
            .filter_map(Self::read)
    }

    fn read(digits: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(digits).ok()?;
        let number = |at: usize| u32::from_str_radix(text.get(at * DIGITS..(at + 1) * DIGITS)?, 16).ok();
        let token = Self {
            owner: number(0)?,
            statement: number(1)?,
        };
        (number(2)? == token.check()).then_some(token)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let check = self.check();
        write!(f, "{PREFIX}{:08x}{:08x}{check:08x}", self.owner, self.statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_and_changed_ones_are_not() {
        let (one, two) = (
            Token {
                owner: 1,
                statement: 0,
            },
            Token {
                owner: 7,
                statement: 300,
            },
        );
        let mut text = format!("\x15{one}--{two}").into_bytes();
        assert_eq!(Token::all_in(&text).collect::<Vec<_>>(), [one, two]);
        text[1 + PREFIX.len() + 7] ^= 3;
        assert_eq!(Token::all_in(&text).collect::<Vec<_>>(), [two]);
    }
}
