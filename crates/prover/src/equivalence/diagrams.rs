//! Decision diagrams: functions of which rules a statement matches, each made once.
//!
//! # Idea
//!
//! A diagram is a leaf, or a branch that asks one question: does the statement match these conditions? All diagrams ask
//! in one order, never ask what does not matter, and equal ones are made once. So two diagrams are the same function
//! exactly if they have the same number.
//!
//! # Invariant
//!
//! Below a branch only later questions stand, and the two sides of a branch differ. [`Diagrams::apply`] works from the top
//! down over two diagrams at once. It keeps its own stack, because rule sets have thousands of rules in a row.
//!
//! # Example
//!
//! `{1, A, to 10, apply} {2, B, to 20, apply}` is `A ? 10 : (B ? 20 : unchanged)`. If no statement matches A and B, the
//! other order means the same. As functions they differ where A and B match: [`super::differ`] shows that no statement
//! does.

use rustc_hash::{FxHashMap, FxHashSet};

use super::ends::ChainEndId;
use super::rows::RowId;
use crate::budget::{Spending, Spent};

/// A branch, or a leaf if the highest bit is set.
pub(super) type DiagramId = u32;
pub(super) type VariableId = u32;
/// Which rewrites have been made, one behind the other; 0: none.
pub(super) type TextId = u32;
/// A replacement of a pattern.
pub(super) type RewriteId = u32;

/// Answers to questions, in the order of the questions.
pub(super) type Way = Vec<(VariableId, bool)>;

const LEAF: u32 = 1 << 31;
/// Bytes of a branch with its place in the tables, about.
const BRANCH_BYTES: u64 = 72;
/// What a task costs in steps, about: two look-ups, in tables that are too large for caches.
const TASK_STEPS: u64 = 3;
/// What it costs to begin a choice between two diagrams, in steps, about.
const SELECT_STEPS: u64 = 6;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Variable {
    /// Does the statement match the conditions, as the text of this number?
    Matches { row: RowId, text: TextId },
    /// Does the weighted jump take this of its choices?
    Draws { draw: u32, choice: u32 },
}

/// What a diagram ends in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leaf {
    No,
    Yes,
    /// No rule has said anything.
    Unchanged,
    /// The last rule that said something said this.
    Says(u64),
    /// Who answers.
    Verdict {
        answered: Option<u64>,
        refused: bool,
    },
    /// Which rewrites are made, the first one first.
    Rewritten(Vec<RewriteId>),
    End(ChainEndId),
    /// What two diagrams end in, where it is not the same.
    Pair(DiagramId, DiagramId),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Branch {
    variable: VariableId,
    met: DiagramId,
    missed: DiagramId,
}

/// Place of a variable in the order: rewrites before it, place of the rule, number.
type Rank = (u32, u64, u32);

pub(super) struct Diagrams<'s> {
    branches: Vec<Branch>,
    numbers: FxHashMap<Branch, DiagramId>,
    leaves: Vec<Leaf>,
    leaf_numbers: FxHashMap<Leaf, DiagramId>,
    variables: Vec<(Variable, Rank)>,
    variable_numbers: FxHashMap<Variable, VariableId>,
    pub(super) spending: &'s Spending,
}

/// What is left to do in [`Diagrams::apply`].
enum Task {
    Enter([DiagramId; 2]),
    Combine(VariableId, [DiagramId; 2]),
}

/// What a pair of diagrams becomes without looking below it, if that is known.
pub(super) type Resolve<'r> = dyn FnMut(&mut Diagrams<'_>, [DiagramId; 2]) -> Option<DiagramId> + 'r;

/// What a branch becomes whose question and whose two sides, met and missed, have become these.
type Combine<'r> = dyn FnMut(&mut Diagrams<'_>, VariableId, [DiagramId; 2]) -> Result<DiagramId, Spent> + 'r;

impl<'s> Diagrams<'s> {
    pub(super) fn new(spending: &'s Spending) -> Self {
        Self {
            branches: Vec::new(),
            numbers: FxHashMap::default(),
            leaves: Vec::new(),
            leaf_numbers: FxHashMap::default(),
            variables: Vec::new(),
            variable_numbers: FxHashMap::default(),
            spending,
        }
    }

    pub(super) fn leaf(&mut self, leaf: Leaf) -> DiagramId {
        if let Some(&known) = self.leaf_numbers.get(&leaf) {
            return known;
        }
        if let Leaf::Rewritten(rewrites) = &leaf {
            self.charge_text(rewrites.len() as u64);
        }
        let fresh = self.leaves.len() as u32 | LEAF;
        self.leaves.push(leaf.clone());
        self.leaf_numbers.insert(leaf, fresh);
        fresh
    }

    /// A text behind so many rewrites is compared and kept; whoever takes the next step notices a spent budget.
    fn charge_text(&self, rewrites: u64) {
        let _steps = self.spending.steps(rewrites);
        let _bytes = self.spending.bytes(8 * rewrites);
    }

    /// The leaf, if the diagram is one.
    pub(super) fn as_leaf(&self, diagram: DiagramId) -> Option<&Leaf> {
        (diagram & LEAF != 0).then(|| &self.leaves[(diagram & !LEAF) as usize])
    }

    /// The variable; `rank` is its place in the order: rewrites before it and the place of its rule.
    pub(super) fn variable(&mut self, variable: Variable, (rewrites, place): (u32, u64)) -> VariableId {
        let fresh = self.variables.len() as VariableId;
        *self.variable_numbers.entry(variable).or_insert_with(|| {
            self.variables.push((variable, (rewrites, place, fresh)));
            fresh
        })
    }

    pub(super) fn variable_of(&self, variable: VariableId) -> Variable {
        self.variables[variable as usize].0
    }

    fn rank(&self, variable: VariableId) -> Rank {
        self.variables[variable as usize].1
    }

    /// The question of a branch and what follows; `None` for a leaf.
    pub(super) fn branch(&self, diagram: DiagramId) -> Option<(VariableId, DiagramId, DiagramId)> {
        if diagram & LEAF != 0 {
            return None;
        }
        let Branch {
            variable,
            met,
            missed,
        } = self.branches[diagram as usize];
        Some((variable, met, missed))
    }

    fn make(&mut self, variable: VariableId, met: DiagramId, missed: DiagramId) -> Result<DiagramId, Spent> {
        if met == missed {
            return Ok(met);
        }
        let branch = Branch {
            variable,
            met,
            missed,
        };
        if let Some(&known) = self.numbers.get(&branch) {
            return Ok(known);
        }
        self.spending.bytes(BRANCH_BYTES)?;
        let fresh = self.branches.len() as u32;
        if fresh >= LEAF - 1 {
            return Err(Spent);
        }
        self.branches.push(branch);
        self.numbers.insert(branch, fresh);
        Ok(fresh)
    }

    /// The first of the questions of two diagrams.
    fn top(&self, pair: [DiagramId; 2]) -> Option<VariableId> {
        let tops = pair.into_iter().filter_map(|diagram| self.branch(diagram));
        tops.map(|(variable, _, _)| variable)
            .min_by_key(|&variable| self.rank(variable))
    }

    /// What is left of a diagram when the answer to a question, that no earlier one precedes, is known.
    fn restricted(&self, diagram: DiagramId, variable: VariableId, is_met: bool) -> DiagramId {
        match self.branch(diagram) {
            Some((own, met, missed)) if own == variable => {
                if is_met {
                    met
                } else {
                    missed
                }
            }
            _ => diagram,
        }
    }

    /// Two diagrams as one: `resolve` says what a pair becomes. It must answer for two leaves.
    pub(super) fn apply(
        &mut self,
        first: [DiagramId; 2],
        resolve: &mut Resolve<'_>,
    ) -> Result<DiagramId, Spent> {
        self.apply_with(first, resolve, &mut |diagrams, variable, [met, missed]| {
            diagrams.make(variable, met, missed)
        })
    }

    fn apply_with(
        &mut self,
        first: [DiagramId; 2],
        resolve: &mut Resolve<'_>,
        combine: &mut Combine<'_>,
    ) -> Result<DiagramId, Spent> {
        let mut known: FxHashMap<[DiagramId; 2], DiagramId> = FxHashMap::default();
        let mut tasks = vec![Task::Enter(first)];
        let mut done: Vec<DiagramId> = Vec::new();
        while let Some(task) = tasks.pop() {
            self.spending.steps(TASK_STEPS)?;
            match task {
                Task::Enter(pair) => {
                    if let Some(&result) = known.get(&pair) {
                        done.push(result);
                        continue;
                    }
                    let resolved = resolve(self, pair);
                    let Some(top) = self.top(pair).filter(|_| resolved.is_none()) else {
                        done.push(resolved.unwrap_or(pair[0]));
                        continue;
                    };
                    tasks.push(Task::Combine(top, pair));
                    tasks.push(Task::Enter(
                        pair.map(|diagram| self.restricted(diagram, top, false)),
                    ));
                    tasks.push(Task::Enter(
                        pair.map(|diagram| self.restricted(diagram, top, true)),
                    ));
                }
                Task::Combine(variable, pair) => {
                    // `met` was entered last, so it was done first.
                    let missed = done.pop().unwrap_or(first[0]);
                    let met = done.pop().unwrap_or(first[0]);
                    let result = combine(self, variable, [met, missed])?;
                    known.insert(pair, result);
                    done.push(result);
                }
            }
        }
        Ok(done.pop().unwrap_or(first[0]))
    }

    /// `met` where the statement meets the question, `missed` where it does not. The question may stand anywhere in the
    /// order.
    pub(super) fn select(
        &mut self,
        variable: VariableId,
        met: DiagramId,
        missed: DiagramId,
    ) -> Result<DiagramId, Spent> {
        self.spending.steps(SELECT_STEPS)?;
        let own = self.rank(variable);
        let mut failed = None;
        let result = self.apply([met, missed], &mut |diagrams, [met, missed]| {
            if met == missed {
                return Some(met);
            }
            let top = diagrams.top([met, missed]);
            if top.is_some_and(|top| diagrams.rank(top) < own) {
                return None;
            }
            let met = diagrams.restricted(met, variable, true);
            let missed = diagrams.restricted(missed, variable, false);
            let made = diagrams.make(variable, met, missed);
            Some(made.unwrap_or_else(|spent| {
                failed = Some(spent);
                met
            }))
        })?;
        failed.map_or(Ok(result), Err)
    }

    /// The diagram with other leaves.
    pub(super) fn with_leaves(
        &mut self,
        diagram: DiagramId,
        change: &mut dyn FnMut(&Leaf) -> Leaf,
    ) -> Result<DiagramId, Spent> {
        self.apply([diagram, diagram], &mut |diagrams, [diagram, _]| {
            let changed = diagrams.as_leaf(diagram).map(&mut *change)?;
            Some(diagrams.leaf(changed))
        })
    }

    /// The diagram with other leaves and other questions, in the order of those.
    pub(super) fn with_questions(
        &mut self,
        diagram: DiagramId,
        change: &mut dyn FnMut(&Leaf) -> Leaf,
        renamed: &mut dyn FnMut(&mut Diagrams<'_>, VariableId) -> VariableId,
    ) -> Result<DiagramId, Spent> {
        self.apply_with(
            [diagram, diagram],
            &mut |diagrams, [diagram, _]| {
                let changed = diagrams.as_leaf(diagram).map(&mut *change)?;
                Some(diagrams.leaf(changed))
            },
            &mut |diagrams, variable, [met, missed]| {
                let variable = renamed(diagrams, variable);
                diagrams.select(variable, met, missed)
            },
        )
    }

    /// What both end in, where it is not alike.
    pub(super) fn pairs(
        &mut self,
        pair: [DiagramId; 2],
        alike: &dyn Fn(&Leaf, &Leaf) -> bool,
    ) -> Result<DiagramId, Spent> {
        let no = self.leaf(Leaf::No);
        self.apply(pair, &mut |diagrams, [left, right]| {
            if left == right {
                return Some(no);
            }
            let (one, other) = (diagrams.as_leaf(left)?, diagrams.as_leaf(right)?);
            if alike(one, other) {
                return Some(no);
            }
            Some(diagrams.leaf(Leaf::Pair(left, right)))
        })
    }

    /// `diagram` where `mask` is not `Yes`, and `No` elsewhere.
    pub(super) fn without(&mut self, diagram: DiagramId, mask: DiagramId) -> Result<DiagramId, Spent> {
        let (no, yes) = (self.leaf(Leaf::No), self.leaf(Leaf::Yes));
        self.apply([diagram, mask], &mut |_, [diagram, mask]| {
            if diagram == no || mask == yes {
                Some(no)
            } else if mask == no {
                Some(diagram)
            } else {
                None
            }
        })
    }

    /// `Yes` where all answers are these.
    pub(super) fn cube(&mut self, answers: &[(VariableId, bool)]) -> Result<DiagramId, Spent> {
        let mut answers = answers.to_vec();
        answers.sort_by_key(|&(variable, _)| std::cmp::Reverse(self.rank(variable)));
        let no = self.leaf(Leaf::No);
        let mut cube = self.leaf(Leaf::Yes);
        for (variable, is_met) in answers {
            cube = match is_met {
                true => self.make(variable, cube, no)?,
                false => self.make(variable, no, cube)?,
            };
        }
        Ok(cube)
    }

    /// The leaves of a diagram, in ascending order.
    pub(super) fn leaves_of(&self, diagram: DiagramId) -> Result<Vec<DiagramId>, Spent> {
        let parts = self.parts(diagram)?.into_iter();
        let mut leaves: Vec<DiagramId> = parts.filter(|part| part & LEAF != 0).collect();
        leaves.sort_unstable();
        Ok(leaves)
    }

    fn parts(&self, diagram: DiagramId) -> Result<FxHashSet<DiagramId>, Spent> {
        let mut seen = FxHashSet::default();
        let mut open = vec![diagram];
        while let Some(diagram) = open.pop() {
            self.spending.steps(1)?;
            if seen.insert(diagram)
                && let Some((_, met, missed)) = self.branch(diagram)
            {
                open.extend([met, missed]);
            }
        }
        Ok(seen)
    }

    /// The way to a leaf other than `No` that meets the fewest conditions, and among those asks the fewest; `None` if
    /// there is no such leaf.
    pub(super) fn shortest_way(&mut self, diagram: DiagramId) -> Result<Option<Way>, Spent> {
        let no = self.leaf(Leaf::No);
        if diagram == no {
            return Ok(None);
        }
        let costs = self.costs(diagram, no)?;
        let cost = |diagram: DiagramId| costs.get(&diagram).copied().unwrap_or(u64::MAX);
        let mut way = Vec::new();
        let mut at = diagram;
        while let Some((variable, met, missed)) = self.branch(at) {
            let is_met = cost(met).saturating_add(MET) < cost(missed).saturating_add(1);
            way.push((variable, is_met));
            at = if is_met { met } else { missed };
        }
        Ok(Some(way))
    }

    /// Where a way through a diagram leads.
    pub(super) fn followed(&self, diagram: DiagramId, way: &Way) -> DiagramId {
        let mut at = diagram;
        for &(asked, is_met) in way {
            at = self.restricted(at, asked, is_met);
        }
        at
    }

    /// For every part of a diagram, how far it is from it to a leaf other than `no`.
    fn costs(&self, diagram: DiagramId, no: DiagramId) -> Result<FxHashMap<DiagramId, u64>, Spent> {
        let mut costs: FxHashMap<DiagramId, u64> = FxHashMap::default();
        costs.insert(no, u64::MAX);
        let mut open = vec![diagram];
        while let Some(&at) = open.last() {
            self.spending.steps(1)?;
            if costs.contains_key(&at) {
                open.pop();
                continue;
            }
            let Some((_, met, missed)) = self.branch(at) else {
                costs.insert(at, 0);
                open.pop();
                continue;
            };
            match (costs.get(&met), costs.get(&missed)) {
                (Some(&met), Some(&missed)) => {
                    costs.insert(at, met.saturating_add(MET).min(missed.saturating_add(1)));
                    open.pop();
                }
                (known, _) => open.push(if known.is_none() { met } else { missed }),
            }
        }
        Ok(costs)
    }
}

/// What a condition that must match costs a way, in conditions that must not.
const MET: u64 = 1 << 24;
