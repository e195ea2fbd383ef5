//! A ProxySQL Cluster: one node is applied to, the others follow and know whose they are.

use std::time::Duration;

use shardwright_plan::Target;
use shardwright_testkit::{ProxySql, configuration, eventually};

use super::rig::{Rig, plan};

const PATIENCE: Duration = Duration::from_secs(90);

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
    first.applied(&desired);
    for peer in [&second, &third] {
        let mut target = peer.target();
        eventually(PATIENCE, || {
            !plan(&mut target, &desired, Some("shop")).has_changes()
        });
        let observed = target.observe().unwrap();
        assert_eq!(observed.project.as_deref(), Some("shop"));
        assert_eq!(observed.generation, 1);
        let rules = "SELECT rule_id FROM runtime_mysql_query_rules ORDER BY rule_id";
        assert_eq!(peer.lines(rules), ["-10", "100"]);
    }
}
