//! The conditions that were met and missed on the way to a place in both graphs, and statements that satisfy them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use shardwright_rules::decide::Index;
use shardwright_rules::{Configuration, EngineRule};

use super::Pair;
use super::rows::{RowId, Rows, RulePosition};
use crate::budget::Spending;
use crate::condition::Condition;
use crate::example::Example;
use crate::languages::Languages;
use crate::question::Question;
use crate::session::{Session, SessionValues, common_listeners, given};
use crate::solver::{Answer, Target, solve_for};

/// Users that are tried one by one where rules ask for users.
const MOST_USERS: usize = 512;

pub(super) type PathId = usize;

/// A condition that was met, or not, when the statement was the text of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) row: RowId,
    pub(super) met: bool,
    pub(super) text: u64,
}

/// Paths through both graphs, each an extension of another.
#[derive(Default)]
pub(super) struct Paths {
    links: Vec<(PathId, Test)>,
}

impl Paths {
    /// The path without a test.
    pub(super) const START: PathId = 0;

    pub(super) fn extend(&mut self, path: PathId, test: Test) -> PathId {
        self.links.push((path, test));
        self.links.len()
    }

    /// The tests, last first.
    pub(super) fn tests(&self, path: PathId) -> impl Iterator<Item = Test> {
        let mut at = path;
        std::iter::from_fn(move || {
            let &(before, test) = self.links.get(at.checked_sub(1)?)?;
            at = before;
            Some(test)
        })
    }
}

/// Whose statements are asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Users {
    /// Anybody's: no users are configured.
    Anybody,
    /// Theirs.
    Among(BTreeSet<String>),
}

/// Conditions in addition to those of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtraConditions {
    pub(super) must: Vec<EngineRule>,
    pub(super) must_not: Vec<EngineRule>,
}

/// What is asked about one path.
pub(super) struct PathQuestion<'q> {
    /// In the order in which the rules were asked.
    pub(super) tests: &'q [Test],
    pub(super) extra: &'q ExtraConditions,
    pub(super) users: &'q Users,
    /// The flag that the statement starts at.
    pub(super) flag: u32,
    /// Whether a statement that was found is one that is sought.
    pub(super) accepts: &'q dyn Fn(&Example) -> bool,
}

/// The conditions of rows, made when they are first asked about.
pub(super) struct Conditions<'c> {
    pub(super) languages: Languages,
    by_row: Vec<OnceCell<Condition<'c>>>,
    session_values: SessionValues,
}

impl<'c> Conditions<'c> {
    pub(super) fn of(rows: &Rows, configurations: [&'c Configuration; 2], spending: &Rc<Spending>) -> Self {
        let engine_rows = (0..rows.count()).map(|row| rows.row_in(row as RowId, configurations));
        Self {
            languages: Languages::within(spending.clone()),
            by_row: (0..rows.count()).map(|_| OnceCell::new()).collect(),
            session_values: SessionValues::of(engine_rows, common_listeners(configurations)),
        }
    }

    fn prepare(&mut self, row: RowId, rows: &Rows, pair: &Pair<'_, 'c>) {
        let cell = &self.by_row[row as usize];
        if cell.get().is_none() {
            let RulePosition { side, position } = rows.position(row);
            let engine_row = rows.row_in(row, [pair.configuration(0), pair.configuration(1)]);
            let patterns = pair.lookups[side].patterns(position);
            let has_digests = pair.configuration(side).digests().is_some();
            let condition = if rows.asks_nothing(row) {
                Condition::met(engine_row)
            } else {
                Condition::of(engine_row, has_digests, patterns, &mut self.languages)
            };
            cell.get_or_init(|| condition);
        }
    }

    /// A statement on the path that is accepted, or a proof that there is no statement on it.
    pub(super) fn solve(&mut self, rows: &Rows, pair: &Pair<'_, 'c>, asked: &PathQuestion<'_>) -> Answer {
        for test in asked.tests {
            self.prepare(test.row, rows, pair);
        }
        let known = |test: &Test| &self.by_row[test.row as usize];
        let conditions: Vec<(Test, &Condition<'c>)> = asked
            .tests
            .iter()
            .filter_map(|test| Some((*test, known(test).get()?)))
            .collect();
        let mut undecided = None;
        let mut takers = BTreeSet::new();
        let (candidates, complete) = self.users(&conditions, asked);
        for user in candidates {
            match self.solve_for_user(&conditions, asked, user, pair) {
                Answer::Witness(example) => return Answer::Witness(example),
                Answer::Undecided(reason) => undecided = Some(reason),
                Answer::Empty(more) => takers.extend(more),
            }
        }
        if !complete {
            undecided.get_or_insert("the number of users that rules name".to_owned());
        }
        undecided.map_or_else(|| Answer::Empty(takers.into_iter().collect()), Answer::Undecided)
    }

    /// The users whose sessions stand for all; `None`: one that no rule asks for. False if some were left out.
    fn users(
        &self,
        conditions: &[(Test, &Condition<'c>)],
        asked: &PathQuestion<'_>,
    ) -> (Vec<Option<String>>, bool) {
        let rows = |met: bool, more: &'_ [EngineRule]| -> BTreeSet<String> {
            let of_path = conditions
                .iter()
                .filter(|(test, _)| test.met == met)
                .map(|(_, condition)| condition.row);
            let names = of_path.chain(more).filter_map(|row| given(&row.username));
            names.map(str::to_owned).collect()
        };
        let wanted = rows(true, &asked.extra.must);
        let avoided = rows(false, &asked.extra.must_not);
        let Users::Among(known) = asked.users else {
            return (vec![None], true);
        };
        if let Some(user) = wanted.first() {
            let possible = wanted.len() == 1 && known.contains(user);
            return (possible.then(|| Some(user.clone())).into_iter().collect(), true);
        }
        let free = known.iter().find(|user| !avoided.contains(*user));
        let excluded = known.iter().filter(|user| avoided.contains(*user));
        let mut candidates: Vec<Option<String>> =
            free.into_iter().chain(excluded).cloned().map(Some).collect();
        let complete = candidates.len() <= MOST_USERS;
        candidates.truncate(MOST_USERS);
        (candidates, complete)
    }

    fn solve_for_user(
        &self,
        conditions: &[(Test, &Condition<'c>)],
        asked: &PathQuestion<'_>,
        user: Option<String>,
        pair: &Pair<'_, 'c>,
    ) -> Answer {
        let of_user = EngineRule {
            username: user,
            ..EngineRule::default()
        };
        let rows = |met: bool| {
            let of_path = conditions.iter().filter(move |(test, _)| test.met == met);
            of_path.map(|(_, condition)| condition.row)
        };
        let must = rows(true)
            .chain(&asked.extra.must)
            .chain(std::iter::once(&of_user));
        let must_not = rows(false).chain(&asked.extra.must_not);
        let sessions = Session::meetings(pair.configuration(0), &self.session_values, must, must_not);
        let mut undecided = None;
        let mut takers = BTreeSet::new();
        for session in sessions {
            match self.solve_in_session(conditions, asked, session, pair) {
                Answer::Witness(example) => return Answer::Witness(example),
                Answer::Undecided(reason) => undecided = Some(reason),
                Answer::Empty(more) => takers.extend(more),
            }
        }
        undecided.map_or_else(|| Answer::Empty(takers.into_iter().collect()), Answer::Undecided)
    }

    fn solve_in_session(
        &self,
        conditions: &[(Test, &Condition<'c>)],
        asked: &PathQuestion<'_>,
        mut session: Session,
        pair: &Pair<'_, 'c>,
    ) -> Answer {
        session.flag = asked.flag;
        if asked.extra.must_not.iter().any(|row| session.satisfies(row)) {
            return Answer::Empty(Vec::new());
        }
        let question = match question(conditions, session) {
            Ok(question) => question,
            Err(takers) => return Answer::Empty(takers),
        };
        let target = Target {
            languages: &self.languages,
            digests: pair.configuration(0).digests().unwrap_or_default(),
            reaches: asked.accepts,
        };
        solve_for(&target, &question)
    }
}

/// The conditions on the statement. If they contradict each other at once: the conditions that it must not meet and does.
fn question(conditions: &[(Test, &Condition<'_>)], session: Session) -> Result<Question, Vec<usize>> {
    let mut question = Question::of(session);
    for (test, condition) in conditions.iter().filter(|(test, _)| test.met) {
        if !question.require(condition, test.text == 0) {
            return Err(Vec::new());
        }
    }
    for (at, (test, condition)) in conditions.iter().enumerate().filter(|(_, (test, _))| !test.met) {
        if !question.exclude(condition, at, test.text == 0) {
            return Err(vec![at]);
        }
    }
    Ok(question)
}
