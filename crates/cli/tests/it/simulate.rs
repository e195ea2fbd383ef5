//! `simulate`: a recorded series of a signal, drawn with what a throttle makes of it.

use serde_json::Value;
use shardwright_testkit::CommandEnvironment;

use crate::support::PROGRAM;

const TOPOLOGY: &str = "
version: 1
clusters:
  shop: {type: replication, servers: {a: {host: a.db}, b: {host: b.db}}}
users:
  app: {password: {env: PASSWORD}, cluster: shop}
monitor: {user: monitor, password: {env: PASSWORD}}
throttles:
  behind-lag:
    applies_to: {statements: [delete]}
    signal: {replication_lag: {start_above: 3s, stop_below: 1s}}
    delay: {from: 1ms, to: 500ms}
    hold: 5s
  busy:
    signal: {threads_running: {start_above: 64, stop_below: 32}}
    delay: 5ms
  few: {delay: 0ms, max_concurrent: 4}
";

/// A purge of two minutes: lag climbs to 9 s and falls, is not known for a while, and climbs once more.
fn lag() -> String {
    let mut rows = String::from("time,Seconds_Behind_Master\n");
    for second in 0..240_u32 {
        let lag = match second {
            0..60 => second / 20,
            60..100 => 3 + (second - 60) / 6,
            100..140 => 9 - (second - 100) / 4,
            140..160 => 0,
            180..200 => (second - 180) / 3,
            _ => 0,
        };
        let lag = match second {
            160..170 => "NULL".to_owned(),
            _ => lag.to_string(),
        };
        rows += &format!("2026-11-25 10:{:02}:{:02},{lag}\n", second / 60, second % 60);
    }
    rows
}

fn project() -> CommandEnvironment {
    let project = CommandEnvironment::new(PROGRAM).unwrap();
    project
        .write("shardwright.yaml", "version: 1\nengines: [bundled]\n")
        .unwrap();
    project.write("topology/t.yaml", TOPOLOGY).unwrap();
    project.write("lag.csv", lag()).unwrap();
    project
}

#[test]
fn a_series_is_drawn_on_a_terminal() {
    let output = project()
        .run(["simulate", "behind-lag", "lag.csv"])
        .unwrap()
        .success();
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn a_throttle_that_never_starts_says_so() {
    let project = project();
    project.write("threads.tsv", "0\t12\n1\t20\n2\t14\n").unwrap();
    let output = project
        .run(["simulate", "throttles.busy", "threads.tsv"])
        .unwrap()
        .success();
    assert!(
        output.stdout.contains("in 2 s, it never starts\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn programs_get_when_it_starts_and_stops() {
    let output = project()
        .run(["simulate", "behind-lag", "lag.csv", "--format", "json"])
        .unwrap()
        .success();
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(json["throttle"], "throttles.behind-lag");
    let changes: Vec<(f64, &str)> = json["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            (
                change["at_s"].as_f64().unwrap(),
                change["change"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        changes,
        [
            (66.0, "started"),
            (136.0, "stopped"),
            (192.0, "started"),
            (200.0, "stopped")
        ]
    );
    assert_eq!(json["parts"].as_array().unwrap().len(), 600);
    assert_eq!(json["greatest_delay_ms"], 500.0);
}

#[test]
fn a_page_has_both_curves_and_needs_nothing() {
    let project = project();
    let _ = project
        .run(["simulate", "behind-lag", "lag.csv", "-o", "lag.html"])
        .unwrap()
        .success();
    let page = project.read("lag.html").unwrap();
    for part in [
        "class=\"curve signal\"",
        "class=\"curve delay\"",
        "class=\"band\"",
        "starts above 3 s",
        "A recorded signal does not fall because statements wait.",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let project = project();
    project.write("unit.csv", "time,lag\n0,1\n1,2\n").unwrap();
    project.write("back.csv", "time,lag_s\n5,1\n4,2\n").unwrap();
    for (arguments, code, said) in [
        (["few", "lag.csv"], 1, "throttles.few has no signal"),
        (
            ["nothing", "lag.csv"],
            64,
            "there is no throttle throttles.nothing",
        ),
        (
            ["behind-lag", "unit.csv"],
            65,
            "does not say whether lag is in seconds",
        ),
        (["behind-lag", "back.csv"], 65, "line 3: its time is before"),
        (["behind-lag", "none.csv"], 1, "none.csv"),
    ] {
        let output = project.run(["simulate", arguments[0], arguments[1]]).unwrap();
        assert!(output.stderr.contains(said), "{arguments:?}: {}", output.stderr);
        assert_eq!(output.code(), Some(code), "{}", output.stderr);
    }
    let _ = project
        .run(["simulate", "behind-lag", "unit.csv", "--unit", "s"])
        .unwrap()
        .success();
}
