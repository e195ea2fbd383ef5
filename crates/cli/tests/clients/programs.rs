//! The clients, and how each is started.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::estate::{Estate, Side};
use crate::{root, rust_mysql};

/// One client: a program of its own, or the Rust crate in this process.
pub(crate) struct Program {
    /// As `SHARDWRIGHT_CLIENTS` calls it.
    pub(crate) name: &'static str,
    /// As a column of the page calls it.
    pub(crate) short: &'static str,
    /// Whether every test run runs it.
    pub(crate) fast: bool,
    /// Runs it on a side, in a schema; its lines, or how it failed.
    pub(crate) run: fn(&Estate, &Side, &str) -> Result<String, String>,
}

/// All clients, in the order of the page.
pub(crate) const PROGRAMS: &[Program] = &[
    Program {
        name: "mariadb",
        short: "CLI",
        fast: true,
        run: |e, s, schema| python(e, s, schema, &["with_cli.py"]),
    },
    Program {
        name: "mariadb-dump",
        short: "dump",
        fast: true,
        run: |e, s, schema| python(e, s, schema, &["with_dump.py"]),
    },
    Program {
        name: "pymysql",
        short: "PyMySQL",
        fast: true,
        run: |e, s, schema| python(e, s, schema, &["with_pymysql.py"]),
    },
    Program {
        name: "mysqlclient",
        short: "mysqlclient",
        fast: true,
        run: |e, s, schema| python(e, s, schema, &["with_mysqlclient.py"]),
    },
    Program {
        name: "connector-python",
        short: "connector, Python",
        fast: true,
        run: |e, s, schema| python(e, s, schema, &["with_connector.py", "pure"]),
    },
    Program {
        name: "rust-mysql",
        short: "Rust mysql",
        fast: true,
        run: rust_mysql::run,
    },
    Program {
        name: "go-sql-driver",
        short: "Go",
        fast: false,
        run: |e, s, schema| output(e, s, schema, limited(installed("go/clients"))),
    },
    Program {
        name: "mysql2",
        short: "node mysql2",
        fast: false,
        run: node,
    },
    Program {
        name: "mariadb-connector-j",
        short: "MariaDB Connector/J",
        fast: false,
        run: |e, s, schema| java(e, s, schema, "mariadb"),
    },
    Program {
        name: "connector-j-9",
        short: "Connector/J 9",
        fast: false,
        run: |e, s, schema| java(e, s, schema, "mysql-9"),
    },
    Program {
        name: "connector-j-8",
        short: "Connector/J 8",
        fast: false,
        run: |e, s, schema| java(e, s, schema, "mysql-8"),
    },
    Program {
        name: "sqlalchemy",
        short: "SQLAlchemy",
        fast: false,
        run: |e, s, schema| python(e, s, schema, &["with_sqlalchemy.py"]),
    },
    Program {
        name: "django",
        short: "Django",
        fast: false,
        run: |e, s, schema| python(e, s, schema, &["with_django.py"]),
    },
    Program {
        name: "rust-sqlx",
        short: "Rust sqlx",
        fast: false,
        run: |e, s, schema| output(e, s, schema, limited(installed("rust-sqlx/debug/clients-sqlx"))),
    },
    Program {
        name: "sysbench",
        short: "sysbench",
        fast: true,
        run: |e, s, schema| python(e, s, schema, &["with_sysbench.py"]),
    },
];

/// Where `scripts/install-test-clients` puts things.
pub(crate) fn installed(path: &str) -> PathBuf {
    let path = root().join("target/clients").join(path);
    assert!(
        path.exists(),
        "{} is missing: `scripts/install-test-clients all` makes it",
        path.display()
    );
    path
}

fn python(estate: &Estate, side: &Side, schema: &str, words: &[&str]) -> Result<String, String> {
    let program = root().join("tests/clients/python").join(words[0]);
    let rest = words[1..].iter().map(OsString::from);
    let arguments: Vec<OsString> = std::iter::once(program.into()).chain(rest).collect();
    let mut command = limited(installed("python/bin/python"));
    command
        .args(arguments)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONUTF8", "1");
    output(estate, side, schema, command)
}

fn node(estate: &Estate, side: &Side, schema: &str) -> Result<String, String> {
    let mut command = limited("node");
    command
        .arg(root().join("tests/clients/node/main.js"))
        .env("NODE_PATH", installed("node/node_modules"));
    output(estate, side, schema, command)
}

/// One program with one of the drivers.
fn java(estate: &Estate, side: &Side, schema: &str, driver: &str) -> Result<String, String> {
    let jar = installed(&format!("java/jars/{driver}.jar"));
    let path = std::env::join_paths([installed("java/classes"), jar]).unwrap();
    let mut command = limited("java");
    command.arg("-cp").arg(path).arg("Clients");
    output(estate, side, schema, command)
}

/// A command that ends with status 137 when it takes longer than a slow machine explains; what it has printed until then
/// is part of the failure.
fn limited(program: impl Into<OsString>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "120"]).arg(program.into());
    command
}

/// What a program prints; a failure has its complaints, too.
fn output(estate: &Estate, side: &Side, schema: &str, mut command: Command) -> Result<String, String> {
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "MYSQL_HOME", "MYSQL_PWD"] {
        command.env_remove(name);
    }
    let output = command
        .envs(estate.variables(side, schema))
        .env("TZ", "UTC")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{command:?}: {}\n{text}\n{complaints}", output.status))
    }
}
