//! Walks several automata in step: inclusion, intersection, conjunctions, with shortest readable witnesses.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::{Automaton, Limits, NEVER, Undecided};

/// An automaton, or everything outside it.
#[derive(Clone, Copy, Debug)]
pub struct Literal<'a> {
    /// The automaton.
    pub automaton: &'a Automaton,
    /// False for the texts without a match: `negate_match_pattern`.
    pub positive: bool,
}

impl Literal<'_> {
    /// Length of the shortest text behind `state` that satisfies it; `None` if none does.
    fn left(&self, state: u32) -> Option<u32> {
        let automaton = self.automaton;
        let left = match self.positive {
            true => automaton.to_match[state as usize],
            false => automaton.to_miss[state as usize],
        };
        (left != NEVER).then_some(left)
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

/// A shortest text that satisfies every literal, if there is one; ties go to what reads better. Holds no NUL byte.
///
/// Goes first where the least is left to go: no text is shorter than the longest way that one literal alone still needs.
///
/// # Errors
/// [`Undecided::TooManyTuples`].
pub fn witness(literals: &[Literal<'_>], limits: &Limits) -> Result<Option<Vec<u8>>, Undecided> {
    walk(literals, limits).0
}

/// As [`witness`], with the number of tuples of states that were visited.
pub fn walk(literals: &[Literal<'_>], limits: &Limits) -> (Result<Option<Vec<u8>>, Undecided>, usize) {
    let widths: Vec<u32> = literals
        .iter()
        .map(|literal| usize::BITS - literal.automaton.states().leading_zeros())
        .collect();
    if widths.iter().sum::<u32>() <= u64::BITS {
        let packed = |tuple: &[u32]| {
            let states = tuple.iter().zip(&widths);
            states.fold(0_u64, |key, (&state, width)| key << width | u64::from(state))
        };
        Search::new(literals, packed).run(limits)
    } else {
        Search::new(literals, |tuple: &[u32]| Box::<[u32]>::from(tuple)).run(limits)
    }
}

/// A tuple that was found.
#[derive(Clone, Copy)]
struct Seen {
    /// The tuple before it, and the byte between.
    from: (u32, u8),
    /// Bytes from the start.
    length: u32,
    /// Bytes that are left at least.
    left: u32,
    done: bool,
}

struct Search<'l, 'a, K, P> {
    literals: &'l [Literal<'a>],
    alphabet: Vec<u8>,
    /// By letter of the alphabet, for each literal: the class of the letter.
    columns: Vec<u8>,
    key: P,
    numbers: FxHashMap<K, u32>,
    /// The states of every tuple, one tuple behind the other.
    states: Vec<u32>,
    seen: Vec<Seen>,
    /// Tuples by the length of the shortest text that may lead through them; the last of each is taken first.
    open: Vec<Vec<u32>>,
}

impl<'l, 'a, K: Eq + Hash, P: Fn(&[u32]) -> K> Search<'l, 'a, K, P> {
    fn new(literals: &'l [Literal<'a>], key: P) -> Self {
        let alphabet = alphabet(literals);
        let columns = alphabet.iter().flat_map(|&byte| {
            literals
                .iter()
                .map(move |literal| literal.automaton.classes[usize::from(byte)])
        });
        Self {
            columns: columns.collect(),
            literals,
            alphabet,
            key,
            numbers: FxHashMap::default(),
            states: Vec::new(),
            seen: Vec::new(),
            open: Vec::new(),
        }
    }

    fn run(mut self, limits: &Limits) -> (Result<Option<Vec<u8>>, Undecided>, usize) {
        (self.answer(limits), self.seen.len())
    }

    fn answer(&mut self, limits: &Limits) -> Result<Option<Vec<u8>>, Undecided> {
        let mut tuple = vec![0; self.literals.len()];
        let Some(left) = self.left(&tuple) else {
            return Ok(None);
        };
        self.reach(&tuple, (0, 0), 0, left);
        let mut at_least = 0;
        while at_least < self.open.len() {
            let Some(number) = self.open[at_least].pop() else {
                at_least += 1;
                continue;
            };
            let seen = &mut self.seen[number as usize];
            if std::mem::replace(&mut seen.done, true) {
                continue;
            }
            let (length, left) = (seen.length, seen.left);
            if left == 0 {
                return Ok(Some(self.path(number)));
            }
            // What is put on the pile last is taken first: the most readable.
            for letter in (0..self.alphabet.len()).rev() {
                let Some(left) = self.step(number, letter, &mut tuple) else {
                    continue;
                };
                self.reach(&tuple, (number, self.alphabet[letter]), length + 1, left);
                if self.seen.len() > limits.tuples {
                    return Err(Undecided::TooManyTuples(limits.tuples));
                }
            }
        }
        Ok(None)
    }

    /// Bytes behind a tuple at least; `None` if no text satisfies every literal from there.
    fn left(&self, tuple: &[u32]) -> Option<u32> {
        let mut most = 0;
        for (literal, &state) in self.literals.iter().zip(tuple) {
            most = most.max(literal.left(state)?);
        }
        Some(most)
    }

    /// Writes the tuple behind a letter to `next`, and gives the bytes behind it at least; `None`, and `next` unfinished,
    /// if no text behind it can satisfy every literal.
    fn step(&self, number: u32, letter: usize, next: &mut [u32]) -> Option<u32> {
        let count = self.literals.len();
        let tuple = &self.states[number as usize * count..][..count];
        let classes = &self.columns[letter * count..][..count];
        let mut most = 0;
        for (at, literal) in self.literals.iter().enumerate() {
            let automaton = literal.automaton;
            let state = automaton.next[tuple[at] as usize * automaton.width + usize::from(classes[at])];
            most = most.max(literal.left(state)?);
            next[at] = state;
        }
        Some(most)
    }

    fn reach(&mut self, tuple: &[u32], from: (u32, u8), length: u32, left: u32) {
        let fresh = u32::try_from(self.seen.len()).expect("limits on tuples are below 2^32");
        let number = *self.numbers.entry((self.key)(tuple)).or_insert(fresh);
        if number == fresh {
            self.states.extend_from_slice(tuple);
            self.seen.push(Seen {
                from,
                length,
                left,
                done: false,
            });
        } else {
            let known = &mut self.seen[number as usize];
            // Letters come from the least readable to the most: of two that lead alike the later one is better.
            if known.length == length && known.from.0 == from.0 {
                known.from = from;
            }
            if known.length <= length {
                return;
            }
            (known.from, known.length) = (from, length);
        }
        let at_least = (length + left) as usize;
        if self.open.len() <= at_least {
            self.open.resize_with(at_least + 1, Vec::new);
        }
        self.open[at_least].push(number);
    }

    fn path(&self, mut number: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.seen[number as usize].length > 0 {
            let (before, byte) = self.seen[number as usize].from;
            bytes.push(byte);
            number = before;
        }
        bytes.reverse();
        bytes
    }
}

/// One byte, the most readable, of every class that the automata tell apart together.
fn alphabet(literals: &[Literal<'_>]) -> Vec<u8> {
    // Told apart by one automaton after the other: the class so far and the automaton's own.
    let mut class = [0_u8; 256];
    for literal in literals {
        let mut numbers: FxHashMap<(u8, u8), u8> = FxHashMap::default();
        for (class, &own) in class.iter_mut().zip(literal.automaton.classes.iter()).skip(1) {
            let fresh = u8::try_from(numbers.len()).expect("there are 255 bytes besides NUL");
            *class = *numbers.entry((*class, own)).or_insert(fresh);
        }
    }
    let mut taken = [false; 256];
    crate::literals::readable()
        .chain(1..=255)
        .filter(|&byte| !std::mem::replace(&mut taken[usize::from(class[usize::from(byte)])], true))
        .collect()
}
