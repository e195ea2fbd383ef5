//! The servers of a cluster.

use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use shardwright_diagnostics::{Diagnostic, Span};
use shardwright_vocabulary::is_host;

use self::server::{HOST, MAX_REPLICATION_LAG, UNTIL};
use super::instances;
use super::object::Object;
use crate::codes::{BAD_VALUE, DEFINED_TWICE, NOT_TOGETHER, STATE_EXPIRED};
use crate::fields::{AnyField, Count, Declared, Text, int, object};
use crate::model::{Server, ServerState};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod server = "A database server.";
    HOST: Text = filled("host", "The host name or the address of the server.").needed().examples(
        r#"["db1.internal", "10.0.0.7"]"#,
    )
        .strict(HOST_KEYWORDS)
        .page("Without a port. A name stands for one server, and may [come to lead elsewhere](../operating.md#a-host-name-that-leads-elsewhere).");
    PORT: Or<Int<u16>> = int("port", "TCP port; 3306 by default.", 1, 65_535).or(3306);
    WEIGHT: Or<Count> = weight(
        "weight",
        "Share of writes among several writers; 1 by default. Only their ratio counts.",
    )
    .or(1);
    READ_WEIGHT: Count = weight(
        "read_weight",
        "Share of reads among readers; `weight` by default. Only their ratio counts: with 1 and 100, the servers get 1 and 100 of 101 reads. `writer_preference` decides who writes.",
    )
    .examples("[1, 100]")
    .absent("`weight`");
    MAX_CONNECTIONS: Or<Count> = count(
        "max_connections",
        "The maximum number of connections that one proxy opens to it, per hostgroup; 1000 by default.",
    )
    .strict(r#"{"minimum": 1}"#)
    .or(1_000)
    .examples("[400]")
    .page("At least 1.");
    SERVER_MAX_CONNECTIONS: Count = count(
        "server_max_connections",
        "The server's own `max_connections`. If it is given, it is compared with what all proxies together may open.",
    )
    .strict(r#"{"minimum": 1}"#)
    .examples("[2000]")
    .page("Too many connections are a finding (SW704).")
    .absent("not compared");
    MAX_REPLICATION_LAG: Duration = duration(
        "max_replication_lag",
        "A replica that is further behind than this gets no reads, such as `5s`. Type replication only; no limit by default.",
    )
        .absent("no limit");
    STATE: Or<Word<ServerState>> = word(
        "state",
        "Whether it gets traffic: `online` (by default), `draining` (running work may finish, nothing new starts), `offline` (none).",
    )
    .or(ServerState::Online);
    UNTIL: Text = text(
        "until",
        "When the state is planned to end, such as `2027-01-10T06:00:00Z` (RFC 3339). After that time it is a finding.",
    )
    .examples(r#"["2027-01-10T06:00:00Z"]"#)
    .page("It is SW316.");
    REASON: Text = text("reason", "The reason for the state, such as a change number.").examples(r#"["CHG-77"]"#);
}

/// [`is_host`] as a pattern; an expression may stand in it.
pub(super) const HOST_KEYWORDS: &str =
    r#"{"pattern": "^(?![^:]*:[^:]*$)[^\\s\\x00-\\x1f\\x7f\"'`;,\\\\]+$|\\$\\("}"#;

/// Shares are relative: nobody needs more than the largest weight of ProxySQL.
const fn weight(name: &'static str, says: &'static str) -> Declared<Count> {
    int(name, says, 0, 10_000_000)
}

/// Fields that have a meaning for servers of the cluster's type; all of them where the type cannot be read.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    pub(super) max_replication_lag: bool,
    pub(super) read_weight: bool,
}

/// Reads `servers` of a cluster.
pub(super) fn servers(
    cluster: &Object<'_, '_>,
    field: &Field<'_>,
    allowed: Allowed,
    context: &mut Context<'_>,
) -> Vec<Server> {
    let parent = instances::part_origin(cluster, field, context);
    let mut by_endpoint: FxHashMap<(String, u16), Span> = FxHashMap::default();
    let read = instances::read_all(
        &field.value,
        parent,
        cluster.environment,
        context,
        |object, context| {
            let server = server(object, context)?;
            if !allowed.max_replication_lag && object.has(&MAX_REPLICATION_LAG) {
                let message = "`max_replication_lag` is for clusters of type replication";
                let diagnostic = Diagnostic::error(NOT_TOGETHER, message)
                    .at(object.key_span(&MAX_REPLICATION_LAG), "")
                    .help("for galera and group_replication, set `max_transactions_behind` of the cluster");
                object.push(diagnostic, context);
            }
            if !allowed.read_weight && object.has(&server::READ_WEIGHT) {
                let message = "`read_weight` is for clusters with readers: of type replication, galera and group_replication";
                let diagnostic = Diagnostic::error(NOT_TOGETHER, message)
                    .at(object.key_span(&server::READ_WEIGHT), "")
                    .help(
                        "remove it; in a cluster of type hostgroup, `weight` is the share of all statements",
                    );
                object.push(diagnostic, context);
            }
            let endpoint = (server.host.to_ascii_lowercase(), server.port);
            if let Some(first) = by_endpoint.get(&endpoint) {
                let message = format!(
                    "two servers of the cluster are at {}:{}",
                    server.host, server.port
                );
                let diagnostic = Diagnostic::error(DEFINED_TWICE, message).at(object.span(&HOST), "");
                let diagnostic = match *first == object.span(&HOST) {
                    true => diagnostic,
                    false => diagnostic.also(*first, "the first"),
                };
                object.push(diagnostic, context);
            }
            by_endpoint.entry(endpoint).or_insert(object.span(&HOST));
            Some(server)
        },
    );
    read.into_iter().filter_map(|(_, server)| server).collect()
}

/// The name or address in `host`, whose port stands in a field of its own.
pub(super) fn host(
    object: &Object<'_, '_>,
    field: &Declared<Text>,
    context: &mut Context<'_>,
) -> Option<Arc<str>> {
    let host = object.get(field, context)?;
    if let Some((_, port)) = host.rsplit_once(':')
        && host.matches(':').count() == 1
    {
        let diagnostic = Diagnostic::error(BAD_VALUE, "`host` contains a port")
            .at(object.span(field), "")
            .help(format!("write `port: {port}` beside it"));
        object.push(diagnostic, context);
    } else if !is_host(&host) {
        let message = format!("expected the name or the address of a host, found {host:?}");
        let diagnostic = Diagnostic::error(BAD_VALUE, message)
            .at(object.span(field), "")
            .help("a host has no blanks, quotes, commas, semicolons and backslashes");
        object.push(diagnostic, context);
    }
    Some(host)
}

fn server(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Server> {
    object.require_all(&server::FIELDS, context);
    let host = host(object, &HOST, context);
    let port = object.get(&server::PORT, context);
    let server = Server {
        name: object.name.clone(),
        origin: object.origin,
        host: host?,
        port,
        weight: object.get(&server::WEIGHT, context),
        read_weight: object.get(&server::READ_WEIGHT, context),
        max_connections: max_connections(object, context),
        server_max_connections: server_max_connections(object, context),
        max_replication_lag_ms: lag(object, context),
        state: object.get(&server::STATE, context),
        until: object.get(&UNTIL, context),
        reason: object.get(&server::REASON, context),
    };
    expiry(object, &server, context);
    Some(server)
}

fn max_connections(object: &Object<'_, '_>, context: &mut Context<'_>) -> u32 {
    let field = &server::MAX_CONNECTIONS;
    let given = object.given(field, context);
    let given = given.and_then(|most| some(most, object, field, context));
    given.unwrap_or_else(|| field.standing())
}

fn server_max_connections(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<u32> {
    let field = &server::SERVER_MAX_CONNECTIONS;
    let most = object.get(field, context)?;
    some(most, object, field, context)
}

fn some(most: u32, object: &Object<'_, '_>, field: &dyn AnyField, context: &mut Context<'_>) -> Option<u32> {
    if most == 0 {
        let diagnostic = Diagnostic::error(BAD_VALUE, "with 0 connections the server gets no statements")
            .at(object.span(field), "")
            .help("to take it out, write `state: offline`");
        object.push(diagnostic, context);
        return None;
    }
    Some(most)
}

fn lag(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<u64> {
    let most = object.get(&MAX_REPLICATION_LAG, context)?;
    if most == 0 {
        let diagnostic = Diagnostic::error(
            BAD_VALUE,
            "a limit of 0 takes out every replica: none is always 0 behind",
        )
        .at(object.span(&MAX_REPLICATION_LAG), "")
        .help("remove the key for no limit");
        object.push(diagnostic, context);
        return None;
    }
    Some(most)
}

/// `until` is a time, is about a state, and has not passed.
fn expiry(object: &Object<'_, '_>, server: &Server, context: &mut Context<'_>) {
    let Some(until) = &server.until else { return };
    let span = object.span(&UNTIL);
    let Ok(time) = until.parse::<Timestamp>() else {
        let message = format!("expected a time such as 2027-01-10T06:00:00Z, found `{until}`");
        return object.error(BAD_VALUE, message, span, context);
    };
    let word = match server.state {
        ServerState::Online => {
            let message = "`until` needs a `state` other than online";
            return object.error(NOT_TOGETHER, message, object.key_span(&UNTIL), context);
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
            .help("put the server back online, or set a later time");
        object.push(diagnostic, context);
    }
}
