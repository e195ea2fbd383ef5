//! Who writes for a proxy that was not there when it was decided: other proxies say so.

use shardwright_rules::roles::{Doubt, RoleMemory, SisterReport, WatchedCluster};
use shardwright_rules::{Address, Configuration, Failback};

use crate::watched::{galera, replication, sight, story, story_with};

fn heard(configuration: &Configuration, report: &SisterReport) -> RoleMemory {
    let mut memory = RoleMemory::default();
    memory.hear(&configuration.clusters[0].kind, report);
    memory
}

fn writers(names: &[&str]) -> SisterReport {
    SisterReport::Writers(names.iter().map(|name| Address::from(*name)).collect())
}

fn disputed() -> SisterReport {
    SisterReport::Doubt(Doubt::Disputed(vec!["pxc1".into(), "pxc2".into()]))
}

#[test]
fn a_new_proxy_writes_where_the_others_do() {
    let manual = galera(Failback::Manual, 1);
    insta::assert_snapshot!(story(&manual, &["ok ok ok"]), @"ok ok ok           writes: pxc1 pxc2 stands by pxc3 stands by; reads: (pxc1) pxc2 pxc3");
    let memory = heard(&manual, &writers(&["pxc2"]));
    insta::assert_snapshot!(story_with(&manual, memory, &["ok new new", "ok ok new", "ok ok ok", "ok down ok", "ok ok ok"]), @r"
    ok new new         writes: pxc1 stands by; reads: pxc1
    ok ok new          writes: pxc1 stands by pxc2; reads: pxc1 (pxc2)
    ok ok ok           writes: pxc1 stands by pxc2 pxc3 stands by; reads: pxc1 (pxc2) pxc3
    ok down ok         writes: pxc1 pxc3 stands by; reads: (pxc1) pxc3
    ok ok ok           writes: pxc1 pxc2 stands by pxc3 stands by; reads: (pxc1) pxc2 pxc3
    ");
    // Who writes is decided by promotions, and the new proxy has seen none.
    let replication = replication();
    insta::assert_snapshot!(story(&replication, &["rw down ro", "rw rw ro"]), @r"
    rw down ro         writes: db1; reads: (db1) db3
    rw rw ro           writes: db1; reads: (db1) db3
    ");
    let memory = heard(&replication, &writers(&["db2"]));
    insta::assert_snapshot!(story_with(&replication, memory, &["rw down ro", "rw rw ro"]), @r"
    rw down ro         writes: nobody; reads: db3
    rw rw ro           writes: db2; reads: (db2) db3
    ");
    // It was promoted while the others were asked: its servers know better.
    let memory = heard(&replication, &writers(&["db2"]));
    insta::assert_snapshot!(story_with(&replication, memory, &["rw ro ro"]), @"rw ro ro           writes: db1; reads: (db1) db2 db3");
}

#[test]
fn a_proxy_that_starts_again_waits_for_the_server_that_wrote() {
    let manual = galera(Failback::Manual, 1);
    let memory = heard(&manual, &writers(&["pxc3"]));
    insta::assert_snapshot!(story_with(&manual, memory.clone(), &["ok new new", "ok ok new", "ok ok down"]), @r"
    ok new new         writes: pxc1 stands by; reads: pxc1
    ok ok new          writes: pxc1 stands by pxc2 stands by; reads: pxc1 pxc2
    ok ok down         writes: pxc1 pxc2 stands by; reads: (pxc1) pxc2
    ");
    // Where writes return by themselves, nobody is waited for.
    insta::assert_snapshot!(story_with(&galera(Failback::Automatic, 1), memory, &["ok new new"]), @"ok new new         writes: pxc1; reads: (pxc1)");
}

#[test]
fn nobody_writes_while_other_proxies_disagree() {
    let manual = galera(Failback::Manual, 1);
    insta::assert_snapshot!(story_with(&manual, heard(&manual, &disputed()), &["ok ok ok", "down ok ok"]), @r"
    ok ok ok           writes: nobody; reads: pxc1 pxc2 pxc3
    down ok ok         writes: nobody; reads: pxc2 pxc3
    ");
    let automatic = galera(Failback::Automatic, 1);
    insta::assert_snapshot!(story_with(&automatic, heard(&automatic, &disputed()), &["ok ok ok"]), @"ok ok ok           writes: pxc1 pxc2 stands by pxc3 stands by; reads: (pxc1) pxc2 pxc3");
    // On replication, a promotion that it sees itself ends the doubt.
    let replication = replication();
    let memory = heard(
        &replication,
        &SisterReport::Doubt(Doubt::NotAsked(vec!["px-a".into()])),
    );
    insta::assert_snapshot!(story_with(&replication, memory, &["rw ro ro", "ro ro ro", "ro rw ro"]), @r"
    rw ro ro           writes: nobody; reads: db2 db3
    ro ro ro           writes: nobody; reads: db1 db2 db3
    ro rw ro           writes: db2; reads: db1 (db2) db3
    ");
}

#[test]
fn a_person_ends_the_doubt_and_so_does_an_apply() {
    for (configuration, words, server) in [
        (galera(Failback::Manual, 1), "ok ok ok", "pxc2"),
        (replication(), "rw rw ro", "db2"),
    ] {
        let watched = WatchedCluster::of(&configuration, &configuration.clusters[0]).unwrap();
        let sights: Vec<_> = words.split(' ').map(sight).collect();
        let writer = |memory: &mut RoleMemory| {
            let roles = watched.roles(&sights, memory).unwrap();
            roles
                .writers()
                .map(|writer| writer.to_string())
                .collect::<Vec<_>>()
        };
        let mut memory = heard(&configuration, &disputed());
        assert_eq!(writer(&mut memory), Vec::<String>::new());
        let mut told = memory.clone();
        told.hear(&watched.cluster.kind, &writers(&[server]));
        assert_eq!(writer(&mut told), [server]);
        watched.prefer(&server.into(), &sights, &mut memory).unwrap();
        assert_eq!(writer(&mut memory), [server]);
        // Who knows is not told again.
        memory.hear(&watched.cluster.kind, &disputed());
        assert_eq!(writer(&mut memory), [server]);
    }
}

#[test]
fn answers_of_several_proxies() {
    let at = |name: &str| Ok(vec![Address::from(name)]);
    let none = || Ok(Vec::new());
    assert_eq!(SisterReport::of([]), None);
    assert_eq!(SisterReport::of([none(), none()]), None);
    assert_eq!(
        SisterReport::of([none(), at("pxc2"), at("pxc2")]),
        Some(writers(&["pxc2"]))
    );
    assert_eq!(
        SisterReport::of([Err("px-a"), at("pxc2")]),
        Some(writers(&["pxc2"]))
    );
    assert_eq!(
        SisterReport::of([at("pxc2"), at("pxc1"), Err("px-c")]),
        Some(disputed())
    );
    let said = |report: Option<SisterReport>| match report {
        Some(SisterReport::Doubt(doubt)) => doubt.to_string(),
        other => panic!("{other:?}"),
    };
    let doubts = [
        said(SisterReport::of([at("pxc2"), at("pxc1")])),
        said(SisterReport::of([none(), Err("px-b"), Err("px-c")])),
        Doubt::Forgotten.to_string(),
    ];
    insta::assert_snapshot!(doubts.join("\n"), @r"
    other proxies of the project write to pxc1 and to pxc2; say on this admin port which server is right: SHARDWRIGHT PREFER 'clusters.NAME.servers.NAME'
    nobody could ask px-b and px-c where writes go; say on this admin port which server is right: SHARDWRIGHT PREFER 'clusters.NAME.servers.NAME'
    roles.json is lost, and with it where this proxy wrote; say on this admin port which server is right: SHARDWRIGHT PREFER 'clusters.NAME.servers.NAME'
    ");
}
