//! A proxy of a fleet that is replaced by a new one with an empty data directory.

use mysql::prelude::Queryable;
use shardwright_testkit::{Galera, Ports, Replication, eventually};

use crate::switchover::{PATIENCE, Stage, mariadb};

/// The third proxy is started again with nothing in its data directory.
fn replace_third(stage: &mut Stage) {
    let third = &mut stage.proxies[2];
    third.kill().unwrap();
    std::fs::remove_dir_all(third.data_dir()).unwrap();
    third.restart(&stage.environment, Ports::Same).unwrap();
}

fn prefer(stage: &Stage, proxies: &[usize], server: &str) {
    for &at in proxies {
        let sql = format!("SHARDWRIGHT PREFER 'clusters.shop.servers.{server}'");
        stage.admin(at).query_drop(sql).unwrap();
    }
}

#[test]
fn a_replaced_proxy_of_a_galera_cluster_writes_where_its_sisters_do() {
    let galera = Galera::start(2, &mariadb()).unwrap();
    let mut stage = Stage::with_proxies(3, "galera", &galera.servers);
    stage.settled("db1");
    prefer(&stage, &[0, 1, 2], "db2");
    stage.settled("db2");
    replace_third(&mut stage);
    let status = stage.run(&["status"], 0);
    let of_third = "px-c  bundled  generation 0\n  older than what was applied: generation 0 is here";
    let waits = "\n  data_dir: waiting for a first apply; clients are not served\n";
    assert!(status.contains(of_third) && status.contains(waits), "{status}");
    let output = stage.proxies[2].output();
    assert!(!output.lines().any(|line| line.starts_with("ready")), "{output}");
    stage.run(&["status", "--detailed-exitcode"], 2);
    let applied = stage.run(&["apply", "--target", "px-c", "--auto-approve"], 0);
    assert!(!applied.contains("warning"), "{applied}");
    let port: u16 = stage.client(2).query_first("SELECT @@port").unwrap().unwrap();
    assert_eq!(port, galera.servers[1].port());
    stage.settled("db2");
    stage.run(&["status", "--detailed-exitcode"], 0);
    // The others disagree: it writes nowhere until somebody says where.
    prefer(&stage, &[0], "db1");
    eventually(PATIENCE, || stage.writers(0) == ["clusters.shop.servers.db1"]);
    replace_third(&mut stage);
    let doubt = "other proxies of the project write to clusters.shop.servers.db1 and to clusters.shop.servers.db2; \
                 say on this admin port which server is right: SHARDWRIGHT PREFER 'clusters.NAME.servers.NAME'";
    let applied = stage.run(&["apply", "--target", "px-c", "--auto-approve"], 0);
    let warning = format!("warning: target px-c: writes to clusters.shop wait: {doubt}");
    assert!(applied.contains(&warning), "{applied}");
    eventually(PATIENCE, || {
        let status = stage.run(&["status"], 0);
        status.contains("  clusters.shop: no server takes writes: ") && status.contains(doubt)
    });
    assert_eq!(stage.writers(2), Vec::<String>::new());
    prefer(&stage, &[2], "db2");
    eventually(PATIENCE, || stage.writers(2) == ["clusters.shop.servers.db2"]);
}

/// The others have seen the promotion; the new proxy sees a server that can write, and not the one that was promoted.
#[test]
fn a_replaced_proxy_of_a_replicated_cluster_knows_who_was_promoted() {
    let mut servers = Replication::start(2, &mariadb()).unwrap();
    let mut stage = Stage::with_proxies(3, "replication", &servers.servers);
    stage.settled("db1");
    // A failover by hand, while the former writer stays as it was.
    servers.servers[1]
        .run("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0")
        .unwrap();
    stage.settled("db2");
    // Then nobody writes, and the others wait for a promotion.
    servers.servers[1].kill().unwrap();
    eventually(PATIENCE, || (0..3).all(|at| stage.writers(at).is_empty()));
    replace_third(&mut stage);
    stage.run(&["apply", "--target", "px-c", "--auto-approve"], 0);
    let writes = |stage: &Stage| {
        let said: Vec<String> = stage
            .admin(2)
            .query("SELECT writes FROM stats_shardwright_servers ORDER BY server")
            .unwrap();
        said
    };
    eventually(PATIENCE, || {
        let said = writes(&stage);
        said[0].contains("promoted later") && said[1].contains("does not answer")
    });
}
