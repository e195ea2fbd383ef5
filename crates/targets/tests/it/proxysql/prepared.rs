//! Prepared statements that clients hold while rules are loaded that would refuse their execution, which ends the engine.

use mysql::prelude::Queryable;
use shardwright_plan::{Outcome, apply};
use shardwright_rules::HostgroupId;
use shardwright_testkit::{ClientOptions, MariaDb, Options, configuration, connect};

use super::rig::{Rig, plan};

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
    assert_eq!(apply(&planned, &mut target).outcome, Outcome::Refused);
    assert_eq!(client.exec_first::<u32, _, _>(&held, (3,)).unwrap(), Some(4));
    // Once nobody holds it, the rules can come.
    client.close(held).unwrap();
    drop(client);
    let mut target = rig.target();
    let planned = shardwright_testkit::poll_until(std::time::Duration::from_secs(60), || {
        let planned = plan(&mut target, &refusing, Some("shop"));
        planned.targets[0].hazards.is_empty().then_some(planned)
    });
    assert_eq!(apply(&planned.unwrap(), &mut target).outcome, Outcome::Applied);
}
