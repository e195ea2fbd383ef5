//! `shardwright switchover`: the writer of a cluster becomes another server under inserts through two proxies, and no client sees an
//! error.
//!
//! `SHARDWRIGHT_SHIFTS=100` moves it so often, and prints the longest time without a commit; three times otherwise.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use mysql::{Conn, Opts, OptsBuilder};
use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use shardwright_ledger::{Load, Running, Table};
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, Flavour, Galera, MariaDb, Options, ProxyOptions,
    ProxyProcess, Replication, connect, eventually,
};

use crate::support::{PASSWORD, PROGRAM};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Clients of both proxies.
const CLIENTS: NonZeroU32 = NonZeroU32::new(4).expect("not 0");

pub(crate) fn mariadb() -> Options {
    Options {
        flavour: Flavour::MariaDb,
        ..Options::default()
    }
}

fn trials() -> usize {
    std::env::var("SHARDWRIGHT_SHIFTS").map_or(3, |trials| trials.parse().unwrap())
}

/// A cluster of servers, behind proxies that are called `px-a`, `px-b` and so on.
pub(crate) struct Stage {
    pub(crate) environment: CommandEnvironment,
    pub(crate) proxies: Vec<ProxyProcess>,
}

impl Stage {
    pub(crate) fn start(kind: &str, servers: &[MariaDb]) -> Self {
        Self::with_proxies(2, kind, servers)
    }

    pub(crate) fn with_proxies(count: usize, kind: &str, servers: &[MariaDb]) -> Self {
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
        let names = &["px-a", "px-b", "px-c"][..count];
        let proxies: Vec<ProxyProcess> = names.iter().map(|name| start(name)).collect();
        let target = |(name, proxy): (&&str, &ProxyProcess)| {
            let admin = proxy.admin();
            format!(
                "  {name}: {{engine: bundled, admin: \"{admin}\", user: admin, password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n"
            )
        };
        let targets: String = names.iter().zip(&proxies).map(target).collect();
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
    pub(crate) fn run(&self, arguments: &[&str], code: i32) -> String {
        let output = self.environment.run(arguments).unwrap();
        let said = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(output.code(), Some(code), "{arguments:?}: {said}");
        said
    }

    fn switch(&self, to: &str) -> String {
        self.run(&["switchover", "shop", "--to", to, "--auto-approve"], 0)
    }

    pub(crate) fn client(&self, at: usize) -> Conn {
        Conn::new(self.login(at)).unwrap()
    }

    /// How clients of a proxy log in.
    fn login(&self, at: usize) -> OptsBuilder {
        let options = ClientOptions {
            user: "app",
            password: PASSWORD,
            schema: None,
        };
        options.tcp(self.proxies[at].listen())
    }

    /// The servers that a proxy sends writes to.
    pub(crate) fn writers(&self, at: usize) -> Vec<String> {
        self.admin(at)
            .query("SELECT server FROM stats_shardwright_servers WHERE writes = 'yes'")
            .unwrap()
    }

    pub(crate) fn admin(&self, at: usize) -> Conn {
        let options = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            schema: None,
        };
        connect(self.proxies[at].admin(), options).unwrap()
    }

    /// Until all proxies send writes to this server.
    pub(crate) fn settled(&self, server: &str) {
        let wanted = [format!("clusters.shop.servers.{server}")];
        eventually(PATIENCE, || {
            (0..self.proxies.len()).all(|at| self.writers(at) == wanted)
        });
    }
}

/// Moves the writer again and again, to a server at random, under inserts: no client sees an error, nothing is lost, nothing is
/// doubled.
fn moves(stage: &Stage, servers: &[MariaDb]) -> String {
    stage.settled("db1");
    let load = Load {
        targets: (0..2).map(|at| Opts::from(stage.login(at))).collect(),
        table: Table::new("t", "ha"),
        run: 1,
        clients: CLIENTS,
        rate: None,
        transaction_every: 4,
    };
    load.table.create(&mut stage.client(0)).unwrap();
    let running = load.start().unwrap();
    let mut source = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let (mut gaps, mut at) = (Vec::new(), 0);
    for _ in 0..trials() {
        go_on(&running);
        let since = Instant::now();
        at = (at + 1 + (source.next_u64() % (servers.len() as u64 - 1)) as usize) % servers.len();
        let to = format!("db{}", at + 1);
        stage.switch(&to);
        stage.settled(&to);
        go_on(&running);
        gaps.push(running.so_far().longest_gap(since).length);
    }
    let ledger = running.stop();
    assert!(ledger.errors().is_empty(), "{:?}", ledger.errors());
    for server in servers {
        let audit = ledger.audit_on(&mut server.root().unwrap(), PATIENCE).unwrap();
        assert!(audit.is_clean(), "on port {}: {audit:?}", server.port());
    }
    gaps.sort();
    format!(
        "{} switchovers, {} rows; longest time without a commit: median {:?}, {:?}..{:?}",
        gaps.len(),
        ledger.rows(),
        gaps[gaps.len() / 2],
        gaps[0],
        gaps[gaps.len() - 1]
    )
}

/// Clients get further.
fn go_on(running: &Running) {
    let before = running.acknowledged();
    eventually(PATIENCE, || running.acknowledged() >= before + 50);
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
