//! Connections that all proxies of a plan together may open to a server, beside what the server has said that it takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use shardwright_rules::{Address, Configuration, EngineId, MemberStatus, ServerLimit, most_of_one_proxy};
use shardwright_vocabulary::Severity;

use crate::Hazard;

/// The code of the finding, as for limits that are written down.
pub(crate) const CODE: &str = "SW704";

/// A server as proxies reach it.
type Endpoint<'c> = (&'c str, u16);

/// What proxies may open to a server.
struct Opened<'c> {
    server: &'c Address,
    proxies: u64,
    /// Its places in hostgroups, of each of the proxies.
    places: u64,
    connections: u64,
}

/// Warnings about servers to which the proxies may open more than they take. `proxies` has what each of them would run, `limits` what
/// servers have told any of them; a server that has told nobody is not compared.
pub fn too_many_connections(proxies: &[Arc<Configuration>], limits: &[ServerLimit]) -> Vec<Hazard> {
    // Where proxies were told differently, the server has changed its limit since: the least holds.
    let mut said: BTreeMap<Endpoint<'_>, u32> = BTreeMap::new();
    for limit in limits {
        let least = said.entry((&limit.host, limit.port)).or_insert(u32::MAX);
        *least = limit.max_connections.min(*least);
    }
    let mut opened: BTreeMap<Endpoint<'_>, Opened<'_>> = BTreeMap::new();
    for configuration in proxies {
        for (endpoint, one) in of_one(configuration) {
            let Some(most) = said.get(&endpoint) else {
                continue;
            };
            let connections = match configuration.engine {
                EngineId::Bundled => one.connections.min(most_of_one_proxy(*most).into()),
                EngineId::Proxysql27 | EngineId::Proxysql30 => one.connections,
            };
            let all = opened.entry(endpoint).or_insert(Opened {
                server: one.server,
                proxies: 0,
                places: 0,
                connections: 0,
            });
            all.proxies += 1;
            all.places += one.places;
            all.connections += connections;
        }
    }
    let hazards = opened.into_iter().filter_map(|(endpoint, all)| {
        let limit = said[&endpoint];
        (all.connections > limit.into()).then(|| hazard(endpoint, &all, limit))
    });
    hazards.collect()
}

/// What one proxy may open to each server, over all of its hostgroups.
fn of_one(configuration: &Configuration) -> BTreeMap<Endpoint<'_>, Opened<'_>> {
    let mut opened = BTreeMap::new();
    let members = configuration.hostgroups.iter().flat_map(|group| &group.members);
    for member in members.filter(|member| member.status == MemberStatus::Online) {
        let one = opened.entry((&*member.host, member.port)).or_insert(Opened {
            server: &member.server,
            proxies: 1,
            places: 0,
            connections: 0,
        });
        one.places += 1;
        one.connections += u64::from(member.max_connections);
    }
    opened
}

fn hazard((host, port): Endpoint<'_>, opened: &Opened<'_>, limit: u32) -> Hazard {
    let proxies = match opened.proxies {
        1 => "1 proxy".to_owned(),
        proxies => format!("{proxies} proxies"),
    };
    Hazard {
        code: CODE.to_owned(),
        severity: Severity::Warning,
        message: format!(
            "{proxies} may open {} connections to {host}:{port}, which says that it takes {limit}; `max_connections: {}` \
             would give each a share",
            opened.connections,
            u64::from(limit) / opened.places
        ),
        address: Some(opened.server.clone()),
        is_live: false,
    }
}
