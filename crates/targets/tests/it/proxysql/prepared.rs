//! Prepared statements that clients hold while rules are loaded that would refuse their execution, which ends the engine.

use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Statement};
use shardwright_plan::{Hazard, Outcome, Plan, Severity, Staged, apply};
use shardwright_rules::{Configuration, HostgroupId};
use shardwright_targets::ProxySqlTarget;
use shardwright_targets::emit::{Numbers, Ownership};
use shardwright_testkit::{ClientOptions, MariaDb, Options, configuration, connect, eventually};

use super::rig::{Rig, plan};

const PATIENCE: Duration = Duration::from_secs(60);

/// A ProxySQL in front of a server with the schemas `shop` and `other`.
struct World {
    rig: Rig,
    server: MariaDb,
}

impl World {
    fn start(left_out: &str) -> Option<Self> {
        let rig = Rig::start_real(left_out)?;
        let server = MariaDb::start(Options::default()).unwrap();
        server
            .create_user("app", "", Some("ALL PRIVILEGES ON *.*"))
            .unwrap();
        server.run("CREATE DATABASE shop").unwrap();
        server.run("CREATE DATABASE other").unwrap();
        Some(Self { rig, server })
    }

    /// What `yaml` says besides, with the server in hostgroup 10.
    fn with(&self, yaml: &str) -> Configuration {
        let mut desired = configuration(&format!("users: [app]\n{yaml}"));
        for hostgroup in &mut desired.hostgroups {
            if hostgroup.id == HostgroupId(10) {
                hostgroup.members[0].host = "127.0.0.1".into();
                hostgroup.members[0].port = self.server.port();
            }
        }
        desired
    }

    fn client(&self) -> Conn {
        let app = ClientOptions {
            user: "app",
            password: "",
            schema: Some("shop"),
        };
        connect(self.rig.real().address(), app).unwrap()
    }

    /// A project that owns the rules from 100 to 199.
    fn sharing(&self) -> ProxySqlTarget {
        let numbers = Some(Numbers::new([100..=199], &Default::default()));
        let owns = Ownership {
            rules: numbers,
            ..Ownership::default()
        };
        self.rig.target_of(Some("shop"), owns)
    }
}

/// Executes a statement that is held: the engine lives.
fn executes(client: &mut Conn, held: &Statement) {
    assert_eq!(client.exec_first::<u32, _, _>(held, (3,)).unwrap(), Some(4));
}

/// What is said of prepared statements.
fn of_prepared(plan: &Plan) -> Vec<&Hazard> {
    let hazards = plan.targets[0].hazards.iter();
    hazards.filter(|hazard| hazard.code == "SW838").collect()
}

#[test]
fn rules_of_others_that_would_end_the_engine_are_not_made_live() {
    let Some(world) = World::start("rules of others and prepared statements on a real ProxySQL") else {
        return;
    };
    let rig = &world.rig;
    rig.applied(&world.with("rules: []"));
    let mut client = world.client();
    let held = client.prep("SELECT 1 + ?").unwrap();
    executes(&mut client, &held);
    rig.run(&[
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, error_msg, apply) \
               VALUES (500, 1, '^SELECT', 'no', 1)",
    ]);
    let ours =
        world.with("rules: [{rule_id: 100, match_digest: '^CALL', destination_hostgroup: 10, apply: 1}]");
    let mut target = world.sharing();
    target.take_staged(Some(Staged::Adopt));
    let adopting = plan(&mut target, &ours, Some("shop"));
    let said = of_prepared(&adopting);
    assert_eq!(said.len(), 1, "{:#?}", adopting.targets[0].hazards);
    assert_eq!(said[0].severity, Severity::Error);
    let address = said[0].address.as_ref().map(ToString::to_string);
    assert_eq!(address.as_deref(), Some("mysql_query_rules.500"));
    let report = apply(&adopting, &mut target);
    assert_eq!(report.outcome, Outcome::Refused, "{report:#?}");
    executes(&mut client, &held);
    // What is set back does not come.
    let mut target = world.sharing();
    target.take_staged(Some(Staged::Discard));
    let discarding = plan(&mut target, &ours, Some("shop"));
    assert!(of_prepared(&discarding).is_empty(), "{discarding:#?}");
}

#[test]
fn rules_of_others_that_stay_count_as_well() {
    let Some(world) = World::start("rules that stay and prepared statements on a real ProxySQL") else {
        return;
    };
    let rig = &world.rig;
    rig.applied(&world.with("rules: []"));
    // Whatever we refuse, theirs comes first.
    rig.run(&[
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) \
         VALUES (5, 1, '^SELECT', 10, 1)",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
    ]);
    let mut client = world.client();
    let held = client.prep("SELECT 1 + ?").unwrap();
    let refusing = world.with("rules: [{rule_id: 100, match_digest: '^SELECT', error_msg: 'no', apply: 1}]");
    let mut target = world.sharing();
    let planned = plan(&mut target, &refusing, Some("shop"));
    assert!(of_prepared(&planned).is_empty(), "{planned:#?}");
    let report = apply(&planned, &mut target);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
    executes(&mut client, &held);
    // Theirs leads to ours, where it refuses.
    rig.run(&[
        "UPDATE mysql_query_rules SET flagOUT = 7, apply = 0 WHERE rule_id = 5",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
    ]);
    let behind =
        world.with("rules: [{rule_id: 100, flagIN: 7, match_digest: '^SELECT', error_msg: 'no', apply: 1}]");
    let mut target = world.sharing();
    let planned = plan(&mut target, &behind, Some("shop"));
    assert_eq!(
        of_prepared(&planned).len(),
        1,
        "{:#?}",
        planned.targets[0].hazards
    );
}

#[test]
fn executions_are_asked_about_in_the_schema_that_their_session_is_in() {
    let Some(world) = World::start("schemas of prepared statements on a real ProxySQL") else {
        return;
    };
    world.rig.applied(&world.with("rules: []"));
    let mut client = world.client();
    let held = client.prep("SELECT 1 + ?").unwrap();
    client.query_drop("USE other").unwrap();
    executes(&mut client, &held);
    let hazards = |rule: &str| {
        let desired = world.with(&format!(
            "rules: [{{rule_id: 100, error_msg: 'no', apply: 1, {rule}}}]"
        ));
        let planned = plan(&mut world.rig.target(), &desired, Some("shop"));
        of_prepared(&planned).len()
    };
    assert_eq!(hazards("schemaname: other"), 1);
    assert_eq!(hazards("schemaname: elsewhere"), 0);
    assert_eq!(hazards("client_addr: '127.0.%'"), 1);
    assert_eq!(hazards("username: geo"), 0);
    // A hostgroup that refuses does not end the engine.
    let desired = world.with(
        "refusing: [{id: 900, address: 'refusing', reason: 'SW351: no', refuser: service, host: 127.0.0.1, port: 6}]\n\
         rules: [{rule_id: 100, destination_hostgroup: 900, apply: 1}]",
    );
    let planned = plan(&mut world.rig.target(), &desired, Some("shop"));
    assert!(of_prepared(&planned).is_empty(), "{planned:#?}");
}

#[test]
fn a_run_is_not_taken_back_to_rules_that_would_end_the_engine() {
    let Some(world) = World::start("prepared statements and a rollback on a real ProxySQL") else {
        return;
    };
    let rig = &world.rig;
    rig.applied(&world.with("rules: [{rule_id: 100, match_digest: '^SELECT .', error_msg: 'no', apply: 1}]"));
    rig.applied(&world.with("rules: []"));
    let last = rig
        .journal()
        .runs()
        .unwrap()
        .last()
        .unwrap()
        .record
        .identity
        .run
        .clone();
    let mut client = world.client();
    let held = client.prep("SELECT 1 + ?").unwrap();
    let report = rig.target().take_back(&last);
    assert_eq!(report.outcome, Outcome::Refused, "{report:#?}");
    assert!(report.message.starts_with("SW838: "), "{report:#?}");
    executes(&mut client, &held);
    client.close(held).unwrap();
    drop(client);
    eventually(PATIENCE, || {
        rig.lines("SELECT count(*) FROM stats_mysql_prepared_statements_info WHERE ref_count_client > 0")
            == ["0"]
    });
    let report = rig.target().take_back(&last);
    assert_eq!(report.outcome, Outcome::Applied, "{report:#?}");
}

#[test]
fn rules_that_would_end_the_engine_are_not_loaded_while_clients_hold_statements() {
    let Some(world) = World::start("prepared statements held on a real ProxySQL") else {
        return;
    };
    let rig = &world.rig;
    let open = world.with("rules: []");
    rig.applied(&open);
    let mut client = world.client();
    let held = client.prep("SELECT 1 + ?").unwrap();
    assert_eq!(client.exec_first::<u32, _, _>(&held, (2,)).unwrap(), Some(3));
    let refusing = world.with("rules: [{rule_id: 100, match_digest: '^SELECT', error_msg: 'no', apply: 1}]");
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
