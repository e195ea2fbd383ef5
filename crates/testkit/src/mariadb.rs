//! A MariaDB server in a directory of its own, or a MySQL server.

mod flavour;
mod launch;
mod template;

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use mysql::Conn;
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::client::{ClientOptions, TextRow, connect, text_rows};
use crate::guarded::GuardedProcess;
use crate::reserved_port::ReservedPort;

pub use flavour::{Flavour, MYSQLD};

/// How long a server may take to answer; generous, because a full test run shares two cores.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A program or directory could not be used.
    #[error("{what}: {source}")]
    Io {
        /// What was attempted.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The data directory could not be created.
    #[error("mariadb-install-db failed ({status}):\n{output}")]
    Template {
        /// Its exit status.
        status: ExitStatus,
        /// Its output.
        output: String,
    },
    /// The server ended before it answered.
    #[error("mariadbd ended before it was ready ({status}):\n{log}")]
    Ended {
        /// Its exit status.
        status: ExitStatus,
        /// Its error log.
        log: String,
    },
    /// The server never answered.
    #[error("mariadbd did not answer within {READY_WITHIN:?}:\n{log}")]
    NotReady {
        /// Its error log.
        log: String,
    },
}

impl LaunchError {
    fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// What differs from one server to another.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Arguments for `mariadbd`, after and so stronger than the kit's own. `{directory}` in them stands for the server's
    /// directory.
    pub extra_args: Vec<String>,
    /// Words put before `mariadbd`, for example `["taskset", "-c", "0"]`; they must end by replacing themselves.
    pub wrapper: Vec<String>,
    /// Whose server.
    pub flavour: Flavour,
    /// Where it listens; 127.0.0.1 where nothing is said.
    pub host: Option<IpAddr>,
    /// Where the data are, in the server's directory; `data` where nothing is said.
    pub data: Option<PathBuf>,
}

impl Options {
    fn data_directory(&self, directory: &Path) -> PathBuf {
        directory.join(self.data.as_deref().unwrap_or(Path::new("data")))
    }

    /// One more argument for `mariadbd`.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<String>) -> Self {
        self.extra_args.push(argument.into());
        self
    }
}

/// A running server, reachable by TCP on loopback and by a unix socket; stopped and removed when dropped.
#[derive(Debug)]
pub struct MariaDb {
    // Declared before the directory: the server ends before its files go.
    process: GuardedProcess,
    directory: TempDir,
    port: ReservedPort,
    options: Options,
}

impl MariaDb {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// [`LaunchError`] with the server's own log.
    pub fn start(options: Options) -> Result<Self, LaunchError> {
        let directory = template::new_directory()?;
        template::fill(&options.flavour, &options.data_directory(directory.path()))?;
        let port = ReservedPort::new().map_err(LaunchError::io("looking for a free port"))?;
        let process = launch::launch(directory.path(), port.number(), &options)?;
        Ok(Self {
            process,
            directory,
            port,
            options,
        })
    }

    /// The TCP port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The TCP address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        let host = self.options.host.unwrap_or(Ipv4Addr::LOCALHOST.into());
        (host, self.port()).into()
    }

    /// The unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        launch::socket_path(&self.data_directory())
    }

    /// The directory that its data and all else of this server are in.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where its data are.
    #[must_use]
    pub fn data_directory(&self) -> PathBuf {
        self.options.data_directory(self.directory.path())
    }

    /// Whose server it is.
    #[must_use]
    pub fn flavour(&self) -> &Flavour {
        &self.options.flavour
    }

    /// The server's process id.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// What the server has written to its error log.
    ///
    /// # Errors
    /// Fails when the log cannot be read.
    pub fn error_log(&self) -> io::Result<String> {
        fs::read_to_string(launch::log_path(&self.data_directory()))
    }

    /// A connection as `root`, by the unix socket.
    ///
    /// # Errors
    /// The server's, as the `mysql` crate gives it.
    pub fn root(&self) -> mysql::Result<Conn> {
        Conn::new(
            ClientOptions {
                user: "root",
                ..ClientOptions::default()
            }
            .unix(&self.socket()),
        )
    }

    /// A connection by TCP.
    ///
    /// # Errors
    /// The server's, as the `mysql` crate gives it.
    pub fn connect(&self, options: ClientOptions<'_>) -> mysql::Result<Conn> {
        connect(self.address(), options)
    }

    /// Runs one or more statements as `root` on a new connection; the rows of all results.
    ///
    /// # Errors
    /// The first error the server gives.
    pub fn run(&self, sql: impl AsRef<str>) -> mysql::Result<Vec<TextRow>> {
        text_rows(&mut self.root()?, sql)
    }

    /// Runs the statements of a file as `root`.
    ///
    /// # Errors
    /// The first error the server gives, or that of reading the file.
    pub fn run_file(&self, path: &Path) -> mysql::Result<Vec<TextRow>> {
        self.run(fs::read_to_string(path)?)
    }

    /// Creates a user for any host, with `privileges` (for example `SELECT, INSERT ON shop.*`) when given. The password is
    /// proved by `mysql_native_password`, on MySQL by `caching_sha2_password`.
    ///
    /// # Errors
    /// The server's.
    pub fn create_user(&self, name: &str, password: &str, privileges: Option<&str>) -> mysql::Result<()> {
        let user = format!("{}@'%'", quoted(name));
        let identified = self.options.flavour.identified(&quoted(password));
        self.run(format!("CREATE USER {user} {identified}"))?;
        if let Some(privileges) = privileges {
            self.run(format!("GRANT {privileges} TO {user}"))?;
        }
        Ok(())
    }

    /// Ends the server at once, as a crash would; [`MariaDb::restart`] brings it back.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.process.kill()
    }

    /// Asks the server to end and waits for it.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled or does not end.
    pub fn stop(&mut self) -> io::Result<ExitStatus> {
        self.process.signal(Signal::SIGTERM)?;
        self.process.wait(READY_WITHIN)
    }

    /// Stops the server's processes without ending them: connections stay open and nothing answers.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn pause(&self) -> io::Result<()> {
        self.process.signal(Signal::SIGSTOP)
    }

    /// Undoes [`MariaDb::pause`].
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn resume(&self) -> io::Result<()> {
        self.process.signal(Signal::SIGCONT)
    }

    /// With what it starts the next time.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// Ends the server if it runs and starts it again on the same data and port.
    ///
    /// # Errors
    /// [`LaunchError`]
    pub fn restart(&mut self) -> Result<(), LaunchError> {
        self.process.kill().map_err(LaunchError::io("ending mariadbd"))?;
        self.process = launch::launch(self.directory.path(), self.port.number(), &self.options)?;
        Ok(())
    }

    /// Ends the server if it runs and starts it on new, empty data, on the same port.
    ///
    /// # Errors
    /// [`LaunchError`]
    pub fn renew(&mut self) -> Result<(), LaunchError> {
        self.process.kill().map_err(LaunchError::io("ending mariadbd"))?;
        let data = self.data_directory();
        fs::remove_dir_all(&data).map_err(LaunchError::io(format!("removing {}", data.display())))?;
        template::fill(&self.options.flavour, &data)?;
        self.process = launch::launch(self.directory.path(), self.port.number(), &self.options)?;
        Ok(())
    }
}

/// Three servers with the same options, started one after the other.
///
/// # Errors
/// The first [`LaunchError`]; servers already started are stopped.
pub fn three_shards(options: &Options) -> Result<[MariaDb; 3], LaunchError> {
    let start = || MariaDb::start(options.clone());
    Ok([start()?, start()?, start()?])
}

/// A string literal for statements of the kit.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
