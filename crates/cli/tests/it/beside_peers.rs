//! The cheapest row of `bench proxy`, for a moment: everything starts, and everybody has figures. No time is checked.

use std::time::Duration;

use shardwright_bench::failover::Programs;
use shardwright_bench::peers::{Plan, run};
use shardwright_testkit::real_proxysql;

#[test]
fn everybody_of_a_row_has_figures() {
    let proxysql = real_proxysql("ProxySQL beside the bundled proxy in a benchmark");
    let mut expected = vec!["shardwright"];
    if proxysql.is_some() {
        expected.insert(0, "ProxySQL");
    }
    let plan = Plan {
        programs: Programs {
            shardwright: env!("CARGO_BIN_EXE_shardwright").into(),
            proxysql,
        },
        passthrough: "not needed by this row".into(),
        other: None,
        only: vec!["shared-10".to_owned()],
        rounds: 1,
        duration: Duration::from_secs(1),
        core: 0,
    };
    let measured = run(&plan, |_| ());
    assert_eq!(measured.failed, [""; 0]);
    let report = measured.report;
    let targets: Vec<&str> = report
        .samples
        .iter()
        .map(|sample| sample["target"].as_str().unwrap())
        .collect();
    assert_eq!(targets, expected);
    for sample in &report.samples {
        for figure in ["units", "seconds", "proxy_us", "server_us", "client_us"] {
            assert!(sample[figure].as_f64().unwrap() > 0.0, "{figure}: {sample}");
        }
    }
    let checks = report.summary["rows"][0]["checks"].as_array().unwrap();
    assert!(
        checks[0]["measured"]["median"].as_f64().unwrap() > 0.0,
        "{checks:?}"
    );
}
