//! Rows that somebody else has staged: published or taken back with a plan, and put back where an apply fails.

use shardwright_plan::{ApplyReport, Outcome, Plan, Severity, Staged, apply};
use shardwright_rules::Configuration;
use shardwright_targets::ProxySqlTarget;
use shardwright_targets::emit::{Numbers, Ownership};
use shardwright_testkit::{Fault, Faulty, configuration};

use super::rig::{Rig, effects};

const OLD: &str = "rules: [{rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}]";
const NEW: &str = r"
users: [app, geo, web]
hostgroups: {30: {weight: 7}}
rules: [{rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 21, apply: 1}]
";

/// A rule, a server and a user of others, and another weight of a server of ours.
const STAGED: &[&str] = &[
    "INSERT INTO mysql_query_rules (rule_id, active, match_digest, apply) VALUES (500, 1, '^CALL', 0)",
    "UPDATE mysql_users SET max_connections = 7 WHERE username = 'other'",
    "DELETE FROM mysql_servers WHERE hostgroup_id = 900",
    "UPDATE mysql_servers SET weight = 9 WHERE hostgroup_id = 10",
];
const OF_OTHERS: &[&str] = &[
    "INSERT INTO mysql_users (username, password, max_connections) VALUES ('other', 'pw-of-other', 5)",
    "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (900, 'other.db')",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL SERVERS TO RUNTIME",
    "SAVE MYSQL USERS TO DISK",
    "SAVE MYSQL SERVERS TO DISK",
];

fn owns() -> Ownership {
    let numbers = |range| Some(Numbers::new([range], &Default::default()));
    Ownership {
        users: Some(vec!["app".into(), "geo".into(), "web".into()]),
        rules: numbers(1..=199),
        hostgroups: numbers(1..=99),
        ..Ownership::default()
    }
}

/// A ProxySQL with rows of ours and of others, live and saved; then somebody stages more.
fn staged(left_out: &str) -> Option<Rig> {
    let rig = Rig::start(left_out)?;
    rig.run(OF_OTHERS);
    let mut target = rig.target_of(Some("shop"), owns());
    let report = planned(&mut target, &configuration(OLD), None).1;
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    rig.run(STAGED);
    Some(rig)
}

fn planned(
    target: &mut ProxySqlTarget,
    desired: &Configuration,
    staged: Option<Staged>,
) -> (Plan, ApplyReport) {
    let plan = plan(target, desired, staged);
    let report = apply(&plan, target);
    (plan, report)
}

fn plan(target: &mut ProxySqlTarget, desired: &Configuration, staged: Option<Staged>) -> Plan {
    target.take_staged(staged);
    super::rig::plan(target, desired, Some("shop"))
}

/// What each layer has of the rows that were staged.
fn state(rig: &Rig) -> Vec<String> {
    let mut state = Vec::new();
    for layer in ["", "runtime_", "disk."] {
        for query in [
            "rule_id FROM {}mysql_query_rules WHERE rule_id > 0 ORDER BY 1",
            "hostgroup_id, weight FROM {}mysql_servers WHERE hostgroup_id IN (10, 900) ORDER BY 1",
            "DISTINCT username, max_connections FROM {}mysql_users WHERE username = 'other'",
        ] {
            let lines = rig.lines(&format!("SELECT {}", query.replace("{}", layer)));
            state.push(format!("{layer}: {}", lines.join(", ")));
        }
    }
    state
}

#[test]
fn staged_rows_go_live_with_the_plan() {
    let Some(rig) = staged("adopting staged rows on a real ProxySQL") else {
        return;
    };
    let mut target = rig.target_of(Some("shop"), owns());
    let (plan, report) = planned(&mut target, &configuration(NEW), Some(Staged::Adopt));
    insta::assert_snapshot!("adopted", effects(&plan));
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    // What is ours is as the files say; what is of others as they staged it.
    let expected = ["100, 500", "10 1", "other 7"];
    for (line, expected) in state(&rig).iter().zip(expected.into_iter().cycle()) {
        assert!(line.ends_with(expected), "{line}: {expected}");
    }
    let run = rig
        .journal()
        .runs()
        .unwrap()
        .last()
        .unwrap()
        .record
        .identity
        .run
        .clone();
    let report = rig.target_of(Some("shop"), owns()).take_back(&run);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    let expected = ["100", "10 1, 900 1", "other 5"];
    for (line, expected) in state(&rig).iter().zip(expected.into_iter().cycle()) {
        assert!(line.ends_with(expected), "{line}: {expected}");
    }
}

#[test]
fn staged_rows_are_set_back_to_what_is_live() {
    let Some(rig) = staged("discarding staged rows on a real ProxySQL") else {
        return;
    };
    let mut target = rig.target_of(Some("shop"), owns());
    let (plan, report) = planned(&mut target, &configuration(NEW), Some(Staged::Discard));
    insta::assert_snapshot!("discarded", effects(&plan));
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    let expected = ["100", "10 1, 900 1", "other 5"];
    for (line, expected) in state(&rig).iter().zip(expected.into_iter().cycle()) {
        assert!(line.ends_with(expected), "{line}: {expected}");
    }
}

#[test]
fn an_apply_that_fails_leaves_staged_what_was_staged() {
    let Some(rig) = staged("staged rows and faults on a real ProxySQL") else {
        return;
    };
    let before = state(&rig);
    for mode in [Staged::Adopt, Staged::Discard] {
        let network = Faulty::start(rig.proxysql.admin_address(), usize::MAX, None, false);
        let mut target = rig.target_at(&network.address.to_string(), Some("shop"), owns());
        let plan = plan(&mut target, &configuration(NEW), Some(mode));
        let until = network.statements().len();
        let report = apply(&plan, &mut target);
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
        let sent = network.statements();
        let run = rig
            .journal()
            .runs()
            .unwrap()
            .last()
            .unwrap()
            .record
            .identity
            .run
            .clone();
        // Where a run was made is a part of it.
        let mut again = rig.target_at(&network.address.to_string(), Some("shop"), owns());
        let report = again.take_back(&run);
        assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
        rig.run(STAGED);
        assert_eq!(state(&rig), before);
        // The last load, and the first save.
        let last_load = sent.iter().rposition(|statement| statement.starts_with("LOAD"));
        let first_save = sent.iter().position(|statement| statement.starts_with("SAVE"));
        for at in [last_load, first_save].map(Option::unwrap) {
            let at = at - until;
            for fault in [Fault::Refuses, Fault::DiesAfter] {
                let plan = super::staging::plan(
                    &mut rig.target_of(Some("shop"), owns()),
                    &configuration(NEW),
                    Some(mode),
                );
                let network = Faulty::start(rig.proxysql.admin_address(), at, Some(fault), false);
                let mut target = rig.target_at(&network.address.to_string(), Some("shop"), owns());
                let report = apply(&plan, &mut target);
                assert!(network.has_failed());
                assert_eq!(
                    report.outcome,
                    Outcome::Restored,
                    "{mode:?} {fault:?}: {report:#?}"
                );
                assert_eq!(
                    state(&rig),
                    before,
                    "{mode:?} {fault:?} at {at}: {}",
                    sent[at + until]
                );
            }
        }
    }
}

#[test]
fn staged_rows_are_checked_as_rows_of_the_plan_are() {
    let Some(rig) = Rig::start("staged rows that contradict others") else {
        return;
    };
    let mut target = rig.target_of(Some("shop"), owns());
    let report = planned(&mut target, &configuration(OLD), None).1;
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    rig.run(&[
        // Nobody could log in to the admin port any more; and the engine would drop one of the joins.
        "INSERT INTO mysql_users (username, password) VALUES ('admin', 'x')",
        "INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (800, 801), (801, 802)",
    ]);
    let mut errors = |mode| {
        let plan = plan(&mut target, &configuration(NEW), Some(mode));
        let hazards = plan.targets[0].hazards.iter();
        let errors = hazards.filter(|hazard| hazard.severity == Severity::Error);
        let mut codes: Vec<String> = errors.map(|hazard| hazard.code.clone()).collect();
        codes.dedup();
        codes
    };
    assert_eq!(errors(Staged::Adopt), ["SW245", "SW834"]);
    assert_eq!(errors(Staged::Discard), [""; 0]);
}
