//! Walks two decision graphs side by side and asks the solver wherever they end differently.
//!
//! # Idea
//!
//! One walk is on each graph. A visit holds the two nodes where the walks are, what the rules have said so
//! far on each side (the states), and the tests on the way: which rules matched and which did not.
//!
//! * Both walks are at the same rule: one answer moves both.
//! * They are at different rules: one walk asks its rule, the other waits.
//! * Nodes and states are equal: nothing behind them can differ, because equal parts of the graphs are one
//!   node. The visit is dropped.
//! * Both walks are at an end: [`chain_ends`] compares what the rules said and what the ends add.
//!
//! # Invariant
//!
//! A visit stands for every statement that passes its tests, and such a statement brings each walk to its
//! node in its state. The visits that replace it stand for the same statements, except for those that both
//! sides treat alike. What is not followed (weighted jumps and steps that differ, anything beyond a limit) is
//! noted in `undecided`. So a statement that the sides treat differently is compared at an end, or the answer
//! is not `Proved`.
//!
//! # Example
//!
//! The left graph asks A (`^SELECT.*FOR UPDATE$`, to hostgroup 10, `apply`), then B (`^SELECT`, to 11,
//! `apply`). The right one asks B, then A. Below, `A/B` means: the left walk is at A, the right walk is at B.
//!
//! 1. `A/B`: the left walk asks A. If A matches: `stop/B`, the left state is 10. If not: `B/B`.
//! 2. `B/B`, A failed: one question for both. If B matches, both stop with 11: dropped. If not: `end/A`. A
//!    failed before, so both are at the end in equal states: dropped.
//! 3. `stop/B`, A matched: the right walk asks B. If B fails: `stop/A`. A matched before, so both stop with
//!    10: dropped.
//! 4. If B matches: both stop, the left one with 10, the right one with 11. The solver looks for a statement
//!    that matches A and B. It finds `SELECT a FROM t WHERE id=1 FOR UPDATE`.
//!
//! # Limits
//!
//! Each visit moves at least one walk forward, and the graphs have no cycles, so the walk ends. A pair of
//! nodes is visited once for each path to it. Where many rules without `apply` differ, these are
//! exponentially many: hence the budget, which visits and questions are charged to.

mod chain_ends;

use std::collections::BTreeSet;

use shardwright_rules::{Decision, Outcome};

use super::ends::{ChainEnd, ChainEndId};
use super::graph::{Graph, Node, NodeId};
use super::path::{Conditions, ExtraConditions, PathId, PathQuestion, Paths, Test, Users};
use super::relation::Relation;
use super::rows::{RowId, RulePosition};
use super::state::{Field, StateId, States};
use super::users::Group;
use super::{Comparison, Difference, Pair, steps};
use crate::budget::{Cause, Spent};
use crate::example::Example;
use crate::session::given;
use crate::solver::Answer;

/// What a visit and a question cost, in steps of the budget, about.
const VISIT_STEPS: u64 = 20;
const QUESTION_STEPS: u64 = 100;

/// Both graphs, and what has been made of them.
pub(super) struct Explorer<'p, 'c> {
    pub(super) pair: &'p Pair<'p, 'c>,
    pub(super) graph: Graph,
    pub(super) states: States,
    pub(super) conditions: Conditions<'c>,
    paths: Paths,
    start_flags: Vec<u32>,
    /// Copies of statements run through the rules.
    mirrors: bool,
    /// Where the start flags lead, on each side; `None` beyond the limits.
    roots: Option<[Vec<NodeId>; 2]>,
}

/// Where both walks are.
#[derive(Clone, Copy)]
pub(super) struct PositionPair {
    pub(super) nodes: [NodeId; 2],
    pub(super) states: [StateId; 2],
    pub(super) path: PathId,
    /// The walks have asked different rules, so that a rule may have been asked before.
    parted: bool,
}

/// What one exploration is about, and what it may still do.
pub(super) struct Exploration<'e> {
    pub(super) users: &'e Users,
    pub(super) flag: u32,
}

impl<'p, 'c> Explorer<'p, 'c> {
    pub(super) fn new(pair: &'p Pair<'p, 'c>, start_flags: Vec<u32>) -> Self {
        let configurations = [0, 1].map(|side| pair.configuration(side));
        let mut graph = Graph::default();
        let roots = match [0, 1].map(|side| graph.add(configurations[side], side, &start_flags)) {
            [Some(left), Some(right)] => Some([left, right]),
            _ => None,
        };
        Self {
            conditions: Conditions::of(&graph.rows, configurations, pair.spending),
            pair,
            graph,
            states: States::default(),
            paths: Paths::default(),
            start_flags,
            mirrors: configurations.into_iter().any(super::mirrors),
            roots,
        }
    }

    /// Looks for differences among the statements of some users.
    ///
    /// # Errors
    /// When the budget is spent.
    pub(super) fn explore(&mut self, group: &Group, comparison: &mut Comparison) -> Result<(), Spent> {
        let Some(roots) = self.roots.clone() else {
            comparison
                .undecided
                .insert("so many restarts (mysql-query_processor_iterations) of so many rules".to_owned());
            return Ok(());
        };
        if self.mirrors && roots[0] != roots[1] {
            comparison.undecided.insert(super::MIRRORED.to_owned());
        }
        let states = group
            .initial
            .each_ref()
            .map(|initial| self.states.id(initial.clone()));
        for (at, flag) in self.start_flags.clone().into_iter().enumerate() {
            let first = PositionPair {
                nodes: [roots[0][at], roots[1][at]],
                states,
                path: Paths::START,
                parted: false,
            };
            let mut exploration = Exploration {
                users: &group.users,
                flag,
            };
            self.explore_from(first, &mut exploration, comparison)?;
        }
        Ok(())
    }

    fn explore_from(
        &mut self,
        first: PositionPair,
        exploration: &mut Exploration<'_>,
        comparison: &mut Comparison,
    ) -> Result<(), Spent> {
        let mut open = vec![first];
        while let Some(visit) = open.pop() {
            if comparison.is_full() {
                return Ok(());
            }
            self.pair.spending.steps(VISIT_STEPS)?;
            self.visit(visit, exploration, &mut open, comparison);
        }
        self.pair.spending.check()
    }

    fn visit(
        &mut self,
        at: PositionPair,
        exploration: &mut Exploration<'_>,
        open: &mut Vec<PositionPair>,
        comparison: &mut Comparison,
    ) {
        // Equal nodes decide alike, and equal states have said the same.
        if at.nodes[0] == at.nodes[1] && at.states[0] == at.states[1] {
            return;
        }
        let [left, right] = at.nodes.map(|node| self.graph.nodes[node as usize].clone());
        match (&left, &right) {
            (Node::Stop(a) | Node::End(a), Node::Stop(b) | Node::End(b)) => {
                chain_ends::compare(self, at, [*a, *b], exploration, comparison);
            }
            (Node::Step { step: a, next }, Node::Step { step: b, next: other })
                if a == b && at.states[0] == at.states[1] =>
            {
                // A step reads the state, so equal steps do the same only in equal states.
                let state = self.states.behind_step(at.states[0], *a);
                open.push(PositionPair {
                    nodes: [*next, *other],
                    states: [state, state],
                    ..at
                });
            }
            (Node::Step { .. }, _) | (_, Node::Step { .. }) => {
                // What a step does is not modelled: it counts if any statement comes here at all.
                if self.ask(at, &ExtraConditions::default(), false, exploration, comparison) {
                    let configurations = [self.pair.configuration(0), self.pair.configuration(1)];
                    let steps = [&left, &right].map(|node| match node {
                        Node::Step { step, .. } => Some(self.graph.step_in(*step, configurations)),
                        _ => None,
                    });
                    steps::differ(self.pair, steps, comparison);
                }
            }
            (
                Node::Draw { row, drawn, failed },
                Node::Draw {
                    row: other_row,
                    drawn: others,
                    failed: other_failed,
                },
            ) if row == other_row && weights(drawn) == weights(others) && self.reads_alike(*row, at) => {
                // Draws with the same weights count as one draw: both walks take the same alternative.
                let pairs = drawn.iter().zip(others).map(|(a, b)| [a.1, b.1]);
                self.split_both(at, *row, pairs.collect(), [*failed, *other_failed], open);
            }
            (
                Node::Rule { row, matched, failed },
                Node::Rule {
                    row: other_row,
                    matched: other_matched,
                    failed: other_failed,
                },
            ) if row == other_row && self.reads_alike(*row, at) => {
                let matched = vec![[*matched, *other_matched]];
                self.split_both(at, *row, matched, [*failed, *other_failed], open);
            }
            // The right side has one rule more. If it fails, both walks are at one node again.
            (_, Node::Rule { failed, .. }) if *failed == at.nodes[0] => {
                self.split_one(at, 1, &right, exploration, open, comparison);
            }
            (Node::Rule { .. } | Node::Draw { .. }, _) => {
                self.split_one(at, 0, &left, exploration, open, comparison)
            }
            _ => self.split_one(at, 1, &right, exploration, open, comparison),
        }
    }

    /// Whether a row asks the same of both walks: its pattern over the statement reads the same text.
    fn reads_alike(&self, row: RowId, at: PositionPair) -> bool {
        !self.reads_text(row) || self.states.text(at.states[0]) == self.states.text(at.states[1])
    }

    fn reads_text(&self, row: RowId) -> bool {
        let row = self
            .graph
            .rows
            .row_in(row, [self.pair.configuration(0), self.pair.configuration(1)]);
        row.match_pattern.is_some()
    }

    fn behind(&mut self, state: StateId, row: RowId) -> StateId {
        let configurations = [self.pair.configuration(0), self.pair.configuration(1)];
        let engine_row = self.graph.rows.row_in(row, configurations);
        self.states.behind(state, row, engine_row)
    }

    /// The number of the text that a row reads; of the client's, if it reads none.
    fn text_read(&self, row: RowId, state: StateId) -> u64 {
        if self.reads_text(row) {
            self.states.text(state)
        } else {
            0
        }
    }

    /// Both walks ask the same rule.
    fn split_both(
        &mut self,
        at: PositionPair,
        row: RowId,
        matched: Vec<[NodeId; 2]>,
        failed: [NodeId; 2],
        open: &mut Vec<PositionPair>,
    ) {
        let text = self.text_read(row, at.states[0]);
        let known = self.asked_before(at, row, text);
        if known != Some(false) {
            let states = at.states.map(|state| self.behind(state, row));
            for nodes in matched {
                // Such a visit would be dropped at once: it needs no path.
                if nodes[0] == nodes[1] && states[0] == states[1] {
                    continue;
                }
                let path = self.extend(at.path, row, true, text, known);
                open.push(PositionPair {
                    nodes,
                    states,
                    path,
                    ..at
                });
            }
        }
        if known != Some(true) && !(failed[0] == failed[1] && at.states[0] == at.states[1]) {
            let path = self.extend(at.path, row, false, text, known);
            open.push(PositionPair {
                nodes: failed,
                path,
                ..at
            });
        }
    }

    /// One walk asks a rule while the other waits.
    fn split_one(
        &mut self,
        at: PositionPair,
        side: usize,
        node: &Node,
        exploration: &Exploration<'_>,
        open: &mut Vec<PositionPair>,
        comparison: &mut Comparison,
    ) {
        let (row, matched, failed) = match node {
            Node::Rule { row, matched, failed } => (*row, Some(*matched), *failed),
            Node::Draw { row, failed, .. } => {
                comparison
                    .undecided
                    .insert("weighted jumps (flagOUTs) that differ".to_owned());
                // Only the statements that do not match are followed.
                (*row, None, *failed)
            }
            Node::Stop(_) | Node::End(_) | Node::Step { .. } => return,
        };
        let at = PositionPair { parted: true, ..at };
        let text = self.text_read(row, at.states[side]);
        let known = self.asked_before(at, row, text);
        if let Some(matched) = matched.filter(|_| known != Some(false)) {
            let mut visit = at;
            visit.nodes[side] = matched;
            visit.states[side] = self.behind(at.states[side], row);
            visit.path = self.extend(at.path, row, true, text, known);
            if known.is_some() || self.comes(visit, exploration) {
                open.push(visit);
            }
        }
        if known != Some(true) {
            let mut visit = at;
            visit.nodes[side] = failed;
            visit.path = self.extend(at.path, row, false, text, known);
            open.push(visit);
        }
    }

    fn extend(&mut self, path: PathId, row: RowId, met: bool, text: u64, known: Option<bool>) -> PathId {
        match known {
            // The test is on the path already.
            Some(_) => path,
            None => self.paths.extend(path, Test { row, met, text }),
        }
    }

    /// Whether the path has asked the row of the same text, and what came out.
    fn asked_before(&self, at: PositionPair, row: RowId, text: u64) -> Option<bool> {
        // Side by side, the walks seldom ask a rule twice. If they do, the solver refutes the contradiction.
        if !at.parted {
            return None;
        }
        let mut asked = 0;
        let mut tests = self.paths.tests(at.path).inspect(|_| asked += 1);
        let known = tests.find(|test| test.row == row && test.text == text);
        let _is_noticed_by_the_next_visit = self.pair.spending.steps(asked);
        known.map(|test| test.met)
    }

    /// Whether a statement comes to the place; if `visible`, one that is routed differently, which is added.
    pub(super) fn ask(
        &mut self,
        at: PositionPair,
        extra: &ExtraConditions,
        visible: bool,
        exploration: &mut Exploration<'_>,
        comparison: &mut Comparison,
    ) -> bool {
        let pair = self.pair;
        let accepts = |example: &Example| !visible || pair.difference_of(example).is_some();
        match self.answer(at, extra, &accepts, exploration) {
            Answer::Empty(_) => false,
            // A statement may come here, and the caller must not take it for proved that none does.
            Answer::Undecided(reason) => {
                comparison.undecided.insert(reason);
                true
            }
            Answer::Witness(example) => {
                if let Some(difference) = pair.difference_of(&example).filter(|_| visible) {
                    comparison.add(difference);
                }
                true
            }
        }
    }

    /// Remembers a statement that comes to the place, where the first side refuses it and the second sends it.
    pub(super) fn note_stricter(
        &mut self,
        at: PositionPair,
        exploration: &Exploration<'_>,
        comparison: &mut Comparison,
    ) {
        if !comparison.stricter.asks() {
            return;
        }
        let pair = self.pair;
        let accepts = |example: &Example| {
            let decided = pair.decided(&example.session.clone().into(), &example.text);
            is_stricter(&decided)
        };
        if let Answer::Witness(example) = self.answer(at, &ExtraConditions::default(), &accepts, exploration)
        {
            let decided = pair.decided(&example.session.clone().into(), &example.text);
            comparison.stricter.add(decided);
        }
    }

    /// Whether a statement may come to the place. A refinement compares trees that share no rule: of two that are laid out
    /// differently, most pairs of branches have no statement, and each would be followed to its leaves.
    fn comes(&mut self, at: PositionPair, exploration: &Exploration<'_>) -> bool {
        let asks = self.pair.relation == Relation::Refines;
        let any = |_: &Example| true;
        !asks
            || !matches!(
                self.answer(at, &ExtraConditions::default(), &any, exploration),
                Answer::Empty(_)
            )
    }

    /// A statement that comes to the place and is accepted.
    fn answer(
        &mut self,
        at: PositionPair,
        extra: &ExtraConditions,
        accepts: &dyn Fn(&Example) -> bool,
        exploration: &Exploration<'_>,
    ) -> Answer {
        let _is_noticed_by_the_next_visit = self.pair.spending.steps(QUESTION_STEPS);
        let mut tests: Vec<Test> = self.paths.tests(at.path).collect();
        // The path gives the last test first.
        tests.reverse();
        if let Some(test) = tests.iter().rfind(|test| test.met) {
            let RulePosition { side, position } = self.graph.rows.position(test.row);
            self.pair.spending.charge_to(Cause::Rule { side, position });
        }
        let asked = PathQuestion {
            tests: &tests,
            extra,
            users: exploration.users,
            flag: exploration.flag,
            accepts,
        };
        let answer = self.conditions.solve(&self.graph.rows, self.pair, &asked);
        self.pair.spending.charge_to(Cause::Whole);
        answer
    }

    pub(super) fn chain_end(&self, end: ChainEndId) -> &ChainEnd {
        self.graph.ends.end(end)
    }

    /// The users whose statements can come to a place: one that a rule on the path asks for, or all.
    pub(super) fn users_at(&self, at: PositionPair, exploration: &Exploration<'_>) -> Users {
        let configurations = [self.pair.configuration(0), self.pair.configuration(1)];
        let mut met = self.paths.tests(at.path).filter(|test| test.met);
        let asked = met.find_map(|test| given(&self.graph.rows.row_in(test.row, configurations).username));
        match asked {
            Some(user) => Users::Among(BTreeSet::from([user.to_owned()])),
            None => exploration.users.clone(),
        }
    }

    pub(super) fn outcomes(&self, at: PositionPair) -> [std::collections::BTreeMap<Field, u64>; 2] {
        at.states.map(|state| self.states.outcome(state))
    }
}

fn is_stricter(decided: &Difference) -> bool {
    let of = |decision: &Option<Decision>| decision.as_ref().map(|decision| decision.outcome.clone());
    matches!(
        (of(&decided.left), of(&decided.right)),
        (Some(Outcome::Reject(_)), Some(Outcome::Route(_)))
    )
}

fn weights(drawn: &[(u32, NodeId)]) -> Vec<u32> {
    drawn.iter().map(|(weight, _)| *weight).collect()
}
