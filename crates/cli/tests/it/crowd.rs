//! Thousands of clients on few connections to the server: idle ones with the start-up statements of real drivers, and
//! transactions of clients that switch autocommit off, as Python's do.
//!
//! `SHARDWRIGHT_CROWD=10000` opens that many clients, with 200 that work all the time, and then has 2,000 connections of PyMySQL.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{ClientOptions, CommandEnvironment, MariaDb, Options, ProxyOptions, ProxyProcess};

use crate::support::PROGRAM;

/// Connections that the server may see. The proxy may have half as many: one that it has given up, so that another worker can
/// open its own, is the server's for a moment longer.
const SERVER_CONNECTIONS: usize = 20;
const PASSWORD: &str = "crowd-password";
/// Clients that work all the time in the long mode; the quick one has a tenth of them.
const ACTIVE: usize = 200;
/// Clients of PyMySQL in the long mode.
const PYTHON: usize = 2_000;
/// Transactions of each of them.
const ROUNDS: usize = 50;
/// Threads that are the other clients.
const THREADS: usize = 4;

/// What drivers send when they connect: MySQL's Connector/J (the article of case X2), MariaDB's, PyMySQL.
const START_UP: [&str; 5] = [
    "/* mysql-connector-java-8.0.30 */SELECT  @@session.auto_increment_increment AS auto_increment_increment, \
     @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, \
     @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, \
     @@collation_server AS collation_server, @@collation_connection AS collation_connection, \
     @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, \
     @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, \
     @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, \
     @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, \
     @@tx_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout",
    "SET character_set_results = NULL",
    "SET sql_mode='STRICT_TRANS_TABLES'",
    "select @@max_allowed_packet,@@system_time_zone,@@time_zone,@@auto_increment_increment",
    "SET AUTOCOMMIT = 0",
];

const TOPOLOGY: &str = "\
version: 1
clusters:
  shop:
    type: single
    servers: {db: {host: 127.0.0.1, port: PORT, max_connections: 10}}
users:
  app: {password: {env: APP_PASSWORD}, cluster: shop, schema: shop, max_connections: 20000}
";

struct Crowd {
    server: MariaDb,
    proxy: ProxyProcess,
    _home: CommandEnvironment,
}

impl Crowd {
    fn start(clients: usize) -> Self {
        let server = MariaDb::start(Options::default()).unwrap();
        server
            .run("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, c INT); INSERT INTO shop.t VALUES (1, 7)")
            .unwrap();
        server
            .create_user("app", PASSWORD, Some("ALL ON shop.*"))
            .unwrap();
        let mut home = CommandEnvironment::new(PROGRAM).unwrap();
        home.set("APP_PASSWORD", PASSWORD);
        let topology = TOPOLOGY.replace("PORT", &server.port().to_string());
        home.write("topology/shop.yaml", topology).unwrap();
        let mut options = ProxyOptions::new(home.outside("data"));
        options.extra_args = vec![format!("--max-connections={}", clients.max(PYTHON) + 2 * ACTIVE)];
        let proxy = ProxyProcess::start(&home, options).unwrap();
        let targets = format!(
            "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, user: admin, admin: \"{}\", password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
            proxy.admin()
        );
        home.write("shardwright.yaml", targets).unwrap();
        let applied = home.run(["apply", "--auto-approve"]).unwrap();
        assert_eq!(applied.status.code(), Some(0), "{}", applied.stderr);
        Self {
            server,
            proxy,
            _home: home,
        }
    }

    fn client(&self) -> Conn {
        let login = ClientOptions {
            user: "app",
            password: PASSWORD,
            schema: Some("shop"),
        };
        self.proxy.connect(login).unwrap()
    }

    /// The most connections that the server has ever had, the one of this question left out.
    fn most_connections(&self) -> usize {
        self.status("Max_used_connections") - 1
    }

    fn status(&self, name: &str) -> usize {
        let rows = self
            .server
            .run(format!("SHOW GLOBAL STATUS LIKE '{name}'"))
            .unwrap();
        rows[0][1].as_deref().unwrap().parse().unwrap()
    }

    /// 2,000 clients with autocommit off that think between their transactions; what they report.
    fn of_python(&self) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let output = Command::new(root.join("target/clients/python/bin/python"))
            .arg(root.join("tests/clients/python/crowd.py"))
            .arg(PYTHON.to_string())
            .env("CLIENT_HOST", "127.0.0.1")
            .env("CLIENT_PORT", self.proxy.listen().port().to_string())
            .env("CLIENT_USER", "app")
            .env("CLIENT_PASSWORD", PASSWORD)
            .env("CLIENT_SCHEMA", "shop")
            .output()
            .unwrap();
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{report}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        report
    }

    /// Resident memory of the proxy, KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.proxy.process_id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

/// A read and its end, as a driver without autocommit has it.
fn transaction(client: &mut Conn) {
    let seen: Option<i64> = client.query_first("SELECT c FROM t WHERE id = 1").unwrap();
    assert_eq!(seen, Some(7));
    client.query_drop("COMMIT").unwrap();
}

#[test]
fn thousands_of_clients_need_few_connections() {
    let asked: Option<usize> = std::env::var("SHARDWRIGHT_CROWD")
        .ok()
        .map(|n| n.parse().unwrap());
    let (clients, active) = match asked {
        Some(clients) => (clients, ACTIVE),
        None => (2_000, ACTIVE / 10),
    };
    let crowd = Crowd::start(clients);
    let empty = crowd.resident();
    let start = Instant::now();
    let mut idle: Vec<Conn> = Vec::new();
    thread::scope(|scope| {
        let connect = |count: usize| {
            let crowd = &crowd;
            scope.spawn(move || {
                let connect = |_| {
                    let mut client = crowd.client();
                    START_UP.iter().for_each(|sql| client.query_drop(sql).unwrap());
                    client
                };
                (0..count).map(connect).collect::<Vec<Conn>>()
            })
        };
        let share = |part: usize| clients * (part + 1) / THREADS - clients * part / THREADS;
        let parts: Vec<_> = (0..THREADS).map(share).map(connect).collect();
        for part in parts {
            idle.extend(part.join().unwrap());
        }
    });
    let opened = start.elapsed();
    let (most, resident) = (crowd.most_connections(), crowd.resident());
    assert!(
        most <= SERVER_CONNECTIONS,
        "{clients} idle clients: {most} connections"
    );

    let mut running = 0;
    // While some work all the time, every other client has one transaction.
    thread::scope(|scope| {
        for _ in 0..active {
            scope.spawn(|| {
                let mut client = crowd.client();
                client.query_drop("SET AUTOCOMMIT = 0").unwrap();
                (0..ROUNDS).for_each(|_| transaction(&mut client));
            });
        }
        for part in idle.chunks_mut(clients.div_ceil(THREADS)) {
            scope.spawn(|| part.iter_mut().for_each(transaction));
        }
        running = (0..50).map(|_| crowd.status("Threads_running")).max().unwrap();
    });
    let most = crowd.most_connections();
    let working = crowd.resident();
    println!(
        "{clients} clients, opened in {opened:.1?}, and {active} that work: at most {most} connections to the server, {running} threads running there, resident {empty} KiB empty, \
         {resident} KiB with idle clients, {working} KiB at the end"
    );
    assert!(most <= SERVER_CONNECTIONS, "{most} connections");
    assert!(running <= SERVER_CONNECTIONS + 1, "{running} threads");
    assert!(working < 1 << 20, "1 GiB for {clients} clients");
    drop(idle);
    if asked.is_some() {
        println!("{}", crowd.of_python());
        let most = crowd.most_connections();
        assert!(most <= SERVER_CONNECTIONS, "{most} connections");
    }
}
