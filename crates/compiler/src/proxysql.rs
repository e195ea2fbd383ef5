//! ProxySQL: everything in engine rules. Sections are chains; what a section does not decide it hands to the next.

mod classes;
mod column_map;
mod comment_map;
mod conditions;
mod effects;
pub(crate) mod firewall;
pub(crate) mod forced;
mod forms;
mod guard;
mod missing;
mod otherwise;
mod plan;
pub(crate) mod refusals;
pub(crate) mod refuser;
mod rewrite;
mod role;
mod schema_map;
mod sessions;
mod split;
mod tree;
mod user_map;

use std::collections::HashMap;

use shardwright_layout::Price;
use shardwright_rules::{Address, EngineRule, HostgroupId, Modifiers, RegexEngine};
use shardwright_topology::model::{BlockPlace, Origins, Topology};

use crate::assemble::{DraftRoute, Sequence};
use crate::bundled::{self, Slot};
use crate::draft::{ChainRef, Draft, DraftRule};
use crate::native::Program;
use crate::report::Report;
pub(crate) use plan::{Choosing, MapPlan, shaped_name};
use refusals::{Reason, Refusals};
use tree::TreeKey;

/// Where evaluation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target {
    /// Nowhere: what is decided so far holds, else the user's cluster.
    Stop,
    /// In a chain.
    Jump(ChainRef),
}

/// How the statements of one user reach the tree of one map, for `--stats`.
#[derive(Clone, Debug)]
pub(crate) struct MapTree {
    /// Place of the map among the maps of the program.
    pub map: usize,
    /// The leaves: chain, place in it, and the entry that they decide.
    pub leaves: Vec<(ChainRef, u32, u32)>,
}

/// The rules of ProxySQL before they have numbers.
pub(crate) struct Lowered {
    /// Rules in order, without those still in `draft`.
    pub sequence: Sequence,
    /// The chains, for their names; their rules are in the sequence.
    pub draft: Draft,
    /// The trees of comment maps.
    pub trees: Vec<MapTree>,
    /// What was chosen for each map, in the order of the program's maps.
    pub plans: Vec<MapPlan>,
    /// The user that the figures are for, by place of the map.
    pub reference_users: HashMap<usize, String>,
    /// Number of fast routing rows by place of the map.
    pub rows: HashMap<usize, usize>,
    /// Why executions of prepared statements are refused; each needs a hostgroup.
    pub reasons: Vec<Reason>,
}

/// What the first chain of a map depends on: the map, where it hands statements on without a key, on a shard and on
/// another cluster, policies, and the users or session schemas that count.
type MapKey = (usize, [Target; 3], Vec<usize>, Vec<String>);

/// Chains under construction, and what they are built from.
pub(crate) struct Lowering<'a, 'r> {
    program: &'a Program,
    report: &'a mut Report<'r>,
    draft: Draft,
    plans: Vec<MapPlan>,
    routes: Vec<DraftRoute>,
    rows: HashMap<usize, usize>,
    /// Chains that are built already, by what they depend on.
    trees: HashMap<TreeKey, ChainRef>,
    tree_leaves: Vec<MapTree>,
    /// Whether the engine matches patterns by automata, which repeat groups for nothing.
    automata: bool,
    /// The library that matches patterns.
    regex: RegexEngine,
    /// Where statements go on whose key is unknown or missing and which have a cluster all the same.
    placed: Target,
    map_chains: HashMap<MapKey, ChainRef>,
    rewrites: HashMap<(String, String, Target), ChainRef>,
    /// Chains that take the predicate out, by the name of the map and what follows.
    predicates: HashMap<(String, Target), ChainRef>,
    /// Effects that rules can express, by place in the program.
    effects: Vec<usize>,
    /// The effects on a cluster, where that has been asked.
    cluster_effects: HashMap<String, Vec<effects::Use>>,
    effect_chains: HashMap<(Vec<effects::Use>, Target), ChainRef>,
    refusals: Refusals,
    /// Where statements go on that no section has placed.
    end: Target,
    /// The first rule id of the project's range.
    first_id: u32,
    price: Price,
}

/// Lowers a program to engine rules.
pub(crate) fn lower(
    program: &Program,
    topology: &Topology,
    origins: &Origins,
    (choosing, first_id, regex): (Choosing<'_>, u32, RegexEngine),
    report: &mut Report<'_>,
) -> Lowered {
    let mut draft = Draft::new();
    let has_last = program
        .blocks
        .iter()
        .any(|block| block.at == BlockPlace::AfterAll && !block.rules.is_empty());
    let last = has_last.then(|| draft.chain("query_rules.after_all"));
    let plans = plan::plans(program, topology, choosing, report);
    let mut lowering = Lowering::new(program, report, draft, (plans, choosing.price));
    lowering.end = last.map_or(Target::Stop, Target::Jump);
    lowering.first_id = first_id;
    lowering.regex = regex;
    let guards = lowering.annotation_guards();
    lowering.check_effects();
    let reference_users = lowering.entries();
    if let (Some(last), true) = (last, lowering.draft.get(Draft::START).rules.is_empty()) {
        // Nothing else is compiled: raw rules at the end are reached from the start.
        let name = "query_rules.after_all".to_owned();
        let rule = DraftRule::jumping(
            name.clone(),
            &Address::new("query_rules"),
            EngineRule::default(),
            last,
        );
        lowering.draft.push(Draft::START, rule);
    }
    lowering.finish(guards, last, origins, reference_users)
}

impl<'a, 'r> Lowering<'a, 'r> {
    fn new(
        program: &'a Program,
        report: &'a mut Report<'r>,
        draft: Draft,
        (plans, price): (Vec<MapPlan>, Price),
    ) -> Self {
        Self {
            program,
            report,
            draft,
            plans,
            routes: Vec::new(),
            rows: HashMap::new(),
            trees: HashMap::new(),
            tree_leaves: Vec::new(),
            automata: false,
            regex: RegexEngine::Pcre,
            placed: Target::Stop,
            map_chains: HashMap::new(),
            rewrites: HashMap::new(),
            predicates: HashMap::new(),
            effects: Vec::new(),
            cluster_effects: HashMap::new(),
            effect_chains: HashMap::new(),
            refusals: Refusals::default(),
            end: Target::Stop,
            first_id: 0,
            price,
        }
    }
}

impl Lowering<'_, '_> {
    fn finish(
        mut self,
        guards: Vec<DraftRule>,
        last: Option<ChainRef>,
        origins: &Origins,
        reference_users: HashMap<usize, String>,
    ) -> Lowered {
        let marker = DraftRule::engine(
            "rest".to_owned(),
            &Address::new("query_rules"),
            EngineRule::default(),
        );
        // In front of the first section is in front of everything that is compiled.
        let first = self
            .program
            .maps
            .first()
            .map(|map| map.origin)
            .or_else(|| self.program.roles.first().map(|policy| policy.origin));
        let compiled_rules = match first {
            Some(first) => Slot::Compiled(first, marker),
            None => Slot::Mark(marker),
        };
        let order = bundled::with_blocks(vec![compiled_rules], &self.program.blocks, origins, self.report);
        let mut sequence = Sequence::default();
        let mut guards = Some(guards);
        let count = guards.as_ref().map_or(0, Vec::len);
        if !guard::would_renumber(&order, count, self.first_id) {
            sequence.chain(Draft::START, guards.take().unwrap_or_default());
        }
        let mut compiled = false;
        for slot in order {
            match slot {
                Slot::Block(block) => sequence.block(block, last.filter(|_| compiled)),
                Slot::Step(..) | Slot::Compiled(..) | Slot::Mark(_) => {
                    if let Some(guards) = guards.take() {
                        self.report_late_guards(&guards);
                        sequence.chain(Draft::START, guards);
                    }
                    sequence.rest(&mut self.draft);
                    compiled = true;
                }
            }
        }
        for chain in self.refusals.chains() {
            let rules = self.draft.take(chain);
            sequence.chain(chain, rules);
        }
        if let Some(route) = self.routes.first() {
            // The engine skips fast routing when its highest rule has apply = 1, matched or not (ProxySQL #5620).
            let tail = DraftRule::engine(
                "fast_routing.tail".to_owned(),
                &route.address.clone(),
                EngineRule {
                    comment: Some("the highest rule must not apply, or fast routing is skipped".to_owned()),
                    ..EngineRule::default()
                },
            );
            sequence.chain(route.chain, vec![tail]);
        }
        sequence.routes(self.routes);
        Lowered {
            sequence,
            draft: self.draft,
            trees: self.tree_leaves,
            plans: self.plans,
            reference_users,
            rows: self.rows,
            reasons: self.refusals.into_reasons(),
        }
    }

    /// Adds a rule that goes on to a target.
    fn go(&mut self, chain: ChainRef, name: &str, address: &Address, rule: EngineRule, target: Target) {
        let name = format!("{}/{name}", self.draft.get(chain).name);
        let rule = match target {
            Target::Stop => DraftRule::engine(name, address, EngineRule { apply: true, ..rule }),
            Target::Jump(to) => DraftRule::jumping(name, address, rule, to),
        };
        self.draft.push(chain, rule);
    }

    /// The writer and reader hostgroups of a cluster.
    fn hostgroups(&self, cluster: &str) -> (HostgroupId, Option<HostgroupId>) {
        let cluster = self.program.cluster(cluster).expect("references are resolved");
        (cluster.writer, cluster.reader)
    }
}

/// A rule that searches the statement with case.
fn text_rule(pattern: String) -> EngineRule {
    EngineRule {
        match_pattern: Some(pattern),
        re_modifiers: Modifiers {
            caseless: false,
            global: false,
        },
        ..EngineRule::default()
    }
}

/// A rule that searches the digest text without case.
fn digest_rule(pattern: impl Into<String>) -> EngineRule {
    EngineRule {
        match_digest: Some(pattern.into()),
        ..EngineRule::default()
    }
}
