//! Who writes and who reads, as monitors see servers change.

use std::collections::BTreeSet;

use proptest::prelude::*;
use shardwright_rules::roles::{
    GaleraSight, LastLag, NotPreferred, RoleMemory, Roles, ServerSight, Sight, Source, Standing,
    WatchedCluster,
};
use shardwright_rules::{
    Candidate, Cluster, ClusterKind, Configuration, EngineId, Failback, Group, Hostgroup, HostgroupId,
    Member, MemberStatus, ReadOnlyCheck, Role, RolesBy, ServerTls, WriterServesReads,
};

fn configuration(kind: ClusterKind, serves: WriterServesReads, servers: &[&str]) -> Configuration {
    let member = |name: &&str| Member {
        server: (*name).into(),
        host: (*name).to_owned(),
        port: 3306,
        weight: 1,
        tier: 0,
        max_connections: 10,
        max_replication_lag_s: 0,
        tls: ServerTls::Disabled,
        status: MemberStatus::Online,
    };
    let candidate = |name: &&str| Candidate {
        server: (*name).into(),
        write_weight: 1,
        read_weight: 10,
        max_replication_lag_ms: 5_000,
    };
    let hostgroup = |id, role, servers: &[&str]| Hostgroup {
        id: HostgroupId(id),
        cluster: "c".into(),
        role,
        members: servers.iter().map(member).collect(),
    };
    let cluster = Cluster {
        name: "c".into(),
        address: "c".into(),
        kind,
        writer: HostgroupId(1),
        reader: Some(HostgroupId(2)),
        writer_serves_reads: serves,
        on_unknown: Default::default(),
        slow_readers: Default::default(),
        roles_by: RolesBy::Engine,
        candidates: servers.iter().map(candidate).collect(),
    };
    Configuration {
        clusters: vec![cluster],
        hostgroups: vec![
            hostgroup(1, Role::Writer, &servers[..1]),
            hostgroup(2, Role::Reader, &servers[1..]),
        ],
        ..Configuration::empty(EngineId::Bundled)
    }
}

pub(crate) fn replication() -> Configuration {
    let kind = ClusterKind::Replication {
        read_only_check: ReadOnlyCheck::ReadOnly,
    };
    configuration(kind, WriterServesReads::LastResort, &["db1", "db2", "db3"])
}

pub(crate) fn galera(failback: Failback, writers: u32) -> Configuration {
    let kind = ClusterKind::Galera(Group {
        backup_writer: HostgroupId(3),
        offline: HostgroupId(4),
        writers,
        max_transactions_behind: 100,
        failback,
    });
    configuration(kind, WriterServesReads::LastResort, &["pxc1", "pxc2", "pxc3"])
}

/// A server in a word: `ro` a replica with 1 s of lag, `rw` a primary, `rw+` a replica that can write, `rw?` one that does not
/// reach its source, `rw-` one that was stopped, `cut2` and `halt2` a replica of either kind that was 2 s behind (60 s and 3 s ago),
/// `ro9` one with 9 s, `ro4s` one with 4 whole seconds, `ro?` one with an unknown lag, `down`, `mute`, `new`; of
/// Galera: `ok`, `donor`, `minority`, `queue`, `reject`, `galera-ro`.
pub(crate) fn sight(word: &str) -> Sight {
    let replica = |is_read_only, source, lag_ms| {
        Sight::Seen(Box::new(ServerSight {
            is_read_only: Some(is_read_only),
            source,
            lag_ms,
            ..ServerSight::default()
        }))
    };
    let seen = |sight| Sight::Seen(Box::new(sight));
    let silent = |source, lag_ms, ago_ms| {
        seen(ServerSight {
            is_read_only: Some(true),
            source,
            last_lag: Some(LastLag { lag_ms, ago_ms }),
            ..ServerSight::default()
        })
    };
    let rounded = |lag_ms| {
        seen(ServerSight {
            is_read_only: Some(true),
            source: Source::Running,
            lag_ms: Some(lag_ms),
            is_lag_rounded: true,
            ..ServerSight::default()
        })
    };
    let synced = GaleraSight::synced();
    let galera = |is_read_only, galera| {
        Sight::Seen(Box::new(ServerSight {
            is_read_only: Some(is_read_only),
            galera: Some(galera),
            ..ServerSight::default()
        }))
    };
    match word {
        "new" => Sight::Unseen,
        "down" => Sight::Lost {
            why: "refused".to_owned(),
        },
        "mute" => Sight::Silent {
            why: "access denied".to_owned(),
        },
        "ro" => replica(true, Source::Running, Some(1_000)),
        "ro9" => replica(true, Source::Running, Some(9_000)),
        "ro99" => replica(true, Source::Running, Some(99_000)),
        "ro?" => replica(true, Source::Connecting, None),
        "cut2" => silent(Source::Connecting, 2_000, 60_000),
        "cut9" => silent(Source::Connecting, 9_000, 0),
        "halt2" => silent(Source::Stopped, 2_000, 3_000),
        "halt2+" => silent(Source::Stopped, 2_000, 3_001),
        "ro4s" => rounded(4_000),
        "ro5s" => rounded(5_000),
        "rw" => replica(false, Source::None, None),
        "rw+" => replica(false, Source::Running, Some(0)),
        "rw?" => replica(false, Source::Connecting, None),
        "rw-" => replica(false, Source::Stopped, None),
        "ok" => galera(false, synced),
        "galera-ro" => galera(true, synced),
        "donor" => galera(
            false,
            GaleraSight {
                state: Some(2),
                ..synced
            },
        ),
        "minority" => galera(
            false,
            GaleraSight {
                is_primary: Some(false),
                ..synced
            },
        ),
        "queue" => galera(
            false,
            GaleraSight {
                queue: Some(101),
                ..synced
            },
        ),
        "reject" => galera(
            false,
            GaleraSight {
                rejects_queries: true,
                ..synced
            },
        ),
        word => panic!("{word}"),
    }
}

pub(crate) fn told(roles: Option<&Roles>) -> String {
    let Some(roles) = roles else {
        return "nothing is known".to_owned();
    };
    let named = |standing: &Standing, name: &str| match standing {
        Standing::Serves => name.to_owned(),
        Standing::LastResort => format!("({name})"),
        Standing::StandsBy => format!("{name} stands by"),
        Standing::Out(_) => String::new(),
    };
    let list = |of: fn(&shardwright_rules::roles::ServerRoles) -> &Standing| {
        let names = roles
            .0
            .iter()
            .map(|roles| named(of(roles), roles.server.as_str()));
        let names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            "nobody".to_owned()
        } else {
            names.join(" ")
        }
    };
    format!(
        "writes: {}; reads: {}",
        list(|roles| &roles.writes),
        list(|roles| &roles.reads)
    )
}

/// What becomes of the roles as the servers change; each line is what was seen, one word for each server.
pub(crate) fn story(configuration: &Configuration, lines: &[&str]) -> String {
    story_with(configuration, RoleMemory::default(), lines)
}

/// The same of a proxy that remembers something.
pub(crate) fn story_with(configuration: &Configuration, mut memory: RoleMemory, lines: &[&str]) -> String {
    let watched = WatchedCluster::of(configuration, &configuration.clusters[0]).unwrap();
    let tell = |line: &&str| {
        let sights: Vec<Sight> = line.split_whitespace().map(sight).collect();
        let roles = watched.roles(&sights, &mut memory);
        // What is remembered survives a restart.
        memory = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
        format!("{line:<18} {}", told(roles.as_ref()))
    };
    lines.iter().map(tell).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_writer_of_replicas_is_the_one_that_was_promoted_last() {
    insta::assert_snapshot!(story(&replication(), &[
        "new new new", "rw new ro", "rw ro ro", "down ro ro", "down rw ro", "rw rw ro", "ro rw ro", "rw rw ro",
    ]), @r"
    new new new        nothing is known
    rw new ro          nothing is known
    rw ro ro           writes: db1; reads: (db1) db2 db3
    down ro ro         writes: nobody; reads: db2 db3
    down rw ro         writes: db2; reads: (db2) db3
    rw rw ro           writes: db2; reads: (db2) db3
    ro rw ro           writes: db2; reads: db1 (db2) db3
    rw rw ro           writes: db1; reads: (db1) db3
    ");
    insta::assert_snapshot!(story(&replication(), &[
        "rw rw+ ro", "down rw? ro", "rw rw+ ro", "ro rw+ ro", "ro rw+ rw", "ro rw ro",
    ]), @r"
    rw rw+ ro          writes: db1; reads: (db1) db2 db3
    down rw? ro        writes: nobody; reads: db2 db3
    rw rw+ ro          writes: db1; reads: (db1) db2 db3
    ro rw+ ro          writes: db2; reads: db1 (db2) db3
    ro rw+ rw          writes: db3; reads: db1 db2 (db3)
    ro rw ro           writes: db2; reads: db1 (db2) db3
    ");
    insta::assert_snapshot!(story(&replication(), &[
        "rw rw ro", "rw ro ro", "rw rw ro", "ro ro ro", "ro ro rw-",
    ]), @r"
    rw rw ro           writes: nobody; reads: db3
    rw ro ro           writes: db1; reads: (db1) db2 db3
    rw rw ro           writes: db2; reads: (db2) db3
    ro ro ro           writes: nobody; reads: db1 db2 db3
    ro ro rw-          writes: db3; reads: db1 db2 (db3)
    ");
    insta::assert_snapshot!(story(&replication(), &[
        "rw ro ro", "down rw rw", "down ro rw", "rw ro rw", "rw ro down",
    ]), @r"
    rw ro ro           writes: db1; reads: (db1) db2 db3
    down rw rw         writes: nobody; reads: nobody
    down ro rw         writes: db3; reads: db2 (db3)
    rw ro rw           writes: db3; reads: db2 (db3)
    rw ro down         writes: nobody; reads: db2
    ");
}

#[test]
fn replicas_that_lag_or_do_not_say_so_answer_no_reads() {
    insta::assert_snapshot!(story(&replication(), &[
        "rw ro ro", "rw ro9 ro", "rw ro9 ro?", "rw ro down", "down ro9 ro9",
    ]), @r"
    rw ro ro           writes: db1; reads: (db1) db2 db3
    rw ro9 ro          writes: db1; reads: (db1) db3
    rw ro9 ro?         writes: db1; reads: (db1)
    rw ro down         writes: db1; reads: (db1) db2
    down ro9 ro9       writes: nobody; reads: nobody
    ");
}

#[test]
fn servers_that_say_nothing_stay_what_they_are() {
    insta::assert_snapshot!(story(&replication(), &["mute mute mute", "rw mute ro", "mute mute ro", "mute rw ro"]), @r"
    mute mute mute     writes: db1 db2 stands by db3 stands by; reads: (db1)
    rw mute ro         writes: db1; reads: (db1) db3
    mute mute ro       writes: db1; reads: (db1) db3
    mute rw ro         writes: db1; reads: (db1) db3
    ");
}

#[test]
fn the_writer_of_equals_stays_until_it_fails() {
    insta::assert_snapshot!(story(&galera(Failback::Manual, 1), &[
        "new ok ok", "ok ok ok", "minority ok ok", "ok ok ok", "ok donor ok", "down donor down", "down queue minority",
        "galera-ro minority reject", "ok ok ok",
    ]), @r"
    new ok ok          nothing is known
    ok ok ok           writes: pxc1 pxc2 stands by pxc3 stands by; reads: (pxc1) pxc2 pxc3
    minority ok ok     writes: pxc2 pxc3 stands by; reads: (pxc2) pxc3
    ok ok ok           writes: pxc1 stands by pxc2 pxc3 stands by; reads: pxc1 (pxc2) pxc3
    ok donor ok        writes: pxc1 pxc3 stands by; reads: (pxc1) pxc3
    down donor down    writes: pxc2; reads: (pxc2)
    down queue minority writes: pxc2; reads: (pxc2)
    galera-ro minority reject writes: nobody; reads: pxc1
    ok ok ok           writes: pxc1 stands by pxc2 pxc3 stands by; reads: pxc1 (pxc2) pxc3
    ");
    insta::assert_snapshot!(story(&galera(Failback::Automatic, 1), &["ok ok ok", "down ok ok", "ok ok ok"]), @r"
    ok ok ok           writes: pxc1 pxc2 stands by pxc3 stands by; reads: (pxc1) pxc2 pxc3
    down ok ok         writes: pxc2 pxc3 stands by; reads: (pxc2) pxc3
    ok ok ok           writes: pxc1 pxc2 stands by pxc3 stands by; reads: (pxc1) pxc2 pxc3
    ");
    insta::assert_snapshot!(story(&galera(Failback::Manual, 2), &["ok ok ok", "down ok ok", "ok ok ok"]), @r"
    ok ok ok           writes: pxc1 pxc2 pxc3 stands by; reads: (pxc1) (pxc2) pxc3
    down ok ok         writes: pxc2 pxc3; reads: (pxc2) (pxc3)
    ok ok ok           writes: pxc1 stands by pxc2 pxc3; reads: pxc1 (pxc2) (pxc3)
    ");
}

#[test]
fn a_server_that_is_told_to_write_writes_until_it_fails() {
    let prefer = |configuration: &Configuration, words: &str, server: &str, memory: &mut RoleMemory| {
        let watched = WatchedCluster::of(configuration, &configuration.clusters[0]).unwrap();
        let sights: Vec<Sight> = words.split(' ').map(sight).collect();
        watched.roles(&sights, memory);
        let preferred = watched.prefer(&server.into(), &sights, memory);
        let writers = |memory: &mut RoleMemory, words: &str| {
            let sights: Vec<Sight> = words.split(' ').map(sight).collect();
            let roles = watched.roles(&sights, memory).unwrap();
            let writers: Vec<&str> = roles.writers().map(|writer| writer.as_str()).collect();
            writers.join(" ")
        };
        let after = [words, "ok down ok", "ok ok ok"].map(|words| writers(memory, words));
        (preferred, after.join(", "))
    };
    let new = RoleMemory::default;
    let manual = galera(Failback::Manual, 1);
    assert_eq!(
        prefer(&manual, "ok ok ok", "pxc2", &mut new()),
        (Ok(()), "pxc2, pxc1, pxc1".to_owned())
    );
    assert_eq!(
        prefer(&galera(Failback::Manual, 2), "ok ok ok", "pxc3", &mut new()),
        (Ok(()), "pxc1 pxc3, pxc1 pxc3, pxc1 pxc3".to_owned())
    );
    let (refused, stays) = prefer(&manual, "ok donor ok", "pxc2", &mut new());
    assert!(
        matches!(refused, Err(NotPreferred::Unfit(Some(_)))),
        "{refused:?}"
    );
    assert_eq!(stays, "pxc1, pxc1, pxc1");
    let refused = |configuration: &Configuration, words, server| {
        prefer(configuration, words, server, &mut new()).0.unwrap_err()
    };
    assert_eq!(refused(&manual, "ok ok ok", "pxc4"), NotPreferred::NoSuchServer);
    assert_eq!(
        refused(&galera(Failback::Automatic, 1), "ok ok ok", "pxc2"),
        NotPreferred::FailsBack
    );
    assert_eq!(
        refused(&replication(), "rw ro ro", "db2"),
        NotPreferred::OfServers
    );
}

#[test]
fn who_is_kept_out_is_told_why() {
    let configuration = replication();
    let watched = WatchedCluster::of(&configuration, &configuration.clusters[0]).unwrap();
    let mut memory = RoleMemory::default();
    let mut whys = Vec::new();
    for line in ["rw ro9 down", "rw rw ro?", "rw ro mute"] {
        let sights: Vec<Sight> = line.split_whitespace().map(sight).collect();
        for roles in watched.roles(&sights, &mut memory).unwrap().0 {
            for standing in [roles.writes, roles.reads] {
                if let Standing::Out(why) = standing {
                    whys.push(format!("{}: {why}", roles.server));
                }
            }
        }
    }
    insta::assert_snapshot!(whys.join("\n"), @r"
    db2: it is read-only
    db2: it is up to 9 s behind, its limit is 5 s
    db3: it does not answer: refused
    db3: it does not answer: refused
    db1: it can write, but db2 was promoted later; set its read_only, or make it a replica of db2
    db1: it can write, but db2 was promoted later; set its read_only, or make it a replica of db2
    db3: it is read-only
    db3: it does not say how far it is behind
    db1: it can write, but another server was promoted later; set its read_only first to promote it
    db1: it can write, but another server was promoted later; set its read_only first to promote it
    db2: it is read-only
    db3: it does not say whether it can write: access denied
    db3: it does not say whether it can write: access denied
    ");
}

#[test]
fn figures_and_words_make_no_other_roles() {
    let configuration = replication();
    let watched = WatchedCluster::of(&configuration, &configuration.clusters[0]).unwrap();
    let mut memory = RoleMemory::default();
    let mut roles = |line: &str| {
        let sights: Vec<Sight> = line.split_whitespace().map(sight).collect();
        watched.roles(&sights, &mut memory).unwrap()
    };
    let (lags, lags_more) = (roles("rw ro9 ro"), roles("rw ro99 ro"));
    assert_ne!(lags, lags_more);
    assert!(lags.is_like(&lags_more));
    assert!(!lags.is_like(&roles("rw ro ro")));
    assert!(!lags.is_like(&roles("rw down ro")));
}

const WORDS: [&str; 9] = ["ro", "ro9", "ro?", "rw", "rw+", "rw?", "rw-", "down", "mute"];

proptest! {
    /// Whatever happens: at most one server writes, it can be reached and is not read-only, and whoever has lost the writes to a
    /// later promotion gets none until it was read-only or a replica.
    #[test]
    fn nobody_writes_beside_the_one_promoted_last(
        lines in prop::collection::vec(prop::array::uniform3(prop::sample::select(&WORDS[..])), 1..40)
    ) {
        let configuration = replication();
        let watched = WatchedCluster::of(&configuration, &configuration.clusters[0]).unwrap();
        let mut memory = RoleMemory::default();
        // Who was a primary since it was last a replica, and who of them has lost the writes.
        let (mut primaries, mut lost) = (BTreeSet::new(), BTreeSet::new());
        let mut last: Option<usize> = None;
        for words in lines {
            let sights: Vec<Sight> = words.iter().map(|word| sight(word)).collect();
            let roles = watched.roles(&sights, &mut memory).unwrap();
            let writers: Vec<usize> = (0..3).filter(|&at| roles.0[at].writes == Standing::Serves).collect();
            prop_assert!(writers.len() <= 1, "{words:?}: {}", told(Some(&roles)));
            for (at, word) in words.iter().enumerate() {
                match *word {
                    "rw" => { primaries.insert(at); }
                    "ro" | "ro9" | "ro?" | "rw+" => { primaries.remove(&at); lost.remove(&at); }
                    _ => {}
                }
            }
            let Some(&writer) = writers.first() else { continue };
            prop_assert!(!words[writer].starts_with("ro") && words[writer] != "down");
            prop_assert!(!lost.contains(&writer), "{words:?}: {}", told(Some(&roles)));
            let before = last.replace(writer);
            lost.extend(before.filter(|before| *before != writer && primaries.contains(before)));
        }
    }

    /// Only servers that are synced and in the majority read; somebody writes whenever somebody can.
    #[test]
    fn equals_serve_where_they_can(
        lines in prop::collection::vec(prop::array::uniform3(
            prop::sample::select(&["ok", "donor", "minority", "queue", "reject", "galera-ro", "down"][..])), 1..40),
        writers in 1..3_u32,
        automatic: bool,
    ) {
        let failback = if automatic { Failback::Automatic } else { Failback::Manual };
        let configuration = galera(failback, writers);
        let watched = WatchedCluster::of(&configuration, &configuration.clusters[0]).unwrap();
        let mut memory = RoleMemory::default();
        for words in lines {
            let sights: Vec<Sight> = words.iter().map(|word| sight(word)).collect();
            let roles = watched.roles(&sights, &mut memory).unwrap();
            let count = |wanted: &[&str]| words.iter().filter(|word| wanted.contains(word)).count();
            let expected = match count(&["ok"]) {
                0 => count(&["donor", "queue"]),
                fit => fit,
            };
            prop_assert_eq!(roles.writers().count(), expected.min(writers as usize), "{:?}", words);
            for (at, word) in words.iter().enumerate() {
                if roles.0[at].writes != Standing::Serves {
                    let reads = roles.0[at].reads == Standing::Serves;
                    prop_assert_eq!(reads, matches!(*word, "ok" | "galera-ro"), "{:?}", words);
                }
            }
        }
    }
}
