//! The tree of a map whose key stands in the statement: chains that narrow the key down, leaves that place the statement.

mod patterns;

use shardwright_layout::{self as layout, Chain, Node};
use shardwright_rules::refusal::{self, Refusal};
use shardwright_rules::{Address, EngineRule, HostgroupId, InShards, KeyValue, MapStep, Shard, UnknownKey};

use super::column_map::holds_one_key;
use super::plan::{Entry, Values};
use super::refusals::Refused;
use super::{Lowering, MapTree, Target, text_rule};
use crate::draft::{ChainRef, DraftRule};
use crate::keys::name::Bounds;
use crate::keys::site::{KeySite, Sought};
use crate::native::Section;

/// Shards that the refusal of an unknown key names.
const MOST_NAMED: usize = 8;

/// Where the key of a tree stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum KeyPlace {
    Comment,
    Column,
}

/// What a tree depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TreeKey {
    /// Place of the map.
    pub map: usize,
    /// Where the key stands.
    pub place: KeyPlace,
    /// The policies that send to readers; none: everything goes to writers.
    pub readers: Vec<usize>,
    /// Where placed statements go on.
    pub leaf: Target,
    /// Where those of unknown keys go on that have a cluster all the same.
    pub placed: Target,
    /// Session schemas that every leaf accepts beside its own; none: the schema does not count.
    pub schemas: Option<Vec<String>>,
}

/// A tree under construction.
struct Builder<'p> {
    key: TreeKey,
    section: &'p Section<Box<MapStep>>,
    site: KeySite,
    /// The predicate that the shards cannot answer.
    removed: Option<String>,
    name: String,
    /// What a key of no shard is told; every chain ends with it.
    unknown: Refused,
    /// Where a key of no shard goes on that has a cluster.
    elsewhere: Target,
    /// Whether the rules of the root ask that the key stands once.
    once: bool,
    /// By number of the chain, as the order of the list counts them.
    chains: Vec<ChainRef>,
    leaves: Vec<(ChainRef, u32, u32)>,
}

impl Lowering<'_, '_> {
    /// The root chain of a map's tree.
    pub(super) fn tree(&mut self, key: TreeKey) -> ChainRef {
        if let Some(&chain) = self.trees.get(&key) {
            return chain;
        }
        let program = self.program;
        let section = &program.maps[key.map];
        let reading = self.plans[key.map].reading.clone();
        let reading = reading.expect("only maps that can be read are laid out");
        let has_comment = reading.comment.is_some();
        let (site, column) = match key.place {
            KeyPlace::Comment => (reading.comment, None),
            KeyPlace::Column => match reading.column {
                Some(column) => (Some(column.site.clone()), Some(column)),
                None => (None, None),
            },
        };
        let site = site.expect("only maps with a comment or a column have trees");
        let role = if key.readers.is_empty() {
            "writers"
        } else {
            "readers"
        };
        // The lock knows the tree of a comment and the only tree of a map by this name.
        let is_second = key.place == KeyPlace::Column && has_comment;
        let role = if is_second {
            format!("column.{role}")
        } else {
            role.to_owned()
        };
        let root = self.draft.chain(&format!("{}.{role}", section.address));
        let name = self.draft.get(root).name.clone();
        let entries = std::mem::take(&mut self.plans[key.map].entries);
        let shape = std::mem::take(&mut self.plans[key.map].shape);
        let step = &section.step;
        // A list of many would change every end of a chain with every shard that comes or goes.
        let named = if step.shards.len() <= MOST_NAMED {
            &step.shards[..]
        } else {
            &[]
        };
        let shards: Vec<&str> = named.iter().map(shard_name).collect();
        let elsewhere = self.elsewhere(section, &key, &name);
        let unknown = refusal::unknown_key(&step.map, &step.key, None, &shards);
        let mut builder = Builder {
            elsewhere,
            unknown: Refused::by(section, Refusal::UnknownKey, unknown),
            key: key.clone(),
            section,
            once: self.asks_once(&site),
            site,
            removed: column
                .filter(|column| column.in_shards == InShards::Absent)
                .map(|column| column.predicate),
            name,
            chains: Vec::new(),
            leaves: Vec::new(),
        };
        self.nodes(&mut builder, root, &shape, &entries);
        let order = self.plans[key.map].weights.as_weights().order(&shape);
        // Only keys of no shard come to the end of a chain, so that those rules stand behind all others; the root's is the
        // last, with the most room in front of it.
        let ends = builder.chains.iter().rev().flat_map(|&chain| {
            let rules = self.draft.get(chain).rules.iter().enumerate();
            let ends = rules.filter(|(_, rule)| rule.ends);
            ends.map(move |(at, _)| (chain, at as u32))
        });
        let order = order
            .into_iter()
            .map(|rule| (builder.chains[rule.position.chain as usize], rule.position.nth))
            .chain(ends)
            .collect();
        self.draft.tree(root, order);
        self.plans[key.map].entries = entries;
        self.plans[key.map].shape = shape;
        if !is_second {
            self.tree_leaves.push(MapTree {
                map: key.map,
                leaves: builder.leaves,
            });
        }
        self.trees.insert(key, root);
        root
    }

    /// Whether the root of a tree asks that the key stands once, instead of a rule in front of it.
    pub(super) fn asks_once(&self, site: &KeySite) -> bool {
        self.automata && site.can_stand_once()
    }

    /// Fills a chain, and those below it, with the rules of its nodes and the rules that end it.
    fn nodes(&mut self, builder: &mut Builder<'_>, chain: ChainRef, nodes: &[Node], entries: &[Entry]) {
        builder.chains.push(chain);
        let is_root = builder.chains.len() == 1;
        let spans = spans(nodes);
        let mut children = Vec::new();
        for node in nodes {
            match node {
                Node::Leaf(entry) => {
                    let lifted = spans.iter().any(|(first, last)| (first..=last).contains(&entry));
                    self.leaf(
                        builder,
                        (chain, is_root),
                        (*entry, &entries[*entry as usize]),
                        lifted,
                    );
                }
                Node::Chain(child) => {
                    let child_chain = self.entry(builder, (chain, is_root), child, entries);
                    children.push((child_chain, child));
                }
            }
        }
        let count = self.draft.get(chain).rules.len();
        if is_root && builder.once {
            let several = Refused::plainly(builder.section, Refusal::ConflictingKeys);
            let rule = text_rule(builder.site.repeats.clone());
            self.refuse(chain, "repeated", &builder.section.address, rule, &several);
        }
        self.unknown(builder, chain);
        self.draft.ends(chain, count);
        for (chain, child) in children {
            self.nodes(builder, chain, &child.nodes, entries);
        }
    }

    /// The rule that hands a run of entries to a chain.
    fn entry(
        &mut self,
        builder: &Builder<'_>,
        (chain, is_root): (ChainRef, bool),
        child: &Chain,
        entries: &[Entry],
    ) -> ChainRef {
        let own = layout::entries(&child.nodes);
        let had = child.name.as_deref();
        let had_bounds = had.and_then(|name| Bounds::parse(builder.section.step.kind, name));
        let bounds = patterns::bounds(entries, &own, had_bounds.clone());
        let name = |bounds: &str| format!("{}/{bounds}", builder.name);
        let formerly = |of: &str| {
            let had = had.filter(|_| had_bounds.as_ref() != Some(&bounds))?;
            Some(format!("{}{of}", name(had)).into_boxed_str())
        };
        let wanted = match had {
            Some(had) if had_bounds.as_ref() == Some(&bounds) => name(had),
            _ => name(&bounds.name()),
        };
        let to = self.draft.renamed_chain(&wanted, formerly(""));
        let sought = patterns::run(&builder.site, entries, &own, &bounds);
        let rule = text_rule(builder.pattern(sought, is_root));
        let rule = DraftRule {
            formerly: formerly("/in"),
            ..DraftRule::jumping(format!("{wanted}/in"), &builder.section.address, rule, to)
        };
        self.draft.push(chain, rule);
        to
    }

    /// The end of a chain: the key is none of the map's.
    fn unknown(&mut self, builder: &Builder<'_>, chain: ChainRef) {
        let section = builder.section;
        match &section.step.unknown {
            UnknownKey::Reject => {
                let unknown = builder.unknown.clone();
                self.refuse(
                    chain,
                    "unknown",
                    &section.address,
                    EngineRule::default(),
                    &unknown,
                );
            }
            UnknownKey::Cluster(name) => {
                let (writer, _) = self.hostgroups(name);
                let rule = EngineRule {
                    destination_hostgroup: Some(writer.0),
                    ..EngineRule::default()
                };
                self.go(chain, "unknown", &section.address, rule, builder.elsewhere);
            }
        }
    }

    /// Where unknown keys go on that have a cluster: not in the schema of a shard, whose key is another.
    fn elsewhere(&mut self, section: &Section<Box<MapStep>>, key: &TreeKey, tree: &str) -> Target {
        let UnknownKey::Cluster(name) = &section.step.unknown else {
            return Target::Stop;
        };
        let target = self.with_effects(name, key.placed);
        let Some(accepted) = &key.schemas else {
            return target;
        };
        let what = format!(
            "shard map {}: with a {} of no shard in a comment, the session's schema must be one of {}",
            section.step.map,
            section.step.key,
            accepted.join(", ")
        );
        let chain = self.draft.chain(&format!("{tree}/unknown/schemas"));
        let refused = Refused::by(
            section,
            Refusal::OtherShardsSchema,
            Refusal::OtherShardsSchema.message(&what),
        );
        Target::Jump(self.accepted_schemas(chain, &section.address, accepted, (&refused, target)))
    }

    fn leaf(
        &mut self,
        builder: &mut Builder<'_>,
        (chain, is_root): (ChainRef, bool),
        (place, entry): (u32, &Entry),
        lifted: bool,
    ) {
        let step = &*builder.section.step;
        let shard = &step.shards[entry.shard];
        let pattern = builder.pattern(patterns::entry(&builder.site, entry), is_root);
        if builder.removed.is_some() && !holds_one_key(shard) {
            let what = format!(
                "cannot be placed on one shard: shard map {}: its shard holds several keys, and its tables cannot tell their \
                 rows apart",
                step.map,
            );
            let at = self.draft.get(chain).rules.len() as u32;
            builder.leaves.push((chain, at, place));
            let name = format!("#{}", entry.name());
            let message = Refusal::NotOneShard.message(&what);
            let refused = Refused::by(builder.section, Refusal::NotOneShard, message);
            return self.refuse(chain, &name, &shard.address, text_rule(pattern), &refused);
        }
        let rule = EngineRule {
            destination_hostgroup: self
                .destination(&builder.key.readers, shard)
                .map(|hostgroup| hostgroup.0),
            ..text_rule(pattern)
        };
        let mut target = self.behind_shard(shard, builder.key.leaf);
        if let Some(predicate) = &builder.removed {
            target = Target::Jump(self.without_predicate(builder.section, predicate, target));
        }
        if let (Some(logical), Some(own)) = (&step.logical_schema, &shard.schema) {
            target = Target::Jump(self.rewrite_chain(&builder.section.address, logical, own, target));
        }
        if let Some(accepted) = &builder.key.schemas {
            let own = own_schemas(
                self.plans[builder.key.map]
                    .reading
                    .as_ref()
                    .and_then(|r| r.schema.as_ref()),
                shard,
                entry,
            );
            target = Target::Jump(self.schema_check(
                builder.section,
                &builder.name,
                shard,
                entry,
                (own, accepted),
                target,
            ));
        }
        let plain = format!("{}#{}", builder.name, entry.name());
        let name = if lifted {
            let within = &self.draft.get(chain).name;
            let within = within.strip_prefix(&builder.name).unwrap_or(within);
            format!("{plain}@{}", within.trim_start_matches('/'))
        } else {
            plain.clone()
        };
        let formerly = lifted.then(|| plain.into_boxed_str());
        let rule = match target {
            Target::Stop => DraftRule::engine(name, &shard.address, EngineRule { apply: true, ..rule }),
            Target::Jump(to) => DraftRule::jumping(name, &shard.address, rule, to),
        };
        builder
            .leaves
            .push((chain, self.draft.get(chain).rules.len() as u32, place));
        self.draft.push(chain, DraftRule { formerly, ..rule });
    }

    /// The hostgroup of a shard: readers where a policy covers its cluster and the cluster has some.
    pub(super) fn destination(&self, readers: &[usize], shard: &Shard) -> Option<HostgroupId> {
        let name = shard.cluster.as_deref()?;
        let (writer, reader) = self.hostgroups(name);
        let covered = readers
            .iter()
            .any(|&policy| self.program.roles[policy].scope.clusters.contains(name));
        Some(reader.filter(|_| covered).unwrap_or(writer))
    }

    /// Behind a leaf: the session's schema must be the shard's own, or one that belongs to no shard.
    fn schema_check(
        &mut self,
        section: &Section<Box<MapStep>>,
        tree: &str,
        shard: &Shard,
        entry: &Entry,
        (own, accepted): (Vec<String>, &[String]),
        target: Target,
    ) -> ChainRef {
        let chain = self.draft.chain(&format!("{tree}#{}/schemas", entry.name()));
        let (map, key) = (&section.step.map, &section.step.key);
        let what = format!(
            "shard map {map}: with a {key} in a comment, the session's schema must be that {key}'s own, or one of {}",
            accepted.join(", ")
        );
        let refused = Refused::by(
            section,
            Refusal::OtherShardsSchema,
            Refusal::OtherShardsSchema.message(&what),
        );
        let schemas: Vec<String> = own.into_iter().chain(accepted.iter().cloned()).collect();
        self.accepted_schemas(chain, &shard.address, &schemas, (&refused, target))
    }

    /// Sessions in these schemas go on; the others are refused.
    fn accepted_schemas(
        &mut self,
        chain: ChainRef,
        address: &Address,
        schemas: &[String],
        (refused, target): (&Refused, Target),
    ) -> ChainRef {
        for schema in schemas {
            let rule = EngineRule {
                schemaname: Some(schema.clone()),
                ..EngineRule::default()
            };
            self.go(chain, schema, address, rule, target);
        }
        self.refuse(chain, "other", address, EngineRule::default(), refused);
        chain
    }
}

/// The last part of a shard's address.
pub(super) fn shard_name(shard: &Shard) -> &str {
    let address = shard.address.as_str();
    address.rsplit_once('.').map_or(address, |(_, name)| name)
}

/// Names of schemas in which the keys of an entry are found, and the shard's own; ranges give their first 16.
fn own_schemas(
    template: Option<&shardwright_rules::KeyTemplate>,
    shard: &Shard,
    entry: &Entry,
) -> Vec<String> {
    const MOST_OF_A_RANGE: usize = 16;
    let keys: Vec<KeyValue> = match &entry.values {
        Values::Integers(ranges) => ranges
            .iter()
            .flat_map(|&(low, high)| (low..=high).take(MOST_OF_A_RANGE))
            .map(KeyValue::Integer)
            .collect(),
        Values::Texts(texts) => texts
            .iter()
            .map(|text| KeyValue::Text(text.as_str().into()))
            .collect(),
    };
    let mut schemas: Vec<String> = keys
        .iter()
        .filter_map(|key| template.and_then(|template| template.render(key)))
        .collect();
    schemas.extend(shard.schema.as_deref().map(str::to_owned));
    schemas.dedup();
    schemas
}

impl Builder<'_> {
    /// What is sought, as the pattern of a rule of the root or of another chain.
    fn pattern(&self, sought: Sought, is_root: bool) -> String {
        if is_root && self.once {
            self.site.once(sought)
        } else {
            sought.pattern()
        }
    }
}

/// From the first to the last entry of each chain among the nodes of another.
fn spans(nodes: &[Node]) -> Vec<(u32, u32)> {
    let chains = nodes.iter().filter(|node| matches!(node, Node::Chain(_)));
    chains.filter_map(Node::span).collect()
}
