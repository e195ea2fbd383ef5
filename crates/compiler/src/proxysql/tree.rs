//! The tree of a comment map: chains that narrow the key down, leaves that place the statement.

use shardwright_rules::{EngineRule, HostgroupId, KeyValue, MapStep, Shard, UnknownKey, refusal};

use super::plan::{Entry, Values};
use super::{Lowering, MapTree, Target, text_rule};
use crate::draft::{ChainRef, DraftRule};
use crate::keys::site::KeySite;
use crate::keys::{integer, text};
use crate::layout::shape::Item;
use crate::native::Section;

/// What a tree depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TreeKey {
    /// Place of the map.
    pub map: usize,
    /// The policies that send to readers; none: everything goes to writers.
    pub readers: Vec<usize>,
    /// Where placed statements go on.
    pub leaf: Target,
    /// Session schemas that every leaf accepts beside its own; none: the schema does not count.
    pub schemas: Option<Vec<String>>,
}

/// A tree under construction.
struct Builder<'p> {
    key: TreeKey,
    section: &'p Section<Box<MapStep>>,
    site: KeySite,
    name: String,
    /// What a key of no shard is told; every chain ends with it.
    unknown: String,
    leaves: Vec<(ChainRef, usize, u64)>,
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
        let site = reading
            .and_then(|reading| reading.comment)
            .expect("only maps with a comment have trees");
        let role = if key.readers.is_empty() {
            "writers"
        } else {
            "readers"
        };
        let root = self.draft.chain(&format!("{}.{role}", section.address));
        let name = self.draft.get(root).name.clone();
        let entries = std::mem::take(&mut self.plans[key.map].entries);
        let shape = std::mem::take(&mut self.plans[key.map].shape);
        let step = &section.step;
        let shards: Vec<&str> = step.shards.iter().map(shard_name).collect();
        let mut builder = Builder {
            unknown: refusal::unknown_key(&step.map, &step.key, None, &shards),
            key: key.clone(),
            section,
            site,
            name,
            leaves: Vec::new(),
        };
        self.items(&mut builder, root, &shape, &entries, (None, None));
        self.plans[key.map].entries = entries;
        self.plans[key.map].shape = shape;
        self.tree_leaves.push(MapTree {
            map: key.map,
            leaves: builder.leaves,
        });
        self.trees.insert(key, root);
        root
    }

    /// Fills a chain with the rules of its items and the rule that ends it.
    fn items(
        &mut self,
        builder: &mut Builder<'_>,
        chain: ChainRef,
        items: &[Item],
        entries: &[Entry],
        around: (Option<&Entry>, Option<&Entry>),
    ) {
        let mut from = 0;
        for item in items {
            let to = from + item.entries();
            let part = &entries[from..to];
            let below = if from == 0 {
                around.0
            } else {
                Some(&entries[from - 1])
            };
            let above = entries.get(to).or(around.1);
            match item {
                Item::Leaf => self.leaf(builder, chain, &part[0]),
                Item::Chain { items, name } => {
                    let span = || format!("{}..{}", part[0].name(), part[part.len() - 1].name());
                    let name = name.as_deref().map_or_else(span, str::to_owned);
                    let name = format!("{}/{name}", builder.name);
                    let child = self.draft.chain(&name);
                    let rule = text_rule(run_pattern(&builder.site, part, below, above));
                    let rule =
                        DraftRule::jumping(format!("{name}/in"), &builder.section.address, rule, child);
                    self.draft.push(chain, rule);
                    self.items(builder, child, items, part, (below, above));
                }
            }
            from = to;
        }
        self.unknown(builder, chain);
    }

    /// The end of a chain: the key is none of the map's.
    fn unknown(&mut self, builder: &Builder<'_>, chain: ChainRef) {
        let section = builder.section;
        match &section.step.unknown {
            UnknownKey::Reject => {
                let message = builder.unknown.clone();
                self.refuse(chain, "unknown", &section.address, EngineRule::default(), message);
            }
            UnknownKey::Cluster(name) => {
                let (writer, _) = self.hostgroups(name);
                let rule = EngineRule {
                    destination_hostgroup: Some(writer.0),
                    ..EngineRule::default()
                };
                let target = self.with_effects(name, Target::Stop);
                self.go(chain, "unknown", &section.address, rule, target);
            }
        }
    }

    fn leaf(&mut self, builder: &mut Builder<'_>, chain: ChainRef, entry: &Entry) {
        let step = &*builder.section.step;
        let shard = &step.shards[entry.shard];
        let pattern = entry_pattern(&builder.site, entry);
        let rule = EngineRule {
            destination_hostgroup: self
                .destination(&builder.key.readers, shard)
                .map(|hostgroup| hostgroup.0),
            ..text_rule(pattern)
        };
        let mut target = self.behind_shard(shard, builder.key.leaf);
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
            let schemas: Vec<String> = own.into_iter().chain(accepted.iter().cloned()).collect();
            target = Target::Jump(self.schema_check(
                builder.section,
                &builder.name,
                shard,
                entry,
                &schemas,
                target,
            ));
        }
        let name = format!("{}#{}", builder.name, entry.name());
        let rule = match target {
            Target::Stop => DraftRule::engine(name, &shard.address, EngineRule { apply: true, ..rule }),
            Target::Jump(to) => DraftRule::jumping(name, &shard.address, rule, to),
        };
        builder
            .leaves
            .push((chain, self.draft.get(chain).rules.len(), entry.keys()));
        self.draft.push(chain, rule);
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
        schemas: &[String],
        target: Target,
    ) -> ChainRef {
        let chain = self.draft.chain(&format!("{tree}#{}/schemas", entry.name()));
        for schema in schemas {
            let rule = EngineRule {
                schemaname: Some(schema.clone()),
                ..EngineRule::default()
            };
            self.go(chain, schema, &shard.address, rule, target);
        }
        let what = format!(
            "shard map {}: with a {} of shard {} in a comment, the session's schema must be one of {}",
            section.step.map,
            section.step.key,
            shard.address.short(),
            schemas.join(", ")
        );
        let message = refusal::Refusal::OtherShardsSchema.message(&what);
        self.refuse(chain, "other", &shard.address, EngineRule::default(), message);
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
        Values::Texts(texts) => texts.iter().cloned().map(KeyValue::Text).collect(),
    };
    let mut schemas: Vec<String> = keys
        .iter()
        .filter_map(|key| template.and_then(|template| template.render(key)))
        .collect();
    schemas.extend(shard.schema.as_deref().map(str::to_owned));
    schemas.dedup();
    schemas
}

/// A pattern for statements with one of the keys of an entry.
fn entry_pattern(site: &KeySite, entry: &Entry) -> String {
    match &entry.values {
        Values::Integers(ranges) => site.number(&integer::pattern(ranges, site.writing)),
        Values::Texts(texts) => site.texts(&texts.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

/// A pattern for a run of entries, told apart from the entries beside it.
fn run_pattern(site: &KeySite, part: &[Entry], below: Option<&Entry>, above: Option<&Entry>) -> String {
    let last = |entry: &Entry| match &entry.values {
        Values::Integers(ranges) => ranges.last().map(|range| range.1),
        Values::Texts(_) => None,
    };
    let first = |entry: &Entry| match &entry.values {
        Values::Integers(ranges) => ranges.first().map(|range| range.0),
        Values::Texts(_) => None,
    };
    if let (Some(low), Some(high)) = (first(&part[0]), last(&part[part.len() - 1])) {
        let range = integer::rounded((low, high), below.and_then(last), above.and_then(first));
        return site.number(&integer::pattern(&[range], site.writing));
    }
    let texts: Vec<&str> = part
        .iter()
        .flat_map(|entry| match &entry.values {
            Values::Texts(texts) => texts.iter().map(String::as_str).collect(),
            Values::Integers(_) => Vec::new(),
        })
        .collect();
    let edge = |entry: &Entry, last: bool| match &entry.values {
        Values::Texts(texts) => if last { texts.last() } else { texts.first() }.cloned(),
        Values::Integers(_) => None,
    };
    let below = below.and_then(|entry| edge(entry, true));
    let above = above.and_then(|entry| edge(entry, false));
    site.run(&text::between(&texts, below.as_deref(), above.as_deref()))
}
