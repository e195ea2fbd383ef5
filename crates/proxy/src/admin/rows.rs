//! The rows of the admin tables.

use std::sync::atomic::Ordering;

use shardwright_mysqlite::{Table, Value};
use shardwright_rules::refusal::Refusal;
use shardwright_rules::{Body, Decision, EngineRule, MemberStatus, NativeStep, Outcome, Rule};

use crate::shared::Shared;
use crate::stats::Reason;
use crate::stats::{DigestFigures, Report};

type Rows = Vec<Vec<Value>>;

fn int(value: impl TryInto<i64>) -> Value {
    Value::Int(value.try_into().unwrap_or(i64::MAX))
}

fn optional_int(value: Option<u32>) -> Value {
    value.map_or(Value::Null, int)
}

fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

fn optional_text(value: Option<&String>) -> Value {
    value.map_or(Value::Null, |value| text(value.as_str()))
}

fn status(status: MemberStatus) -> &'static str {
    match status {
        MemberStatus::Online => "ONLINE",
        MemberStatus::Draining => "OFFLINE_SOFT",
        MemberStatus::Offline => "OFFLINE_HARD",
    }
}

pub(super) fn servers(shared: &Shared, _: &[Report]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let hostgroups = &snapshot.configuration.hostgroups;
    let members = hostgroups
        .iter()
        .flat_map(|hostgroup| hostgroup.members.iter().map(move |member| (hostgroup.id, member)));
    members
        .map(|(hostgroup, member)| {
            vec![
                int(hostgroup.0),
                text(member.host.as_str()),
                int(member.port),
                int(0),
                text(status(member.status)),
                int(member.weight),
                int(0),
                int(member.max_connections),
                int(member.max_replication_lag_s),
                int(u8::from(member.use_tls)),
                int(0),
                text(member.server.as_str()),
            ]
        })
        .collect()
}

pub(super) fn users(shared: &Shared, _: &[Report]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let row = |user: &shardwright_rules::User| {
        vec![
            text(user.name.as_str()),
            int(1),
            int(user.default_hostgroup.0),
            optional_text(user.default_schema.as_ref()),
            int(u8::from(user.transaction_persistent)),
            int(user.max_connections),
            int(shared.user_sessions(&user.name)),
            text(user.address.as_str()),
        ]
    };
    snapshot.configuration.users.iter().map(row).collect()
}

pub(super) fn rules(shared: &Shared, _: &[Report]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    snapshot.configuration.graph.rules.iter().map(rule).collect()
}

fn rule(rule: &Rule) -> Vec<Value> {
    let native = EngineRule::default();
    let (row, step) = match &rule.body {
        Body::Engine(row) => (&**row, "rule"),
        Body::Native { step, .. } => (
            &native,
            match step {
                NativeStep::Map(_) => "map",
                NativeStep::Role(_) => "role",
                NativeStep::Delay(_) => "delay",
                NativeStep::NoMultiplex => "no_multiplex",
                NativeStep::StopIfPlaced => "stop_if_placed",
            },
        ),
    };
    let delay = match &rule.body {
        Body::Native {
            step: NativeStep::Delay(delay),
            ..
        } => Some(delay.delay_ms),
        _ => row.delay_ms,
    };
    let multiplex = match &rule.body {
        Body::Native {
            step: NativeStep::NoMultiplex,
            ..
        } => Some(0),
        _ => row.multiplex,
    };
    let modifiers: Vec<&str> = [
        ("CASELESS", row.re_modifiers.caseless),
        ("GLOBAL", row.re_modifiers.global),
    ]
    .into_iter()
    .filter_map(|(name, is_set)| is_set.then_some(name))
    .collect();
    vec![
        int(rule.id),
        int(1),
        optional_text(row.username.as_ref()),
        optional_text(row.schemaname.as_ref()),
        int(rule.flag_in),
        optional_text(row.client_addr.as_ref()),
        optional_text(row.proxy_addr.as_ref()),
        row.proxy_port.map_or(Value::Null, int),
        row.digest
            .map_or(Value::Null, |digest| text(format!("0x{digest:016X}"))),
        optional_text(row.match_digest.as_ref()),
        optional_text(row.match_pattern.as_ref()),
        int(u8::from(row.negate_match_pattern)),
        text(modifiers.join(",")),
        optional_int(row.flag_out),
        optional_text(row.replace_pattern.as_ref()),
        optional_int(row.destination_hostgroup),
        optional_int(delay),
        optional_text(row.error_msg.as_ref()),
        optional_text(row.ok_msg.as_ref()),
        multiplex.map_or(Value::Null, int),
        int(u8::from(row.apply)),
        optional_text(row.comment.as_ref()),
        text(rule.address.as_str()),
        text(step),
    ]
}

pub(super) fn rule_hits(shared: &Shared, reports: &[Report]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let hits = Report::rule_hits(reports);
    let rules = snapshot.configuration.graph.rules.iter();
    rules
        .map(|rule| {
            let count = hits.get(&(rule.id, rule.address.clone())).copied().unwrap_or(0);
            vec![int(rule.id), int(count), text(rule.address.as_str())]
        })
        .collect()
}

pub(super) fn connection_pool(shared: &Shared, reports: &[Report]) -> Rows {
    let snapshot = shared.control.snapshot().load_full();
    let mut groups: Vec<_> = snapshot.hostgroups.iter().collect();
    groups.sort_by_key(|(id, _)| **id);
    let members = groups
        .into_iter()
        .flat_map(|(id, group)| group.members.iter().map(move |member| (id, member)));
    members
        .map(|(id, member)| {
            let runtime = &member.runtime;
            let (counters, free) = Report::member(reports, runtime.number);
            let open = runtime.connections();
            let status = match status(member.status) {
                "ONLINE" if runtime.is_avoided() => "SHUNNED",
                status => status,
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
                int(counters.bytes_sent),
                int(counters.bytes_received),
                int(counters.time_us.checked_div(counters.queries).unwrap_or(0)),
            ]
        })
        .collect()
}

pub(super) fn digests(_: &Shared, reports: &[Report]) -> Rows {
    Report::all_digests(reports).into_iter().map(digest).collect()
}

/// What was counted, which begins anew.
pub(super) fn digests_reset(shared: &Shared, _: &[Report]) -> Rows {
    let taken = shared.workers().iter().filter_map(|worker| worker.take_digests());
    let reports: Vec<Report> = taken
        .map(|digests| Report {
            digests,
            ..Report::default()
        })
        .collect();
    Report::all_digests(&reports).into_iter().map(digest).collect()
}

fn digest(figures: DigestFigures) -> Vec<Value> {
    vec![
        int(figures.hostgroup.0),
        text(figures.schema),
        text(figures.user),
        text(format!("0x{:016X}", figures.digest)),
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

pub(super) fn totals(shared: &Shared, reports: &[Report]) -> Rows {
    let mut totals: Vec<(String, u64)> = vec![
        ("ProxySQL_Uptime".to_owned(), shared.started.elapsed().as_secs()),
        (
            "Client_Connections_connected".to_owned(),
            shared.sessions() as u64,
        ),
        ("MySQL_Thread_Workers".to_owned(), shared.workers().len() as u64),
        (
            "Generation".to_owned(),
            shared.control.snapshot().load().generation.unsigned_abs(),
        ),
        (
            "Query_Digests_dropped".to_owned(),
            reports.iter().map(|report| report.digests_dropped).sum(),
        ),
    ];
    totals.extend(
        Report::all_totals(reports)
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count)),
    );
    let refusals = Report::all_refusals(reports);
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

pub(super) fn variables(shared: &Shared, _: &[Report]) -> Rows {
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
        ("mysql-max_allowed_packet", limits.max_packet.to_string()),
        ("mysql-max_connections", limits.max_sessions.to_string()),
        (
            "mysql-query_processor_iterations",
            settings.query_processor_iterations.to_string(),
        ),
        ("mysql-server_version", shared.server_version.clone()),
        ("mysql-threads", shared.workers().len().to_string()),
        ("mysql-wait_timeout", limits.idle_timeout.as_millis().to_string()),
    ];
    variables
        .into_iter()
        .map(|(name, value)| vec![text(name), text(value)])
        .collect()
}

/// A decision as rows: what, and why, step by step.
pub(super) fn decision(decision: &Decision) -> Table {
    let mut table = Table::of_text(&["field", "value"]);
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
                row("assumed_base_table", format!("{}.{}", table.schema, table.table));
            }
            if let Some(rewritten) = &route.rewritten {
                row("rewritten", String::from_utf8_lossy(rewritten).into_owned());
            }
            if let Some(delay_ms) = route.effects.delay_ms {
                row("delay_ms", delay_ms.to_string());
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
