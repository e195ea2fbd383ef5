//! Clusters and their servers.

use rustc_hash::FxHashSet;
use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::{Known, instances, names, section_origin};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOT_SUPPORTED, NOT_TOGETHER};
use crate::context::Context;
use crate::environment::Environment;
use crate::model::{
    Cluster, ClusterId, ClusterKind, Failback, HostgroupPins, ReadOnlyCheck, RolesBy, Server, ServerState,
    Table, Tls, WriterServesReads,
};
use crate::view::Field;

const TYPES: [(&str, ClusterKind); 4] = [
    ("single", ClusterKind::Single),
    (
        "replication",
        ClusterKind::Replication {
            read_only_check: ReadOnlyCheck::ReadOnly,
        },
    ),
    ("galera", ClusterKind::Galera),
    ("group_replication", ClusterKind::GroupReplication),
];
const READ_ONLY_CHECKS: [(&str, ReadOnlyCheck); 3] = [
    ("read_only", ReadOnlyCheck::ReadOnly),
    ("super_read_only", ReadOnlyCheck::SuperReadOnly),
    ("innodb_read_only", ReadOnlyCheck::InnodbReadOnly),
];
const WRITER_SERVES_READS: [(&str, WriterServesReads); 3] = [
    ("never", WriterServesReads::Never),
    ("last_resort", WriterServesReads::LastResort),
    ("always", WriterServesReads::Always),
];
const TLS: [(&str, Tls); 4] = [
    ("disabled", Tls::Disabled),
    ("preferred", Tls::Preferred),
    ("required", Tls::Required),
    ("verify", Tls::Verify),
];
const STATES: [(&str, ServerState); 3] = [
    ("online", ServerState::Online),
    ("draining", ServerState::Draining),
    ("offline", ServerState::Offline),
];

pub(super) fn clusters(
    section: Option<Field<'_>>,
    known: &mut Known,
    context: &mut Context<'_>,
) -> Vec<Cluster> {
    let Some(section) = section else { return Vec::new() };
    let parent = section_origin(&section, context);
    let read = instances::read_all(
        &section.value,
        parent,
        &Environment::default(),
        context,
        |object, context| cluster(object, known, context),
    );
    let mut clusters = Vec::with_capacity(read.len());
    for (name, cluster) in read {
        let id = ClusterId(u32::try_from(clusters.len()).unwrap_or(u32::MAX));
        known.clusters.insert(name, cluster.is_some().then_some(id));
        clusters.extend(cluster);
    }
    clusters
}

fn cluster(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<Cluster> {
    object.require("type", context);
    object.require("servers", context);
    let kind = kind(object, known, context);
    let servers = Table::new(servers(object, context));
    if let Some(field) = object.view.get("servers").filter(|field| field.value.is_map()) {
        if field.value.fields().is_empty() {
            object.error(
                MISSING_KEY,
                "a cluster needs at least one server",
                field.key.span,
                context,
            );
        } else if kind == Some(ClusterKind::Single) && servers.len() > 1 {
            let diagnostic = Diagnostic::error(NOT_TOGETHER, "a cluster of type single has one server");
            let diagnostic = diagnostic.at(object.span("type"), "").also(field.key.span, "");
            object.push(
                diagnostic.help("`type: replication` is a writer with replicas"),
                context,
            );
        }
    }
    let writer_preference = writer_preference(object, &servers, context);
    Some(Cluster {
        name: object.name.clone(),
        origin: object.origin,
        kind: kind?,
        writer_preference,
        writer_serves_reads: object
            .word("writer_serves_reads", &WRITER_SERVES_READS, context)
            .unwrap_or_default(),
        hostgroups: pins(object, context),
        writers: object.count("writers", context).unwrap_or(1),
        failback: object
            .word(
                "failback",
                &[("manual", Failback::Manual), ("automatic", Failback::Automatic)],
                context,
            )
            .unwrap_or_default(),
        max_transactions_behind: object.count("max_transactions_behind", context),
        roles_by: object
            .word(
                "roles_by",
                &[("engine", RolesBy::Engine), ("external", RolesBy::External)],
                context,
            )
            .unwrap_or_default(),
        tls: object.word("tls", &TLS, context).unwrap_or_default(),
        servers: if servers.is_empty() { return None } else { servers },
    })
}

fn kind(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) -> Option<ClusterKind> {
    let read_only_check = object.word("read_only_check", &READ_ONLY_CHECKS, context);
    let kind = object.word("type", &TYPES, context)?;
    if let ClusterKind::Replication { .. } = kind {
        return Some(ClusterKind::Replication {
            read_only_check: read_only_check.unwrap_or_default(),
        });
    }
    if object.has("read_only_check") {
        let message = "`read_only_check` is for clusters of type replication";
        object.error(NOT_TOGETHER, message, object.key_span("read_only_check"), context);
    }
    if matches!(kind, ClusterKind::Galera | ClusterKind::GroupReplication) {
        not_supported(object, known, context);
    }
    Some(kind)
}

fn not_supported(object: &Object<'_, '_>, known: &Known, context: &mut Context<'_>) {
    let word = object
        .view
        .get("type")
        .and_then(|field| field.value.node()?.as_text())
        .unwrap_or_default()
        .to_owned();
    for engine in &known.engines {
        let message = format!(
            "clusters of type {word} are not supported yet by {}",
            engine.as_str()
        );
        object.error(NOT_SUPPORTED, message, object.span("type"), context);
    }
}

fn servers(object: &Object<'_, '_>, context: &mut Context<'_>) -> Vec<Server> {
    let Some(field) = object.view.get("servers").filter(|field| field.value.is_map()) else {
        return Vec::new();
    };
    let parent = instances::part_origin(object, &field, context);
    let read = instances::read_all(&field.value, parent, object.environment, context, server);
    read.into_iter().filter_map(|(_, server)| server).collect()
}

fn server(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Server> {
    object.require("host", context);
    let host = object.filled_text("host", context);
    let port = object.integer("port", 1..=65_535, context);
    let server = Server {
        name: object.name.clone(),
        origin: object.origin,
        host: host?,
        port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(3306),
        weight: object.count("weight", context).unwrap_or(1),
        read_weight: object.count("read_weight", context),
        max_connections: object.count("max_connections", context),
        max_replication_lag_ms: object.duration_ms("max_replication_lag", context),
        state: object.word("state", &STATES, context).unwrap_or_default(),
        until: object.text("until", context),
        reason: object.text("reason", context),
    };
    if let Some(until) = &server.until
        && !is_time(until)
    {
        let message = format!("expected a time such as 2027-01-10T06:00:00Z, found `{until}`");
        object.error(BAD_VALUE, message, object.span("until"), context);
    }
    Some(server)
}

/// Whether a text has the form of an RFC 3339 time: `2027-01-10T06:00:00Z`, with a fraction or an offset.
fn is_time(text: &str) -> bool {
    let form = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                wanted => byte == wanted,
            })
    };
    let Some((time, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let rest = rest.strip_prefix('.').map_or(rest, |rest| {
        rest.trim_start_matches(|digit: char| digit.is_ascii_digit())
    });
    form(time, "0000-00-00T00:00:00") && (rest == "Z" || form(rest, "+00:00") || form(rest, "-00:00"))
}

fn writer_preference(
    object: &Object<'_, '_>,
    servers: &Table<Server>,
    context: &mut Context<'_>,
) -> Vec<u32> {
    let mut preference = Vec::new();
    let mut named = FxHashSet::default();
    for (span, name) in object.texts("writer_preference", context) {
        match servers.place(&name) {
            Some(place) if named.insert(place) => preference.push(place),
            Some(_) => object.error(NOT_TOGETHER, format!("`{name}` is named twice"), span, context),
            None => {
                let known = servers.iter().map(|server| &*server.name);
                let diagnostic = names::unknown("server of this cluster", &name, known, span, context);
                object.push(diagnostic, context);
            }
        }
    }
    preference
}

fn pins(object: &Object<'_, '_>, context: &mut Context<'_>) -> HostgroupPins {
    let Some(pins) = object.part("hostgroups", context) else {
        return HostgroupPins::default();
    };
    HostgroupPins {
        writer: pins.id("writer", context),
        reader: pins.id("reader", context),
        backup_writer: pins.id("backup_writer", context),
        offline: pins.id("offline", context),
    }
}
