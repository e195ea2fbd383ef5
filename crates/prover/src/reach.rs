//! For every rule: a statement that it matches, a proof that there is none, or why neither is known.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempts::{Attempts, shown_text};
use crate::example::Example;
use crate::natives;
use crate::paths::{self, JumpPath};
use crate::question::{self, Goal, PathQuestion};
use crate::rule_set::RuleSet;
use crate::solver::{self, Answer};
use crate::structure::Structure;

/// What is known of one rule.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The evaluator matches it on this statement.
    Reached(Box<Example>),
    /// No statement of any session comes to it and matches. The rules are a minimal set that takes what it would have.
    Never(Vec<usize>),
    /// No jump leads to it.
    NotAsked,
    /// A compiled rule that ends its chain without a condition: good to have, whether earlier rules leave anything or
    /// not, so it is not asked.
    SafetyNet,
    /// Not decided, because of this.
    Undecided(String),
}

/// The verdicts on every rule, by position.
#[derive(Debug)]
pub struct Reach {
    verdicts: Vec<Verdict>,
}

impl Reach {
    /// Decides every rule: first by statements that are tried, then by proofs.
    #[must_use]
    pub fn of(set: &RuleSet<'_>, structure: &Structure) -> Self {
        let mut attempts = Attempts::new(set);
        attempts.try_all(structure);
        let verdicts = (0..set.rule_count()).map(|position| match attempts.found[position].take() {
            Some(example) => Verdict::Reached(Box::new(example)),
            None => attempts.verdict(structure, position),
        });
        let mut reach = Self {
            verdicts: verdicts.collect(),
        };
        reach.close_chains(set);
        reach
    }

    /// Nothing comes into a chain whose every entrance matches nothing; and so on behind it.
    fn close_chains(&mut self, set: &RuleSet<'_>) {
        loop {
            let mut closed = false;
            for (flag, chain) in set.chains() {
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

    /// The verdict on the rule at a position.
    #[must_use]
    pub fn verdict(&self, position: usize) -> &Verdict {
        &self.verdicts[position]
    }

    /// A statement that the rule matches.
    pub fn example(&self, position: usize) -> Option<&Example> {
        match &self.verdicts[position] {
            Verdict::Reached(example) => Some(example),
            _ => None,
        }
    }

    /// Whether it was asked if the rule can match.
    pub fn is_asked(&self, position: usize) -> bool {
        !matches!(self.verdicts[position], Verdict::SafetyNet)
    }

    /// Whether it is known if the rule can match.
    pub fn is_decided(&self, position: usize) -> bool {
        !matches!(self.verdicts[position], Verdict::Undecided(_))
    }

    /// What kept rules from being decided, with their positions.
    pub fn undecided(&self) -> BTreeMap<&str, Vec<usize>> {
        let mut by_reason: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (position, verdict) in self.verdicts.iter().enumerate() {
            if let Verdict::Undecided(reason) = verdict {
                by_reason.entry(reason).or_default().push(position);
            }
        }
        by_reason
    }

    /// Whether the rule is known to match nothing.
    pub fn is_dead(&self, position: usize) -> bool {
        matches!(self.verdicts[position], Verdict::Never(_) | Verdict::NotAsked)
    }
}

impl Attempts<'_, '_> {
    /// What is known of a rule that no statement was found for so far.
    fn verdict(&mut self, structure: &Structure, position: usize) -> Verdict {
        let set = self.set;
        if !structure.asks(set, position) {
            return Verdict::NotAsked;
        }
        if set.is_compiled_net(position) || set.is_for_executions(position) {
            return match catch_all_before(set, position) {
                Some(taker) => Verdict::Never(vec![taker]),
                None => Verdict::SafetyNet,
            };
        }
        if let Some(example) = natives::example(set, position) {
            return Verdict::Reached(Box::new(example));
        }
        if self.try_frames(position, &shown_text(set, position))
            && let Some(example) = self.found[position].take()
        {
            return Verdict::Reached(Box::new(example));
        }
        match decide_position(set, set.flag_in(position), position, Goal::Match(position)) {
            Answer::Witness(example) => {
                self.found_otherwise(position, &example);
                Verdict::Reached(Box::new(example))
            }
            Answer::Empty(takers) => Verdict::Never(takers),
            Answer::Undecided(reason) => Verdict::Undecided(reason),
        }
    }
}

/// A rule without a condition that keeps every statement from a later rule of its chain, whatever the patterns between
/// them ask.
fn catch_all_before(set: &RuleSet<'_>, position: usize) -> Option<usize> {
    catch_all(set, set.flag_in(position), position)
}

/// The same for the end of a chain, where `to` is the number of rules.
pub fn catch_all(set: &RuleSet<'_>, flag: u32, to: usize) -> Option<usize> {
    let end = paths::common_end(set, flag, to);
    let segment = end.segments.first()?;
    let chain = set.chain(segment.flag).iter().copied();
    let mut before = chain.filter(|earlier| (segment.from..segment.to).contains(earlier));
    before.find(|&earlier| set.takes(earlier, segment.restarting) && set.takes_any_text(earlier))
}

/// Asks about every path to a position; its own chain alone first, which is cheap and usually enough for a proof.
pub fn decide_position(set: &RuleSet<'_>, flag: u32, to: usize, goal: Goal) -> Answer {
    if let Answer::Empty(takers) = ask(set, &paths::common_end(set, flag, to), goal) {
        return Answer::Empty(takers);
    }
    let paths = paths::leading_to(set, flag, to);
    let mut takers = BTreeSet::new();
    let mut undecided = (!paths.complete).then(|| "the number of paths to it".to_owned());
    for path in &paths.paths {
        match ask(set, path, goal) {
            Answer::Witness(example) => return Answer::Witness(example),
            Answer::Empty(more) => takers.extend(more),
            Answer::Undecided(reason) => {
                undecided.get_or_insert(reason);
            }
        }
    }
    undecided.map_or_else(|| Answer::Empty(takers.into_iter().collect()), Answer::Undecided)
}

fn ask(set: &RuleSet<'_>, path: &JumpPath, goal: Goal) -> Answer {
    let mut takers = BTreeSet::new();
    let mut undecided = None;
    for question in question::of_path(set, path, goal) {
        let answer = match question {
            PathQuestion::Empty(positions) => Answer::Empty(positions),
            PathQuestion::Undecided(reason) => Answer::Undecided(reason),
            PathQuestion::Question(question) => solver::solve(set, &question, goal),
        };
        match answer {
            Answer::Witness(example) => return Answer::Witness(example),
            Answer::Empty(more) => takers.extend(more),
            Answer::Undecided(reason) => undecided = Some(reason),
        }
    }
    undecided.map_or_else(|| Answer::Empty(takers.into_iter().collect()), Answer::Undecided)
}
