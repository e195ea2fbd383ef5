//! From patterns to minimal automata.

use std::hash::Hash;

use regex_automata::hybrid::{LazyStateID, dfa};
use regex_automata::nfa::thompson;
use regex_automata::{Input, MatchKind};
use regex_syntax::hir::{Capture, Hir, HirKind, Repetition};
use rustc_hash::FxHashMap;

use super::{Automaton, Limits, NEVER, Undecided, partition};
use crate::pattern::Pattern;

/// Before minimization: absorbing states first, then those of the determinized pattern.
const ACCEPT: u32 = 0;
const DEAD: u32 = 1;

impl Automaton {
    /// The texts that contain a match of `pattern`.
    ///
    /// # Errors
    /// If the pattern is opaque or its automaton exceeds `limits`.
    pub fn of(pattern: &Pattern, limits: &Limits) -> Result<Self, Undecided> {
        Self::of_any(&[pattern], limits)
    }

    /// A language that holds every text with a match of `pattern`, and more where the pattern counts: `x{2,16}` is taken for
    /// `x+`. Counters make automata large, and what they count seldom matters.
    ///
    /// # Errors
    /// If the pattern is opaque or even this automaton exceeds `limits`.
    pub fn around(pattern: &Pattern, limits: &Limits) -> Result<Self, Undecided> {
        if let Some(reason) = pattern.opaque() {
            return Err(Undecided::Opaque(reason));
        }
        let widened: Vec<Hir> = pattern.hir().map(uncounted).into_iter().collect();
        Self::of_hirs(&widened.iter().collect::<Vec<_>>(), limits)
    }

    /// The texts that a machine accepts. It reads byte by byte from `start`; equal states have read texts that need not
    /// be told apart.
    ///
    /// # Errors
    /// If the machine has more states than `limits`.
    pub fn of_machine<S: Clone + Eq + Hash>(
        start: S,
        step: impl Fn(&S, u8) -> S,
        accepts: impl Fn(&S) -> bool,
        limits: &Limits,
    ) -> Result<Self, Undecided> {
        let mut numbers: FxHashMap<S, u32> = FxHashMap::from_iter([(start.clone(), 0)]);
        let mut states = vec![start];
        let mut next = Vec::new();
        let mut done = 0;
        while done < states.len() {
            for byte in 1..=255 {
                let target = step(&states[done], byte);
                let fresh = u32::try_from(states.len()).expect("limits on states are below 2^32");
                let number = *numbers.entry(target).or_insert_with_key(|target| {
                    states.push(target.clone());
                    fresh
                });
                next.push(number);
            }
            if states.len() > limits.states {
                return Err(Undecided::TooLarge {
                    states: limits.states,
                    bytes: limits.bytes,
                });
            }
            done += 1;
        }
        let mut classes = [0; 256];
        for byte in 1..=255_u8 {
            classes[usize::from(byte)] = byte - 1;
        }
        let raw = Raw {
            bytes: (1..=255).collect(),
            classes,
            start: 0,
            next,
            accepting: states.iter().map(accepts).collect(),
        };
        Ok(raw.minimized())
    }

    /// The texts that contain a match of at least one of `patterns`: far smaller than asking about each.
    ///
    /// # Errors
    /// If a pattern is opaque or the automaton exceeds `limits`.
    pub fn of_any(patterns: &[&Pattern], limits: &Limits) -> Result<Self, Undecided> {
        if let Some(reason) = patterns.iter().find_map(|pattern| pattern.opaque()) {
            return Err(Undecided::Opaque(reason));
        }
        let parsed: Vec<&Hir> = patterns.iter().filter_map(|pattern| pattern.hir()).collect();
        Self::of_hirs(&parsed, limits)
    }

    fn of_hirs(parsed: &[&Hir], limits: &Limits) -> Result<Self, Undecided> {
        let too_large = || Undecided::TooLarge {
            states: limits.states,
            bytes: limits.bytes,
        };
        let nfa = thompson::Compiler::new()
            .configure(
                thompson::Config::new()
                    .utf8(false)
                    .which_captures(thompson::WhichCaptures::None)
                    .nfa_size_limit(Some(limits.bytes)),
            )
            .build_many_from_hir(parsed)
            .map_err(|_| too_large())?;
        // Lazily: what stands behind a match is never built, and too large an automaton is given up at the limit.
        let config = dfa::Config::new()
            .match_kind(MatchKind::LeftmostFirst)
            .cache_capacity(limits.bytes)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(0));
        let dfa = dfa::DFA::builder()
            .configure(config)
            .build_from_nfa(nfa)
            .map_err(|_| too_large())?;
        let raw = Raw::explore(&dfa, limits.states).ok_or_else(too_large)?;
        Ok(raw.minimized())
    }
}

/// The expression with `*` and `+` in the place of counted repetitions.
fn uncounted(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let counts = repetition.min > 1 || repetition.max.is_some_and(|max| max > 1);
            Hir::repetition(Repetition {
                min: repetition.min.min(1),
                max: repetition.max.filter(|_| !counts),
                greedy: repetition.greedy,
                sub: Box::new(uncounted(&repetition.sub)),
            })
        }
        HirKind::Capture(capture) => Hir::capture(Capture {
            sub: Box::new(uncounted(&capture.sub)),
            ..capture.clone()
        }),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(uncounted).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(uncounted).collect()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
    }
}

/// A complete automaton over representative bytes.
struct Raw {
    /// One byte of each class, without NUL.
    bytes: Vec<u8>,
    classes: [u8; 256],
    start: u32,
    next: Vec<u32>,
    accepting: Vec<bool>,
}

impl Raw {
    /// Walks `dfa` from its start. Matches are reported one byte late, so a state also accepts if the end of the text
    /// makes it match; a reported match is never left again. `None` beyond `limit` states.
    fn explore(dfa: &dfa::DFA, limit: usize) -> Option<Self> {
        let bytes: Vec<u8> = dfa
            .byte_classes()
            .representatives(1..=255)
            .filter_map(|unit| unit.as_u8())
            .collect();
        let mut classes = [0; 256];
        for byte in 1..=255_u8 {
            let class = dfa.byte_classes().get(byte);
            let position = bytes.iter().position(|&b| dfa.byte_classes().get(b) == class)?;
            classes[usize::from(byte)] = u8::try_from(position).ok()?;
        }
        let mut numbering = Numbering {
            cache: dfa.create_cache(),
            dfa,
            numbers: FxHashMap::default(),
            queue: Vec::new(),
        };
        let start = dfa
            .start_state_forward(&mut numbering.cache, &Input::new(b""))
            .ok()?;
        let start = numbering.number(start);
        let mut raw = Raw {
            next: [vec![ACCEPT; bytes.len()], vec![DEAD; bytes.len()]].concat(),
            accepting: vec![true, false],
            bytes,
            classes,
            start,
        };
        let mut done = 0;
        while let Some(&state) = numbering.queue.get(done) {
            done += 1;
            if numbering.queue.len() > limit {
                return None;
            }
            raw.accepting
                .push(dfa.next_eoi_state(&mut numbering.cache, state).ok()?.is_match());
            for &byte in &raw.bytes {
                raw.next.push(numbering.step(state, byte)?);
            }
        }
        Some(raw)
    }

    /// The states that texts tell apart, numbered breadth first from the start.
    fn minimized(&self) -> Automaton {
        let (blocks, block) = partition::coarsest(&self.next, self.bytes.len(), &self.accepting);
        let mut member = vec![0; blocks];
        for (state, &of) in block.iter().enumerate() {
            member[of as usize] = state;
        }
        self.numbered(&block, &member)
    }

    fn numbered(&self, block: &[u32], member: &[usize]) -> Automaton {
        let width = self.bytes.len();
        // Columns that agree in every block are one class; classes are numbered by their lowest byte.
        let column = |class: usize| -> Vec<u32> {
            member
                .iter()
                .map(|&state| block[self.next[state * width + class] as usize])
                .collect()
        };
        let mut merged: FxHashMap<Vec<u32>, u8> = FxHashMap::default();
        let mut kept = Vec::new();
        let mut class_of = vec![0; width];
        let mut classes = Box::new([0; 256]);
        let mut known = vec![false; width];
        for byte in 1..256 {
            let old = usize::from(self.classes[byte]);
            if !std::mem::replace(&mut known[old], true) {
                let fresh = u8::try_from(merged.len()).expect("there are fewer classes than bytes");
                class_of[old] = *merged.entry(column(old)).or_insert_with(|| {
                    kept.push(old);
                    fresh
                });
            }
            classes[byte] = class_of[old];
        }
        let mut order = vec![block[self.start as usize]];
        let mut numbers: FxHashMap<u32, u32> = FxHashMap::from_iter([(order[0], 0)]);
        let (mut next, mut accepting) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(&of) = order.get(at) {
            at += 1;
            let state = member[of as usize];
            accepting.push(self.accepting[state]);
            for &class in &kept {
                let target = block[self.next[state * width + class] as usize];
                let fresh = u32::try_from(order.len()).expect("states are numbered by u32");
                next.push(*numbers.entry(target).or_insert_with(|| {
                    order.push(target);
                    fresh
                }));
            }
        }
        let width = kept.len();
        Automaton {
            to_match: distances(&next, width, &accepting, true),
            to_miss: distances(&next, width, &accepting, false),
            classes,
            width,
            next,
            accepting,
        }
    }
}

/// Bytes from each state to the nearest of the wanted kind.
fn distances(next: &[u32], width: usize, accepting: &[bool], wanted: bool) -> Vec<u32> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); accepting.len()];
    for (state, row) in (0..).zip(next.chunks(width)) {
        for &target in row {
            let states = &mut before[target as usize];
            if states.last() != Some(&state) {
                states.push(state);
            }
        }
    }
    let mut distances: Vec<u32> = accepting
        .iter()
        .map(|&accepts| if accepts == wanted { 0 } else { NEVER })
        .collect();
    let mut queue: Vec<u32> = (0..)
        .zip(accepting)
        .filter(|&(_, &accepts)| accepts == wanted)
        .map(|(state, _)| state)
        .collect();
    let mut at = 0;
    while let Some(&state) = queue.get(at) {
        at += 1;
        for &earlier in &before[state as usize] {
            if distances[earlier as usize] == NEVER {
                distances[earlier as usize] = distances[state as usize] + 1;
                queue.push(earlier);
            }
        }
    }
    distances
}

struct Numbering<'d> {
    dfa: &'d dfa::DFA,
    cache: dfa::Cache,
    numbers: FxHashMap<LazyStateID, u32>,
    queue: Vec<LazyStateID>,
}

impl Numbering<'_> {
    /// The number of the state behind `byte`; `None` beyond the limit on bytes.
    fn step(&mut self, state: LazyStateID, byte: u8) -> Option<u32> {
        let next = self.dfa.next_state(&mut self.cache, state, byte).ok()?;
        Some(self.number(next))
    }

    fn number(&mut self, state: LazyStateID) -> u32 {
        if state.is_match() {
            return ACCEPT;
        }
        if state.is_dead() {
            return DEAD;
        }
        let fresh = u32::try_from(self.queue.len() + 2).expect("states are numbered by u32");
        *self.numbers.entry(state).or_insert_with(|| {
            self.queue.push(state);
            fresh
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Flags};

    fn pattern(text: &str) -> Pattern {
        let flags = Flags {
            caseless: false,
            global: false,
        };
        Pattern::compile(text, flags, Dialect::Pcre).unwrap()
    }

    #[test]
    fn what_is_around_a_pattern_holds_its_texts() {
        for (text, inside, beyond, outside) in [
            (r"\Aa{2,3}b\z", "aab", Some("aaaab"), "b"),
            (r"\A(?:ab?){0,16}c\z", "abac", None, "abad"),
            (r"\Aa?b\z", "ab", None, "aab"),
        ] {
            let (exact, around) = (
                Automaton::of(&pattern(text), &Limits::default()).unwrap(),
                Automaton::around(&pattern(text), &Limits::default()).unwrap(),
            );
            assert!(exact.accepts(inside.as_bytes()) && around.accepts(inside.as_bytes()));
            assert!(!around.accepts(outside.as_bytes()), "{text}");
            if let Some(beyond) = beyond {
                assert!(
                    !exact.accepts(beyond.as_bytes()) && around.accepts(beyond.as_bytes()),
                    "{text}"
                );
            }
            let held = crate::included(&exact, &around, &Limits::default()).unwrap();
            assert_eq!(held, crate::Inclusion::Holds, "{text}");
        }
    }

    #[test]
    fn a_machine_is_the_automaton_of_its_pattern() {
        // Behind an odd number of `a`.
        let machine = Automaton::of_machine(
            false,
            |odd, byte| if byte == b'a' { !odd } else { *odd },
            |odd| *odd,
            &Limits::default(),
        );
        let expected = Automaton::of(&pattern(r"\A[^a]*a(?:[^a]|a[^a]*a)*\z"), &Limits::default());
        assert_eq!(machine.unwrap(), expected.unwrap());
        let limits = Limits {
            states: 100,
            ..Limits::default()
        };
        let counter = Automaton::of_machine(0_u32, |n, _| n + 1, |_| true, &limits);
        assert!(counter.is_err());
    }
}
