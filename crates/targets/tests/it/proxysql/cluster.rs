//! A ProxySQL Cluster: one node is applied to, the others follow and know whose they are.

use std::time::Duration;

use shardwright_plan::{Outcome, Target, apply};
use shardwright_targets::proxysql::End;
use shardwright_testkit::{Fault, Faulty, ProxySql, configuration, eventually};

use super::rig::{Rig, plan};

/// How long a peer may take on the busiest machine.
const FOLLOWS: Duration = Duration::from_secs(120);

/// An apply waits twice as long as the slowest module of its node asks for, and this module does not change in the tests.
const WAIT_LONG: [&str; 2] = [
    "SET admin-cluster_admin_variables_diffs_before_sync=300",
    "LOAD ADMIN VARIABLES TO RUNTIME",
];
const WAIT_SHORT: [&str; 2] = [
    "SET admin-cluster_admin_variables_diffs_before_sync=3",
    "LOAD ADMIN VARIABLES TO RUNTIME",
];

/// Makes a cluster of nodes.
fn join(nodes: &[&ProxySql]) {
    let mut statements: Vec<String> = [
        "SET admin-admin_credentials='admin:admin;peer:peer'",
        "SET admin-cluster_username='peer'",
        "SET admin-cluster_password='peer'",
        "SET admin-cluster_check_interval_ms=200",
        "LOAD ADMIN VARIABLES TO RUNTIME",
    ]
    .map(str::to_owned)
    .to_vec();
    for node in nodes {
        let address = node.admin_address();
        statements.push(format!(
            "INSERT INTO proxysql_servers (hostname, port) VALUES ('{}', {})",
            address.ip(),
            address.port()
        ));
    }
    statements.push("LOAD PROXYSQL SERVERS TO RUNTIME".to_owned());
    for node in nodes {
        node.run(&statements).unwrap();
    }
}

#[test]
fn peers_follow_the_node_that_is_applied_to() {
    let left_out = "a cluster of real ProxySQLs";
    let (Some(first), Some(second), Some(third)) = (
        Rig::start_real(left_out),
        Rig::start_real(left_out),
        Rig::start_real(left_out),
    ) else {
        return;
    };
    join(&[first.real(), second.real(), third.real()]);
    let desired = configuration(
        r"
users: [app]
rules:
  - {rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}
fast_routing:
  - {username: app, schemaname: s1, flagIN: 0, destination_hostgroup: 20}
",
    );
    first.run(&WAIT_LONG);
    first.applied(&desired);
    // Whoever applies waits for that: nobody has to wait afterwards.
    for peer in [&second, &third] {
        let mut target = peer.target();
        assert!(!plan(&mut target, &desired, Some("shop")).has_changes());
        let observed = target.observe().unwrap();
        assert_eq!(observed.project.as_deref(), Some("shop"));
        assert_eq!(observed.generation, 1);
        let rules = "SELECT rule_id FROM runtime_mysql_query_rules ORDER BY rule_id";
        assert_eq!(peer.lines(rules), ["-10", "100"]);
    }
}

const ONE: &str = "rules: [{rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 11, apply: 1}]";
const OTHER: &str = "rules: [{rule_id: 100, match_digest: '^SELECT', destination_hostgroup: 20, apply: 1}]";

#[test]
fn a_peer_that_does_not_follow_is_named_by_the_report_and_the_record() {
    let left_out = "a peer of a real ProxySQL that is gone";
    let (Some(first), Some(second), Some(third)) = (
        Rig::start_real(left_out),
        Rig::start_real(left_out),
        Rig::start_real(left_out),
    ) else {
        return;
    };
    join(&[first.real(), second.real(), third.real()]);
    first.run(&WAIT_LONG);
    first.applied(&configuration(ONE));
    first.run(&WAIT_SHORT);
    let gone = third.proxysql.admin_address();
    drop(third);
    let mut target = first.target();
    let planned = plan(&mut target, &configuration(OTHER), Some("shop"));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Unverified, "{report:#?}");
    assert_eq!(report.exit_code(), 7);
    // On a busy machine the second one may be late, and is named as well: it follows all the same.
    let expected = format!("{gone} does not follow in mysql_query_rules");
    let told = |message: &str, start: &str| message.starts_with(start) && message.contains(&expected);
    assert!(told(&report.message, "generation 2 is live, but "), "{report:#?}");
    let run = first.journal().runs().unwrap().pop().unwrap();
    let (end, said) = run.end().unwrap();
    assert_eq!(end, End::Applied);
    assert!(told(said, "generation 2 is live and saved; "), "{said}");
    let rule = "SELECT destination_hostgroup FROM runtime_mysql_query_rules WHERE rule_id = 100";
    eventually(FOLLOWS, || second.lines(rule) == ["20"]);
    // Modules that nodes do not take over from each other are not waited for.
    first.run(&[
        "SET admin-cluster_mysql_query_rules_diffs_before_sync=0",
        "LOAD ADMIN VARIABLES TO RUNTIME",
    ]);
    first.applied(&configuration(ONE));
}

#[test]
fn while_one_node_is_applied_to_another_one_is_not() {
    let left_out = "two applies to a cluster of real ProxySQLs";
    let (Some(first), Some(second)) = (Rig::start_real(left_out), Rig::start_real(left_out)) else {
        return;
    };
    join(&[first.real(), second.real()]);
    first.run(&WAIT_LONG);
    first.applied(&configuration(ONE));
    // The first node's apply stops in the middle, and holds its lease.
    let network = Faulty::from_statement(
        first.proxysql.admin_address(),
        "LOAD MYSQL QUERY RULES",
        Fault::DiesBefore,
    );
    let mut target = first.target_at(&network.address.to_string(), Some("shop"), Default::default());
    let planned = plan(&mut first.target(), &configuration(OTHER), Some("shop"));
    assert_eq!(apply(&planned, &mut target).outcome, Outcome::Mixed);
    let mut peer = second.target();
    let planned = plan(&mut peer, &configuration(OTHER), Some("shop"));
    let report = apply(&planned, &mut peer);
    assert_eq!(report.outcome, Outcome::Contended, "{report:#?}");
    let node = first.proxysql.admin_address();
    assert!(
        report.message.contains(&format!("on its peer {node}")),
        "{report:#?}"
    );
    let leases = "SELECT count(*) FROM mysql_query_rules WHERE rule_id = -1";
    assert_eq!(second.lines(leases), ["0"]);
}
