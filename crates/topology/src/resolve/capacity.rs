//! SW704: all proxies together may open more connections to a server than it takes.

use rustc_hash::FxHashMap;
use shardwright_diagnostics::Diagnostic;

use super::server::server::SERVER_MAX_CONNECTIONS;
use crate::codes::TOO_MANY_CONNECTIONS;
use crate::fields::AnyField;
use crate::model::{Cluster, ClusterKind, ProjectFile, Server, ServerState, Topology, WriterServesReads};
use crate::tree::context::Context;

/// What one proxy may open to the servers at one place.
#[derive(Default)]
struct Opened<'t> {
    connections: u64,
    /// Memberships of hostgroups.
    hostgroups: u64,
    /// The least limit that is said, and by which server.
    limit: Option<(u32, &'t Server)>,
}

/// Compares `server_max_connections` with pools x hostgroups x proxies. A project without targets has one proxy.
pub(crate) fn check(file: &ProjectFile, topology: &Topology, context: &mut Context<'_>) {
    let proxies = u64::try_from(file.targets.len()).unwrap_or(u64::MAX).max(1);
    let mut by_endpoint: FxHashMap<(&str, u16), Opened<'_>> = FxHashMap::default();
    let mut order = Vec::new();
    for cluster in topology.clusters.iter() {
        let hostgroups = hostgroups(cluster);
        for server in cluster
            .servers
            .iter()
            .filter(|server| server.state == ServerState::Online)
        {
            let endpoint = (&*server.host, server.port);
            let opened = by_endpoint.entry(endpoint).or_insert_with(|| {
                order.push(endpoint);
                Opened::default()
            });
            opened.connections += u64::from(server.max_connections) * hostgroups;
            opened.hostgroups += hostgroups;
            if let Some(limit) = server.server_max_connections
                && opened.limit.is_none_or(|(least, _)| limit < least)
            {
                opened.limit = Some((limit, server));
            }
        }
    }
    for endpoint in order {
        let opened = &by_endpoint[&endpoint];
        let Some((limit, server)) = opened.limit else {
            continue;
        };
        let most = opened.connections.saturating_mul(proxies);
        if most > u64::from(limit) {
            report(
                server,
                most,
                Limits {
                    connections: limit,
                    hostgroups: opened.hostgroups,
                    proxies,
                },
                context,
            );
        }
    }
}

/// In how many hostgroups of the cluster a server can be at once: the writer is also among the readers, unless it never
/// serves reads, and any server can become the writer.
fn hostgroups(cluster: &Cluster) -> u64 {
    match (cluster.kind, cluster.writer_serves_reads) {
        (ClusterKind::Single | ClusterKind::Hostgroup, _) | (_, WriterServesReads::Never) => 1,
        _ => 2,
    }
}

/// What decides how many connections a server takes, and how many may be opened to it.
struct Limits {
    /// What the server takes.
    connections: u32,
    hostgroups: u64,
    proxies: u64,
}

/// Reports that up to `most` connections may be opened to a server that takes less.
fn report(server: &Server, most: u64, limits: Limits, context: &mut Context<'_>) {
    let Limits {
        connections: limit,
        hostgroups,
        proxies,
    } = limits;
    let count = |n: u64, what: &str| match n {
        1 => format!("1 {what}"),
        n if what == "proxy" => format!("{n} proxies"),
        n => format!("{n} {what}s"),
    };
    let message = format!(
        "{} and {} may open {most} connections to {}:{}, which accepts {limit}",
        count(hostgroups, "hostgroup"),
        count(proxies, "proxy"),
        server.host,
        server.port
    );
    let label = format!("less than {most}");
    let diagnostic = Diagnostic::warning(TOO_MANY_CONNECTIONS, message)
        .at(
            context
                .origins
                .field(server.origin, SERVER_MAX_CONNECTIONS.name()),
            label,
        )
        .help(format!(
            "set `max_connections` to {} or less, or raise the server's limit",
            u64::from(limit) / (hostgroups * proxies).max(1)
        ));
    let diagnostic = diagnostic.address(context.origins.address(server.origin));
    context
        .report
        .push(context.origins.mark(server.origin, diagnostic));
}
