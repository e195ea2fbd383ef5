//! Rules that place the sessions of a user or of a schema, as shard maps whose key is the user or the schema.
//!
//! A key has a rule that sends all of its statements to a writer; it may have rules that send some of them to the readers of the
//! same cluster, which become the policy of that cluster.

use std::collections::{BTreeMap, BTreeSet};

use shardwright_rules::{EngineRule, HostgroupId, Role};

use super::matches::{conditions, only_does};
use super::policies::{of_clusters, policy, reader_of};
use super::{Edit, Group, Part};
use crate::draft::{Draft, ObjectDraft, RuleDraft};
use crate::yaml::{Field, Yaml, fields_of};

const SECTION: &[&str] = &["shard_maps"];

/// What a map finds its key in.
#[derive(Clone, Copy)]
enum Key {
    User,
    Schema,
}

impl Key {
    /// The word of the finder, which is the key's name too.
    const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Schema => "schema",
        }
    }

    /// The field of `applies_to` that names the keys.
    const fn scope(self) -> &'static str {
        match self {
            Self::User => "users",
            Self::Schema => "schemas",
        }
    }

    /// The key that a rule asks for, where it asks for no other.
    fn of(self, row: &EngineRule) -> Option<&str> {
        let (own, other) = match self {
            Self::User => (&row.username, &row.schemaname),
            Self::Schema => (&row.schemaname, &row.username),
        };
        let key = own
            .as_deref()
            .filter(|key| !key.is_empty() && !key.contains(['*', '?', '$']))?;
        other.as_deref().is_none_or(str::is_empty).then_some(key)
    }

    /// Whether a rule takes every statement of its key.
    fn is_all(self, row: &EngineRule) -> bool {
        let mut without = row.clone();
        match self {
            Self::User => without.username = None,
            Self::Schema => without.schemaname = None,
        }
        without.is_unconditional()
    }
}

/// A map for each key that rules go by.
pub(super) fn groups(draft: &Draft) -> Vec<Group> {
    [Key::Schema, Key::User]
        .into_iter()
        .filter_map(|key| group(draft, key))
        .collect()
}

fn group(draft: &Draft, key: Key) -> Option<Group> {
    let mut units: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for rule in draft.entry_rules() {
        if let Some((value, _)) = placed(draft, key, rule) {
            units.entry(value).or_insert_with(|| vec![rule.id]);
        }
    }
    if units.len() < 2 {
        return None;
    }
    for rule in draft.entry_rules() {
        let own = key.of(&rule.row).and_then(|value| units.get_mut(value));
        let is_split = reader_of(draft, rule).is_some() || pinned(draft, key, rule).is_some();
        if let Some(unit) = own.filter(|_| is_split) {
            unit.push(rule.id);
        }
    }
    Some(Group {
        address: format!("shard_maps.by_{}", key.word()),
        rules: units.into_values().collect(),
        part: Part::Any,
        lifts: None,
        edits: Box::new(move |draft, rules| edits(draft, key, rules)),
    })
}

/// The key and the cluster of a rule that sends everything of a key to a writer.
fn placed<'d>(draft: &'d Draft, key: Key, rule: &'d RuleDraft) -> Option<(&'d str, &'d str)> {
    let row = &rule.row;
    let value = key.of(row)?;
    let (cluster, role) = draft.place(HostgroupId(row.destination_hostgroup?))?;
    let is_plain = row.apply && only_does(row, &["destination_hostgroup", "apply"]);
    let is_known = match key {
        Key::User => draft.users.iter().any(|user| user.name == value),
        Key::Schema => true,
    };
    (is_plain && is_known && role == Role::Writer && key.is_all(row))
        .then_some((value, cluster.name.as_str()))
}

/// The cluster of a rule that keeps what a pattern matches on the writer, and the pattern.
fn pinned<'d>(draft: &'d Draft, key: Key, rule: &'d RuleDraft) -> Option<(&'d str, &'d str)> {
    let row = &rule.row;
    key.of(row)?;
    let pattern = row.match_digest.as_deref()?;
    let bare = RuleDraft {
        row: EngineRule {
            match_digest: None,
            ..row.clone()
        },
        ..rule.clone()
    };
    let (cluster, role) = draft.place(HostgroupId(row.destination_hostgroup?))?;
    let is_plain = !row.negate_match_pattern
        && conditions(draft, row).is_some()
        && key.is_all(&bare.row)
        && row.apply
        && only_does(row, &["destination_hostgroup", "apply"]);
    (is_plain && role == Role::Writer).then_some((cluster.name.as_str(), pattern))
}

/// The map of what is placed, and the policies of the clusters whose readers answer some of it.
fn edits(draft: &Draft, key: Key, rules: &[&RuleDraft]) -> Vec<Edit> {
    let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut reads: BTreeMap<&str, Vec<&RuleDraft>> = BTreeMap::new();
    let mut kept: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for &rule in rules {
        if let Some((value, cluster)) = placed(draft, key, rule) {
            shards.entry(cluster).or_default().insert(value);
        } else if let Some(cluster) = reader_of(draft, rule) {
            reads.entry(&cluster.name).or_default().push(rule);
        } else if let Some((cluster, pattern)) = pinned(draft, key, rule) {
            kept.entry(cluster).or_default().insert(pattern);
        }
    }
    let name = format!("by_{}", key.word());
    let applies_to = vec![Field::new(key.scope(), keys(&shards))];
    let map = map(&name, key.word(), applies_to, &shards, None);
    let policies = policies(draft, key, &name, &reads, &kept);
    std::iter::once(map).chain(policies).map(Edit::Object).collect()
}

/// One policy for all clusters, which a map can follow, where reads are told apart alike on each of them; else one for each.
fn policies(
    draft: &Draft,
    key: Key,
    name: &str,
    reads: &BTreeMap<&str, Vec<&RuleDraft>>,
    kept: &BTreeMap<&str, BTreeSet<&str>>,
) -> Vec<ObjectDraft> {
    let without_key = |cluster: &str, rule: &RuleDraft| {
        let mut row = rule.row.clone();
        match key {
            Key::User => row.username = None,
            Key::Schema => row.schemaname = None,
        }
        let mut fields = conditions(draft, &row).filter(|fields| !fields.is_empty())?;
        if let Some(patterns) = kept.get(cluster) {
            fields.push(Field::new("except_match_digest", Yaml::texts(patterns)));
        }
        Some(Yaml::Map(fields))
    };
    let distinct = |(cluster, rules): (&&str, &Vec<&RuleDraft>)| {
        let mut all: Vec<Yaml> = Vec::new();
        for one in rules.iter().map(|rule| without_key(cluster, rule)) {
            let one = one?;
            if !all.contains(&one) {
                all.push(one);
            }
        }
        Some(all)
    };
    let each: Option<Vec<Vec<Yaml>>> = reads.iter().map(distinct).collect();
    match each.as_deref() {
        Some([first, others @ ..]) if others.iter().all(|other| other == first) => {
            let clusters: Vec<&str> = reads.keys().copied().collect();
            vec![of_clusters(name, &clusters, first.clone())]
        }
        _ => reads
            .iter()
            .map(|(cluster, rules)| policy(draft, cluster, rules))
            .collect(),
    }
}

/// All keys of some shards.
pub(super) fn keys(shards: &BTreeMap<&str, BTreeSet<&str>>) -> Yaml {
    let keys: BTreeSet<&str> = shards.values().flatten().copied().collect();
    Yaml::texts(&keys)
}

/// A map whose keys are all sessions that it applies to.
pub(super) fn map(
    name: &str,
    finder: &str,
    applies_to: Vec<Field>,
    shards: &BTreeMap<&str, BTreeSet<&str>>,
    layout: Option<&str>,
) -> ObjectDraft {
    let shards = shards.iter().map(|(cluster, keys)| {
        let shard = Yaml::map([
            ("keys", Some(Yaml::texts(keys))),
            ("cluster", Some(Yaml::text(cluster))),
        ]);
        Field::new(*cluster, shard)
    });
    let key = Yaml::map([
        ("name", Some(Yaml::word(finder))),
        ("type", Some(Yaml::word("text"))),
    ]);
    // The whole name is the key.
    let finder = Yaml::Map(vec![Field::new(finder, Yaml::Text("$(key)".to_owned()))]);
    let value = Yaml::Block(fields_of([
        ("applies_to", Some(Yaml::Map(applies_to))),
        ("key", Some(key)),
        ("key_from", Some(Yaml::List(vec![finder]))),
        ("rule_layout", layout.map(Yaml::word)),
        ("shards", Some(Yaml::Block(shards.collect()))),
    ]));
    ObjectDraft {
        section: SECTION,
        field: Field::new(name, value),
    }
}
