//! Patterns that are matched as one.
//!
//! # Idea
//!
//! Compiled rules find a key with hundreds of patterns that begin alike: `\btenant=` and then the keys of one rule. A
//! family is such patterns. Each is taken apart into the *head*, which all of them share, and its own *tail*. The head has
//! a fixed length: its rarest byte is searched for, and the positions at which a match of the head ends are known. One
//! automaton reads the text from each of these positions, for all tails at once, and gives the members whose tail matches there. So the answer for
//! ten thousand patterns costs what the answer for one does.
//!
//! Beside the keys stand guards: patterns that have nothing in common, but every statement passes all of them. They are
//! families without a head. One automaton reads the text once for all of them.
//!
//! # Invariant
//!
//! A text contains a match of `head tail` exactly if a match of the head ends at a position at which a match of the
//! tail begins. Therefore it does not matter where a pattern is cut, and [`Family::matching`] gives exactly the members
//! that [`Pattern::finds`] finds. Assertions at the cut see the whole text. Every end of the head is given, of overlapping
//! matches too; only the first one to patterns with `(*COMMIT)` behind the head. The automaton of a family without a head begins a match of every
//! member at every byte, and tells each member that matches, not only the first.
//!
//! What cannot be told is no answer: more than [`MOST_ENDS`] ends, an automaton that grows beyond its memory. The caller
//! then asks each pattern. A pattern that is opaque or has Unicode word boundaries is in no family. One that repeats a
//! large class without bound (`.*`, whose automaton grows with every member) is in no family with a head.
//!
//! # Example
//!
//! `\btenant=1[,;]`, `\btenant=[12][,;]` and `\btenant=13[,;]` have the head `\btenant=`. In `a tenant=1; tenant=13;` it
//! ends at 9 and at 19. From 9 the tails read `1;`, which the first two take. From 19 they read `13;`, which the third
//! takes. The answer is all three.
//!
//! # Bounds
//!
//! A family with a head has at most [`MOST_MEMBERS`] different members. Its automaton is made when it is first asked. The states of
//! the tails are made when a text reaches them. For each thread that asks they take at most [`FAMILY_BYTES`], and
//! [`MEMBER_BYTES`] for each member. There are at most [`rest::MOST_FAMILIES`] families without a head, of at most
//! [`rest::MOST_MEMBERS`] members, and the states of each take at most [`REST_BYTES`] for each thread, and
//! [`scan::TABLE_BYTES`] once more.

mod head;
mod heads;
mod rest;
mod scan;
mod tails;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use regex_automata::nfa::thompson;
use regex_syntax::hir::Hir;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::Pattern;
use head::{Head, MOST_ENDS};
use tails::Tails;

/// Different members of a family: as many as a few tens of megabytes hold.
const MOST_MEMBERS: usize = 16_384;
/// Bytes of the states of tails, for each thread that asks: of a family, and of each of its members.
const FAMILY_BYTES: usize = 1 << 20;
const MEMBER_BYTES: usize = 4 << 10;
/// Bytes of the states of a family without a head, for each thread that asks.
const REST_BYTES: usize = 4 << 20;

/// Patterns that begin alike, or that are asked together.
#[derive(Debug)]
pub struct Family {
    /// The numbers of the members, ascending.
    members: Vec<u32>,
    /// How many parts of each member are the head; 0 if there is none.
    head_parts: usize,
    past_nul: bool,
    /// Only the first end of the head counts.
    first_decides: bool,
    automata: OnceLock<Option<Automata>>,
    /// The automata did not answer within their memory.
    gave_up: AtomicBool,
}

#[derive(Debug)]
struct Automata {
    head: Option<Head>,
    tails: Tails,
    /// The members that have each tail. Rules for readers have the patterns of those for writers: one tail stands for all.
    of_tail: Vec<SmallVec<[u32; 4]>>,
}

impl Family {
    /// Sorts patterns into families; `patterns` has each with its number, ascending. Some patterns are in none.
    pub fn among<'p>(patterns: impl IntoIterator<Item = (u32, &'p Pattern)>) -> Vec<Self> {
        let patterns: Vec<(u32, &Pattern)> = patterns.into_iter().collect();
        let family = |members: &[u32], past_nul: bool| Self {
            members: members.to_vec(),
            head_parts: 0,
            past_nul,
            first_decides: false,
            automata: OnceLock::new(),
            gave_up: AtomicBool::new(false),
        };
        let mut families = Vec::new();
        let mut taken = FxHashSet::default();
        for group in heads::groups(patterns.iter().copied()) {
            taken.extend(group.members.iter().copied());
            let chunks = chunks(&group.members, &patterns);
            families.extend(chunks.map(|members| Self {
                head_parts: group.head_parts,
                first_decides: group.first_decides,
                ..family(members, group.past_nul)
            }));
        }
        let left = patterns.into_iter().filter(|(number, _)| !taken.contains(number));
        for group in rest::groups(left) {
            families.push(family(&group.members, group.past_nul));
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
        let mut take = |tail: usize| automata.of_tail[tail].iter().for_each(|&member| take(member));
        let told = match &automata.head {
            Some(head) => {
                let mut ends = [0; MOST_ENDS];
                let most = if self.first_decides { 1 } else { MOST_ENDS };
                let count = match head.ends(text, &mut ends[..most]) {
                    Some(count) => count,
                    None if self.first_decides => 1,
                    None => return false,
                };
                let mut from = ends[..count].iter();
                from.all(|&end| automata.tails.matching(text, end, &mut take).is_some())
            }
            None => match automata.tails.anywhere(text) {
                Some(mut found) => {
                    while found != 0 {
                        take(found.trailing_zeros() as usize);
                        found &= found - 1;
                    }
                    true
                }
                None => false,
            },
        };
        if !told {
            self.gave_up.store(true, Ordering::Relaxed);
        }
        told
    }

    fn build<'p>(&self, pattern: impl Fn(u32) -> Option<&'p Pattern>) -> Option<Automata> {
        let mut head = None;
        let (mut tails, mut of_tail) = (Vec::new(), Vec::<SmallVec<[u32; 4]>>::new());
        let mut known = FxHashMap::default();
        for &number in &self.members {
            let pattern = pattern(number)?;
            if let Some(&tail) = known.get(&pattern.regular_text()?) {
                let members: &mut SmallVec<_> = &mut of_tail[tail];
                members.push(number);
                continue;
            }
            let hir = match self.head_parts {
                0 => pattern.hir()?,
                _ => heads::searched(pattern)?,
            };
            let mut parts = heads::parts(hir);
            if self.head_parts > parts.len() {
                return None;
            }
            known.insert(pattern.regular_text()?, tails.len());
            tails.push(Hir::concat(parts.split_off(self.head_parts)));
            of_tail.push(SmallVec::from_elem(number, 1));
            head.get_or_insert(parts);
        }
        let bytes = match self.head_parts {
            0 => REST_BYTES,
            _ => FAMILY_BYTES + tails.len() * MEMBER_BYTES,
        };
        let head = match self.head_parts {
            0 => None,
            _ => Some(Head::of(&head?)?),
        };
        let tails = Tails::of(&tails, bytes)?;
        Some(Automata { head, tails, of_tail })
    }
}

/// Members in a row, as many as make a family. `patterns` has each with its number, ascending.
fn chunks<'m>(members: &'m [u32], patterns: &[(u32, &Pattern)]) -> impl Iterator<Item = &'m [u32]> {
    let text_of = |number: u32| {
        let at = patterns.binary_search_by_key(&number, |&(number, _)| number);
        at.ok().and_then(|at| patterns[at].1.regular_text())
    };
    let mut different = FxHashSet::default();
    members.chunk_by(move |_, &next| {
        if different.len() == MOST_MEMBERS {
            different.clear();
        }
        different.insert(text_of(next));
        different.len() < MOST_MEMBERS
    })
}

/// How the expressions of tails are read: as [`Pattern`] reads the whole.
fn nfa_config() -> thompson::Config {
    thompson::Config::new()
        .utf8(false)
        .which_captures(thompson::WhichCaptures::None)
        .nfa_size_limit(Some(tails::NFA_BYTES))
}
