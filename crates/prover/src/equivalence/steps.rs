//! Steps of the bundled engine compared, and engines that differ: statements that are likely to show a difference.

use std::collections::BTreeSet;

use shardwright_rules::{Body, Configuration, Finder, KeyValue, MapStep, NativeStep};

use super::step_keys::plain_shard;
use super::{ComparedSession, Comparison, Pair};
use crate::example::ORDINARY;
use crate::natives;
use crate::session::Session;

/// Keys of shards that differ that are tried.
const MOST_KEYS: usize = 32;
/// Users whose sessions are tried.
const MOST_USERS: usize = 8;
/// Hostgroups that a transaction is tried open on.
const MOST_TRANSACTIONS: usize = 4;

/// Both walks are at steps that differ, or at the same step in different states; `None` for a side that is at no step.
pub(super) fn differ(pair: &Pair<'_, '_>, steps: [Option<&NativeStep>; 2], comparison: &mut Comparison) {
    let mut texts: Vec<Vec<u8>> = ORDINARY.iter().map(|text| text.as_bytes().to_vec()).collect();
    let mut schemas: BTreeSet<String> = BTreeSet::new();
    let mut named = "steps of the bundled engine that differ".to_owned();
    if let [Some(NativeStep::Map(left)), Some(NativeStep::Map(right))] = steps {
        named = format!("shard map `{}`, whose steps differ", left.map);
        for key in differing_keys(left, right) {
            for map in [left, right] {
                texts.extend(keyed(map, &key));
                schemas.extend(keyed_schemas(map, &key));
            }
        }
    }
    let before = comparison.differences.len();
    try_all(pair, &texts, &schemas, comparison);
    if comparison.differences.len() == before {
        comparison.undecided.insert(named);
    }
}

fn try_all(pair: &Pair<'_, '_>, texts: &[Vec<u8>], schemas: &BTreeSet<String>, comparison: &mut Comparison) {
    let users = pair.configuration(0).users.iter().take(MOST_USERS);
    for user in users {
        let own = Session::of_user(pair.configuration(0), &user.name);
        let adapted = schemas.iter().map(|schema| Some(schema.clone()));
        for schema in std::iter::once(own.schema.clone()).chain(adapted) {
            let session = ComparedSession {
                schemas: [schema.clone(), schema],
                ..own.clone().into()
            };
            for text in texts {
                if let Some(difference) = pair.difference(&session, text) {
                    comparison.add(difference);
                }
                if comparison.is_full() {
                    return;
                }
            }
        }
    }
}

/// The same statements inside transactions on hostgroups where statements of both sides are placed.
fn try_transactions(pair: &Pair<'_, '_>, texts: &[Vec<u8>], comparison: &mut Comparison) {
    let [left, right] = [0, 1].map(|side| pair.configuration(side));
    let placed = |configuration: &Configuration| -> BTreeSet<u32> {
        let rows = configuration
            .graph
            .rules
            .iter()
            .filter_map(|rule| match &rule.body {
                Body::Engine(row) => row.destination_hostgroup,
                Body::Native { .. } => None,
            });
        let defaults = configuration.users.iter().map(|user| user.default_hostgroup.0);
        rows.chain(defaults).collect()
    };
    let (of_left, of_right) = (placed(left), placed(right));
    let both = of_left.intersection(&of_right).take(MOST_TRANSACTIONS);
    for &hostgroup in both {
        for user in left.users.iter().take(MOST_USERS) {
            let session = ComparedSession {
                transaction: Some(hostgroup),
                ..Session::of_user(left, &user.name).into()
            };
            for text in texts {
                if let Some(difference) = pair.difference(&session, text) {
                    comparison.add(difference);
                    return;
                }
            }
        }
    }
}

/// A key of every shard that only one of the maps has.
pub(super) fn differing_keys(left: &MapStep, right: &MapStep) -> Vec<KeyValue> {
    let texts = |map: &MapStep| -> BTreeSet<String> {
        let shards = map.shards.iter().map(plain_shard);
        shards
            .map(|shard| serde_json::to_string(&shard).unwrap_or_default())
            .collect()
    };
    let (of_left, of_right) = (texts(left), texts(right));
    let mut keys = Vec::new();
    for (map, others) in [(left, &of_right), (right, &of_left)] {
        for shard in &map.shards {
            let text = serde_json::to_string(&plain_shard(shard)).unwrap_or_default();
            if keys.len() >= MOST_KEYS || others.contains(&text) {
                continue;
            }
            keys.extend(shard.keys.iter().take(4).cloned());
            keys.extend(
                shard
                    .ranges
                    .iter()
                    .take(2)
                    .flat_map(|range| [KeyValue::Integer(range.0), KeyValue::Integer(range.1)]),
            );
            keys.extend(
                shard
                    .remainders
                    .iter()
                    .take(2)
                    .filter_map(|&remainder| Some(KeyValue::Integer(i64::try_from(remainder).ok()?))),
            );
        }
    }
    keys
}

/// Statements that carry a key in the ways that a map reads.
pub(super) fn keyed(map: &MapStep, key: &KeyValue) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    if let Some(comment) = natives::comment_of(map, key) {
        texts.push(format!("{comment} SELECT a FROM t WHERE id=1").into_bytes());
    }
    let literal = match key {
        KeyValue::Integer(number) => number.to_string(),
        KeyValue::Text(text) => format!("'{}'", text.replace('\'', "''")),
    };
    let schema = map
        .logical_schema
        .as_ref()
        .map_or(String::new(), |schema| format!("{schema}."));
    for finder in &map.finders {
        match finder {
            Finder::Column { column, .. } => {
                texts.push(format!("SELECT a FROM {schema}t WHERE {column}={literal}").into_bytes());
            }
            Finder::Table { template } => {
                texts.extend(
                    template
                        .render(key)
                        .map(|table| format!("SELECT a FROM {schema}{table}").into_bytes()),
                );
            }
            Finder::Comment { .. } | Finder::Schema { .. } | Finder::User { .. } => {}
        }
    }
    texts
}

pub(super) fn keyed_schemas(map: &MapStep, key: &KeyValue) -> Vec<String> {
    let finders = map.finders.iter();
    finders
        .filter_map(|finder| match finder {
            Finder::Schema { template } => template.render(key),
            Finder::Comment { .. } | Finder::Column { .. } | Finder::Table { .. } | Finder::User { .. } => {
                None
            }
        })
        .collect()
}

/// Two engines mean different things by annotations and by open transactions.
pub(super) fn compare_engines(pair: &Pair<'_, '_>, comparison: &mut Comparison) {
    let [left, right] = [0, 1].map(|side| pair.configuration(side).engine.profile());
    if left.annotations == right.annotations
        && left.transactions_ignore_rules == right.transactions_ignore_rules
    {
        return;
    }
    let before = comparison.differences.len();
    let texts: Vec<Vec<u8>> = [
        "/* hostgroup=4294967295 */ SELECT 1",
        "/* query_delay=1 */ SELECT 1",
    ]
    .into_iter()
    .chain(ORDINARY)
    .map(|text| text.as_bytes().to_vec())
    .collect();
    try_all(pair, &texts, &BTreeSet::new(), comparison);
    if comparison.differences.len() == before {
        try_transactions(pair, &texts, comparison);
    }
    if comparison.differences.len() == before {
        comparison
            .undecided
            .insert("annotations and open transactions, which the two engines read differently".to_owned());
    }
}
