//! The texts that contain a match of a pattern, as minimal automata, and questions about them.
//!
//! NUL is no byte of any text: ProxySQL cuts there. A question is answered exactly or given up with a reason.

mod build;
mod partition;
mod product;

use thiserror::Error;

pub use product::{Inclusion, Literal, included, intersects, walk, witness};

/// Where questions are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes for determinizing one pattern.
    pub bytes: usize,
    /// States of one automaton before it is minimized.
    pub states: usize,
    /// Tuples of states visited for one question.
    pub tuples: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 8 << 20,
            states: 20_000,
            tuples: 1_000_000,
        }
    }
}

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Undecided {
    /// No automaton stands for such a pattern.
    #[error("{0} makes this no regular language")]
    Opaque(&'static str),
    /// The automaton of one pattern is too large.
    #[error("the automaton of this pattern needs more than {states} states or {bytes} bytes")]
    TooLarge {
        /// The limit on states.
        states: usize,
        /// The limit on bytes.
        bytes: usize,
    },
    /// The question needs too many combinations of states.
    #[error("the question needs more than {0} combinations of states")]
    TooManyTuples(usize),
}

/// No such state is ahead.
const NEVER: u32 = u32::MAX;

/// The minimal automaton of "contains a match". Equal languages have equal automata.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Automaton {
    /// Class of each byte; that of NUL means nothing.
    classes: Box<[u8; 256]>,
    width: usize,
    /// `next[state * width + class]`; state 0 is the start.
    next: Vec<u32>,
    accepting: Vec<bool>,
    /// Bytes from each state to the nearest accepting one, and to the nearest that is not; [`NEVER`] if there is none.
    to_match: Vec<u32>,
    to_miss: Vec<u32>,
}

impl Automaton {
    /// Number of states.
    pub fn states(&self) -> usize {
        self.accepting.len()
    }

    /// True if `text`, cut at its first NUL byte, contains a match.
    pub fn accepts(&self, text: &[u8]) -> bool {
        let last = text
            .iter()
            .take_while(|&&b| b != 0)
            .fold(0, |state, &byte| self.step(state, byte));
        self.accepting[last as usize]
    }

    /// True if no text contains a match.
    pub fn is_empty(&self) -> bool {
        self.to_match[0] == NEVER
    }

    /// True if every text does.
    pub fn is_everything(&self) -> bool {
        self.to_miss[0] == NEVER
    }

    fn step(&self, state: u32, byte: u8) -> u32 {
        self.next[state as usize * self.width + usize::from(self.classes[usize::from(byte)])]
    }
}
