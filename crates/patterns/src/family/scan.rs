//! Which expressions of a lazy automaton match anywhere in a text: its transitions as a table, so that a byte costs one
//! look-up.
//!
//! A row stands for a state that a text has reached, and holds where each byte leads. What is not in the table yet the
//! automaton tells. Where the automaton forgets its states, or the table is full, the table begins anew.

use regex_automata::Anchored;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::start;
use rustc_hash::FxHashMap;

/// Bytes of the rows of one table.
pub(super) const TABLE_BYTES: usize = 1 << 20;

/// An entry of a row that is not known yet.
const UNKNOWN: u32 = u32::MAX;
/// Set in an entry that leads to a row where expressions match.
const MATCHES: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct Table {
    /// By row and class of bytes: where the next row begins, with [`MATCHES`].
    next: Vec<u32>,
    rows: Vec<Row>,
    /// The beginnings of rows.
    known: FxHashMap<LazyStateID, u32>,
    /// Entries of a row, as a power of two.
    stride2: usize,
    /// How often the automaton has forgotten its states.
    clearings: usize,
}

struct Row {
    state: LazyStateID,
    /// A bit for each expression that has matched once this state is reached.
    matches: u64,
}

impl Table {
    /// A bit for each expression that matches; `None` if the automaton gives up.
    pub(super) fn scan(&mut self, automaton: &DFA, cache: &mut Cache, text: &[u8]) -> Option<u64> {
        self.stride2 = automaton.byte_classes().stride2();
        let start = start::Config::new().anchored(Anchored::No);
        let start = automaton.start_state(cache, &start).ok()?;
        self.follow_clearings(cache);
        let mut row = self.entry(automaton, cache, start)? & !MATCHES;
        let mut found = 0;
        let mut rest = text;
        while let Some((entry, behind)) = self.run(automaton, &mut row, rest) {
            let next = match entry {
                UNKNOWN => {
                    let byte = rest[rest.len() - behind.len() - 1];
                    self.learn(automaton, cache, row, byte)?
                }
                known => known,
            };
            row = next & !MATCHES;
            if next & MATCHES != 0 {
                found |= self.row(row).matches;
            }
            rest = behind;
        }
        let end = automaton.next_eoi_state(cache, self.row(row).state).ok()?;
        Some(found | matches_of(automaton, cache, end))
    }

    /// Goes from row to row, to the first entry that is more than a row, and what stands behind its byte.
    fn run<'t>(&self, automaton: &DFA, row: &mut u32, text: &'t [u8]) -> Option<(u32, &'t [u8])> {
        let (next, classes) = (&*self.next, automaton.byte_classes());
        let mut at = *row;
        for (read, &byte) in text.iter().enumerate() {
            let entry = next[at as usize + usize::from(classes.get(byte))];
            if entry >= MATCHES {
                *row = at;
                return Some((entry, &text[read + 1..]));
            }
            at = entry;
        }
        *row = at;
        None
    }

    fn row(&self, begin: u32) -> &Row {
        &self.rows[begin as usize >> self.stride2]
    }

    /// Asks the automaton where `byte` leads from a row.
    fn learn(&mut self, automaton: &DFA, cache: &mut Cache, row: u32, byte: u8) -> Option<u32> {
        let state = automaton.next_state(cache, self.row(row).state, byte).ok()?;
        let is_row_left = !self.follow_clearings(cache);
        let entry = self.entry(automaton, cache, state)?;
        if is_row_left {
            let class = usize::from(automaton.byte_classes().get(byte));
            self.next[row as usize + class] = entry;
        }
        Some(entry)
    }

    /// Begins anew if states were forgotten or there is no room for another row; true then.
    fn follow_clearings(&mut self, cache: &Cache) -> bool {
        let is_full = (self.next.len() + (1 << self.stride2)) * size_of::<u32>() > TABLE_BYTES;
        if self.clearings == cache.clear_count() && !is_full {
            return false;
        }
        self.clearings = cache.clear_count();
        self.next.clear();
        self.rows.clear();
        self.known.clear();
        true
    }

    /// The entry that leads to a state.
    fn entry(&mut self, automaton: &DFA, cache: &Cache, state: LazyStateID) -> Option<u32> {
        if state.is_quit() {
            return None;
        }
        let begin = match self.known.get(&state) {
            Some(&begin) => begin,
            None => {
                let begin = u32::try_from(self.next.len()).ok()?;
                self.next.resize(self.next.len() + (1 << self.stride2), UNKNOWN);
                self.rows.push(Row {
                    state,
                    matches: matches_of(automaton, cache, state),
                });
                self.known.insert(state, begin);
                begin
            }
        };
        let is_match = self.row(begin).matches != 0;
        Some(if is_match { begin | MATCHES } else { begin })
    }
}

fn matches_of(automaton: &DFA, cache: &Cache, state: LazyStateID) -> u64 {
    if !state.is_match() {
        return 0;
    }
    let expressions = 0..automaton.match_len(cache, state);
    expressions.fold(0, |found, n| {
        found | 1_u64 << automaton.match_pattern(cache, state, n).as_usize()
    })
}
