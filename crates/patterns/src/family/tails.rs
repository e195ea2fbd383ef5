//! Many expressions as one automaton, whose states are made when a text reaches them: the tails of a family, or all of
//! its patterns.

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::pool::Pool;
use regex_automata::util::start;
use regex_automata::{Anchored, MatchKind};
use regex_syntax::hir::Hir;

use super::scan::Table;

/// Bytes of the automaton that states are made from.
pub(super) const NFA_BYTES: usize = 64 << 20;
/// How often the states may outgrow their memory until the family gives up.
const MOST_CLEARINGS: usize = 2;

type Caches =
    Pool<Memory, Box<dyn Fn() -> Memory + Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>>;

/// What a thread that asks has made so far.
struct Memory {
    states: Cache,
    table: Table,
}

pub(super) struct Tails {
    automaton: DFA,
    caches: Caches,
}

impl std::fmt::Debug for Tails {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tails").finish_non_exhaustive()
    }
}

impl Tails {
    /// `bytes`: memory of the states, for each thread that asks.
    pub(super) fn of(tails: &[Hir], bytes: usize) -> Option<Self> {
        let nfa = thompson::Compiler::new()
            .configure(super::nfa_config())
            .build_many_from_hir(tails)
            .ok()?;
        let config = Config::new()
            .match_kind(MatchKind::All)
            .cache_capacity(bytes)
            .minimum_cache_clear_count(Some(MOST_CLEARINGS));
        let automaton = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let made_from = automaton.clone();
        let caches: Caches = Pool::new(Box::new(move || Memory {
            states: made_from.create_cache(),
            table: Table::default(),
        }));
        Some(Self { automaton, caches })
    }

    /// Gives the tails that match at `from` to `take`; `None` if that cannot be told.
    pub(super) fn matching(&self, text: &[u8], from: usize, take: &mut impl FnMut(usize)) -> Option<()> {
        let automaton = &self.automaton;
        let mut guard = self.caches.get();
        let cache = &mut guard.states;
        let start = start::Config::new()
            .anchored(Anchored::Yes)
            .look_behind(from.checked_sub(1).map(|before| text[before]));
        let mut state = automaton.start_state(cache, &start).ok()?;
        let mut matched = |cache: &Cache, state: LazyStateID| {
            for n in 0..automaton.match_len(cache, state) {
                take(automaton.match_pattern(cache, state, n).as_usize());
            }
        };
        // A match is seen one byte behind its end.
        for &byte in &text[from..] {
            state = automaton.next_state(cache, state, byte).ok()?;
            if state.is_tagged() {
                if state.is_match() {
                    matched(cache, state);
                } else if state.is_dead() {
                    return Some(());
                } else if state.is_quit() {
                    return None;
                }
            }
        }
        let state = automaton.next_eoi_state(cache, state).ok()?;
        if state.is_match() {
            matched(cache, state);
        }
        Some(())
    }

    /// Which of at most 64 expressions match anywhere in `text`, a bit for each; `None` if that cannot be told.
    pub(super) fn anywhere(&self, text: &[u8]) -> Option<u64> {
        let mut guard = self.caches.get();
        let Memory { states, table } = &mut *guard;
        table.scan(&self.automaton, states, text)
    }
}
