//! Statements that are tried on the evaluator before anything is asked of automata: what comes to one rule of a chain comes
//! to the next with the text of the next rule's own patterns in its place.

use memchr::memmem;

use crate::condition::{Side, Term};
use crate::example::{BLENDS, Example, ORDINARY, blend, sessions};
use crate::languages::{Domain, Lit};
use crate::rule_set::RuleSet;
use crate::session::Session;
use crate::structure::Structure;

/// Frames that are kept; each costs one decision for every rule that is not yet reached.
const MOST_FRAMES: usize = 8;

/// Passes over the rules with their own patterns; each costs a few decisions for every rule not yet reached.
const MOST_PASSES: usize = 4;

/// Keys that nobody is likely to have.
const OTHER_VALUES: [&[u8]; 2] = [b"987654321", b"zz9"];

/// What stood around a rule's own text in a statement that reached the rule.
struct Frame {
    session: Session,
    before: Vec<u8>,
    behind: Vec<u8>,
}

/// Statements tried so far.
pub(crate) struct Attempts<'s, 'c> {
    pub(crate) set: &'s RuleSet<'c>,
    /// By position: a statement that the rule matches.
    pub(crate) found: Vec<Option<Example>>,
    /// The one that worked last first.
    frames: Vec<Frame>,
    /// Forms of blends, the one that worked last first.
    blends: Vec<usize>,
    usual: Option<Session>,
}

impl<'s, 'c> Attempts<'s, 'c> {
    pub(crate) fn new(set: &'s RuleSet<'c>) -> Self {
        Self {
            set,
            found: vec![None; set.rule_count()],
            frames: Vec::new(),
            blends: (0..BLENDS).collect(),
            usual: sessions(set).into_iter().next(),
        }
    }

    /// Runs a statement and remembers it for every rule that it matched for the first time.
    fn note(&mut self, session: &Session, text: &[u8]) {
        for hit in self.set.hits(session, text) {
            self.found[hit as usize].get_or_insert_with(|| Example {
                session: session.clone(),
                text: text.to_vec(),
            });
        }
    }

    /// Ordinary statements, those that the rules' own patterns show, and those with other values.
    pub(crate) fn try_all(&mut self, structure: &Structure) {
        self.try_ordinary();
        // A statement found for a rule far behind also shows how to get to the chains that it passed.
        let mut tried = vec![None; self.set.rule_count()];
        for _ in 0..MOST_PASSES {
            let before = self.found.iter().flatten().count();
            self.try_own_patterns(structure, &mut tried);
            if self.found.iter().flatten().count() == before {
                break;
            }
        }
        self.try_other_values();
    }

    fn try_ordinary(&mut self) {
        for session in sessions(self.set) {
            for text in ORDINARY {
                self.note(&session, text.as_bytes());
            }
        }
    }

    /// A rule's own shortest statement, put together with one that comes to its chain. The last rules first: a statement
    /// for the leaf of a tree is one for every jump that leads there. `tried`: by position, with which entrance it was
    /// tried before.
    fn try_own_patterns(&mut self, structure: &Structure, tried: &mut [Option<Option<usize>>]) {
        let set = self.set;
        for position in (0..set.rule_count()).rev() {
            if self.found[position].is_some()
                || !structure.asks(set, position)
                || set.is_compiled_net(position)
                || set.is_for_executions(position)
                || set.conditions[position]
                    .as_ref()
                    .is_none_or(|condition| condition.is_never())
            {
                continue;
            }
            let entrances = set.entrances(set.flag_in(position));
            let entrance = entrances.iter().copied().find(|&jump| self.found[jump].is_some());
            if tried[position] != Some(entrance) {
                tried[position] = Some(entrance);
                self.try_rule(position, entrance.and_then(|jump| self.found[jump].clone()));
            }
        }
    }

    /// What the patterns show costs next to nothing; an automaton knows better.
    fn try_rule(&mut self, position: usize, entrance: Option<Example>) {
        for own in [shown_text, shortest_text] {
            let own = own(self.set, position);
            if self.try_frames(position, &own) || self.try_blends(position, &own, entrance.as_ref()) {
                return;
            }
        }
    }

    /// Whether what came to other rules comes to this one with its own text in it.
    pub(crate) fn try_frames(&mut self, position: usize, own: &[u8]) -> bool {
        let Some(row) = self.set.row(position).filter(|_| !own.is_empty()) else {
            return false;
        };
        for at in 0..self.frames.len() {
            let frame = &self.frames[at];
            let session = frame.session.clone().adapted_to(row, &self.set.session_values);
            let text = [&frame.before, own, &frame.behind].concat();
            self.note(&session, &text);
            if self.found[position].is_some() {
                self.frames[..=at].rotate_right(1);
                return true;
            }
        }
        false
    }

    fn try_blends(&mut self, position: usize, own: &[u8], entrance: Option<&Example>) -> bool {
        let (Some(row), Some(usual)) = (self.set.row(position), &self.usual) else {
            return false;
        };
        let mut session = entrance.map_or_else(|| usual.clone(), |example| example.session.clone());
        let flag = self.set.flag_in(position);
        if entrance.is_none() && self.set.start_flags.contains(&flag) {
            session.flag = flag;
        }
        let session = session.adapted_to(row, &self.set.session_values);
        let before = entrance.map_or(&[][..], |example| &example.text);
        for at in 0..BLENDS {
            let text = blend(self.blends[at], before, own);
            self.note(&session, &text);
            if self.found[position].is_some() {
                self.blends[..=at].rotate_right(1);
                self.learn(Example { session, text }, own);
                return true;
            }
        }
        false
    }

    /// Behind the rules for the keys that are known, a rule without a condition takes all others: what came to the rules
    /// before it is tried with another value.
    fn try_other_values(&mut self) {
        let set = self.set;
        for position in (0..set.rule_count()).filter(|&position| set.matches_everything(position)) {
            let chain = set.chain(set.flag_in(position)).iter();
            let before = chain.take_while(|&&earlier| earlier < position);
            let known: Vec<Example> = before
                .filter_map(|&earlier| self.found[earlier].clone())
                .take(MOST_FRAMES)
                .collect();
            for example in known {
                for value in OTHER_VALUES {
                    if self.found[position].is_none()
                        && let Some(text) = with_value(&example.text, value)
                    {
                        self.note(&example.session, &text);
                    }
                }
            }
        }
    }

    /// Keeps what stands around `own` in a statement that reached a rule.
    fn learn(&mut self, example: Example, own: &[u8]) {
        let Some(at) = memmem::find(&example.text, own).filter(|_| !own.is_empty()) else {
            return;
        };
        self.frames.truncate(MOST_FRAMES - 1);
        self.frames.insert(
            0,
            Frame {
                before: example.text[..at].to_vec(),
                behind: example.text[at + own.len()..].to_vec(),
                session: example.session,
            },
        );
    }

    /// Remembers a statement that was found by other means, for all the rules that it matches, and what stands around the
    /// text of the rule that it was found for.
    pub(crate) fn found_otherwise(&mut self, position: usize, example: &Example) {
        self.note(&example.session, &example.text);
        self.learn(example.clone(), &shown_text(self.set, position));
    }
}

/// The text with another value behind its first `=`.
fn with_value(text: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let from = memmem::find(text, b"=")? + 1;
    let is_value = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+');
    let length = text[from..].iter().take_while(is_value).count();
    Some([&text[..from], value, &text[from + length..]].concat())
}

/// The texts of the rule's patterns one behind the other, as the patterns show them.
pub fn shown_text(set: &RuleSet<'_>, position: usize) -> Vec<u8> {
    let lits = lits(set, position);
    let shown = lits.iter().filter_map(|&(_, lit)| set.languages.sample(lit));
    shown.collect::<Vec<_>>().join(&b' ')
}

fn shortest_text(set: &RuleSet<'_>, position: usize) -> Vec<u8> {
    let lits = lits(set, position);
    let of_digest = lits.iter().any(|(side, _)| *side == Side::Digest);
    let domain = if of_digest {
        Domain::PlainDigest
    } else {
        Domain::Text
    };
    let lits: Vec<Lit> = lits.into_iter().map(|(_, lit)| lit).collect();
    let shortest = set.languages.shortest(&lits, domain);
    shortest.ok().flatten().unwrap_or_default()
}

fn lits(set: &RuleSet<'_>, position: usize) -> Vec<(Side, Lit)> {
    let condition = set.conditions[position].as_ref();
    let terms = condition.into_iter().flat_map(|condition| &condition.terms);
    terms
        .filter_map(|(side, term)| match term {
            Term::Lit(lit) => Some((*side, *lit)),
            _ => None,
        })
        .collect()
}
