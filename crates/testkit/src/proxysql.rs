//! A real ProxySQL in a directory of its own, where `PROXYSQL_BIN` names one.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use mysql::Conn;
use tempfile::TempDir;

use crate::ReservedPort;
use crate::client::{ClientOptions, TextRow, connect, text_rows};
use crate::eventually::poll_until;
use crate::guarded::GuardedProcess;

/// The variable that names the binary.
pub const PROXYSQL_BIN: &str = "PROXYSQL_BIN";

const READY_WITHIN: Duration = Duration::from_secs(60);

/// A part of what it prints when its start is over. Its admin port answers before that, and refuses its users for a moment
/// while accounts are loaded (`ProxySQL_Admin::__refresh_users`, called by `ProxySQL_Main_init_Auth_module`); the ports for
/// clients are the last to open.
pub const PROXYSQL_STARTED: &str = "For consultancy visit";

/// What it prints where somebody has a port that it shall listen on.
const TAKEN: &str = "Address already in use";

/// A part of its stack where it ended by signal 11 before anybody had asked it for anything: on a busy machine
/// `MySQL_HostGroups_Manager::commit` wakes a thread of its own that has not begun yet (2.7.1).
const CRASHED: &str = "(ev_async_send+";

/// How often it is started again, where somebody took its ports or it crashed as it began.
const ATTEMPTS: usize = 8;

/// The real ProxySQL of this machine, or `None` after a line on the error output that says what is left out.
///
/// # Panics
/// When the variable names a file that is not there: a run that was asked to use the real engine must not pass
/// without it.
#[must_use]
pub fn real_proxysql(what_is_left_out: &str) -> Option<PathBuf> {
    let Some(binary) = std::env::var_os(PROXYSQL_BIN).filter(|path| !path.is_empty()) else {
        #[expect(
            clippy::print_stderr,
            reason = "the reader of a test's output must see what did not run"
        )]
        {
            eprintln!("{PROXYSQL_BIN} is not set; left out: {what_is_left_out}");
        }
        return None;
    };
    let binary = PathBuf::from(binary);
    assert!(binary.is_file(), "{PROXYSQL_BIN}={} is no file", binary.display());
    Some(binary)
}

/// Why a ProxySQL did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProxySqlError {
    /// A program or directory could not be used.
    #[error("starting ProxySQL: {0}")]
    Io(#[from] io::Error),
    /// It ended before it answered.
    #[error("ProxySQL ended before it was ready ({status}):\n{log}")]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// What it printed.
        log: String,
    },
    /// Its start never ended.
    #[error("ProxySQL did not answer within {READY_WITHIN:?}:\n{log}")]
    NotReady {
        /// What it printed.
        log: String,
    },
    /// The admin port refused a statement.
    #[error("ProxySQL's admin port refused `{statement}`: {source}")]
    Admin {
        /// The statement.
        statement: String,
        /// The answer.
        source: mysql::Error,
    },
}

/// How to start a ProxySQL.
#[derive(Debug, Clone)]
pub struct ProxySqlOptions {
    /// Worker threads: one, or two for what races.
    pub threads: u32,
    /// How many addresses clients may connect to.
    pub listeners: usize,
    /// Lines for the `mysql_variables` of its configuration file, for example `eventslog_format=2`.
    pub mysql_variables: Vec<String>,
}

impl Default for ProxySqlOptions {
    fn default() -> Self {
        Self {
            threads: 1,
            listeners: 1,
            mysql_variables: Vec::new(),
        }
    }
}

/// A running ProxySQL with an empty configuration, its monitor off; killed when dropped.
#[derive(Debug)]
pub struct ProxySql {
    // Declared before the directory: the process ends before its files go.
    process: GuardedProcess,
    directory: TempDir,
    admin: SocketAddr,
    listeners: Vec<SocketAddr>,
    _ports: Vec<ReservedPort>,
}

impl ProxySql {
    /// Starts `binary` on free loopback ports and waits until its start is over.
    ///
    /// # Errors
    /// [`ProxySqlError`] with what it printed.
    pub fn start(binary: &std::path::Path, options: &ProxySqlOptions) -> Result<Self, ProxySqlError> {
        let mut attempt = 1;
        loop {
            match Self::start_once(binary, options) {
                Err(ProxySqlError::Ended { log, .. } | ProxySqlError::NotReady { log })
                    if log.contains(TAKEN) && attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(ProxySqlError::Ended { log, .. }) if log.contains(CRASHED) && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                started => return started,
            }
        }
    }

    fn start_once(binary: &std::path::Path, options: &ProxySqlOptions) -> Result<Self, ProxySqlError> {
        let directory = tempfile::Builder::new()
            .prefix("shardwright-proxysql-")
            .tempdir()?;
        let ports = (0..=options.listeners)
            .map(|_| ReservedPort::new())
            .collect::<io::Result<Vec<_>>>()?;
        let addresses: Vec<SocketAddr> = ports.iter().map(ReservedPort::address).collect();
        let (admin, listeners) = (addresses[0], addresses[1..].to_vec());
        let file = directory.path().join("proxysql.cnf");
        fs::write(&file, configuration(directory.path(), admin, &listeners, options))?;
        let log = fs::File::create(directory.path().join("log"))?;
        let mut command = Command::new(binary);
        command
            .args(["-f", "--initial", "-c"])
            .arg(&file)
            .arg("-D")
            .arg(directory.path())
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let mut process = GuardedProcess::spawn(&mut command, directory.path())?;
        let printed = || {
            fs::read_to_string(directory.path().join("log"))
                .unwrap_or_else(|error| format!("no log: {error}"))
        };
        let answer = poll_until(READY_WITHIN, || match process.try_wait() {
            Ok(Some(status)) => Some(Err(ProxySqlError::Ended {
                status,
                log: printed(),
            })),
            Ok(None) => {
                let log = printed();
                // It goes on without the port that it did not get.
                if log.contains(TAKEN) {
                    return Some(Err(ProxySqlError::NotReady { log }));
                }
                (log.contains(PROXYSQL_STARTED) && connect(admin, ADMIN).is_ok()).then_some(Ok(()))
            }
            Err(error) => Some(Err(ProxySqlError::Io(error))),
        });
        answer.unwrap_or_else(|_| Err(ProxySqlError::NotReady { log: printed() }))?;
        Ok(Self {
            process,
            directory,
            admin,
            listeners,
            _ports: ports,
        })
    }

    /// The admin port.
    #[must_use]
    pub fn admin_address(&self) -> SocketAddr {
        self.admin
    }

    /// The first address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listeners[0]
    }

    /// Every address for clients, as many as were asked for.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.listeners
    }

    /// A connection to the admin port.
    ///
    /// # Errors
    /// The server's or the network's.
    pub fn admin(&self) -> mysql::Result<Conn> {
        connect(self.admin, ADMIN)
    }

    /// Runs admin statements one after the other; the rows of all of them.
    ///
    /// # Errors
    /// [`ProxySqlError::Admin`] with the first statement that was refused.
    pub fn run<S: AsRef<str>>(
        &self,
        statements: impl IntoIterator<Item = S>,
    ) -> Result<Vec<TextRow>, ProxySqlError> {
        let refused = |statement: &str| {
            let statement = statement.to_owned();
            move |source| ProxySqlError::Admin { statement, source }
        };
        let mut admin = self.admin().map_err(refused("connecting"))?;
        let mut rows = Vec::new();
        for statement in statements {
            let statement = statement.as_ref();
            rows.extend(text_rows(&mut admin, statement).map_err(refused(statement))?);
        }
        Ok(rows)
    }

    /// Its configuration file, which `LOAD … FROM CONFIG` reads again.
    #[must_use]
    pub fn configuration_file(&self) -> PathBuf {
        self.directory.path().join("proxysql.cnf")
    }

    /// Whether the process still runs; `Some` says how it ended.
    ///
    /// # Errors
    /// Fails when the process cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process.try_wait()
    }

    /// What it has printed so far.
    ///
    /// # Errors
    /// Fails when its log cannot be read.
    pub fn log(&self) -> io::Result<String> {
        fs::read_to_string(self.directory.path().join("log"))
    }

    /// The process id.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }
}

const ADMIN: ClientOptions<'static> = ClientOptions {
    user: "admin",
    password: "admin",
    schema: None,
};

/// Its configuration file: what has to be known before the admin port answers, and nothing else.
fn configuration(
    directory: &std::path::Path,
    admin: SocketAddr,
    listeners: &[SocketAddr],
    options: &ProxySqlOptions,
) -> String {
    let interfaces: Vec<String> = listeners.iter().map(SocketAddr::to_string).collect();
    let variables: String = options
        .mysql_variables
        .iter()
        .map(|line| format!("  {line}\n"))
        .collect();
    format!(
        "datadir=\"{}\"\n\
         admin_variables={{\n  admin_credentials=\"admin:admin\"\n  mysql_ifaces=\"{admin}\"\n  refresh_interval=2000\n}}\n\
         mysql_variables={{\n  threads={}\n  interfaces=\"{}\"\n  monitor_enabled=false\n  server_version=\"8.0.30\"\n  \
         max_connections=2000\n{variables}}}\n",
        directory.display(),
        options.threads,
        interfaces.join(";"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_and_ends_with_its_owner() {
        let Some(binary) = real_proxysql("starting a real ProxySQL") else {
            return;
        };
        let mut proxysql = ProxySql::start(&binary, &ProxySqlOptions::default()).unwrap();
        let rows = proxysql.run(["SELECT 1", "SELECT 2"]).unwrap();
        assert_eq!(rows, [vec![Some("1".to_owned())], vec![Some("2".to_owned())]]);
        assert_eq!(proxysql.ended().unwrap(), None);
        let (admin, group) = (proxysql.admin_address(), proxysql.process_id());
        drop(proxysql);
        assert!(
            connect(admin, ADMIN).is_err(),
            "process group {group} still answers"
        );
    }
}
