//! One test of the package, run by one of the package's own programs.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use super::package::Package;
use super::rig::{Rig, Way};

/// How statements are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Text,
    Prepared,
    Cursor,
    /// By calls of the C library: another program, with tests of its own.
    Calls,
}

impl Protocol {
    pub(super) const ALL: [Self; 4] = [Self::Text, Self::Prepared, Self::Cursor, Self::Calls];
    /// Those of `mariadb-test`.
    pub(super) const OF_SUITE: [Self; 3] = [Self::Text, Self::Prepared, Self::Cursor];

    /// As files and `SHARDWRIGHT_SUITE` call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Prepared => "ps",
            Self::Cursor => "cursor",
            Self::Calls => "calls",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Text => "as text",
            Self::Prepared => "prepared (`--ps-protocol`)",
            Self::Cursor => "prepared, read by a cursor (`--cursor-protocol`)",
            Self::Calls => "by calls of the C library (`mariadb-client-test`)",
        }
    }

    fn option(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::Calls => None,
            Self::Prepared => Some("--ps-protocol"),
            Self::Cursor => Some("--cursor-protocol"),
        }
    }
}

/// The tests of a protocol, by name.
pub(super) fn tests(package: &Package, protocol: Protocol) -> BTreeSet<String> {
    if protocol != Protocol::Calls {
        return package.tests();
    }
    let output = Command::new("mariadb-client-test")
        .args(["--no-defaults", "--show-tests"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("test_"));
    names.map(str::to_owned).collect()
}

/// What became of a test.
pub(super) enum Outcome {
    /// The server's result is the official one.
    Passed,
    /// The test does not apply here.
    Skipped,
    /// What the program printed: an error, or how the result differs.
    Failed(String),
}

const PASSED: i32 = 0;
const SKIPPED: i32 = 62;

/// A test that takes longer does not pass: a few seconds are usual.
const SECONDS: &str = "120";

pub(super) fn run(rig: &Rig, package: &Package, test: &str, protocol: Protocol, way: Way) -> Outcome {
    let output = command(rig, package, test, protocol, way).output().unwrap();
    match output.status.code() {
        Some(PASSED) => Outcome::Passed,
        Some(SKIPPED) => Outcome::Skipped,
        _ => {
            let text = [output.stderr, output.stdout].concat();
            Outcome::Failed(format!("{}\n{}", output.status, String::from_utf8_lossy(&text)))
        }
    }
}

fn command(rig: &Rig, package: &Package, test: &str, protocol: Protocol, way: Way) -> Command {
    let mut command = Command::new("sh");
    command
        // The server, whose user is another, reads files that tests write.
        .args(["-c", "umask 0; exec \"$@\"", "sh"])
        .args(["timeout", "--signal=KILL", SECONDS])
        .current_dir(package.path())
        .stdin(Stdio::null())
        .env_clear()
        .envs(variables(rig, package, way));
    let options = format!("--defaults-file={}", rig.option_file(way).display());
    let var = rig.var().display();
    if protocol == Protocol::Calls {
        command
            .args(["mariadb-client-test", &options, "--testcase"])
            .args([format!("--vardir={var}"), test.to_owned()]);
        return command;
    }
    let mut own = vec![
        options,
        "--silent".to_owned(),
        "--database=test".to_owned(),
        format!("--tmpdir={var}/tmp"),
        format!("--logdir={var}/log"),
        "--character-sets-dir=/usr/share/mysql/charsets".to_owned(),
    ];
    own.extend(protocol.option().map(str::to_owned));
    command
        .env("MYSQL_TEST", format!("mariadb-test {}", own.join(" ")))
        .arg("mariadb-test")
        .args(&own)
        .arg(format!("--suite-dir={}/main", package.path().display()))
        .arg(format!("--test-file={}", package.test(test).display()))
        .arg(format!("--result-file={}", package.result(test).display()));
    command
}

/// What the package's own driver tells a test.
fn variables(rig: &Rig, package: &Package, way: Way) -> Vec<(&'static str, String)> {
    let side = rig.side(way);
    let options = rig.option_file(way);
    let program = |name: &str| format!("/usr/bin/{name} --defaults-file={}", options.display());
    let inside = |name: &str| rig.var().join(name).display().to_string();
    vec![
        ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
        ("LC_ALL", "C".to_owned()),
        ("TZ", "MET".to_owned()),
        ("HOME", inside("tmp")),
        ("MASTER_MYPORT", side.address.port().to_string()),
        ("MASTER_MYSOCK", side.socket.display().to_string()),
        ("MYSQL", program("mariadb")),
        ("MYSQLADMIN", program("mariadb-admin")),
        ("MYSQLD_DATADIR", rig.data().display().to_string()),
        ("MYSQLTEST_VARDIR", rig.var().display().to_string()),
        ("MYSQL_BINDIR", "/usr/bin".to_owned()),
        ("MYSQL_BINLOG", program("mariadb-binlog")),
        ("MYSQL_CHARSETSDIR", "/usr/share/mysql/charsets".to_owned()),
        ("MYSQL_CHECK", program("mariadb-check")),
        ("MYSQL_DUMP", program("mariadb-dump")),
        ("MYSQL_IMPORT", program("mariadb-import")),
        ("MYSQL_SHAREDIR", "/usr/share/mysql".to_owned()),
        ("MYSQL_SHOW", program("mariadb-show")),
        ("MYSQL_SLAP", program("mariadb-slap")),
        ("MYSQL_TEST_DIR", package.path().display().to_string()),
        ("MYSQL_TMP_DIR", inside("tmp")),
        ("MYSQL_UPGRADE", program("mariadb-upgrade")),
    ]
}
