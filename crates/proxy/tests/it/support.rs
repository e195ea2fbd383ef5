//! A proxy in front of one real server that stands for two hostgroups, and what tests ask of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, Row};
use shardwright_proxy::{Options, Proxy, RunningProxy};
use shardwright_rules::{
    Body, ClientTls, Cluster, ClusterKind, CommentForm, Configuration, Conflict, EngineId, EngineRule,
    Finder, Hostgroup, HostgroupId, KeyKind, KeyValue, MapStep, Member, MemberStatus, MissingAction,
    MissingBegin, MissingKey, Names, NativeStep, Role, RolesBy, Rule, Scope, SecretReference, ServerTls,
    Shard, StatedTables, UnknownKey, Unqualified, User, WriterServesReads,
};
use shardwright_testkit::{ClientOptions, Flavour, MariaDb, connect, text_rows};
use tempfile::TempDir;

pub(crate) const USER: &str = "app";
pub(crate) const PASSWORD: &str = "geheim-canary-5c1d";
pub(crate) const ADMIN_PASSWORD: &str = "admin-canary-77aa";
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

static SERVER: LazyLock<MariaDb> = LazyLock::new(|| {
    let server =
        MariaDb::start(shardwright_testkit::Options::default().arg("--max-allowed-packet=64M")).unwrap();
    create_users(&server);
    server
});

/// The server that most tests share; each test has a schema of its own.
pub(crate) fn server() -> &'static MariaDb {
    &SERVER
}

pub(crate) fn create_users(server: &MariaDb) {
    server
        .create_user(USER, PASSWORD, Some("ALL PRIVILEGES ON *.*"))
        .unwrap();
    server
        .create_user("other", PASSWORD, Some("ALL PRIVILEGES ON *.*"))
        .unwrap();
}

static HEAVY: Mutex<()> = Mutex::new(());

/// Held by tests that need much memory and by those that measure it: they share a process.
pub(crate) fn heavy() -> MutexGuard<'static, ()> {
    HEAVY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A schema that no other test uses.
pub(crate) fn schema(name: &str) -> String {
    server()
        .run(format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}"))
        .unwrap();
    name.to_owned()
}

/// What a test changes of the usual configuration: hostgroups 10 and 20, `/* b */` goes to 20, users `app` and `other`.
pub(crate) struct Setup {
    pub(crate) options: Box<dyn Fn(&mut Options)>,
    pub(crate) configuration: Box<dyn Fn(&mut Configuration)>,
    pub(crate) max_connections: u32,
    pub(crate) port: u16,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            options: Box::new(|_| ()),
            configuration: Box::new(|_| ()),
            max_connections: 20,
            port: server().port(),
        }
    }
}

/// A proxy in this process, with a configuration applied through its admin port.
pub(crate) struct TestProxy {
    pub(crate) running: Option<RunningProxy>,
    pub(crate) directory: Arc<TempDir>,
}

pub(crate) fn start(setup: &Setup) -> TestProxy {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let secret = write_secret(&directory);
    let proxy = start_on(directory, setup);
    let configuration = configuration(setup, &secret);
    let mut admin = proxy.admin();
    apply(&mut admin, &configuration).unwrap();
    proxy
}

/// A proxy on a data directory, which may hold a generation.
pub(crate) fn start_on(directory: Arc<TempDir>, setup: &Setup) -> TestProxy {
    let any = "127.0.0.1:0".parse().unwrap();
    let mut options = Options::new(any, any, directory.path().join("data"));
    options.admin_password = Some(ADMIN_PASSWORD.to_owned().into());
    // MySQL asks for the password itself where it sees a user for the first time.
    options.allow_public_key_retrieval = Flavour::default().is_mysql();
    (setup.options)(&mut options);
    TestProxy {
        running: Some(Proxy::start(options).unwrap()),
        directory,
    }
}

pub(crate) fn write_secret(directory: &TempDir) -> PathBuf {
    let path = directory.path().join("secret");
    std::fs::write(&path, format!("{PASSWORD}\n")).unwrap();
    path
}

pub(crate) fn configuration(setup: &Setup, secret: &std::path::Path) -> Configuration {
    let mut configuration = Configuration::empty(EngineId::Bundled);
    for (name, id) in [("a", 10), ("b", 20)] {
        configuration.clusters.push(Cluster {
            name: name.into(),
            address: format!("clusters.{name}").into(),
            kind: ClusterKind::Single,
            writer: HostgroupId(id),
            reader: None,
            writer_serves_reads: WriterServesReads::LastResort,
            on_unknown: Default::default(),
            slow_readers: Default::default(),
            roles_by: RolesBy::Engine,
            candidates: Vec::new(),
        });
        configuration.hostgroups.push(Hostgroup {
            id: HostgroupId(id),
            cluster: format!("clusters.{name}").into(),
            role: Role::Writer,
            members: vec![member(name, setup.port, setup.max_connections)],
        });
    }
    for name in [USER, "other"] {
        configuration.users.push(User {
            name: name.into(),
            address: format!("users.{name}").into(),
            password: Some(SecretReference::File(secret.to_str().unwrap().into())),
            default_hostgroup: HostgroupId(10),
            default_schema: None,
            max_connections: 100,
            transaction_persistent: true,
            annotations_allowed: false,
            reads_only: false,
            statement_timeout_ms: None,
            tls: ClientTls::Optional,
        });
    }
    configuration.graph.rules.push(rule(
        100,
        EngineRule {
            match_pattern: Some(r"/\* b \*/".into()),
            destination_hostgroup: Some(20),
            apply: true,
            ..EngineRule::default()
        },
    ));
    (setup.configuration)(&mut configuration);
    configuration
}

pub(crate) fn member(name: &str, port: u16, max_connections: u32) -> Member {
    Member {
        server: format!("clusters.{name}.servers.{name}1").into(),
        host: "127.0.0.1".into(),
        port,
        weight: 1,
        tier: 0,
        max_connections,
        max_replication_lag_s: 0,
        tls: ServerTls::Disabled,
        status: MemberStatus::Online,
    }
}

pub(crate) fn rule(id: u32, row: EngineRule) -> Rule {
    Rule {
        id,
        address: format!("query_rules.test.rules[{id}]").into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Engine(Box::new(row)),
    }
}

/// Map `tenants`: tenant 1 in cluster `a`, tenant 2 in `b`, each in a schema of its own, by `/* tenant=1 */`. Transactions
/// wait for their first key.
pub(crate) fn tenants_by_comment(schema: &str) -> MapStep {
    let shard = |tenant: i64, cluster: &str| Shard {
        address: format!("shard_maps.tenants.shards.t{tenant}").into(),
        cluster: Some(cluster.into()),
        schema: Some(format!("{schema}_{tenant}").into()),
        keys: vec![KeyValue::Integer(tenant)],
        ranges: Vec::new(),
        remainders: Vec::new(),
        refuse: None,
    };
    MapStep {
        map: "tenants".into(),
        key: "tenant".into(),
        kind: KeyKind::Integer,
        finders: vec![Finder::Comment {
            word: "tenant".into(),
            form: CommentForm::Pairs,
        }],
        conflict: Conflict::Reject,
        logical_schema: Some(schema.into()),
        unqualified: Unqualified::Qualify,
        tables: StatedTables::default(),
        shards: vec![shard(1, "a"), shard(2, "b")],
        remainder: None,
        missing_by_user: Default::default(),
        missing: MissingKey {
            statements: MissingAction::Reject,
            session_setup: MissingAction::Allow,
            begin: MissingBegin::FirstStatement,
        },
        unknown: UnknownKey::Reject,
        otherwise: None,
    }
}

/// A map as the only rule, for the user that tests log in as.
pub(crate) fn map_alone(map: MapStep) -> Vec<Rule> {
    let scope = Scope {
        users: Names {
            any_of: vec![USER.into()],
            ..Names::default()
        },
        ..Scope::default()
    };
    vec![Rule {
        id: 1000,
        address: "shard_maps.tenants".into(),
        shards: Vec::new(),
        summary: None,
        flag_in: 0,
        body: Body::Native {
            scope: Box::new(scope),
            step: NativeStep::Map(Box::new(map)),
        },
    }]
}

impl TestProxy {
    pub(crate) fn running(&self) -> &RunningProxy {
        self.running.as_ref().unwrap()
    }

    pub(crate) fn connect(&self, schema: Option<&str>) -> Conn {
        self.try_connect(USER, PASSWORD, schema).unwrap()
    }

    pub(crate) fn try_connect(
        &self,
        user: &str,
        password: &str,
        schema: Option<&str>,
    ) -> mysql::Result<Conn> {
        connect(
            self.running().listen_address(),
            ClientOptions {
                user,
                password,
                schema,
            },
        )
    }

    pub(crate) fn admin(&self) -> Conn {
        connect(
            self.running().admin_address(),
            ClientOptions {
                user: "admin",
                password: ADMIN_PASSWORD,
                schema: None,
            },
        )
        .unwrap()
    }

    /// Waits until as many connections to servers are idle as there are open ones.
    pub(crate) fn settle(&self) {
        let mut admin = self.admin();
        shardwright_testkit::eventually(PATIENCE, || {
            value(
                &mut admin,
                "SELECT SUM(ConnUsed) FROM stats_mysql_connection_pool",
            ) == "0"
        });
    }
}

/// What the `mariadb` command shows, its errors too, when it logs in with a name and a password and runs `sql`.
pub(crate) fn mariadb(
    to: SocketAddr,
    (user, password): (&str, &str),
    arguments: &[&str],
    sql: &str,
) -> String {
    let output = Command::new("mariadb")
        .args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--protocol=TCP",
        ])
        .args([format!("--host={}", to.ip()), format!("--port={}", to.port())])
        .args([format!("--user={user}"), format!("--password={password}")])
        .args(arguments)
        .args(["--execute", sql])
        .output()
        .unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// What an admin port serves: generation and fingerprint.
pub(crate) fn observe(admin: &mut Conn) -> (i64, String, String) {
    let mut observed: Row = admin.query_first("SHARDWRIGHT OBSERVE").unwrap().unwrap();
    let mut text = |name| observed.take::<String, _>(name).unwrap();
    let [fingerprint, json] = ["fingerprint", "configuration"].map(&mut text);
    (observed.take("generation").unwrap(), fingerprint, json)
}

pub(crate) fn apply(admin: &mut Conn, configuration: &Configuration) -> mysql::Result<(i64, String)> {
    let (generation, fingerprint, _) = observe(admin);
    apply_expecting(admin, generation, &fingerprint, &configuration.to_json())
}

pub(crate) fn apply_expecting(
    admin: &mut Conn,
    generation: i64,
    fingerprint: &str,
    json: &str,
) -> mysql::Result<(i64, String)> {
    let json = json.replace('\'', "''");
    let sql = format!("SHARDWRIGHT APPLY EXPECT {generation} '{fingerprint}' AS '{json}'");
    Ok(admin.query_first(sql)?.unwrap())
}

/// What is wrong with a proxy, by its own account: what it is about, and the problem.
pub(crate) fn problems(admin: &mut Conn) -> Vec<(String, String)> {
    admin
        .query("SELECT address, problem FROM stats_shardwright_problems")
        .unwrap()
}

/// The first value of the first row as text; `NULL` for none.
pub(crate) fn value(connection: &mut Conn, sql: &str) -> String {
    try_value(connection, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

pub(crate) fn try_value(connection: &mut Conn, sql: &str) -> mysql::Result<String> {
    let rows = text_rows(connection, sql)?;
    let first = rows
        .into_iter()
        .next()
        .and_then(|row| row.into_iter().next())
        .flatten();
    Ok(first.unwrap_or_else(|| "NULL".to_owned()))
}

/// The values of a row as text, with blanks between them.
pub(crate) fn text_of(row: &mysql::Row) -> String {
    let values = (0..row.len()).filter_map(|at| row.as_ref(at));
    let texts = values.map(|value| match value {
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// The number and message of the error that a statement is answered with.
pub(crate) fn error(connection: &mut Conn, sql: &str) -> (u16, String) {
    match connection.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.message),
        other => panic!("{sql}: {other:?} is no error of the server"),
    }
}
