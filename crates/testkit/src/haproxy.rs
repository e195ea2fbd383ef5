//! HAProxy in front of servers: the first that is up takes writes, the others are backups; all share the reads.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::eventually::poll_until;
use crate::guarded::GuardedProcess;
use crate::reserved_port::ReservedPort;

const READY_WITHIN: Duration = Duration::from_secs(30);

/// A running HAProxy; killed when dropped.
#[derive(Debug)]
pub struct HaProxy {
    // Declared before the directory: the process ends before its files go.
    process: GuardedProcess,
    _directory: TempDir,
    port: ReservedPort,
    reads: ReservedPort,
}

/// How one forwards bytes to one server, whatever they are.
#[derive(Debug, Clone)]
pub struct Forwarding<'a> {
    /// The server.
    pub server: SocketAddr,
    /// Threads.
    pub threads: u32,
    /// Connections at a time.
    pub max_connections: u32,
    /// A file with a certificate and its key, with which it speaks TLS to clients from the first byte on.
    pub certificate: Option<&'a Path>,
}

impl HaProxy {
    /// Starts one that logs in as `user`, who has no password, every `interval_ms` to see which servers are up. Two failures in
    /// a row take a server out, and end its connections.
    ///
    /// # Errors
    /// It does not start; with what it printed.
    pub fn start(servers: &[SocketAddr], user: &str, interval_ms: u32) -> io::Result<Self> {
        Self::launch(|ports| configuration(ports, servers, user, interval_ms))
    }

    /// Starts one that forwards bytes and looks at nothing.
    ///
    /// # Errors
    /// It does not start; with what it printed.
    pub fn forwarding(forwarding: &Forwarding<'_>) -> io::Result<Self> {
        Self::launch(|[listen, _]| forwarding_configuration(listen, forwarding))
    }

    /// Starts one with the configuration for these addresses.
    fn launch(configuration: impl FnOnce([SocketAddr; 2]) -> String) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("sw-haproxy-").tempdir()?;
        let (port, reads) = (ReservedPort::new()?, ReservedPort::new()?);
        let [file, log] = ["haproxy.cfg", "log"].map(|name| directory.path().join(name));
        fs::write(&file, configuration([port.address(), reads.address()]))?;
        let output = fs::File::create(&log)?;
        let mut command = Command::new("haproxy");
        command
            .args(["-db", "-f"])
            .arg(&file)
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output);
        let mut process = GuardedProcess::spawn(&mut command, directory.path())?;
        let answers = poll_until(READY_WITHIN, || match process.try_wait() {
            Ok(None) => TcpStream::connect(port.address()).ok().map(|_| Ok(())),
            Ok(Some(status)) => Some(Err(io::Error::other(format!(
                "HAProxy ended ({status}):\n{}",
                printed(&log)
            )))),
            Err(error) => Some(Err(error)),
        });
        answers.unwrap_or_else(|exceeded| {
            Err(io::Error::other(format!(
                "HAProxy: {exceeded}:\n{}",
                printed(&log)
            )))
        })?;
        Ok(Self {
            process,
            _directory: directory,
            port,
            reads,
        })
    }

    /// The process id.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Where clients write.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Where clients read: on the server with the fewest connections. One that only forwards listens on the other address alone.
    #[must_use]
    pub fn reads(&self) -> SocketAddr {
        self.reads.address()
    }
}

fn printed(log: &Path) -> String {
    fs::read_to_string(log).unwrap_or_else(|error| format!("no log: {error}"))
}

fn configuration(
    [listen, reads]: [SocketAddr; 2],
    servers: &[SocketAddr],
    user: &str,
    interval_ms: u32,
) -> String {
    let listed = |backup: &str| -> String {
        let server = |(at, address): (usize, &SocketAddr)| {
            let backup = if at > 0 { backup } else { "" };
            format!("  server node{} {address} check weight 50{backup}\n", at + 1)
        };
        servers.iter().enumerate().map(server).collect()
    };
    let checks = format!(
        "  option mysql-check user {user}\n  \
         default-server inter {interval_ms} rise 1 fall 2 on-marked-down shutdown-sessions\n"
    );
    format!(
        "defaults\n  mode tcp\n  timeout connect 1s\n  timeout check 1s\n  timeout client 1h\n  timeout server 1h\n\
         listen writes\n  bind {listen}\n{checks}{}\
         listen reads\n  bind {reads}\n  balance leastconn\n{checks}{}",
        listed(" backup"),
        listed(""),
    )
}

fn forwarding_configuration(listen: SocketAddr, forwarding: &Forwarding<'_>) -> String {
    let Forwarding {
        server,
        threads,
        max_connections,
        certificate,
    } = forwarding;
    let tls = certificate.map_or_else(String::new, |file| format!(" ssl crt {}", file.display()));
    format!(
        "global\n  nbthread {threads}\n  maxconn {max_connections}\n\
         defaults\n  mode tcp\n  timeout connect 10s\n  timeout client 1h\n  timeout server 1h\n\
         listen all\n  bind {listen}{tls}\n  maxconn {max_connections}\n  server only {server}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientOptions, Flavour, MariaDb, Options, connect, eventually, text_rows};

    #[test]
    fn the_backup_serves_when_the_first_server_is_gone() {
        let options = Options {
            flavour: Flavour::MariaDb,
            ..Options::default()
        };
        let mut servers = [(); 2].map(|()| MariaDb::start(options.clone()).unwrap());
        for server in &servers {
            server
                .run("CREATE USER haproxy@'%'; CREATE USER app@'%' IDENTIFIED BY 'pass'")
                .unwrap();
        }
        let [first, second] = [servers[0].port(), servers[1].port()].map(|port| port.to_string());
        let addresses = [servers[0].address(), servers[1].address()];
        let haproxy = HaProxy::start(&addresses, "haproxy", 200).unwrap();
        let asked = || {
            let login = ClientOptions {
                user: "app",
                password: "pass",
                schema: None,
            };
            let mut client = connect(haproxy.address(), login).ok()?;
            text_rows(&mut client, "SELECT @@port").ok()?.pop()?.pop()?
        };
        let patience = Duration::from_secs(30);
        eventually(patience, || asked().as_ref() == Some(&first));
        servers[0].kill().unwrap();
        eventually(patience, || asked().as_ref() == Some(&second));
    }
    #[test]
    fn one_that_forwards_reaches_its_server() {
        let server = MariaDb::start(Options::default()).unwrap();
        server.run("CREATE USER app@'%' IDENTIFIED BY 'pass'").unwrap();
        let haproxy = HaProxy::forwarding(&Forwarding {
            server: server.address(),
            threads: 1,
            max_connections: 100,
            certificate: None,
        })
        .unwrap();
        let login = ClientOptions {
            user: "app",
            password: "pass",
            schema: None,
        };
        let mut client = connect(haproxy.address(), login).unwrap();
        let port = text_rows(&mut client, "SELECT @@port").unwrap();
        assert_eq!(port, [[Some(server.port().to_string())]]);
        assert!(haproxy.process_id() > 0);
    }
}
