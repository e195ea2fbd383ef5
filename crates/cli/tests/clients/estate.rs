//! One MariaDB, and one proxy in front of it with a plain configuration: whatever differs is the proxy's.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use shardwright_testkit::{
    Authority, ClientOptions, CommandEnvironment, Flavour, MariaDb, Options, Pair, ProxyOptions,
    ProxyProcess, ReservedPort, TextRow,
};

use crate::root;

pub(crate) const USER: &str = "app";
pub(crate) const OTHER_USER: &str = "other";
pub(crate) const PASSWORD: &str = "Pass word'1";

/// The largest packet of the server, 24 MiB: 17 MiB pass, and 25 MiB do not.
const LARGEST_PACKET: &str = "25165824";

/// Who connects where.
const SHOP: &str = "clusters:
  shop: {type: single, servers: {one: {host: 127.0.0.1, port: $(var.port)}}}
users:
  app: {password: {env: APP_PASSWORD}, cluster: shop}
  other: {password: {env: APP_PASSWORD}, cluster: shop}
";

/// A topology whose ports and socket [`start_proxy`] gives; `parts`: its clusters and users.
pub(crate) fn topology(parts: &str) -> String {
    format!(
        "version: 1
variables:
  port: {{type: integer, default: 1}}
  admin_port: {{type: integer, default: 6032}}
  listen_port: {{type: integer, default: 6033}}
  socket: {{type: text, default: /tmp/none.sock}}
{parts}listeners:
  tcp: {{port: $(var.listen_port), address: 127.0.0.1}}
  local: {{socket: $(var.socket)}}
"
    )
}

pub(crate) const PROJECT: &str = r#"version: 1
engines: [bundled]
targets:
  local: {engine: bundled, admin: "127.0.0.1:$(var.admin_port)", user: admin, password: {env: SHARDWRIGHT_ADMIN_PASSWORD}}
"#;

/// How a client reaches a side.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    pub(crate) address: SocketAddr,
    pub(crate) socket: PathBuf,
}

/// Everything that runs; ended when dropped.
pub(crate) struct Estate {
    pub(crate) server: MariaDb,
    _proxy: ProxyProcess,
    pub(crate) environment: CommandEnvironment,
    authority: Authority,
    stranger: Authority,
    proxy_side: Side,
    unknown_user: String,
}

impl Estate {
    pub(crate) fn start() -> Self {
        let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
        let pair = readable(authority.issue("localhost", &["localhost", "127.0.0.1"]).unwrap());
        let server = start_server(&pair);
        let mut environment = CommandEnvironment::new(env!("CARGO_BIN_EXE_shardwright")).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        environment.write("shardwright.yaml", PROJECT).unwrap();
        environment.write("topology/shop.yaml", topology(SHOP)).unwrap();
        let certificate = vec![
            format!("--tls-cert={}", pair.certificate.display()),
            format!("--tls-key={}", pair.key.display()),
        ];
        let (proxy, proxy_side) = start_proxy(&environment, &server, certificate);
        let unknown_user = unknown_user(&server);
        Self {
            server,
            _proxy: proxy,
            environment,
            authority,
            stranger,
            proxy_side,
            unknown_user,
        }
    }

    /// The server itself.
    pub(crate) fn direct(&self) -> Side {
        Side {
            address: self.server.address(),
            socket: self.server.socket(),
        }
    }

    /// The proxy.
    pub(crate) fn proxied(&self) -> Side {
        self.proxy_side.clone()
    }

    /// An empty schema; on MySQL, with the tables that MariaDB's sequence engine has in every schema.
    pub(crate) fn new_schema(&self, name: &str) {
        self.server
            .run(format!("DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}"))
            .unwrap();
        if Flavour::default().is_mysql() {
            for most in [9, 1000, 20_000] {
                let filled = format!(
                    "SET cte_max_recursion_depth = {most}; USE {name}; CREATE TABLE seq_1_to_{most} (seq BIGINT PRIMARY KEY) \
                     WITH RECURSIVE n AS (SELECT 1 AS seq UNION ALL SELECT seq + 1 FROM n WHERE seq < {most}) \
                     SELECT seq FROM n"
                );
                self.server.run(filled).unwrap();
            }
        }
    }

    /// What a program is told about a side; its files are in a new directory.
    pub(crate) fn variables(&self, side: &Side, schema: &str) -> Vec<(&'static str, String)> {
        let directory = self.environment.outside(schema);
        fs::create_dir_all(&directory).unwrap();
        let statements = own_statements(&directory, schema);
        let path = |path: PathBuf| path.to_string_lossy().into_owned();
        vec![
            ("CLIENT_HOST", side.address.ip().to_string()),
            ("CLIENT_PORT", side.address.port().to_string()),
            ("CLIENT_SOCKET", path(side.socket.clone())),
            ("CLIENT_USER", USER.to_owned()),
            ("CLIENT_OTHER_USER", OTHER_USER.to_owned()),
            ("CLIENT_UNKNOWN_USER", self.unknown_user.clone()),
            ("CLIENT_PASSWORD", PASSWORD.to_owned()),
            ("CLIENT_SCHEMA", schema.to_owned()),
            ("CLIENT_SERVER", server_name().to_owned()),
            ("CLIENT_LEFT_OUT", left_out().join(", ")),
            ("CLIENT_TIME_LIMIT", time_limit().to_owned()),
            ("CLIENT_AUTHORITY", path(self.authority.certificate())),
            ("CLIENT_STRANGER", path(self.stranger.certificate())),
            ("CLIENT_DIRECTORY", path(directory)),
            ("CLIENT_STATEMENTS", path(statements)),
        ]
    }

    /// The version of the server, which no page should show: it changes with the operating system.
    pub(crate) fn version(&self) -> String {
        let rows: Vec<TextRow> = self.server.run("SELECT VERSION()").unwrap();
        rows[0][0].clone().unwrap()
    }
}

/// Whose server it is.
pub(crate) fn server_name() -> &'static str {
    match Flavour::default() {
        Flavour::MariaDb => "mariadb",
        Flavour::MySql(_) => "mysql",
    }
}

/// What limits a statement of the session to 0.2 seconds.
pub(crate) fn time_limit() -> &'static str {
    match Flavour::default() {
        Flavour::MariaDb => "SET SESSION max_statement_time = 0.2",
        Flavour::MySql(_) => "SET SESSION max_execution_time = 200",
    }
}

/// Features that the clients leave out. Programs look for the effect of a KILL in the process list, and MySQL answers that with
/// error 3854 while some session runs a statement that is not of UTF-8.
pub(crate) fn left_out() -> &'static [&'static str] {
    match Flavour::default() {
        Flavour::MariaDb => &[],
        Flavour::MySql(_) => &[
            "kill a statement",
            "kill a connection",
            "cancelled by call",
            "ping after the connection was killed",
            "time limit of the client",
        ],
    }
}

/// The statements that every client sends, as a client with this schema sends them.
fn own_statements(directory: &Path, schema: &str) -> PathBuf {
    let statements = fs::read_to_string(root().join("tests/clients/statements.sql")).unwrap();
    let path = directory.join("statements.sql");
    fs::write(&path, statements.replace("$schema", schema)).unwrap();
    path
}

/// Keys are read by the server's own user.
fn readable(pair: Pair) -> Pair {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&pair.key, fs::Permissions::from_mode(0o644)).unwrap();
    pair
}

fn start_server(pair: &Pair) -> MariaDb {
    let options = Options::default()
        .arg(format!("--ssl-cert={}", pair.certificate.display()))
        .arg(format!("--ssl-key={}", pair.key.display()))
        .arg(format!("--max-allowed-packet={LARGEST_PACKET}"))
        .arg("--local-infile=1");
    let server = MariaDb::start(options).unwrap();
    if Flavour::default().is_mysql() {
        // mysql_query_attribute_string().
        server
            .run("INSTALL COMPONENT 'file://component_query_attributes'")
            .unwrap();
    }
    for user in [USER, OTHER_USER] {
        server
            .create_user(user, PASSWORD, Some("ALL PRIVILEGES ON *.*"))
            .unwrap();
    }
    server
}

/// A user that the server does not know, and whose password it asks for as it does for users that it knows. Whoever it does not know,
/// MySQL asks in a way that it picks by chance for each name, so that nobody can tell.
fn unknown_user(server: &MariaDb) -> String {
    let is_asked_as_usual = |name: &String| {
        let options = ClientOptions {
            user: name,
            password: PASSWORD,
            schema: None,
        };
        matches!(server.connect(options), Err(mysql::Error::MySqlError(error)) if error.code == 1045)
    };
    let mut names = (0..64).map(|number| format!("nobody_{number}"));
    names
        .find(is_asked_as_usual)
        .expect("half of the names are asked as usual")
}

/// Starts a proxy, and applies the project of the environment, whose topology names a server by its `port`.
pub(crate) fn start_proxy(
    environment: &CommandEnvironment,
    server: &MariaDb,
    extra_args: Vec<String>,
) -> (ProxyProcess, Side) {
    let socket = environment.outside("p.sock");
    let mut options = ProxyOptions::new(environment.outside("data"));
    options.extra_args = extra_args;
    options.listens_as_configured = true;
    let proxy = ProxyProcess::start(environment, options).unwrap();
    let port = ReservedPort::new().unwrap();
    let variables = [
        ("port", server.port().to_string()),
        ("admin_port", proxy.admin().port().to_string()),
        ("listen_port", port.number().to_string()),
        ("socket", socket.to_string_lossy().into_owned()),
    ];
    let variables = variables
        .iter()
        .flat_map(|(name, value)| ["--var".to_owned(), format!("{name}={value}")]);
    let arguments = ["apply", "--auto-approve"].map(str::to_owned).into_iter();
    let _applied = environment.run(arguments.chain(variables)).unwrap().success();
    let side = Side {
        address: proxy.listen(),
        socket,
    };
    (proxy, side)
}
