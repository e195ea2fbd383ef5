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

    /// Whether an error that the network gives is tried again: one of etcd's is that of a member, one of MySQL's an answer.
    fn insists(&self) -> bool {
        matches!(self, Self::Etcd(_))
    }

    /// The runs of a project, as somebody sees them who reaches the store so.
    fn journal(&self, rig: &Rig, project: &str, by: &str, address: SocketAddr) -> Journal {
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
                    project: project.to_owned(),
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
                    project: project.to_owned(),
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
            store.journal(&rig, "shop", "a@one", store.address()),
            store.journal(&rig, "shop", "b@two", store.address()),
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

/// A fault of a store.
#[derive(Clone, Copy, Debug)]
struct Failing {
    at: usize,
    fault: Fault,
    lasts: bool,
}

/// How far an apply had come when its store failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    /// Nothing was sent to ProxySQL.
    Nothing,
    /// Something was, and is set back.
    Changed,
    /// Everything is live and saved, and the record does not say so.
    Saved,
    /// The run is over.
    Over,
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
        drop(
            store
                .journal(&rig, "first", "a@one", store.address())
                .lock()
                .unwrap(),
        );
        let whole = store.network(usize::MAX, None, false);
        let report = applied(&rig, &store.journal(&rig, "whole", "a@one", whole.address), &new);
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
        let (after, asked) = (state(&rig), whole.statements());
        assert_ne!(before, after);
        let mut ends = Vec::new();
        for failing in faults(asked.len(), is_long) {
            let Failing { at, fault, lasts } = failing;
            let what = format!("{failing:?}: {}", asked[at]);
            rig.applied(&old);
            assert_eq!(state(&rig), before, "{what}");
            let network = store.network(at, Some(fault), lasts);
            // A project of its own: the more runs there are, the more is asked before an apply.
            let project = format!("{fault:?}-{lasts}-{at}");
            let report = applied(
                &rig,
                &store.journal(&rig, &project, "a@one", network.address),
                &new,
            );
            let what = format!("{what}: {report:#?}");
            assert!(network.has_failed(), "{what}");
            assert_eq!(kind(&network.statements()[at]), kind(&asked[at]), "{what}");
            let is_new = state(&rig) == after;
            check(
                &rig,
                &store.journal(&rig, &project, "b@two", store.address()),
                &report,
                [&before, &after],
                &what,
            );
            if !lasts && (store.insists() || fault != Fault::Refuses) {
                assert_eq!(report.outcome, Outcome::Applied, "{what}");
            }
            ends.push((failing, reached(&report, is_new), what));
        }
        in_order(&ends, is_long);
        rig.applied(&old);
    }
}

/// Each fault at each question, once and from there on; or a sample of them.
fn faults(questions: usize, is_long: bool) -> Vec<Failing> {
    let mut faults = Vec::new();
    for at in (0..questions).filter(|at| is_long || at.is_multiple_of(7)) {
        for (turn, fault) in Fault::ALL.into_iter().enumerate() {
            for lasts in [false, true] {
                if is_long || (turn + usize::from(lasts)) % 5 == (at / 7) % 5 {
                    faults.push(Failing { at, fault, lasts });
                }
            }
        }
    }
    faults
}

/// A statement without what is new in each run.
fn kind(statement: &str) -> String {
    let mut parts = statement.split("x'");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |kind, part| {
        kind + part.split_once('\'').map_or("", |(_, rest)| rest)
    })
}

fn reached(report: &ApplyReport, is_new: bool) -> Reached {
    match report.outcome {
        Outcome::NotSent => Reached::Nothing,
        Outcome::Restored => Reached::Changed,
        Outcome::Mixed if !is_new => Reached::Changed,
        Outcome::Mixed => Reached::Saved,
        Outcome::Applied => Reached::Over,
        other => panic!("{other:?} is no end of a store that fails: {report:#?}"),
    }
}

/// The later a store fails for good, the further the apply has come; and it fails before, during and after the changes.
fn in_order(ends: &[(Failing, Reached, String)], is_long: bool) {
    for fault in Fault::ALL {
        let of_fault = |(failing, ..): &&(Failing, Reached, String)| failing.fault == fault && failing.lasts;
        let of_fault: Vec<_> = ends.iter().filter(of_fault).collect();
        for pair in of_fault.windows(2) {
            assert!(pair[0].1 <= pair[1].1, "{}\nand then {}", pair[0].2, pair[1].2);
        }
        for reached in [Reached::Nothing, Reached::Changed, Reached::Over] {
            let is_seen = of_fault.iter().any(|(_, other, _)| *other == reached);
            assert!(
                is_seen || !is_long,
                "{fault:?} that lasts never reaches {reached:?}"
            );
        }
    }
    let reached: std::collections::BTreeSet<Reached> = ends.iter().map(|(_, reached, _)| *reached).collect();
    assert!(reached.len() > 2, "{reached:?}");
}

/// What is live is what the report says; what was changed has a record; and what has not ended is ended by others.
fn check(rig: &Rig, journal: &Journal, report: &ApplyReport, [before, after]: [&Vec<String>; 2], what: &str) {
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
            let ended = finish(rig, journal, &name, Way::Back);
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
        let journal = store.journal(&rig, "shop", "a@one", store.address());
        match &mut store {
            Store::MySql(mariadb) => drop(mariadb.kill().unwrap()),
            Store::Etcd(etcd) => drop(etcd.kill().unwrap()),
        }
        let refused = applied(&rig, &journal, &new);
        assert_eq!(refused.outcome, Outcome::NotSent, "{refused:#?}");
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
