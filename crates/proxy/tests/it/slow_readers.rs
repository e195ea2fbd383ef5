//! A reader that becomes 20 times slower gets fewer reads until it recovers, on real servers whose reads take as long as a table of each says.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::{Configuration, EngineRule, Hostgroup, HostgroupId, Role, SlowReaders};
use shardwright_testkit::{MariaDb, Options, eventually};

use crate::raw::RawClient;
use crate::support::{
    PATIENCE, Setup, TestProxy, apply, configuration, create_users, member, problems, rule, start, value,
    write_secret,
};

const READ: &str = "SELECT /* read */ @@port + SLEEP((SELECT s FROM t.pace))";
const USUAL_S: f64 = 0.002;
const CLIENTS: usize = 6;
/// How long clients wait that do not wait for a slow reader.
const PATIENCE_OF_CLIENTS: Duration = Duration::from_millis(200);

/// Two readers, the second of which comes to be slow.
struct Readers([MariaDb; 2]);

impl Readers {
    fn start() -> Self {
        Self([(); 2].map(|()| {
            let server = MariaDb::start(Options::default()).unwrap();
            create_users(&server);
            server
                .run("CREATE DATABASE t; CREATE TABLE t.pace (s DOUBLE)")
                .unwrap();
            server
                .run(format!("INSERT INTO t.pace VALUES ({USUAL_S})"))
                .unwrap();
            server
        }))
    }

    /// How much longer than usual the reads of the second one take.
    fn slow_down(&self, times: f64) {
        let update = format!("UPDATE t.pace SET s = {}", USUAL_S * times);
        self.0[1].run(update).unwrap();
    }

    /// How long reads of both take.
    fn pace(&self, seconds: f64) {
        let update = format!("UPDATE t.pace SET s = {seconds}");
        for server in &self.0 {
            server.run(&update).unwrap();
        }
    }

    /// Both are the readers of cluster `a`, to which `/* read */` goes.
    fn setup(&self) -> Setup {
        let ports = [self.0[0].port(), self.0[1].port()];
        Setup {
            port: ports[0],
            configuration: Box::new(move |configuration| {
                let cluster = &mut configuration.clusters[0];
                cluster.reader = Some(HostgroupId(11));
                let readers = Hostgroup {
                    id: HostgroupId(11),
                    cluster: cluster.address.clone(),
                    role: Role::Reader,
                    members: ports.map(|port| member("a", port, 20)).to_vec(),
                };
                configuration.hostgroups.insert(1, readers);
                let reads = EngineRule {
                    match_pattern: Some(r"/\* read \*/".into()),
                    destination_hostgroup: Some(11),
                    apply: true,
                    ..EngineRule::default()
                };
                configuration.graph.rules.insert(0, rule(50, reads));
            }),
            ..Setup::default()
        }
    }
}

/// Reads that clients have had from the first reader and from the second.
#[derive(Default)]
struct Load {
    reads: [AtomicU64; 2],
    is_over: AtomicBool,
}

/// Ends the load, also when a test fails.
struct Ends<'l>(&'l AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Load {
    fn run(&self, proxy: &TestProxy, slow: &str) {
        let mut client = proxy.connect(None);
        while !self.is_over.load(Ordering::Relaxed) {
            let at = usize::from(value(&mut client, READ) == slow);
            self.reads[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn so_far(&self) -> [u64; 2] {
        [0, 1].map(|at| self.reads[at].load(Ordering::Relaxed))
    }

    /// Does something while clients read.
    fn under_way(&self, proxy: &TestProxy, slow: &str, does: impl FnOnce()) {
        std::thread::scope(|scope| {
            let _ends = Ends(&self.is_over);
            for _ in 0..CLIENTS {
                scope.spawn(|| self.run(proxy, slow));
            }
            does();
        });
    }

    /// The percentage that the second reader has of the next reads.
    fn percent_of_slow(&self, reads: u64) -> f64 {
        let [before, slow_before] = self.so_far();
        let since = || {
            let [fast, slow] = self.so_far();
            (fast - before, slow - slow_before)
        };
        eventually(PATIENCE, || since().0 + since().1 >= reads);
        let (fast, slow) = since();
        slow as f64 * 100.0 / (fast + slow) as f64
    }
}

fn share(admin: &mut Conn, port: u16) -> String {
    let sql = format!(
        "SELECT CAST(share_percent AS INT) FROM runtime_mysql_servers WHERE hostgroup_id = 11 AND port = {port}"
    );
    value(admin, &sql)
}

fn slow_readers(admin: &mut Conn) -> String {
    let sql = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Slow_readers'";
    value(admin, sql)
}

/// A client in a transaction on this reader.
fn in_transaction(proxy: &TestProxy, port: &str) -> Conn {
    let mut client = proxy.connect(None);
    eventually(PATIENCE, || {
        client.query_drop("BEGIN /* read */").unwrap();
        let is_there = value(&mut client, READ) == port;
        if !is_there {
            client.query_drop("ROLLBACK").unwrap();
        }
        is_there
    });
    client
}

#[test]
fn a_reader_that_is_20_times_slower_gets_fewer_reads_until_it_recovers() {
    let readers = Readers::start();
    let setup = readers.setup();
    let proxy = start(&setup);
    let (load, port) = (Load::default(), readers.0[1].port());
    let slow = port.to_string();
    load.under_way(&proxy, &slow, || {
        let mut admin = proxy.admin();
        let equal = load.percent_of_slow(1000);
        assert!((40.0..60.0).contains(&equal), "{equal} %");
        let mut pinned = in_transaction(&proxy, &slow);

        readers.slow_down(20.0);
        let began = Instant::now();
        eventually(PATIENCE, || share(&mut admin, port) == "5");
        println!("it has the least of its share after {:?}", began.elapsed());
        assert_eq!(slow_readers(&mut admin), "1");
        let [(address, problem)] = problems(&mut admin).try_into().unwrap();
        assert_eq!(address, "clusters.a.servers.a1");
        assert!(
            problem.starts_with("it gets 5 % of its share of reads: it is "),
            "{problem}"
        );
        let reduced = load.percent_of_slow(500);
        assert!((0.1..=15.0).contains(&reduced), "{reduced} %");
        assert_eq!(value(&mut pinned, READ), slow, "a transaction stays");

        readers.slow_down(1.0);
        let began = Instant::now();
        eventually(PATIENCE, || share(&mut admin, port) == "100");
        println!("it has its share again after {:?}", began.elapsed());
        assert_eq!(slow_readers(&mut admin), "0");
        assert_eq!(problems(&mut admin), []);
        let recovered = load.percent_of_slow(1000);
        assert!((40.0..60.0).contains(&recovered), "{recovered} %");
    });
}

/// `SHARDWRIGHT_EQUAL_READERS`: seconds of load; 3 without it.
#[test]
fn nothing_moves_among_equal_readers() {
    let seconds = std::env::var("SHARDWRIGHT_EQUAL_READERS").map_or(3, |value| value.parse().unwrap());
    let readers = Readers::start();
    // An hour of it leaves the machine to others.
    readers.pace(0.02);
    let proxy = start(&readers.setup());
    let load = Load::default();
    let second = readers.0[1].port().to_string();
    load.under_way(&proxy, &second, || {
        let mut admin = proxy.admin();
        let until = Instant::now() + Duration::from_secs(seconds);
        let mut looks = 0_u64;
        while Instant::now() < until {
            let [one, other] = load.so_far();
            eventually(PATIENCE, || load.so_far().iter().sum::<u64>() >= one + other + 20);
            assert_eq!(slow_readers(&mut admin), "0", "after {one} and {other} reads");
            looks += 1;
        }
        let [one, other] = load.so_far();
        let percent = other as f64 * 100.0 / (one + other) as f64;
        println!("{seconds} s, {looks} looks: {one} and {other} reads");
        assert!((40.0..60.0).contains(&percent), "{percent} %");
    });
}

/// Sends a read, and waits for so long. Whether the answer has begun.
fn is_answered(proxy: &TestProxy) -> bool {
    let mut client = RawClient::log_in(proxy.running().listen_address());
    client.stream.set_read_timeout(Some(PATIENCE_OF_CLIENTS)).unwrap();
    client.send(0, &[&[3], READ.as_bytes()].concat());
    client.packet().is_some()
}

#[test]
fn reads_that_clients_give_up_are_slow() {
    let readers = Readers::start();
    let proxy = start(&readers.setup());
    let (answered, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ends = Ends(&is_over);
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    answered.fetch_add(u64::from(is_answered(&proxy)), Ordering::Relaxed);
                }
            });
        }
        let mut admin = proxy.admin();
        eventually(PATIENCE, || answered.load(Ordering::Relaxed) >= 100);
        // Every read there is given up.
        readers.slow_down(5_000.0);
        eventually(PATIENCE, || share(&mut admin, readers.0[1].port()) == "5");
    });
}

#[test]
fn a_slow_reader_keeps_its_share_if_the_cluster_says_so() {
    let readers = Readers::start();
    let setup = readers.setup();
    let proxy = start(&setup);
    let (load, port) = (Load::default(), readers.0[1].port());
    let slow = port.to_string();
    load.under_way(&proxy, &slow, || {
        readers.slow_down(20.0);
        let mut admin = proxy.admin();
        eventually(PATIENCE, || share(&mut admin, port) == "5");
        let mut changed: Configuration = configuration(&setup, &write_secret(&proxy.directory));
        changed.clusters[0].slow_readers = SlowReaders::FullShare;
        apply(&mut admin, &changed).unwrap();
        eventually(PATIENCE, || share(&mut admin, port) == "100");
        // Three times as many reads as it took to find it slow.
        let kept = load.percent_of_slow(1500);
        assert!((40.0..60.0).contains(&kept), "{kept} %");
        assert_eq!(share(&mut admin, port), "100");
    });
}
