//! What the lock file remembers of a map's tree.

use std::collections::{HashMap, HashSet};

use shardwright_ids::Lock;
use shardwright_layout::{Node, Price, RememberedChain, RememberedEntry, kept_shape, repaired};
use shardwright_rules::{EngineId, KeyKind, KeyValue, MapStep};

use super::PlanInput;
use super::entry::{Entry, Values};
use crate::key_patterns::lock_name::{KeyBounds, KeyName};
use crate::program::Section;

/// Values or ranges that one rule may test when it is made.
const MOST_VALUES: usize = 8;
/// Keys that may come to a rule that stands.
const MOST_KEPT_VALUES: usize = 16;
/// The largest part of a tree shaped by traffic that is laid out again without that traffic.
const MOST_WITHOUT_TRAFFIC: usize = 64;

/// The rule of a key in the lock.
#[derive(Clone, Copy, Debug)]
struct RememberedRule<'l> {
    /// The name of its first key.
    key: &'l str,
    id: u32,
    /// The chain that it was lifted to.
    lifted: Option<&'l str>,
}

/// The tree of one map on one engine.
#[derive(Debug)]
pub(super) struct Memory<'l> {
    lock: &'l Lock,
    kind: KeyKind,
    /// What its names begin with: `proxysql-2.7.shard_maps.tenants.writers`.
    root: String,
    /// By name of the first key.
    rules: HashMap<&'l str, RememberedRule<'l>>,
    /// Names of first keys by the ids of rules that were counted, those of a tree that is laid out anew too.
    counted: HashMap<u32, &'l str>,
    /// Whether the tree was shaped by traffic.
    shaped: bool,
}

impl<'l> Memory<'l> {
    /// Reads the lock; empty where the tree is laid out anew.
    pub(super) fn of(section: &Section<Box<MapStep>>, planning: PlanInput<'l>, engine: EngineId) -> Self {
        let root = format!("{engine}.{}.writers", section.address);
        let rules = rules_of(planning.lock, &root).into_iter();
        let rules = rules.map(|rule| (rule.key, rule)).collect();
        let roles = planning
            .traffic
            .map(|_| ["writers", "readers", "column.writers", "column.readers"]);
        let counted =
            |role: &str| rules_of(planning.counted, &format!("{engine}.{}.{role}", section.address));
        let counted = roles.into_iter().flatten().flat_map(counted);
        let counted = counted.map(|rule| (rule.id, rule.key)).collect();
        let shaped = planning.lock.get(&shaped_name(engine, section)).is_some();
        Self {
            lock: planning.lock,
            kind: section.step.kind,
            root,
            rules,
            counted,
            shaped,
        }
    }

    /// How many values a rule takes before the next one begins.
    pub(super) fn most_values(&self) -> usize {
        if self.rules.is_empty() {
            MOST_VALUES
        } else {
            MOST_KEPT_VALUES
        }
    }

    /// Whether a rule begins with this key.
    pub(super) fn begins(&self, key: &KeyName) -> bool {
        !self.rules.is_empty() && self.rules.contains_key(key.name().as_str())
    }

    /// The first key of the rule that had this id.
    pub(super) fn first_key(&self, id: u32) -> Option<KeyValue> {
        Some(match KeyName::parse(self.kind, self.counted.get(&id)?)? {
            KeyName::Integer(key) => KeyValue::Integer(key),
            KeyName::Text(key) => KeyValue::Text(key.into()),
        })
    }

    /// The shape that the lock remembers, with the entries of today; `None` where there is none.
    pub(super) fn shape(&self, entries: &[Entry], price: Price) -> Option<Vec<Node>> {
        if self.rules.is_empty() {
            return None;
        }
        let remembered: Vec<RememberedEntry> = entries.iter().map(|entry| self.remembered(entry)).collect();
        let shape = kept_shape(&remembered, self.chains(entries))?;
        let edited = self.edited(entries, &remembered);
        if !edited.contains(&true) {
            return Some(shape);
        }
        let most = if self.shaped {
            MOST_WITHOUT_TRAFFIC
        } else {
            entries.len()
        };
        Some(repaired(shape, &edited, most, price))
    }

    fn remembered(&self, entry: &Entry) -> RememberedEntry {
        match self.rules.get(entry.name().as_str()) {
            None => RememberedEntry::default(),
            Some(rule) => RememberedEntry {
                id: Some(rule.id),
                lifted: rule.lifted.map(str::to_owned),
            },
        }
    }

    fn chains(&self, entries: &[Entry]) -> Vec<RememberedChain> {
        let prefix = format!("flags.{}/", self.root);
        let chain = |name: &str| {
            let (from, to) = match KeyBounds::parse(self.kind, name)? {
                KeyBounds::Integers(low, high) => (
                    first_from(entries, &KeyName::Integer(low)),
                    first_behind(entries, &KeyName::Integer(high)),
                ),
                KeyBounds::Texts(low, high) => (
                    first_from(entries, &KeyName::Text(low)),
                    first_behind(entries, &KeyName::Text(high)),
                ),
            };
            Some(RememberedChain {
                name: name.to_owned(),
                from,
                to,
                id: self.lock.get(&format!("rules.{}/{name}/in", self.root)),
            })
        };
        self.lock
            .below(&prefix)
            .filter_map(|(name, _)| chain(name))
            .collect()
    }

    /// Entries that are new, and those beside entries that are gone.
    fn edited(&self, entries: &[Entry], remembered: &[RememberedEntry]) -> Vec<bool> {
        let mut edited: Vec<bool> = remembered.iter().map(|entry| entry.id.is_none()).collect();
        let still: HashSet<String> = entries.iter().map(Entry::name).collect();
        for name in self.rules.keys().filter(|name| !still.contains(**name)) {
            let Some(key) = KeyName::parse(self.kind, name) else {
                continue;
            };
            let at = first_behind(entries, &key);
            for neighbour in [at.checked_sub(1), Some(at)].into_iter().flatten() {
                if let Some(edited) = edited.get_mut(neighbour) {
                    *edited = true;
                }
            }
        }
        edited
    }
}

/// The rules of keys that a lock has of one tree, by name of the first key.
fn rules_of<'l>(lock: &'l Lock, root: &str) -> Vec<RememberedRule<'l>> {
    let leaf = |(name, id): (&'l str, u32)| {
        let (key, lifted) = match name.split_once('@') {
            Some((key, lifted)) => (key, Some(lifted)),
            None => (name, None),
        };
        // Rules behind a leaf have its name and more.
        let is_leaf = !key.contains('/') && !lifted.is_some_and(|lifted| lifted.contains('/'));
        is_leaf.then_some(RememberedRule { key, id, lifted })
    };
    lock.below(&format!("rules.{root}#")).filter_map(leaf).collect()
}

/// What the lock file calls a tree that traffic shaped.
pub(crate) fn shaped_name(engine: EngineId, section: &Section<Box<MapStep>>) -> String {
    format!("shaped.{engine}.{}", section.address)
}

/// The first entry that begins behind a key.
fn first_behind(entries: &[Entry], key: &KeyName) -> usize {
    entries.partition_point(|entry| match (&entry.values, key) {
        (Values::Integers(ranges), KeyName::Integer(key)) => ranges[0].0 <= *key,
        (Values::Texts(texts), KeyName::Text(key)) => texts[0] <= *key,
        _ => true,
    })
}

/// The first entry that does not begin before a key.
fn first_from(entries: &[Entry], key: &KeyName) -> usize {
    entries.partition_point(|entry| match (&entry.values, key) {
        (Values::Integers(ranges), KeyName::Integer(key)) => ranges[0].0 < *key,
        (Values::Texts(texts), KeyName::Text(key)) => texts[0] < *key,
        _ => true,
    })
}
