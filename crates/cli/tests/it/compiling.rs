//! `compile` with its flags: what traffic, reshaping and each form of output make of a map, and locks that git merges.

use std::fmt::Write as _;
use std::os::unix::fs::FileTypeExt;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use shardwright_rules::{Configuration, Evaluator, SessionView, Statement};
use shardwright_testkit::CommandEnvironment;

use crate::support::{PROGRAM, project};

/// Shards of one key each, on clusters that take turns.
fn topology(keys: &[u32]) -> String {
    let mut text = "version: 1\nclusters:\n  c-$(n): {for_each: {n: 0..2}, type: single, servers: {db: {host: \"c$(n).db\"}}}\n\
        users:\n  app: {password: {env: P}, cluster: c-0, schema: app}\n\
        shard_maps:\n  tenants:\n    applies_to: {users: [app]}\n    key: {name: tenant, type: integer}\n    \
        key_from: [comment: {}]\n    rule_layout: tree\n    shards:\n"
        .to_owned();
    for key in keys {
        writeln!(text, "      t{key}: {{keys: [{key}], cluster: c-{}}}", key % 3).unwrap();
    }
    text
}

fn with_keys(keys: impl IntoIterator<Item = u32>) -> CommandEnvironment {
    let keys: Vec<u32> = keys.into_iter().collect();
    project("bundled, proxysql-2.7", &[("topology/t.yaml", &topology(&keys))])
}

fn succeeds(environment: &CommandEnvironment, arguments: &[&str]) -> String {
    environment.run(arguments).unwrap().success().stdout
}

/// The figures of the map, and the means over `weights` that the evaluator counts for the same configuration.
fn figures(environment: &CommandEnvironment, traffic: &[&str], weights: &[(u32, u64)]) -> (Value, f64, f64) {
    let compile = ["compile", "--engine", "proxysql-2.7"];
    let stats = succeeds(
        environment,
        &[&compile[..], traffic, &["--stats", "--format", "json"]].concat(),
    );
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let json = succeeds(
        environment,
        &[&compile[..], traffic, &["--emit", "json"]].concat(),
    );
    let configuration: Configuration = serde_json::from_str(&json).unwrap();
    let evaluator = Evaluator::new(Arc::new(configuration));
    let session = SessionView {
        user: "app",
        ..SessionView::default()
    };
    let (mut evaluations, mut visits, mut total) = (0, 0, 0);
    for (key, weight) in weights {
        let sql = format!("/* tenant={key} */ SELECT 1 FROM t");
        let decision = evaluator.decide(&session, &Statement::new(sql.as_bytes(), Default::default()));
        evaluations += u64::from(decision.evaluations) * weight;
        visits += u64::from(decision.visits) * weight;
        total += weight;
    }
    let mean = |sum: u64| sum as f64 / total as f64;
    (
        stats["shard_maps"]["tenants"].clone(),
        mean(evaluations),
        mean(visits),
    )
}

fn assert_counted((stats, evaluations, visits): &(Value, f64, f64)) {
    for (field, counted) in [("mean_evaluations", evaluations), ("mean_visits", visits)] {
        let told = stats[field].as_f64().unwrap();
        assert!(
            (told - counted).abs() < 1e-9,
            "{field}: {told}, counted {counted}"
        );
    }
}

const HOT: [u32; 3] = [17, 58, 59];

fn weight(key: u32) -> u64 {
    if HOT.contains(&key) { 1_000 } else { 1 }
}

#[test]
fn traffic_of_each_kind_shapes_a_new_tree_and_figures_are_under_it() {
    let weights: Vec<(u32, u64)> = (1..=60).map(|key| (key, weight(key))).collect();
    let every = |line: &dyn Fn(u32) -> String| (1..=60).map(line).collect::<String>();
    let files = [
        (
            "keys.csv",
            "key,count\n".to_owned() + &every(&|key| format!("{key},{}\n", weight(key))),
        ),
        (
            "digests.tsv",
            "hostgroup\tschemaname\tusername\tdigest_text\tcount_star\n".to_owned()
                + &every(&|key| {
                    format!(
                        "7\tapp\tapp\t/* tenant={key} */ SELECT ? FROM t\t{}\n",
                        weight(key)
                    )
                }),
        ),
    ];
    let plain = with_keys(1..=60);
    let uniform = figures(&plain, &[], &weights);
    for (name, content) in files {
        let environment = with_keys(1..=60);
        environment.write(name, content).unwrap();
        let shaped = figures(&environment, &["--traffic", name], &weights);
        assert_counted(&shaped);
        assert!(
            shaped.1 < 0.8 * uniform.1,
            "{name}: {} and {} without",
            shaped.1,
            uniform.1
        );
        assert!(
            shaped.0["uniform"]["mean_evaluations"].as_f64().unwrap() > shaped.1,
            "{name}"
        );
    }
    let alike: Vec<(u32, u64)> = (1..=60).map(|key| (key, 1)).collect();
    assert_counted(&figures(&plain, &[], &alike));
}

#[test]
fn hit_counters_of_a_live_proxy_count_under_the_lock_and_reshape_by_it() {
    let environment = with_keys(1..=60);
    let compile = ["compile", "--engine", "proxysql-2.7"];
    let json = succeeds(&environment, &[&compile[..], &["--emit", "json"]].concat());
    let configuration: Configuration = serde_json::from_str(&json).unwrap();
    let mut counters = "rule_id,hits\n".to_owned();
    let mut weights = Vec::new();
    for rule in &configuration.graph.rules {
        let shard = rule.address.as_str().strip_prefix("shard_maps.tenants.shards.t");
        if let Some(key) = shard.and_then(|key| key.parse().ok()) {
            writeln!(counters, "{},{}", rule.id, weight(key)).unwrap();
            weights.push((key, weight(key)));
        }
    }
    assert_eq!(weights.len(), 60);
    environment.write("hits.csv", counters).unwrap();
    let before = environment.read("shardwright.lock").unwrap();
    let kept = figures(&environment, &["--traffic", "hits.csv"], &weights);
    assert_counted(&kept);
    assert_eq!(
        environment.read("shardwright.lock").unwrap(),
        before,
        "a tree that lives stays"
    );
    let reshaped = succeeds(
        &environment,
        &[
            &compile[..],
            &[
                "--traffic",
                "hits.csv",
                "--reshape",
                "--stats",
                "--format",
                "json",
            ],
        ]
        .concat(),
    );
    assert_ne!(environment.read("shardwright.lock").unwrap(), before);
    let reshaped: Value = serde_json::from_str(&reshaped).unwrap();
    let evaluations = reshaped["shard_maps"]["tenants"]["mean_evaluations"]
        .as_f64()
        .unwrap();
    assert!(evaluations < 0.8 * kept.1, "{evaluations} and {} before", kept.1);
}

#[test]
fn lines_of_traffic_that_cannot_be_read_are_told_with_their_numbers() {
    let environment = with_keys(1..=3);
    environment
        .write("keys.csv", "key,count\n1,5\n2,many\n3\n")
        .unwrap();
    let output = environment.run(["compile", "--traffic", "keys.csv"]).unwrap();
    assert_eq!(output.code(), Some(65), "{}", output.stderr);
    assert!(
        output.stderr.contains("keys.csv:3: ") && output.stderr.contains("keys.csv:4: "),
        "{}",
        output.stderr
    );
    let output = environment.run(["compile", "--traffic", "none.csv"]).unwrap();
    assert_eq!(output.code(), Some(1), "{}", output.stderr);
    assert!(output.stderr.contains("none.csv"), "{}", output.stderr);
    assert!(
        environment.read("shardwright.lock").is_err(),
        "nothing is written"
    );
}

#[test]
fn reshape_lays_out_again_what_a_lock_keeps() {
    let environment = with_keys(1..=40);
    succeeds(&environment, &["compile", "--engine", "proxysql-2.7"]);
    let keys: Vec<u32> = (1..=40).chain(1_000..1_300).collect();
    environment.write("topology/t.yaml", topology(&keys)).unwrap();
    let cost = |environment: &CommandEnvironment, flags: &[&str]| {
        let stats = [
            "compile",
            "--engine",
            "proxysql-2.7",
            "--stats",
            "--format",
            "json",
        ];
        let stats = succeeds(environment, &[&stats[..], flags].concat());
        let stats: Value = serde_json::from_str(&stats).unwrap();
        stats["shard_maps"]["tenants"]["mean_cost_ns"].as_f64().unwrap()
    };
    let kept = cost(&environment, &[]);
    let reshaped = cost(&environment, &["--reshape"]);
    let best = cost(&with_keys(keys), &[]);
    assert!(reshaped <= kept, "{reshaped} and {kept}");
    assert_eq!(json!(reshaped), json!(best));
    let output = environment.run(["compile", "--reshape", "--check"]).unwrap();
    assert_eq!(output.code(), Some(64), "{}", output.stderr);
}

#[test]
fn every_form_of_output() {
    let environment = with_keys([1, 2]);
    let emit = |form: &str| {
        succeeds(
            &environment,
            &["compile", "--engine", "proxysql-2.7", "--emit", form],
        )
    };
    let (sql, cnf, tree) = (emit("sql"), emit("cnf"), emit("tree"));
    assert!(
        sql.contains("INSERT INTO mysql_query_rules") || sql.contains("REPLACE INTO mysql_query_rules"),
        "{sql}"
    );
    assert!(
        cnf.contains("mysql_query_rules") && cnf.contains("match_pattern"),
        "{cnf}"
    );
    assert!(tree.contains("tenants/t2"), "{tree}");
    let json: Configuration = serde_json::from_str(&emit("json")).unwrap();
    for rule in &json.graph.rules {
        assert!(
            sql.contains(&rule.id.to_string()) && cnf.contains(&rule.id.to_string()),
            "{}",
            rule.id
        );
    }
    succeeds(
        &environment,
        &[
            "compile",
            "--engine",
            "proxysql-2.7",
            "--emit",
            "cnf",
            "-o",
            "p.cnf",
        ],
    );
    assert_eq!(environment.read("p.cnf").unwrap(), cnf);
}

#[test]
fn a_pipe_is_written_to_and_stays_one() {
    let environment = with_keys([1, 2]);
    let pipe = environment.project().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let arguments = ["compile", "--engine", "proxysql-2.7", "--emit", "tree"];
    let printed = succeeds(&environment, &arguments);
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| std::fs::read_to_string(&pipe).unwrap());
        succeeds(&environment, &[&arguments[..], &["-o", "pipe"]].concat());
        assert!(
            std::fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(),
            "it is replaced by a file, and nobody writes to the reader"
        );
        reader.join().unwrap()
    });
    assert_eq!(read, printed);
}

#[test]
fn what_a_form_cannot_hold_is_refused_with_the_reason() {
    let environment = project(
        "bundled",
        &[("topology/t.yaml", &topology(&[1, 2]).replace("tree", "dispatch"))],
    );
    for form in ["sql", "cnf"] {
        let output = environment.run(["compile", "--emit", form]).unwrap();
        assert_eq!(output.code(), Some(65), "{form}: {}", output.stderr);
        assert!(
            output.stderr.contains("--engine proxysql-2.7"),
            "{form}: {}",
            output.stderr
        );
        assert_eq!(output.stdout, "", "{form}");
    }
    let output = environment.run(["compile", "-o", "out.sql"]).unwrap();
    assert_eq!(output.code(), Some(64), "{}", output.stderr);
}

/// A repository with the project on its first branch.
struct Repository {
    environment: CommandEnvironment,
}

impl Repository {
    fn git(&self, arguments: &[&str]) -> bool {
        let mut command = Command::new("git");
        let identity = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
        let output = command
            .args(identity)
            .args(arguments)
            .current_dir(self.environment.project())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        output.status.success()
    }

    /// On a branch from `main`: writes `name` with shards of these keys, compiles for both engines, commits.
    fn branch(&self, name: &str, keys: &[u32]) {
        assert!(self.git(&["checkout", "-q", "-B", name, "main"]));
        let mut text = "version: 1\nshard_maps:\n  tenants:\n    shards:\n".to_owned();
        for key in keys {
            writeln!(text, "      t{key}: {{keys: [{key}], cluster: c-{}}}", key % 3).unwrap();
        }
        self.environment
            .write(format!("topology/{name}.yaml"), text)
            .unwrap();
        self.compile();
        assert!(self.git(&["add", "-A"]) && self.git(&["commit", "-q", "-m", name]));
    }

    fn compile(&self) {
        for engine in ["bundled", "proxysql-2.7"] {
            succeeds(&self.environment, &["compile", "--engine", engine]);
        }
    }
}

#[test]
fn branches_that_add_shards_at_one_place_merge_in_a_project_that_init_wrote() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    succeeds(&environment, &["init"]);
    std::fs::remove_dir_all(environment.project().join("tests")).unwrap();
    std::fs::remove_dir_all(environment.project().join("topology")).unwrap();
    let keys: Vec<u32> = (1..=60).map(|key| key * 10).collect();
    environment.write("topology/t.yaml", topology(&keys)).unwrap();
    environment
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [bundled, proxysql-2.7]\n",
        )
        .unwrap();
    let repository = Repository { environment };
    repository.compile();
    assert!(repository.git(&["init", "-q", "-b", "main"]));
    assert!(repository.git(&["add", "-A"]) && repository.git(&["commit", "-q", "-m", "first"]));
    repository.branch("ours", &[601, 603]);
    repository.branch("theirs", &[602, 605]);
    assert!(
        repository.git(&["merge", "-q", "--no-edit", "ours"]),
        "git merges"
    );
    repository.compile();
    for (key, cluster) in [
        (601, "c-1"),
        (602, "c-2"),
        (603, "c-0"),
        (605, "c-2"),
        (10, "c-1"),
    ] {
        for engine in ["bundled", "proxysql-2.7"] {
            let sql = format!("/* tenant={key} */ SELECT 1 FROM t");
            let told = succeeds(&repository.environment, &["route", "--engine", engine, &sql]);
            assert!(told.contains(&format!("{cluster} writer")), "{engine}: {told}");
        }
    }
}
