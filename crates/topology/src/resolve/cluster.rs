//! Clusters and their servers.

use rustc_hash::FxHashSet;
use shardwright_diagnostics::Diagnostic;

use super::object::Object;
use super::{Known, instances, names, server};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOBODY_READS, NOT_TOGETHER};
use crate::context::Context;
use crate::model::{
    Cluster, ClusterId, ClusterKind, Failback, GALERA_TRANSACTIONS_BEHIND, HostgroupPins, ReadOnlyCheck,
    RolesBy, Server, ServerState, Table, Tls, WriterServesReads,
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

const FAILBACKS: [(&str, Failback); 2] = [("manual", Failback::Manual), ("automatic", Failback::Automatic)];
const ROLES_BY: [(&str, RolesBy); 2] = [("engine", RolesBy::Engine), ("external", RolesBy::External)];

/// What only clusters have in which any server could write.
const OF_GROUPS: [&str; 2] = ["writers", "max_transactions_behind"];
/// What only clusters have that tell readers from writers.
const OF_ROLES: [&str; 4] = ["writer_preference", "writer_serves_reads", "failback", "roles_by"];

pub(super) fn clusters(
    section: Option<Field<'_>>,
    known: &mut Known,
    context: &mut Context<'_>,
) -> Vec<Cluster> {
    let read = instances::read_section(section, context, cluster);
    let mut clusters = Vec::with_capacity(read.len());
    for (name, cluster) in read {
        let id = ClusterId(u32::try_from(clusters.len()).unwrap_or(u32::MAX));
        known.clusters.insert(name, cluster.is_some().then_some(id));
        clusters.extend(cluster);
    }
    clusters
}
fn cluster(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Cluster> {
    object.require("type", context);
    object.require("servers", context);
    let kind = kind(object, context);
    let servers = Table::new(server::servers(object, context));
    server_count(object, kind, &servers, context);
    if let Some(kind) = kind {
        keys_of_other_types(object, kind, context);
    }
    let cluster = Cluster {
        name: object.name.clone(),
        origin: object.origin,
        kind: kind?,
        writer_preference: writer_preference(object, &servers, context),
        writer_serves_reads: object
            .word("writer_serves_reads", &WRITER_SERVES_READS, context)
            .unwrap_or_default(),
        hostgroups: pins(object, context),
        writers: writers(object, &servers, context),
        failback: object.word("failback", &FAILBACKS, context).unwrap_or_default(),
        max_transactions_behind: max_transactions_behind(object, kind?, context),
        roles_by: object.word("roles_by", &ROLES_BY, context).unwrap_or_default(),
        tls: object.word("tls", &TLS, context).unwrap_or_default(),
        servers: if servers.is_empty() { return None } else { servers },
    };
    somebody_reads(object, &cluster, context);
    Some(cluster)
}

fn server_count(
    object: &Object<'_, '_>,
    kind: Option<ClusterKind>,
    servers: &Table<Server>,
    context: &mut Context<'_>,
) {
    let Some(field) = object.view.get("servers").filter(|field| field.value.is_map()) else {
        return;
    };
    if field.value.fields().is_empty() {
        let message = "a cluster needs at least one server";
        object.error(MISSING_KEY, message, field.key.span, context);
    } else if kind == Some(ClusterKind::Single) && servers.len() > 1 {
        let diagnostic = Diagnostic::error(NOT_TOGETHER, "a cluster of type single has one server");
        let diagnostic = diagnostic.at(object.span("type"), "").also(field.key.span, "");
        object.push(
            diagnostic.help("`type: replication` is a writer with replicas"),
            context,
        );
    }
}

fn kind(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<ClusterKind> {
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
    Some(kind)
}

const fn is_group(kind: ClusterKind) -> bool {
    matches!(kind, ClusterKind::Galera | ClusterKind::GroupReplication)
}

/// Keys that mean nothing in a cluster of this type.
fn keys_of_other_types(object: &Object<'_, '_>, kind: ClusterKind, context: &mut Context<'_>) {
    let mut misplaced = Vec::new();
    if !is_group(kind) {
        let groups = "clusters of type galera and group_replication";
        misplaced.extend(OF_GROUPS.map(|key| (object.view.get(key), groups)));
        if let Some(pins) = object.view.get("hostgroups") {
            let pins = object.inner(pins.value, pins.key.span);
            misplaced.extend(["backup_writer", "offline"].map(|key| (pins.view.get(key), groups)));
        }
    }
    if kind == ClusterKind::Single {
        let several = "clusters of several servers, and type single has one";
        misplaced.extend(OF_ROLES.map(|key| (object.view.get(key), several)));
    }
    for (field, of) in misplaced {
        if let Some(field) = field {
            let message = format!("`{}` is for {of}", field.key.text);
            object.error(NOT_TOGETHER, message, field.key.span, context);
        }
    }
}

fn writers(object: &Object<'_, '_>, servers: &Table<Server>, context: &mut Context<'_>) -> u32 {
    let Some(writers) = object.integer("writers", 1..=i64::from(u32::MAX), context) else {
        return 1;
    };
    let writers = u32::try_from(writers).unwrap_or(u32::MAX);
    if writers as usize > servers.len() && !servers.is_empty() {
        let message = format!("{writers} writers, but the cluster has {} servers", servers.len());
        object.error(BAD_VALUE, message, object.span("writers"), context);
    }
    writers
}

fn max_transactions_behind(
    object: &Object<'_, '_>,
    kind: ClusterKind,
    context: &mut Context<'_>,
) -> Option<u32> {
    let Some(most) = object.count("max_transactions_behind", context) else {
        return (kind == ClusterKind::Galera).then_some(GALERA_TRANSACTIONS_BEHIND);
    };
    if most == 0 && kind == ClusterKind::Galera {
        let message = "0 takes a read-only server out as soon as one transaction waits to be applied";
        let diagnostic = Diagnostic::error(BAD_VALUE, message)
            .at(object.span("max_transactions_behind"), "")
            .help("leave the key out for the default, 100");
        object.push(diagnostic, context);
    }
    Some(most)
}

/// With a writer that never answers reads, some other server has to.
fn somebody_reads(object: &Object<'_, '_>, cluster: &Cluster, context: &mut Context<'_>) {
    if cluster.kind == ClusterKind::Single || cluster.writer_serves_reads != WriterServesReads::Never {
        return;
    }
    let online = cluster
        .servers
        .iter()
        .filter(|server| server.state == ServerState::Online);
    let online = online.count();
    if online > cluster.writers as usize {
        return;
    }
    let left = match online {
        0 => "no server is online".to_owned(),
        1 => "its only server online is the writer".to_owned(),
        n => format!("all its {n} servers online are writers"),
    };
    let diagnostic = Diagnostic::warning(NOBODY_READS, format!("nobody answers reads: {left}"))
        .at(object.span("writer_serves_reads"), "")
        .help("`writer_serves_reads: last_resort` lets the writer answer where nobody else can");
    object.push(diagnostic, context);
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
