//! The demo's own runs of this program: the proxy, and the commands that users would type.

use std::io::{BufRead, BufReader, Lines};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use tempfile::TempDir;

use crate::commands::demo::backends::{Backends, random_password};
use crate::error::CommandError;

/// The example's files, as in the repository.
const FILES: [(&str, &str); 2] = [
    (
        "shardwright.yaml",
        include_str!("../../../../../examples/world/shardwright.yaml"),
    ),
    (
        "topology/world.yaml",
        include_str!("../../../../../examples/world/topology/world.yaml"),
    ),
];

/// A copy of the example, and the environment of its processes.
pub(super) struct Environment {
    program: PathBuf,
    directory: TempDir,
    ports: Vec<(String, u16)>,
    user_password: String,
    admin_password: String,
}

impl Environment {
    pub(super) fn new(backends: &Backends) -> Result<Self, CommandError> {
        let failed =
            |error: std::io::Error| CommandError::failed(format!("cannot write the example: {error}"));
        let directory = TempDir::with_prefix("shardwright-demo-").map_err(failed)?;
        for (path, content) in FILES {
            let path = directory.path().join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(failed)?;
            }
            std::fs::write(path, content).map_err(failed)?;
        }
        Ok(Self {
            program: std::env::current_exe().map_err(failed)?,
            directory,
            ports: backends
                .addresses()
                .map(|(name, address)| (format!("{name}_port"), address.port()))
                .collect(),
            user_password: backends.password.clone(),
            admin_password: random_password()?,
        })
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn user_password(&self) -> &str {
        &self.user_password
    }

    pub(super) fn admin_password(&self) -> &str {
        &self.admin_password
    }

    pub(super) fn set_admin_port(&mut self, port: u16) {
        self.ports.push(("admin_port".to_owned(), port));
    }

    /// What `--var` sets.
    pub(super) fn variables(&self) -> Vec<String> {
        self.ports
            .iter()
            .map(|(name, port)| format!("{name}={port}"))
            .collect()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.directory()).stdin(Stdio::null());
        command
            .env("GEO_PASSWORD", &self.user_password)
            .env("SHARDWRIGHT_ADMIN_PASSWORD", &self.admin_password);
        command
    }

    /// Runs a command of this program in the example and gives what it printed.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String, CommandError> {
        let mut command = self.command();
        command.args(arguments).arg("--quiet");
        for variable in self.variables() {
            command.arg("--var").arg(variable);
        }
        let output = command.output().map_err(|error| {
            CommandError::failed(format!("cannot run {}: {error}", self.program.display()))
        })?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            return Err(CommandError::failed(format!(
                "{} ended with {}\n{message}",
                arguments[0], output.status
            )));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The proxy, which ends with the demo.
pub(super) struct ProxyProcess {
    _child: Ending,
    pub(super) listen: SocketAddr,
    pub(super) admin: SocketAddr,
}

/// The proxy before anything was applied to it.
pub(super) struct WaitingProxy {
    child: Ending,
    lines: Lines<BufReader<ChildStdout>>,
    log: JoinHandle<String>,
    pub(super) admin: SocketAddr,
}

impl WaitingProxy {
    pub(super) fn start(environment: &Environment) -> Result<Self, CommandError> {
        let mut command = environment.command();
        command.args([
            "proxy",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--data-dir",
            "data",
        ]);
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| CommandError::failed(format!("cannot start the proxy: {error}")))?;
        let mut child = Ending(child);
        let stdout = child.0.stdout.take().expect("its standard output is a pipe");
        let stderr = child.0.stderr.take().expect("its standard error is a pipe");
        let mut lines = BufReader::new(stdout).lines();
        let log = std::thread::spawn(move || pass_on(stderr));
        match next_line(&mut lines)?.and_then(|line| field(&line, "admin")) {
            Some(admin) => Ok(Self {
                child,
                lines,
                log,
                admin,
            }),
            None => Err(did_not_start(child, log)),
        }
    }

    /// Waits until it serves what was applied.
    pub(super) fn serving(mut self) -> Result<ProxyProcess, CommandError> {
        match next_line(&mut self.lines)?.and_then(|line| field(&line, "listen")) {
            Some(listen) => Ok(ProxyProcess {
                _child: self.child,
                listen,
                admin: self.admin,
            }),
            None => Err(did_not_start(self.child, self.log)),
        }
    }
}

fn next_line(lines: &mut Lines<BufReader<ChildStdout>>) -> Result<Option<String>, CommandError> {
    let failed = |error| CommandError::failed(format!("cannot read the proxy's output: {error}"));
    lines.next().transpose().map_err(failed)
}

/// Passes the proxy's log on to this program's; all of it, when the proxy has ended.
fn pass_on(log: ChildStderr) -> String {
    let mut text = String::new();
    for line in BufReader::new(log).lines().map_while(Result::ok) {
        tracing::debug!(target: "proxy", "{line}");
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn did_not_start(child: Ending, log: JoinHandle<String>) -> CommandError {
    drop(child);
    let log = log.join().unwrap_or_default();
    CommandError::failed(format!("the proxy did not start\n{log}"))
}

/// The address behind `name=`.
fn field(line: &str, name: &str) -> Option<SocketAddr> {
    let mut words = line.split_whitespace();
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

/// A process that ends with the value.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
