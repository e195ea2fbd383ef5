//! Walks several automata in step: inclusion, intersection, conjunctions, with shortest readable witnesses.

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::{Automaton, Limits, Undecided};

/// An automaton, or everything outside it.
#[derive(Clone, Copy, Debug)]
pub struct Literal<'a> {
    /// The automaton.
    pub automaton: &'a Automaton,
    /// False for the texts without a match: `negate_match_pattern`.
    pub positive: bool,
}

impl Literal<'_> {
    /// True if no text behind `state` can satisfy it.
    fn is_hopeless(&self, state: u32) -> bool {
        match self.positive {
            true => self.automaton.is_dead(state),
            false => self.automaton.is_full(state),
        }
    }
}

/// Whether one language lies within another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// It does.
    Holds,
    /// This text is in the first and not in the second; none is shorter.
    Refuted {
        /// The text.
        witness: Vec<u8>,
    },
}

/// Asks whether every text that `inner` accepts is accepted by `outer`.
///
/// # Errors
/// [`Undecided::TooManyTuples`].
pub fn included(inner: &Automaton, outer: &Automaton, limits: &Limits) -> Result<Inclusion, Undecided> {
    let literals = [
        Literal {
            automaton: inner,
            positive: true,
        },
        Literal {
            automaton: outer,
            positive: false,
        },
    ];
    Ok(witness(&literals, limits)?.map_or(Inclusion::Holds, |witness| Inclusion::Refuted { witness }))
}

/// A shortest text that both accept, if there is one.
///
/// # Errors
/// [`Undecided::TooManyTuples`].
pub fn intersects(a: &Automaton, b: &Automaton, limits: &Limits) -> Result<Option<Vec<u8>>, Undecided> {
    witness(
        &[a, b].map(|automaton| Literal {
            automaton,
            positive: true,
        }),
        limits,
    )
}

/// A shortest text that satisfies every literal, if there is one; among the shortest, the most readable. Holds no
/// NUL byte.
///
/// # Errors
/// [`Undecided::TooManyTuples`].
pub fn witness(literals: &[Literal<'_>], limits: &Limits) -> Result<Option<Vec<u8>>, Undecided> {
    let alphabet = alphabet(literals);
    let start: Box<[u32]> = vec![0; literals.len()].into();
    if literals.iter().any(|literal| literal.is_hopeless(0)) {
        return Ok(None);
    }
    let mut tuples = vec![start.clone()];
    let mut came_from: Vec<(usize, u8)> = vec![(0, 0)];
    let mut seen: FxHashSet<Box<[u32]>> = FxHashSet::from_iter([start.clone()]);
    let mut queue = VecDeque::from([0]);
    let mut next = start.clone();
    while let Some(at) = queue.pop_front() {
        if satisfies(literals, &tuples[at]) {
            return Ok(Some(path(&came_from, at)));
        }
        for &byte in &alphabet {
            if !steps(literals, &tuples[at], byte, &mut next) || seen.contains(&next) {
                continue;
            }
            if tuples.len() >= limits.tuples {
                return Err(Undecided::TooManyTuples(limits.tuples));
            }
            tuples.push(next.clone());
            came_from.push((at, byte));
            queue.push_back(tuples.len() - 1);
            seen.insert(next.clone());
        }
    }
    Ok(None)
}

/// Writes the tuple behind `byte` to `next`; false, and `next` unfinished, if no text behind it can satisfy every literal.
fn steps(literals: &[Literal<'_>], tuple: &[u32], byte: u8, next: &mut [u32]) -> bool {
    literals
        .iter()
        .zip(tuple)
        .zip(next)
        .all(|((literal, &state), next)| {
            *next = literal.automaton.step(state, byte);
            !literal.is_hopeless(*next)
        })
}

fn satisfies(literals: &[Literal<'_>], tuple: &[u32]) -> bool {
    let mut pairs = literals.iter().zip(tuple);
    pairs.all(|(literal, &state)| literal.automaton.accepting[state as usize] == literal.positive)
}

fn path(came_from: &[(usize, u8)], mut at: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while at != 0 {
        let (previous, byte) = came_from[at];
        bytes.push(byte);
        at = previous;
    }
    bytes.reverse();
    bytes
}

/// One byte, the most readable, of every class that the automata tell apart together.
fn alphabet(literals: &[Literal<'_>]) -> Vec<u8> {
    let mut seen = FxHashSet::default();
    crate::literals::readable()
        .chain(1..=255)
        .filter(|&byte| {
            let class: Vec<u8> = literals
                .iter()
                .map(|l| l.automaton.classes[usize::from(byte)])
                .collect();
            seen.insert(class)
        })
        .collect()
}
