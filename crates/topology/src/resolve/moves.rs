//! Moves of shards: the shard is where the move says, and the way is complete.

use std::sync::Arc;

use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::{Known, instances, names, section_origin};
use crate::codes::{BAD_MOVE, BAD_VALUE, MISSING_KEY};
use crate::context::Context;
use crate::environment::Environment;
use crate::model::{ClusterId, Move, OpenTransactions, Shard, Topology};
use crate::view::Field;

const MAX_FENCE_MS: u64 = 10_000;
const WAIT_MS: u64 = 5_000;
const READY_TIMEOUT_MS: u64 = 60_000;
const THEN: [(&str, OpenTransactions); 2] = [
    ("kill", OpenTransactions::Kill),
    ("abort", OpenTransactions::Abort),
];

pub(super) fn moves(
    section: Option<Field<'_>>,
    topology: &Topology,
    known: &Known,
    context: &mut Context<'_>,
) -> Vec<Move> {
    let Some(section) = section else { return Vec::new() };
    let parent = section_origin(&section, context);
    let environment = Environment::default();
    let mut moves = Vec::new();
    for field in section.value.fields() {
        if !field.value.is_map() {
            continue;
        }
        let definition = instances::define(&field, context);
        let Some(name) = context.expand_key(field.key, &environment) else {
            continue;
        };
        let name: Arc<str> = context.intern(&name);
        let object = Object::of_field(&field, name, (parent, definition), &environment, context);
        moves.extend(one(&object, topology, known, context));
    }
    moves
}

fn one(
    object: &Object<'_, '_>,
    topology: &Topology,
    known: &Known,
    context: &mut Context<'_>,
) -> Option<Move> {
    object.require("from", context);
    object.require("to", context);
    object.require("ready", context);
    let shard = shard(object, topology, context);
    let from = names::cluster(object, "from", known, context);
    let to = names::cluster(object, "to", known, context);
    if let (Some(shard), Some(from), Some(to)) = (shard, from, to) {
        way(object, topology, shard, (from, to), context);
    }
    let (max_fence_ms, wait_ms, then) = times(object, context);
    let (ready, ready_timeout_ms) = ready(object, context);
    Some(Move {
        origin: object.origin,
        shard: shard?.origin,
        from: from?,
        to: to?,
        max_fence_ms,
        wait_ms,
        then,
        ready,
        ready_timeout_ms,
        reason: object.text("reason", context),
    })
}

fn shard<'t>(
    object: &Object<'_, '_>,
    topology: &'t Topology,
    context: &mut Context<'_>,
) -> Option<&'t Shard> {
    let Some((map, shard)) = object.name.split_once('/') else {
        let diagnostic = Diagnostic::error(BAD_VALUE, format!("expected MAP/SHARD, found `{}`", object.name))
            .at(object.key, "");
        object.push(diagnostic, context);
        return None;
    };
    let Some(map) = topology.shard_maps.get_named(map) else {
        let known: Vec<&str> = topology.shard_maps.names().collect();
        let diagnostic = names::unknown("shard map", map, known.into_iter(), object.key, context);
        object.push(diagnostic, context);
        return None;
    };
    let found = map.shards.get_named(shard);
    if found.is_none() {
        let known: Vec<&str> = map.shards.names().collect();
        let kind = format!("shard of {}", map.name);
        let diagnostic = names::unknown(&kind, shard, known.into_iter(), object.key, context);
        object.push(diagnostic, context);
    }
    found
}

/// The shard is on `from`, and `to` is another cluster.
fn way(
    object: &Object<'_, '_>,
    topology: &Topology,
    shard: &Shard,
    (from, to): (ClusterId, ClusterId),
    context: &mut Context<'_>,
) {
    let name = |cluster: ClusterId| topology.cluster(cluster).name.clone();
    let mut refuse = |field: &str, message: String, help: &str| {
        let diagnostic = Diagnostic::error(BAD_MOVE, message).at(object.span(field), "");
        let diagnostic = if help.is_empty() {
            diagnostic
        } else {
            diagnostic.help(help)
        };
        object.push(diagnostic, context);
    };
    if from == to {
        return refuse("to", format!("`{}` is on {} already", object.name, name(to)), "");
    }
    match shard.cluster {
        None => refuse(
            "from",
            format!(
                "`{}` has a schema and no cluster: it is where its users are",
                object.name
            ),
            "",
        ),
        Some(now) if now == to => refuse(
            "to",
            format!("`{}` is on {} already", object.name, name(to)),
            "the map still names the old cluster while a shard moves; remove a move that has been made",
        ),
        Some(now) if now != from => refuse(
            "from",
            format!("`{}` is on {}, not on {}", object.name, name(now), name(from)),
            "",
        ),
        Some(_) => {}
    }
}

fn times(object: &Object<'_, '_>, context: &mut Context<'_>) -> (u64, u64, OpenTransactions) {
    let max_fence_ms = object.duration_ms("max_fence", context).unwrap_or(MAX_FENCE_MS);
    let open = object.part("open_transactions", context);
    let wait_ms = open.as_ref().and_then(|open| open.duration_ms("wait", context));
    let then = open.as_ref().and_then(|open| open.word("then", &THEN, context));
    let wait_ms = wait_ms.unwrap_or(WAIT_MS);
    if wait_ms >= max_fence_ms {
        let message = format!(
            "transactions may be waited for {wait_ms} ms, but the move is given up after {max_fence_ms} ms"
        );
        let span = match &open {
            Some(open) if open.has("wait") => open.span("wait"),
            _ => object.span("max_fence"),
        };
        let diagnostic = Diagnostic::error(BAD_MOVE, message)
            .at(span, "")
            .help("`max_fence` covers the wait, the check that the copy is complete, and the switch");
        object.push(diagnostic, context);
    }
    (max_fence_ms, wait_ms, then.unwrap_or_default())
}

fn ready(object: &Object<'_, '_>, context: &mut Context<'_>) -> (Vec<Arc<str>>, u64) {
    let Some(part) = object.part("ready", context) else {
        return (Vec::new(), READY_TIMEOUT_MS);
    };
    let command: Vec<Arc<str>> = part
        .texts("command", context)
        .into_iter()
        .map(|(_, word)| word)
        .collect();
    if command.first().is_none_or(|program| program.is_empty()) {
        let message = "`ready` needs a command: nothing else says that the copy is complete";
        part.error(MISSING_KEY, message, part.span("command"), context);
    }
    let timeout = part.duration_ms("timeout", context);
    if timeout == Some(0) {
        part.error(
            BAD_VALUE,
            "the command needs some time",
            part.span("timeout"),
            context,
        );
    }
    (command, timeout.unwrap_or(READY_TIMEOUT_MS))
}
