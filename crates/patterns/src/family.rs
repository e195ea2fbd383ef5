//! Patterns with a common beginning, matched as one.
//!
//! # Idea
//!
//! Compiled rules find a key with hundreds of patterns that begin alike: `\btenant=` and then the keys of one rule. A
//! family is such patterns. Each is taken apart into the *head*, which all of them share, and its own *tail*. One
//! automaton reads the text once and gives the positions at which a match of the head ends. A second one reads the text
//! from each of these positions, for all tails at once, and gives the members whose tail matches there. So the answer for
//! ten thousand patterns costs what the answer for one does.
//!
//! # Invariant
//!
//! A text contains a match of `head tail` exactly if a match of the head ends at a position at which a match of the
//! tail begins. Therefore it does not matter where a pattern is cut, and [`Family::matching`] gives exactly the members
//! that [`Pattern::finds`] finds. Assertions at the cut see the whole text. The head has a fixed length, and the automaton
//! gives every end of it, overlapping matches too.
//!
//! What cannot be told is no answer: more than [`MOST_ENDS`] ends, an automaton that grows beyond its memory. The caller
//! then asks each pattern. A pattern that is opaque, has Unicode word boundaries, or repeats a large class without bound
//! (`.*`, whose automaton grows with every member) is in no family.
//!
//! # Example
//!
//! `\btenant=1[,;]`, `\btenant=[12][,;]` and `\btenant=13[,;]` have the head `\btenant=`. In `a tenant=1; tenant=13;` it
//! ends at 9 and at 19. From 9 the tails read `1;`, which the first two take. From 19 they read `13;`, which the third
//! takes. The answer is all three.
//!
//! # Bounds
//!
//! A family has at most [`MOST_MEMBERS`] members. Its automata are made when it is first asked. The states of the tails
//! are made when a text reaches them. For each thread that asks they take at most [`tails::FAMILY_BYTES`], and
//! [`tails::MEMBER_BYTES`] for each member.

mod heads;
mod tails;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use regex_automata::dfa::{Automaton, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;

use crate::Pattern;
use tails::Tails;

/// Members of a family: as many as a few tens of megabytes hold.
const MOST_MEMBERS: usize = 16_384;
/// Ends of the head in one text.
const MOST_ENDS: usize = 8;
/// Bytes of the automaton of a head.
const HEAD_BYTES: usize = 1 << 20;

/// Patterns that begin alike.
#[derive(Debug)]
pub struct Family {
    /// The numbers of the members, ascending.
    members: Vec<u32>,
    /// How many parts of each member are the head.
    head_parts: usize,
    past_nul: bool,
    automata: OnceLock<Option<Automata>>,
    /// The automata did not answer within their memory.
    gave_up: AtomicBool,
}

#[derive(Debug)]
struct Automata {
    head: dense::DFA<Vec<u32>>,
    tails: Tails,
}

impl Family {
    /// Sorts patterns into families; `patterns` has each with its number, ascending. Few patterns are in none.
    pub fn among<'p>(patterns: impl IntoIterator<Item = (u32, &'p Pattern)>) -> Vec<Self> {
        let mut families = Vec::new();
        for group in heads::groups(patterns) {
            for members in group.members.chunks(MOST_MEMBERS) {
                families.push(Self {
                    members: members.to_vec(),
                    head_parts: group.head_parts,
                    past_nul: group.past_nul,
                    automata: OnceLock::new(),
                    gave_up: AtomicBool::new(false),
                });
            }
        }
        families
    }

    /// The numbers of its patterns, ascending.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Gives the numbers of the members that `text` contains a match of to `take`, in no order, some more than once;
    /// false if that cannot be told, and then what was given does not count. `pattern` gives the member of a number.
    pub fn matching<'p>(
        &self,
        text: &[u8],
        pattern: impl Fn(u32) -> Option<&'p Pattern>,
        mut take: impl FnMut(u32),
    ) -> bool {
        if self.gave_up.load(Ordering::Relaxed) {
            return false;
        }
        let built = self.automata.get_or_init(|| self.build(pattern));
        let Some(automata) = built else { return false };
        let text = crate::pattern::subject(text, self.past_nul);
        let mut ends = [0; MOST_ENDS];
        let Some(count) = automata.ends(text, &mut ends) else {
            return false;
        };
        let mut take = |member: usize| take(self.members[member]);
        let told = ends[..count]
            .iter()
            .all(|&end| automata.tails.matching(text, end, &mut take).is_some());
        if !told {
            self.gave_up.store(true, Ordering::Relaxed);
        }
        told
    }

    fn build<'p>(&self, pattern: impl Fn(u32) -> Option<&'p Pattern>) -> Option<Automata> {
        let mut head = None;
        let mut tails = Vec::with_capacity(self.members.len());
        for &number in &self.members {
            let mut parts = heads::parts(pattern(number)?.hir()?);
            if self.head_parts > parts.len() {
                return None;
            }
            tails.push(Hir::concat(parts.split_off(self.head_parts)));
            head.get_or_insert(parts);
        }
        let head = Hir::concat(head?);
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(regex_automata::dfa::StartKind::Unanchored)
            .dfa_size_limit(Some(HEAD_BYTES))
            .determinize_size_limit(Some(HEAD_BYTES));
        let nfa = thompson::Compiler::new()
            .configure(nfa_config())
            .build_from_hir(&head)
            .ok()?;
        let head = dense::Builder::new()
            .configure(config)
            .build_from_nfa(&nfa)
            .ok()?;
        let tails = Tails::of(&tails)?;
        Some(Automata { head, tails })
    }
}

impl Automata {
    /// Where matches of the head end; `None` if there are too many.
    fn ends(&self, text: &[u8], ends: &mut [usize; MOST_ENDS]) -> Option<usize> {
        let head = &self.head;
        let start = start::Config::new().anchored(Anchored::No);
        let mut state = head.start_state(&start).ok()?;
        let mut count = 0;
        let mut add = |end: usize| {
            *ends.get_mut(count)? = end;
            count += 1;
            Some(())
        };
        // A match is seen one byte behind its end.
        for (at, &byte) in text.iter().enumerate() {
            state = head.next_state(state, byte);
            if head.is_special_state(state) {
                if head.is_match_state(state) {
                    add(at)?;
                } else if head.is_dead_state(state) {
                    return Some(count);
                } else if head.is_quit_state(state) {
                    return None;
                }
            }
        }
        if head.is_match_state(head.next_eoi_state(state)) {
            add(text.len())?;
        }
        Some(count)
    }
}

/// How the expressions of heads and tails are read: as [`Pattern`] reads the whole.
fn nfa_config() -> thompson::Config {
    thompson::Config::new()
        .utf8(false)
        .which_captures(thompson::WhichCaptures::None)
        .nfa_size_limit(Some(tails::NFA_BYTES))
}
