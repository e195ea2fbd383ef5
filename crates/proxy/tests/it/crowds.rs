//! Thousands of clients at once: those that log in get in, and those that say nothing keep nobody out.
//!
//! `SHARDWRIGHT_CROWDS` in the environment asks for 3,000 clients and 10,000 silent sockets on the defaults, instead of 600 and 2,000 with
//! room for 1,500. 10,000 need a limit of 16,000 file descriptors.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use shardwright_testkit::eventually;

use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, heavy, start, value};

/// Tells the other process where to connect to, and how often.
const SILENT: &str = "SHARDWRIGHT_TEST_SILENT";
/// Within which everybody is answered.
const SOON: Duration = Duration::from_secs(1);

fn is_full_size() -> bool {
    std::env::var_os("SHARDWRIGHT_CROWDS").is_some()
}

fn proxy(most_sessions: Option<usize>) -> TestProxy {
    start(&Setup {
        options: Box::new(move |options| {
            options.checks = Some("127.0.0.1:0".parse().unwrap());
            if let Some(most) = most_sessions {
                options.limits.max_sessions = most;
            }
        }),
        configuration: Box::new(|configuration| configuration.users[0].max_connections = 10_000),
        ..Setup::default()
    })
}

fn total(proxy: &TestProxy, name: &str) -> u64 {
    let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
    value(&mut proxy.admin(), &sql).parse().unwrap()
}

#[test]
fn everybody_who_comes_at_once_gets_in() {
    let _alone = heavy();
    let proxy = proxy(None);
    let clients = if is_full_size() { 3_000 } else { 600 };
    let are_ready = Barrier::new(clients);
    let are_in = Barrier::new(clients);
    let errors: Vec<String> = thread::scope(|scope| {
        let log_in = || {
            are_ready.wait();
            let client = proxy.try_connect(USER, PASSWORD, None);
            are_in.wait();
            client.err().map(|error| error.to_string())
        };
        let spawn = |_| {
            let small = thread::Builder::new().stack_size(256 << 10);
            small.spawn_scoped(scope, log_in).unwrap()
        };
        let clients: Vec<_> = (0..clients).map(spawn).collect();
        clients
            .into_iter()
            .filter_map(|client| client.join().unwrap())
            .collect()
    });
    assert_eq!((errors.len(), errors.first()), (0, None));
    assert_eq!(total(&proxy, "Client_Connections_refused"), 0);
    assert_eq!(total(&proxy, "Client_Logins_Cut"), 0);
}

/// Another process with sockets that say nothing, because each process has its own descriptors.
struct Silent {
    child: Child,
    /// Until then it may write.
    _said: BufReader<ChildStdout>,
}

impl Silent {
    fn at(address: SocketAddr, count: usize, says: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crowds::silent_clients", "--nocapture"])
            .env(SILENT, format!("{address} {count} {says}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("connected") {
            line.clear();
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "it has ended");
        }
        Self { child, _said: said }
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _status = self.child.wait();
    }
}

/// The other process; nothing where nobody asks for it.
#[test]
fn silent_clients() {
    let Ok(wanted) = std::env::var(SILENT) else {
        return;
    };
    let wanted: Vec<&str> = wanted.splitn(3, ' ').collect();
    let (address, count) = (
        wanted[0].parse::<SocketAddr>().unwrap(),
        wanted[1].parse().unwrap(),
    );
    let connect = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        // It may be closed by then.
        let _written = stream.write_all(wanted[2].as_bytes());
        stream
    };
    let silent: Vec<TcpStream> = (0..count).map(connect).collect();
    println!("{} connected", silent.len());
    let mut until_the_end = Vec::new();
    std::io::stdin().read_to_end(&mut until_the_end).unwrap();
}

/// Has everybody answered: within a second or two on a machine of its own, and long before a silent login's time is over on one
/// that others use.
fn answers_soon(proxy: &TestProxy, what: &str) {
    let timed = |name: &str, ask: &dyn Fn() -> bool| {
        let began = Instant::now();
        // A client that comes while all others are younger than their time is told to come again.
        eventually(PATIENCE, ask);
        let took = began.elapsed();
        let most = if is_full_size() { 2 * SOON } else { 8 * SOON };
        assert!(took < most, "{what}: {name} after {took:?}");
    };
    timed("a login", &|| proxy.try_connect(USER, PASSWORD, None).is_ok());
    timed("the admin port", &|| {
        let options = shardwright_testkit::ClientOptions {
            user: "admin",
            password: crate::support::ADMIN_PASSWORD,
            schema: None,
        };
        shardwright_testkit::connect(proxy.running().admin_address(), options).is_ok()
    });
    timed("the checks", &|| {
        let mut stream = TcpStream::connect(proxy.running().checks_address().unwrap()).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
            .write_all(b"GET /lb-check HTTP/1.1\r\nHost: checks\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 200"
    });
}

#[test]
fn who_says_nothing_keeps_nobody_out() {
    let _alone = heavy();
    let (count, most) = if is_full_size() {
        (10_000, None)
    } else {
        (2_000, Some(1_500))
    };
    let proxy = proxy(most);
    let mut client = proxy.connect(None);
    let silent = Silent::at(proxy.running().listen_address(), count, "");
    answers_soon(&proxy, "silent clients");
    assert_eq!(value(&mut client, "SELECT 1"), "1", "sessions go on");
    let turned_away = total(&proxy, "Client_Logins_Cut") + total(&proxy, "Client_Connections_refused");
    assert!(turned_away > 0);
    drop(silent);
    let silent = Silent::at(proxy.running().admin_address(), 600, "");
    answers_soon(&proxy, "silent administrators");
    drop(silent);
    let _silent = Silent::at(
        proxy.running().checks_address().unwrap(),
        600,
        "GET /lb-check HTTP/1.1",
    );
    answers_soon(&proxy, "questions that do not end");
}
