//! The tree of a map whose key stands in the statement: chains that narrow the key down, leaves that place the statement.

mod searches;

use shardwright_layout::{self as layout, Chain, Node};
use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{EngineRule, InShards, MapStep, Shard, UnknownKey};

use super::chains::{Dialect, Target};
use super::refusals::Refused;
use super::{Lowering, MapTree};
use crate::draft::{ChainRef, Draft, DraftRule, text_rule};
use crate::key_patterns::lock_name::KeyBounds;
use crate::key_patterns::{KeyPatterns, Sought};
use crate::map_plans::MapPlan;
use crate::program::Section;
use crate::summary;

/// Shards that the refusal of an unknown key names.
const MOST_NAMED: usize = 8;

/// Where the key of a tree stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KeySource {
    Comment,
    Column,
}

/// What a tree depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TreeKey {
    /// Index of the map.
    pub map: usize,
    /// Where the key stands.
    pub source: KeySource,
    /// The policies that send to readers; none: everything goes to writers.
    pub readers: Vec<usize>,
    /// Where placed statements go on.
    pub leaf: Target,
    /// Where those of unknown keys go on that have a cluster all the same.
    pub elsewhere: Target,
    /// Where COMMIT and its kin go on that have the key of a refused shard.
    pub end: Target,
}

/// A tree under construction.
struct Builder<'p> {
    key: TreeKey,
    section: &'p Section<Box<MapStep>>,
    plan: &'p MapPlan,
    patterns: &'p KeyPatterns,
    /// The predicate that the shards cannot answer.
    removed: Option<&'p str>,
    name: String,
    /// The refusal of a key of no shard; every chain ends with it.
    unknown: Refused,
    /// Where a key of no shard goes on that has a cluster.
    elsewhere: Target,
    /// Whether the rules of the root ask that the key stands once.
    once: bool,
    /// By number of the chain, as the order of the list counts them.
    chains: Vec<ChainRef>,
    leaves: Vec<Leaf>,
}

/// A rule of a tree that decides an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Its chain.
    pub(crate) chain: ChainRef,
    /// How many rules of the chain stand in front of it.
    pub(crate) nth: u32,
    /// The entry of the map's plan.
    pub(crate) entry: u32,
}

/// A chain of the tree that is being filled.
#[derive(Clone, Copy)]
struct Within {
    chain: ChainRef,
    is_root: bool,
}

impl Lowering<'_, '_> {
    /// The root chain of a map's tree.
    pub(super) fn tree(&mut self, key: TreeKey) -> ChainRef {
        if let Some(&chain) = self.shared.trees.get(&key) {
            return chain;
        }
        let (section, plan) = (self.input.map(key.map), self.input.plan(key.map));
        let reading = plan.reading.as_ref();
        let reading = reading.expect("only maps that can be read are laid out");
        let column = match key.source {
            KeySource::Comment => None,
            KeySource::Column => reading.column.as_ref(),
        };
        let patterns = match column {
            Some(column) => Some(&column.key),
            None => reading.comment.as_ref(),
        };
        let patterns = patterns.expect("only maps with a comment or a column have trees");
        let role = if key.readers.is_empty() {
            "writers"
        } else {
            "readers"
        };
        // The lock knows the tree of a comment and the only tree of a map by this name.
        let is_second = key.source == KeySource::Column && reading.comment.is_some();
        let role = if is_second {
            format!("column.{role}")
        } else {
            role.to_owned()
        };
        let root = self.chains.draft.chain(&format!("{}.{role}", section.address));
        let name = self.chains.draft.get(root).name.clone();
        let step = &section.step;
        // A list of many would change every end of a chain with every shard that comes or goes.
        let named = if step.shards.len() <= MOST_NAMED {
            &step.shards[..]
        } else {
            &[]
        };
        let shards: Vec<&str> = named.iter().map(shard_name).collect();
        let elsewhere = self.unknown_target(section, &key);
        let unknown = refusal::unknown_key(&step.map, &step.key, None, &shards);
        let mut builder = Builder {
            elsewhere,
            unknown: Refused::by(section, Refusal::UnknownKey, unknown),
            key: key.clone(),
            section,
            plan,
            once: self.asks_once(patterns),
            patterns,
            removed: column
                .filter(|column| column.in_shards == InShards::Absent)
                .map(|column| column.predicate.as_str()),
            name,
            chains: Vec::new(),
            leaves: Vec::new(),
        };
        self.fill(&mut builder, root, &plan.shape);
        let order = in_order(&builder, &self.chains.draft);
        self.chains.draft.tree(root, order);
        if !is_second {
            self.outputs.trees.push(MapTree {
                map: key.map,
                chains: builder.chains,
                leaves: builder.leaves,
            });
        }
        self.shared.trees.insert(key, root);
        root
    }

    /// Whether the root of a tree asks that the key stands once, instead of a rule in front of it.
    pub(super) fn asks_once(&self, patterns: &KeyPatterns) -> bool {
        self.chains.dialect == Dialect::Bundled && patterns.can_stand_once()
    }

    /// Fills a chain, and those below it, with the rules of its nodes and the rules that end it.
    fn fill(&mut self, builder: &mut Builder<'_>, chain: ChainRef, nodes: &[Node]) {
        builder.chains.push(chain);
        let within = Within {
            chain,
            is_root: builder.chains.len() == 1,
        };
        let spans = spans(nodes);
        let mut children = Vec::new();
        for node in nodes {
            match node {
                Node::Leaf(entry) => {
                    let lifted = spans.iter().any(|(first, last)| (first..=last).contains(&entry));
                    self.leaf(builder, within, *entry, lifted);
                }
                Node::Chain(child) => {
                    let child_chain = self.entry(builder, within, child);
                    children.push((child_chain, child));
                }
            }
        }
        let count = self.chains.draft.get(chain).rules.len();
        if within.is_root && builder.once {
            let several = Refused::plainly(builder.section, Refusal::ConflictingKeys);
            let rule = text_rule(builder.patterns.repeats.clone());
            self.chains
                .refuse(chain, "repeated", &builder.section.address, rule, &several);
        }
        self.unknown(builder, chain);
        self.chains.draft.ends(chain, count);
        for (chain, child) in children {
            self.fill(builder, chain, &child.nodes);
        }
    }

    /// The rule that hands a run of entries to a chain.
    fn entry(&mut self, builder: &Builder<'_>, within: Within, child: &Chain) -> ChainRef {
        let entries = &builder.plan.entries;
        let own = layout::entries(&child.nodes);
        let had = child.name.as_deref();
        let had_bounds = had.and_then(|name| KeyBounds::parse(builder.section.step.kind, name));
        let bounds = searches::bounds(entries, &own, had_bounds.clone());
        let name = |bounds: &str| format!("{}/{bounds}", builder.name);
        let formerly = |of: &str| {
            let had = had.filter(|_| had_bounds.as_ref() != Some(&bounds))?;
            Some(format!("{}{of}", name(had)).into_boxed_str())
        };
        let wanted = match had {
            Some(had) if had_bounds.as_ref() == Some(&bounds) => name(had),
            _ => name(&bounds.name()),
        };
        let to = self.chains.draft.renamed_chain(&wanted, formerly(""));
        let sought = searches::run(builder.patterns, entries, &own, &bounds);
        let ranges = searches::ranges(entries, &own, &bounds);
        let about = summary::branch(&builder.section.step.key, &bounds, &ranges);
        let rule = text_rule(builder.pattern(sought, within));
        let rule = DraftRule {
            formerly: formerly("/in"),
            ..DraftRule::jumping(format!("{wanted}/in"), &builder.section.address, rule, to)
                .about(Some(about))
        };
        self.chains.draft.push(within.chain, rule);
        to
    }

    /// The end of a chain: the key is none of the map's.
    fn unknown(&mut self, builder: &Builder<'_>, chain: ChainRef) {
        let section = builder.section;
        match &section.step.unknown {
            UnknownKey::Reject => {
                let unknown = builder.unknown.clone();
                self.chains.refuse(
                    chain,
                    "unknown",
                    &section.address,
                    EngineRule::default(),
                    &unknown,
                );
            }
            UnknownKey::Cluster(name) => {
                let writer = self.input.program.resolved_cluster(name).writer;
                let rule = EngineRule {
                    destination_hostgroup: Some(writer.0),
                    ..EngineRule::default()
                };
                self.chains
                    .go(chain, "unknown", &section.address, rule, builder.elsewhere);
            }
        }
    }

    /// Where unknown keys go on that have a cluster.
    fn unknown_target(&mut self, section: &Section<Box<MapStep>>, key: &TreeKey) -> Target {
        match &section.step.unknown {
            UnknownKey::Cluster(name) => self.with_effects(name, key.elsewhere),
            UnknownKey::Reject => Target::Stop,
        }
    }

    /// Where statements of a shard go on that a leaf has placed.
    fn behind_leaf(&mut self, builder: &Builder<'_>, shard: &Shard) -> Target {
        let mut target = self.behind_shard(shard, builder.key.leaf);
        if let Some(predicate) = builder.removed {
            target = Target::Jump(self.chains.without_predicate(builder.section, predicate, target));
        }
        if let (Some(logical), Some(own)) = (&builder.section.step.logical_schema, &shard.schema) {
            let address = &builder.section.address;
            target = Target::Jump(self.chains.rewrite_chain(address, logical, own, target));
        }
        target
    }

    /// The rule that decides an entry. It is lifted where its key lies inside the bounds of a chain beside it.
    fn leaf(&mut self, builder: &mut Builder<'_>, within: Within, index: u32, lifted: bool) {
        let (chain, step) = (within.chain, &*builder.section.step);
        let entry = &builder.plan.entries[index as usize];
        builder.leaves.push(Leaf {
            chain,
            nth: self.chains.draft.get(chain).rules.len() as u32,
            entry: index,
        });
        let shard = &step.shards[entry.shard()];
        let (address, shards) = match entry.shards.as_slice() {
            [_] => (&shard.address, Vec::new()),
            several => {
                let shards = several.iter().map(|&shard| step.shards[shard].address.clone());
                (&builder.section.address, shards.collect())
            }
        };
        let about = summary::keys(&step.key, &entry.values);
        let pattern = builder.pattern(searches::entry(builder.patterns, entry), within);
        let refused = self.refused_shard(builder.section, shard, builder.key.end);
        if refused.is_none() && builder.removed.is_some() && !holds_one_key(shard) {
            let what = format!(
                "cannot be placed on one shard: shard map {}: its shard holds several keys, and its tables cannot tell their \
                 rows apart",
                step.map,
            );
            let name = format!("#{}", entry.name());
            let message = Refusal::NotOneShard.message(&what);
            let refused = Refused::by(builder.section, Refusal::NotOneShard, message);
            return self
                .chains
                .refuse(chain, &name, &shard.address, text_rule(pattern), &refused);
        }
        let destination = self.input.destination(&builder.key.readers, shard);
        let destination = destination.filter(|_| refused.is_none());
        let rule = EngineRule {
            destination_hostgroup: destination.map(|hostgroup| hostgroup.0),
            ..text_rule(pattern)
        };
        let target = refused.unwrap_or_else(|| self.behind_leaf(builder, shard));
        let plain = format!("{}#{}", builder.name, entry.name());
        let name = if lifted {
            let within = &self.chains.draft.get(chain).name;
            let within = within.strip_prefix(&builder.name).unwrap_or(within);
            format!("{plain}@{}", within.trim_start_matches('/'))
        } else {
            plain.clone()
        };
        let formerly = lifted.then(|| plain.into_boxed_str());
        let rule = match target {
            Target::Stop => DraftRule::engine(name, address, EngineRule { apply: true, ..rule }),
            Target::Jump(to) => DraftRule::jumping(name, address, rule, to),
        };
        self.chains.draft.push(
            chain,
            DraftRule {
                formerly,
                shards,
                summary: Some(about),
                ..rule
            },
        );
    }
}

/// The rules of a tree in the order of the list: each with its chain, and how many rules of the chain stand in front of it.
fn in_order(builder: &Builder<'_>, draft: &Draft) -> Vec<(ChainRef, u32)> {
    let plan = builder.plan;
    let rules = plan.weights.as_weights().order(&plan.shape).into_iter();
    let tests = rules.map(|rule| (builder.chains[rule.position.chain as usize], rule.position.nth));
    // Only keys of no shard reach the end of a chain, so that those rules stand behind all others; the root's is the last,
    // with the most room in front of it.
    let ends = builder.chains.iter().rev().flat_map(|&chain| {
        let rules = draft.get(chain).rules.iter().enumerate();
        let ends = rules.filter(|(_, rule)| rule.ends);
        ends.map(move |(nth, _)| (chain, nth as u32))
    });
    tests.chain(ends).collect()
}

/// Whether a shard answers for one key alone, so that a statement without its predicate still asks for that key.
fn holds_one_key(shard: &Shard) -> bool {
    shard.ranges.is_empty() && shard.keys.len() == 1
}

/// The last part of a shard's address.
pub(super) fn shard_name(shard: &Shard) -> &str {
    let address = shard.address.as_str();
    address.rsplit_once('.').map_or(address, |(_, name)| name)
}

impl Builder<'_> {
    /// What is sought, as the pattern of a rule of the root or of another chain.
    fn pattern(&self, sought: Sought, within: Within) -> String {
        if within.is_root && self.once {
            self.patterns.once(sought)
        } else {
            self.patterns.pattern(sought)
        }
    }
}

/// From the first to the last entry of each chain among the nodes of another.
fn spans(nodes: &[Node]) -> Vec<(u32, u32)> {
    let chains = nodes.iter().filter(|node| matches!(node, Node::Chain(_)));
    chains.filter_map(Node::span).collect()
}
