//! Rule graphs as decision graphs in which equal parts are one node.

use std::collections::{BTreeSet, HashMap};

use shardwright_rules::{Body, Configuration, EngineRule, NativeStep, Rule, told_apart};

/// Nodes of one configuration, restarts counted out; beyond, nothing is compared.
const MOST_NODES: usize = 2_000_000;

pub(super) type NodeId = u32;
/// An engine rule's conditions and effects, jumps left out.
pub(super) type RowId = u32;
pub(super) type StepId = u32;
pub(super) type ChainEndId = u32;

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

/// Where a rule or a step stands first.
#[derive(Clone, Copy)]
pub(super) struct RulePosition {
    /// 0 for the first configuration, 1 for the second.
    pub(super) side: usize,
    /// Among the rules of that configuration.
    pub(super) position: usize,
}

/// What the end of a chain decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ChainEnd {
    /// User, schema and hostgroup of the rows of fast routing; sorted.
    pub(super) routes: Vec<(String, String, u32)>,
    /// Users whose firewall allows the flag.
    pub(super) allowed: Vec<String>,
}

/// The nodes of both configurations.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    numbers: HashMap<Node, NodeId>,
    rows: HashMap<String, RowId>,
    pub(super) row_positions: Vec<RulePosition>,
    /// Rows whose pattern every query matches that comes to them.
    asks_nothing: BTreeSet<RowId>,
    steps: HashMap<String, StepId>,
    pub(super) step_positions: Vec<RulePosition>,
    ends: HashMap<ChainEnd, ChainEndId>,
    pub(super) chain_ends: Vec<ChainEnd>,
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
        let fresh = self.row_positions.len() as RowId;
        *self.rows.entry(key).or_insert_with(|| {
            self.row_positions.push(first);
            fresh
        })
    }

    fn step(&mut self, rule: &Rule, surroundings: &str, first: RulePosition) -> StepId {
        let key = super::step_keys::written(&rule.body) + surroundings;
        let fresh = self.step_positions.len() as StepId;
        *self.steps.entry(key).or_insert_with(|| {
            self.step_positions.push(first);
            fresh
        })
    }

    fn chain_end(&mut self, end: ChainEnd) -> ChainEndId {
        let fresh = self.chain_ends.len() as ChainEndId;
        *self.ends.entry(end.clone()).or_insert_with(|| {
            self.chain_ends.push(end);
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
        let index = FlagIndex::of(configuration, self);
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
                    self.asks_nothing.insert(row);
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
                let goes_on = index.next(rules[position].flag_in, position + 1, &now, self);
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
                            0 => index.next(flag, position + 1, &now, graph),
                            _ => index.next(flag, 0, &fewer, graph),
                        };
                        let row_id = rows[position];
                        match (row.apply, row.flag_out) {
                            (true, flag_out) => Node::Rule {
                                row: row_id,
                                matched: index.stop(flag_out.unwrap_or(rules[position].flag_in), self),
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
                .map(|&flag| index.next(flag, 0, &fewer, self))
                .collect(),
        )
    }

    /// The engine rule of a row.
    pub(super) fn row_in<'c>(&self, row: RowId, configurations: [&'c Configuration; 2]) -> &'c EngineRule {
        let RulePosition { side, position } = self.row_positions[row as usize];
        match &configurations[side].graph.rules[position].body {
            Body::Engine(row) => row,
            Body::Native { .. } => unreachable!("rows are made of engine rules"),
        }
    }

    /// Whether every query that comes to the row matches its pattern.
    pub(super) fn asks_nothing(&self, row: RowId) -> bool {
        self.asks_nothing.contains(&row)
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

/// Chains and ends by flag.
struct FlagIndex {
    chains: HashMap<u32, Vec<usize>>,
    ends: HashMap<u32, ChainEndId>,
    no_routes: ChainEndId,
}

impl FlagIndex {
    fn of(configuration: &Configuration, graph: &mut Graph) -> Self {
        let rules = &configuration.graph.rules;
        let mut chains: HashMap<u32, Vec<usize>> = HashMap::new();
        for (position, rule) in rules.iter().enumerate() {
            chains.entry(rule.flag_in).or_default().push(position);
        }
        let last_applies = rules
            .last()
            .is_some_and(|rule| matches!(&rule.body, Body::Engine(row) if row.apply));
        let skipped = configuration.engine.profile().trailing_apply_skips_fast_routing && last_applies;
        let mut ends: HashMap<u32, ChainEnd> = HashMap::new();
        for row in configuration.graph.fast_routing.iter().filter(|_| !skipped) {
            let end = ends.entry(row.flag_in).or_default();
            end.routes
                .push((row.username.clone(), row.schemaname.clone(), row.hostgroup.0));
        }
        for firewall in &configuration.firewall {
            for &flag in &firewall.flags {
                ends.entry(flag).or_default().allowed.push(firewall.user.clone());
            }
        }
        for end in ends.values_mut() {
            end.routes.sort_unstable();
            end.allowed.sort_unstable();
        }
        Self {
            chains,
            no_routes: graph.chain_end(ChainEnd::default()),
            ends: ends
                .into_iter()
                .map(|(flag, end)| (flag, graph.chain_end(end)))
                .collect(),
        }
    }

    /// The node behind a rule that applies at a flag.
    fn stop(&self, flag: u32, graph: &mut Graph) -> NodeId {
        let allowed = match self.ends.get(&flag) {
            Some(&end) => graph.chain_ends[end as usize].allowed.clone(),
            None => Vec::new(),
        };
        let end = graph.chain_end(ChainEnd {
            allowed,
            routes: Vec::new(),
        });
        graph.node(Node::Stop(end))
    }

    /// The node of the first rule of a chain at or behind `from`.
    fn next(&self, flag: u32, from: usize, nodes: &[NodeId], graph: &mut Graph) -> NodeId {
        let chain = self.chains.get(&flag).map_or(&[] as &[usize], Vec::as_slice);
        match chain.get(chain.partition_point(|&position| position < from)) {
            Some(&position) => nodes[position],
            None => {
                let end = self.ends.get(&flag).copied().unwrap_or(self.no_routes);
                graph.node(Node::End(end))
            }
        }
    }
}
