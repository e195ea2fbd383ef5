//! What the analysis claims of rule sets, thrown at the engine: pairs that it calls equivalent or shows to differ, rules
//! that it calls dead or shows a statement of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use shardwright_prover::equivalence::{Difference, Equivalence, alike, equivalence};
use shardwright_prover::{Reach, RuleSet as Rules, Structure, Verdict};
use shardwright_rules::{Configuration, Decision};
use shardwright_testkit::Rig;

use crate::changes::{changed, dead_rule, numbered};
use crate::compare::{
    Became, Session, answers, configuration, differences, is_same, of_decision, rig, until_gap,
};
use crate::random::{Dice, first, gone, session, wanted, wrong_hits};
use crate::replay::Replay;
use crate::rule_sets::{RuleSet, rule_set};

/// Pairs of a usual run, and rule sets.
const USUAL_PAIRS: u64 = 150;
const USUAL_SETS: u64 = 15;

/// What became of the claims of a run.
#[derive(Debug, Default)]
struct Figures {
    proved: usize,
    refuted: usize,
    undecided: usize,
    commands: usize,
    shown: usize,
    /// Differences that no answer shows, such as a multiplexing that a rule switches off.
    in_effects: usize,
    /// Why what is shown could not be sent.
    not_sent: BTreeMap<&'static str, usize>,
    dead: usize,
    live: usize,
}

fn started() -> Option<Rig> {
    rig("claims about rule sets against the engine", 1)
}

#[test]
fn pairs_called_equivalent_are_and_what_is_shown_to_differ_does() {
    let Some(mut rig) = started() else {
        return;
    };
    let (mut figures, mut failures) = (Figures::default(), Vec::new());
    for seed in first()..first() + wanted(USUAL_PAIRS) {
        let mut dice = Dice::new(seed);
        let left = rule_set(&mut dice, &rig);
        let dead = dead_of(&configuration(&rig, &left.statements()));
        let right = changed(&mut dice, &left, &dead);
        let sides = if dice.one_in(2) {
            [left, right]
        } else {
            [right, left]
        };
        let pair = Pair {
            configurations: sides
                .each_ref()
                .map(|side| configuration(&rig, &side.statements())),
            sides,
        };
        if let Err(found) = pair.tried(&mut dice, &rig, &mut figures) {
            failures.push(format!("pair {seed}: {found}\n{}", pair.shown()));
        }
        if let Some(log) = gone(&rig) {
            failures.push(format!(
                "pair {seed}: the engine is gone\n{}\n{log}",
                pair.shown()
            ));
            rig = started().unwrap();
        }
        if failures.len() >= 5 {
            break;
        }
    }
    println!("{figures:#?}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let pairs = figures.proved + figures.refuted + figures.undecided;
    assert!(
        figures.proved * 4 > pairs && figures.refuted * 4 > pairs,
        "{figures:?}"
    );
    assert!(figures.shown > figures.refuted, "{figures:?}");
}

#[test]
fn dead_rules_never_match_and_the_others_match_what_is_shown() {
    let Some(mut rig) = started() else {
        return;
    };
    let (mut figures, mut failures) = (Figures::default(), Vec::new());
    for seed in first()..first() + wanted(USUAL_SETS) {
        let mut dice = Dice::new(seed);
        let mut set = rule_set(&mut dice, &rig);
        for _ in 0..dice.below(4) {
            dead_rule(&mut dice, &mut set);
        }
        numbered(&mut set, 1 + dice.below(9));
        let statements = set.statements();
        if let Err(found) = matched(&mut dice, &rig, &statements, &mut figures) {
            failures.push(format!("rule set {seed}: {found}\n{}", statements.join(";\n")));
        }
        if let Some(log) = gone(&rig) {
            failures.push(format!("rule set {seed}: the engine is gone\n{log}"));
            rig = started().unwrap();
        }
        if failures.len() >= 5 {
            break;
        }
    }
    println!("{figures:#?}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    if wanted(USUAL_SETS) >= USUAL_SETS {
        let least = figures.dead.min(figures.live) as u64;
        assert!(least > USUAL_SETS, "{figures:?}");
    }
}

/// For every rule, whether a statement can match it.
fn verdicts(configuration: &Configuration) -> Vec<Verdict> {
    let rules = Rules::of(configuration);
    let structure = Structure::with_restarts(&rules, rules.iterations());
    let reach = Reach::of(&rules, &structure);
    (0..rules.rule_count())
        .map(|position| reach.verdict(position).clone())
        .collect()
}

/// Positions of the rules that are proved to match nothing.
fn dead_of(configuration: &Configuration) -> Vec<usize> {
    let all = verdicts(configuration).into_iter().enumerate();
    all.filter(|(_, verdict)| matches!(verdict, Verdict::Never(_) | Verdict::NotAsked))
        .map(|(position, _)| position)
        .collect()
}

/// Two rule sets and what they mean to this program.
struct Pair {
    sides: [RuleSet; 2],
    configurations: [Arc<Configuration>; 2],
}

impl Pair {
    fn tried(&self, dice: &mut Dice, rig: &Rig, figures: &mut Figures) -> Result<(), String> {
        let [left, right] = &self.configurations;
        match equivalence(left, right) {
            Equivalence::Proved => {
                figures.proved += 1;
                let sessions = (0..5).map(|_| {
                    let kept = until_gap(left, &session(dice));
                    until_gap(right, &kept)
                });
                let sessions: Vec<Session> = sessions.collect();
                figures.commands += sessions.iter().map(|session| session.said.len()).sum::<usize>();
                self.alike(rig, &sessions)
                    .map_err(|found| format!("{found}\n  sessions {sessions:?}"))
            }
            Equivalence::Refuted { differences, .. } => {
                figures.refuted += 1;
                differences
                    .iter()
                    .try_for_each(|difference| self.differs(rig, difference, figures))
            }
            Equivalence::Undecided { .. } => {
                figures.undecided += 1;
                Ok(())
            }
        }
    }

    /// What the engine answers to the sessions under one set and under the other.
    fn answers(&self, rig: &Rig, sessions: [&[Session]; 2]) -> Result<[Vec<Vec<Became>>; 2], String> {
        let of = |side: usize| -> Result<Vec<Vec<Became>>, String> {
            rig.load(&self.sides[side].statements())
                .map_err(|error| error.to_string())?;
            let sessions = sessions[side].iter();
            sessions
                .map(|session| {
                    answers(rig, session).map_err(|error| format!("{error}\n  session {session:?}"))
                })
                .collect()
        };
        Ok([of(0)?, of(1)?])
    }

    fn alike(&self, rig: &Rig, sessions: &[Session]) -> Result<(), String> {
        let [left, right] = self.answers(rig, [sessions, sessions])?;
        for (session, (left, right)) in sessions.iter().zip(left.iter().zip(&right)) {
            let differs = left
                .iter()
                .zip(right)
                .position(|(one, other)| !is_alike(one, other));
            if let Some(at) = differs {
                return Err(format!(
                    "called equivalent\n  command {at} {:?}\n  first  {:?}\n  second {:?}\n  session {session:?}",
                    session.said[at], left[at], right[at]
                ));
            }
        }
        Ok(())
    }

    fn differs(&self, rig: &Rig, difference: &Difference, figures: &mut Figures) -> Result<(), String> {
        let [Some(left), Some(right)] = [&difference.left, &difference.right] else {
            return Err(format!("both users can log in on both sides: {difference:?}"));
        };
        let decisions = [left, right];
        let expected = [0, 1].map(|side| self.expected(side, difference, decisions[side]));
        if decisions.iter().any(|one| one.unsure || !one.unknown.is_empty()) {
            *figures.not_sent.entry("the decision is not sure").or_default() += 1;
            return Ok(());
        }
        if is_alike(&expected[0], &expected[1]) {
            figures.in_effects += 1;
            return if alike(&left.outcome, &right.outcome) {
                Err(format!("no difference: {difference:?}"))
            } else {
                Ok(())
            };
        }
        let replay = Replay::of(rig, &self.configurations.each_ref());
        let session = |side: usize| {
            let mut view = difference.session.view(side);
            // A client that names no schema gets that of the user.
            view.schema = view
                .schema
                .filter(|_| difference.session.schemas[0] == difference.session.schemas[1]);
            replay.session(side, &view, &difference.statement)
        };
        let sessions = match (session(0), session(1)) {
            (Ok(left), Ok(right)) => [[left], [right]],
            (Err(why), _) | (_, Err(why)) => {
                *figures.not_sent.entry(why).or_default() += 1;
                return Ok(());
            }
        };
        figures.shown += 1;
        let answers = self.answers(rig, sessions.each_ref().map(|session| &session[..]))?;
        let last = answers.each_ref().map(|answers| answers[0].last());
        let [Some(left), Some(right)] = last else {
            return Err("nothing was said".to_owned());
        };
        let as_expected = is_same(&expected[0], left) && is_same(&expected[1], right);
        if is_alike(left, right) || !as_expected {
            return Err(format!(
                "shown to differ\n  evaluator {expected:?}\n  engine    {last:?}\n  sessions  {sessions:?}\n  {:?}",
                difference.session
            ));
        }
        Ok(())
    }

    fn expected(&self, side: usize, difference: &Difference, decision: &Decision) -> Became {
        let session = &difference.session;
        let own = || self.configurations[side].default_schema(&session.user);
        let schema = session.schemas[side].as_deref().or_else(own);
        of_decision(decision, &difference.statement, schema)
    }

    fn shown(&self) -> String {
        let [left, right] = self.sides.each_ref().map(|side| side.statements().join(";\n"));
        format!("{left}\nand\n{right}")
    }
}

/// Whether two answers are the same to who asks whether rule sets are equivalent: what a refusal says does not count.
fn is_alike(one: &Became, other: &Became) -> bool {
    match (one, other) {
        (Became::Refused(code, _), Became::Refused(other, _)) => code == other,
        (one, other) => one == other,
    }
}

/// Sends random sessions and what is shown of each rule, and compares what the engine counts.
fn matched(dice: &mut Dice, rig: &Rig, statements: &[String], figures: &mut Figures) -> Result<(), String> {
    rig.load(statements).map_err(|error| error.to_string())?;
    let configuration = configuration(rig, statements);
    let rules = &configuration.graph.rules;
    let replay = Replay::of(rig, &[&configuration]);
    let mut sessions: Vec<Session> = (0..4).map(|_| session(dice)).collect();
    let (mut dead, mut live) = (BTreeSet::new(), BTreeSet::new());
    for (rule, verdict) in rules.iter().zip(verdicts(&configuration)) {
        match verdict {
            Verdict::Never(_) | Verdict::NotAsked => {
                dead.insert(rule.id);
            }
            Verdict::Reached(example) => match replay.session(0, &example.session.view(), &example.text) {
                Ok(session) => {
                    live.insert(rule.id);
                    sessions.push(session);
                }
                Err(why) => *figures.not_sent.entry(why).or_default() += 1,
            },
            Verdict::SafetyNet | Verdict::Undecided(_) => figures.undecided += 1,
        }
    }
    let mut hits = BTreeMap::new();
    for session in &sessions {
        figures.commands += session.said.len();
        if let Some(found) = differences(rig, &configuration, session, &mut hits)
            .into_iter()
            .next()
        {
            return Err(found);
        }
    }
    figures.dead += dead.len();
    figures.live += live.len();
    if let Some(wrong) = wrong_hits(rig, &hits) {
        return Err(wrong);
    }
    // The engine counts what `hits` has.
    let matched: BTreeSet<u32> = hits.into_keys().collect();
    if !matched.is_disjoint(&dead) || !matched.is_superset(&live) {
        return Err(format!("matched {matched:?}\n  dead {dead:?}\n  live {live:?}"));
    }
    Ok(())
}
