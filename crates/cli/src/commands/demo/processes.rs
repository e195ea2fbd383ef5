//! The demo's own runs of this program: the proxy, and the commands that users would type.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
    child: Child,
    pub(super) listen: SocketAddr,
    pub(super) admin: SocketAddr,
}

impl ProxyProcess {
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
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| CommandError::failed(format!("cannot start the proxy: {error}")))?;
        match ready(&mut child) {
            Ok((listen, admin)) => Ok(Self { child, listen, admin }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }
}

/// Reads the proxy's output until it is ready, and passes later output on.
fn ready(child: &mut Child) -> Result<(SocketAddr, SocketAddr), CommandError> {
    let stderr = child.stderr.take().expect("its standard error is a pipe");
    let mut lines = BufReader::new(stderr).lines();
    let mut said = String::new();
    for line in &mut lines {
        let line =
            line.map_err(|error| CommandError::failed(format!("cannot read the proxy's output: {error}")))?;
        if let Some(addresses) = addresses(&line) {
            // Nobody waits for this thread: it ends with the proxy's standard error.
            std::thread::spawn(move || {
                lines
                    .map_while(Result::ok)
                    .for_each(|line| tracing::debug!(target: "proxy", "{line}"))
            });
            return Ok(addresses);
        }
        said.push_str(&line);
        said.push('\n');
    }
    Err(CommandError::failed(format!("the proxy did not start\n{said}")))
}

/// `ready listen=ADDR admin=ADDR`
fn addresses(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let (listen, admin) = line.strip_prefix("ready listen=")?.split_once(" admin=")?;
    Some((listen.parse().ok()?, admin.trim().parse().ok()?))
}

fn end(child: &mut Child) {
    // Both fail only when it has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}
