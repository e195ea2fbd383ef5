//! `bench failover`: what it counts is what happened, on real servers.

use serde_json::Value;
use shardwright_testkit::{CommandEnvironment, CommandOutput, MariaDb, Replication, eventually};

use crate::support::{PASSWORD, PROGRAM};
use crate::switchover::{PATIENCE, Stage, mariadb};

/// A command that says that it has begun, and ends when it is told to.
const UNTIL_TOLD: &str = "touch begun; until [ -e done ]; do sleep 0.02; done";

fn server(environment: &mut CommandEnvironment) -> MariaDb {
    let server = MariaDb::start(mariadb()).unwrap();
    server.run("CREATE DATABASE t").unwrap();
    server
        .create_user("app", PASSWORD, Some("ALL PRIVILEGES ON t.*"))
        .unwrap();
    environment.set("SHARDWRIGHT_BENCH_PASSWORD", PASSWORD);
    server
}

fn json(output: &CommandOutput) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[test]
fn a_crash_behind_the_proxy_is_measured_and_nothing_is_doubled() {
    let mut servers = Replication::start(2, &mariadb()).unwrap();
    let mut stage = Stage::start("replication", &servers.servers);
    stage.settled("db1");
    stage.environment.set("SHARDWRIGHT_BENCH_PASSWORD", PASSWORD);
    let target = format!("mysql://app@{}/t", stage.proxies[0].listen());
    let check = format!("mysql://{}", servers.servers[1].address());
    let bench = stage
        .environment
        .start([
            "bench",
            "failover",
            "--target",
            &target,
            "--check",
            &check,
            "--seconds",
            "1",
            "--after",
            "1",
            "--on-ready",
            UNTIL_TOLD,
            "--format",
            "json",
        ])
        .unwrap();
    let project = stage.environment.project();
    eventually(PATIENCE, || project.join("begun").exists());
    servers.servers[0].kill().unwrap();
    servers.promote(1);
    // A commit that is acknowledged now is on the survivor.
    let rows = || {
        let sql = "SELECT COUNT(*) FROM t.shardwright_failover";
        servers.servers[1].run(sql).unwrap()[0][0]
            .clone()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    let before = rows();
    eventually(PATIENCE, || rows() > before + 10);
    std::fs::write(project.join("done"), "").unwrap();
    let output = bench.finish().unwrap();
    let report = json(&output);
    let survivor = &report["servers"][0];
    for wrong in ["doubled", "torn", "refused_and_there"] {
        assert_eq!(survivor[wrong]["count"], 0, "{report}");
    }
    // What was acknowledged and had not been received is lost: nothing else is.
    let lost = survivor["lost"]["count"].as_u64().unwrap();
    assert_eq!(output.code(), Some(if lost == 0 { 0 } else { 3 }), "{output:?}");
    let [commits, unknown] = ["commits", "unknown"].map(|key| report[key].as_u64().unwrap());
    let unknown_and_there = survivor["unknown_and_there"]["count"].as_u64().unwrap();
    assert_eq!(
        survivor["rows"].as_u64().unwrap(),
        commits - lost + unknown_and_there
    );
    assert!(unknown <= 4, "{report}");
    assert_eq!(report["on_ready"]["code"], 0);
    assert_eq!(report["gap"]["is_open"], false);
}

#[test]
fn what_is_lost_or_doubled_is_found_and_told() {
    let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
    let server = server(&mut environment);
    let target = format!("mysql://app@{}/t", server.address());
    let run = |more: &[&str]| {
        let usual = [
            "bench",
            "failover",
            "--target",
            &target,
            "--seconds",
            "1",
            "--rate",
            "0",
        ];
        let bench = environment.start([&usual, more].concat()).unwrap();
        let began = environment.project().join("begun");
        if more.contains(&UNTIL_TOLD) {
            eventually(PATIENCE, || began.exists());
            server
                .run(
                    "SELECT MIN(number), MIN(run) INTO @number, @run FROM t.shardwright_failover; \
                     DELETE FROM t.shardwright_failover WHERE run = @run AND number = @number; \
                     INSERT INTO t.shardwright_failover (run, number) SELECT run, number FROM t.shardwright_failover \
                     WHERE run = @run ORDER BY number LIMIT 1",
                )
                .unwrap();
            std::fs::write(environment.project().join("done"), "").unwrap();
        }
        bench.finish().unwrap()
    };
    let output = run(&["--on-ready", UNTIL_TOLD, "--after", "0"]);
    assert_eq!(output.code(), Some(3), "{output:?}");
    assert!(
        output
            .stdout
            .contains("commits lost 1, doubled 1, torn 0, refused and there 0, unknown and there 0"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("the rows stay in `t`.`shardwright_failover`, run "),
        "{output:?}"
    );
    let output = run(&["--transactions", "2", "--drop", "--max-gap-ms", "60000"]);
    assert_eq!(output.code(), Some(0), "{output:?}");
    assert!(output.stdout.contains("commits lost 0, doubled 0"), "{output:?}");
    assert!(
        server.run("SELECT 1 FROM t.shardwright_failover").is_err(),
        "it is dropped"
    );
    let output = run(&["--max-gap-ms", "0"]);
    assert_eq!(output.code(), Some(3), "{output:?}");
    // What cannot be asked is not taken for clean.
    let output = run(&["--check", "mysql://127.0.0.1:1"]);
    assert_eq!(output.code(), Some(1), "{output:?}");
    assert!(output.stdout.contains("  was not asked: "), "{output:?}");
    let output = run(&["--on-ready", "exit 3", "--after", "0"]);
    assert_eq!(output.code(), Some(1), "{output:?}");
    assert!(
        output.stderr.contains("--on-ready ended with exit status: 3"),
        "{output:?}"
    );
}

#[test]
fn a_command_line_without_a_place_for_rows_or_with_a_password_is_refused() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    for (target, code, says) in [
        ("mysql://app:secret@127.0.0.1:1/t", 64, "--password-file"),
        ("127.0.0.1:1/t", 64, "write mysql://USER@HOST:PORT/SCHEMA"),
        ("mysql://app@127.0.0.1:1", 64, "names no schema"),
        ("mysql://app@127.0.0.1:1/t", 1, "Connection refused"),
    ] {
        let output = environment
            .run(["bench", "failover", "--target", target])
            .unwrap();
        assert_eq!(output.code(), Some(code), "{output:?}");
        assert!(output.stderr.contains(says), "{output:?}");
    }
}
