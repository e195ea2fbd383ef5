//! Prepared statements that clients hold while rules are loaded that would refuse their execution, which ends the engine.

use std::time::Duration;

use mysql::prelude::Queryable;
use shardwright_plan::{Outcome, Staged, apply};
use shardwright_rules::HostgroupId;
use shardwright_testkit::{ClientOptions, MariaDb, Options, configuration, connect, eventually};

use super::rig::{Rig, plan};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn rules_that_would_end_the_engine_are_not_loaded_while_clients_hold_statements() {
    let Some(rig) = Rig::start_real("prepared statements held on a real ProxySQL") else {
        return;
    };
    let server = MariaDb::start(Options::default()).unwrap();
    server
        .create_user("app", "", Some("ALL PRIVILEGES ON *.*"))
        .unwrap();
    server.run("CREATE DATABASE shop").unwrap();
    let with_rules = |rules: &str| {
        let mut desired = configuration(&format!("users: [app]\nrules: {rules}"));
        for hostgroup in &mut desired.hostgroups {
            if hostgroup.id == HostgroupId(10) {
                hostgroup.members[0].host = "127.0.0.1".into();
                hostgroup.members[0].port = server.port();
            }
        }
        desired
    };
    let open = with_rules("[]");
    rig.applied(&open);
    let app = ClientOptions {
        user: "app",
        password: "",
        schema: Some("shop"),
    };
    let mut client = connect(rig.real().address(), app).unwrap();
    let held = client.prep("SELECT 1 + ?").unwrap();
    assert_eq!(client.exec_first::<u32, _, _>(&held, (2,)).unwrap(), Some(3));
    let refusing = with_rules("[{rule_id: 100, match_digest: '^SELECT', error_msg: 'no', apply: 1}]");
    let mut target = rig.target();
    let planned = plan(&mut target, &refusing, Some("shop"));
    let hazards = &planned.targets[0].hazards;
    assert_eq!(hazards.len(), 1, "{hazards:#?}");
    assert_eq!(hazards[0].code, "SW838");
    insta::assert_snapshot!(hazards[0].message);
    // What becomes of rows that others have staged has nothing to do with it.
    let mut taking = rig.target();
    taking.take_staged(Some(Staged::Discard));
    let beside = plan(&mut taking, &refusing, Some("shop"));
    assert_eq!(beside.targets[0].hazards, *hazards);
    assert_eq!(apply(&planned, &mut target).outcome, Outcome::Refused);
    // A drain that ends in vain changes nothing either, and gives the lease back.
    target.drain(Duration::from_secs(1));
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Refused, "{report:#?}");
    assert!(
        report.message.starts_with("SW838: after 1 s, clients hold"),
        "{report:#?}"
    );
    let leases = "SELECT count(*) FROM mysql_query_rules WHERE rule_id = -1";
    assert_eq!(rig.lines(leases), ["0"]);
    assert_eq!(client.exec_first::<u32, _, _>(&held, (3,)).unwrap(), Some(4));
    // Once nobody holds it, the rules come: the client goes while the apply waits under its lease.
    let mut target = rig.target();
    target.drain(PATIENCE);
    let report = std::thread::scope(|scope| {
        let applying = scope.spawn(|| apply(&planned, &mut target));
        eventually(PATIENCE, || rig.lines(leases) == ["1"]);
        assert!(!applying.is_finished());
        client.close(held).unwrap();
        drop(client);
        applying.join().unwrap()
    });
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
}
