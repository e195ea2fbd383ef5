//! Rule graphs as decision diagrams: what the rules say of a statement, by which conditions it matches.
//!
//! # Idea
//!
//! The rules of a round are taken from the last to the first. What the rules say from one rule on is: if its conditions
//! hold, its effect and then what follows where it leads; otherwise what the next rule of its chain says. Round 0 has no
//! restarts left: a jump goes on behind the rule. In round n a jump goes to the beginning of round n-1.
//!
//! A rule that rewrites the text puts itself in front of every later question about the text.
//!
//! # Invariant
//!
//! Round n+1 follows from round n in the same way as round n from round n-1, for n above 0. So when a round comes out like
//! an earlier one, all later rounds repeat, and a million restarts cost no more than a few.
//!
//! # Example
//!
//! `{1, ^SELECT, flagOUT 0} {2, ^UPDATE, to 20, apply}`, a million restarts. Round 0: `^UPDATE ? 20 : unchanged`, with
//! rule 1 in front, which changes nothing. In round 1 rule 1 leads to round 0, and the rest is the same: round 1 is equal
//! to round 0, so every round is.

use std::collections::{BTreeSet, HashMap};

use shardwright_rules::{Body, Configuration, EngineRule, told_apart};

use super::diagrams::{DiagramId, Diagrams, Leaf, RewriteId, TextId, Variable, VariableId};
use super::ends::{ChainEndId, ChainEnds, FlagIndex};
use super::rows::{RowId, Rows, RulePosition};
use super::slices::{self, Effect, Slice, Texts};
use crate::budget::{Cause, Spending, Spent};
use crate::session::given;

/// Rounds that are kept to find out that they repeat.
const MOST_KEPT: usize = 16;

/// A rule as it is asked.
struct Asked {
    /// Its conditions; `None` if every query meets them.
    row: Option<RowId>,
    rewrite: Option<RewriteId>,
    /// The rule puts a mark in front of the text, for the next rule alone, which every query meets.
    is_mark: bool,
    /// The number of these weighted jumps behind these conditions.
    draw: u32,
}

/// Both configurations, prepared, and their diagrams.
pub(super) struct Meaning<'c, 's> {
    configurations: [&'c Configuration; 2],
    pub(super) rows: Rows,
    pub(super) ends: ChainEnds,
    pub(super) diagrams: Diagrams<'s>,
    asked: [Vec<Asked>; 2],
    indexes: [FlagIndex; 2],
    texts: Texts,
    questions: Questions,
    /// By draw and round: the number that its questions have.
    draws: HashMap<(u32, u32), u32>,
    /// What an effect and a rewrite make of a diagram.
    behind: HashMap<(Effect, Option<RewriteId>, DiagramId), DiagramId>,
}

/// What questions are about, and their order.
#[derive(Default)]
struct Questions {
    /// Sequences of rewrites.
    sequences: HashMap<(RewriteId, TextId), TextId>,
    /// By text: the number of rewrites.
    depths: Vec<u32>,
    /// By row: its place in the order.
    places: Vec<u64>,
    /// By row: it asks about the text, which rewrites change.
    reads_text: Vec<bool>,
}

impl Questions {
    /// The text that `text` is when the client's statement is rewritten first.
    fn rewritten(&mut self, rewrite: RewriteId, text: TextId) -> TextId {
        let fresh = self.depths.len() as TextId;
        let depth = self.depths[text as usize] + 1;
        *self.sequences.entry((rewrite, text)).or_insert_with(|| {
            self.depths.push(depth);
            fresh
        })
    }

    fn matches(&self, diagrams: &mut Diagrams<'_>, row: RowId, text: TextId) -> VariableId {
        let rank = (self.depths[text as usize], self.places[row as usize]);
        diagrams.variable(Variable::Matches { row, text }, rank)
    }
}

impl<'c, 's> Meaning<'c, 's> {
    /// Of engine rules alone: a step of the bundled engine has no conditions that diagrams could ask.
    pub(super) fn of(configurations: [&'c Configuration; 2], spending: &'s Spending) -> Self {
        let (mut rows, mut ends) = (Rows::default(), ChainEnds::default());
        let mut numbers = [HashMap::new(), HashMap::new()];
        let asked = [0, 1].map(|side| asked(configurations[side], side, &mut rows, &mut numbers));
        let mut questions = Questions {
            depths: vec![0],
            places: places(&asked, rows.count()),
            ..Questions::default()
        };
        questions.reads_text = (0..rows.count())
            .map(|row| rows.row_in(row as RowId, configurations).match_pattern.is_some())
            .collect();
        Self {
            indexes: configurations.map(|configuration| FlagIndex::of(configuration, &mut ends)),
            configurations,
            rows,
            ends,
            diagrams: Diagrams::new(spending),
            asked,
            texts: Texts::default(),
            questions,
            draws: HashMap::new(),
            behind: HashMap::new(),
        }
    }

    /// What a configuration says of statements that begin at each of some flags.
    pub(super) fn roots(
        &mut self,
        side: usize,
        slice: Slice,
        start_flags: &[u32],
    ) -> Result<Vec<DiagramId>, Spent> {
        let iterations = self.configurations[side].settings.query_processor_iterations;
        let mut last = self.round(side, slice, 0, &[])?;
        let mut kept = std::collections::VecDeque::from([last.clone()]);
        for done in 1..=iterations {
            self.diagrams.spending.bytes(4 * last.len() as u64)?;
            let now = self.round(side, slice, done, &last)?;
            if let Some(at) = kept.iter().position(|earlier| *earlier == now) {
                // The rounds from `at` on repeat.
                let period = kept.len() - at;
                let left = (iterations - done) as usize;
                last.clone_from(&kept[at + left % period]);
                break;
            }
            kept.push_back(now.clone());
            if kept.len() > MOST_KEPT {
                kept.pop_front();
            }
            last = now;
        }
        start_flags
            .iter()
            .map(|&flag| Ok(self.next(side, slice, (flag, 0), &last)))
            .collect()
    }

    /// What is said from each rule on, with so many restarts left; `fewer`: with one less.
    fn round(
        &mut self,
        side: usize,
        slice: Slice,
        left: u32,
        fewer: &[DiagramId],
    ) -> Result<Vec<DiagramId>, Spent> {
        let rules = &self.configurations[side].graph.rules;
        let mut now = vec![0; rules.len()];
        for (position, rule) in rules.iter().enumerate().rev() {
            let spending = self.diagrams.spending;
            spending.charge_to(Cause::Rule { side, position });
            spending.steps(1)?;
            let goes_on = self.next(side, slice, (rule.flag_in, position + 1), &now);
            let asked = &self.asked[side][position];
            let (row_id, rewrite, draw) = (asked.row, asked.rewrite, asked.draw);
            let Body::Engine(row) = &rule.body else {
                unreachable!("only engine rules have a meaning here");
            };
            if asked.is_mark {
                now[position] = goes_on;
                continue;
            }
            let jump = |meaning: &mut Self, flag: u32| match left {
                0 => meaning.next(side, slice, (flag, position + 1), &now),
                _ => meaning.next(side, slice, (flag, 0), fewer),
            };
            let target = match (row.apply, row.flag_out) {
                (true, flag_out) => {
                    let end = self.indexes[side].stop(flag_out.unwrap_or(rule.flag_in), &mut self.ends);
                    self.end(slice, end)
                }
                (false, Some(flag)) => jump(self, flag),
                (false, None) => {
                    let choices: Vec<DiagramId> = row.draws().map(|choice| jump(self, choice.id)).collect();
                    self.drawn((draw, left), row_id, &choices)?.unwrap_or(goes_on)
                }
            };
            let effect = self.texts.effect(slice, row, rewrite);
            let matched = self.behind(effect, rewrite, target)?;
            now[position] = match row_id {
                None => matched,
                Some(row) => {
                    let asks = self.questions.matches(&mut self.diagrams, row, 0);
                    self.diagrams.select(asks, matched, goes_on)?
                }
            };
        }
        Ok(now)
    }

    /// What the first rule of a chain at or behind a position says.
    fn next(
        &mut self,
        side: usize,
        slice: Slice,
        (flag, from): (u32, usize),
        rules: &[DiagramId],
    ) -> DiagramId {
        match self.indexes[side].next(flag, from) {
            Ok(position) => rules[position],
            Err(end) => self.end(slice, end),
        }
    }

    /// What is said where no rule is left.
    fn end(&mut self, slice: Slice, end: ChainEndId) -> DiagramId {
        self.diagrams.leaf(match slice {
            Slice::End => Leaf::End(end),
            Slice::Text => Leaf::Rewritten(Vec::new()),
            Slice::Verdict => Leaf::Verdict {
                answered: None,
                refused: false,
            },
            Slice::Column(_) => Leaf::Unchanged,
        })
    }

    /// Weighted jumps to these choices; `None` without any.
    fn drawn(
        &mut self,
        key: (u32, u32),
        row: Option<RowId>,
        choices: &[DiagramId],
    ) -> Result<Option<DiagramId>, Spent> {
        let Some((&last, others)) = choices.split_last() else {
            return Ok(None);
        };
        let fresh = self.draws.len() as u32;
        let draw = *self.draws.entry(key).or_insert(fresh);
        let place = row.map_or(0, |row| self.questions.places[row as usize]);
        let mut drawn = last;
        for (choice, &led) in others.iter().enumerate().rev() {
            let choice = choice as u32;
            let asks = self
                .diagrams
                .variable(Variable::Draws { draw, choice }, (0, place));
            drawn = self.diagrams.select(asks, led, drawn)?;
        }
        Ok(Some(drawn))
    }

    /// What is said of a statement behind a rule with this effect.
    fn behind(
        &mut self,
        effect: Effect,
        rewrite: Option<RewriteId>,
        then: DiagramId,
    ) -> Result<DiagramId, Spent> {
        if effect == Effect::Nothing && rewrite.is_none() {
            return Ok(then);
        }
        let key = (effect, rewrite, then);
        if let Some(&known) = self.behind.get(&key) {
            return Ok(known);
        }
        let effect = &key.0;
        let mut change = |leaf: &Leaf| effect.before(leaf);
        let questions = &mut self.questions;
        let result = match rewrite {
            None => self.diagrams.with_leaves(then, &mut change)?,
            Some(rewrite) => self
                .diagrams
                .with_questions(then, &mut change, &mut |diagrams, variable| match diagrams
                    .variable_of(variable)
                {
                    Variable::Matches { row, text } if questions.reads_text[row as usize] => {
                        let text = questions.rewritten(rewrite, text);
                        questions.matches(diagrams, row, text)
                    }
                    _ => variable,
                })?,
        };
        self.diagrams.spending.bytes(48)?;
        self.behind.insert(key, result);
        Ok(result)
    }
}

/// The rules of a configuration as they are asked.
fn asked(
    configuration: &Configuration,
    side: usize,
    rows: &mut Rows,
    [rewrites, draws]: &mut [HashMap<String, u32>; 2],
) -> Vec<Asked> {
    let rules = &configuration.graph.rules;
    let (marks, answers): (BTreeSet<usize>, BTreeSet<usize>) =
        told_apart(rules).map(|pair| (pair.mark, pair.answer)).unzip();
    let number = |numbers: &mut HashMap<String, u32>, key: String| {
        let fresh = numbers.len() as u32;
        *numbers.entry(key).or_insert(fresh)
    };
    // One and the same draw can stand twice in one round: each has a number of its own.
    let mut occurrences: HashMap<String, u32> = HashMap::new();
    rules
        .iter()
        .enumerate()
        .map(|(position, rule)| {
            let default = EngineRule::default();
            let row = match &rule.body {
                Body::Engine(row) => row,
                Body::Native { .. } => &default,
            };
            let conditions = conditions(row);
            let is_met = answers.contains(&position) || conditions == EngineRule::default();
            let key = || {
                serde_json::to_string(&(&conditions, configuration.settings.regex))
                    .expect("a row is a map with string keys")
            };
            let weights: Vec<u32> = row.draws().map(|choice| choice.weight).collect();
            // Without choices nothing is drawn.
            let draw = match weights.is_empty() {
                true => 0,
                false => {
                    let drawn = format!("{} {weights:?}", key());
                    let occurrence = occurrences.entry(drawn.clone()).or_insert(0);
                    *occurrence += 1;
                    number(draws, format!("{drawn} {occurrence}"))
                }
            };
            Asked {
                row: (!is_met).then(|| rows.id(key(), RulePosition { side, position })),
                rewrite: slices::rewrites(row).then(|| {
                    let written = (key(), &row.replace_pattern, row.re_modifiers.global);
                    number(rewrites, format!("{written:?}"))
                }),
                is_mark: marks.contains(&position),
                draw,
            }
        })
        .collect()
}

/// What a row asks, without what it does.
fn conditions(row: &EngineRule) -> EngineRule {
    let text = |text: &Option<String>| given(text).map(str::to_owned);
    let patterns = row.match_digest.is_some() || row.match_pattern.is_some();
    let mut conditions = EngineRule {
        username: text(&row.username),
        schemaname: text(&row.schemaname),
        client_addr: text(&row.client_addr),
        proxy_addr: text(&row.proxy_addr),
        proxy_port: row.proxy_port,
        digest: row.digest,
        ..EngineRule::default()
    };
    if patterns {
        conditions.match_digest.clone_from(&row.match_digest);
        conditions.match_pattern.clone_from(&row.match_pattern);
        conditions.negate_match_pattern = row.negate_match_pattern;
        conditions.re_modifiers = row.re_modifiers;
        conditions.re_modifiers.global = false;
    }
    conditions
}

/// By row: its place in the order of questions. It is that of the first configuration; a rule that only the second one has
/// comes behind the rule before it.
fn places([left, right]: &[Vec<Asked>; 2], rows: usize) -> Vec<u64> {
    let mut places = vec![0_u64; rows];
    for (position, asked) in left.iter().enumerate() {
        if let Some(row) = asked.row {
            let place = &mut places[row as usize];
            if *place == 0 {
                *place = (position as u64 + 1) << 32;
            }
        }
    }
    let mut before = 0;
    for (position, asked) in right.iter().enumerate() {
        let Some(row) = asked.row else {
            continue;
        };
        let place = &mut places[row as usize];
        if *place == 0 {
            *place = (before >> 32 << 32) | (position as u64 + 1);
        }
        before = *place;
    }
    places
}
