//! Looks for a statement that satisfies a question, or proves that there is none.
//!
//! # Idea
//!
//! A question says what the statement and its digest text must match, and which rules (blockers) must not
//! take it. A large rule set has thousands of blockers, and few matter. So the solver begins without them: it
//! makes a shortest text of the conditions and tries it. If a blocker takes the text, the solver adds the
//! condition that this blocker does not match, and makes the next text. This goes on until a text reaches the
//! goal or no text is left.
//!
//! # Invariant
//!
//! * A statement is only believed if the patterns themselves hold and the evaluator takes it to the goal.
//! * No text left is a proof. The automata describe at least every statement that satisfies the question:
//!   blockers that were not added and conditions of unknown language are left out, the digest domain holds
//!   every digest text, and each side (digest text, statement) is asked alone. If this larger set is empty,
//!   the real one is too.
//! * Each round adds a condition that the text before fails, so no text comes twice.
//!
//! # Example
//!
//! The rules are 10 `^PURGE$`, 20 `^PURGE` and 30 `^PURGE BINARY`, all on the digest text and with `apply`.
//!
//! Which statement matches rule 20? No ordinary statement does. Round 1: `PURGE`, which rule 10 takes. "Not
//! `^PURGE$`" is added. Round 2: a shortest text has one byte more, `PURGEA`. The evaluator takes it to rule
//! 20, and with a blank (`PURGE A`) as well: this is the answer.
//!
//! Which statement matches rule 30? Round 1: `PURGE BINARY`, which rule 20 takes. "Not `^PURGE`" is added.
//! Round 2: no text is left. The proof needs rule 20 and not rule 10, so the answer is: empty, rule 20 takes
//! everything.
//!
//! # Limits
//!
//! From [`MOST_APART`] added conditions on, all blockers with one pattern are excluded at once as one
//! alternation. A blocker with patterns over both texts is avoided if either fails, so each makes two
//! questions; at most [`MOST_BRANCHES`] of them are nested. Beyond the limits the answer is undecided.

mod wording;

use shardwright_rules::{Decision, Outcome};
use shardwright_sql::{Digest, DigestOptions};

use crate::condition::Side;
use crate::example::{BLENDS, Example, ORDINARY, blend, statements_of};
use crate::languages::{Domain, Languages, Lit, Subject};
use crate::question::{Blocker, Goal, Question};
use crate::rule_set::RuleSet;

/// Rules told apart one by one; more are asked about as one alternation.
const MOST_APART: usize = 24;
/// Rounds of one question.
const MOST_ROUNDS: usize = 40;
/// Rules on one path with patterns over both texts.
const MOST_BRANCHES: usize = 4;

/// What became of a question.
#[derive(Debug)]
pub enum Answer {
    /// The evaluator takes this statement to the goal.
    Witness(Example),
    /// There is none; these rules take all that could have been.
    Empty(Vec<usize>),
    /// Neither, because of this.
    Undecided(String),
}

/// A literal that was added because the rule took the last text.
#[derive(Clone, Copy)]
struct Added {
    position: usize,
    side: Side,
    lit: Lit,
}

/// What a round of texts showed.
enum Round {
    Witness(Example),
    Empty,
    TakenBy(usize),
    Failed(String),
}

/// What a question is asked of.
pub(crate) struct Target<'t> {
    pub(crate) languages: &'t Languages,
    /// How digests are made.
    pub(crate) digests: DigestOptions,
    /// Whether the evaluator takes a statement where it shall go.
    pub(crate) reaches: &'t dyn Fn(&Example) -> bool,
}

/// A statement that reaches the goal.
pub(crate) fn solve(set: &RuleSet<'_>, question: &Question, goal: Goal) -> Answer {
    let target = Target {
        languages: &set.languages,
        digests: set.configuration.digests().unwrap_or_default(),
        reaches: &|example| reaches(set, goal, &set.decide(&example.session, &example.text)),
    };
    solve_for(&target, question)
}

/// A statement that satisfies a question and reaches what the target accepts.
pub(crate) fn solve_for(target: &Target<'_>, question: &Question) -> Answer {
    // Most questions end here, with a statement that reads well.
    let texts = || ORDINARY.iter().map(|text| text.as_bytes().to_vec()).collect();
    if let Round::Witness(example) =
        try_texts(target, question, &question.digest, &question.text, texts(), None)
    {
        return Answer::Witness(example);
    }
    // Many patterns at once are too much for automata, and what they show often stands in one text.
    let (digest, text) = (&question.digest, &question.text);
    let together = crate::example::together(target.languages, [digest, text]);
    if let Round::Witness(example) = try_texts(target, question, digest, text, together, None) {
        return Answer::Witness(example);
    }
    refine(target, question, Vec::new(), MOST_BRANCHES)
}

fn refine(target: &Target<'_>, question: &Question, mut added: Vec<Added>, branches: usize) -> Answer {
    for _ in 0..MOST_ROUNDS {
        let blocker = match round(target, question, &added) {
            Round::Witness(example) => return Answer::Witness(example),
            Round::Empty => return Answer::Empty(minimal(target, question, added)),
            Round::Failed(reason) => return Answer::Undecided(reason),
            Round::TakenBy(at) => &question.blockers[at],
        };
        match blocker.lits.as_slice() {
            // The next text fails the pattern of this blocker.
            &[(side, lit)] => added.push(Added {
                position: blocker.position,
                side,
                lit: lit.negated(),
            }),
            lits if branches > 0 => {
                return branch(target, question, &added, blocker.position, lits, branches - 1);
            }
            _ => {
                return Answer::Undecided(
                    "many rules that read both the digest text and the statement".to_owned(),
                );
            }
        }
        if added.len() >= MOST_APART {
            return all_at_once(target, question);
        }
    }
    Answer::Undecided("too many rules take part".to_owned())
}

/// A rule with patterns over both texts does not match if one of them fails: each is tried.
fn branch(
    target: &Target<'_>,
    question: &Question,
    added: &[Added],
    position: usize,
    lits: &[(Side, Lit)],
    branches: usize,
) -> Answer {
    let mut takers = Vec::new();
    let mut undecided = None;
    for &(side, lit) in lits {
        let mut with = added.to_vec();
        with.push(Added {
            position,
            side,
            lit: lit.negated(),
        });
        // One branch is enough for a statement; a proof needs all of them.
        match refine(target, question, with, branches) {
            Answer::Witness(example) => return Answer::Witness(example),
            Answer::Empty(more) => takers.extend(more),
            Answer::Undecided(reason) => undecided = Some(reason),
        }
    }
    takers.sort_unstable();
    takers.dedup();
    undecided.map_or(Answer::Empty(takers), Answer::Undecided)
}

fn sides(question: &Question, added: &[Added]) -> (Vec<Lit>, Vec<Lit>) {
    let of = |side: Side, own: &[Lit]| -> Vec<Lit> {
        let more = added
            .iter()
            .filter(|added| added.side == side)
            .map(|added| added.lit);
        own.iter().copied().chain(more).collect()
    };
    (of(Side::Digest, &question.digest), of(Side::Text, &question.text))
}

fn round(target: &Target<'_>, question: &Question, added: &[Added]) -> Round {
    let (digest, text) = sides(question, added);
    let languages = target.languages;
    let limit = |_| languages.limit_reached().to_owned();
    // A side beyond the limits does not end the round: the other side alone may be empty.
    let mut failed = None;
    let mut own = |lits: &[Lit], domain| match languages.shortest(lits, domain) {
        Ok(found) => Ok(found),
        Err(error) => {
            failed.get_or_insert(limit(error));
            Err(())
        }
    };
    let (of_digest, of_text) = (own(&digest, Domain::Digest), own(&text, Domain::Text));
    if of_digest == Ok(None) || of_text == Ok(None) {
        return Round::Empty;
    }
    // A plain digest text is its own digest, so one text can satisfy both sides.
    let mut texts = Vec::new();
    let plain = languages.shortest(&digest, Domain::PlainDigest).ok().flatten();
    if digest.is_empty() {
        texts.extend(of_text.clone().ok().flatten());
    } else if text.is_empty() {
        texts.extend(plain.clone());
        texts.extend(
            of_digest
                .clone()
                .ok()
                .flatten()
                .iter()
                .flat_map(|rare| statements_of(rare)),
        );
    } else {
        let both = [digest.clone(), text.clone()].concat();
        texts.extend(languages.shortest(&both, Domain::PlainDigest).ok().flatten());
    }
    if let (Some(of_text), Some(plain)) = (
        of_text.clone().ok().flatten(),
        plain.or(of_digest.clone().ok().flatten()),
    ) {
        texts.extend((0..BLENDS).map(|form| blend(form, &plain, &of_text)));
    }
    match try_texts(target, question, &digest, &text, texts, failed) {
        // No text satisfies both sides at once, so each side alone says which rule to exclude next.
        Round::Failed(reason) => {
            let alone = [(Side::Digest, of_digest), (Side::Text, of_text)];
            let mut takers = alone.into_iter().filter_map(|(side, shortest)| {
                taken_alone(target, question, side, &shortest.ok().flatten()?)
            });
            takers.next().map_or(Round::Failed(reason), Round::TakenBy)
        }
        round => round,
    }
}

/// A blocker that asks about one side only, and takes this text of the side.
fn taken_alone(target: &Target<'_>, question: &Question, side: Side, text: &[u8]) -> Option<usize> {
    let subject = target.languages.subject(text);
    question.blockers.iter().position(|blocker| {
        matches!(blocker.lits.as_slice(), &[(of, lit)] if of == side && target.languages.holds(lit, &subject))
    })
}

fn try_texts(
    target: &Target<'_>,
    question: &Question,
    digest: &[Lit],
    text: &[Lit],
    texts: Vec<Vec<u8>>,
    failed: Option<String>,
) -> Round {
    let mut taken_by = None;
    let mut astray = false;
    for candidate in texts {
        let of_digest = Digest::with(&candidate, &target.digests).text;
        let (of_digest, of_text) = (
            target.languages.subject(&of_digest),
            target.languages.subject(&candidate),
        );
        let holds = |lits: &[Lit], subject: &Subject<'_>| {
            lits.iter().all(|&lit| target.languages.holds(lit, subject))
        };
        // The automata leave out what is of unknown language, and a text need not be its own digest.
        if !holds(digest, &of_digest) || !holds(text, &of_text) {
            continue;
        }
        let blocks = |blocker: &Blocker| {
            blocker.lits.iter().all(|&(side, lit)| match side {
                Side::Digest => target.languages.holds(lit, &of_digest),
                Side::Text => target.languages.holds(lit, &of_text),
            })
        };
        if let Some(at) = question.blockers.iter().position(blocks) {
            taken_by.get_or_insert(at);
            continue;
        }
        let example = Example {
            session: question.session.clone(),
            text: candidate.clone(),
        };
        if (target.reaches)(&example) {
            return Round::Witness(wording::readable(target, question, example));
        }
        astray = true;
    }
    if let Some(at) = taken_by {
        return Round::TakenBy(at);
    }
    Round::Failed(reason(target, question, digest, text, failed, astray))
}

fn reason(
    target: &Target<'_>,
    question: &Question,
    digest: &[Lit],
    text: &[Lit],
    failed: Option<String>,
    astray: bool,
) -> String {
    let unknown = || {
        digest
            .iter()
            .chain(text)
            .find_map(|&lit| target.languages.unknown(lit))
    };
    if let Some(reason) = question.left_out.clone().or(failed).or_else(unknown) {
        return reason;
    }
    if astray {
        return "a step, an annotation or a weighted jump that the patterns do not show".to_owned();
    }
    if digest.is_empty() || text.is_empty() {
        "no statement was found that has the digest text".to_owned()
    } else {
        "conditions on the digest text and on the statement at once".to_owned()
    }
}

/// Whether a decision is what the goal asks for.
pub(crate) fn reaches(set: &RuleSet<'_>, goal: Goal, decision: &Decision) -> bool {
    match goal {
        Goal::Match(position) => decision.hits.contains(&(position as u32)),
        Goal::FallThrough(flag) => fallen_through(set, decision) == Some(flag),
    }
}

/// The flag at the end of the rules, where none of them placed, refused, answered or ended the statement.
pub fn fallen_through(set: &RuleSet<'_>, decision: &Decision) -> Option<u32> {
    let hits = || decision.hits.iter().map(|&hit| hit as usize);
    let decides = |hit: usize| {
        set.row(hit)
            .is_none_or(|row| row.apply || row.destination_hostgroup.is_some())
    };
    let by_fast_routing = decision.path.iter().any(|step| step.rule_id == 0);
    if hits().any(decides) || by_fast_routing || !matches!(decision.outcome, Outcome::Route(_)) {
        return None;
    }
    let jumped = hits().rev().find_map(|hit| set.jumps(hit).first().copied());
    Some(jumped.unwrap_or(0))
}

/// Drops what the proof does not need. Fewer conditions leave more texts, so what is needed once stays
/// needed: after one pass, nothing more can be dropped.
fn minimal(target: &Target<'_>, question: &Question, mut added: Vec<Added>) -> Vec<usize> {
    let mut at = 0;
    while at < added.len() {
        let mut without = added.clone();
        without.remove(at);
        if is_empty(target, question, &without) {
            added = without;
        } else {
            at += 1;
        }
    }
    let mut positions: Vec<usize> = added.iter().map(|added| added.position).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

fn is_empty(target: &Target<'_>, question: &Question, added: &[Added]) -> bool {
    let (digest, text) = sides(question, added);
    matches!(target.languages.shortest(&digest, Domain::Digest), Ok(None))
        || matches!(target.languages.shortest(&text, Domain::Text), Ok(None))
}

/// Every rule with one pattern at once: the texts outside of all of them.
fn all_at_once(target: &Target<'_>, question: &Question) -> Answer {
    let mut texts = Vec::new();
    for side in [Side::Digest, Side::Text] {
        let (lits, domain, other) = match side {
            Side::Digest => (&question.digest, Domain::Digest, &question.text),
            Side::Text => (&question.text, Domain::Text, &question.digest),
        };
        let mut positions = Vec::new();
        let mut excluded = Vec::new();
        for blocker in &question.blockers {
            // Other blockers are left out: the set stays larger than the real one, and empty stays a proof.
            if let &[(of, lit)] = blocker.lits.as_slice()
                && of == side
                && lit.positive
                && target.languages.unknown(lit).is_none()
            {
                positions.push(blocker.position);
                excluded.push(lit.language);
            }
        }
        if excluded.is_empty() {
            continue;
        }
        match target.languages.shortest_outside(lits, &excluded, domain) {
            Ok(None) => return Answer::Empty(positions),
            Ok(Some(text)) if other.is_empty() => {
                if side == Side::Digest {
                    texts.extend(statements_of(&text));
                }
                texts.push(text);
            }
            Ok(Some(_)) | Err(_) => {}
        }
    }
    match try_texts(target, question, &question.digest, &question.text, texts, None) {
        Round::Witness(example) => Answer::Witness(example),
        _ => Answer::Undecided("many rules take part".to_owned()),
    }
}

/// A statement that satisfies the rule's own conditions, wherever it goes.
pub fn own_example(set: &RuleSet<'_>, position: usize) -> Option<Example> {
    let path = crate::paths::alone(set, position);
    let path_question = crate::question::of_path(set, &path, Goal::Match(position))
        .into_iter()
        .next()?;
    let crate::question::PathQuestion::Question(question) = path_question else {
        return None;
    };
    let (digest, text) = (&question.digest, &question.text);
    let both = [digest.clone(), text.clone()].concat();
    let domain = if digest.is_empty() {
        Domain::Text
    } else {
        Domain::PlainDigest
    };
    let text = set.languages.shortest(&both, domain).ok().flatten()?;
    Some(Example {
        session: question.session,
        text,
    })
}
