//! For every rule: a statement that it matches, a proof that there is none, or why neither is known.

use std::collections::BTreeSet;

use crate::condition::{Side, Term};
use crate::example::{BLENDS, Example, ORDINARY, blend, sessions};
use crate::languages::{Domain, Lit};
use crate::natives;
use crate::paths::{self, Way};
use crate::question::{self, Goal, Posed};
use crate::rule_set::RuleSet;
use crate::session::Session;
use crate::solver::{self, Answer};
use crate::structure::Structure;

/// Passes over the rules with their own patterns; each costs a few decisions for every rule not yet reached.
const MOST_PASSES: usize = 4;

/// What is known of one rule.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// The evaluator matches it on this statement.
    Reached(Box<Example>),
    /// No statement of any session comes to it and matches. The rules are a minimal set that takes what it would have.
    Never(Vec<usize>),
    /// No jump leads to it.
    NotAsked,
    /// It ends its chain without a condition: good to have, whether earlier rules leave anything or not.
    SafetyNet,
    /// Not decided, because of this.
    Undecided(String),
}

/// The verdicts on every rule, by position.
#[derive(Debug)]
pub(crate) struct Reach {
    verdicts: Vec<Verdict>,
}

impl Reach {
    pub(crate) fn of(set: &RuleSet<'_>, structure: &Structure) -> Self {
        let mut found: Vec<Option<Example>> = vec![None; set.len()];
        try_ordinary(set, &mut found);
        // A statement found for a rule far behind also shows the way to the chains that it passed.
        let mut tried = vec![None; set.len()];
        for _ in 0..MOST_PASSES {
            let before = found.iter().flatten().count();
            try_own_patterns(set, structure, &mut found, &mut tried);
            if found.iter().flatten().count() == before {
                break;
            }
        }
        let verdicts = found
            .into_iter()
            .enumerate()
            .map(|(position, example)| match example {
                Some(example) => Verdict::Reached(Box::new(example)),
                None => verdict(set, structure, position),
            })
            .collect();
        let mut reach = Self { verdicts };
        reach.close_chains(set);
        reach
    }

    /// Nothing comes into a chain whose every entrance matches nothing; and so on behind it.
    fn close_chains(&mut self, set: &RuleSet<'_>) {
        loop {
            let mut closed = false;
            for (&flag, chain) in &set.chains {
                let mut entrances = set
                    .entrances(flag)
                    .iter()
                    .filter(|&&jump| set.flag_in(jump) != flag);
                let open = set.start_flags.contains(&flag) || entrances.any(|&jump| !self.is_dead(jump));
                for &position in chain.iter().filter(|_| !open) {
                    closed |= !self.is_dead(position);
                    self.verdicts[position] = Verdict::NotAsked;
                }
            }
            if !closed {
                return;
            }
        }
    }

    pub(crate) fn verdict(&self, position: usize) -> &Verdict {
        &self.verdicts[position]
    }

    /// A statement that the rule matches.
    pub(crate) fn example(&self, position: usize) -> Option<&Example> {
        match &self.verdicts[position] {
            Verdict::Reached(example) => Some(example),
            _ => None,
        }
    }

    /// Whether it is known if the rule can match.
    pub(crate) fn is_decided(&self, position: usize) -> bool {
        !matches!(self.verdicts[position], Verdict::Undecided(_))
    }

    /// Whether the rule is known to match nothing.
    pub(crate) fn is_dead(&self, position: usize) -> bool {
        matches!(self.verdicts[position], Verdict::Never(_) | Verdict::NotAsked)
    }
}

/// Runs a statement and remembers it for every rule that it matched for the first time.
fn note(set: &RuleSet<'_>, session: &Session, text: &[u8], found: &mut [Option<Example>]) {
    for hit in set.decide(session, text).hits {
        found[hit as usize].get_or_insert_with(|| Example {
            session: session.clone(),
            text: text.to_vec(),
        });
    }
}

fn try_ordinary(set: &RuleSet<'_>, found: &mut [Option<Example>]) {
    for session in sessions(set) {
        for text in ORDINARY {
            note(set, &session, text.as_bytes(), found);
        }
    }
}

/// A rule's own shortest statement, put together with one that comes to its chain. The last rules first: a statement for the
/// leaf of a tree is one for every jump that leads there.
fn try_own_patterns(
    set: &RuleSet<'_>,
    structure: &Structure,
    found: &mut [Option<Example>],
    tried: &mut [Option<Option<usize>>],
) {
    let usual = sessions(set).into_iter().next();
    let mut ways: Vec<usize> = (0..BLENDS).collect();
    for position in (0..set.len()).rev() {
        if found[position].is_some() || !structure.asks(set, position) || is_safety_net(set, position) {
            continue;
        }
        let (Some(condition), Some(usual)) = (&set.conditions[position], &usual) else {
            continue;
        };
        let flag = set.flag_in(position);
        let entrance = set
            .entrances(flag)
            .iter()
            .copied()
            .find(|&jump| found[jump].is_some());
        if condition.is_never() || tried[position] == Some(entrance) {
            continue;
        }
        tried[position] = Some(entrance);
        let entrance = entrance.and_then(|jump| found[jump].clone());
        let mut session = entrance
            .as_ref()
            .map_or_else(|| usual.clone(), |example| example.session.clone());
        if entrance.is_none() && set.start_flags.contains(&flag) {
            session.flag = flag;
        }
        let session = session.bent_to(condition.row, &set.mentioned);
        let before = entrance.map_or_else(Vec::new, |example| example.text);
        // What the patterns show costs next to nothing; an automaton knows better.
        for own in [shown_text, shortest_text] {
            let own = own(set, &condition.terms);
            for at in 0..BLENDS {
                let way = ways[at];
                note(set, &session, &blend(way, &before, &own), found);
                if found[position].is_some() {
                    // What worked for one rule of a tree works for the next.
                    ways[..=at].rotate_right(1);
                    break;
                }
            }
            if found[position].is_some() {
                break;
            }
        }
    }
}

/// The texts of the rule's patterns one behind the other, as the patterns show them.
fn shown_text(set: &RuleSet<'_>, terms: &[(Side, Term)]) -> Vec<u8> {
    let lits = terms.iter().filter_map(|(_, term)| match term {
        Term::Lit(lit) => set.languages.sample(*lit),
        _ => None,
    });
    lits.collect::<Vec<_>>().join(&b' ')
}

fn shortest_text(set: &RuleSet<'_>, terms: &[(Side, Term)]) -> Vec<u8> {
    let lits: Vec<(Side, Lit)> = terms
        .iter()
        .filter_map(|(side, term)| match term {
            Term::Lit(lit) => Some((*side, *lit)),
            _ => None,
        })
        .collect();
    let of_digest = lits.iter().any(|(side, _)| *side == Side::Digest);
    let domain = if of_digest {
        Domain::PlainDigest
    } else {
        Domain::Text
    };
    let lits: Vec<Lit> = lits.into_iter().map(|(_, lit)| lit).collect();
    set.languages
        .shortest(&lits, domain)
        .ok()
        .flatten()
        .unwrap_or_default()
}

/// The last rule of a chain, without a condition or a jump.
pub(crate) fn is_safety_net(set: &RuleSet<'_>, position: usize) -> bool {
    let last = set.chain(set.flag_in(position)).last() == Some(&position);
    let everything = set.conditions[position]
        .as_ref()
        .is_some_and(|condition| condition.is_everything());
    last && everything && set.chain(set.flag_in(position)).len() > 1 && set.jumps(position).is_empty()
}

fn verdict(set: &RuleSet<'_>, structure: &Structure, position: usize) -> Verdict {
    if !structure.asks(set, position) {
        return Verdict::NotAsked;
    }
    if is_safety_net(set, position) {
        return Verdict::SafetyNet;
    }
    if let Some(example) = natives::example(set, position) {
        return Verdict::Reached(Box::new(example));
    }
    match decide_place(set, set.flag_in(position), position, Goal::Match(position)) {
        Answer::Witness(example) => Verdict::Reached(Box::new(example)),
        Answer::Empty(takers) => Verdict::Never(takers),
        Answer::Undecided(reason) => Verdict::Undecided(reason),
    }
}

/// Asks about every way to a place; its own chain alone first, which is cheap and usually enough for a proof.
pub(crate) fn decide_place(set: &RuleSet<'_>, flag: u32, to: usize, goal: Goal) -> Answer {
    if let Answer::Empty(takers) = ask(set, &paths::common_end(set, flag, to), goal) {
        return Answer::Empty(takers);
    }
    let ways = paths::to_place(set, flag, to);
    let mut takers = BTreeSet::new();
    let mut undecided = (!ways.complete).then(|| "the number of ways that lead to it".to_owned());
    for way in &ways.ways {
        match ask(set, way, goal) {
            Answer::Witness(example) => return Answer::Witness(example),
            Answer::Empty(more) => takers.extend(more),
            Answer::Undecided(reason) => {
                undecided.get_or_insert(reason);
            }
        }
    }
    undecided.map_or_else(|| Answer::Empty(takers.into_iter().collect()), Answer::Undecided)
}

fn ask(set: &RuleSet<'_>, way: &Way, goal: Goal) -> Answer {
    let mut takers = BTreeSet::new();
    let mut undecided = None;
    for posed in question::of_way(set, way, goal) {
        let answer = match posed {
            Posed::Empty(positions) => Answer::Empty(positions),
            Posed::Undecided(reason) => Answer::Undecided(reason),
            Posed::Question(question) => solver::solve(set, &question, goal),
        };
        match answer {
            Answer::Witness(example) => return Answer::Witness(example),
            Answer::Empty(more) => takers.extend(more),
            Answer::Undecided(reason) => undecided = Some(reason),
        }
    }
    undecided.map_or_else(|| Answer::Empty(takers.into_iter().collect()), Answer::Undecided)
}
