//! `shardwright switchover`: the writer of a cluster becomes another server under inserts through two proxies, and no client sees an
//! error.
//!
//! `SHARDWRIGHT_TRIALS=20` moves it so often, and prints the longest time without a commit; three times otherwise.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, Flavour, Galera, MariaDb, Options, ProxyOptions,
    ProxyProcess, Replication, connect, eventually,
};

use crate::support::{PASSWORD, PROGRAM};

const PATIENCE: Duration = Duration::from_secs(60);
/// Clients of each proxy.
const CLIENTS: u64 = 2;

fn mariadb() -> Options {
    Options {
        flavour: Flavour::MariaDb,
        ..Options::default()
    }
}

fn trials() -> usize {
    std::env::var("SHARDWRIGHT_TRIALS").map_or(3, |trials| trials.parse().unwrap())
}

/// A cluster of servers, behind two proxies.
struct Stage {
    environment: CommandEnvironment,
    proxies: Vec<ProxyProcess>,
}

impl Stage {
    fn start(kind: &str, servers: &[MariaDb]) -> Self {
        let first = &servers[0];
        first
            .run("CREATE DATABASE t; CREATE TABLE t.t (number BIGINT PRIMARY KEY AUTO_INCREMENT, id BIGINT)")
            .unwrap();
        first
            .create_user("app", PASSWORD, Some("ALL PRIVILEGES ON t.*"))
            .unwrap();
        first
            .create_user("monitor", PASSWORD, Some("REPLICA MONITOR ON *.*"))
            .unwrap();
        let privileges = "READ_ONLY ADMIN, REPLICATION SLAVE ADMIN, REPLICA MONITOR, RELOAD ON *.*";
        first
            .create_user("switchover", PASSWORD, Some(privileges))
            .unwrap();
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        environment.set("REPLICA_PASSWORD", "replica");
        let start = |name: &str| {
            let options = ProxyOptions::new(environment.outside(name));
            ProxyProcess::start(&environment, options).unwrap()
        };
        let proxies = vec![start("a"), start("b")];
        let target = |(name, proxy): (&str, &ProxyProcess)| {
            let admin = proxy.admin();
            format!(
                "  {name}: {{engine: bundled, admin: \"{admin}\", user: admin, password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n"
            )
        };
        let targets: String = ["px-a", "px-b"].into_iter().zip(&proxies).map(target).collect();
        let project = format!(
            "version: 1\nengines: [bundled]\ntargets:\n{targets}switchover:\n  user: switchover\n  password: {{env: APP_PASSWORD}}\n  \
             replication: {{user: replica, password: {{env: REPLICA_PASSWORD}}}}\n  deadline: 8s\n  transactions: 3s\n"
        );
        environment.write("shardwright.yaml", project).unwrap();
        let server = |(at, server): (usize, &MariaDb)| {
            format!(
                "      db{}: {{host: 127.0.0.1, port: {}}}\n",
                at + 1,
                server.port()
            )
        };
        let servers: String = servers.iter().enumerate().map(server).collect();
        let topology = format!(
            "version: 1\nclusters:\n  shop:\n    type: {kind}\n    servers:\n{servers}users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: shop}}\n\
             monitor: {{user: monitor, password: {{env: APP_PASSWORD}}}}\n"
        );
        environment.write("topology/shop.yaml", topology).unwrap();
        let stage = Self { environment, proxies };
        stage.run(&["apply", "--auto-approve"], 0);
        stage
    }

    /// Runs a command that ends with this code; what it says.
    fn run(&self, arguments: &[&str], code: i32) -> String {
        let output = self.environment.run(arguments).unwrap();
        let said = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code(), Some(code), "{arguments:?}: {said}");
        said
    }

    fn switch(&self, to: &str) -> String {
        self.run(&["switchover", "shop", "--to", to, "--auto-approve"], 0)
    }

    fn client(&self, at: usize) -> Conn {
        let options = ClientOptions {
            user: "app",
            password: PASSWORD,
            schema: None,
        };
        connect(self.proxies[at].listen(), options).unwrap()
    }

    /// The servers that a proxy sends writes to.
    fn writers(&self, at: usize) -> Vec<String> {
        let options = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            schema: None,
        };
        let mut admin = connect(self.proxies[at].admin(), options).unwrap();
        admin
            .query("SELECT server FROM stats_shardwright_servers WHERE writes = 'yes'")
            .unwrap()
    }

    /// Until both proxies send writes to this server.
    fn settled(&self, server: &str) {
        let wanted = [format!("clusters.shop.servers.{server}")];
        eventually(PATIENCE, || (0..2).all(|at| self.writers(at) == wanted));
    }
}

/// Ends the inserts, also where a test fails.
struct Over<'l>(&'l Ledger);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

/// Rows that were acknowledged, and when.
#[derive(Default)]
struct Ledger {
    written: Mutex<Vec<(u64, Instant)>>,
    is_over: AtomicBool,
}

impl Ledger {
    /// Inserts one row after the other, every fourth time two in a transaction. There is no error.
    fn insert(&self, mut client: Conn, first: u64, step: u64) {
        let mut id = first;
        let insert = |id: u64| format!("INSERT INTO t.t (id) VALUES ({id})");
        while !self.is_over.load(Ordering::Relaxed) {
            let mut ids = vec![id];
            if (id / step).is_multiple_of(4) {
                ids.push(id + step);
                client.query_drop("BEGIN").unwrap();
                for id in &ids {
                    client.query_drop(insert(*id)).unwrap();
                }
                client.query_drop("COMMIT").unwrap();
            } else {
                client.query_drop(insert(id)).unwrap();
            }
            let now = Instant::now();
            id += step * ids.len() as u64;
            self.written
                .lock()
                .unwrap()
                .extend(ids.into_iter().map(|id| (id, now)));
        }
    }

    fn count(&self) -> usize {
        self.written.lock().unwrap().len()
    }

    /// The longest time without an acknowledged commit since a moment.
    fn longest_gap(&self, since: Instant) -> Duration {
        let written = self.written.lock().unwrap();
        let mut at: Vec<Instant> = written
            .iter()
            .map(|(_, at)| *at)
            .filter(|at| *at >= since)
            .collect();
        at.sort();
        at.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
    }
}

fn rows(server: &MariaDb) -> BTreeSet<u64> {
    let rows = server.run("SELECT id FROM t.t").unwrap();
    let ids: Vec<u64> = rows
        .iter()
        .map(|row| row[0].as_deref().unwrap().parse().unwrap())
        .collect();
    let distinct: BTreeSet<u64> = ids.iter().copied().collect();
    assert_eq!(ids.len(), distinct.len(), "a row is there twice");
    distinct
}

/// Moves the writer again and again under inserts: no client sees an error, nothing is lost, nothing is doubled.
fn moves(stage: &Stage, servers: &[MariaDb]) -> String {
    stage.settled("db1");
    let ledger = Ledger::default();
    let mut gaps = Vec::new();
    std::thread::scope(|scope| {
        for client in 0..2 * CLIENTS {
            let (ledger, connection) = (&ledger, stage.client((client % 2) as usize));
            scope.spawn(move || ledger.insert(connection, client, 2 * CLIENTS));
        }
        let _over = Over(&ledger);
        for trial in 0..trials() {
            let before = ledger.count();
            eventually(PATIENCE, || ledger.count() >= before + 50);
            let since = Instant::now();
            let to = format!("db{}", (trial + 1) % servers.len() + 1);
            stage.switch(&to);
            stage.settled(&to);
            let after = ledger.count();
            eventually(PATIENCE, || ledger.count() >= after + 50);
            gaps.push(ledger.longest_gap(since));
        }
    });
    let acknowledged: BTreeSet<u64> = ledger.written.lock().unwrap().iter().map(|(id, _)| *id).collect();
    for server in servers {
        // Replicas get there.
        eventually(PATIENCE, || rows(server).len() >= acknowledged.len());
        assert_eq!(rows(server), acknowledged, "on port {}", server.port());
    }
    gaps.sort();
    format!(
        "{} switchovers, {} rows; longest time without a commit: median {:?}, {:?}..{:?}",
        gaps.len(),
        acknowledged.len(),
        gaps[gaps.len() / 2],
        gaps[0],
        gaps[gaps.len() - 1]
    )
}

#[test]
fn the_writer_of_replicas_moves_under_inserts() {
    let replication = Replication::start(3, &mariadb()).unwrap();
    let stage = Stage::start("replication", &replication.servers);
    stage.settled("db1");
    let said = stage.run(&["switchover", "shop", "--to", "db2", "--check"], 0);
    assert!(said.contains("it can be done"), "{said}");
    let said = stage.run(&["switchover", "shop", "--to", "db1", "--auto-approve"], 0);
    assert!(said.contains("writes already"), "{said}");
    stage.run(&["switchover", "shop", "--to", "db2"], 4);
    stage.run(&["switchover", "shop", "--to", "db9"], 64);
    println!("replication: {}", moves(&stage, &replication.servers));
    // A transaction that does not end: everything is as it was.
    let writer = stage.writers(0)[0].rsplit('.').next().unwrap().to_owned();
    let at: usize = writer[2..].parse::<usize>().unwrap() - 1;
    let other = format!("db{}", (at + 1) % 3 + 1);
    let mut open = stage.client(0);
    open.query_drop("BEGIN").unwrap();
    open.query_drop("INSERT INTO t.t (id) VALUES (999999999)")
        .unwrap();
    let said = stage.run(&["switchover", "shop", "--to", &other, "--auto-approve"], 6);
    assert!(said.contains("1 session in px-a"), "{said}");
    open.query_drop("COMMIT").unwrap();
    stage
        .client(1)
        .query_drop("DELETE FROM t.t WHERE id = 999999999")
        .unwrap();
    assert_eq!(stage.writers(1), [format!("clusters.shop.servers.{writer}")]);
    // A replica that does not get everything: the writer writes again.
    let lagging = &replication.servers[(at + 1) % 3];
    let mut lock = lagging.root().unwrap();
    lock.query_drop("FLUSH TABLES WITH READ LOCK").unwrap();
    stage
        .client(1)
        .query_drop("INSERT INTO t.t (id) VALUES (999999998)")
        .unwrap();
    let said = stage.run(&["switchover", "shop", "--to", &other, "--auto-approve"], 6);
    assert!(said.contains("has not got everything"), "{said}");
    stage
        .client(0)
        .query_drop("INSERT INTO t.t (id) VALUES (999999997)")
        .unwrap();
    lock.query_drop("UNLOCK TABLES").unwrap();
    stage.switch(&other);
    stage.settled(&other);
}

#[test]
fn the_writer_of_a_galera_cluster_moves_under_inserts() {
    let galera = Galera::start(3, &mariadb()).unwrap();
    let stage = Stage::start("galera", &galera.servers);
    println!("Galera: {}", moves(&stage, &galera.servers));
}
