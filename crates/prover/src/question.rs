//! A path turned into a question: which rules must match, and which must not.

use crate::condition::{Condition, Side, Term};
use crate::languages::Lit;
use crate::paths::JumpPath;
use crate::rule_set::RuleSet;
use crate::session::Session;

/// Rewriting rules on one path that are told apart.
const MOST_REWRITERS: usize = 6;
/// Why a pattern over the statement is left out.
const REWRITTEN: &str = "a rewrite before it";

/// What the statement that is sought shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Match the rule at this position.
    Match(usize),
    /// Leave the rules in the chain of this flag without any rule having placed it.
    FallThrough(u32),
}

/// A rule that the statement must not match: one of the literals must fail.
#[derive(Clone, Debug)]
pub(crate) struct Blocker {
    pub(crate) position: usize,
    pub(crate) lits: Vec<(Side, Lit)>,
}

/// One path with its conditions.
#[derive(Debug)]
pub struct Question {
    pub(crate) session: Session,
    /// What the digest text must match, or must not.
    pub digest: Vec<Lit>,
    /// What the statement must match, or must not.
    pub text: Vec<Lit>,
    pub(crate) blockers: Vec<Blocker>,
    /// What the literals leave out, if anything.
    pub(crate) left_out: Option<String>,
    /// The hash of the digest that a rule asks for.
    hash: Option<u64>,
}

impl Question {
    /// Any statement of this session.
    pub fn of(session: Session) -> Self {
        Self {
            session,
            digest: Vec::new(),
            text: Vec::new(),
            blockers: Vec::new(),
            left_out: None,
            hash: None,
        }
    }

    fn leaves_out(&mut self, what: impl Into<String>) {
        self.left_out.get_or_insert_with(|| what.into());
    }

    /// Adds a rule that the statement must match; false if nothing can.
    pub fn require(&mut self, condition: &Condition<'_>, text_known: bool) -> bool {
        if let Some(wanted) = condition.hash {
            if *self.hash.get_or_insert(wanted) != wanted {
                return false;
            }
            self.leaves_out(format!("which statements have the digest 0x{wanted:016X}"));
        }
        for (side, term) in &condition.terms {
            match (side, term) {
                (_, Term::Always) => {}
                (_, Term::Never) => return false,
                (_, Term::Unknown(reason)) => self.leaves_out(reason.clone()),
                (Side::Text, Term::Lit(_)) if !text_known => self.leaves_out(REWRITTEN),
                (Side::Text, Term::Lit(lit)) => self.text.push(*lit),
                (Side::Digest, Term::Lit(lit)) => self.digest.push(*lit),
            }
        }
        true
    }

    /// Adds a rule that the statement must not match, once all that it must match are there; false if everything matches.
    pub(crate) fn exclude(&mut self, condition: &Condition<'_>, position: usize, text_known: bool) -> bool {
        if !self.session.satisfies(condition.row)
            || condition.is_never()
            || condition.hash.is_some_and(|other| self.hash != Some(other))
        {
            return true;
        }
        let mut lits = Vec::new();
        for (side, term) in &condition.terms {
            match (side, term) {
                (_, Term::Always | Term::Never) => {}
                (_, Term::Unknown(reason)) => {
                    self.leaves_out(reason.clone());
                    return true;
                }
                (Side::Text, Term::Lit(_)) if !text_known => {
                    self.leaves_out(REWRITTEN);
                    return true;
                }
                (side, Term::Lit(lit)) => lits.push((*side, *lit)),
            }
        }
        if lits.is_empty() {
            return false;
        }
        self.blockers.push(Blocker { position, lits });
        true
    }
}

/// What a path asks: a question for the solver, or an answer at once.
#[derive(Debug)]
pub(crate) enum PathQuestion {
    Question(Box<Question>),
    /// These rules take everything, or there is nothing to take.
    Empty(Vec<usize>),
    /// It is undecided, because of this.
    Undecided(String),
}

/// A rule on the path; patterns over the statement count only while nothing can have rewritten it.
#[derive(Clone, Copy)]
struct Member {
    position: usize,
    text_known: bool,
}

/// The questions of a path: one, or one for each rule that may be the last to see the client's text.
pub(crate) fn of_path(set: &RuleSet<'_>, path: &JumpPath, goal: Goal) -> Vec<PathQuestion> {
    let (mut must, mut must_not, mut rewriters) = (Vec::new(), Vec::new(), Vec::new());
    for segment in &path.segments {
        for &position in set.chain(segment.flag) {
            if (segment.from..segment.to).contains(&position) {
                if set.takes(position, segment.restarting) || places_statement(set, goal, position) {
                    must_not.push(position);
                } else if set.rewrites(position) {
                    rewriters.push(position);
                }
            }
        }
        if segment.to < set.rule_count() {
            must.push(segment.to);
        }
    }
    let goal_position = match goal {
        Goal::Match(position) => Some(position),
        Goal::FallThrough(_) => None,
    };
    let jumps = must
        .iter()
        .filter(|&&position| Some(position) != goal_position && set.rewrites(position));
    let jump_rewrites = jumps.count() > 0;
    // A restart asks earlier rules again, a cut path hides some: there any rewrite counts.
    let anywhere = (set.iterations() > 0 || path.cut) && set.rewrites_anywhere;
    let known = |position: usize, first: Option<usize>| first.is_none_or(|first| position <= first);
    let members = |positions: &[usize], first: Option<usize>, all: bool| -> Vec<Member> {
        positions
            .iter()
            .map(|&position| Member {
                position,
                text_known: all && known(position, first),
            })
            .collect()
    };
    if anywhere {
        return path_questions(
            set,
            path,
            &members(&must, None, false),
            &members(&must_not, None, false),
        );
    }
    if rewriters.is_empty() && !jump_rewrites {
        return path_questions(
            set,
            path,
            &members(&must, None, true),
            &members(&must_not, None, true),
        );
    }
    if jump_rewrites || rewriters.len() > MOST_REWRITERS {
        let rewriting_jumps = must.iter().copied().filter(|&position| set.rewrites(position));
        let first = rewriters.iter().copied().chain(rewriting_jumps).min();
        return path_questions(
            set,
            path,
            &members(&must, first, true),
            &members(&must_not, first, true),
        );
    }
    let avoided = [must_not.clone(), rewriters.clone()].concat();
    let mut questions = path_questions(
        set,
        path,
        &members(&must, None, true),
        &members(&avoided, None, true),
    );
    for &rewriter in &rewriters {
        let mut with = must.clone();
        with.push(rewriter);
        let first = Some(rewriter);
        questions.extend(path_questions(
            set,
            path,
            &members(&with, first, true),
            &members(&must_not, first, true),
        ));
    }
    questions
}

/// Whether a match places the statement, where the goal is that nothing does.
fn places_statement(set: &RuleSet<'_>, goal: Goal, position: usize) -> bool {
    let row = set.row(position);
    matches!(goal, Goal::FallThrough(_))
        && row.is_some_and(|row| {
            row.destination_hostgroup.is_some() || row.error_msg.is_some() || row.ok_msg.is_some()
        })
}

/// What is asked about a path: one question for each listener through which statements may come to it.
fn path_questions(
    set: &RuleSet<'_>,
    path: &JumpPath,
    must: &[Member],
    must_not: &[Member],
) -> Vec<PathQuestion> {
    let row = |member: &Member| set.row(member.position);
    let sessions = Session::meetings(
        set.configuration,
        &set.session_values,
        must.iter().filter_map(row),
        must_not.iter().filter_map(row),
    );
    if sessions.is_empty() {
        return vec![if set.mirrors {
            PathQuestion::Undecided("mirrored statements, whose sessions have no address".to_owned())
        } else {
            PathQuestion::Empty(Vec::new())
        }];
    }
    let questions = sessions.into_iter();
    questions
        .map(|session| path_question(set, path, must, must_not, session))
        .collect()
}

fn path_question(
    set: &RuleSet<'_>,
    path: &JumpPath,
    must: &[Member],
    must_not: &[Member],
    mut session: Session,
) -> PathQuestion {
    let first = path.segments.first().map_or(0, |segment| segment.flag);
    session.flag = if set.start_flags.contains(&first) {
        first
    } else {
        0
    };
    let mut question = Question::of(session);
    question.left_out = path
        .cut
        .then(|| "restarts that are used up in a cycle".to_owned());
    for member in must {
        let Some(condition) = &set.conditions[member.position] else {
            question.leaves_out("a step of the bundled engine");
            continue;
        };
        if !question.require(condition, member.text_known) {
            return PathQuestion::Empty(Vec::new());
        }
    }
    for member in must_not {
        let Some(condition) = &set.conditions[member.position] else {
            continue;
        };
        if !question.exclude(condition, member.position, member.text_known) {
            return PathQuestion::Empty(vec![member.position]);
        }
    }
    PathQuestion::Question(Box::new(question))
}
