//! Jobs ask whether they may write, over HTTP: every status of Freno, from the throttles of real servers, and hostile clients.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use mysql::prelude::Queryable;
use shardwright_rules::throttle::{Signal, SignalSource};
use shardwright_rules::{Body, ClusterKind, NamePattern, Names, OnUnknown, Rule, StatementKind, Throttle};
use shardwright_testkit::{MariaDb, Replication, eventually};

use crate::roles::{mariadb, prepare, replication, setup};
use crate::support::{PATIENCE, Setup, TestProxy, start, start_on};
use crate::throttles::{on_lag, throttle, throttle_rule, told, with_throttles};

fn with_checks(setup: Setup) -> Setup {
    let before = setup.options;
    Setup {
        options: Box::new(move |options| {
            before(options);
            options.checks = Some("127.0.0.1:0".parse().unwrap());
        }),
        ..setup
    }
}

fn address(proxy: &TestProxy) -> SocketAddr {
    proxy.running().checks_address().unwrap()
}

/// What the server says to some bytes, until it closes the connection.
fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // It may close the connection before it has read everything.
    let _written = stream.write_all(bytes);
    let _shut = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _read = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn ask(proxy: &TestProxy, method: &str, path: &str) -> (u16, String) {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: checks\r\nConnection: close\r\n\r\n");
    let answer = exchange(address(proxy), request.as_bytes());
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("{answer:?}"));
    (head[9..12].parse().unwrap(), body.to_owned())
}

/// The status of both methods, which must be the same, and the body of GET.
fn get(proxy: &TestProxy, path: &str) -> (u16, serde_json::Value) {
    let (status, body) = ask(proxy, "GET", path);
    (status, serde_json::from_str(&body).unwrap())
}

fn status_of(name: &str, start_above: f64, on_unknown: OnUnknown) -> Throttle {
    Throttle {
        from_ms: 1,
        to_ms: 1,
        on_unknown,
        signal: Some(Signal {
            source: SignalSource::Status(name.into()),
            start_above: start_above.into(),
            stop_below: (start_above - 1.0).into(),
        }),
        ..throttle()
    }
}

/// A throttle that is only about some users.
fn of_users(mut rule: Rule, user: &str) -> Rule {
    if let Body::Native { scope, .. } = &mut rule.body {
        scope.users = Names {
            any_of: vec![NamePattern::new(user)],
            ..Names::default()
        };
    }
    rule
}

fn watched_server(throttles: Vec<Rule>) -> (MariaDb, TestProxy) {
    let server = MariaDb::start(mariadb()).unwrap();
    prepare(&server);
    let servers = std::slice::from_ref(&server);
    let proxy = start(&with_checks(with_throttles(
        setup(ClusterKind::Single, servers),
        throttles,
    )));
    (server, proxy)
}

#[test]
fn jobs_are_answered_by_the_throttles_that_are_about_them() {
    let hold = OnUnknown::Hold;
    let (_server, proxy) = watched_server(vec![
        throttle_rule(1, "quiet", &[], status_of("Threads_connected", 1e6, hold)),
        throttle_rule(
            2,
            "reads",
            &[StatementKind::Select],
            status_of("Threads_connected", 0.0, hold),
        ),
        of_users(
            throttle_rule(3, "busy", &[], status_of("Threads_connected", 0.0, hold)),
            "purge",
        ),
        of_users(
            throttle_rule(4, "nothing", &[], status_of("No_such_variable", 5.0, hold)),
            "lost",
        ),
        of_users(
            throttle_rule(
                5,
                "released",
                &[],
                status_of("No_such_variable", 5.0, OnUnknown::Release),
            ),
            "free",
        ),
    ]);
    let mut admin = proxy.admin();
    eventually(PATIENCE, || told(&mut admin, "busy", "started") == "1");
    let (status, body) = get(&proxy, "/check/gh-ost/mysql/a");
    assert_eq!((status, &body["StatusCode"]), (200, &200.into()), "{body}");
    assert_eq!(body["Message"], "");
    assert_eq!(body["Threshold"], 1e6);
    assert!(body["Value"].as_f64().unwrap() >= 1.0, "{body}");
    let (status, body) = get(&proxy, "/check/purge/mysql/a");
    assert_eq!(status, 429, "{body}");
    let message = body["Message"].as_str().unwrap();
    assert!(
        message.starts_with("throttles.busy slows statements: Threads_connected is "),
        "{message}"
    );
    let (status, body) = get(&proxy, "/check/lost/mysql/a");
    assert_eq!(
        (status, &body["Value"]),
        (500, &serde_json::Value::Null),
        "{body}"
    );
    assert_eq!(get(&proxy, "/check/free/mysql/a").0, 200);
    for (path, expected) in [
        ("/check/gh-ost/mysql/nowhere", 404),
        ("/check/gh-ost/redis/a", 404),
        ("/check-if-exists/gh-ost/mysql/nowhere", 200),
        ("/check-if-exists/purge/mysql/a", 429),
        // Nobody watches this cluster, so nobody knows its status.
        ("/check/gh-ost/mysql/b", 500),
        ("/check-read/gh-ost/mysql/a/1", 404),
        ("/check//mysql/a", 417),
        ("/lb-check", 200),
        ("/throttle-app/gh-ost/ttl/30", 403),
        ("/nothing", 404),
    ] {
        assert_eq!(get(&proxy, path).0, expected, "{path}");
        assert_eq!(ask(&proxy, "HEAD", path), (expected, String::new()), "{path}");
    }
    assert_eq!(ask(&proxy, "POST", "/check/gh-ost/mysql/a").0, 405);
}

#[test]
fn an_administrator_refuses_an_app() {
    let rule = throttle_rule(
        1,
        "quiet",
        &[],
        status_of("Threads_connected", 1e6, OnUnknown::Hold),
    );
    let (_server, proxy) = watched_server(vec![rule]);
    let mut admin = proxy.admin();
    eventually(PATIENCE, || get(&proxy, "/check/gh-ost/mysql/a").0 == 200);
    admin
        .query_drop("SHARDWRIGHT REFUSE APP 'gh-ost' FOR 30")
        .unwrap();
    assert_eq!(get(&proxy, "/check/gh-ost/mysql/a").0, 417);
    assert_eq!(get(&proxy, "/check-if-exists/gh-ost/mysql/nowhere").0, 417);
    assert_eq!(get(&proxy, "/check/other/mysql/a").0, 200);
    let shown: Vec<(String, u64)> = admin
        .query("SELECT app, left_s FROM stats_shardwright_refused_apps")
        .unwrap();
    assert_eq!(shown[0].0, "gh-ost");
    let listed = get(&proxy, "/throttled-apps").1;
    assert!(
        listed["Message"].as_str().unwrap().starts_with("gh-ost: "),
        "{listed}"
    );
    admin.query_drop("SHARDWRIGHT ALLOW APP 'gh-ost'").unwrap();
    assert_eq!(get(&proxy, "/check/gh-ost/mysql/a").0, 200);
}

#[test]
fn lag_is_counted_in_seconds_and_broken_replication_is_no_yes() {
    let servers = Replication::start(2, &mariadb()).unwrap();
    prepare(&servers.servers[0]);
    servers.servers[0]
        .run("CREATE DATABASE t; CREATE TABLE t.t (id BIGINT PRIMARY KEY AUTO_INCREMENT)")
        .unwrap();
    let rule = throttle_rule(1, "lag", &[StatementKind::Delete], on_lag(400.0, 200.0, 1, 1));
    let proxy = start(&with_checks(with_throttles(
        setup(replication(), &servers.servers),
        vec![rule],
    )));
    eventually(PATIENCE, || get(&proxy, "/check/gh-ost/mysql/a").0 == 200);
    assert_eq!(get(&proxy, "/check/gh-ost/mysql/a").1["Threshold"], 0.4);
    assert_eq!(get(&proxy, "/check-read/report/mysql/a/60").0, 200);
    let replica = &servers.servers[1];
    replica.run("STOP SLAVE").unwrap();
    eventually(PATIENCE, || get(&proxy, "/check/gh-ost/mysql/a").0 == 500);
    assert_eq!(get(&proxy, "/check-read/report/mysql/a/60").0, 500);
    replica.run("START SLAVE").unwrap();
    eventually(PATIENCE, || get(&proxy, "/check/gh-ost/mysql/a").0 == 200);
    // The replica applies nothing for a while.
    let options = shardwright_testkit::ClientOptions {
        user: crate::support::USER,
        password: crate::support::PASSWORD,
        schema: Some("t"),
    };
    let mut holder = shardwright_testkit::connect(replica.address(), options).unwrap();
    holder.query_drop("FLUSH TABLES WITH READ LOCK").unwrap();
    let mut client = proxy.connect(Some("t"));
    eventually(PATIENCE, || {
        client.query_drop("INSERT INTO t VALUES ()").unwrap();
        get(&proxy, "/check/gh-ost/mysql/a").0 == 429
    });
    let (status, body) = get(&proxy, "/check-read/report/mysql/a/0.3");
    assert_eq!(status, 429, "{body}");
    let lag_s = body["Value"].as_f64().unwrap();
    assert!((0.3..60.0).contains(&lag_s), "{body}");
    holder.query_drop("UNLOCK TABLES").unwrap();
    eventually(PATIENCE, || get(&proxy, "/check/gh-ost/mysql/a").0 == 200);
}

/// The status of `/lb-check` and its message.
pub(crate) fn readiness(proxy: &TestProxy, path: &str) -> (u16, String) {
    let (status, body) = get(proxy, path);
    (status, body["Message"].as_str().unwrap().to_owned())
}

#[test]
fn a_proxy_that_serves_nobody_says_so_to_load_balancers() {
    let directory = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let empty = start_on(directory, &with_checks(Setup::default()));
    assert_eq!(
        readiness(&empty, "/lb-check"),
        (503, "waiting for a first apply".to_owned())
    );
    let proxy = start(&with_checks(Setup::default()));
    for path in ["/lb-check", "/_ping", "/status", "/leader-check", "/lb-check/b"] {
        assert_eq!(readiness(&proxy, path), (200, "OK".to_owned()), "{path}");
    }
    assert_eq!(readiness(&proxy, "/lb-check/nowhere").0, 404);
    let mut client = proxy.connect(None);
    client.query_drop("BEGIN").unwrap();
    client.query_drop("SELECT 1").unwrap();
    proxy.running().begin_drain();
    for path in ["/lb-check", "/lb-check/b"] {
        assert_eq!(
            readiness(&proxy, path),
            (503, "the proxy is draining".to_owned()),
            "{path}"
        );
    }
}

#[test]
fn a_cluster_without_a_writer_is_no_place_for_clients() {
    let server = MariaDb::start(mariadb()).unwrap();
    prepare(&server);
    let proxy = start(&with_checks(setup(replication(), std::slice::from_ref(&server))));
    eventually(PATIENCE, || readiness(&proxy, "/lb-check").0 == 200);
    server.run("SET GLOBAL read_only = 1").unwrap();
    eventually(PATIENCE, || readiness(&proxy, "/lb-check").0 == 503);
    let (status, message) = readiness(&proxy, "/lb-check/a");
    assert_eq!(
        (status, message.as_str()),
        (503, "no server of clusters.a takes writes")
    );
    assert_eq!(readiness(&proxy, "/lb-check/b").0, 200);
    server.run("SET GLOBAL read_only = 0").unwrap();
    eventually(PATIENCE, || readiness(&proxy, "/lb-check").0 == 200);
}

#[test]
fn hostile_clients_are_turned_away_and_others_are_answered() {
    let proxy = start(&with_checks(Setup::default()));
    let address = address(&proxy);
    let alive = || ask(&proxy, "GET", "/lb-check").0 == 200;
    let long_path = format!("GET /check/{} HTTP/1.1\r\n\r\n", "a".repeat(100_000));
    let headers = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(1000));
    for bytes in [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".as_slice(),
        b"SELECT 1;\r\n\r\n",
        long_path.as_bytes(),
        headers.as_bytes(),
        b"GET /lb-check HTTP/9.9\r\n\r\n",
        b"GET /lb-check HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nffffffffffffffff\r\n",
        b"\r\n\r\n\r\n",
        b"",
    ] {
        let answer = exchange(address, bytes);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1."),
            "{answer:?}"
        );
        assert!(alive());
    }
    // More connections than there are places, none of which asks anything: they are closed, and their places are free again.
    let silent: Vec<TcpStream> = (0..200)
        .filter_map(|_| TcpStream::connect(address).ok())
        .collect();
    eventually(PATIENCE, || {
        let answer = exchange(
            address,
            b"GET /lb-check HTTP/1.1\r\nHost: checks\r\nConnection: close\r\n\r\n",
        );
        answer.starts_with("HTTP/1.1 200")
    });
    for mut stream in silent {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut nothing = [0; 64];
        // Closed by the server, with or without a word; a time-out would be neither.
        if let Err(error) = stream.read(&mut nothing) {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock);
        }
    }
    // A connection is kept for several questions.
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..3 {
        stream
            .write_all(b"HEAD /lb-check HTTP/1.1\r\nHost: checks\r\n\r\n")
            .unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
        let mut rest = Vec::new();
        while !rest.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            rest.push(byte[0]);
        }
    }
}
