//! Defaults of servers: a session begins with those of its server, whatever they are, before the proxy starts and after.

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::Role;
use shardwright_testkit::{ClientOptions, MariaDb, Options, eventually};
use shardwright_wire::CapabilityFlags;

use crate::leaks::one_connection;
use crate::raw::RawClient;
use crate::resets::{OWN, VALUES, try_text};
use crate::support::{
    PASSWORD, PATIENCE, Setup, TestProxy, USER, create_users, member, start, try_value, value,
};

/// A server of the test's own, with a table.
fn own_server() -> MariaDb {
    let server = MariaDb::start(Options::default()).unwrap();
    create_users(&server);
    server
        .run("CREATE DATABASE t; CREATE TABLE t.x (a INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB")
        .unwrap();
    server
}

fn proxy_of(server: &MariaDb) -> TestProxy {
    start(&Setup {
        port: server.port(),
        ..Setup::default()
    })
}

fn direct(server: &MariaDb) -> Conn {
    try_direct(server, Some("t")).unwrap()
}

fn try_direct(server: &MariaDb, schema: Option<&str>) -> mysql::Result<Conn> {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema,
    };
    server.connect(options)
}

/// What a session meets that says nothing of autocommit, and one that does.
const SCRIPTS: [&[&str]; 9] = [
    &["SELECT @@autocommit"],
    &[
        "INSERT INTO x VALUES (NULL)",
        "ROLLBACK",
        "SELECT COUNT(*) FROM x",
    ],
    &[
        "INSERT INTO x VALUES (NULL)",
        "COMMIT",
        "ROLLBACK",
        "SELECT COUNT(*) FROM x",
    ],
    &["SELECT COUNT(*) FROM x", "SELECT @@in_transaction", "COMMIT"],
    &[
        "SAVEPOINT a",
        "INSERT INTO x VALUES (NULL)",
        "ROLLBACK TO a",
        "SELECT COUNT(*) FROM x",
        "ROLLBACK",
    ],
    &[
        "SET autocommit=1",
        "INSERT INTO x VALUES (NULL)",
        "ROLLBACK",
        "SELECT COUNT(*) FROM x",
    ],
    &[
        "SET autocommit=0",
        "INSERT INTO x VALUES (NULL)",
        "ROLLBACK",
        "SELECT COUNT(*) FROM x",
    ],
    &[
        "SET autocommit=1",
        "SET autocommit=DEFAULT",
        "SELECT @@autocommit",
    ],
    &[
        "INSERT INTO x VALUES (NULL)",
        "SET autocommit=1",
        "ROLLBACK",
        "SELECT COUNT(*) FROM x",
    ],
];

/// The answers of sessions of their own to each script, on an empty table.
fn answers(server: &MariaDb, connect: impl Fn() -> Conn) -> Vec<(&'static str, String)> {
    let mut answers = Vec::new();
    for script in SCRIPTS {
        server.run("DELETE FROM t.x; COMMIT").unwrap();
        let mut client = connect();
        for sql in script {
            answers.push((*sql, try_text(&mut client, sql)));
        }
    }
    answers
}

#[test]
fn autocommit_of_a_server_is_that_of_its_sessions() {
    let server = own_server();
    for before in [false, true] {
        server
            .run(format!("SET GLOBAL autocommit={}", u8::from(before)))
            .unwrap();
        let proxy = proxy_of(&server);
        for now in [before, !before, before] {
            server
                .run(format!("SET GLOBAL autocommit={}", u8::from(now)))
                .unwrap();
            // Whoever meets the change first on a connection of the pool may lose it, and tells the others.
            let ask = || try_value(&mut proxy.connect(None), "SELECT @@autocommit").ok();
            eventually(PATIENCE, || ask() == Some(u8::from(now).to_string()));
            let expected = answers(&server, || direct(&server));
            let found = answers(&server, || proxy.connect(Some("t")));
            assert_eq!(found, expected, "it was {before}, and is {now}");
        }
    }
}

#[test]
fn no_login_is_lost_to_a_change_of_autocommit() {
    let server = own_server();
    let proxy = proxy_of(&server);
    let mut clients: Vec<Conn> = (0..8).map(|_| proxy.connect(Some("t"))).collect();
    for client in &mut clients {
        // Each holds a connection of its own for as long.
        client.query_drop("BEGIN").unwrap();
        client.query_drop("SELECT * FROM x").unwrap();
    }
    drop(clients);
    proxy.settle();
    for switch in [0, 1, 0] {
        server.run(format!("SET GLOBAL autocommit={switch}")).unwrap();
        for _ in 0..12 {
            let mut client = proxy.connect(Some("t"));
            assert_eq!(value(&mut client, "SELECT @@autocommit"), switch.to_string());
        }
    }
}

/// Variables that the driver, the login or the proxy sets, and what one server keeps for replication.
const SET_BY_LOGIN: [&str; 7] = [
    "character_set_client",
    "character_set_connection",
    "character_set_results",
    "collation_connection",
    "max_allowed_packet",
    "sql_slave_skip_counter",
    "max_relay_log_size",
];

fn of_session(connection: &mut Conn, name: &str) -> String {
    try_text(connection, &format!("SELECT @@session.{name}"))
}

/// A session in which the reading of texts is another is refused: these say so.
fn is_refused(answer: &str) -> bool {
    answer == "error 9001"
}

#[test]
fn every_variable_begins_as_its_server_says() {
    let server = own_server();
    let mut root = server.root().unwrap();
    let names: Vec<(String, String)> = root.query("SHOW SESSION VARIABLES").unwrap();
    let proxy = start(&Setup {
        port: server.port(),
        ..one_connection()
    });
    // It is in the pool from now on.
    proxy.connect(None).query_drop("DO 1").unwrap();
    let (mut tried, mut different) = (0, Vec::new());
    for (name, _) in names {
        let before = try_text(&mut root, &format!("SELECT @@global.{name}"));
        if OWN.contains(&name.as_str())
            || SET_BY_LOGIN.contains(&name.as_str())
            || before.starts_with("error")
        {
            continue;
        }
        for new in VALUES {
            if root.query_drop(format!("SET GLOBAL {name} = {new}")).is_err()
                || try_text(&mut root, &format!("SELECT @@global.{name}")) == before
            {
                continue;
            }
            // Some keep everybody out.
            let Ok(mut direct) = try_direct(&server, None) else {
                continue;
            };
            tried += 1;
            let expected = of_session(&mut direct, &name);
            // The connection of the pool, and a new one, as the limit leaves no room for two.
            for (user, which) in [(USER, "of the pool"), ("other", "new")] {
                let mut client = proxy.try_connect(user, PASSWORD, None).unwrap();
                let found = of_session(&mut client, &name);
                if found != expected && !is_refused(&found) {
                    different.push(format!("{name}={new}, {which}: {found} for {expected}"));
                }
            }
            proxy.connect(None).query_drop("DO 1").unwrap_or(());
            break;
        }
        root.query_drop(format!("SET GLOBAL {name} = DEFAULT"))
            .unwrap_or(());
    }
    assert!(tried > 100, "{tried}");
    assert!(different.is_empty(), "of {tried}:\n{}", different.join("\n"));
}

#[test]
fn servers_that_differ_begin_as_the_writer_does() {
    let servers = [own_server(), own_server()];
    for (writer, replica) in [(0, 1), (1, 0)] {
        servers[0]
            .run(format!("SET GLOBAL autocommit={writer}; DELETE FROM t.x; COMMIT"))
            .unwrap();
        servers[1]
            .run(format!("SET GLOBAL autocommit={replica}"))
            .unwrap();
        let ports = [servers[0].port(), servers[1].port()];
        let proxy = start(&Setup {
            port: ports[0],
            configuration: Box::new(move |configuration| {
                configuration.hostgroups[1].members[0].port = ports[1]
            }),
            ..Setup::default()
        });
        for _ in 0..3 {
            let mut client = proxy.connect(Some("t"));
            assert_eq!(
                value(&mut client, "SELECT /* b */ @@autocommit"),
                writer.to_string()
            );
            client.query_drop("COMMIT").unwrap();
            assert_eq!(value(&mut client, "SELECT @@autocommit"), writer.to_string());
            client.query_drop("COMMIT").unwrap();
            client.query_drop("/* b */ INSERT INTO x VALUES (NULL)").unwrap();
            client.query_drop("ROLLBACK").unwrap();
            let kept = value(&mut servers[1].root().unwrap(), "SELECT COUNT(*) FROM t.x");
            assert_eq!(
                kept,
                writer.to_string(),
                "autocommit={writer} on the writer, {replica} here"
            );
            servers[1].run("DELETE FROM t.x; COMMIT").unwrap();
        }
    }
}

#[test]
fn every_session_has_what_init_connect_has_set() {
    let server = own_server();
    server
        .create_user("plain", PASSWORD, Some("ALL PRIVILEGES ON t.*"))
        .unwrap();
    let users =
        |configuration: &mut shardwright_rules::Configuration| configuration.users[1].name = "plain".into();
    let setup = || Setup {
        port: server.port(),
        configuration: Box::new(users),
        ..Setup::default()
    };
    let sees = "SELECT CONCAT_WS(' ', @@autocommit, @@time_zone, @init)";
    for init in ["SET autocommit=0", "SET time_zone='+05:00', @init=7", ""] {
        server.run(format!("SET GLOBAL init_connect=\"{init}\"")).unwrap();
        let fresh = start(&setup());
        for user in ["plain", USER] {
            let options = ClientOptions {
                user,
                password: PASSWORD,
                schema: Some("t"),
            };
            let expected = value(&mut server.connect(options).unwrap(), sees);
            for _ in 0..3 {
                let mut client = fresh.try_connect(user, PASSWORD, Some("t")).unwrap();
                assert_eq!(value(&mut client, sees), expected, "{user}: {init}");
            }
        }
    }
}

#[test]
fn the_answer_to_a_login_tells_what_that_of_the_server_tells() {
    let server = own_server();
    for setting in [
        "SET GLOBAL session_track_schema=1",
        "SET GLOBAL session_track_schema=0",
        "SET GLOBAL session_track_schema=1; SET GLOBAL session_track_system_variables=''",
        "SET GLOBAL session_track_system_variables='*'",
    ] {
        // MySQL numbers its statements then.
        if server.flavour().is_mysql() && setting.ends_with("'*'") {
            continue;
        }
        server.run(setting).unwrap();
        let proxy = proxy_of(&server);
        for (schema, capabilities) in [
            (None, CapabilityFlags::CLIENT_SESSION_TRACK),
            (Some("t"), CapabilityFlags::CLIENT_SESSION_TRACK),
            (Some("t"), CapabilityFlags::empty()),
        ] {
            let both = [server.address(), proxy.running().listen_address()].map(|address| {
                let (mut client, login) = RawClient::log_in_to(address, capabilities, schema);
                let texts: [&[u8]; 3] = [b"\x03SET autocommit=0", b"\x03SET autocommit=1", b"\x02t"];
                let answers = texts.map(|text| {
                    client.send(0, text);
                    client.packet().unwrap()
                });
                (login, answers)
            });
            assert_eq!(both[0], both[1], "{setting} {schema:?} {capabilities:?}");
        }
    }
}

#[test]
fn a_global_variable_is_read_where_the_session_has_set_it() {
    let servers = [own_server(), own_server()];
    let ports = [servers[0].port(), servers[1].port()];
    let proxy = start(&Setup {
        port: ports[0],
        configuration: Box::new(move |configuration| {
            // Hostgroup 20 reads beside hostgroup 10.
            let mut group = configuration.hostgroups.pop().unwrap();
            configuration.clusters.truncate(1);
            configuration.clusters[0].reader = Some(group.id);
            group.cluster = configuration.clusters[0].address.clone();
            group.role = Role::Reader;
            group.members[0] = member("a", ports[1], 20);
            configuration.hostgroups.push(group);
        }),
        ..Setup::default()
    });
    let reads = [
        "SELECT /* b */ @@global.max_connect_errors",
        "SELECT /* b */ @@max_connect_errors",
        "SHOW /* b */ GLOBAL VARIABLES LIKE 'max_connect_errors'",
    ];
    let ends_in = |client: &mut Conn, sql: &str| try_text(client, sql).rsplit(' ').next().map(str::to_owned);
    let (mut client, mut other) = (proxy.connect(None), proxy.connect(None));
    let first = value(&mut other, reads[0]);
    client.query_drop("SET GLOBAL max_connect_errors=777").unwrap();
    for sql in reads {
        assert_eq!(ends_in(&mut client, sql).as_deref(), Some("777"), "{sql}");
        assert_eq!(ends_in(&mut other, sql), Some(first.clone()), "{sql}");
        let prepared = client.exec_first::<mysql::Row, _, _>(sql, ()).unwrap().unwrap();
        assert!(crate::support::text_of(&prepared).ends_with("777"), "{sql}");
    }
    assert_eq!(value(&mut client, "SELECT /* b */ @@port"), ports[0].to_string());
    assert_eq!(value(&mut client, "SELECT /* b */ COUNT(*) FROM t.x"), "0");
}

#[test]
fn a_user_without_a_password_logs_in() {
    let server = own_server();
    server.create_user("open", "", Some("SELECT ON *.*")).unwrap();
    let proxy = start(&Setup {
        port: server.port(),
        configuration: Box::new(|configuration| {
            configuration.users[1].name = "open".into();
            configuration.users[1].password = None;
        }),
        ..Setup::default()
    });
    let mut client = proxy.try_connect("open", "", None).unwrap();
    assert_eq!(
        value(&mut client, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"),
        "open"
    );
    assert!(proxy.try_connect("open", "a", None).is_err());
}
