//! A cluster that is paused: statements for its writer wait, and what has begun goes on.

use mysql::prelude::Queryable;
use shardwright_testkit::{MariaDb, eventually};

use crate::roles::mariadb;
use crate::support::{PATIENCE, Setup, create_users, error, start, value};

const CLUSTER: &str = "clusters.a";

#[test]
fn statements_wait_while_their_cluster_is_paused() {
    let server = MariaDb::start(mariadb()).unwrap();
    create_users(&server);
    server
        .run("CREATE DATABASE t; CREATE TABLE t.t (id INT)")
        .unwrap();
    let proxy = start(&Setup {
        port: server.port(),
        ..Setup::default()
    });
    let mut admin = proxy.admin();
    let pause = format!("SHARDWRIGHT PAUSE '{CLUSTER}' FOR 60000");
    let resume = format!("SHARDWRIGHT RESUME '{CLUSTER}'");
    let mut figures = {
        let mut admin = proxy.admin();
        move || -> Option<(u64, u64)> {
            admin
                .query_first("SELECT unfinished, waiting FROM stats_shardwright_pauses")
                .unwrap()
        }
    };
    let mut open = proxy.connect(None);
    open.query_drop("BEGIN").unwrap();
    open.query_drop("INSERT INTO t.t VALUES (1)").unwrap();
    let mut idle = proxy.connect(None);
    idle.query_drop("INSERT INTO t.t VALUES (2)").unwrap();
    admin.query_drop(&pause).unwrap();
    // Only the open transaction is unfinished.
    assert_eq!(figures(), Some((1, 0)));
    let (code, text) = error(&mut admin, &pause);
    assert_eq!(code, 1105);
    assert!(text.contains("paused already"), "{text}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut client = proxy.connect(None);
            client.query_drop("INSERT INTO t.t VALUES (3)").unwrap();
            idle.query_drop("INSERT INTO t.t VALUES (4)").unwrap();
        });
        eventually(PATIENCE, || figures() == Some((1, 1)));
        open.query_drop("INSERT INTO t.t VALUES (5)").unwrap();
        open.query_drop("COMMIT").unwrap();
        eventually(PATIENCE, || figures() == Some((0, 1)));
        assert_eq!(
            server.run("SELECT COUNT(*) FROM t.t").unwrap()[0][0].as_deref(),
            Some("3")
        );
        // Whoever had a transaction waits as well now; KILL ends that.
        let id = open.connection_id();
        let killed = scope.spawn(move || error(&mut open, "INSERT INTO t.t VALUES (6)").0);
        eventually(PATIENCE, || figures() == Some((0, 2)));
        proxy
            .connect(None)
            .query_drop(format!("KILL QUERY {id}"))
            .unwrap();
        assert_eq!(killed.join().unwrap(), 1317);
        assert_eq!(
            value(&mut admin, &resume.replace(CLUSTER, "clusters.b")),
            "clusters.b"
        );
        let ended: (String, bool) = admin.query_first(&resume).unwrap().unwrap();
        assert_eq!(ended, (CLUSTER.to_owned(), true));
        waiting.join().unwrap();
    });
    assert_eq!(figures(), None);
    let ended: (String, bool) = admin.query_first(&resume).unwrap().unwrap();
    assert!(!ended.1, "it was not paused any more");
    assert_eq!(
        server.run("SELECT COUNT(*) FROM t.t").unwrap()[0][0].as_deref(),
        Some("5")
    );
    let (_, text) = error(&mut admin, "SHARDWRIGHT PAUSE 'clusters.nowhere' FOR 1");
    assert!(text.contains("there is no cluster"), "{text}");
}
