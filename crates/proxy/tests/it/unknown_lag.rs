//! Replicas with a limit of lag, while nobody knows how far they are behind: the writer is gone, replication is stopped, or it has
//! just begun again.

use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::UnknownLag;
use shardwright_testkit::{MariaDb, Replication, eventually, poll_until};

use crate::roles::{mariadb, prepare, readers, replication, setup, told};
use crate::support::{PATIENCE, Setup, TestProxy, start, try_value};

const READ: &str = "SELECT /* read */ @@server_id";
/// The replicas' limit, ms.
const LIMIT_MS: u64 = 3_000;

fn limited(servers: &[MariaDb], on_unknown: UnknownLag) -> TestProxy {
    let Setup {
        configuration: inner, ..
    } = setup(replication(), servers);
    start(&Setup {
        configuration: Box::new(move |configuration| {
            inner(configuration);
            let cluster = &mut configuration.clusters[0];
            cluster.on_unknown = on_unknown;
            for candidate in &mut cluster.candidates {
                candidate.max_replication_lag_ms = LIMIT_MS;
            }
        }),
        options: Box::new(|options| options.limits.checkout_timeout = Duration::from_secs(1)),
        ..setup(replication(), servers)
    })
}

fn reads_on(client: &mut Conn, names: &[&str]) -> bool {
    readers(client) == names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn replicas_of_a_writer_that_is_gone_read_on_or_not_as_the_cluster_says() {
    let mut servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    let on = [UnknownLag::Read, UnknownLag::Refuse].map(|on_unknown| limited(&servers.servers, on_unknown));
    let mut clients = on.each_ref().map(|proxy| proxy.connect(None));
    for client in &mut clients {
        eventually(PATIENCE, || reads_on(client, &["2"]));
    }
    servers.servers[0].kill().unwrap();
    let [reading, refusing] = &mut clients;
    eventually(PATIENCE, || try_value(refusing, READ).is_err());
    let mut admin = on[1].admin();
    let why = told(&mut admin, "a2", "reads");
    assert!(
        why.ends_with("its limit is 3 s, it does not reach its source"),
        "{why}"
    );
    // For longer than the limit, and every read.
    let begin = std::time::Instant::now();
    while begin.elapsed() < Duration::from_millis(2 * LIMIT_MS) {
        assert_eq!(try_value(reading, READ).unwrap(), "2");
    }
}

/// The age of the newest row, ms.
const AGE: &str = "CAST(TIMESTAMPDIFF(MICROSECOND, MAX(at), NOW(6)) DIV 1000 AS UNSIGNED) FROM lag.beats";

/// The age of the newest row that a read finds, ms, where it reads from the replica.
fn age_ms(client: &mut Conn) -> Option<u64> {
    let sql = format!("SELECT /* read */ @@server_id, {AGE}");
    let (server, age): (u32, Option<u64>) = client.query_first(sql).unwrap().unwrap();
    age.filter(|_| server == 2)
}

#[test]
fn rows_are_never_older_than_the_limit() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    let [writer, replica] = &servers.servers[..] else {
        panic!("two servers")
    };
    writer
        .run("CREATE DATABASE lag; CREATE TABLE lag.beats (at TIMESTAMP(6)); INSERT INTO lag.beats VALUES (NOW(6))")
        .unwrap();
    let beat = || writer.run("INSERT INTO lag.beats VALUES (NOW(6))").unwrap();
    let proxy = limited(&servers.servers, UnknownLag::Read);
    let mut client = proxy.connect(None);
    eventually(PATIENCE, || {
        beat();
        reads_on(&mut client, &["2"])
    });
    let mut admin = proxy.admin();
    // One look of the monitor, which a busy machine may delay; far less than the replica lacks when it goes on.
    let (most_ms, lacking_ms) = (LIMIT_MS + 3_000, 3 * LIMIT_MS);
    replica.run("STOP SLAVE").unwrap();
    let mut read_on_replica = 0;
    let refused = poll_until(PATIENCE, || {
        beat();
        match age_ms(&mut client) {
            Some(age) => {
                assert!(age <= most_ms, "{age} ms");
                read_on_replica += 1;
                None
            }
            None => Some(()),
        }
    });
    assert!(refused.is_ok() && read_on_replica > 0, "{read_on_replica}");
    let why = told(&mut admin, "a2", "reads");
    assert!(
        why.contains("its limit is 3 s, its replication is stopped"),
        "{why}"
    );
    eventually(PATIENCE, || {
        beat();
        let age = replica.run(format!("SELECT {AGE}")).unwrap()[0][0].clone();
        age.is_some_and(|age| age.parse::<u64>().unwrap() > lacking_ms)
    });
    replica.run("START SLAVE").unwrap();
    let back = poll_until(PATIENCE, || {
        beat();
        let age = age_ms(&mut client)?;
        assert!(age <= most_ms, "started again: {age} ms");
        Some(())
    });
    assert!(back.is_ok());
}
