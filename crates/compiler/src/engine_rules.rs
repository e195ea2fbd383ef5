//! Chains of engine rules for shard maps, policies and effects.
//!
//! The program and the plans of its maps go in ([`Input`]); [`Chains`] come out, with what maps became besides
//! ([`MapOutputs`]). Both engines use this room: ProxySQL for everything that routes, the bundled engine for maps that are
//! laid out in rules. A [`Lowering`] has one value for each job: what is read, what is built, what can be shared, what is
//! reported. Functions that need one of them take that one.
//!
//! The files below build on each other in this order: `chains`; `effects`, `role`, `role_groups`, `rewrite` and `missing`;
//! `tree` and `placement`; one file for each way in which a map finds its key; `maps`, which asks them in turn.

mod agreement;
mod chains;
mod column_map;
mod comment_map;
mod effects;
mod forms;
mod input;
mod keyed_users;
mod maps;
mod missing;
mod otherwise;
mod placement;
mod readers;
mod refusals;
mod refused_shards;
mod rewrite;
mod role;
mod role_groups;
mod role_split;
mod schema_map;
mod schema_names;
mod statement_routes;
mod tree;
mod user_map;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use shardwright_layout::Split;
use shardwright_rules::{Address, EngineRule};

use crate::diagnostics::Diagnostics;
use crate::draft::{ChainRef, DraftRoute};
use crate::program::Program;
pub(crate) use chains::{Chains, Dialect, Target};
pub(crate) use effects::{EffectUse, effect_in_front, usable_effects};
pub(crate) use forms::{hinted, incomplete, statement_rules};
pub(crate) use input::Input;
pub(crate) use maps::{Class, Exits};
pub(crate) use refusals::{MARKED, Reason, Refused};
pub(crate) use rewrite::{doubtful, replacements};
pub(crate) use role::{RoleTargets, usable_policies};
pub(crate) use role_groups::{RoleGroup, reads_alike};
pub(crate) use statement_routes::{RouteEnds, Routed};
pub(crate) use tree::Leaf;

/// Engine rules under construction.
pub(crate) struct Lowering<'p, 'r> {
    /// What the rules are made from.
    pub(crate) input: Input<'p>,
    /// The rules so far.
    pub(crate) chains: Chains,
    /// What maps became besides chains.
    pub(crate) outputs: MapOutputs,
    /// The same as users who only read meet it; none where there are no such users.
    of_readers: Option<&'p Program>,
    /// Chains that can be used again.
    shared: SharedChains,
    /// The same of users who only read.
    shared_of_readers: SharedChains,
    /// What is reported.
    pub(crate) report: &'p mut Diagnostics<'r>,
}

/// What maps became besides chains: rows of fast routing, and what figures are counted from.
#[derive(Debug, Default)]
pub(crate) struct MapOutputs {
    /// Rows of fast routing.
    pub(crate) routes: Vec<DraftRoute>,
    /// Indexes of the maps that have such rows.
    pub(crate) routed_maps: BTreeSet<usize>,
    /// The leaves of trees by index of the map, in the order in which the trees were made.
    pub(crate) trees: Vec<MapTree>,
    /// The two positions of the read/write split by index of the map, if reads go elsewhere.
    pub(crate) splits: BTreeMap<usize, [Split; 2]>,
}

/// A tree of one map.
#[derive(Clone, Debug)]
pub(crate) struct MapTree {
    /// Index of the map in the program.
    pub(crate) map: usize,
    /// Its chains, the root first.
    pub(crate) chains: Vec<ChainRef>,
    /// The leaves.
    pub(crate) leaves: Vec<Leaf>,
}

/// The statements of a map that clients usually send: one pattern recognises them whole, so that they need none of the
/// guards in front of the map.
#[derive(Clone, Debug)]
pub(crate) struct UsualStatements {
    /// The map.
    pub(crate) address: Address,
    /// With a key alone in a comment in front.
    pub(crate) keyed: Recognised,
    /// Plain reads among them, where they go on elsewhere for some users.
    pub(crate) reads: Option<UsualReads>,
    /// Without a comment, where the key may be elsewhere.
    pub(crate) bare: Option<Recognised>,
}

/// Statements that one pattern recognises.
#[derive(Clone, Debug)]
pub(crate) struct Recognised {
    /// A rule that takes them.
    pub(crate) rule: EngineRule,
    /// The chain that they go on in.
    pub(crate) found: ChainRef,
}

/// Usual reads that need not be told from writes behind the map's first chain.
#[derive(Clone, Debug)]
pub(crate) struct UsualReads {
    /// Which they are.
    pub(crate) reads: Recognised,
    /// The users whose policy sends all of them to readers.
    pub(crate) users: Vec<String>,
}

/// Chains that are built already, by what they depend on.
#[derive(Debug, Default)]
struct SharedChains {
    /// Those that have effects, by the effects and what follows.
    effects: HashMap<(Vec<EffectUse>, Target), ChainRef>,
    /// The effects on a cluster, where that has been asked.
    cluster_effects: HashMap<String, Vec<EffectUse>>,
    /// Policies in front of their targets.
    roles: HashMap<role_groups::RoleKey, ChainRef>,
    /// The splits of clusters.
    cluster_splits: HashMap<role_groups::ClusterSplitKey, Target>,
    maps: HashMap<maps::MapKey, ChainRef>,
    /// For the first chain of a map, the statements that need no guards, and where they go on.
    usual: HashMap<ChainRef, UsualStatements>,
    trees: HashMap<tree::TreeKey, ChainRef>,
    refused_shards: HashMap<refused_shards::RefusedShardKey, ChainRef>,
}

impl<'p, 'r> Lowering<'p, 'r> {
    /// The statements that need no guards in front of a map's first chain.
    pub(crate) fn usual(&self, first: Target) -> Option<&UsualStatements> {
        match first {
            Target::Jump(chain) => self.shared.usual.get(&chain),
            Target::Stop => None,
        }
    }

    /// No rules yet.
    pub(crate) fn new(input: Input<'p>, chains: Chains, report: &'p mut Diagnostics<'r>) -> Self {
        Self {
            input,
            of_readers: None,
            chains,
            outputs: MapOutputs::default(),
            shared: SharedChains::default(),
            shared_of_readers: SharedChains::default(),
            report,
        }
    }

    /// With what the program is to users who only read.
    pub(crate) fn with_readers(self, of_readers: Option<&'p Program>) -> Self {
        Self { of_readers, ..self }
    }

    /// Makes chains for users who only read.
    ///
    /// # Panics
    /// If the program has no such users.
    pub(crate) fn for_readers<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let of_readers = self.of_readers.expect("the program has users who only read");
        let program = std::mem::replace(&mut self.input.program, of_readers);
        std::mem::swap(&mut self.shared, &mut self.shared_of_readers);
        let prefix = self.chains.draft.prefixed("readers.");
        let made = make(self);
        self.chains.draft.prefixed(prefix);
        std::mem::swap(&mut self.shared, &mut self.shared_of_readers);
        self.input.program = program;
        made
    }
}
