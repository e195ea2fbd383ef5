//! `plan`, `apply` and what comes after them, on a real ProxySQL.
//!
//! `SHARDWRIGHT_FAULTS=1` kills an apply at each of its statements; otherwise at a few of them.

use std::net::SocketAddr;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;
use shardwright_testkit::{
    CommandEnvironment, CommandOutput, Fault, Faulty, ProxySql, ProxySqlOptions, eventually, real_proxysql,
};

use crate::support::PROGRAM;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Rig {
    pub(crate) environment: CommandEnvironment,
    pub(crate) proxysql: ProxySql,
}

impl Rig {
    pub(crate) fn start(left_out: &str) -> Option<Self> {
        let binary = real_proxysql(left_out)?;
        let proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("PX_ADMIN", "admin");
        environment.set("APP_PASSWORD", "canary-of-app");
        environment.set("USER", "dba");
        let rig = Self {
            environment,
            proxysql,
        };
        rig.project("shop", rig.proxysql.admin_address());
        rig.topology("two", 1);
        Some(rig)
    }

    pub(crate) fn project(&self, name: &str, admin: SocketAddr) {
        let text = format!(
            "version: 1\nproject: {name}\nengines: [proxysql-2.7]\ntargets:\n  px1: {{engine: proxysql-2.7, admin: \"{admin}\", \
             user: admin, password: {{env: PX_ADMIN}}}}\n"
        );
        self.environment.write("shardwright.yaml", text).unwrap();
    }

    /// Three tenants, of which the second is on this cluster, whose server has this weight.
    pub(crate) fn topology(&self, second: &str, weight: u32) {
        let text = format!(
            r#"version: 1
clusters:
  one: {{type: single, servers: {{s1: {{host: one.db}}}}}}
  two: {{type: single, servers: {{s1: {{host: two.db, weight: {weight}}}}}}}
  three: {{type: single, servers: {{s1: {{host: three.db}}}}}}
users:
  app: {{password: {{env: APP_PASSWORD}}, cluster: one, schema: app, max_connections: {weight}}}
shard_maps:
  tenants:
    applies_to: {{users: [app]}}
    key: {{name: tenant, type: integer}}
    key_from: [{{comment: {{}}}}]
    shards:
      t1: {{keys: [1], cluster: one}}
      t2: {{keys: [2], cluster: {second}}}
      t3: {{keys: [3], cluster: one}}
"#
        );
        self.environment.write("topology/shop.yaml", text).unwrap();
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> CommandOutput {
        self.environment.run(arguments).unwrap()
    }

    /// Runs a command that must end with a code; its standard output.
    pub(crate) fn ends(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.code(), Some(code), "{arguments:?}: {output:?}");
        output.stdout
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ends(0, &[arguments, &["--format", "json"]].concat())).unwrap()
    }

    /// What a client meets, live and after a restart.
    fn state(&self) -> Vec<String> {
        let mut state = Vec::new();
        for layer in ["", "runtime_", "disk."] {
            for query in [
                "rule_id, flagIN, match_pattern, destination_hostgroup FROM {}mysql_query_rules WHERE rule_id > -2",
                "hostgroup_id, hostname, status FROM {}mysql_servers",
                "DISTINCT username, password, default_hostgroup FROM {}mysql_users",
            ] {
                let rows = self
                    .proxysql
                    .run([format!("SELECT {}", query.replace("{}", layer))])
                    .unwrap();
                let mut lines: Vec<String> = rows.iter().map(|row| format!("{layer}{row:?}")).collect();
                lines.sort_unstable();
                state.extend(lines);
            }
        }
        state
    }
}

#[test]
fn from_nothing_to_a_map_to_a_move_and_back() {
    let Some(rig) = Rig::start("plan and apply on a real ProxySQL") else {
        return;
    };
    rig.ends(2, &["plan", "--detailed-exitcode"]);
    let applied = rig.ends(0, &["apply", "--auto-approve"]);
    assert!(applied.contains("px1: generation 1 is live"), "{applied}");
    rig.ends(0, &["diff"]);
    rig.ends(0, &["status", "--detailed-exitcode"]);
    let statement = ["--user", "app", "/* tenant=2 */ SELECT 1"];
    let live = rig.json(&[&["route", "--rules", "live:px1"][..], &statement].concat());
    let compiled = rig.json(&[&["route", "--engine", "proxysql-2.7"][..], &statement].concat());
    assert_eq!(live["hostgroup"], compiled["hostgroup"]);
    assert_eq!(live["hostgroup"].as_u64(), Some(1020), "{live}");
    // What somebody has staged does not run.
    let stage = |from: u32, to: u32| {
        let set = format!(
            "UPDATE mysql_query_rules SET destination_hostgroup = {to} WHERE destination_hostgroup = {from}"
        );
        rig.proxysql.run([set]).unwrap();
    };
    stage(1020, 9020);
    let live = rig.json(&[&["route", "--rules", "live:px1"][..], &statement].concat());
    assert_eq!(live["hostgroup"].as_u64(), Some(1020), "{live}");
    stage(9020, 1020);
    let before = rig.state();

    rig.topology("three", 1);
    let plan = rig.ends(0, &["plan", "-o", "change.plan"]);
    let told: Vec<&str> = plan.lines().filter(|line| line.contains("tenants/t2")).collect();
    assert_snapshot!(told.join("\n"));
    rig.ends(0, &["apply", "change.plan"]);
    rig.ends(0, &["diff"]);
    // The same plan once more is one of a former state.
    rig.ends(5, &["apply", "change.plan"]);
    let history = rig.json(&["history"]);
    let runs = history["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{history}");
    assert_eq!(runs[1]["end"], "applied");
    assert_eq!(runs[1]["by"].as_str().unwrap().split('@').next(), Some("dba"));

    let run = runs[1]["run"].as_str().unwrap();
    rig.ends(4, &["rollback", run]);
    // The former cluster of the shard lacks what was written since.
    let refused = rig.run(&["rollback", run, "--auto-approve"]);
    assert_eq!(refused.code(), Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("tenants.shards.t2") && refused.stderr.contains("stale_copy"),
        "{refused:?}"
    );
    rig.ends(
        0,
        &[
            "rollback",
            run,
            "--auto-approve",
            "--allow",
            "stale_copy=nothing was written",
        ],
    );
    assert!(rig.state() == before, "another state than before");
    let history = rig.ends(0, &["history"]);
    assert!(history.contains(&format!("takes back {run}: ")), "{history}");
    rig.ends(2, &["diff"]);
    rig.topology("two", 1);
    rig.ends(0, &["diff"]);
    let status = rig.json(&["status"]);
    assert_eq!(status["targets"][0]["generation"], 3);
    assert_eq!(status["targets"][0]["project"], "shop");
}

#[test]
fn what_is_not_as_it_was_applied_is_told() {
    let Some(rig) = Rig::start("drift on a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    let by_hand = |statements: &[&str]| rig.proxysql.run(statements.iter().copied()).unwrap();
    by_hand(&["UPDATE mysql_servers SET weight = 5 WHERE hostname = 'two.db'"]);
    let status = rig.ends(2, &["status", "--detailed-exitcode"]);
    assert!(status.contains("is another in memory than live"), "{status}");
    rig.topology("three", 2);
    let refused = rig.run(&["apply", "--auto-approve"]);
    assert_eq!(refused.code(), Some(5), "{refused:?}");
    by_hand(&["LOAD MYSQL SERVERS TO RUNTIME"]);
    let status = rig.ends(2, &["status", "--detailed-exitcode"]);
    assert!(status.contains("rows have changed since run"), "{status}");
    assert!(status.contains("is another in memory than on disk"), "{status}");
    let diff = rig.ends(2, &["diff"]);
    assert!(diff.contains("clusters.two.servers.s1"), "{diff}");
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.ends(0, &["status", "--detailed-exitcode"]);
}

#[test]
fn another_project_is_refused_until_it_takes_over() {
    let Some(rig) = Rig::start("two projects for a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.project("pay", rig.proxysql.admin_address());
    let refused = rig.run(&["plan"]);
    assert_eq!(refused.code(), Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("belongs to the project shop"),
        "{refused:?}"
    );
    rig.ends(0, &["apply", "--auto-approve", "--take-over"]);
    rig.ends(0, &["diff"]);
    rig.project("shop", rig.proxysql.admin_address());
    rig.ends(4, &["apply", "--auto-approve"]);
}

#[test]
fn more_than_a_few_objects_go_only_when_somebody_says_so() {
    let Some(rig) = Rig::start("a plan that removes much from a real ProxySQL") else {
        return;
    };
    let clusters = |count: usize| {
        let clusters =
            (0..count).map(|n| format!("  c{n}: {{type: single, servers: {{s: {{host: c{n}.db}}}}}}\n"));
        let text = format!("version: 1\nclusters:\n{}", clusters.collect::<String>());
        rig.environment.write("topology/shop.yaml", text).unwrap();
    };
    clusters(12);
    rig.ends(0, &["apply", "--auto-approve"]);
    clusters(1);
    let refused = rig.run(&["apply", "--auto-approve"]);
    assert_eq!(refused.code(), Some(4), "{refused:?}");
    assert!(refused.stderr.contains("safety.deletes.max"), "{refused:?}");
    let allowed = rig.ends(0, &["apply", "--auto-approve", "--allow", "deletes=they moved"]);
    assert!(!allowed.contains("safety.deletes.max"), "{allowed}");
    assert_eq!(
        rig.proxysql
            .run(["SELECT hostname FROM runtime_mysql_servers WHERE hostname LIKE 'c%'"])
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_command_that_is_killed_is_finished_or_taken_back() {
    let Some(rig) = Rig::start("an apply that is killed while it changes a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    let before = rig.state();
    rig.topology("three", 2);
    let network = Faulty::start(rig.proxysql.admin_address(), 0, None, false);
    rig.project("shop", network.address);
    rig.ends(0, &["apply", "--auto-approve"]);
    let after = rig.state();
    let sent = network.statements();
    let is_all = std::env::var_os("SHARDWRIGHT_FAULTS").is_some();
    let is_tried = |statement: &str| {
        let some = ["LOAD MYSQL QUERY", "SAVE MYSQL QUERY"];
        is_all || some.iter().any(|start| statement.starts_with(start))
    };
    let numbers = sent
        .iter()
        .enumerate()
        .filter(|(_, statement)| is_tried(statement));
    for (turn, (number, statement)) in numbers.enumerate() {
        for fault in [Fault::HangsBefore, Fault::HangsAfter] {
            rig.project("shop", rig.proxysql.admin_address());
            rig.topology("two", 1);
            rig.ends(0, &["apply", "--auto-approve"]);
            assert!(rig.state() == before, "another state than before");
            rig.topology("three", 2);
            let network = Faulty::start(rig.proxysql.admin_address(), number, Some(fault), false);
            rig.project("shop", network.address);
            let running = rig.environment.start(["apply", "--auto-approve"]).unwrap();
            eventually(PATIENCE, || network.has_failed());
            drop(running);
            network.mend();
            let history = rig.json(&["history"]);
            let last = history["runs"].as_array().unwrap().last().unwrap().clone();
            let what = format!("{fault:?} at {number} {statement}: {last}");
            if last["end"] != Value::Null {
                // It was killed before its run began, or after everything was over.
                assert!([&before, &after].contains(&&rig.state()), "{what}");
                continue;
            }
            let run = last["run"].as_str().unwrap();
            let blocked = rig.run(&["apply", "--auto-approve"]);
            assert_eq!(blocked.code(), Some(5), "{what}: {blocked:?}");
            let (command, expected): (&[&str], _) = match turn % 2 {
                0 => (&["apply", "--resume", run], &after),
                _ => (&["rollback", run], &before),
            };
            rig.ends(0, command);
            assert!(&rig.state() == expected, "{what}");
            rig.ends(0, &["status", "--detailed-exitcode"]);
        }
    }
}
