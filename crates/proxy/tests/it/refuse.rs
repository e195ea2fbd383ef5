//! Ports that refuse: what clients get, clients that do not play along, and a real ProxySQL in front of them.

use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;

use mysql::prelude::Queryable;
use mysql::{Conn, Error};
use shardwright_proxy::{RefusingPort, RefusingServer};
use shardwright_testkit::{ClientOptions, ProxySql, ProxySqlOptions, connect, eventually, real_proxysql};

use crate::support::{PASSWORD, PATIENCE, USER, schema, server};

const REASON: &str = "SW351: no shard key: shard map tenants needs tenant; write /* tenant=VALUE */";
const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn port(address: SocketAddr, reason: &str) -> RefusingPort {
    RefusingPort {
        address,
        reason: reason.to_owned(),
    }
}

/// Everything that the port says.
fn answer(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn each_port_says_its_own_reason_to_the_clients_of_every_family() {
    let refusing =
        RefusingServer::start(&[port(ANY_PORT, REASON), port(ANY_PORT, "SW352: another")]).unwrap();
    let [first, second] = refusing.addresses()[..] else {
        panic!("two ports")
    };
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    };
    for (address, reason) in [(first, REASON), (second, "SW352: another")] {
        match connect(address, options) {
            Err(Error::MySqlError(error)) => {
                assert_eq!(error.code, 1226);
                assert!(
                    error
                        .message
                        .ends_with(&format!("Access denied for user: {reason}")),
                    "{error}"
                );
            }
            other => panic!("{:?}", other.map(|_| ())),
        }
    }
    let client = Command::new("mysql")
        .args([
            "--no-defaults",
            "--skip-ssl",
            "--protocol=tcp",
            "-uapp",
            "-papp",
            "-h127.0.0.1",
        ])
        .arg(format!("-P{}", first.port()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&client.stderr);
    assert!(
        said.contains("ERROR 1226 (42000)") && said.contains(REASON),
        "{said}"
    );
    let refused: Vec<(String, u64)> = refusing.refused().into_iter().collect();
    assert_eq!(
        refused,
        [(REASON.to_owned(), 2), ("SW352: another".to_owned(), 1)]
    );
    refusing.shutdown();
    assert!(TcpStream::connect(first).is_err(), "it listens after its end");
}

#[test]
fn clients_that_do_not_read_or_that_flood_it_keep_nobody_waiting() {
    let refusing = RefusingServer::start(&[port(ANY_PORT, REASON), port(ANY_PORT, "other")]).unwrap();
    let addresses = refusing.addresses();
    let idle: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(addresses[0]).unwrap())
        .collect();
    let flood = std::thread::spawn({
        let address = addresses[0];
        move || {
            for _ in 0..2_000 {
                // A full queue of the listener may turn one away.
                drop(TcpStream::connect(address));
            }
        }
    });
    for _ in 0..50 {
        assert!(answer(addresses[0]).ends_with(REASON));
        assert!(answer(addresses[1]).ends_with("other"));
    }
    flood.join().unwrap();
    drop(idle);
    assert!(answer(addresses[0]).ends_with(REASON));
    assert!(refusing.refused()[REASON] >= 451, "{:?}", refusing.refused());
}

#[test]
fn ports_are_replaced_while_the_others_stay() {
    let mut refusing = RefusingServer::start(&[port(ANY_PORT, "a"), port(ANY_PORT, "b")]).unwrap();
    let [a, b] = refusing.addresses()[..] else {
        panic!("two ports")
    };
    refusing
        .replace(&[port(b, "new b"), port(ANY_PORT, "c")])
        .unwrap();
    let [still_b, c] = refusing.addresses()[..] else {
        panic!("two ports")
    };
    assert_eq!(still_b, b);
    assert!(answer(b).ends_with("new b") && answer(c).ends_with("user: c"));
    eventually(PATIENCE, || TcpStream::connect(a).is_err());
    // A port that another program has changes nothing.
    let taken = std::net::TcpListener::bind(ANY_PORT).unwrap();
    let wanted = [port(b, "newer b"), port(taken.local_addr().unwrap(), "d")];
    let error = refusing.replace(&wanted).unwrap_err().to_string();
    assert!(error.starts_with("cannot listen on 127.0.0.1:"), "{error}");
    assert!(answer(b).ends_with("new b") && answer(c).ends_with("user: c"));
}

/// Rules as the compiler writes them: what is in `refused` is refused, executions by hostgroup 99.
fn rules(refused: &str) -> Vec<String> {
    let columns = "rule_id, active, flagIN, schemaname, match_pattern, re_modifiers, replace_pattern, flagOUT, \
                   destination_hostgroup, error_msg, apply";
    [
        format!("1, 1, 0, '{refused}', NULL, '', NULL, 100, NULL, NULL, 0"),
        r"10, 1, 100, NULL, '\A', '', ') ', NULL, NULL, NULL, 0".to_owned(),
        format!(r"11, 1, 100, NULL, '\A\) ', '', NULL, NULL, NULL, '{REASON}', 1"),
        "12, 1, 100, NULL, NULL, '', NULL, NULL, 99, NULL, 1".to_owned(),
    ]
    .into_iter()
    .map(|values| format!("INSERT INTO mysql_query_rules ({columns}) VALUES ({values})"))
    .collect()
}

/// A ProxySQL with two threads in front of the shared server; `refuser` is the port of hostgroup 99.
fn proxysql(what: &str, refuser: impl Fn(&ProxySql) -> u16, refused: &str) -> Option<ProxySql> {
    let binary = real_proxysql(what)?;
    let options = ProxySqlOptions {
        threads: 2,
        ..ProxySqlOptions::default()
    };
    let proxysql = ProxySql::start(&binary, &options).unwrap();
    let row = |hostgroup: u32, port: u16| {
        format!(
            "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES ({hostgroup}, '127.0.0.1', {port})"
        )
    };
    let mut statements = vec![row(0, server().port()), row(99, refuser(&proxysql))];
    statements.push(format!(
        "INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('{USER}', '{PASSWORD}', 0)"
    ));
    statements.extend(rules(refused));
    statements.extend(
        ["MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES"].map(|what| format!("LOAD {what} TO RUNTIME")),
    );
    proxysql.run(statements).unwrap();
    Some(proxysql)
}

fn client(proxysql: &ProxySql, schema: &str) -> Conn {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(schema),
    };
    connect(proxysql.address(), options).unwrap()
}

/// The error of an execution that was prepared in `open` and runs in `refused`.
fn refused_execution(client: &mut Conn, open: &str, refused: &str, number: usize) -> (u16, String) {
    client.select_db(open).unwrap();
    let statement = client
        .prep(format!("SELECT CAST(? AS SIGNED) + {number}"))
        .unwrap();
    let rows: Vec<i64> = client.exec(&statement, (1,)).unwrap();
    assert_eq!(rows, [1 + number as i64]);
    client.select_db(refused).unwrap();
    match client.exec::<i64, _, _>(&statement, (1,)) {
        Err(Error::MySqlError(error)) => (error.code, error.message),
        other => panic!("{other:?}"),
    }
}

fn status(proxysql: &ProxySql) -> String {
    let rows = proxysql.run(["SELECT status FROM runtime_mysql_servers WHERE hostgroup_id=99"]);
    rows.unwrap()[0][0].clone().unwrap()
}

#[test]
fn a_real_proxysql_refuses_executions_with_the_reason_and_lives() {
    let refusing = RefusingServer::start(&[port(ANY_PORT, REASON)]).unwrap();
    let refuser = refusing.addresses()[0].port();
    let (open, refused) = (schema("refuse_open"), schema("refuse_refused"));
    let what = "executions that a refusing hostgroup answers";
    let Some(mut proxysql) = proxysql(what, |_| refuser, &refused) else {
        return;
    };
    proxysql
        .run([
            format!("SET mysql-monitor_username='{USER}'"),
            format!("SET mysql-monitor_password='{PASSWORD}'"),
            "SET mysql-monitor_ping_interval=100".to_owned(),
            "SET mysql-monitor_connect_interval=100".to_owned(),
            "SET mysql-monitor_enabled='true'".to_owned(),
            "LOAD MYSQL VARIABLES TO RUNTIME".to_owned(),
        ])
        .unwrap();
    let told = (1226, format!("Access denied for user: {REASON}"));
    let rounds =
        std::env::var("SHARDWRIGHT_REFUSED_EXECUTIONS").map_or(300, |rounds| rounds.parse().unwrap());
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (proxysql, open, refused, told) = (&proxysql, &open, &refused, &told);
            scope.spawn(move || {
                for round in 0..rounds / 3 {
                    let number = thread * rounds + round;
                    let mut client = client(proxysql, open);
                    assert_eq!(&refused_execution(&mut client, open, refused, number), told);
                    // A query and a preparation are answered by the rule; the session goes on.
                    let text = client
                        .query_drop(format!("SELECT {number}"))
                        .unwrap_err()
                        .to_string();
                    assert!(text.contains(REASON) && !text.contains("Access denied"), "{text}");
                    let prepared = client
                        .prep(format!("SELECT ? - {number}"))
                        .unwrap_err()
                        .to_string();
                    assert!(
                        prepared.contains(REASON) && !prepared.contains("Access denied"),
                        "{prepared}"
                    );
                    client.select_db(open).unwrap();
                    assert_eq!(client.query_first("SELECT 7").unwrap(), Some(7));
                }
            });
        }
    });
    let pings = format!("SELECT COUNT(*) FROM monitor.mysql_server_ping_log WHERE port={refuser}");
    eventually(PATIENCE, || {
        let rows = proxysql.run([&pings]).unwrap();
        rows[0][0]
            .as_deref()
            .is_some_and(|count| count.parse::<u32>().unwrap() > 10)
    });
    assert_eq!(status(&proxysql), "ONLINE");
    assert_eq!(proxysql.ended().unwrap(), None);
    assert!(refusing.refused()[REASON] >= rounds as u64 / 3 * 3);
}

#[test]
fn without_a_refuser_the_admin_port_of_proxysql_refuses() {
    let (open, refused) = (schema("refuse_admin_open"), schema("refuse_admin_refused"));
    let what = "executions that the admin port answers";
    let Some(mut proxysql) = proxysql(what, |proxysql| proxysql.admin_address().port(), &refused) else {
        return;
    };
    for round in 0..100 {
        let mut client = client(&proxysql, &open);
        let (code, message) = refused_execution(&mut client, &open, &refused, round);
        assert_eq!(code, 1045, "{message}");
        assert_eq!(
            client.query_first(format!("SELECT {round}")).ok(),
            None::<Option<usize>>
        );
    }
    assert_eq!(status(&proxysql), "ONLINE");
    assert_eq!(proxysql.ended().unwrap(), None);
}
