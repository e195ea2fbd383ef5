//! `overrides`: one shard out of a generator, placed differently.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_diagnostics::Diagnostic;

use self::placed::{CLUSTER, REFUSE, SCHEMA};
use super::object::Object;
use super::{Defined, instances, names, shard};
use crate::codes::IDLE_OVERRIDE;
use crate::fields::object;
use crate::model::{ClusterId, OriginId, Shard};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod placed = "Another place for one shard, or its refusal.";
    CLUSTER: Text = text("cluster", "The name of the cluster that it is on.")
        .refers(refers::CLUSTERS);
    SCHEMA: Text = filled("schema", "The schema that it is in, on its cluster.")
        .refers(refers::SCHEMAS);
    REFUSE: Text = filled("refuse", "Why statements with its keys are refused. The client gets this text.");
    REASON: Text = filled("reason", "The reason, such as a change number.").needed();
}

struct Override {
    origin: OriginId,
    cluster: Option<ClusterId>,
    schema: Option<Arc<str>>,
    refuse: Option<Arc<str>>,
    /// Whether it is known to be wrong: then nothing more is said about it.
    faulty: bool,
}

/// Applies the overrides of a map to its shards.
pub(super) fn apply(
    object: &Object<'_, '_>,
    field: &Field<'_>,
    shards: &mut [Shard],
    positions: &FxHashMap<Arc<str>, Option<u32>>,
    defined: &Defined,
    context: &mut Context<'_>,
) {
    let parent = instances::part_origin(object, field, context);
    let read = instances::read_all(
        &field.value,
        parent,
        object.environment,
        context,
        |object, context| {
            let cluster = names::cluster(object, &CLUSTER, defined, context);
            let schema = object.get(&SCHEMA, context);
            let refuse = shard::refusal(object, &REFUSE, context);
            object.require_all(&placed::FIELDS, context);
            let _said = object.get(&placed::REASON, context);
            let faulty = (object.has(&CLUSTER) && cluster.is_none())
                || (object.has(&SCHEMA) && schema.is_none())
                || (object.has(&REFUSE) && refuse.is_none());
            Some(Override {
                origin: object.origin,
                cluster,
                schema,
                refuse,
                faulty,
            })
        },
    );
    for (name, change) in read {
        let Some(change) = change else { continue };
        match positions.get(&name) {
            Some(Some(position)) => apply_one(&mut shards[*position as usize], &change, context),
            Some(None) => {}
            None => {
                let span = context.origins.span(change.origin);
                let candidates = positions.keys().map(|name| &**name);
                if let Some(diagnostic) =
                    names::unknown("shard of this map", &name, candidates, span, context)
                {
                    push(diagnostic, change.origin, context);
                }
            }
        }
    }
}

fn apply_one(shard: &mut Shard, change: &Override, context: &mut Context<'_>) {
    if change.faulty {
        return;
    }
    let same_cluster = change
        .cluster
        .is_none_or(|cluster| shard.cluster == Some(cluster));
    let same_schema = change
        .schema
        .as_ref()
        .is_none_or(|schema| shard.schema.as_ref() == Some(schema));
    let same_refusal = change
        .refuse
        .as_ref()
        .is_none_or(|refuse| shard.refuse.as_ref() == Some(refuse));
    if same_cluster && same_schema && same_refusal {
        let message = format!("the override of `{}` changes nothing", shard.name);
        let diagnostic = Diagnostic::error(IDLE_OVERRIDE, message)
            .at(context.origins.span(change.origin), "")
            .also(context.origins.span(shard.origin), "the shard is already there")
            .help("delete the override");
        push(diagnostic, change.origin, context);
        return;
    }
    shard.cluster = change.cluster.or(shard.cluster);
    shard.schema = change.schema.clone().or_else(|| shard.schema.take());
    shard.refuse = change.refuse.clone().or_else(|| shard.refuse.take());
    shard.overridden = Some(change.origin);
}

fn push(diagnostic: Diagnostic, origin: OriginId, context: &mut Context<'_>) {
    let diagnostic = context.origins.mark(origin, diagnostic);
    context.report.push_at_cell(diagnostic);
}
