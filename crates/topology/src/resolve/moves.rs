//! Moves of shards: the shard is where the move says, and the way is complete.

use std::sync::Arc;

use shardwright_diagnostics::Diagnostic;

use self::open_transactions::WAIT;
use self::shard_move::{FROM, TO};
use super::object::{Object, ObjectOrigin};
use super::values::within;
use super::{Defined, instances, names, section_origin};
use crate::codes::{BAD_MOVE, BAD_VALUE, MISSING_KEY, NOT_CARRIED_OUT};
use crate::fields::{AnyField, object};
use crate::model::{ClusterId, Move, OpenTransactions, Shard, Topology};
use crate::tree::context::Context;
use crate::tree::environment::Environment;
use crate::tree::view::Field;

object! {
    pub(crate) mod shard_move = "A shard that moves.";
    FROM: Text = text("from", "The cluster that holds it now.").needed()
        .page("The map must name the same cluster.")
        .refers(refers::CLUSTERS);
    TO: Text = text("to", "The cluster that will hold it.").needed()
        .page("Not the same as `from`.")
        .refers(refers::CLUSTERS);
    MAX_FENCE: Or<Duration> = duration(
        "max_fence",
        "How long writes to its keys may be blocked (fenced) before the move is aborted; 10s by default.",
    )
    .or(10_000);
    OPEN_TRANSACTIONS: Part = part("open_transactions", &open_transactions::FIELDS).or_defaults();
    READY: Part = part("ready", &ready::FIELDS).needed();
    REASON: Text = text("reason", "The reason, such as a change number.");
}

object! {
    mod open_transactions = "What happens to transactions that are open when the fence begins.";
    WAIT: Or<Duration> = duration(
        "wait",
        "How long they may continue; 5s by default. Less than `max_fence`.",
    )
    .or(5_000);
    THEN: Or<Word<OpenTransactions>> = word(
        "then",
        "What happens after that: the move is aborted (`abort`; by default), or the open transactions are killed (`kill`).",
    )
    .or(OpenTransactions::Abort);
}

object! {
    mod ready = "The check that the copy is complete.";
    COMMAND: Texts = texts(
        "command",
        "A program with its arguments. It exits with 0 when the copy is complete. No shell is involved.",
        "a list of texts",
    )
    .needed();
    TIMEOUT: Or<Duration> = duration("timeout", "How long it may take; 60s by default.").or(60_000);
}

pub(super) fn moves(
    section: Option<Field<'_>>,
    topology: &Topology,
    defined: &Defined,
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
        let object = Object::of_field(
            &field,
            name,
            ObjectOrigin { parent, definition },
            &environment,
            context,
        );
        moves.extend(one(&object, topology, defined, context));
    }
    moves
}

fn one(
    object: &Object<'_, '_>,
    topology: &Topology,
    defined: &Defined,
    context: &mut Context<'_>,
) -> Option<Move> {
    let errors_before = context.report.problems.counts().error;
    object.require_all(&shard_move::FIELDS, context);
    let shard = shard(object, topology, context);
    let from = names::cluster(object, &FROM, defined, context);
    let to = names::cluster(object, &TO, defined, context);
    if let (Some(shard), Some(from), Some(to)) = (shard, from, to) {
        check_clusters(object, topology, shard, Clusters { from, to }, context);
    }
    let (max_fence_ms, wait_ms, then) = times(object, context);
    let (ready, ready_timeout_ms) = ready(object, context);
    if context.report.problems.counts().error == errors_before {
        let message = format!(
            "the move of `{}` is listed by plans, and not carried out yet",
            object.name
        );
        let help = "`apply` refuses a plan with a move: copy the shard by hand, then change the map and remove the move";
        let diagnostic = Diagnostic::warning(NOT_CARRIED_OUT, message).at(object.key, "");
        object.push(diagnostic.help(help), context);
    }
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
        reason: object.get(&shard_move::REASON, context),
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
        let candidates: Vec<&str> = topology.shard_maps.names().collect();
        let diagnostic = names::unknown("shard map", map, candidates.into_iter(), object.key, context);
        object.push(diagnostic, context);
        return None;
    };
    let found = map.shards.get_named(shard);
    if found.is_none() {
        let candidates: Vec<&str> = map.shards.names().collect();
        let kind = format!("shard of {}", map.name);
        let diagnostic = names::unknown(&kind, shard, candidates.into_iter(), object.key, context);
        object.push(diagnostic, context);
    }
    found
}

/// The clusters of a move.
struct Clusters {
    from: ClusterId,
    to: ClusterId,
}

/// The shard is on `from`, and `to` is another cluster.
fn check_clusters(
    object: &Object<'_, '_>,
    topology: &Topology,
    shard: &Shard,
    Clusters { from, to }: Clusters,
    context: &mut Context<'_>,
) {
    let name = |cluster: ClusterId| topology.cluster(cluster).name.clone();
    let mut refuse = |field: &dyn AnyField, message: String, help: &str| {
        let diagnostic = Diagnostic::error(BAD_MOVE, message).at(object.span(field), "");
        let diagnostic = if help.is_empty() {
            diagnostic
        } else {
            diagnostic.help(help)
        };
        object.push(diagnostic, context);
    };
    if from == to {
        return refuse(&TO, format!("`{}` is already on {}", object.name, name(to)), "");
    }
    match shard.cluster {
        None => refuse(
            &FROM,
            format!("`{}` cannot move: it has a schema and no cluster", object.name),
            "",
        ),
        Some(now) if now == to => refuse(
            &TO,
            format!("`{}` is already on {}", object.name, name(to)),
            "while a shard moves, the map names the old cluster; remove a move that is complete",
        ),
        Some(now) if now != from => refuse(
            &FROM,
            format!("`{}` is on {}, not on {}", object.name, name(now), name(from)),
            "",
        ),
        Some(_) => {}
    }
}

fn times(object: &Object<'_, '_>, context: &mut Context<'_>) -> (u64, u64, OpenTransactions) {
    let max_fence_ms = object.get(&shard_move::MAX_FENCE, context);
    let open = object.part(&shard_move::OPEN_TRANSACTIONS, context);
    let wait_ms = within(open.as_ref(), &WAIT, context);
    let then = within(open.as_ref(), &open_transactions::THEN, context);
    if wait_ms >= max_fence_ms {
        let message = format!(
            "the wait for open transactions ({wait_ms} ms) must be shorter than `max_fence` ({max_fence_ms} ms)"
        );
        let span = match &open {
            Some(open) if open.has(&WAIT) => open.span(&WAIT),
            _ => object.span(&shard_move::MAX_FENCE),
        };
        let diagnostic = Diagnostic::error(BAD_MOVE, message)
            .at(span, "")
            .help("`max_fence` covers the wait, the check that the copy is complete, and the switch");
        object.push(diagnostic, context);
    }
    (max_fence_ms, wait_ms, then)
}

fn ready(object: &Object<'_, '_>, context: &mut Context<'_>) -> (Vec<Arc<str>>, u64) {
    let part = object.part(&shard_move::READY, context);
    let timeout = within(part.as_ref(), &ready::TIMEOUT, context);
    let Some(part) = part else {
        return (Vec::new(), timeout);
    };
    let command = part.list(&ready::COMMAND, context);
    if command.first().is_none_or(|program| program.is_empty()) {
        let message = "`ready` needs a command that checks whether the copy is complete";
        part.error(MISSING_KEY, message, part.span(&ready::COMMAND), context);
    }
    if timeout == 0 {
        part.error(
            BAD_VALUE,
            "the timeout must be more than 0",
            part.span(&ready::TIMEOUT),
            context,
        );
    }
    (command, timeout)
}
