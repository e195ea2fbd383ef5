//! Clusters and their servers.

use rustc_hash::FxHashSet;
use shardwright_diagnostics::Diagnostic;

use self::cluster::{
    HOSTGROUPS, MAX_TRANSACTIONS_BEHIND, ON_UNKNOWN, READ_ONLY_CHECK, SERVERS, SLOW_READERS, TYPE,
    WRITER_PREFERENCE, WRITER_SERVES_READS, WRITERS,
};
use super::object::Object;
use super::{Defined, instances, names, server};
use crate::codes::{BAD_VALUE, MISSING_KEY, NOBODY_READS, NOT_TOGETHER};
use crate::fields::{AnyField, When, holders, object};
use crate::model::{
    Cluster, ClusterId, ClusterKind, Failback, GALERA_TRANSACTIONS_BEHIND, HostgroupPins, ReadOnlyCheck,
    RolesBy, Server, ServerState, ServerTls, SlowReaders, Table, UnknownLag, Words, WriterServesReads,
};
use crate::tree::context::Context;
use crate::tree::view::Field;

object! {
    pub(crate) mod cluster = "Servers that hold the same data.";
    TYPE: Word<ClusterKind> = word(
        "type",
        "How the servers work together: one server, several that are not told apart (hostgroup), a writer with replicas, or a group that certifies writes.",
    )
    .needed();
    READ_ONLY_CHECK: Or<Word<ReadOnlyCheck>> = word(
        "read_only_check",
        "For replication: the flag that makes a server a replica.",
    )
    .or_when(ReadOnlyCheck::ReadOnly, When::Is(&TYPE, &["replication"]));
    SERVERS: Map = map(
        holders::SERVERS,
        "The servers by name; the name is part of the address that you patch, protect and drain.",
        Shaped::Definition("server"),
    )
    .needed()
    .page("At least one.")
    .defines("servers");
    HOSTGROUPS: Part = part("hostgroups", &hostgroups::FIELDS)
        .absent("taken from `ids.hostgroups` and kept in the lock file");
    WRITERS: Or<Count> = int(
        "writers",
        "How many servers write at once (galera, group_replication); 1 by default.",
        1,
        4_294_967_295,
    )
    .or_when(1, When::Is(&TYPE, &["galera", "group_replication"]));
    WRITER_PREFERENCE: Texts = texts(
        "writer_preference",
        "Servers in order of preference as writer. Servers that are not listed follow in file order. Separate from `read_weight`.",
        "a list of servers",
    )
    .examples(r#"[["db1", "db2"]]"#)
    .absent("file order")
    .refers(refers::SERVERS);
    WRITER_SERVES_READS: Or<Word<WriterServesReads>> = word(
        "writer_serves_reads",
        "Whether the writer answers reads: `never`, `last_resort` (when no reader is left; by default) or `always` \
         (with its `read_weight`).",
    )
    .or_when(WriterServesReads::LastResort, SEVERAL);
    FAILBACK: Or<Word<Failback>> = word(
        "failback",
        "Whether a preferred writer takes over again when it is back: `manual` (only on request; by default) or `automatic`.",
    )
    .or_when(Failback::Manual, SEVERAL);
    MAX_TRANSACTIONS_BEHIND: Or<Count> = count(
        "max_transactions_behind",
        "How many transactions a server may be behind; beyond that it is taken out (galera, group_replication); 100 for galera and no limit for group_replication by default.",
    )
    .or_when(GALERA_TRANSACTIONS_BEHIND, When::Is(&TYPE, &["galera"]))
    .examples("[10]")
    .absent("no limit for group_replication");
    ON_UNKNOWN: Or<Word<UnknownLag>> = word(
        "on_unknown",
        "What replicas with `max_replication_lag` do while nobody knows how far they are behind, because the writer is gone: \
         they answer reads (`read`; by default) or none (`refuse`).",
    )
    .or_when(UnknownLag::Read, When::Is(&TYPE, &["replication"]));
    SLOW_READERS: Or<Word<SlowReaders>> = word(
        "slow_readers",
        "What a reader gets that answers far more slowly than the other readers: fewer reads until it is faster \
         (`fewer_reads`; by default), or its full share (`full_share`).",
    )
    .or_when(SlowReaders::FewerReads, SEVERAL);
    ROLES_BY: Or<Word<RolesBy>> = word(
        "roles_by",
        "Who moves servers between roles: the engine's monitor (`engine`; by default) or another tool, such as a scheduler (`external`).",
    )
    .or_when(RolesBy::Engine, SEVERAL);
    TLS: Or<Word<ServerTls>> = word(
        "tls",
        "Encryption to the servers: `disabled` (by default), `preferred` (if the server offers it), `required`, or `verify` (required, and the certificate is checked).",
    )
    .or(ServerTls::Disabled);
}

object! {
    mod hostgroups = "Hostgroup numbers that this cluster must use.";
    WRITER: Count = id("writer", "The number of the hostgroup that holds the writers.").examples("[100]");
    READER: Count = id("reader", "The number of the hostgroup that holds the readers.").examples("[101]");
    BACKUP_WRITER: Count = id(
        "backup_writer",
        "The number of the hostgroup of servers that could write and do not (galera, group_replication).",
    );
    OFFLINE: Count = id(
        "offline",
        "The number of the hostgroup of servers that are taken out (galera, group_replication).",
    );
}

/// Types of clusters that have several servers.
const SEVERAL: When = When::Is(&cluster::TYPE, &["replication", "galera", "group_replication"]);
/// What only clusters have in which any server could write.
const OF_GROUPS: [&dyn AnyField; 2] = [&WRITERS, &MAX_TRANSACTIONS_BEHIND];
/// What only clusters have that tell readers from writers.
const OF_ROLES: [&dyn AnyField; 5] = [
    &WRITER_PREFERENCE,
    &WRITER_SERVES_READS,
    &SLOW_READERS,
    &cluster::FAILBACK,
    &cluster::ROLES_BY,
];

pub(super) fn clusters(
    section: Option<Field<'_>>,
    defined: &mut Defined,
    context: &mut Context<'_>,
) -> Vec<Cluster> {
    let read = instances::read_section(section, context, cluster);
    let mut clusters = Vec::with_capacity(read.len());
    for (name, cluster) in read {
        let id = ClusterId(u32::try_from(clusters.len()).unwrap_or(u32::MAX));
        defined.clusters.insert(name, cluster.is_some().then_some(id));
        clusters.extend(cluster);
    }
    clusters
}

fn cluster(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<Cluster> {
    object.require_all(&cluster::FIELDS, context);
    let kind = kind(object, context);
    let servers = object.field(&SERVERS).filter(|field| field.value.is_map());
    let servers = servers.map_or_else(Vec::new, |field| {
        server::servers(object, &field, scope_of_servers(object), context)
    });
    let servers = Table::new(servers);
    server_count(object, kind, &servers, context);
    if let Some(kind) = kind {
        keys_of_other_types(object, kind, context);
    }
    let cluster = Cluster {
        name: object.name.clone(),
        origin: object.origin,
        kind: kind?,
        writer_preference: writer_preference(object, &servers, context),
        writer_serves_reads: object.get(&WRITER_SERVES_READS, context),
        hostgroups: pins(object, context),
        writers: writers(object, &servers, context),
        failback: object.get(&cluster::FAILBACK, context),
        max_transactions_behind: max_transactions_behind(object, kind?, context),
        on_unknown: object.get(&ON_UNKNOWN, context),
        slow_readers: object.get(&SLOW_READERS, context),
        roles_by: object.get(&cluster::ROLES_BY, context),
        tls: object.get(&cluster::TLS, context),
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
    let Some(field) = object.field(&SERVERS).filter(|field| field.value.is_map()) else {
        return;
    };
    if field.value.fields().is_empty() {
        let message = "a cluster needs at least one server";
        object.error(MISSING_KEY, message, field.key.span, context);
    } else if kind == Some(ClusterKind::Single) && servers.len() > 1 {
        let diagnostic = Diagnostic::error(NOT_TOGETHER, "a cluster of type single has one server");
        let diagnostic = diagnostic.at(object.span(&TYPE), "").also(field.key.span, "");
        object.push(
            diagnostic.help(
                "`type: replication` is a writer with replicas, `type: hostgroup` does not tell servers apart",
            ),
            context,
        );
    }
}

fn kind(object: &Object<'_, '_>, context: &mut Context<'_>) -> Option<ClusterKind> {
    let read_only_check = object.get(&READ_ONLY_CHECK, context);
    let kind = object.get(&TYPE, context)?;
    if let ClusterKind::Replication { .. } = kind {
        return Some(ClusterKind::Replication { read_only_check });
    }
    let of_replication: [&dyn AnyField; 2] = [&READ_ONLY_CHECK, &ON_UNKNOWN];
    for field in of_replication.into_iter().filter_map(|key| object.field(key)) {
        let message = format!("`{}` is for clusters of type replication", field.key.text);
        object.error(NOT_TOGETHER, message, field.key.span, context);
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
        misplaced.extend(OF_GROUPS.map(|key| (object.field(key), groups)));
        if let Some(pins) = object.inside(&HOSTGROUPS) {
            let of_groups: [&dyn AnyField; 2] = [&hostgroups::BACKUP_WRITER, &hostgroups::OFFLINE];
            misplaced.extend(of_groups.map(|key| (pins.field(key), groups)));
        }
    }
    if !kind.has_roles() {
        let of = match kind {
            ClusterKind::Single => "clusters of several servers, and type single has one",
            _ => "clusters with a writer and readers, and type hostgroup does not tell servers apart",
        };
        misplaced.extend(OF_ROLES.map(|key| (object.field(key), of)));
    }
    for (field, of) in misplaced {
        if let Some(field) = field {
            let message = format!("`{}` is for {of}", field.key.text);
            object.error(NOT_TOGETHER, message, field.key.span, context);
        }
    }
    let fails_back = object.has(&cluster::FAILBACK)
        && object.get(&cluster::FAILBACK, context) == Failback::Automatic
        && matches!(kind, ClusterKind::Replication { .. });
    if fails_back {
        let message = "`failback: automatic` is for clusters of type galera and group_replication: in a cluster of type \
                       replication, the server that was promoted last writes until another one is promoted";
        object.error(NOT_TOGETHER, message, object.span(&cluster::FAILBACK), context);
    }
}

/// What a cluster says about the fields of its servers.
fn scope_of_servers(object: &Object<'_, '_>) -> server::Allowed {
    let kind = object.field(&TYPE);
    let kind = kind.and_then(|kind| ClusterKind::of_word(kind.value.node()?.as_text()?));
    server::Allowed {
        max_replication_lag: matches!(
            kind,
            None | Some(ClusterKind::Replication { .. } | ClusterKind::Hostgroup)
        ),
        read_weight: kind.is_none_or(ClusterKind::has_roles),
    }
}

fn writers(object: &Object<'_, '_>, servers: &Table<Server>, context: &mut Context<'_>) -> u32 {
    let writers = object.get(&WRITERS, context);
    if writers as usize > servers.len() && !servers.is_empty() {
        let message = format!("{writers} writers, but the cluster has {} servers", servers.len());
        object.error(BAD_VALUE, message, object.span(&WRITERS), context);
    }
    writers
}

fn max_transactions_behind(
    object: &Object<'_, '_>,
    kind: ClusterKind,
    context: &mut Context<'_>,
) -> Option<u32> {
    let Some(most) = object.given(&MAX_TRANSACTIONS_BEHIND, context) else {
        return (kind == ClusterKind::Galera).then(|| MAX_TRANSACTIONS_BEHIND.standing());
    };
    if most == 0 && kind == ClusterKind::Galera {
        let message =
            "with 0, a read-only server is taken out as soon as one transaction waits to be applied";
        let diagnostic = Diagnostic::error(BAD_VALUE, message)
            .at(object.span(&MAX_TRANSACTIONS_BEHIND), "")
            .help("remove the key for the default, 100");
        object.push(diagnostic, context);
    }
    Some(most)
}

/// With a writer that never answers reads, some other server has to.
fn somebody_reads(object: &Object<'_, '_>, cluster: &Cluster, context: &mut Context<'_>) {
    if !cluster.kind.has_roles() || cluster.writer_serves_reads != WriterServesReads::Never {
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
        1 => "the only online server is the writer".to_owned(),
        n => format!("all {n} online servers are writers"),
    };
    let diagnostic = Diagnostic::warning(NOBODY_READS, format!("no server answers reads: {left}"))
        .at(object.span(&WRITER_SERVES_READS), "")
        .help("with `writer_serves_reads: last_resort`, the writer answers when no other server can");
    object.push(diagnostic, context);
}

fn writer_preference(
    object: &Object<'_, '_>,
    servers: &Table<Server>,
    context: &mut Context<'_>,
) -> Vec<u32> {
    let mut preference = Vec::new();
    let mut named = FxHashSet::default();
    for (span, name) in object.texts(&WRITER_PREFERENCE, context) {
        match servers.position(&name) {
            Some(place) if named.insert(place) => preference.push(place),
            Some(_) => object.error(NOT_TOGETHER, format!("`{name}` is named twice"), span, context),
            None => {
                let candidates = servers.iter().map(|server| &*server.name);
                let diagnostic = names::unknown("server of this cluster", &name, candidates, span, context);
                object.push(diagnostic, context);
            }
        }
    }
    preference
}

fn pins(object: &Object<'_, '_>, context: &mut Context<'_>) -> HostgroupPins {
    let Some(pins) = object.part(&HOSTGROUPS, context) else {
        return HostgroupPins::default();
    };
    HostgroupPins {
        writer: pins.get(&hostgroups::WRITER, context),
        reader: pins.get(&hostgroups::READER, context),
        backup_writer: pins.get(&hostgroups::BACKUP_WRITER, context),
        offline: pins.get(&hostgroups::OFFLINE, context),
    }
}
