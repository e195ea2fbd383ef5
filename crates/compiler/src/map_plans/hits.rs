//! Which entries of a map the rows of a traffic file are about.

use std::collections::HashMap;

use shardwright_rules::{Cluster, Finder, KeyKind, KeyValue, MapStep};

use super::entry::{Entry, Values};
use super::memory::Memory;
use crate::program::Section;
use crate::traffic::{Traffic, TrafficRow, TrafficSubject};

/// What the rows of a traffic file are looked up in.
#[derive(Clone, Copy)]
pub(super) struct HitSource<'h> {
    /// The map.
    pub(super) section: &'h Section<Box<MapStep>>,
    /// For rows that name a hostgroup.
    pub(super) clusters: &'h [Cluster],
    /// For rows that name a rule.
    pub(super) memory: &'h Memory<'h>,
}

impl HitSource<'_> {
    /// Hits of each entry. A row that names a key counts for its entry; one that names a hostgroup for the entries that lie
    /// there, in equal parts.
    pub(super) fn of_entries(self, traffic: &Traffic, entries: &[Entry]) -> Vec<f64> {
        let Self {
            section,
            clusters,
            memory,
        } = self;
        let step = &*section.step;
        let mut hits = vec![0.0; entries.len()];
        let mut of_cluster: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            if let Some(cluster) = step.shards[entry.shard()].cluster.as_deref() {
                of_cluster.entry(cluster).or_default().push(at);
            }
        }
        for TrafficRow { of, hits: count } in traffic.rows() {
            let count = *count as f64;
            let one = match of {
                TrafficSubject::Key(key) => {
                    KeyValue::parse(step.kind, key).and_then(|key| entry_of(&key, entries))
                }
                TrafficSubject::Rule(id) => memory.first_key(*id).and_then(|key| entry_of(&key, entries)),
                TrafficSubject::Statements {
                    schema, user, text, ..
                } => key_of(step, schema, user, text).and_then(|key| entry_of(&key, entries)),
            };
            if let Some(at) = one {
                hits[at] += count;
            } else if let TrafficSubject::Statements {
                hostgroup: Some(hostgroup),
                ..
            } = of
            {
                let owner = clusters.iter().find(|cluster| {
                    cluster.writer.0 == *hostgroup
                        || cluster.reader.is_some_and(|reader| reader.0 == *hostgroup)
                });
                let there = owner.and_then(|cluster| of_cluster.get(&*cluster.name));
                for &at in there.into_iter().flatten() {
                    hits[at] += count / there.map_or(1.0, |there| there.len() as f64);
                }
            }
        }
        hits
    }
}

/// The entry that holds a key.
pub(crate) fn entry_of(key: &KeyValue, entries: &[Entry]) -> Option<usize> {
    let begins = |entry: &Entry| match (&entry.values, key) {
        (Values::Integers(ranges), KeyValue::Integer(key)) => ranges[0].0 <= *key,
        (Values::Texts(texts), KeyValue::Text(key)) => *texts[0] <= **key,
        _ => false,
    };
    let at = entries.partition_point(begins).checked_sub(1)?;
    let holds = match (&entries[at].values, key) {
        (Values::Integers(ranges), KeyValue::Integer(key)) => {
            ranges.iter().any(|(low, high)| (low..=high).contains(&key))
        }
        (Values::Texts(texts), KeyValue::Text(key)) => {
            texts.binary_search_by(|text| (**text).cmp(key)).is_ok()
        }
        _ => false,
    };
    holds.then_some(at)
}

/// The key of statements, by the name of their schema or user, or in what a digest kept of a comment.
fn key_of(step: &MapStep, schema: &str, user: &str, text: &str) -> Option<KeyValue> {
    step.finders.iter().find_map(|finder| match finder {
        Finder::Schema { template } => KeyValue::parse(step.kind, template.extract(step.kind, schema)?),
        Finder::User { template } => KeyValue::parse(step.kind, template.extract(step.kind, user)?),
        Finder::Comment { word, .. } => in_comment(step.kind, word, text),
        Finder::Table { .. } | Finder::Column { .. } => None,
    })
}

/// `word=VALUE` in a comment. Digests say how often, not where: a wrong guess costs time and misplaces nothing.
fn in_comment(kind: KeyKind, word: &str, text: &str) -> Option<KeyValue> {
    let comment = text.split_once("/*")?.1;
    let comment = comment.split_once("*/").map_or(comment, |(comment, _)| comment);
    comment
        .split(|character: char| character.is_whitespace() || matches!(character, ',' | ';'))
        .filter_map(|pair| pair.split_once('='))
        .find(|(name, _)| name.eq_ignore_ascii_case(word))
        .and_then(|(_, value)| KeyValue::parse(kind, value.trim_matches(['\'', '"'])))
}
