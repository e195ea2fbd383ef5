//! Whose server runs: Debian's MariaDB, or a MySQL.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::geteuid;

/// The environment variable that names a `mysqld`, which test servers run in place of MariaDB's. `scripts/install-mysql`
/// makes one.
pub const MYSQLD: &str = "SHARDWRIGHT_MYSQLD";

/// Small memory, and no waiting for disks: a test server's data need not survive the machine, only the process. (A log
/// that is written but not synced at commit, 2, does; 0 would lose the last second when the process is killed.)
const ARGUMENTS: &[&str] = &[
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_general_ci",
    "--innodb-buffer-pool-size=32M",
    "--innodb-flush-log-at-trx-commit=2",
    "--skip-innodb-doublewrite",
    // The kernel may carry out writes of io_uring after the process that queued them was killed and its successor has read
    // the pages.
    "--skip-innodb-use-native-aio",
    "--key-buffer-size=1M",
    "--max-connections=2000",
    "--max-connect-errors=1000000",
    "--max-allowed-packet=64M",
];

const MARIADB: &[&str] = &["--aria-pagecache-buffer-size=8M"];

/// The X protocol has a port and a socket of its own. Functions may be made by whoever may make routines, as on MariaDB
/// without a binary log. Files may be anywhere and come from clients, as there.
const MYSQL: &[&str] = &[
    "--mysqlx=OFF",
    "--skip-log-bin",
    "--log-bin-trust-function-creators=ON",
    "--secure-file-priv=",
    "--local-infile=ON",
];

/// A small redo log makes a copy 20 MB instead of 110 MB.
const INSTALL_MARIADB: &[&str] = &[
    "--no-defaults",
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
    "--skip-name-resolve",
    "--innodb-log-file-size=8M",
];

const INSTALL_MYSQL: &[&str] = &["--initialize-insecure", "--loose-innodb-redo-log-capacity=8M"];

/// Whose server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flavour {
    /// `mariadbd` of the path.
    MariaDb,
    /// This `mysqld`, which reads no option files.
    MySql(PathBuf),
}

impl Default for Flavour {
    /// What the environment says.
    fn default() -> Self {
        std::env::var_os(MYSQLD).map_or(Self::MariaDb, |program| Self::MySql(program.into()))
    }
}

impl Flavour {
    /// Whether it is MySQL's.
    #[must_use]
    pub fn is_mysql(&self) -> bool {
        matches!(self, Self::MySql(_))
    }

    pub(super) fn program(&self) -> &Path {
        match self {
            Self::MariaDb => Path::new("mariadbd"),
            Self::MySql(program) => program,
        }
    }

    /// Arguments that every server has, the first first.
    pub(super) fn arguments(&self) -> impl Iterator<Item = &'static str> {
        let (first, own) = match self {
            Self::MariaDb => (Some("--no-defaults"), MARIADB),
            Self::MySql(_) => (None, MYSQL),
        };
        let user = geteuid().is_root().then_some("--user=mysql");
        first
            .into_iter()
            .chain(user)
            .chain(ARGUMENTS.iter().chain(own).copied())
    }

    /// The command that makes the first files of a server in a directory that is there.
    pub(super) fn install(&self, data: &Path) -> Command {
        let (program, arguments) = match self {
            Self::MariaDb => (Path::new("mariadb-install-db"), INSTALL_MARIADB),
            Self::MySql(program) => (program.as_path(), INSTALL_MYSQL),
        };
        let mut command = Command::new(program);
        command
            .args(arguments)
            .args(geteuid().is_root().then_some("--user=mysql"))
            .arg(format!("--datadir={}", data.display()));
        command
    }

    /// What the first files depend on, beside the program's version.
    pub(super) fn install_arguments(&self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => INSTALL_MARIADB,
            Self::MySql(_) => INSTALL_MYSQL,
        }
    }

    /// With these, a server writes a binary log that others can follow by GTID.
    #[must_use]
    pub fn logged(&self) -> &'static [&'static str] {
        match self {
            Self::MariaDb => &["--log-bin", "--log-slave-updates", "--sync-binlog=0"],
            Self::MySql(_) => &[
                "--log-bin",
                "--gtid-mode=ON",
                "--enforce-gtid-consistency=ON",
                "--sync-binlog=0",
            ],
        }
    }

    /// How CREATE USER names a password.
    pub(super) fn identified(&self, password: &str) -> String {
        match self {
            Self::MariaDb => format!("IDENTIFIED VIA mysql_native_password USING PASSWORD({password})"),
            Self::MySql(_) => format!("IDENTIFIED WITH caching_sha2_password BY {password}"),
        }
    }
}
