//! Accounts that a server refuses, or takes rights from: the client is told so, at once where it logs in anew and within the age
//! of a connection elsewhere.

use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_proxy::Options;
use shardwright_testkit::{ClientOptions, MariaDb, connect, eventually};

use crate::roles::{replication, setup};
use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, error, start, value};

/// A server of a watched cluster, for which statements wait when it cannot be reached.
struct Scene {
    server: MariaDb,
    proxy: TestProxy,
}

impl Scene {
    /// `app` may do everything, except to write to a server that is read-only.
    fn new(arguments: &[&str], change: fn(&mut Options)) -> Self {
        let mut options = shardwright_testkit::Options::default();
        options
            .extra_args
            .extend(arguments.iter().map(|&argument| argument.to_owned()));
        let server = MariaDb::start(options).unwrap();
        server
            .run("CREATE DATABASE t; CREATE TABLE t.t (id INT PRIMARY KEY AUTO_INCREMENT)")
            .unwrap();
        for user in ["app", "other"] {
            server.create_user(user, PASSWORD, Some("ALL ON t.*")).unwrap();
        }
        let monitor = if server.flavour().is_mysql() {
            "REPLICATION CLIENT"
        } else {
            "ALL"
        };
        let monitor = format!("{monitor} ON *.*");
        server.create_user("monitor", "watch", Some(&monitor)).unwrap();
        let of_cluster = setup(replication(), std::slice::from_ref(&server));
        let proxy = start(&Setup {
            options: Box::new(move |options| {
                // A wait for a server would outlast the test.
                options.limits.checkout_timeout = Duration::from_secs(3600);
                change(options);
            }),
            ..of_cluster
        });
        // The monitor has to see the server first.
        eventually(PATIENCE, || {
            let other = proxy.try_connect("other", PASSWORD, None);
            other.is_ok_and(|mut other| other.query_drop("SELECT 1").is_ok())
        });
        Self { server, proxy }
    }

    fn through(&self) -> Conn {
        self.proxy.connect(None)
    }

    /// The refusal of a login without a proxy.
    fn direct(&self, schema: Option<&str>) -> Option<(u16, String)> {
        let login = ClientOptions {
            user: "app",
            password: PASSWORD,
            schema,
        };
        match connect(self.server.address(), login) {
            Ok(_) => None,
            Err(mysql::Error::MySqlError(error)) => Some((error.code, error.message)),
            Err(error) => panic!("{error}"),
        }
    }

    fn root(&self, sql: &str) {
        self.server.run(sql).unwrap();
    }
}

const LOCK: &str = "ALTER USER app@'%' ACCOUNT LOCK";
const UNLOCK: &str = "ALTER USER app@'%' ACCOUNT UNLOCK";

#[test]
fn a_refused_login_is_told_at_once_in_the_servers_words() {
    let scene = Scene::new(&[], |options| options.limits.backend_max_age = Duration::ZERO);
    let mut client = scene.through();
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    for (refuse, allow) in [
        (LOCK, UNLOCK),
        (
            "ALTER USER app@'%' REQUIRE X509",
            "ALTER USER app@'%' REQUIRE NONE",
        ),
        (
            "RENAME USER app@'%' TO app@'10.9.8.7'",
            "RENAME USER app@'10.9.8.7' TO app@'%'",
        ),
        (
            "RENAME USER app@'%' TO away@'%'",
            "RENAME USER away@'%' TO app@'%'",
        ),
    ] {
        scene.root(refuse);
        let direct = scene.direct(None).expect(refuse);
        for _ in 0..3 {
            assert_eq!(error(&mut client, "SELECT 1"), direct, "{refuse}");
        }
        scene.root(allow);
        assert_eq!(value(&mut client, "SELECT 1"), "1", "{allow}");
    }
}

#[test]
fn an_expired_password_can_be_changed() {
    let scene = Scene::new(&[], |_| ());
    scene.root("ALTER USER app@'%' PASSWORD EXPIRE");
    let mut client = scene.through();
    for _ in 0..2 {
        assert_eq!(error(&mut client, "SELECT 1").0, 1820);
    }
    let mut other = scene.proxy.try_connect("other", PASSWORD, None).unwrap();
    assert_eq!(value(&mut other, "SELECT 1"), "1");
    // The password stays the one that the proxy has: with another, the proxy has to be given that.
    let change = match scene.server.flavour().is_mysql() {
        true => format!("ALTER USER USER() IDENTIFIED BY '{PASSWORD}'"),
        false => format!("SET PASSWORD = PASSWORD('{PASSWORD}')"),
    };
    client.query_drop(change).unwrap();
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    let mut fresh = scene.through();
    assert_eq!(value(&mut fresh, "SELECT CURRENT_USER()"), "app@%");
}

#[test]
fn a_limit_of_the_account_is_waited_for_and_then_told() {
    let scene = Scene::new(&[], |options| {
        options.limits.checkout_timeout = Duration::from_millis(300)
    });
    scene.root("GRANT USAGE ON *.* TO app@'%'");
    scene.root("ALTER USER app@'%' WITH MAX_USER_CONNECTIONS 1");
    let mut first = scene.through();
    let mut second = scene.through();
    first.query_drop("USE t").unwrap();
    first.query_drop("BEGIN").unwrap();
    first.query_drop("INSERT INTO t.t VALUES ()").unwrap();
    let (code, message) = error(&mut second, "SELECT 1");
    assert_eq!(code, 9001);
    assert!(
        message.contains("1226 (42000)") || message.contains("1203 (42000)"),
        "{message}"
    );
    // Others are served, and the connection that comes back is taken.
    let mut other = scene.proxy.try_connect("other", PASSWORD, None).unwrap();
    assert_eq!(value(&mut other, "SELECT 1"), "1");
    first.query_drop("ROLLBACK").unwrap();
    drop(first);
    eventually(PATIENCE, || second.query_drop("SELECT COUNT(*) FROM t.t").is_ok());
}

#[test]
fn a_full_server_is_waited_for_and_then_told() {
    let scene = Scene::new(&["--max-connections=10"], |options| {
        options.limits.checkout_timeout = Duration::from_millis(300);
    });
    let other = ClientOptions {
        user: "other",
        password: PASSWORD,
        schema: None,
    };
    let mut taken = Vec::new();
    let refused = loop {
        match connect(scene.server.address(), other) {
            Ok(connection) => taken.push(connection),
            Err(mysql::Error::MySqlError(error)) => break error.code,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(refused, 1040);
    // The proxy's idle connection, another user's, makes room for this one.
    let mut holder = scene.through();
    holder.query_drop("BEGIN").unwrap();
    holder.query_drop("INSERT INTO t.t VALUES ()").unwrap();
    let mut client = scene.through();
    let (code, message) = error(&mut client, "SELECT 1");
    assert!(
        code == 9001 && message.contains("Too many connections"),
        "{message}"
    );
    drop(taken);
    eventually(PATIENCE, || client.query_drop("SELECT 1").is_ok());
}

#[test]
fn an_account_that_loses_its_rights_loses_them_here() {
    let scene = Scene::new(&[], |options| options.limits.backend_max_age = Duration::ZERO);
    let mut client = scene.through();
    scene.root("GRANT SELECT ON *.* TO app@'%'");
    assert_eq!(value(&mut client, "SELECT COUNT(*) > 0 FROM mysql.user"), "1");
    scene.root("REVOKE SELECT ON *.* FROM app@'%'");
    assert_eq!(error(&mut client, "SELECT COUNT(*) FROM mysql.user").0, 1142);
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t.t"), "0");
    scene.root("ALTER USER app@'%' IDENTIFIED BY 'another'");
    assert_eq!(error(&mut client, "SELECT 1").0, 1045);
    scene.root("DROP USER app@'%'");
    // MySQL asks for a method of its choice where there is no account, so as not to say so.
    let is_refused = |client: &mut Conn| matches!(error(client, "SELECT 1").0, 1045 | 2059);
    assert!(is_refused(&mut client));
    assert!(is_refused(&mut scene.through()));
}

#[test]
fn a_connection_of_the_pool_has_the_rights_of_its_login_for_its_age() {
    let scene = Scene::new(&[], |_| ());
    let mut client = scene.through();
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    scene.root(LOCK);
    assert_eq!(value(&mut client, "SELECT 1"), "1");
}

#[test]
fn a_session_keeps_its_id_when_its_connection_is_too_old() {
    let scene = Scene::new(&[], |options| {
        options.limits.backend_max_age = Duration::ZERO;
        options.limits.brief_hold = Duration::ZERO;
    });
    let mut client = scene.through();
    for expect in 1..4 {
        client.query_drop("INSERT INTO t.t VALUES ()").unwrap();
        let mut other = scene.through();
        assert_eq!(value(&mut other, "SELECT LAST_INSERT_ID()"), "0");
        assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t.t"), expect.to_string());
        assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), expect.to_string());
    }
    scene.proxy.settle();
}
