//! An apply whose connection fails at any of its statements ends with the former state or the new one, and says which.
//!
//! `SHARDWRIGHT_FAULTS=1` tries every statement; otherwise a sample of them.

use std::time::Duration;

use shardwright_plan::{Outcome, apply};
use shardwright_rules::Configuration;
use shardwright_targets::emit::Ownership;
use shardwright_targets::proxysql::{End, Way};
use shardwright_targets::{ProxySqlTarget, Timeouts};
use shardwright_testkit::{Fault, Faulty, configuration};

use super::rig::{Rig, plan};

pub(crate) const OLD: &str = r"
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}
  - {rule_id: 101, username: geo, destination_hostgroup: 20, apply: 1}
fast_routing:
  - {username: app, schemaname: s1, flagIN: 0, destination_hostgroup: 20}
variables: {mysql-max_connections: '2000'}
";

pub(crate) const NEW: &str = r"
users: [app, web]
hostgroups: {30: {host: elsewhere.db}}
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 21, apply: 1}
  - {rule_id: 102, match_digest: '^INSERT', destination_hostgroup: 30, apply: 1}
variables: {mysql-max_connections: '3000'}
";

/// Everything that a run could change, in every layer, without the counts of generations.
pub(crate) fn state(rig: &Rig) -> Vec<String> {
    let queries = [
        "rule_id, active, username, match_digest, destination_hostgroup FROM {}mysql_query_rules WHERE rule_id > -2",
        "* FROM {}mysql_query_rules_fast_routing",
        "hostgroup_id, hostname, port, status, weight FROM {}mysql_servers",
        "DISTINCT username, default_hostgroup, password FROM {}mysql_users",
        "* FROM {}global_variables WHERE variable_name = 'mysql-max_connections'",
    ];
    let mut state = Vec::new();
    for layer in ["", "runtime_", "disk."] {
        for query in queries {
            let mut lines = rig.lines(&format!("SELECT {}", query.replace("{}", layer)));
            lines.sort_unstable();
            state.extend(lines.into_iter().map(|line| format!("{layer}{line}")));
        }
    }
    state
}

/// A target that waits for an answer only as long as a test can, where one may never come.
fn through(rig: &Rig, network: &Faulty, fault: Option<Fault>) -> ProxySqlTarget {
    let hangs = matches!(fault, Some(Fault::HangsBefore | Fault::HangsAfter));
    let impatient = Timeouts {
        connect: Duration::from_secs(2),
        answer: Duration::from_secs(if hangs { 2 } else { 60 }),
    };
    rig.target_at(&network.address.to_string(), Some("shop"), Ownership::default())
        .patient(impatient)
}

/// How many statements an apply sends, and which.
fn statements(rig: &Rig, new: &Configuration) -> Vec<String> {
    let network = Faulty::start(rig.proxysql.admin_address(), 0, None, false);
    let mut target = through(rig, &network, None);
    let planned = plan(&mut rig.target(), new, Some("shop"));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    network.statements()
}

/// The state of the old configuration, which is there in the end, that of the new one, and the statements that lead to it.
fn there_and_back(rig: &Rig, old: &Configuration, new: &Configuration) -> [Vec<String>; 3] {
    rig.applied(old);
    let before = state(rig);
    let sent = statements(rig, new);
    let after = state(rig);
    assert_ne!(before, after);
    rig.applied(old);
    assert_eq!(state(rig), before);
    [before, after, sent]
}

fn is_sampled(number: usize, statement: &str) -> bool {
    let is_of_interest = statement.starts_with("LOAD") || statement.starts_with("SAVE MYSQL Q");
    std::env::var_os("SHARDWRIGHT_FAULTS").is_some() || is_of_interest || number.is_multiple_of(29)
}

#[test]
fn a_connection_that_fails_leaves_the_former_state_or_the_new_one() {
    let Some(rig) = Rig::start("faults of the network between an apply and a real ProxySQL") else {
        return;
    };
    let (old, new) = (configuration(OLD), configuration(NEW));
    let [before, after, sent] = there_and_back(&rig, &old, &new);
    let all = sent.iter().enumerate();
    let numbers: Vec<usize> = all
        .filter(|(number, statement)| is_sampled(*number, statement))
        .map(|(number, _)| number)
        .collect();
    let mut ended = std::collections::BTreeMap::new();
    for (turn, number) in numbers.into_iter().enumerate() {
        let faults: &[Fault] = match std::env::var_os("SHARDWRIGHT_FAULTS") {
            Some(_) => &Fault::ALL,
            // Each statement meets one of them, in turns.
            None => std::slice::from_ref(&Fault::ALL[turn % Fault::ALL.len()]),
        };
        for &fault in faults {
            let network = Faulty::start(rig.proxysql.admin_address(), number, Some(fault), false);
            let mut target = through(&rig, &network, Some(fault));
            let planned = plan(&mut rig.target(), &new, Some("shop"));
            let report = apply(&planned, &mut target);
            let what = format!("{fault:?} at {number}: {}\n{report:#?}", sent[number]);
            assert!(network.has_failed(), "{what}");
            let now = state(&rig);
            *ended
                .entry((fault as usize, report.outcome as usize))
                .or_insert(0) += 1;
            match report.outcome {
                Outcome::Applied | Outcome::Unverified => assert_eq!(now, after, "{what}"),
                Outcome::Restored | Outcome::NotSent | Outcome::Contended => {
                    assert_eq!(now, before, "{what}")
                }
                _ => panic!("{what}"),
            }
            finish_if_open(&rig, &what);
            rig.applied(&old);
            assert_eq!(state(&rig), before, "{what}");
        }
    }
    assert!(ended.values().sum::<usize>() > 10, "{ended:?}");
}

/// A run that could not even give its lease back stays open, and is taken back.
fn finish_if_open(rig: &Rig, what: &str) {
    let open = rig
        .journal()
        .runs()
        .unwrap()
        .into_iter()
        .filter(|run| run.is_open());
    for run in open {
        let report = rig
            .target_at(&run.record.admin, Some("shop"), Ownership::default())
            .finish(&run.record.identity.run, Way::Back);
        assert!(
            [0, 6].contains(&report.outcome.exit_code()),
            "{what}\n{report:#?}"
        );
    }
}

#[test]
fn a_network_that_stays_broken_is_a_reported_mixture_that_is_finished_or_taken_back() {
    let Some(rig) = Rig::start("a lasting fault between an apply and a real ProxySQL") else {
        return;
    };
    let (old, new) = (configuration(OLD), configuration(NEW));
    let [before, after, sent] = there_and_back(&rig, &old, &new);
    for (word, way) in [
        ("LOAD MYSQL SERVERS", Way::Back),
        ("LOAD MYSQL QUERY RULES", Way::Forward),
        ("SAVE MYSQL USERS", Way::Forward),
        ("SAVE MYSQL USERS", Way::Back),
    ] {
        let number = sent
            .iter()
            .position(|statement| statement.starts_with(word))
            .unwrap();
        let network = Faulty::start(rig.proxysql.admin_address(), number, Some(Fault::DiesAfter), true);
        let mut target = through(&rig, &network, Some(Fault::DiesAfter));
        let planned = plan(&mut rig.target(), &new, Some("shop"));
        let report = apply(&planned, &mut target);
        assert_eq!(report.outcome, Outcome::Mixed, "{word}: {report:#?}");
        let run = rig.journal().runs().unwrap().pop().unwrap();
        let name = run.record.identity.run.clone();
        assert!(
            run.is_open() && report.message.contains(&name),
            "{word}: {report:#?}"
        );
        // Nothing else is applied before that is over.
        let again = apply(&plan(&mut rig.target(), &new, Some("shop")), &mut rig.target());
        assert_eq!(again.outcome.exit_code(), 5, "{again:#?}");
        network.mend();
        let report = rig
            .target_at(&run.record.admin, Some("shop"), Ownership::default())
            .finish(&name, way);
        assert_eq!(report.outcome, Outcome::Applied, "{word} {way:?}: {report:#?}");
        let (expected, end) = match way {
            Way::Forward => (&after, End::Applied),
            Way::Back => (&before, End::Restored),
        };
        assert_eq!(&state(&rig), expected, "{word} {way:?}");
        assert_eq!(rig.journal().run(&name).unwrap().end().unwrap().0, end);
        rig.applied(&old);
    }
}
