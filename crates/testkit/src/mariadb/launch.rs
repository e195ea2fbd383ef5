//! Starting `mariadbd` on a data directory and knowing when it answers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use mysql::Conn;

use super::{LaunchError, Options, READY_WITHIN};
use crate::client::ClientOptions;
use crate::eventually::poll_until;
use crate::guarded::GuardedProcess;

pub(super) fn socket_path(data: &Path) -> PathBuf {
    data.join("m.sock")
}

pub(super) fn log_path(data: &Path) -> PathBuf {
    data.join("error.log")
}

pub(super) fn launch(directory: &Path, port: u16, options: &Options) -> Result<GuardedProcess, LaunchError> {
    let data = options.data_directory(directory);
    let log = log_path(&data);
    if log.exists() {
        fs::remove_file(&log).map_err(LaunchError::io("removing the log of an earlier start"))?;
    }
    let program = options.flavour.program().as_os_str();
    let mut words = options.wrapper.iter().map(AsRef::as_ref).chain([program]);
    let own_argument = |argument: &String| argument.replace("{directory}", &directory.display().to_string());
    let mut command = Command::new(words.next().expect("the program is always there"));
    command
        .args(words)
        .args(options.flavour.arguments())
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--tmpdir={}", data.display()))
        .arg(format!("--socket={}", socket_path(&data).display()))
        .arg(format!("--pid-file={}", data.join("m.pid").display()))
        .arg(format!("--log-error={}", log.display()))
        .arg(format!("--port={port}"))
        .args(options.host.map(|host| format!("--bind-address={host}")))
        .args(options.extra_args.iter().map(own_argument))
        .env("PATH", program_path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut process =
        GuardedProcess::spawn(&mut command, directory).map_err(LaunchError::io("starting mariadbd"))?;
    wait_until_ready(&mut process, &data)?;
    Ok(process)
}

/// Servers live in `sbin`, which is not on every user's path.
pub(super) fn program_path() -> String {
    let inherited = std::env::var("PATH").unwrap_or_default();
    format!("{inherited}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin")
}

/// The unix socket is in the server's own directory, so an answer there is this server's; its TCP port was bound
/// before it answers anywhere.
fn wait_until_ready(process: &mut GuardedProcess, data: &Path) -> Result<(), LaunchError> {
    let options = ClientOptions {
        user: "root",
        ..ClientOptions::default()
    }
    .unix(&socket_path(data));
    let log = || fs::read_to_string(log_path(data)).unwrap_or_else(|error| format!("no log: {error}"));
    let answer = poll_until(READY_WITHIN, || match process.try_wait() {
        Ok(Some(status)) => Some(Err(LaunchError::Ended { status, log: log() })),
        Ok(None) => Conn::new(options.clone()).is_ok().then_some(Ok(())),
        Err(error) => Some(Err(LaunchError::io("waiting for mariadbd")(error))),
    });
    answer.unwrap_or_else(|_| Err(LaunchError::NotReady { log: log() }))
}
