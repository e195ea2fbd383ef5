//! Where the diagrams of two configurations differ, and whether a statement comes there.
//!
//! # Idea
//!
//! Slice by slice, both sides have one diagram. Where it is the same diagram, nothing differs. Otherwise the pairs of
//! different leaves are a diagram too, and each way through it is a question to the solver: which statement meets these
//! conditions and misses those?
//!
//! * A statement that both evaluators route differently is a difference.
//! * Is there no such statement, the conditions that contradict each other are taken together with all ways that
//!   contain them. Such a contradiction is kept: it holds for every slice.
//! * What the solver cannot decide is noted, and the way is left out.
//!
//! # Invariant
//!
//! Every way that is left out was proved empty, has a witness, or is noted in `undecided`. So the answer is `Proved` only
//! if no way is left and nothing was noted. A contradiction is proved again for exactly the conditions that are kept.
//!
//! # Example
//!
//! The left rules are `^PURGE` to 10, `^PURGE BINARY` to 20; the right ones lack the second rule, which is dead. The pairs
//! have one way: `^PURGE` missed and `^PURGE BINARY` met. No statement does that, so nothing is left: proved.

use super::diagrams::{DiagramId, Leaf, Variable, VariableId, Way};
use super::ends::{ChainEnd, allowed_at_one};
use super::fast_rows;
use super::meaning::Meaning;
use super::path::{Conditions, ExtraConditions, PathQuestion, Test, Users};
use super::slices::{self, Slice};
use super::state::Field;
use super::users::Group;
use super::{Comparison, Pair};
use crate::budget::{Cause, Spent};
use crate::example::Example;
use crate::solver::Answer;

/// Ways that stay undecided before the search for a difference ends.
const MOST_OPEN: usize = 24;
/// One part in so many of the budget may go into the search for more differences when there is one.
const FURTHER_PART: u64 = 50;
/// Conditions of a contradiction that is made smaller one by one.
const MOST_MINIMIZED: usize = 48;
/// What the evaluator does not show in a decision.
const UNSEEN: [Field; 2] = [Field::GTID, Field::MIRROR_FLAG];

/// The comparison of two configurations of engine rules.
pub(super) struct Differ<'p, 'c> {
    pair: &'p Pair<'p, 'c>,
    meaning: Meaning<'c, 'p>,
    conditions: Conditions<'c>,
    slices: Vec<Slice>,
    start_flags: Vec<u32>,
    /// By slice, side and start flag.
    roots: Vec<[Vec<DiagramId>; 2]>,
    /// Steps that were spent when the first difference was known.
    first_difference_at: Option<u64>,
}

/// What is asked about one group of users and one start flag.
struct Asked<'g> {
    group: &'g Group,
    flag: u32,
    /// Ways that need no question any more: contradictions, and ways that have been asked about.
    closed: Vec<Way>,
    open: usize,
}

/// One slice of one group, in which something differs.
struct Differing<'d> {
    slice: Slice,
    pairs: DiagramId,
    extra: &'d ExtraConditions,
    /// A decision shows the difference.
    is_visible: bool,
}

impl<'p, 'c> Differ<'p, 'c> {
    /// Makes the diagrams of both sides.
    pub(super) fn of(pair: &'p Pair<'p, 'c>, start_flags: Vec<u32>) -> Result<Self, Spent> {
        let configurations = [0, 1].map(|side| pair.configuration(side));
        let mut meaning = Meaning::of(configurations, pair.spending);
        let slices = slices::of_rows(configurations.into_iter().flat_map(super::engine_rows));
        let mut roots = Vec::new();
        for &slice in &slices {
            let left = meaning.roots(0, slice, &start_flags)?;
            roots.push([left, meaning.roots(1, slice, &start_flags)?]);
        }
        pair.spending.charge_to(Cause::Whole);
        Ok(Self {
            conditions: Conditions::of(&meaning.rows, configurations, pair.spending),
            pair,
            meaning,
            slices,
            start_flags,
            roots,
            first_difference_at: None,
        })
    }

    /// Whether the rules of both sides are the same function.
    pub(super) fn is_same(&self) -> bool {
        self.roots.iter().all(|[left, right]| left == right)
    }

    /// Looks for differences among the statements of some users.
    pub(super) fn compare(&mut self, group: &Group, comparison: &mut Comparison) -> Result<(), Spent> {
        for at in 0..self.start_flags.len() {
            let mut asked = Asked {
                group,
                flag: self.start_flags[at],
                closed: Vec::new(),
                open: 0,
            };
            let verdicts = [0, 1].map(|side| self.roots[0][side][at]);
            let answered = self
                .meaning
                .diagrams
                .with_leaves(verdicts[0], &mut |leaf| match leaf {
                    Leaf::Verdict { answered, refused } if answered.is_some() || *refused => Leaf::Yes,
                    _ => Leaf::No,
                })?;
            for slice in 0..self.slices.len() {
                self.compare_slice(slice, at, answered, &mut asked, comparison)?;
                if comparison.is_full() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// `answered`: where neither a hostgroup nor an effect counts.
    fn compare_slice(
        &mut self,
        at: usize,
        start: usize,
        answered: DiagramId,
        asked: &mut Asked<'_>,
        comparison: &mut Comparison,
    ) -> Result<(), Spent> {
        let slice = self.slices[at];
        let roots = self.initial(at, start, asked.group)?;
        if roots[0] == roots[1] {
            return Ok(());
        }
        let diagrams = &mut self.meaning.diagrams;
        let mut pairs = diagrams.pairs(roots, &alike)?;
        if slice != Slice::Verdict {
            pairs = diagrams.without(pairs, answered)?;
        }
        let extra = ExtraConditions::default();
        if slice == Slice::End {
            return self.compare_ends(pairs, asked, comparison);
        }
        let is_visible = !UNSEEN.iter().any(|&field| Slice::Column(place(field)) == slice);
        let differing = Differing {
            slice,
            pairs,
            extra: &extra,
            is_visible,
        };
        if self.search(&differing, asked, comparison)? && !is_visible {
            comparison.undecided.insert(
                "`gtid_from_hostgroup` or `mirror_flagOUT`, which a decision does not show".to_owned(),
            );
        }
        Ok(())
    }

    /// The diagrams of a slice, behind what is said of the users' statements before any rule.
    fn initial(&mut self, slice: usize, start: usize, group: &Group) -> Result<[DiagramId; 2], Spent> {
        let mut roots = [0, 1].map(|side| self.roots[slice][side][start]);
        for (side, root) in roots.iter_mut().enumerate() {
            for (&field, &value) in &group.initial[side] {
                if Slice::Column(place(field)) == self.slices[slice] {
                    let effect = slices::Effect::Says(value);
                    let behind = &mut |leaf: &Leaf| effect.before(leaf);
                    *root = self.meaning.diagrams.with_leaves(*root, behind)?;
                }
            }
        }
        Ok(roots)
    }

    /// Chains that end differently: rows of fast routing, and flags that the firewall allows.
    fn compare_ends(
        &mut self,
        pairs: DiagramId,
        asked: &mut Asked<'_>,
        comparison: &mut Comparison,
    ) -> Result<(), Spent> {
        for leaf in self.meaning.diagrams.leaves_of(pairs)? {
            let Some(ends) = self.ends(leaf) else {
                continue;
            };
            let here = self
                .meaning
                .diagrams
                .apply([pairs, pairs], &mut |diagrams, [part, _]| {
                    diagrams.as_leaf(part)?;
                    Some(if part == leaf {
                        leaf
                    } else {
                        diagrams.leaf(Leaf::No)
                    })
                })?;
            let mut differing = Differing {
                slice: Slice::End,
                pairs: here,
                extra: &ExtraConditions::default(),
                is_visible: false,
            };
            for extra in &allowed_at_one([&ends[0], &ends[1]]) {
                let closed = asked.closed.len();
                let of_user = Differing {
                    slice: Slice::End,
                    pairs: here,
                    extra,
                    is_visible: false,
                };
                let comes = self.search(&of_user, asked, comparison)?;
                // What was closed is closed for this user only.
                asked.closed.truncate(closed);
                if comes {
                    comparison
                        .undecided
                        .insert("the flags that the firewall allows".to_owned());
                    break;
                }
            }
            let (questions, complete) = fast_rows::differing([&ends[0], &ends[1]]);
            if !complete && !self.search(&differing, asked, comparison)? {
                // No statement of any session ends here.
                continue;
            }
            if !complete {
                comparison
                    .undecided
                    .insert("the number of rows of fast routing that differ".to_owned());
            }
            for extra in &questions {
                differing = Differing {
                    extra,
                    is_visible: true,
                    ..differing
                };
                let closed = asked.closed.len();
                self.search(&differing, asked, comparison)?;
                // What was closed is closed for these sessions only.
                asked.closed.truncate(closed);
                if comparison.is_full() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn ends(&self, leaf: DiagramId) -> Option<[ChainEnd; 2]> {
        let diagrams = &self.meaning.diagrams;
        let Some(&Leaf::Pair(left, right)) = diagrams.as_leaf(leaf) else {
            return None;
        };
        let end = |leaf: DiagramId| match diagrams.as_leaf(leaf) {
            Some(&Leaf::End(end)) => Some(self.meaning.ends.end(end).clone()),
            _ => None,
        };
        Some([end(left)?, end(right)?])
    }

    /// Asks about every way; true if some statement comes to one of them, or may.
    fn search(
        &mut self,
        differing: &Differing<'_>,
        asked: &mut Asked<'_>,
        comparison: &mut Comparison,
    ) -> Result<bool, Spent> {
        let mut left = differing.pairs;
        for way in asked.closed.clone() {
            left = self.without(left, &way)?;
        }
        let mut comes = false;
        while let Some(way) = self.meaning.diagrams.shortest_way(left)? {
            if comparison.is_full() || asked.open >= MOST_OPEN || self.has_enough(comparison) {
                return Ok(true);
            }
            let closed = match self.ask(&way, differing, asked)? {
                Answer::Empty(takers) => self.contradiction(&way, &takers, differing, asked)?,
                Answer::Undecided(reason) => {
                    let at = self.meaning.diagrams.followed(left, &way);
                    let shown = self.names_default(at, differing.slice, asked.group);
                    comparison.undecided.insert(shown.unwrap_or(reason));
                    asked.open += 1;
                    comes = true;
                    way
                }
                Answer::Witness(example) => {
                    if !differing.is_visible {
                        return Ok(true);
                    }
                    if let Some(difference) = self.pair.difference_of(&example) {
                        comparison.add(difference);
                    }
                    comes = true;
                    way
                }
            };
            left = self.without(left, &closed)?;
            asked.closed.push(closed);
        }
        Ok(comes)
    }

    /// The reason, where one side names the hostgroup that the other takes as the user's default.
    fn names_default(&self, at: DiagramId, slice: Slice, group: &Group) -> Option<String> {
        if slice != Slice::Column(place(Field::HOSTGROUP)) {
            return None;
        }
        let diagrams = &self.meaning.diagrams;
        let &Leaf::Pair(left, right) = diagrams.as_leaf(at)? else {
            return None;
        };
        let named = match [left, right].map(|leaf| diagrams.as_leaf(leaf)) {
            [Some(Leaf::Unchanged), Some(&Leaf::Says(named))]
            | [Some(&Leaf::Says(named)), Some(Leaf::Unchanged)] => named,
            _ => return None,
        };
        let default = |user: &String| -> Option<u64> {
            Some(self.pair.configuration(0).user(user)?.default_hostgroup.0.into())
        };
        let is_default = match &group.users {
            Users::Anybody => named == 0,
            Users::Among(users) => users.iter().any(|user| default(user) == Some(named)),
        };
        is_default.then(|| {
            format!(
                "hostgroup {named}, which a rule of one side names and the other side takes as the user's default: \
                 only sessions that are bound to another hostgroup can tell them apart"
            )
        })
    }

    /// Whether the search for more differences has taken its part of the budget.
    fn has_enough(&mut self, comparison: &Comparison) -> bool {
        let spending = self.pair.spending;
        let now = spending.spent().steps;
        if comparison.differences.is_empty() {
            return false;
        }
        let first = *self.first_difference_at.get_or_insert(now);
        now - first > spending.budget().steps / FURTHER_PART
    }

    fn without(&mut self, diagram: DiagramId, way: &Way) -> Result<DiagramId, Spent> {
        let cube = self.meaning.diagrams.cube(way)?;
        self.meaning.diagrams.without(diagram, cube)
    }

    /// Whether a statement takes a way; if the difference is visible, one that is routed differently.
    fn ask(&mut self, way: &Way, differing: &Differing<'_>, asked: &Asked<'_>) -> Result<Answer, Spent> {
        let answer = self.solve(way, differing, asked, differing.is_visible)?;
        let draws = |&(variable, _): &(VariableId, bool)| {
            matches!(
                self.meaning.diagrams.variable_of(variable),
                Variable::Draws { .. }
            )
        };
        Ok(match answer {
            Answer::Undecided(_) if way.iter().any(draws) => {
                Answer::Undecided("weighted jumps (flagOUTs) that differ".to_owned())
            }
            answer => answer,
        })
    }

    fn solve(
        &mut self,
        way: &[(VariableId, bool)],
        differing: &Differing<'_>,
        asked: &Asked<'_>,
        visible: bool,
    ) -> Result<Answer, Spent> {
        let spending = self.pair.spending;
        spending.steps(100 + way.len() as u64)?;
        let tests: Vec<Test> = way.iter().filter_map(|&answer| self.test(answer)).collect();
        if let Some(test) = tests.iter().rfind(|test| test.met) {
            let at = self.meaning.rows.position(test.row);
            spending.charge_to(Cause::Rule {
                side: at.side,
                position: at.position,
            });
        }
        let pair = self.pair;
        let accepts = |example: &Example| !visible || pair.difference_of(example).is_some();
        let question = PathQuestion {
            tests: &tests,
            extra: differing.extra,
            users: &asked.group.users,
            flag: asked.flag,
            accepts: &accepts,
        };
        let answer = self.conditions.solve(&self.meaning.rows, pair, &question);
        spending.charge_to(Cause::Whole);
        // Beyond the budget a limit of the solver is none of its own.
        match answer {
            Answer::Undecided(_) => spending.check().map(|()| answer),
            answer => Ok(answer),
        }
    }

    fn test(&self, (variable, met): (VariableId, bool)) -> Option<Test> {
        match self.meaning.diagrams.variable_of(variable) {
            Variable::Matches { row, text } => Some(Test {
                row,
                met,
                text: text.into(),
            }),
            Variable::Draws { .. } => None,
        }
    }

    /// Answers of a way that no statement gives: few, so that many ways contain them.
    fn contradiction(
        &mut self,
        way: &Way,
        takers: &[usize],
        differing: &Differing<'_>,
        asked: &Asked<'_>,
    ) -> Result<Way, Spent> {
        let of_rows: Way = way
            .iter()
            .copied()
            .filter(|&answer| self.test(answer).is_some())
            .collect();
        let needed = of_rows.iter().enumerate();
        let mut small: Way = needed
            .filter(|(at, (_, is_met))| *is_met || takers.contains(at))
            .map(|(_, &answer)| answer)
            .collect();
        if small.len() < of_rows.len() && !self.is_empty(&small, differing, asked)? {
            small = of_rows;
        }
        if small.len() > MOST_MINIMIZED {
            return Ok(small);
        }
        let mut at = 0;
        while at < small.len() && small.len() > 1 {
            let mut fewer = small.clone();
            fewer.remove(at);
            if self.is_empty(&fewer, differing, asked)? {
                small = fewer;
            } else {
                at += 1;
            }
        }
        Ok(small)
    }

    fn is_empty(&mut self, way: &Way, differing: &Differing<'_>, asked: &Asked<'_>) -> Result<bool, Spent> {
        let answer = self.solve(way, differing, asked, false)?;
        Ok(matches!(answer, Answer::Empty(_)))
    }
}

/// An answer or a refusal leaves nothing else to compare, and each refusal is one.
fn alike(left: &Leaf, right: &Leaf) -> bool {
    match (left, right) {
        (
            Leaf::Verdict { answered, refused },
            Leaf::Verdict {
                answered: other,
                refused: also,
            },
        ) => answered == other && (answered.is_some() || refused == also),
        _ => left == right,
    }
}

/// The place of a column that is compared.
fn place(field: Field) -> usize {
    match field {
        Field::Column(place) => place,
        Field::Text | Field::Steps => usize::MAX,
    }
}
