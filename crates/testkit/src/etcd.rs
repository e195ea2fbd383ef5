//! An etcd of one member, in a directory of its own.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::eventually::poll_until;
use crate::guarded::GuardedProcess;
use crate::reserved_port::ReservedPort;

const READY_WITHIN: Duration = Duration::from_secs(60);
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);

/// What differs from one etcd to another.
#[derive(Clone, Debug, Default)]
pub struct EtcdOptions {
    /// The certificate for clients with its key, in PEM, and the authorities whose certificates clients must show.
    pub tls: Option<[PathBuf; 3]>,
}

/// A running etcd on loopback; killed when dropped.
#[derive(Debug)]
pub struct Etcd {
    // Declared before the directory: the process ends before its files go.
    process: GuardedProcess,
    directory: TempDir,
    port: ReservedPort,
    peers: ReservedPort,
    options: EtcdOptions,
}

impl Etcd {
    /// Starts one and waits until it answers.
    ///
    /// # Errors
    /// It does not start; with what it printed.
    pub fn start(options: EtcdOptions) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("sw-etcd-").tempdir()?;
        let (port, peers) = (ReservedPort::new()?, ReservedPort::new()?);
        let addresses = [port.address(), peers.address()];
        let process = launch(directory.path(), addresses, &options)?;
        Ok(Self {
            process,
            directory,
            port,
            peers,
            options,
        })
    }

    /// Where clients ask.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The address as clients write it.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("{}://{}", scheme(&self.options), self.address())
    }

    /// Asks its gateway without TLS; the answer's body.
    ///
    /// # Errors
    /// It does not answer, or not with status 200; with what it says.
    pub fn ask(&self, path: &str, question: &str, token: Option<&str>) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address())?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        let token = token.map_or_else(String::new, |token| format!("Authorization: {token}\r\n"));
        write!(
            stream,
            "POST {path} HTTP/1.0\r\nHost: etcd\r\n{token}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{question}",
            question.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        match head.contains(" 200 ") {
            true => Ok(body.to_owned()),
            false => Err(io::Error::other(format!("{path}: {head}\n{body}"))),
        }
    }

    /// Every byte that it has stored, as its files hold them.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn stored(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut directories = vec![self.directory.path().join("data")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                match path.is_dir() {
                    true => directories.push(path),
                    false => bytes.extend(fs::read(path)?),
                }
            }
        }
        Ok(bytes)
    }

    /// Ends it at once, as a crash would; [`Etcd::restart`] brings it back.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.process.kill()
    }

    /// Stops its process without ending it: connections stay open and nothing answers.
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn pause(&self) -> io::Result<()> {
        self.process.signal(Signal::SIGSTOP)
    }

    /// Undoes [`Etcd::pause`].
    ///
    /// # Errors
    /// Fails when the process cannot be signalled.
    pub fn resume(&self) -> io::Result<()> {
        self.process.signal(Signal::SIGCONT)
    }

    /// Starts it again on the same data and ports.
    ///
    /// # Errors
    /// It does not start; with what it printed.
    pub fn restart(&mut self) -> io::Result<()> {
        self.process.kill()?;
        let addresses = [self.port.address(), self.peers.address()];
        self.process = launch(self.directory.path(), addresses, &self.options)?;
        Ok(())
    }
}

fn scheme(options: &EtcdOptions) -> &'static str {
    match options.tls {
        Some(_) => "https",
        None => "http",
    }
}

fn launch(
    directory: &Path,
    [clients, peers]: [SocketAddr; 2],
    options: &EtcdOptions,
) -> io::Result<GuardedProcess> {
    let log = directory.join("log");
    let output = fs::File::create(&log)?;
    let (clients_url, peers_url) = (
        format!("{}://{clients}", scheme(options)),
        format!("http://{peers}"),
    );
    let mut command = Command::new("etcd");
    command
        .arg("--name=kit")
        .arg(format!("--data-dir={}", directory.join("data").display()))
        .arg(format!("--listen-client-urls={clients_url}"))
        .arg(format!("--advertise-client-urls={clients_url}"))
        .arg(format!("--listen-peer-urls={peers_url}"))
        .arg(format!("--initial-advertise-peer-urls={peers_url}"))
        .arg(format!("--initial-cluster=kit={peers_url}"))
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output);
    if let Some([certificate, key, authorities]) = &options.tls {
        command
            .arg(format!("--cert-file={}", certificate.display()))
            .arg(format!("--key-file={}", key.display()))
            .arg(format!("--trusted-ca-file={}", authorities.display()))
            .arg("--client-cert-auth");
    }
    let mut process = GuardedProcess::spawn(&mut command, directory)?;
    let ready = poll_until(READY_WITHIN, || match process.try_wait() {
        Ok(None) => is_ready(&log).then_some(Ok(())),
        Ok(Some(status)) => Some(Err(io::Error::other(format!(
            "etcd ended ({status}):\n{}",
            printed(&log)
        )))),
        Err(error) => Some(Err(error)),
    });
    ready
        .unwrap_or_else(|exceeded| Err(io::Error::other(format!("etcd: {exceeded}:\n{}", printed(&log)))))?;
    Ok(process)
}

/// It says so itself: its port answers before it has elected itself.
fn is_ready(log: &Path) -> bool {
    printed(log).contains("ready to serve client requests")
}

fn printed(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_else(|error| format!("no log: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_there_after_a_crash() {
        let mut etcd = Etcd::start(EtcdOptions::default()).unwrap();
        etcd.ask("/v3/kv/put", r#"{"key": "Zm9v", "value": "YmFy"}"#, None)
            .unwrap();
        etcd.kill().unwrap();
        assert!(TcpStream::connect(etcd.address()).is_err());
        etcd.restart().unwrap();
        let answer = etcd.ask("/v3/kv/range", r#"{"key": "Zm9v"}"#, None).unwrap();
        assert!(answer.contains("YmFy"), "{answer}");
    }
}
