//! A server as the tests of MariaDB expect it, and a proxy in front of it. A test that leaves something behind, or fails,
//! gives way to new data: none sees another's.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shardwright_testkit::{CommandEnvironment, MariaDb, Options, Ports, ProxyProcess};

use super::package::{PASSWORD, Package};
use crate::estate::{PROJECT, Side, start_proxy, topology};

/// Who connects where.
const SUITE: &str = "clusters:
  suite: {type: single, servers: {one: {host: 127.0.0.1, port: $(var.port)}}}
users:
  root: {password: {env: APP_PASSWORD}, cluster: suite}
";

/// As `include/default_mysqld.cnf` of the package has it, where results depend on it; the rest is this kit's.
const SERVER: [&str; 18] = [
    "--character-set-server=latin1",
    "--collation-server=latin1_swedish_ci",
    "--connect-timeout=60",
    "--default-storage-engine=myisam",
    "--histogram-type=json_hb",
    "--innodb-buffer-pool-size=8M",
    "--local-infile=1",
    "--log-bin-trust-function-creators=1",
    "--max-allowed-packet=16M",
    "--max-connect-errors=100",
    "--max-connections=151",
    "--max-heap-table-size=1M",
    "--plugin-maturity=unknown",
    "--secure-file-priv={directory}",
    "--skip-name-resolve=0",
    "--sort-buffer-size=256K",
    "--sync-frm=0",
    "--use-stat-tables=preferably",
];

/// Accounts and schemas as the package's own driver makes them. The last statement leaves `root` with its password.
const ACCOUNTS: &str = "DELETE FROM mysql.global_priv WHERE User = '' OR User = 'root' AND Host <> 'localhost'; \
    FLUSH PRIVILEGES; \
    CREATE DATABASE IF NOT EXISTS test CHARACTER SET latin1 COLLATE latin1_swedish_ci; \
    CREATE DATABASE mtr CHARACTER SET latin1; \
    CREATE PROCEDURE mtr.add_suppression(pattern TEXT) DO 0; \
    ALTER TABLE mysql.gtid_slave_pos ENGINE = Aria TRANSACTIONAL = 0";

/// The few time zones that tests name.
const TIME_ZONES: &str = "/usr/share/mysql/mysql_test_data_timezone.sql";

/// Where a test runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    Proxied,
}

pub(super) struct Rig {
    proxy: ProxyProcess,
    proxy_side: Side,
    environment: CommandEnvironment,
    server: MariaDb,
    /// What the package's own check says of a server that no test has used.
    clean: String,
}

impl Rig {
    pub(super) fn start(package: &Package) -> Self {
        let mut options = SERVER.iter().fold(Options::default(), |all, one| all.arg(*one));
        options.wrapper = vec!["env".to_owned(), "TZ=MET".to_owned()];
        options.data = Some("mysqld.1/data".into());
        let server = MariaDb::start(options).unwrap();
        let mut environment = CommandEnvironment::new(env!("CARGO_BIN_EXE_shardwright")).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        environment.write("shardwright.yaml", PROJECT).unwrap();
        environment.write("topology/suite.yaml", topology(SUITE)).unwrap();
        let (proxy, proxy_side) = start_proxy(&environment, &server, Vec::new());
        let mut rig = Self {
            proxy,
            proxy_side,
            environment,
            server,
            clean: String::new(),
        };
        let copied = Command::new("cp")
            .arg("-rL")
            .arg(package.path().join("std_data"))
            .arg(rig.var())
            .status();
        assert!(copied.unwrap().success());
        for way in [Way::Direct, Way::Proxied] {
            fs::write(rig.option_file(way), rig.client_options(way)).unwrap();
        }
        rig.prepare(package);
        rig
    }

    /// The directory that tests call their `var`.
    pub(super) fn var(&self) -> &Path {
        self.server.directory()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.server.data_directory()
    }

    pub(super) fn side(&self, way: Way) -> Side {
        match way {
            Way::Proxied => self.proxy_side.clone(),
            Way::Direct => Side {
                address: self.server.address(),
                socket: self.server.socket(),
            },
        }
    }

    /// The options of every client that a test starts.
    pub(super) fn option_file(&self, way: Way) -> PathBuf {
        self.var().join(match way {
            Way::Direct => "direct.cnf",
            Way::Proxied => "proxied.cnf",
        })
    }

    fn client_options(&self, way: Way) -> String {
        let Side { address, socket } = self.side(way);
        let client = format!(
            "[client]\nuser=root\npassword={PASSWORD}\nsocket={}\nport={}\n",
            socket.display(),
            address.port()
        );
        let readable = ["mysql", "mysqlshow", "mysqlimport", "mysqlcheck", "mysql_upgrade"]
            .map(|group| format!("[{group}]\ndefault-character-set=latin1\n"));
        client + &readable.concat() + "[mysqltest]\nloose-skip-ssl\n[mysqlbinlog]\ndisable-force-if-open\n"
    }

    /// New data, and a proxy that knows nothing of the old ones.
    pub(super) fn renew(&mut self, package: &Package) {
        self.server.renew().unwrap();
        self.proxy.restart(&self.environment, Ports::Same).unwrap();
        self.prepare(package);
    }

    fn prepare(&mut self, package: &Package) {
        for directory in ["tmp", "log"] {
            let directory = self.var().join(directory);
            if directory.exists() {
                fs::remove_dir_all(&directory).unwrap();
            }
            fs::create_dir(&directory).unwrap();
            fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        }
        self.server.run(ACCOUNTS).unwrap();
        self.run_script("mysql", ";", Path::new(TIME_ZONES));
        self.run_script("mtr", "||", &package.path().join("include/mtr_check.sql"));
        self.server
            .run(format!(
                "SET PASSWORD FOR root@localhost = PASSWORD('{PASSWORD}')"
            ))
            .unwrap();
        self.clean = self.state().unwrap();
    }

    /// The commands `delimiter` and `use` of a script are for the package's own driver.
    fn run_script(&self, schema: &str, delimiter: &str, script: &Path) {
        let text = fs::read_to_string(script).unwrap();
        let is_sql = |line: &&str| !["delimiter ", "use "].iter().any(|word| line.starts_with(word));
        let statements = self.var().join("statements.sql");
        fs::write(
            &statements,
            text.lines().filter(is_sql).collect::<Vec<_>>().join("\n"),
        )
        .unwrap();
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", schema])
            .arg(format!("--delimiter={delimiter}"))
            .arg(format!("--socket={}", self.server.socket().display()))
            .stdin(File::open(&statements).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {output:?}", script.display());
    }

    /// Whether a test has left the server and its files as they were.
    pub(super) fn is_clean(&self) -> bool {
        let is_empty = |directory: PathBuf| {
            let mut files = fs::read_dir(directory).into_iter().flatten();
            files.all(|file| file.is_ok_and(|file| file.file_name() == "db.opt"))
        };
        is_empty(self.var().join("tmp"))
            && is_empty(self.data().join("test"))
            && self.state().is_some_and(|state| state == self.clean)
    }

    /// `None` if the server does not answer, or not to `root`.
    fn state(&self) -> Option<String> {
        let output = Command::new("mariadb")
            .arg(format!(
                "--defaults-file={}",
                self.option_file(Way::Direct).display()
            ))
            .args(["--execute=CALL check_testcase()", "mtr"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
