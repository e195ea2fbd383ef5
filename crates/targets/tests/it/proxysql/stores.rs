//! Runs that are kept in MySQL and in etcd: what an apply does when they fail, and who else can end a run.
//!
//! `SHARDWRIGHT_FAULTS=1` fails each question to a store in each way; otherwise a sample of them.

use std::net::SocketAddr;
use std::time::Duration;

use shardwright_plan::{ApplyReport, Outcome, apply};
use shardwright_rules::{Configuration, SecretReference, ServerTls};
use shardwright_secrets::Secret;
use shardwright_targets::emit::Ownership;
use shardwright_targets::proxysql::{
    End, EtcdState, Journal, KeyReference, LOCK_PERIOD, MySqlState, Owner, Way,
};
use shardwright_targets::{ServerAddress, Timeouts};
use shardwright_testkit::{Etcd, EtcdOptions, Fault, Faulty, MariaDb, Options, configuration};

use super::faults::{NEW, OLD, state};
use super::rig::{Rig, plan};

/// A store that is a real server.
enum Store {
    MySql(MariaDb),
    Etcd(Etcd),
}

impl Store {
    fn both() -> [Self; 2] {
        let mariadb = MariaDb::start(Options::default().arg("--innodb-flush-log-at-trx-commit=1")).unwrap();
        mariadb.run("CREATE DATABASE state").unwrap();
        mariadb
            .create_user("swstate", "pass", Some("ALL ON state.*"))
            .unwrap();
        let etcd = Etcd::start(EtcdOptions::default()).unwrap();
        [Self::MySql(mariadb), Self::Etcd(etcd)]
    }

    fn address(&self) -> SocketAddr {
        match self {
            Self::MySql(mariadb) => mariadb.address(),
            Self::Etcd(etcd) => etcd.address(),
        }
    }

    /// A way to it.
    fn network(&self, at: usize, fault: Option<Fault>, lasts: bool) -> Faulty {
        match self {
            Self::MySql(_) => Faulty::start(self.address(), at, fault, lasts),
            Self::Etcd(_) => Faulty::http(self.address(), at, fault, lasts),
        }
    }

    /// The runs, as somebody sees them who reaches the store so.
    fn journal(&self, rig: &Rig, by: &str, address: SocketAddr) -> Journal {
        let owner = Owner {
            by: by.to_owned(),
            at: "2026-11-25T12:00:00Z".to_owned(),
        };
        let key = rig.state.path().join("key");
        std::fs::write(key, "k".repeat(40)).unwrap();
        let key = KeyReference {
            reference: SecretReference::File("key".to_owned()),
            base: rig.state.path().to_owned(),
        };
        let patience = Duration::from_secs(1);
        match self {
            Self::MySql(_) => {
                let server = ServerAddress {
                    server: "state".into(),
                    host: address.ip().to_string(),
                    port: address.port(),
                    tls: ServerTls::Disabled,
                    authorities: None,
                };
                let state = MySqlState {
                    server,
                    database: "state".to_owned(),
                    user: "swstate".to_owned(),
                    password: Secret::new("pass".to_owned()),
                    project: "shop".to_owned(),
                    patience,
                };
                Journal::in_mysql(state, key, owner, LOCK_PERIOD)
            }
            Self::Etcd(_) => {
                let state = EtcdState {
                    endpoints: vec![format!("http://{address}")],
                    account: None,
                    authorities: None,
                    certificate: None,
                    project: "shop".to_owned(),
                    patience,
                };
                Journal::in_etcd(state, key, owner, LOCK_PERIOD)
            }
        }
    }
}

/// Plans and applies with a journal.
fn applied(rig: &Rig, journal: &Journal, desired: &Configuration) -> ApplyReport {
    let planned = plan(&mut rig.target(), desired, Some("shop"));
    let mut target = rig.target();
    target.keep_runs(journal.clone(), rig.identity());
    apply(&planned, &mut target)
}

/// Ends a run on behalf of somebody else.
fn finish(rig: &Rig, journal: &Journal, run: &str, way: Way) -> ApplyReport {
    let mut target = rig.target();
    target.keep_runs(journal.clone(), rig.identity());
    target.finish(run, way)
}

#[test]
fn whoever_reaches_the_store_ends_the_run_of_another_machine() {
    let Some(rig) = Rig::start("runs of two machines on a real ProxySQL") else {
        return;
    };
    let (old, new) = (configuration(OLD), configuration(NEW));
    for store in Store::both() {
        rig.applied(&old);
        let before = state(&rig);
        let (a, b) = (
            store.journal(&rig, "a@one", store.address()),
            store.journal(&rig, "b@two", store.address()),
        );
        for way in [Way::Back, Way::Forward] {
            // The way to ProxySQL breaks for good while A applies, and A goes home.
            let planned = plan(&mut rig.target(), &new, Some("shop"));
            let admin = rig.proxysql.admin_address();
            let network = Faulty::start(admin, usize::MAX, None, false);
            let mut target = rig.target_at(&network.address.to_string(), Some("shop"), Ownership::default());
            target.keep_runs(a.clone(), rig.identity());
            let counted = apply(&planned, &mut target);
            assert_eq!(counted.outcome, Outcome::Applied, "{counted:#?}");
            let sent = network.statements();
            rig.applied(&old);
            let at = sent
                .iter()
                .position(|statement| statement.starts_with("LOAD MYSQL QUERY"))
                .unwrap();
            let planned = plan(&mut rig.target(), &new, Some("shop"));
            let network = Faulty::start(admin, at, Some(Fault::DiesAfter), true);
            let mut target = rig
                .target_at(&network.address.to_string(), Some("shop"), Ownership::default())
                .patient(Timeouts {
                    connect: Duration::from_secs(2),
                    answer: Duration::from_secs(20),
                });
            target.keep_runs(a.clone(), rig.identity());
            let report = apply(&planned, &mut target);
            assert_eq!(report.outcome, Outcome::Mixed, "{report:#?}");
            let open = b.history().unwrap().pop().unwrap();
            let run = open.head.identity.run.clone();
            assert!(open.is_open() && report.message.contains(&run), "{report:#?}");
            // B is told, and ends it. The address of A's way is part of its record.
            let refused = applied(&rig, &b, &new);
            assert_eq!(refused.outcome, Outcome::Contended, "{refused:#?}");
            assert!(refused.message.contains(&run), "{refused:#?}");
            network.mend();
            let mut target = rig.target_at(&open.head.admin, Some("shop"), Ownership::default());
            target.keep_runs(b.clone(), rig.identity());
            let report = target.finish(&run, way);
            assert_eq!(report.outcome, Outcome::Applied, "{way:?}: {report:#?}");
            assert_eq!(state(&rig) == before, way == Way::Back, "{way:?}");
            assert!(!a.run(&run).unwrap().is_open());
            rig.applied(&old);
        }
    }
}

#[test]
fn a_store_that_fails_leaves_the_former_state_or_the_new_one() {
    let Some(rig) = Rig::start("a store that fails during an apply to a real ProxySQL") else {
        return;
    };
    let (old, new) = (configuration(OLD), configuration(NEW));
    let is_long = std::env::var_os("SHARDWRIGHT_FAULTS").is_some();
    for store in Store::both() {
        rig.applied(&old);
        let before = state(&rig);
        // The first question of all makes the tables.
        drop(store.journal(&rig, "a@one", store.address()).lock().unwrap());
        let whole = store.network(usize::MAX, None, false);
        let report = applied(&rig, &store.journal(&rig, "a@one", whole.address), &new);
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
        let (after, asked) = (state(&rig), whole.statements());
        assert_ne!(before, after);
        let mut outcomes = std::collections::BTreeMap::new();
        for at in (0..asked.len()).filter(|at| is_long || at.is_multiple_of(7)) {
            for (turn, fault) in Fault::ALL.into_iter().enumerate() {
                for lasts in [false, true] {
                    if !is_long && (turn + usize::from(lasts)) % 5 != (at / 7) % 5 {
                        continue;
                    }
                    let what = format!("{fault:?} lasting {lasts} at {at}: {}", asked[at]);
                    rig.applied(&old);
                    assert_eq!(state(&rig), before, "{what}");
                    let network = store.network(at, Some(fault), lasts);
                    let report = applied(&rig, &store.journal(&rig, "a@one", network.address), &new);
                    assert!(network.has_failed(), "{what}: {report:#?}");
                    check(
                        &rig,
                        &store,
                        &report,
                        [&before, &after],
                        &format!("{what}: {report:#?}"),
                    );
                    *outcomes.entry(report.outcome as usize).or_insert(0) += 1;
                }
            }
        }
        assert!(outcomes.len() > 2, "{outcomes:?}");
        rig.applied(&old);
    }
}

/// What is live is what the report says; what was changed has a record; and what has not ended is ended by others.
fn check(rig: &Rig, store: &Store, report: &ApplyReport, [before, after]: [&Vec<String>; 2], what: &str) {
    let journal = store.journal(rig, "b@two", store.address());
    let now = state(rig);
    match report.outcome {
        Outcome::Applied => assert_eq!(&now, after, "{what}"),
        Outcome::Restored | Outcome::NotSent | Outcome::Contended => assert_eq!(&now, before, "{what}"),
        Outcome::Mixed => assert!(&now == before || &now == after, "{what}"),
        _ => panic!("{what}"),
    }
    // Whoever has the lock does not come back: it would end by itself in a minute.
    if let Some(holder) = journal.holder().unwrap() {
        assert_eq!(holder.owner.by, "a@one", "{what}");
        journal.break_lock(&holder).unwrap();
    }
    let open: Vec<_> = journal
        .history()
        .unwrap()
        .into_iter()
        .filter(|run| run.is_open())
        .collect();
    assert!(open.len() <= 1, "{what}");
    match open.first() {
        Some(run) => {
            let name = run.head.identity.run.clone();
            let has_begun = !matches!(report.outcome, Outcome::NotSent | Outcome::Contended);
            assert!(!has_begun || report.message.contains(&name), "{what}");
            let ended = finish(rig, &journal, &name, Way::Back);
            assert!([0, 6].contains(&ended.outcome.exit_code()), "{what}\n{ended:#?}");
            assert_eq!(&state(rig), before, "{what}");
            let end = journal.run(&name).unwrap();
            assert!(
                matches!(end.end(), Some((End::Restored | End::Refused, _))),
                "{what}"
            );
        }
        None => {
            let last = journal.history().unwrap().pop();
            let end = last.as_ref().and_then(|run| run.end()).map(|(end, _)| end);
            match report.outcome {
                Outcome::Applied => assert_eq!(end, Some(End::Applied), "{what}"),
                Outcome::Restored => assert_eq!(end, Some(End::Restored), "{what}"),
                // The store has the end, and its answer was lost.
                Outcome::Mixed if &now == after => assert_eq!(end, Some(End::Applied), "{what}"),
                Outcome::Mixed => assert_eq!(end, Some(End::Restored), "{what}"),
                _ => {}
            }
        }
    }
}

#[test]
fn a_store_that_is_down_is_told_and_after_its_restart_everything_goes_on() {
    let Some(rig) = Rig::start("a store that is killed during an apply to a real ProxySQL") else {
        return;
    };
    let (old, new) = (configuration(OLD), configuration(NEW));
    for mut store in Store::both() {
        rig.applied(&old);
        let before = state(&rig);
        let journal = store.journal(&rig, "a@one", store.address());
        match &mut store {
            Store::MySql(mariadb) => drop(mariadb.kill().unwrap()),
            Store::Etcd(etcd) => drop(etcd.kill().unwrap()),
        }
        let refused = applied(&rig, &journal, &new);
        assert_ne!(refused.outcome.exit_code(), 0, "{refused:#?}");
        assert!(refused.message.contains("state in"), "{refused:#?}");
        assert_eq!(state(&rig), before);
        match &mut store {
            Store::MySql(mariadb) => mariadb.restart().unwrap(),
            Store::Etcd(etcd) => etcd.restart().unwrap(),
        }
        // The same journal goes on: nobody has to start again.
        let report = applied(&rig, &journal, &new);
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
        match &mut store {
            Store::MySql(mariadb) => mariadb.restart().unwrap(),
            Store::Etcd(etcd) => etcd.restart().unwrap(),
        }
        let run = journal.history().unwrap().pop().unwrap();
        assert_eq!(run.end().map(|(end, _)| end), Some(End::Applied));
        rig.applied(&old);
    }
}
