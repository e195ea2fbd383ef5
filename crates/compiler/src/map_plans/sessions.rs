//! What a map cannot ask of sessions on ProxySQL, reported once at its line; and the keys and words that its comments cannot
//! carry there, which are errors.

use std::collections::BTreeSet;

use shardwright_rules::{CommentForm, Finder, MapStep};
use shardwright_topology::model::{KeyValue, ShardMap};

use crate::diagnostics::{Diagnostics, UNSUPPORTED};
use crate::program::Section;

/// Reports them.
pub(super) fn check(section: &Section<Box<MapStep>>, map: &ShardMap, report: &mut Diagnostics<'_>) {
    let step = &*section.step;
    let clusters: BTreeSet<_> = step
        .shards
        .iter()
        .filter_map(|shard| shard.cluster.as_ref())
        .collect();
    if clusters.len() > 1 {
        let what = "inside an open transaction every statement goes where the transaction is, whatever key it has; the bundled \
                    engine refuses a key of another cluster (SW356)";
        report.difference(section.origin, "", what);
    }
    let asks_schemas = step
        .finders
        .iter()
        .any(|finder| matches!(finder, Finder::Schema { .. }));
    for (word, form) in comments(step) {
        if asks_schemas {
            let what = "a key in a comment is refused in a session schema that this topology does not name; the bundled engine \
                        takes the key; `applies_to.except_schemas` takes schemas that have none";
            report.difference(section.origin, "key_from", what);
        }
        if !matches!(form, CommentForm::Exact(_)) {
            words(section, map, word, report);
        }
    }
}

/// Patterns count the word of comments wherever it stands: one that a column or a key also says is there twice.
fn words(section: &Section<Box<MapStep>>, map: &ShardMap, word: &str, report: &mut Diagnostics<'_>) {
    let engine = report.engine;
    let same = section.step.finders.iter().find_map(|finder| match finder {
        Finder::Column { column, .. } if column.eq_ignore_ascii_case(word) => Some(column),
        _ => None,
    });
    if let Some(column) = same {
        let message = format!(
            "{engine} takes the word `{word}` of comments for the column `{column}` and refuses every key in a comment; \
             `comment: {{name: WORD}}` gives comments a word of their own"
        );
        report.error(UNSUPPORTED, section.origin, "key_from", message);
    }
    for shard in &map.shards {
        let doubled = shard.keys.iter().find_map(|key| match key {
            KeyValue::Text(text) if says(text, word) => Some(text),
            KeyValue::Text(_) | KeyValue::Integer(_) => None,
        });
        if let Some(key) = doubled {
            let message = format!(
                "{engine} refuses every comment with the key `{key}`: it holds `{word}=`, the word of the comment; \
                 `comment: {{name: WORD}}` gives comments another word"
            );
            report.error(UNSUPPORTED, shard.origin, "keys", message);
        }
    }
}

/// The words and forms of a map's comments.
fn comments(step: &MapStep) -> impl Iterator<Item = (&str, &CommentForm)> {
    step.finders.iter().filter_map(|finder| match finder {
        Finder::Comment { word, form } => Some((&**word, form)),
        _ => None,
    })
}

/// Whether a key holds the word with an equals sign behind it.
fn says(key: &str, word: &str) -> bool {
    let (key, word) = (key.to_ascii_lowercase(), word.to_ascii_lowercase());
    key.match_indices(&word)
        .any(|(at, _)| key[at + word.len()..].trim_start().starts_with('='))
}
