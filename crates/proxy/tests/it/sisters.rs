//! A proxy that is replaced beside others, on a real Galera cluster in which a failover has moved the writes.

use std::sync::Arc;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::eventually;

use crate::galera;
use crate::roles::{setup, told};
use crate::support::{
    PATIENCE, Setup, TestProxy, configuration, observe, problems, start, start_on, value, write_secret,
};

/// A proxy on an empty directory, to which this is applied with what the others say.
fn replaced(setup: &Setup, reports: &str) -> TestProxy {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let json = configuration(setup, &write_secret(&directory)).to_json();
    let proxy = start_on(directory, setup);
    let sql = format!(
        "SHARDWRIGHT APPLY EXPECT 0 '' WRITERS '{reports}' AS '{}'",
        json.replace('\'', "''")
    );
    proxy.admin().query_drop(sql).unwrap();
    proxy
}

fn port(client: &mut Conn) -> String {
    value(client, "SELECT @@port")
}

#[test]
fn a_replaced_proxy_writes_where_the_others_do() {
    let galera = galera::cluster();
    let setup = setup(galera::kind(), &galera.servers);
    let first = start(&setup);
    assert_eq!(
        port(&mut first.connect(None)),
        galera.servers[0].port().to_string()
    );
    let second = galera.servers[1].port().to_string();
    first
        .admin()
        .query_drop("SHARDWRIGHT PREFER 'clusters.a.servers.a2'")
        .unwrap();
    eventually(PATIENCE, || port(&mut first.connect(None)) == second);
    // It has seen nothing of that, and goes where it is told, also after a crash right after the apply.
    let other = replaced(&setup, r#"{"clusters.a":{"writers":["clusters.a.servers.a2"]}}"#);
    assert_eq!(port(&mut other.connect(None)), second);
    let mut admin = other.admin();
    assert_eq!(told(&mut admin, "a2", "writes"), "yes");
    assert_eq!(problems(&mut admin), []);
    let directory = Arc::clone(&other.directory);
    drop((other, admin));
    let other = start_on(directory, &setup);
    assert_eq!(port(&mut other.connect(None)), second);
}

#[test]
fn a_replaced_proxy_writes_nowhere_while_the_others_disagree() {
    let galera = galera::cluster();
    let setup = setup(galera::kind(), &galera.servers);
    let proxy = replaced(
        &setup,
        r#"{"clusters.a":{"doubt":{"disputed":["clusters.a.servers.a1","clusters.a.servers.a3"]}}}"#,
    );
    let mut admin = proxy.admin();
    let said = |admin: &mut Conn| {
        let problems = problems(admin).into_iter();
        problems
            .map(|(about, problem)| format!("{about}: {problem}"))
            .collect::<Vec<_>>()
    };
    let is_told = |admin: &mut Conn, words: &str| said(admin).iter().any(|problem| problem.contains(words));
    eventually(PATIENCE, || {
        is_told(
            &mut admin,
            "other proxies of the project write to clusters.a.servers.a1 and to clusters.a.servers.a3",
        )
    });
    // Reads are answered, and a write waits for a word.
    let reads = value(&mut proxy.connect(None), "SELECT /* read */ 1");
    assert_eq!(reads, "1");
    let third = galera.servers[2].port().to_string();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| port(&mut proxy.connect(None)));
        admin
            .query_drop("SHARDWRIGHT PREFER 'clusters.a.servers.a3'")
            .unwrap();
        assert_eq!(waiting.join().unwrap(), third);
    });
    assert_eq!(said(&mut admin), Vec::<String>::new());
    // What it remembers is lost: it does not choose anew.
    let generation = observe(&mut admin).0;
    let directory = Arc::clone(&proxy.directory);
    drop((proxy, admin));
    std::fs::remove_file(directory.path().join("data/roles.json")).unwrap();
    let proxy = start_on(directory, &setup);
    let mut admin = proxy.admin();
    assert_eq!(observe(&mut admin).0, generation);
    eventually(PATIENCE, || is_told(&mut admin, "roles.json is lost"));
    assert!(
        is_told(&mut admin, "the file is missing"),
        "{:?}",
        said(&mut admin)
    );
    admin
        .query_drop("SHARDWRIGHT PREFER 'clusters.a.servers.a3'")
        .unwrap();
    eventually(PATIENCE, || port(&mut proxy.connect(None)) == third);
}
