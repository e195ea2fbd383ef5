//! Schemas of shards: the map must know the schema that they replace, or compare them with the session's.

use shardwright_diagnostics::{Diagnostic, Span};

use super::super::object::Object;
use super::super::{overrides, shard};
use super::shard_map::{LOGICAL_SCHEMA, UNQUALIFIED};
use crate::codes::{NOT_PLACED, NOT_TOGETHER};
use crate::fields::AnyField;
use crate::model::{Finder, Shard, Unqualified};
use crate::tree::context::Context;

/// Reports schemas of shards that change nothing, and `unqualified` where no shard has a schema.
pub(super) fn check(
    object: &Object<'_, '_>,
    shards: &[Shard],
    key_from: &[Finder],
    unqualified: Unqualified,
    context: &mut Context<'_>,
) {
    if object.has(&UNQUALIFIED) && !shards.is_empty() && shards.iter().all(|shard| shard.schema.is_none()) {
        let message = "`unqualified` is for maps whose shards have a `schema`";
        object.error(NOT_TOGETHER, message, object.key_span(&UNQUALIFIED), context);
    }
    let reads = |wanted: fn(&Finder) -> bool| key_from.iter().any(wanted);
    if object.has(&LOGICAL_SCHEMA) {
        // Finders of columns and tables look at its tables, and schema finders know that it is no key.
        let reads_it = reads(|finder| !matches!(finder, Finder::Comment { .. } | Finder::User { .. }));
        let is_replaced = shards.iter().any(|shard| shard.schema.is_some());
        if !key_from.is_empty() && !shards.is_empty() && !reads_it && !is_replaced {
            let message = "nothing replaces or reads the `logical_schema`: no shard has a `schema`, and no finder looks at \
                           schemas, tables or columns";
            object.error(NOT_TOGETHER, message, object.key_span(&LOGICAL_SCHEMA), context);
        }
        return;
    }
    let by_schema_only = shards
        .iter()
        .find(|shard| shard.cluster.is_none() && shard.schema.is_some());
    if let Some(shard) = by_schema_only {
        let message = format!(
            "the shard `{}` has a schema and no cluster, so the map needs the `logical_schema` that the schema replaces",
            shard.name
        );
        let diagnostic = Diagnostic::error(NOT_PLACED, message).at(span(shard, context), "");
        push(shard, diagnostic.also(object.key, "the map"), context);
        return;
    }
    // Clients connect to the schema of their shard, and the map reads the key there.
    let of_sessions = reads(|finder| matches!(finder, Finder::Schema { .. }));
    if of_sessions && unqualified == Unqualified::SessionSchema {
        return;
    }
    // Instances of one generator share a place, which is reported once.
    let mut reported: Option<Span> = None;
    for shard in shards {
        let Some(schema) = &shard.schema else { continue };
        let span = span(shard, context);
        if reported.replace(span) == Some(span) {
            continue;
        }
        let message = format!(
            "the schema `{schema}` of the shard `{}` replaces nothing: the map has no `logical_schema`, so statements \
             go out as they came, in the schema of their session",
            shard.name
        );
        let diagnostic = Diagnostic::error(NOT_TOGETHER, message)
            .at(span, "")
            .also(object.key, "the map")
            .help("give the map the `logical_schema` that clients write, or delete `schema`");
        push(shard, diagnostic, context);
    }
}

/// Where the schema of a shard was written: in its override, or in the shard.
fn span(shard: &Shard, context: &Context<'_>) -> Span {
    let written = |origin, name: &str| {
        let span = context.origins.field(origin, name);
        (span != context.origins.span(origin)).then_some(span)
    };
    let overridden = shard
        .overridden
        .and_then(|origin| written(origin, overrides::placed::SCHEMA.name()));
    overridden.unwrap_or_else(|| context.origins.field(shard.origin, shard::shard::SCHEMA.name()))
}

fn push(shard: &Shard, diagnostic: Diagnostic, context: &mut Context<'_>) {
    let diagnostic = context.origins.mark(shard.origin, diagnostic);
    context.report.push(diagnostic);
}
