//! A ProxySQL of its own: its configuration file and its start.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use mysql::Conn;
use shardwright_testkit::{
    ClientOptions, GuardedProcess, PROXYSQL_STARTED, ReservedPort, connect, poll_until,
};
use tempfile::TempDir;

use super::BenchError;

const READY_WITHIN: Duration = Duration::from_secs(60);
/// ProxySQL takes this user from loopback only.
pub(super) const ADMIN: ClientOptions<'static> = ClientOptions {
    user: "admin",
    password: "admin",
    schema: None,
};

/// A running ProxySQL, ended with the value.
#[derive(Debug)]
pub(super) struct ProxySql {
    // Declared before the directory: the process ends before its files go.
    process: GuardedProcess,
    _directory: TempDir,
    ports: Ports,
}

/// Where it listens on loopback. 3.0 opens ports for PostgreSQL too, which would be fixed ones if nothing were said.
#[derive(Debug)]
struct Ports {
    admin: ReservedPort,
    mysql: ReservedPort,
    pgsql_admin: ReservedPort,
    pgsql: ReservedPort,
}

impl Ports {
    fn reserve() -> io::Result<Self> {
        Ok(Self {
            admin: ReservedPort::new()?,
            mysql: ReservedPort::new()?,
            pgsql_admin: ReservedPort::new()?,
            pgsql: ReservedPort::new()?,
        })
    }

    /// The ports for administrators, for clients, and the same of PostgreSQL.
    fn numbers(&self) -> [u16; 4] {
        [&self.admin, &self.mysql, &self.pgsql_admin, &self.pgsql].map(ReservedPort::number)
    }
}

/// `proxysql.cnf`: one thread, no monitor, nothing but loopback. 2.7 does not read what is of PostgreSQL.
fn configuration(directory: &Path, [admin, mysql, pgsql_admin, pgsql]: [u16; 4]) -> String {
    let directory = directory.display();
    format!(
        r#"datadir="{directory}"
admin_variables=
{{
    admin_credentials="admin:admin"
    mysql_ifaces="127.0.0.1:{admin}"
    pgsql_ifaces="127.0.0.1:{pgsql_admin}"
}}
mysql_variables=
{{
    threads=1
    interfaces="127.0.0.1:{mysql}"
    monitor_enabled=false
}}
pgsql_variables=
{{
    threads=1
    interfaces="127.0.0.1:{pgsql}"
    monitor_enabled=false
}}
"#
    )
}

/// What the program says of its version, in one line.
pub(super) fn version(program: &Path) -> Result<String, BenchError> {
    let what = format!("{} --version", program.display());
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(BenchError::io(&*what))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    match text.lines().find(|line| line.starts_with("ProxySQL version")) {
        Some(line) if output.status.success() => Ok(line.trim_end().to_owned()),
        _ => Err(BenchError::Output {
            what: format!("{what}: not a ProxySQL"),
            output: text.into_owned(),
        }),
    }
}

impl ProxySql {
    /// Starts `program` on `core` and waits until its start is over.
    pub(super) fn start(program: &Path, core: &str) -> Result<Self, BenchError> {
        let failed = || BenchError::io("starting ProxySQL");
        let directory = TempDir::with_prefix("sw-proxysql-").map_err(failed())?;
        let ports = Ports::reserve().map_err(failed())?;
        let [file, log] = ["proxysql.cnf", "output.log"].map(|name| directory.path().join(name));
        fs::write(&file, configuration(directory.path(), ports.numbers())).map_err(failed())?;
        let output = File::create(&log).map_err(failed())?;
        let mut command = Command::new("taskset");
        command
            .args(["-c", core])
            .arg(program)
            .arg("-f")
            .arg("-c")
            .arg(&file)
            .arg("-D")
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed())?)
            .stderr(output);
        let mut process = GuardedProcess::spawn(&mut command, directory.path()).map_err(failed())?;
        let is_started = || fs::read_to_string(&log).is_ok_and(|printed| printed.contains(PROXYSQL_STARTED));
        let ready = poll_until(READY_WITHIN, || match process.try_wait() {
            Ok(None) => (is_started() && connect(ports.admin.address(), ADMIN).is_ok()).then_some(Ok(())),
            Ok(Some(status)) => Some(Err(io::Error::other(format!("it ended ({status})")))),
            Err(error) => Some(Err(error)),
        });
        let problem = match ready {
            Ok(Ok(())) => {
                return Ok(Self {
                    process,
                    _directory: directory,
                    ports,
                });
            }
            Ok(Err(error)) => error.to_string(),
            Err(exceeded) => exceeded.to_string(),
        };
        Err(BenchError::Output {
            what: format!("ProxySQL did not answer on its admin port: {problem}"),
            output: fs::read_to_string(&log).unwrap_or_else(|error| format!("no output: {error}")),
        })
    }

    /// Where clients connect.
    pub(super) fn address(&self) -> SocketAddr {
        self.ports.mysql.address()
    }

    /// Its process group.
    pub(super) fn group(&self) -> u32 {
        self.process.id()
    }

    /// The admin port.
    pub(super) fn admin(&self) -> Result<Conn, BenchError> {
        Ok(connect(self.ports.admin.address(), ADMIN)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_names_loopback_ports_only() {
        insta::assert_snapshot!(configuration(Path::new("/data"), [1, 2, 3, 4]), @r#"
        datadir="/data"
        admin_variables=
        {
            admin_credentials="admin:admin"
            mysql_ifaces="127.0.0.1:1"
            pgsql_ifaces="127.0.0.1:3"
        }
        mysql_variables=
        {
            threads=1
            interfaces="127.0.0.1:2"
            monitor_enabled=false
        }
        pgsql_variables=
        {
            threads=1
            interfaces="127.0.0.1:4"
            monitor_enabled=false
        }
        "#);
    }

    #[test]
    fn a_program_that_ends_or_is_none_is_reported_with_its_output() {
        let error = version(Path::new("/bin/echo")).unwrap_err().to_string();
        assert!(error.contains("not a ProxySQL"), "{error}");
        let error = ProxySql::start(Path::new("/bin/echo"), "0")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("it ended") && error.contains("proxysql.cnf"),
            "{error}"
        );
    }
}
