//! `drift` on a real ProxySQL: whose change a difference is, what is no drift, and how soon it is told.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use shardwright_testkit::{ProxySql, ProxySqlOptions, eventually, real_proxysql};

use crate::proxysql_targets::Rig;
use crate::rule_sets::git;

const PATIENCE: Duration = Duration::from_secs(60);
/// How soon a hand edit has to be told.
const TOLD_WITHIN: Duration = Duration::from_secs(10);

impl Rig {
    fn by_hand(&self, statements: &[&str]) {
        self.proxysql.run(statements.iter().copied()).unwrap();
    }

    /// What `drift` tells programs, which is of the published shape.
    fn drift(&self, code: i32) -> Value {
        let told = serde_json::from_str(&self.ends(code, &["drift", "--format", "json"])).unwrap();
        let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/drift.v1.json");
        let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        let wrong: Vec<String> = validator
            .iter_errors(&told)
            .map(|error| error.to_string())
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{told:#}");
        told
    }
}

/// `live_ahead clusters.two.servers.s1 hand`, for each difference of a target.
fn told(target: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut told: Vec<String> = target["differences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                text(&one["side"]),
                text(&one["address"]),
                text(&one["cause"]["kind"])
            )
        })
        .collect();
    told.sort_unstable();
    told
}

const HEAVIER: &[&str] = &[
    "UPDATE mysql_servers SET weight = 5 WHERE hostname = 'two.db'",
    "LOAD MYSQL SERVERS TO RUNTIME",
];

#[test]
fn a_hand_edit_is_told_from_a_change_of_the_files() {
    let Some(rig) = Rig::start("drift on a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    let none = rig.ends(0, &["drift"]);
    assert!(none.contains("no drift") && none.contains(" by dba@"), "{none}");
    rig.topology("three", 1);
    let only_files = rig.drift(2);
    assert_eq!(
        told(&only_files["targets"][0]),
        ["repo_ahead shard_maps.tenants.shards.t2 -"]
    );
    rig.by_hand(HEAVIER);
    let drift = rig.drift(2);
    let target = &drift["targets"][0];
    assert_eq!(
        told(target),
        [
            "live_ahead clusters.two.servers.s1 hand",
            "repo_ahead shard_maps.tenants.shards.t2 -"
        ]
    );
    let edit = target["differences"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["side"] == "live_ahead")
        .unwrap();
    // From what the files say to what is live, and when that was loaded.
    assert_eq!(edit["difference"], "weight 1 → 5", "{edit}");
    assert_eq!(edit["at"], "topology/shop.yaml:4", "{edit}");
    assert_eq!(edit["staged"], false);
    assert!(
        edit["cause"]["loaded_at"].as_str().unwrap().starts_with("20"),
        "{edit}"
    );
    // The same server is changed in the files, to something else.
    rig.topology("two", 3);
    let both = told(&rig.drift(2)["targets"][0]);
    assert_eq!(
        both,
        ["both clusters.two.servers.s1 hand", "repo_ahead users.app -"]
    );
    let text = rig.ends(2, &["drift"]);
    assert!(text.contains("~ clusters.two.servers.s1  weight 5 → 3"), "{text}");
    let markdown = rig.ends(2, &["drift", "--format", "markdown"]);
    assert!(markdown.contains("| ~ | clusters.two.servers.s1 |"), "{markdown}");
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.ends(0, &["drift"]);
}

#[test]
fn what_is_only_in_memory_is_told_as_that() {
    let Some(rig) = Rig::start("staged rows as drift of a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.by_hand(&[HEAVIER[0]]);
    let drift = rig.drift(2);
    let target = &drift["targets"][0];
    assert_eq!(told(target), ["live_ahead clusters.two.servers.s1 hand"]);
    assert_eq!(target["differences"][0]["staged"], true, "{target}");
    assert_eq!(target["staged"], serde_json::json!([]), "{target}");
    rig.by_hand(&["UPDATE mysql_servers SET weight = 1 WHERE hostname = 'two.db'"]);
    // What runs has changed, and memory has not.
    rig.by_hand(&[
        HEAVIER[0],
        HEAVIER[1],
        "UPDATE mysql_servers SET weight = 1 WHERE hostname = 'two.db'",
    ]);
    let drift = rig.drift(2);
    assert_eq!(told(&drift["targets"][0]), [""; 0]);
    let staged = drift["targets"][0]["staged"][0].as_str().unwrap();
    assert!(
        staged.contains("two.db, 3306) is another in memory than live"),
        "{drift}"
    );
}

#[test]
fn without_the_record_of_the_run_the_commit_tells_the_sides() {
    let Some(rig) = Rig::start("drift on a real ProxySQL from another machine") else {
        return;
    };
    rig.environment.write(".gitignore", ".shardwright/\n").unwrap();
    rig.ends(0, &["compile", "--engine", "proxysql-2.7"]);
    git(&rig.environment, &["init", "-q", "-b", "main"]);
    git(&rig.environment, &["add", "."]);
    git(&rig.environment, &["commit", "-q", "-m", "first"]);
    rig.ends(0, &["apply", "--auto-approve"]);
    let commit = rig.drift(0)["targets"][0]["applied"]["commit"].clone();
    assert_eq!(commit.as_str().map(str::len), Some(40), "{commit}");
    fs::remove_dir_all(rig.environment.project().join(".shardwright")).unwrap();
    rig.by_hand(HEAVIER);
    rig.topology("three", 1);
    let told_then = told(&rig.drift(2)["targets"][0]);
    let expected = [
        "live_ahead clusters.two.servers.s1 hand",
        "repo_ahead shard_maps.tenants.shards.t2 -",
    ];
    assert_eq!(told_then, expected);
    // Without the commit, nobody knows.
    fs::remove_dir_all(rig.environment.project().join(".git")).unwrap();
    let told_now = told(&rig.drift(2)["targets"][0]);
    assert_eq!(
        told_now,
        [
            "unknown clusters.two.servers.s1 hand",
            "unknown shard_maps.tenants.shards.t2 hand"
        ]
    );
}

#[test]
fn what_a_scheduler_places_is_neither_drift_nor_a_change_of_a_plan() {
    let Some(rig) = Rig::start("placements by a scheduler on a real ProxySQL") else {
        return;
    };
    let topology = "version: 1
clusters:
  pay:
    type: replication
    roles_by: external
    servers: {a: {host: a.db}, b: {host: b.db}}
users:
  app: {password: {env: APP_PASSWORD}, cluster: pay, schema: app}
";
    rig.environment.write("topology/shop.yaml", topology).unwrap();
    rig.ends(0, &["apply", "--auto-approve"]);
    let rows = || {
        let rows = rig
            .proxysql
            .run(["SELECT hostgroup_id, hostname FROM runtime_mysql_servers ORDER BY 1, 2"])
            .unwrap();
        let cell = |cell: &Option<String>| cell.clone().unwrap_or_default();
        let rows: Vec<String> = rows
            .iter()
            .map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" "))
            .collect();
        rows
    };
    let before = rows();
    let writer = before[0].split(' ').next().unwrap().to_owned();
    // A failover: the other server writes, and the former writer is only a reader, and drained.
    rig.by_hand(&[
        &format!("UPDATE mysql_servers SET hostname = 'b.db' WHERE hostgroup_id = {writer}"),
        "UPDATE mysql_servers SET status = 'OFFLINE_SOFT' WHERE hostname = 'a.db'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ]);
    assert_ne!(rows(), before);
    let drift = rig.drift(0);
    let left_out = drift["targets"][0]["left_out"].as_array().unwrap();
    assert!(left_out.iter().all(|one| one["by"] == "external"), "{drift}");
    assert!(left_out.len() >= 2, "{drift}");
    rig.ends(0, &["plan", "--detailed-exitcode"]);
    // Another weight is drift all the same.
    rig.by_hand(&[
        "UPDATE mysql_servers SET weight = 7 WHERE hostname = 'b.db'",
        "LOAD MYSQL SERVERS TO RUNTIME",
    ]);
    let told_now = told(&rig.drift(2)["targets"][0]);
    assert_eq!(told_now, ["live_ahead clusters.pay.servers.b hand"]);
}

#[test]
fn another_project_and_a_run_that_was_cut_off_are_named_as_the_cause() {
    let Some(rig) = Rig::start("causes of drift on a real ProxySQL") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    rig.project("pay", rig.proxysql.admin_address());
    rig.topology("three", 2);
    rig.ends(0, &["apply", "--auto-approve", "--take-over"]);
    rig.project("shop", rig.proxysql.admin_address());
    rig.topology("two", 1);
    let drift = rig.drift(2);
    let target = &drift["targets"][0];
    assert!(
        told(target).contains(&"live_ahead clusters.two.servers.s1 project".to_owned()),
        "{target}"
    );
    let text = rig.ends(2, &["drift"]);
    assert!(text.contains("the project pay was applied by dba@"), "{text}");
    rig.by_hand(&[
        "INSERT INTO mysql_query_rules (rule_id, active, attributes) VALUES (-1, 0, \
         '{\"shardwright_lease\": {\"version\": 1, \"run\": \"r9\", \"by\": \"me@there\", \"since\": \"2026-01-01T00:00:00Z\"}}')",
    ]);
    let text = rig.ends(2, &["drift"]);
    assert!(text.contains("run r9 of me@there"), "{text}");
}

/// Three nodes of a ProxySQL Cluster.
fn cluster() -> Option<Vec<ProxySql>> {
    let binary = real_proxysql("drift on three nodes of a ProxySQL Cluster")?;
    let nodes: Vec<ProxySql> = (0..3)
        .map(|_| ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap())
        .collect();
    let mut statements: Vec<String> = [
        "SET admin-admin_credentials='admin:admin;peer:peer'",
        "SET admin-cluster_username='peer'",
        "SET admin-cluster_password='peer'",
        "SET admin-cluster_check_interval_ms=200",
        "LOAD ADMIN VARIABLES TO RUNTIME",
    ]
    .map(str::to_owned)
    .to_vec();
    for node in &nodes {
        let address = node.admin_address();
        statements.push(format!(
            "INSERT INTO proxysql_servers (hostname, port) VALUES ('{}', {})",
            address.ip(),
            address.port()
        ));
    }
    statements.push("LOAD PROXYSQL SERVERS TO RUNTIME".to_owned());
    for node in &nodes {
        node.run(&statements).unwrap();
    }
    Some(nodes)
}

/// Waits until servers that are loaded now are newer than those that any node runs. Nodes tell that by the second, and never
/// follow a peer whose servers are others and as old as theirs.
fn wait_for_newer(nodes: &[ProxySql]) {
    let is_older = |node: &ProxySql| {
        let query = "SELECT COUNT(*) FROM runtime_checksums_values WHERE name LIKE 'mysql_servers%' AND epoch >= \
                     CAST(strftime('%s', 'now') AS INTEGER)";
        let newer: Option<u32> = node.admin().unwrap().query_first(query).unwrap();
        newer == Some(0)
    };
    eventually(PATIENCE, || nodes.iter().all(is_older));
}

#[test]
fn a_hand_edit_on_one_node_of_a_cluster_is_named_within_ten_seconds() {
    let Some(rig) = Rig::start("a watch over a ProxySQL Cluster") else {
        return;
    };
    let Some(nodes) = cluster() else { return };
    let targets: Vec<String> = nodes
        .iter()
        .enumerate()
        .map(|(n, node)| {
            format!(
                "  n{n}: {{engine: proxysql-2.7, admin: \"{}\", user: admin, password: {{env: PX_ADMIN}}}}\n",
                node.admin_address()
            )
        })
        .collect();
    let project = format!(
        "version: 1\nproject: shop\nengines: [proxysql-2.7]\ntargets:\n{}",
        targets.concat()
    );
    rig.environment.write("shardwright.yaml", project).unwrap();
    // An apply waits twice as long as the slowest module of its node asks for, and this module does not change here.
    nodes[0]
        .run([
            "SET admin-cluster_admin_variables_diffs_before_sync=300",
            "LOAD ADMIN VARIABLES TO RUNTIME",
        ])
        .unwrap();
    // Peers get what runs, and this does not.
    nodes[0]
        .run(["INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (77, 0, '^X')"])
        .unwrap();
    rig.ends(0, &["apply", "--auto-approve", "--target", "n0"]);
    eventually(PATIENCE, || rig.run(&["drift"]).code() == Some(0));
    let status = rig.json(&["status"]);
    let as_applied = status["targets"].as_array().unwrap().iter();
    let as_applied: Vec<&Value> = as_applied.map(|target| &target["is_as_applied"]).collect();
    assert_eq!(as_applied, [true; 3], "{status:#}");

    let seen = rig.environment.outside("seen.json");
    let watch = rig
        .environment
        .start([
            "drift",
            "--watch",
            "--interval",
            "1",
            "--seen",
            seen.to_str().unwrap(),
        ])
        .unwrap();
    let is_seen = |text: &str| fs::read_to_string(&seen).is_ok_and(|seen| seen.contains(text));
    eventually(PATIENCE, || is_seen("\"n2\""));
    wait_for_newer(&nodes);
    let began = Instant::now();
    nodes[1].run(HEAVIER).unwrap();
    eventually(PATIENCE, || is_seen("weight 1 → 5"));
    let took = began.elapsed();
    assert!(took < TOLD_WITHIN, "{took:?}");
    // The peers follow, and know where it came from.
    eventually(PATIENCE, || {
        fs::read_to_string(&seen).is_ok_and(|seen| seen.matches("\"text\"").count() == 3)
    });
    wait_for_newer(&nodes);
    nodes[0]
        .run([
            "UPDATE mysql_servers SET weight = 1 WHERE hostname = 'two.db'",
            "LOAD MYSQL SERVERS TO RUNTIME",
        ])
        .unwrap();
    eventually(PATIENCE, || !is_seen("weight 1 → 5"));
    let process = i32::try_from(watch.process().id()).unwrap();
    kill(Pid::from_raw(process), Signal::SIGTERM).unwrap();
    let output = watch.finish().unwrap();
    assert_eq!(output.code(), Some(0), "{output:?}");
    for node in ["n0", "n1", "n2"] {
        let of_node = |what: &str| {
            let start = format!(" {node} {what} live-ahead ~ clusters.two.servers.s1  weight 1 → 5");
            output.stdout.lines().filter(|line| line.contains(&start)).count()
        };
        assert_eq!(
            (of_node("appeared"), of_node("gone")),
            (1, 1),
            "{node}:\n{}",
            output.stdout
        );
    }
    let edited = output
        .stdout
        .lines()
        .find(|line| line.contains(" n1 appeared live-ahead ~"));
    assert!(
        edited.is_some_and(|line| line.contains("by hand")),
        "{}",
        output.stdout
    );
}

#[test]
fn a_run_with_a_file_prints_only_what_is_new() {
    let Some(rig) = Rig::start("drift of a real ProxySQL for cron") else {
        return;
    };
    rig.ends(0, &["apply", "--auto-approve"]);
    let cron = ["drift", "--seen", "seen.json"];
    assert_eq!(rig.ends(0, &cron), "");
    rig.by_hand(HEAVIER);
    let printed = rig.ends(2, &cron);
    assert!(
        printed.contains(" px1 appeared live-ahead ~ clusters.two.servers.s1"),
        "{printed}"
    );
    assert_eq!(printed.lines().count(), 1, "{printed}");
    assert_eq!(rig.ends(2, &cron), "");
    rig.ends(0, &["apply", "--auto-approve"]);
    let printed = rig.ends(0, &[&cron[..], &["--format", "json"]].concat());
    let event: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (&event["event"], &event["target"]),
        (&"gone".into(), &"px1".into())
    );
}
