//! Pass 2: blanks beside brackets and commas, and signs that belong to a literal.

use super::DigestOptions;
use super::page::Page;
use super::scan::is_word;

/// A blank, a sign, a blank and some digits: as much of the round before may be part of something that only this round
/// completes.
const LOOK_BACK: isize = 6;

/// What the pass remembers between rounds.
#[derive(Default)]
pub(super) struct Signs {
    ended_at: isize,
    gained: isize,
}

impl Signs {
    /// `gained` is what all passes of the last round gained.
    pub(super) fn squeeze(&mut self, page: &mut Page<'_>, gained: isize, options: &DigestOptions) {
        let settled = page.settled();
        let mut from = page.start(self.ended_at - (gained - self.gained) - LOOK_BACK, settled);
        let mut to = from;
        while from < settled {
            // Most bytes are of no concern to this pass.
            let next = next_of_interest(&page.bytes[from..settled], options.no_digits);
            if to != from {
                page.bytes.copy_within(from..from + next, to);
            }
            (from, to) = (from + next, to + next);
            if from == settled {
                break;
            }
            let byte = page.bytes[from];
            let keeps = match byte {
                b' ' => Around::of(page, from).keeps_blank(options.keep_comment),
                b'+' | b'-' => Around::of(page, from).keeps_sign(),
                b'0'..=b'9' if options.no_digits => {
                    if to > 0 && page.bytes[to - 1] != b'?' {
                        page.bytes[to] = b'?';
                        to += 1;
                    }
                    false
                }
                _ => true,
            };
            if keeps {
                page.bytes[to] = byte;
                to += 1;
            }
            from += 1;
        }
        self.gained = (settled as isize - to as isize).max(0);
        self.ended_at = page.end_pass(to) as isize;
    }
}

fn next_of_interest(text: &[u8], digits: bool) -> usize {
    let found = match digits {
        false => memchr::memchr3(b' ', b'+', b'-', text),
        true => text
            .iter()
            .position(|byte| matches!(byte, b' ' | b'+' | b'-' | b'0'..=b'9')),
    };
    found.unwrap_or(text.len())
}

/// The bytes beside one, as they stood before the pass. At the start of the text a digit stands before it, which is no
/// neighbour of interest.
#[derive(Clone, Copy)]
pub(super) struct Around {
    /// Left of `left`.
    pub(super) before: u8,
    pub(super) left: u8,
    pub(super) right: u8,
}

impl Around {
    fn of(page: &Page<'_>, at: usize) -> Self {
        let before = |back| at.checked_sub(back).map_or(b'0', |at| page.bytes[at]);
        Self {
            before: before(2),
            left: before(1),
            right: page.bytes[at + 1],
        }
    }

    /// Whether a blank stays.
    #[inline]
    pub(super) fn keeps_blank(self, keep_comment: bool) -> bool {
        let Self { before, left, right } = self;
        if left == b'(' || right == b')' {
            return false;
        }
        if (is_operator(left) && right == b'?') || left == b',' || right == b',' {
            return keep_comment && before == b'*' && left == b'/';
        }
        !(is_operator(right) && left == b'?')
    }

    /// A sign goes behind a word and a blank (`a - b`), and before a literal or a blank where no operand precedes it.
    pub(super) fn keeps_sign(self) -> bool {
        let operand = if self.left == b' ' { self.before } else { self.left };
        if is_word(operand) {
            return self.left != b' ';
        }
        matches!(operand, b'?' | b')') || !matches!(self.right, b'?' | b' ')
    }
}

#[inline]
pub(super) fn is_operator(byte: u8) -> bool {
    matches!(byte, b'+' | b'-' | b'*' | b'/' | b'%')
}
