//! Large results and statements, with flat memory.

use mysql::prelude::Queryable;

use crate::support::{self, PATIENCE, Setup, heavy, schema, start, value};

/// Resident memory of this process, which holds the proxy and the client, KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_result_of_64_mib_streams_with_flat_memory() {
    let _alone = heavy();
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(Some(&schema("streaming_large")));
    value(&mut client, "SELECT 1");
    let before = resident_kib();
    let mut most = before;
    let (mut rows, mut bytes) = (0_u64, 0_u64);
    let sql = "SELECT seq, REPEAT('x', 1000) FROM seq_1_to_65536";
    let mut result = client.query_iter(sql).unwrap();
    while let Some(set) = result.iter() {
        for row in set {
            let (_, text): (u64, String) = mysql::from_row(row.unwrap());
            rows += 1;
            bytes += text.len() as u64;
            if rows % 4096 == 0 {
                most = most.max(resident_kib());
            }
        }
    }
    assert_eq!((rows, bytes), (65_536, 65_536_000));
    // A proxy that buffered would add 64 MiB.
    assert!(
        most < before + 40 * 1024,
        "{before} KiB before, {most} KiB at most"
    );
}

/// A table has 4096 columns at most. A select list has no such limit.
#[test]
fn a_result_of_more_columns_than_two_bytes_count_passes() {
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    let sql = format!("SELECT {}", vec!["1"; 70_000].join(","));
    let row: mysql::Row = client.query_first(sql).unwrap().unwrap();
    assert_eq!(row.len(), 70_000);
    assert_eq!(value(&mut client, "SELECT 2"), "2");
}

#[test]
fn a_client_that_does_not_read_stops_the_server_and_not_the_others() {
    let _alone = heavy();
    let proxy = start(&Setup {
        options: Box::new(|options| options.workers = std::num::NonZeroUsize::new(1)),
        ..Setup::default()
    });
    let mut lazy = proxy.connect(Some(&schema("streaming_lazy")));
    let mut bystander = proxy.connect(None);
    value(&mut lazy, "SELECT 1");
    let before = resident_kib();
    let mut result = lazy
        .query_iter("SELECT seq, REPEAT('x', 1000) FROM seq_1_to_131072")
        .unwrap();
    assert!(result.iter().unwrap().next().is_some());
    for _ in 0..50 {
        assert_eq!(value(&mut bystander, "SELECT 1"), "1");
    }
    assert!(resident_kib() < before + 64 * 1024);
    drop(result);
    assert_eq!(value(&mut lazy, "SELECT 2"), "2");
}

#[test]
fn statements_and_values_of_more_than_16_mib_pass_both_ways() {
    let _alone = heavy();
    let proxy = start(&Setup::default());
    let mut client = proxy.connect(None);
    for len in [(1 << 24) - 20, (1 << 24) - 10, 1 << 24, 20 << 20] {
        let text = "y".repeat(len);
        let found: Option<String> = client.query_first(format!("SELECT '{text}'")).unwrap();
        assert!(found.unwrap() == text, "{len} bytes");
    }
    assert_eq!(value(&mut client, "SELECT 1"), "1");
}

#[test]
fn a_server_killed_in_the_middle_of_a_result_ends_that_client_only() {
    let mut dying = shardwright_testkit::MariaDb::start(shardwright_testkit::Options::default()).unwrap();
    support::create_users(&dying);
    let port = dying.port();
    let proxy = start(&Setup {
        configuration: Box::new(move |c| c.hostgroups[1].members = vec![support::member("b", port, 20)]),
        ..Setup::default()
    });
    let mut bystander = proxy.connect(None);
    let mut client = proxy.connect(Some("mysql"));
    let mut result = client
        .query_iter("SELECT /* b */ seq, REPEAT('x', 1000) FROM seq_1_to_1000000")
        .unwrap();
    let mut rows = result.iter().unwrap();
    assert!(rows.next().unwrap().is_ok());
    dying.kill().unwrap();
    assert!(rows.any(|row| row.is_err()), "the result must not look complete");
    assert_eq!(value(&mut bystander, "SELECT 1"), "1");
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 1);
}
