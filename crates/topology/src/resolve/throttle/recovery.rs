//! SW602: a throttle that keeps its own signal from recovering.

use shardwright_diagnostics::Diagnostic;

use super::super::object::Object;
use super::measured;
use crate::codes::STARVES_SIGNAL;
use crate::model::{NamePattern, Scope, Signal, SignalSource};
use crate::tree::context::Context;

/// Status variables that count since the server started and so never fall, by how their names begin; MySQL 8.4 and
/// MariaDB 10.11, "Server Status Variables".
const COUNTERS: [&str; 29] = [
    "Aborted_",
    "Binlog_cache_use",
    "Bytes_",
    "Com_",
    "Connection_errors_",
    "Connections",
    "Created_tmp_",
    "Handler_",
    "Innodb_data_read",
    "Innodb_data_written",
    "Innodb_log_waits",
    "Innodb_row_lock_time",
    "Innodb_row_lock_waits",
    "Innodb_rows_",
    "Key_read",
    "Max_used_connections",
    "Opened_",
    "Queries",
    "Questions",
    "Select_",
    "Slow_queries",
    "Sort_",
    "Table_locks_",
    "Uptime",
    "wsrep_flow_control_paused_ns",
    "wsrep_flow_control_recv",
    "wsrep_flow_control_sent",
    "wsrep_local_bf_aborts",
    "wsrep_local_cert_failures",
];
/// It begins like a counter and is none.
const MEASURE: &str = "Innodb_row_lock_time_avg";
/// Tables whose writes lag is measured by: pt-heartbeat and kin.
const HEARTBEAT: &str = "heartbeat";

pub(super) fn check(object: &Object<'_, '_>, signal: &Signal, scope: &Scope, context: &mut Context<'_>) {
    let (why, help) = match &signal.source {
        SignalSource::Status(name) if only_grows(name) => (
            format!("{name} only grows: after it exceeds `start_above`, it never falls below `stop_below`"),
            "measure what rises and falls, such as Innodb_row_lock_current_waits",
        ),
        SignalSource::Status(name) if same(name, "Threads_connected") => (
            "statements that wait in a transaction keep their connections, so Threads_connected does not fall"
                .to_owned(),
            "measure `threads_running`",
        ),
        SignalSource::ReplicationLag if names_heartbeat(scope) => (
            "it also slows the heartbeat that measures lag: the longer the delay, the greater the lag".to_owned(),
            "exclude the heartbeat: use `except_tables` or a separate user",
        ),
        _ => return,
    };
    let message = format!(
        "throttle {} keeps its own signal from recovering: {why}",
        object.name
    );
    let diagnostic = Diagnostic::warning(STARVES_SIGNAL, message)
        .at(
            measured(object, &signal.source).map_or(object.key, |field| field.key.span),
            "this does not fall while the throttle runs",
        )
        .help(help);
    object.push(diagnostic, context);
}

fn same(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

fn only_grows(name: &str) -> bool {
    let begins = |prefix: &&str| name.get(..prefix.len()).is_some_and(|start| same(start, prefix));
    COUNTERS.iter().any(begins) && !same(name, MEASURE)
}

/// Whether the scope says itself that it is about heartbeats.
fn names_heartbeat(scope: &Scope) -> bool {
    let says = |text: &str| text.to_ascii_lowercase().contains(HEARTBEAT);
    let names = scope.tables.any_of.iter().chain(&scope.users.any_of);
    let patterns = scope.match_digest.iter().chain(&scope.match_pattern);
    names.map(NamePattern::as_str).any(says) || patterns.map(|pattern| &**pattern).any(says)
}
