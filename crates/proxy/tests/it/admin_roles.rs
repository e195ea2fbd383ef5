//! Accounts of the admin port: each does what its role allows, and what it did is on record.

use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn};
use shardwright_proxy::{Options, Proxy};
use shardwright_testkit::{ClientOptions, connect, text_rows};
use shardwright_wire::{BackendCredentials, ClientLogin, ClientSecret, ClientStep, Privacy};

use crate::raw::{credentials, packet, send};
use crate::support::{
    ADMIN_PASSWORD, PASSWORD, PATIENCE, Setup, TestProxy, error, mariadb, observe, start, value,
};

const SECRET: &str = "account-canary-9b2e";
/// SELECT PASSWORD('password')
const HASH: &str = "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19";

fn file(data_dir: &Path) -> PathBuf {
    data_dir.with_file_name("accounts.yaml")
}

fn write(path: &Path, oncall: &str) {
    let secret = path.with_file_name("account-secret");
    std::fs::write(&secret, SECRET).unwrap();
    let secret = secret.display();
    let text = format!(
        "accounts:\n  metrics: {{role: stats, password: {{file: {secret}}}}}\n  \
         oncall: {{role: {oncall}, password: {{file: {secret}}}}}\n  \
         deploy: {{role: admin, password: {{file: {secret}}}}}\n  \
         hashed: {{role: stats, password: '{HASH}'}}\n"
    );
    std::fs::write(path, text).unwrap();
}

fn with_accounts() -> TestProxy {
    start(&Setup {
        options: Box::new(|options: &mut Options| {
            let path = file(&options.data_dir);
            write(&path, "operator");
            options.admin_accounts = Some(path);
        }),
        ..Setup::default()
    })
}

fn log_in(proxy: &TestProxy, user: &str, password: &str) -> mysql::Result<Conn> {
    let options = ClientOptions {
        user,
        password,
        schema: None,
    };
    connect(proxy.running().admin_address(), options)
}

fn account(proxy: &TestProxy, user: &str) -> Conn {
    log_in(proxy, user, SECRET).unwrap()
}

/// Statements, and how many of the roles stats, operator, admin may not run them.
const STATEMENTS: &[(&str, usize)] = &[
    ("SELECT 1", 0),
    ("SELECT * FROM stats_mysql_global", 0),
    ("SHOW TABLES", 0),
    ("SHARDWRIGHT OBSERVE", 0),
    ("EXPLAIN ROUTE 'SELECT 1'", 0),
    ("SELECT * FROM stats_mysql_query_digest_reset", 1),
    ("SHARDWRIGHT PAUSE 'clusters.a' FOR 1", 1),
    ("SHARDWRIGHT RESUME 'clusters.a'", 1),
    ("SHARDWRIGHT PREFER 'clusters.a.servers.a1'", 1),
    ("SHARDWRIGHT REFUSE APP 'archive' FOR 1", 1),
    ("SHARDWRIGHT ALLOW APP 'archive'", 1),
    ("SHARDWRIGHT ALLOW DIGEST '0x1F'", 1),
    ("SHARDWRIGHT KILL 1", 1),
    ("SHARDWRIGHT CHECK EXPECT 99 '' AS '{}'", 2),
    ("SHARDWRIGHT APPLY EXPECT 99 '' AS '{}'", 2),
    ("SHARDWRIGHT RELOAD", 2),
];

#[test]
fn a_role_does_what_it_may_and_no_more() {
    let proxy = with_accounts();
    for (place, user) in ["metrics", "oncall", "deploy", "admin"].into_iter().enumerate() {
        let mut connection = match user {
            "admin" => proxy.admin(),
            user => account(&proxy, user),
        };
        for (sql, denied) in STATEMENTS {
            let is_denied = match connection.query_drop(sql) {
                Err(mysql::Error::MySqlError(error)) if error.code == 1227 => {
                    assert!(
                        error.message.contains("needs the role"),
                        "{sql}: {}",
                        error.message
                    );
                    true
                }
                Ok(()) | Err(mysql::Error::MySqlError(_)) => false,
                Err(error) => panic!("{user}, {sql}: {error}"),
            };
            assert_eq!(is_denied, place < *denied, "{user}: {sql}");
        }
    }
    let (code, message) = error(&mut account(&proxy, "metrics"), "SHARDWRIGHT RELOAD");
    assert_eq!(code, 1227);
    assert_eq!(
        message,
        "Access denied: this needs the role admin, and the account metrics has the role stats"
    );
    assert_eq!(observe(&mut proxy.admin()).0, 1, "nothing was applied");
}

#[test]
fn a_look_shows_no_secret() {
    let proxy = with_accounts();
    let mut metrics = account(&proxy, "metrics");
    let (_, _, configuration) = observe(&mut metrics);
    let users: Vec<mysql::Row> = metrics.query("SELECT * FROM mysql_users").unwrap();
    let shown = format!("{configuration} {users:?}");
    assert!(shown.contains("users.app"), "{shown}");
    assert!(!shown.contains(PASSWORD) && !shown.contains(SECRET), "{shown}");
}

#[test]
fn real_clients_log_in_and_a_hash_is_a_password() {
    let proxy = with_accounts();
    let to = proxy.running().admin_address();
    let run = |user: &str, password: &str| {
        let sql = "SHARDWRIGHT REFUSE APP 'archive' FOR 1";
        mariadb(to, (user, password), &["--skip-ssl"], sql)
    };
    assert_eq!(run("oncall", SECRET), "archive\t60\n");
    assert!(run("hashed", "password").contains("ERROR 1227"));
    assert!(run("hashed", HASH).contains("ERROR 1045"));
    assert!(run("metrics", "").contains("ERROR 1045"));
}

#[test]
fn another_account_on_the_same_connection_has_its_own_role() {
    let proxy = with_accounts();
    let mut connection = account(&proxy, "oncall");
    connection.query_drop("SHARDWRIGHT ALLOW APP 'archive'").unwrap();
    let metrics = ChangeUserOpts::new()
        .with_user(Some("metrics".into()))
        .with_pass(Some(SECRET.into()));
    connection.change_user(metrics).unwrap();
    assert_eq!(error(&mut connection, "SHARDWRIGHT ALLOW APP 'archive'").0, 1227);
}

#[test]
fn connections_are_ended_by_operators() {
    let proxy = with_accounts();
    let mut victim = proxy.admin();
    let id = victim.connection_id();
    let kill = |user: &str| {
        let mut stream = TcpStream::connect(proxy.running().admin_address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap()).unwrap();
        let login = BackendCredentials {
            user: user.into(),
            secret: ClientSecret::password(SECRET.as_bytes()),
            ..credentials()
        };
        let (mut login, answer) = ClientLogin::start(&greeting, &login, Privacy::Plain).unwrap();
        send(&mut stream, 1, &answer);
        let ready = login.on_payload(&packet(&mut stream).unwrap()).unwrap();
        assert!(matches!(ready, ClientStep::Ready { .. }), "{ready:?}");
        // COM_PROCESS_KILL
        send(&mut stream, 0, &[&[12][..], &id.to_le_bytes()].concat());
        packet(&mut stream).unwrap()
    };
    let denied = kill("metrics");
    assert_eq!((denied[0], &denied[1..3]), (0xFF, &1227_u16.to_le_bytes()[..]));
    assert_eq!(value(&mut victim, "SELECT 1"), "1");
    assert_eq!(kill("oncall")[0], 0);
    assert!(victim.query_drop("SELECT 1").is_err());
}

#[test]
fn a_reload_reads_the_file_again_and_a_broken_one_changes_nothing() {
    let proxy = with_accounts();
    let path = file(&proxy.directory.path().join("data"));
    let mut oncall = account(&proxy, "oncall");
    let reload = || -> Vec<(String, String)> { proxy.admin().query("SHARDWRIGHT RELOAD").unwrap() };
    oncall.query_drop("SHARDWRIGHT ALLOW APP 'archive'").unwrap();

    write(&path, "boss");
    let problems = reload();
    assert_eq!(problems.len(), 1, "{problems:?}");
    let expected = format!(
        "{}: accounts.oncall.role: write stats, operator or admin",
        path.display()
    );
    assert_eq!(problems[0], ("admin accounts".to_owned(), expected));
    oncall.query_drop("SHARDWRIGHT ALLOW APP 'archive'").unwrap();
    let last =
        "SELECT error FROM stats_shardwright_operations WHERE operation = 'RELOAD' ORDER BY number DESC";
    assert!(value(&mut oncall, last).contains("accounts.oncall.role"));

    write(&path, "stats");
    assert_eq!(reload(), []);
    assert_eq!(value(&mut oncall, last), "NULL");
    assert_eq!(
        error(&mut oncall, "SHARDWRIGHT ALLOW APP 'archive'").0,
        1227,
        "of an open connection too"
    );

    std::fs::write(&path, "accounts: {}").unwrap();
    assert!(proxy.running().reload().is_empty());
    let (code, message) = error(&mut oncall, "SELECT 1");
    assert_eq!(
        (code, &*message),
        (1227, "Access denied: the account oncall has been removed")
    );
    assert!(log_in(&proxy, "oncall", SECRET).is_err());
}

#[test]
fn a_file_that_cannot_be_used_ends_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let any = "127.0.0.1:0".parse().unwrap();
    let mut options = Options::new(any, any, directory.path().join("data"));
    let path = file(&options.data_dir);
    options.admin_accounts = Some(path.clone());
    let missing = Proxy::start(options.clone()).unwrap_err().to_string();
    assert!(
        missing.starts_with(&format!(
            "admin accounts: {}: it cannot be read: ",
            path.display()
        )),
        "{missing}"
    );
    std::fs::write(&path, "accounts: {admin: {role: stats, password: {env: X}}}").unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let taken = Proxy::start(options).unwrap_err().to_string();
    assert!(taken.contains("accounts.admin: "), "{taken}");
}

#[test]
fn operations_are_on_record_with_who_did_them() {
    let proxy = with_accounts();
    let mut oncall = account(&proxy, "oncall");
    oncall
        .query_drop("SHARDWRIGHT REFUSE APP 'archive' FOR 5")
        .unwrap();
    assert_eq!(
        error(&mut oncall, "SHARDWRIGHT PREFER 'clusters.a.servers.a1'").0,
        1105
    );
    assert_eq!(error(&mut oncall, "SHARDWRIGHT RELOAD").0, 1227);
    account(&proxy, "deploy")
        .query_drop("SHARDWRIGHT RELOAD")
        .unwrap();
    proxy.running().reload();
    let mut metrics = account(&proxy, "metrics");
    let columns = "number, account, address, operation, generation, error";
    let sql = format!("SELECT {columns} FROM stats_shardwright_operations");
    let rows = text_rows(&mut metrics, &sql).unwrap();
    // Without the port of the address.
    let cell =
        |cell: Option<String>| cell.map_or("-".to_owned(), |cell| cell.split(':').next().unwrap().to_owned());
    let shown: Vec<String> = rows
        .into_iter()
        .map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(" | "))
        .collect();
    assert_eq!(
        shown,
        [
            "1 | admin | 127.0.0.1 | APPLY | 1 | -",
            "2 | oncall | 127.0.0.1 | REFUSE APP archive for 5 min | 1 | -",
            "3 | oncall | 127.0.0.1 | PREFER clusters.a.servers.a1 | 1 | no monitor watches a server clusters.a.servers.a1",
            "4 | deploy | 127.0.0.1 | RELOAD | 1 | -",
            "5 | - | - | RELOAD | 1 | -",
        ]
    );
}

#[test]
fn a_reload_reads_the_password_of_admin_again() {
    let password_file = |data_dir: &Path| data_dir.with_file_name("admin.pw");
    let proxy = start(&Setup {
        options: Box::new(move |options: &mut Options| {
            let path = password_file(&options.data_dir);
            std::fs::write(&path, ADMIN_PASSWORD).unwrap();
            options.admin_password = None;
            options.admin_password_file = Some(path);
        }),
        ..Setup::default()
    });
    let path = password_file(&proxy.directory.path().join("data"));
    let mut admin = proxy.admin();
    std::fs::write(&path, SECRET).unwrap();
    assert!(log_in(&proxy, "admin", SECRET).is_err(), "before the reload");
    admin.query_drop("SHARDWRIGHT RELOAD").unwrap();
    log_in(&proxy, "admin", SECRET).unwrap();
    assert!(log_in(&proxy, "admin", ADMIN_PASSWORD).is_err());
    std::fs::write(&path, "").unwrap();
    let problems = text_rows(&mut admin, "SHARDWRIGHT RELOAD").unwrap();
    assert_eq!(problems[0][0].as_deref(), Some("admin accounts"));
    log_in(&proxy, "admin", SECRET).unwrap();
}
