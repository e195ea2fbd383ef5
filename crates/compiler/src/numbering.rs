//! Rules in their final order get ids, chains get flags.
//!
//! Chains of a draft go into a [`Sequence`] in the order of evaluation; [`Sequence::number`] gives a [`Numbered`] graph.

mod rule_ids;

use std::collections::{HashMap, HashSet};

use shardwright_ids::{Lock, Probe};
use shardwright_rules::{
    Address, Body, EngineRule, FastRoute, FlagOutChoice, RefusingHostgroup, Rule, RuleGraph,
};
use shardwright_topology::model::{IdRanges, OriginId};

use crate::diagnostics::{Diagnostics, NUMBERS};
use crate::draft::{ChainRef, Draft, DraftRoute, DraftRule, Stretch};
use crate::program::{RawBlock, RawRow};

/// Rules of all chains in the order of evaluation.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    rules: Vec<SequencedRule>,
    routes: Vec<DraftRoute>,
    raw_routes: Vec<WrittenRoute>,
}

/// A row of fast routing that is written, with the chain that its flag 0 means where that is not the first.
#[derive(Debug)]
struct WrittenRoute {
    origin: OriginId,
    zero: Option<ChainRef>,
    route: FastRoute,
}

/// A graph, and where its rules came from.
pub(crate) struct Numbered {
    /// The rules.
    pub graph: RuleGraph,
    /// Flags of chains.
    pub flags: HashMap<ChainRef, u32>,
    /// For the chains of trees, the positions of their rules in the graph, in the order of the draft.
    pub tree_rules: HashMap<ChainRef, Vec<u32>>,
}

/// Where a rule of a tree stands.
#[derive(Clone, Copy, Debug)]
struct TreePosition {
    root: ChainRef,
    /// How many rules of its chain stand in front of it.
    nth: u32,
}

/// A rule at its place in the order.
#[derive(Debug)]
struct SequencedRule {
    name: String,
    formerly: Option<Box<str>>,
    address: Address,
    shards: Vec<Address>,
    summary: Option<String>,
    /// Where it stands in a tree, if it is part of one.
    tree: Option<TreePosition>,
    /// It is one of the rules that end a chain of a tree.
    ends: bool,
    written: Option<(u32, OriginId)>,
    /// It stands in a block of raw rules.
    is_raw: bool,
    flag: Flag,
    jump: Option<ChainRef>,
    refuses: Option<usize>,
    draws: Vec<(ChainRef, u32)>,
    body: Body,
}

#[derive(Clone, Copy, Debug)]
enum Flag {
    Number(u32),
    Chain(ChainRef),
}

impl Sequence {
    /// Adds rules of a chain under construction.
    pub(crate) fn chain(&mut self, chain: ChainRef, rules: Vec<DraftRule>) {
        self.rules
            .extend(rules.into_iter().map(|rule| sequenced(chain, rule, None)));
    }

    /// Adds the rules of a raw block; `zero` is the chain that its flag 0 means, when that is not the first chain.
    pub(crate) fn block(&mut self, block: &RawBlock, zero: Option<ChainRef>) {
        for row in &block.rules {
            self.rules.push(raw(row, zero));
        }
    }

    /// Adds the rows of fast routing of all raw blocks; `zero` is the chain in which statements end that nothing has placed,
    /// when that is not the first chain. A row of flag 0 is for these, wherever its block stands.
    pub(crate) fn written_routes(&mut self, blocks: &[RawBlock], zero: Option<ChainRef>) {
        // Copies by `mirror_hostgroup` meet no rule: they are looked up at flag 0.
        let copies = |rule: &EngineRule| rule.mirror_hostgroup.is_some() && rule.mirror_flag_out.is_none();
        let copies = |rule: &SequencedRule| matches!(&rule.body, Body::Engine(row) if copies(row));
        let (of_blocks, others): (Vec<_>, Vec<_>) = self
            .rules
            .iter()
            .filter(|rule| copies(rule))
            .partition(|rule| rule.is_raw);
        let looks_up_copies = !of_blocks.is_empty() && others.is_empty();
        for raw in blocks.iter().flat_map(|block| &block.routes) {
            let written = |zero| WrittenRoute {
                origin: raw.origin,
                zero,
                route: raw.route.clone(),
            };
            let moved = zero.filter(|_| raw.route.flag_in == 0);
            self.raw_routes.push(written(moved));
            if moved.is_some() && looks_up_copies {
                self.raw_routes.push(written(None));
            }
        }
    }

    /// Whether the last rule has `apply`.
    pub(crate) fn ends_with_apply(&self) -> bool {
        let last = self.rules.last().map(|rule| &rule.body);
        matches!(last, Some(Body::Engine(rule)) if rule.apply)
    }

    /// Adds rows of fast routing.
    pub(crate) fn routes(&mut self, routes: Vec<DraftRoute>) {
        self.routes.extend(routes);
    }

    /// Adds every other chain of a draft in topological order.
    pub(crate) fn rest(&mut self, draft: &mut Draft) {
        self.from(draft, Draft::START);
    }

    /// Adds the chains that can be reached from one, in topological order.
    pub(crate) fn from(&mut self, draft: &mut Draft, first: ChainRef) {
        for Stretch { chain, rules } in draft.in_order(first) {
            if let Some(rules) = draft.take_tree(chain) {
                let rules = rules.into_iter();
                self.rules.extend(rules.map(|member| {
                    let tree = TreePosition {
                        root: chain,
                        nth: member.nth,
                    };
                    sequenced(member.chain, member.rule, Some(tree))
                }));
            } else if !draft.is_branch(chain) {
                let rules = draft.take_first(chain, rules.len());
                self.chain(chain, rules);
            }
        }
    }

    /// Gives out ids and flags and remembers them in `lock`. Without room, rules are left out and reported.
    pub(crate) fn number(
        mut self,
        draft: &Draft,
        ids: &IdRanges,
        lock: &mut Lock,
        refusing: &[RefusingHostgroup],
        report: &mut Diagnostics<'_>,
    ) -> Numbered {
        let flags = self.flags(draft, ids, lock, report);
        let rule_ids = self.rule_ids(ids, lock, report);
        let engine = report.engine;
        lock.forget(&format!("rules.{engine}."));
        let mut graph = RuleGraph::default();
        let mut tree_rules: HashMap<ChainRef, Vec<u32>> = HashMap::new();
        for (rule, id) in self.rules.into_iter().zip(rule_ids) {
            let SequencedRule {
                name,
                formerly: _,
                address,
                shards,
                summary,
                tree,
                ends: _,
                written,
                is_raw: _,
                flag,
                jump,
                refuses,
                draws,
                mut body,
            } = rule;
            if let (Some(TreePosition { nth, .. }), Flag::Chain(chain)) = (tree, flag) {
                let positions = tree_rules.entry(chain).or_default();
                let nth = nth as usize;
                positions.resize(positions.len().max(nth + 1), 0);
                positions[nth] = graph.rules.len() as u32;
            }
            let flag_in = match flag {
                Flag::Number(number) => number,
                Flag::Chain(chain) => flags[&chain],
            };
            if let (Body::Engine(rule), Some(jump)) = (&mut body, jump) {
                rule.flag_out = Some(flags[&jump]);
            }
            if let (Body::Engine(rule), Some(reason)) = (&mut body, refuses) {
                rule.destination_hostgroup = Some(refusing[reason].id.0);
            }
            if let (Body::Engine(rule), false) = (&mut body, draws.is_empty()) {
                let choice = |(chain, weight): (ChainRef, u32)| FlagOutChoice {
                    id: flags[&chain],
                    weight,
                };
                rule.flag_outs = draws.into_iter().map(choice).collect();
            }
            if written.is_none() {
                lock.set(format!("rules.{engine}.{name}"), id);
            }
            graph.rules.push(Rule {
                id,
                address,
                shards,
                summary,
                flag_in,
                body,
            });
        }
        graph.fast_routing = self
            .routes
            .into_iter()
            .map(|route| FastRoute {
                username: route.username,
                schemaname: route.schemaname,
                flag_in: flags[&route.chain],
                hostgroup: route.hostgroup,
                address: route.address,
            })
            .collect();
        graph.fast_routing.sort();
        for written in self.raw_routes {
            written_route(written, &flags, &mut graph.fast_routing, report);
        }
        Numbered {
            graph,
            flags,
            tree_rules,
        }
    }

    fn flags(
        &self,
        draft: &Draft,
        ids: &IdRanges,
        lock: &mut Lock,
        report: &mut Diagnostics<'_>,
    ) -> HashMap<ChainRef, u32> {
        let mut probe = Probe::new((&ids.flags).into());
        probe.take(0);
        for flag in self.rules.iter().flat_map(written_flags) {
            probe.take(flag);
        }
        for raw in self.raw_routes.iter().filter(|raw| raw.zero.is_none()) {
            probe.take(raw.route.flag_in);
        }
        let mut chains: Vec<ChainRef> = Vec::new();
        let mut seen = HashSet::from([Draft::START]);
        let mentioned = self.rules.iter().flat_map(|rule| {
            let own = match rule.flag {
                Flag::Chain(chain) => Some(chain),
                Flag::Number(_) => None,
            };
            let drawn = rule.draws.iter().map(|(chain, _)| *chain);
            own.into_iter().chain(drawn).chain(rule.jump)
        });
        chains.extend(
            mentioned
                .chain(self.routes.iter().map(|route| route.chain))
                .chain(self.raw_routes.iter().filter_map(|raw| raw.zero))
                .filter(|chain| seen.insert(*chain)),
        );
        let engine = report.engine;
        let name = |chain: ChainRef| format!("flags.{engine}.{}", draft.get(chain).name);
        let formerly = |chain: ChainRef| {
            let formerly = draft.get(chain).formerly.as_ref()?;
            lock.get(&format!("flags.{engine}.{formerly}"))
        };
        let mut flags = HashMap::from([(Draft::START, 0)]);
        let (_, fresh): (Vec<_>, Vec<_>) = chains.into_iter().partition(|&chain| {
            lock.get(&name(chain))
                .or_else(|| formerly(chain))
                .filter(|&flag| probe.is_free(flag))
                .is_some_and(|flag| {
                    flags.insert(chain, flag);
                    probe.take(flag)
                })
        });
        let mut fresh: Vec<(String, ChainRef)> =
            fresh.into_iter().map(|chain| (name(chain), chain)).collect();
        fresh.sort();
        for (name, chain) in fresh {
            flags.insert(chain, probe.give(&name).unwrap_or(0));
        }
        if probe.missing() > 0 {
            let message = format!(
                "ids.flags {}-{} has {} numbers, {} too few for the chains of {engine}",
                ids.flags.start(),
                ids.flags.end(),
                probe.size(),
                probe.missing()
            );
            report.exhausted(message);
        }
        lock.forget(&format!("flags.{engine}."));
        for (&chain, &flag) in flags.iter().filter(|(chain, _)| **chain != Draft::START) {
            lock.set(name(chain), flag);
        }
        flags
    }
}

/// Adds a row that is written. A user, a schema and a flag have one row.
fn written_route(
    WrittenRoute { origin, zero, route }: WrittenRoute,
    flags: &HashMap<ChainRef, u32>,
    rows: &mut Vec<FastRoute>,
    report: &mut Diagnostics<'_>,
) {
    let route = FastRoute {
        flag_in: zero.map_or(route.flag_in, |chain| flags[&chain]),
        ..route
    };
    fn key(row: &FastRoute) -> (&str, &str, u32) {
        (&row.username, &row.schemaname, row.flag_in)
    }
    match rows.binary_search_by(|row| key(row).cmp(&key(&route))) {
        Ok(at) => {
            let message = format!(
                "{} has a row of fast routing for the same user, schema and flag",
                rows[at].address
            );
            report.error(NUMBERS, origin, "schemaname", message);
        }
        Err(at) => rows.insert(at, route),
    }
}

fn sequenced(chain: ChainRef, rule: DraftRule, tree: Option<TreePosition>) -> SequencedRule {
    SequencedRule {
        name: rule.name,
        formerly: rule.formerly,
        address: rule.address,
        shards: rule.shards,
        summary: rule.summary,
        tree,
        ends: rule.ends,
        written: None,
        is_raw: false,
        flag: Flag::Chain(chain),
        jump: rule.jump,
        refuses: rule.refuses,
        draws: rule.draws,
        body: rule.body,
    }
}

fn raw(row: &RawRow, zero: Option<ChainRef>) -> SequencedRule {
    let mut rule = row.rule.clone();
    let mut jump = None;
    if let (Some(0), Some(zero)) = (rule.flag_out, zero) {
        rule.flag_out = None;
        jump = Some(zero);
    }
    SequencedRule {
        name: row.address.to_string(),
        formerly: None,
        address: row.address.clone(),
        shards: Vec::new(),
        summary: None,
        tree: None,
        ends: false,
        written: row.rule_id.map(|id| (id, row.origin)),
        is_raw: true,
        flag: match zero {
            Some(chain) if row.flag_in == 0 => Flag::Chain(chain),
            _ => Flag::Number(row.flag_in),
        },
        jump,
        refuses: None,
        draws: Vec::new(),
        body: Body::Engine(Box::new(rule)),
    }
}

fn written_flags(sequenced: &SequencedRule) -> Vec<u32> {
    let Body::Engine(rule) = &sequenced.body else {
        return Vec::new();
    };
    let own = match sequenced.flag {
        Flag::Number(number) => Some(number),
        Flag::Chain(_) => None,
    };
    let EngineRule {
        flag_out,
        flag_outs,
        next_query_flag_in,
        mirror_flag_out,
        ..
    } = &**rule;
    own.into_iter()
        .chain(*flag_out)
        .chain(*next_query_flag_in)
        .chain(*mirror_flag_out)
        .chain(flag_outs.iter().map(|choice| choice.id))
        .collect()
}
