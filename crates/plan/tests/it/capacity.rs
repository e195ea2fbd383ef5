//! Connections that all proxies may open to a server, beside what it says that it takes.

use std::sync::Arc;

use shardwright_plan::too_many_connections;
use shardwright_rules::{Configuration, EngineId, ServerLimit};

use crate::fixtures::bundled;

/// A configuration in which each place of a server may have this many connections.
fn with_places_of(engine: EngineId, max_connections: u32) -> Arc<Configuration> {
    let mut configuration = Configuration { engine, ..bundled() };
    for group in &mut configuration.hostgroups {
        for member in &mut group.members {
            member.max_connections = max_connections;
        }
    }
    Arc::new(configuration)
}

/// The first server of a configuration and its places.
fn first_server(configuration: &Configuration) -> (String, u16, u32) {
    let members = || configuration.hostgroups.iter().flat_map(|group| &group.members);
    let first = members().next().unwrap();
    let places = members().filter(|member| member.host == first.host && member.port == first.port);
    (first.host.clone(), first.port, places.count().try_into().unwrap())
}

/// Whether proxies are warned of a server with this limit.
fn is_crowded(proxies: &[(EngineId, u32)], limit: u32) -> bool {
    let configurations: Vec<_> = proxies
        .iter()
        .map(|(engine, connections)| with_places_of(*engine, *connections))
        .collect();
    let (host, port, _) = first_server(&configurations[0]);
    let said = ServerLimit {
        host,
        port,
        max_connections: limit,
    };
    !too_many_connections(&configurations, &[said]).is_empty()
}

#[test]
fn all_proxies_and_places_count() {
    let (_, _, places) = first_server(&bundled());
    let bundled = |connections| (EngineId::Bundled, connections);
    let proxysql = |connections| (EngineId::Proxysql27, connections);
    // One bundled proxy keeps within the limit by itself.
    assert!(!is_crowded(&[bundled(1000)], 151));
    assert!(is_crowded(&[bundled(1000), bundled(1000)], 151));
    assert!(!is_crowded(&[bundled(75 / places), bundled(75 / places)], 150));
    assert!(is_crowded(&[bundled(76), bundled(76)], 151));
    assert!(is_crowded(&[proxysql(1000)], 151));
    assert!(!is_crowded(&[proxysql(50), bundled(50)], 100 * places));
    assert!(is_crowded(&[proxysql(50), bundled(51)], 100 * places));
}

#[test]
fn what_would_fit_fits() {
    let fleet = |connections| vec![with_places_of(EngineId::Bundled, connections); 3];
    let (host, port, _) = first_server(&bundled());
    let said = [ServerLimit {
        host,
        port,
        max_connections: 151,
    }];
    let hazards = too_many_connections(&fleet(1000), &said);
    let [hazard] = hazards.as_slice() else {
        panic!("one server has said something: {hazards:?}");
    };
    let behind = hazard.message.split("max_connections: ").nth(1).unwrap();
    let share: u32 = behind.split('`').next().unwrap().parse().unwrap();
    assert!(
        too_many_connections(&fleet(share), &said).is_empty(),
        "{hazard:?}"
    );
    assert!(
        !too_many_connections(&fleet(share + 1), &said).is_empty(),
        "{hazard:?}"
    );
}

#[test]
fn a_server_that_has_told_nobody_is_not_compared() {
    let fleet = [
        with_places_of(EngineId::Bundled, 1000),
        with_places_of(EngineId::Bundled, 1000),
    ];
    assert_eq!(too_many_connections(&fleet, &[]), []);
}

#[test]
fn the_least_that_was_said_holds() {
    let fleet = [
        with_places_of(EngineId::Bundled, 100),
        with_places_of(EngineId::Bundled, 100),
    ];
    let (host, port, places) = first_server(&fleet[0]);
    let said = |max_connections| ServerLimit {
        host: host.clone(),
        port,
        max_connections,
    };
    assert_eq!(too_many_connections(&fleet, &[said(200 * places + 100)]), []);
    assert_eq!(
        too_many_connections(&fleet, &[said(200 * places + 100), said(151)]).len(),
        1
    );
}
