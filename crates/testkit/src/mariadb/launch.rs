//! Starting `mariadbd` on a data directory and knowing when it answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mysql::Conn;

use super::{LaunchError, Options, READY_WITHIN};
use crate::client::ClientOptions;
use crate::eventually::poll_until;
use crate::guarded::GuardedProcess;

pub(super) fn socket_path(directory: &Path) -> PathBuf {
    directory.join("data/m.sock")
}

pub(super) fn log_path(directory: &Path) -> PathBuf {
    directory.join("data/error.log")
}

pub(super) fn launch(directory: &Path, port: u16, options: &Options) -> Result<GuardedProcess, LaunchError> {
    let log = log_path(directory);
    if log.exists() {
        fs::remove_file(&log).map_err(LaunchError::io("removing the log of an earlier start"))?;
    }
    let program = options.flavour.program().as_os_str();
    let mut words = options.wrapper.iter().map(AsRef::as_ref).chain([program]);
    let mut command = Command::new(words.next().expect("the program is always there"));
    command
        .args(words)
        .args(options.flavour.arguments())
        .arg(format!("--datadir={}", directory.join("data").display()))
        .arg(format!("--tmpdir={}", directory.join("data").display()))
        .arg(format!("--socket={}", socket_path(directory).display()))
        .arg(format!("--pid-file={}", directory.join("data/m.pid").display()))
        .arg(format!("--log-error={}", log.display()))
        .arg(format!("--port={port}"))
        .args(options.host.map(|host| format!("--bind-address={host}")))
        .args(&options.extra_args)
        .env("PATH", program_path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut process =
        GuardedProcess::spawn(&mut command, directory).map_err(LaunchError::io("starting mariadbd"))?;
    wait_until_ready(&mut process, directory)?;
    Ok(process)
}

/// Servers live in `sbin`, which is not on every user's path.
pub(super) fn program_path() -> String {
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{inherited}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

/// The unix socket is in the server's own directory, so an answer there is this server's; its TCP port was bound
/// before it answers anywhere.
fn wait_until_ready(process: &mut GuardedProcess, directory: &Path) -> Result<(), LaunchError> {
    let options = ClientOptions {
        user: "root",
        ..ClientOptions::default()
    }
    .unix(&socket_path(directory));
    let log = || fs::read_to_string(log_path(directory)).unwrap_or_else(|error| format!("no log: {error}"));
    let answer = poll_until(READY_WITHIN, || match process.try_wait() {
        Ok(Some(status)) => Some(Err(LaunchError::Ended { status, log: log() })),
        Ok(None) => Conn::new(options.clone()).is_ok().then_some(Ok(())),
        Err(error) => Some(Err(LaunchError::io("waiting for mariadbd")(error))),
    });
    answer.unwrap_or_else(|_| Err(LaunchError::NotReady { log: log() }))
}
