//! The rows of the admin tables.

use std::sync::atomic::Ordering;

use shardwright_mysqlite::Value;
use shardwright_rules::refusal::Refusal;
use shardwright_rules::tables::{self, Cell, Table, digest_text};
use shardwright_rules::{Body, Decision, EngineRule, MemberStatus, NativeStep, Outcome, Rule, User};

use crate::members::MemberRuntime;
use crate::read_speed::WHOLE_SHARE;
use crate::shared::Shared;
use crate::stats::{DigestFigures, Reason, RuleKey, WorkerFigures};

pub(super) type Rows = Vec<Vec<Value>>;

pub(super) fn int(value: impl TryInto<i64>) -> Value {
    Value::Int(value.try_into().unwrap_or(i64::MAX))
}

pub(super) fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// The whole row of a table of which some columns are given.
pub(super) fn row(table: &Table, given: &[(&'static str, Cell)]) -> Vec<Value> {
    let value = |cell| match cell {
        None => Value::Null,
        Some(Cell::Integer(number)) => int(number),
        Some(Cell::Text(content)) => text(content),
    };
    table.row(given).map(value).collect()
}

/// The servers as they are written.
pub(super) fn servers(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let hostgroups = &snapshot.configuration.hostgroups;
    let members = hostgroups
        .iter()
        .flat_map(|hostgroup| hostgroup.members.iter().map(move |member| (hostgroup.id, member)));
    members
        .map(|(hostgroup, member)| row(&tables::SERVERS, &member.cells(hostgroup)))
        .collect()
}

pub(super) fn users(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let user = |user: &User| {
        let mut row = row(&tables::USERS, &user.cells());
        row.push(int(shared.user_sessions(&user.name)));
        row
    };
    snapshot.configuration.users.iter().map(user).collect()
}

pub(super) fn rules(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    snapshot.configuration.graph.rules.iter().map(rule).collect()
}

fn rule(rule: &Rule) -> Vec<Value> {
    let (cells, step) = match &rule.body {
        Body::Engine(row) => (row.cells(rule.id, rule.flag_in), "rule"),
        Body::Native { step, .. } => (of_step(step).cells(rule.id, rule.flag_in), step.name()),
    };
    let mut row = row(&tables::QUERY_RULES, &cells);
    row.extend([text(rule.address.as_str()), text(step)]);
    row
}

/// What of a step a column can say.
fn of_step(step: &NativeStep) -> EngineRule {
    let mut row = EngineRule::default();
    match step {
        NativeStep::Delay(delay) => row.delay_ms = Some(delay.delay_ms),
        NativeStep::Throttle(throttle) => row.delay_ms = throttle.certain_delay_ms(),
        NativeStep::NoMultiplex => row.multiplex = Some(0),
        NativeStep::Map(_) | NativeStep::Role(_) | NativeStep::StopIfPlaced => {}
    }
    row
}

pub(super) fn rule_hits(shared: &Shared, figures: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let hits = WorkerFigures::rule_hits(figures);
    let rules = snapshot.configuration.graph.rules.iter();
    rules
        .map(|rule| {
            let count = hits.get(&RuleKey::of(rule)).copied().unwrap_or(0);
            vec![int(rule.id), int(count), text(rule.address.as_str())]
        })
        .collect()
}

pub(super) fn connection_pool(shared: &Shared, figures: &[WorkerFigures]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let mut groups: Vec<_> = snapshot.hostgroups.iter().collect();
    groups.sort_by_key(|(id, _)| **id);
    let members = groups
        .into_iter()
        .flat_map(|(id, group)| group.placed().map(move |(member, place)| (id, member, place)));
    members
        .map(|(id, member, place)| {
            let runtime = &member.runtime;
            let (counters, free) = WorkerFigures::member(figures, runtime.number);
            let open = runtime.connections();
            let status = match place.status {
                MemberStatus::Online if runtime.is_avoided() => "SHUNNED",
                status => status.column(),
            };
            vec![
                int(id.0),
                text(runtime.host.as_str()),
                int(runtime.port),
                text(status),
                int(open.saturating_sub(free)),
                int(free),
                int(runtime.connected.load(Ordering::Relaxed)),
                int(runtime.connect_errors.load(Ordering::Relaxed)),
                int(open),
                int(counters.queries),
                // No read waits for a GTID.
                int(0),
                int(counters.bytes_sent),
                int(counters.bytes_received),
                int(counters.time_us.checked_div(counters.queries).unwrap_or(0)),
            ]
        })
        .collect()
}

pub(super) fn digests(_: &Shared, figures: &[WorkerFigures]) -> Rows {
    WorkerFigures::all_digests(figures)
        .into_iter()
        .map(digest)
        .collect()
}

/// What was counted, which begins anew.
pub(super) fn digests_reset(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let taken = shared.workers().iter().filter_map(|worker| worker.take_digests());
    let figures: Vec<WorkerFigures> = taken
        .map(|digests| WorkerFigures {
            digests,
            ..WorkerFigures::default()
        })
        .collect();
    WorkerFigures::all_digests(&figures)
        .into_iter()
        .map(digest)
        .collect()
}

fn digest(figures: DigestFigures) -> Vec<Value> {
    vec![
        int(figures.hostgroup.0),
        text(figures.schema),
        text(figures.user),
        // As in ProxySQL unless `mysql-query_digests_track_hostname` is on.
        text(""),
        text(digest_text(figures.digest)),
        text(figures.text),
        int(figures.count),
        int(figures.first_seen_s),
        int(figures.last_seen_s),
        int(figures.sum_time_us),
        int(figures.min_time_us),
        int(figures.max_time_us),
        int(figures.rows_affected),
        int(figures.rows_sent),
    ]
}

pub(super) fn workers(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let workers = shared.workers().iter().enumerate();
    workers
        .map(|(place, worker)| vec![int(place), int(worker.load())])
        .collect()
}

pub(super) fn totals(shared: &Shared, figures: &[WorkerFigures]) -> Rows {
    let mut totals: Vec<(String, u64)> = vec![
        ("ProxySQL_Uptime".to_owned(), shared.started.elapsed().as_secs()),
        (
            "Client_Connections_connected".to_owned(),
            shared.sessions() as u64,
        ),
        (
            "Admin_Access_Denied_Wrong_Password".to_owned(),
            shared.denied_admins.wrong(),
        ),
        (
            "Admin_Access_Denied_Waiting".to_owned(),
            shared.denied_admins.refused(),
        ),
        ("Role_changes".to_owned(), shared.control.knowledge.changes()),
        ("Reads_withheld".to_owned(), shared.withheld.all().len() as u64),
        ("Slow_readers".to_owned(), slow_readers(shared)),
        ("MySQL_Thread_Workers".to_owned(), shared.workers().len() as u64),
        (
            "Generation".to_owned(),
            shared.control.snapshot().load().generation.unsigned_abs(),
        ),
        (
            "Query_Digests_dropped".to_owned(),
            figures.iter().map(|figures| figures.digests_dropped).sum(),
        ),
    ];
    totals.extend(memory(shared));
    totals.extend(
        WorkerFigures::all_totals(figures)
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count)),
    );
    let refusals = WorkerFigures::all_refusals(figures);
    let without_key = refusals
        .get(&Reason::Refusal(Refusal::MissingKey))
        .copied()
        .unwrap_or(0);
    totals.push(("Queries_without_required_hint".to_owned(), without_key));
    totals.extend(
        refusals
            .into_iter()
            .map(|(reason, count)| (format!("Refused_{reason}"), count)),
    );
    totals.sort();
    totals
        .into_iter()
        .map(|(name, value)| vec![text(name), text(value.to_string())])
        .collect()
}

/// What clients make the proxy hold, and what came of its limit.
fn memory(shared: &Shared) -> impl Iterator<Item = (String, u64)> {
    let figures = shared.budget.figures();
    let totals = [
        ("Memory_limit_bytes", figures.limit as u64),
        ("Memory_refused", figures.refused),
        ("Memory_sessions_ended", figures.ended),
        ("Memory_used_bytes", figures.used as u64),
        ("Memory_waited", figures.waits),
        ("Memory_waiting", figures.waiting as u64),
    ];
    totals.into_iter().map(|(name, value)| (name.to_owned(), value))
}

/// Readers that get less than their share because they are slow.
fn slow_readers(shared: &Shared) -> u64 {
    let snapshot = shared.control.snapshot().load_full();
    let is_slow = |member: &&MemberRuntime| member.speed.share() < WHOLE_SHARE;
    snapshot.members_in_order().filter(is_slow).count() as u64
}

pub(super) fn variables(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let limits = &shared.limits;
    let settings = shared.control.snapshot().load().configuration.settings;
    let variables = [
        ("admin-version", env!("CARGO_PKG_VERSION").to_owned()),
        (
            "mysql-connect_timeout_server",
            limits.connect_timeout.as_millis().to_string(),
        ),
        (
            "mysql-connect_timeout_server_max",
            limits.checkout_timeout.as_millis().to_string(),
        ),
        ("mysql-interfaces", shared.control.listeners.places().join(";")),
        ("mysql-max_allowed_packet", limits.max_packet.to_string()),
        ("mysql-max_connections", limits.max_sessions.to_string()),
        ("mysql-max_memory", shared.budget.limit().to_string()),
        (
            "mysql-query_processor_iterations",
            settings.query_processor_iterations.to_string(),
        ),
        (
            "mysql-server_version",
            shared.server_version.now(&shared.control.snapshot().load()),
        ),
        ("mysql-threads", shared.workers().len().to_string()),
        ("mysql-wait_timeout", limits.idle_timeout.as_millis().to_string()),
    ];
    variables
        .into_iter()
        .map(|(name, value)| vec![text(name), text(value)])
        .collect()
}

/// A decision as rows: what, and why, step by step.
pub(super) fn decision(decision: &Decision) -> shardwright_mysqlite::Table {
    let mut table = shardwright_mysqlite::Table::of_text(&["field", "value"]);
    let mut row = |field: &str, value: String| table.rows.push(vec![text(field), text(value)]);
    match &decision.outcome {
        Outcome::Route(route) => {
            row("outcome", "route".to_owned());
            row("hostgroup", route.hostgroup.to_string());
            if let Some(cluster) = &route.cluster {
                row("cluster", cluster.to_string());
            }
            if let Some(role) = route.role {
                row("role", role.to_string());
            }
            if let Some(shard) = &route.shard {
                row("shard", shard.to_string());
            }
            if let Some(schema) = &route.backend_schema {
                row("backend_schema", schema.to_string());
            }
            for table in &route.assumed {
                let name = format!("{}.{}", table.schema, table.table);
                if let Some(key) = &table.key {
                    row("assumed_key_column", format!("{name}.{}", key.column));
                }
                if !table.is_stated {
                    row("assumed_base_table", name);
                }
            }
            if let Some(rewritten) = &route.rewritten {
                row("rewritten", String::from_utf8_lossy(rewritten).into_owned());
            }
            if let Some(delay_ms) = route.effects.delay_ms {
                row("delay_ms", delay_ms.to_string());
            }
            for throttled in &route.effects.throttles {
                row(
                    "throttle",
                    format!("{}: {}", throttled.address, throttled.throttle),
                );
            }
        }
        Outcome::Reject(rejection) => {
            row("outcome", "reject".to_owned());
            row(
                "error",
                format!(
                    "{} ({}): {}",
                    rejection.code, rejection.sqlstate, rejection.message
                ),
            );
            if let Some(address) = &rejection.address {
                row("address", address.to_string());
            }
        }
        Outcome::Answer { message } => {
            row("outcome", "answer".to_owned());
            row("message", message.clone());
        }
        Outcome::Own { .. } => row("outcome", "answer".to_owned()),
        Outcome::DeferBegin => row("outcome", "defer_begin".to_owned()),
    }
    row("evaluations", decision.evaluations.to_string());
    for step in &decision.path {
        row(
            "step",
            format!("rule {} {}: {}", step.rule_id, step.address, step.why),
        );
    }
    table
}
