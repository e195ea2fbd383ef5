//! The servers of a cluster.

use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};

use super::instances;
use super::object::Object;
use crate::codes::{BAD_VALUE, DEFINED_TWICE, NOT_TOGETHER, STATE_EXPIRED};
use crate::context::Context;
use crate::model::{Server, ServerState};

const STATES: [(&str, ServerState); 3] = [
    ("online", ServerState::Online),
    ("draining", ServerState::Draining),
    ("offline", ServerState::Offline),
];
/// Connections to a server where nothing is written.
const MAX_CONNECTIONS: u32 = 1_000;
/// The largest weight of ProxySQL; shares are relative, so nobody needs more.
const MAX_WEIGHT: i64 = 10_000_000;

pub(super) fn servers(cluster: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<Server> {
    let Some(field) = cluster.view.get("servers").filter(|field| field.value.is_map()) else {
        return Vec::new();
    };
    let parent = instances::part_origin(cluster, &field, context);
    let replicates = !matches!(
        cluster
            .view
            .get("type")
            .and_then(|field| field.value.node()?.as_text()),
        Some("single" | "galera" | "group_replication")
    );
    let mut places: FxHashMap<(String, u16), Span> = FxHashMap::default();
    let read = instances::read_all(
        &field.value,
        parent,
        cluster.environment,
        context,
        |object, context| {
            let server = server(object, context)?;
            if !replicates && object.has("max_replication_lag") {
                let message = "`max_replication_lag` is for clusters of type replication";
                let diagnostic = Diagnostic::error(NOT_TOGETHER, message)
                    .at(object.key_span("max_replication_lag"), "")
                    .help("galera and group_replication have `max_transactions_behind`, beside `servers`");
                object.push(diagnostic, context);
            }
            let place = (server.host.to_ascii_lowercase(), server.port);
            if let Some(first) = places.get(&place) {
                let message = format!(
                    "two servers of the cluster are at {}:{}",
                    server.host, server.port
                );
                let diagnostic = Diagnostic::error(DEFINED_TWICE, message).at(object.span("host"), "");
                let diagnostic = match *first == object.span("host") {
                    true => diagnostic,
                    false => diagnostic.also(*first, "the first"),
                };
                object.push(diagnostic, context);
            }
            places.entry(place).or_insert(object.span("host"));
            Some(server)
        },
    );
    read.into_iter().filter_map(|(_, server)| server).collect()
}

/// The name or address in `host`, whose port stands in a field of its own.
pub(super) fn host(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Arc<str>> {
    let host = object.filled_text("host", context)?;
    if let Some((_, port)) = host.rsplit_once(':')
        && host.matches(':').count() == 1
    {
        let diagnostic = Diagnostic::error(BAD_VALUE, "a host does not hold its port")
            .at(object.span("host"), "")
            .help(format!("write `port: {port}` beside it"));
        object.push(diagnostic, context);
    }
    Some(host)
}

fn server(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Server> {
    object.require("host", context);
    let host = host(object, context);
    let port = object.integer("port", 1..=65_535, context);
    let weight = |field: &str, context: &mut Context<'_>| {
        let weight = object.integer(field, 0..=MAX_WEIGHT, context)?;
        u32::try_from(weight).ok()
    };
    let server = Server {
        name: object.name.clone(),
        origin: object.origin,
        host: host?,
        port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(3306),
        weight: weight("weight", context).unwrap_or(1),
        read_weight: weight("read_weight", context),
        max_connections: most_connections(object, "max_connections", context).unwrap_or(MAX_CONNECTIONS),
        server_max_connections: most_connections(object, "server_max_connections", context),
        max_replication_lag_ms: lag(object, context),
        state: object.word("state", &STATES, context).unwrap_or_default(),
        until: object.text("until", context),
        reason: object.text("reason", context),
    };
    expiry(object, &server, context);
    Some(server)
}

fn most_connections(object: &Object<'_, '_>, field: &str, context: &mut Context<'_>) -> Option<u32> {
    let most = object.count(field, context)?;
    if most == 0 {
        let diagnostic = Diagnostic::error(BAD_VALUE, "with 0 connections the server takes no statements")
            .at(object.span(field), "")
            .help("`state: offline` takes it out");
        object.push(diagnostic, context);
        return None;
    }
    Some(most)
}

fn lag(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<u64> {
    let most = object.duration_ms("max_replication_lag", context)?;
    if most == 0 {
        let diagnostic = Diagnostic::error(BAD_VALUE, "no replica is always 0 behind")
            .at(object.span("max_replication_lag"), "")
            .help("leave the key out for no limit");
        object.push(diagnostic, context);
        return None;
    }
    Some(most)
}

/// `until` is a time, is about a state, and has not passed.
fn expiry(object: &Object<'_, '_>, server: &Server, context: &mut Context<'_>) {
    let Some(until) = &server.until else { return };
    let span = object.span("until");
    let Ok(time) = until.parse::<Timestamp>() else {
        let message = format!("expected a time such as 2027-01-10T06:00:00Z, found `{until}`");
        return object.error(BAD_VALUE, message, span, context);
    };
    let word = match server.state {
        ServerState::Online => {
            let message = "`until` is about a `state` other than online, and there is none";
            return object.error(NOT_TOGETHER, message, object.key_span("until"), context);
        }
        ServerState::Draining => "draining",
        ServerState::Offline => "offline",
    };
    if context.now.is_some_and(|now| now >= time) {
        let message = format!(
            "`{}` was meant to be {word} until {time}, which has passed",
            object.name
        );
        let diagnostic = Diagnostic::warning(STATE_EXPIRED, message)
            .at(span, "")
            .help("put the server back, or give it a later time");
        object.push(diagnostic, context);
    }
}
