//! One project in three environments, each with its own objects, targets and lock, and plans that know theirs.

use shardwright_testkit::{CommandEnvironment, ProxyOptions, ProxyProcess};

use crate::support::{PROGRAM, examples};

const ENVIRONMENTS: [&str; 3] = ["dev", "staging", "prod"];

/// The example, with the address of a running proxy in the place of the targets' own.
fn project(admin: &str) -> CommandEnvironment {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let files = ["shardwright.yaml", "topology/shop.yaml"].map(ToOwned::to_owned);
    let overlays = ENVIRONMENTS.map(|name| format!("env/{name}.yaml"));
    for path in files.iter().chain(&overlays) {
        let text = std::fs::read_to_string(examples().join("environments").join(path)).unwrap();
        let text = [
            "stg1.internal:6032",
            "px-a1.eu.internal:6032",
            "px-b1.eu.internal:6032",
        ]
        .iter()
        .fold(text, |text, target| text.replace(target, admin))
        .replace("user: swadmin", "user: admin");
        environment.write(path, text).unwrap();
    }
    environment.set("PX_ADMIN", shardwright_testkit::ADMIN_PASSWORD);
    for name in ["SHOP_PASSWORD", "PAY_PASSWORD"] {
        environment.set(name, "a-password");
    }
    environment
        .write("secrets/stg1", shardwright_testkit::ADMIN_PASSWORD)
        .unwrap();
    environment
}

#[test]
fn every_environment_validates_lints_clean_and_compiles() {
    let project = project("127.0.0.1:1");
    for name in ENVIRONMENTS {
        for command in [
            ["validate"].as_slice(),
            &["lint"],
            &["compile", "--emit", "json"],
            &["compile", "--check", "--locked"],
        ] {
            let output = project.run(["-e", name].iter().chain(command)).unwrap();
            assert_eq!(output.code(), Some(0), "{name} {command:?}: {output:?}");
        }
    }
    let locks = ENVIRONMENTS.map(|name| project.read(format!("env/{name}.lock")).unwrap());
    assert!(
        locks[2].lines().count() > locks[1].lines().count(),
        "prod has more shards"
    );
    assert!(
        project.read("shardwright.lock").is_err(),
        "nothing was compiled without an environment"
    );
}

#[test]
fn every_environment_plans_for_its_own_targets() {
    let mut home = CommandEnvironment::new(PROGRAM).unwrap();
    // The proxy resolves the passwords of users itself.
    for name in ["SHOP_PASSWORD", "PAY_PASSWORD"] {
        home.set(name, "a-password");
    }
    let proxy = ProxyProcess::start(&home, ProxyOptions::new(home.outside("data"))).unwrap();
    let project = project(&proxy.admin().to_string());
    let port = format!("admin_port={}", proxy.admin().port());
    for (name, targets) in [
        ("dev", ["local"].as_slice()),
        ("staging", &["stg1"]),
        ("prod", &["px-a1", "px-b1"]),
    ] {
        let output = project
            .run([
                "-e",
                name,
                "plan",
                "--var",
                &port,
                "--format",
                "json",
                "-o",
                &format!("{name}.plan"),
            ])
            .unwrap();
        let plan: serde_json::Value = serde_json::from_str(&output.success().stdout).unwrap();
        assert_eq!(plan["environment"], name);
        let planned: Vec<&str> = plan["per_target"]
            .as_array()
            .unwrap()
            .iter()
            .map(|target| target["name"].as_str().unwrap())
            .collect();
        assert_eq!(planned, targets);
    }
    let refused = project
        .run(["-e", "staging", "apply", "prod.plan", "--var", &port])
        .unwrap();
    assert_eq!(refused.code(), Some(64), "{refused:?}");
    insta::assert_snapshot!(refused.stderr, @r"
    error: the plan is for the environment prod, not for the environment staging
      = help: omit -e: the saved plan contains its environment
    ");
    let applied = project
        .run(["apply", "staging.plan", "--auto-approve", "--var", &port])
        .unwrap();
    assert!(applied.success().stdout.contains("stg1"));
}

#[test]
fn what_holds_in_an_environment_is_shown() {
    let project = project("127.0.0.1:1");
    let shown = |arguments: &[&str]| project.run(arguments).unwrap().success().stdout;
    let users = shown(&["-e", "prod", "validate", "--show", "resolved", "users", "-q"]);
    insta::assert_snapshot!(users);
    let whole = shown(&["-e", "prod", "validate", "--show", "resolved", "--format", "json"]);
    let data: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(
        data["topology"]["clusters"]["shard-03"]["servers"]["s2"]["state"],
        "draining"
    );
    let origin = &data["origins"]["clusters.shard-03.servers.s2.state"];
    assert_eq!(
        (&origin["file"], &origin["instance"]),
        (&"env/prod.yaml".into(), &"n=3, k=2".into())
    );
    let project_file = shown(&["-e", "staging", "validate", "--show", "project", "targets"]);
    insta::assert_snapshot!(project_file);
    let missed = project
        .run(["validate", "--show", "resolved", "clusters.shard-17"])
        .unwrap();
    assert_eq!(missed.code(), Some(64), "{missed:?}");
}

#[test]
fn ten_thousand_shards_are_shown_as_they_come() {
    let project = CommandEnvironment::new(PROGRAM).unwrap();
    project
        .write(
            "shardwright.yaml",
            "version: 1\nengines: [bundled]\nids: {hostgroups: 1-30000}\n",
        )
        .unwrap();
    let topology = "clusters: {c-$(n): {for_each: {n: 1..10000}, type: single, servers: {s: {host: \"h$(n)\"}}}}\n\
        users: {app: {password: {env: A}, cluster: c-1}}\n\
        shard_maps: {m: {key: {name: k, type: integer}, key_from: [{comment: {}}], \
        shards: {t$(n): {for_each: {n: 1..10000}, keys: [$(n)], cluster: \"c-$(n)\"}}}}\n";
    project.write("topology/big.yaml", topology).unwrap();
    let shown = project
        .run(["validate", "--show", "resolved"])
        .unwrap()
        .success()
        .stdout;
    assert_eq!(shown.matches("type: single").count(), 10_000);
    let one = project
        .run(["validate", "--show", "resolved", "shard_maps.m.shards.t9999"])
        .unwrap();
    assert_eq!(one.success().stdout.lines().count(), 6);
}
