//! The schemas that rules ask for by name: those with the key of a shard, and the others that the topology names.

use std::collections::BTreeSet;

use shardwright_rules::{KeyTemplate, KeyValue, MapStep, NamePattern};

use super::Lowering;
use crate::diagnostics::LAYOUT;
use crate::draft::ChainRef;
use crate::program::{Program, Section};

/// Keys of one map that may stand in rows.
const MOST_ROWS: usize = 2_000_000;
/// Schemas of every server.
const SYSTEM: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Keys in the names of schemas, beside keys in comments that must agree with them.
#[derive(Clone, Copy)]
pub(super) struct SchemaKeys<'s> {
    /// The form of the names.
    pub(super) template: &'s KeyTemplate,
    /// The rules that place sessions by their schemas, where they compare a key in a comment with the schema.
    pub(super) compare: Option<ChainRef>,
}

/// A schema that has the key of a shard in its name.
#[derive(Debug)]
pub(super) struct KeyedSchema {
    /// Its name.
    pub(super) schema: String,
    /// The key.
    pub(super) key: KeyValue,
    /// Index of the shard.
    pub(super) shard: usize,
}

impl Lowering<'_, '_> {
    /// The schemas of a map, by name.
    pub(super) fn keyed_schemas(
        &mut self,
        section: &Section<Box<MapStep>>,
        template: &KeyTemplate,
    ) -> Vec<KeyedSchema> {
        let mut rows = Vec::new();
        for (at, shard) in section.step.shards.iter().enumerate() {
            if shard.cluster.is_none() && shard.refuse.is_none() {
                self.report.unsupported(
                    section.origin,
                    "shards",
                    "place sessions of a schema by schema only",
                );
                return Vec::new();
            }
            let ranges = shard
                .ranges
                .iter()
                .flat_map(|&(low, high)| low..=high)
                .map(KeyValue::Integer);
            let keys = shard.keys.iter().cloned().chain(ranges);
            rows.extend(
                keys.take(MOST_ROWS + 1 - rows.len().min(MOST_ROWS))
                    .filter_map(|key| {
                        let schema = template.render(&key)?;
                        Some(KeyedSchema {
                            schema,
                            key,
                            shard: at,
                        })
                    }),
            );
        }
        if rows.len() > MOST_ROWS {
            let message = format!(
                "more than {MOST_ROWS} schema names: {} needs a row for each",
                self.report.engine
            );
            self.report.error(LAYOUT, section.origin, "shards", message);
            rows.clear();
        }
        rows.sort_by(|a, b| (&a.schema, a.shard).cmp(&(&b.schema, b.shard)));
        rows
    }
}

/// Schemas that the topology names and that have no key of a shard: no key, or one of no shard.
pub(super) fn named_schemas<'p>(
    program: &'p Program,
    section: &'p Section<Box<MapStep>>,
    rows: &[KeyedSchema],
) -> BTreeSet<&'p str> {
    let mut schemas: BTreeSet<&str> = SYSTEM.into_iter().collect();
    let defaults = program
        .users
        .iter()
        .filter_map(|user| user.default_schema.as_deref());
    schemas.extend(defaults);
    for map in &program.maps {
        schemas.extend(map.step.logical_schema.as_deref());
        schemas.extend(map.step.shards.iter().filter_map(|shard| shard.schema.as_deref()));
    }
    schemas.extend(section.scope.schemas.any_of.iter().map(NamePattern::as_str));
    schemas.retain(|schema| {
        rows.binary_search_by(|row| row.schema.as_str().cmp(schema))
            .is_err()
    });
    schemas
}
