//! Rule graphs as decision graphs in which equal parts are one node.

use std::collections::{BTreeSet, HashMap};

use shardwright_rules::{Body, Configuration, EngineRule, NativeStep, Rule, told_apart};

use super::ends::{ChainEndId, ChainEnds, FlagIndex};
use super::rows::{RowId, Rows, RulePosition};

/// Nodes of one configuration, restarts counted out; beyond, nothing is compared.
const MOST_NODES: usize = 2_000_000;

pub(super) type NodeId = u32;
pub(super) type StepId = u32;

/// Where an evaluation stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A rule with `apply` ended the rules; nothing is routed at the end, and only the firewall is asked.
    Stop(ChainEndId),
    /// No rule is left.
    End(ChainEndId),
    /// An engine rule is asked.
    Rule {
        row: RowId,
        matched: NodeId,
        failed: NodeId,
    },
    /// An engine rule with weighted jumps: weights with where they lead.
    Draw {
        row: RowId,
        drawn: Vec<(u32, NodeId)>,
        failed: NodeId,
    },
    /// A step of the bundled engine.
    Step { step: StepId, next: NodeId },
}

/// The nodes of both configurations.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    numbers: HashMap<Node, NodeId>,
    /// By conditions and effects, jumps left out.
    pub(super) rows: Rows,
    steps: HashMap<String, StepId>,
    pub(super) step_positions: Vec<RulePosition>,
    pub(super) ends: ChainEnds,
}

impl Graph {
    fn node(&mut self, node: Node) -> NodeId {
        let fresh = u32::try_from(self.nodes.len()).expect("MOST_NODES is below 2^32");
        *self.numbers.entry(node.clone()).or_insert_with(|| {
            self.nodes.push(node);
            fresh
        })
    }

    fn row(&mut self, row: &EngineRule, configuration: &Configuration, first: RulePosition) -> RowId {
        let patterns = row.match_digest.is_some() || row.match_pattern.is_some();
        let plain = EngineRule {
            flag_out: None,
            flag_outs: Vec::new(),
            apply: false,
            comment: None,
            reconnect: None,
            sticky_conn: None,
            cache_timeout_ms: None,
            re_modifiers: if patterns {
                row.re_modifiers
            } else {
                Default::default()
            },
            error_msg: row.error_msg.as_ref().map(|_| String::new()),
            ..row.clone()
        };
        let regex = patterns.then_some(configuration.settings.regex);
        let key = serde_json::to_string(&(plain, regex)).expect("a row is a map with string keys");
        self.rows.id(key, first)
    }

    fn step(&mut self, rule: &Rule, surroundings: &str, first: RulePosition) -> StepId {
        let key = super::step_keys::written(&rule.body) + surroundings;
        let fresh = self.step_positions.len() as StepId;
        *self.steps.entry(key).or_insert_with(|| {
            self.step_positions.push(first);
            fresh
        })
    }

    /// Adds a configuration; gives the node at which statements of each start flag begin, or `None` beyond the limit.
    pub(super) fn add(
        &mut self,
        configuration: &Configuration,
        side: usize,
        start_flags: &[u32],
    ) -> Option<Vec<NodeId>> {
        let rules = &configuration.graph.rules;
        let iterations = configuration.settings.query_processor_iterations as usize;
        if (iterations + 1).saturating_mul(rules.len()) > MOST_NODES {
            return None;
        }
        let index = FlagIndex::of(configuration, &mut self.ends);
        let surroundings = super::step_keys::surroundings(configuration);
        let (marks, answers): (BTreeSet<usize>, BTreeSet<usize>) =
            told_apart(rules).map(|pair| (pair.mark, pair.answer)).unzip();
        let rows: Vec<u32> = rules
            .iter()
            .enumerate()
            .map(|(position, rule)| match &rule.body {
                Body::Engine(row) if answers.contains(&position) => {
                    let everything = EngineRule {
                        match_pattern: None,
                        ..(**row).clone()
                    };
                    let row = self.row(&everything, configuration, RulePosition { side, position });
                    self.rows.set_asks_nothing(row);
                    row
                }
                Body::Engine(row) => self.row(row, configuration, RulePosition { side, position }),
                Body::Native { .. } => self.step(rule, &surroundings, RulePosition { side, position }),
            })
            .collect();
        // By position: the node with the restarts of the last round left, and with one more.
        let mut fewer: Vec<NodeId> = Vec::new();
        for left in 0..=iterations {
            let mut now = vec![0; rules.len()];
            for position in (0..rules.len()).rev() {
                let goes_on = self.next(&index, rules[position].flag_in, position + 1, &now);
                if marks.contains(&position) {
                    // Statements are compared as queries, all of which the next rule takes.
                    now[position] = goes_on;
                    continue;
                }
                let node = match &rules[position].body {
                    Body::Native { .. } => Node::Step {
                        step: rows[position],
                        next: goes_on,
                    },
                    Body::Engine(row) => {
                        let jump = |flag: u32, graph: &mut Self| match left {
                            0 => graph.next(&index, flag, position + 1, &now),
                            _ => graph.next(&index, flag, 0, &fewer),
                        };
                        let row_id = rows[position];
                        match (row.apply, row.flag_out) {
                            (true, flag_out) => Node::Rule {
                                row: row_id,
                                matched: self.stop(&index, flag_out.unwrap_or(rules[position].flag_in)),
                                failed: goes_on,
                            },
                            (false, Some(flag)) => Node::Rule {
                                row: row_id,
                                matched: jump(flag, self),
                                failed: goes_on,
                            },
                            (false, None) if row.draws().next().is_some() => Node::Draw {
                                row: row_id,
                                drawn: row
                                    .draws()
                                    .map(|choice| (choice.weight, jump(choice.id, self)))
                                    .collect(),
                                failed: goes_on,
                            },
                            (false, None) => Node::Rule {
                                row: row_id,
                                matched: goes_on,
                                failed: goes_on,
                            },
                        }
                    }
                };
                now[position] = self.node(node);
            }
            fewer = now;
        }
        Some(
            start_flags
                .iter()
                .map(|&flag| self.next(&index, flag, 0, &fewer))
                .collect(),
        )
    }

    /// The node behind a rule that applies at a flag.
    fn stop(&mut self, index: &FlagIndex, flag: u32) -> NodeId {
        let end = index.stop(flag, &mut self.ends);
        self.node(Node::Stop(end))
    }

    /// The node of the first rule of a chain at or behind `from`.
    fn next(&mut self, index: &FlagIndex, flag: u32, from: usize, nodes: &[NodeId]) -> NodeId {
        match index.next(flag, from) {
            Ok(position) => nodes[position],
            Err(end) => self.node(Node::End(end)),
        }
    }

    /// The step of the bundled engine.
    pub(super) fn step_in<'c>(&self, step: StepId, configurations: [&'c Configuration; 2]) -> &'c NativeStep {
        let RulePosition { side, position } = self.step_positions[step as usize];
        match &configurations[side].graph.rules[position].body {
            Body::Native { step, .. } => step,
            Body::Engine(_) => unreachable!("steps are made of native rules"),
        }
    }
}
