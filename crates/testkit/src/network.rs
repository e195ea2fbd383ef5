//! A network to servers that can be cut: packets are lost, and nobody is told.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::geteuid;

use crate::guarded::GuardedProcess;
use crate::mariadb::Options;
use crate::reserved_port::ReservedPort;

/// The first address of the networks; each has four.
const FIRST: u32 = u32::from_be_bytes([10, 212, 0, 0]);

/// A network namespace and a pair of interfaces between it and this one. Both end with the value, and with the test process
/// if that dies first: a process holds the namespace.
#[derive(Debug)]
pub struct Network {
    holder: GuardedProcess,
    /// Names the interfaces and addresses: nobody else has it.
    number: ReservedPort,
}

impl Network {
    /// Makes one; `None` after a line on the error output that says what is left out, where this machine does not allow it.
    ///
    /// # Panics
    /// When the machine allows the namespace, and not what belongs to it.
    #[must_use]
    pub fn if_possible(what_is_left_out: &str) -> Option<Self> {
        let why = match Self::new() {
            Ok(network) => return Some(network),
            Err(error) => error,
        };
        #[expect(
            clippy::print_stderr,
            reason = "the reader of a test's output must see what did not run"
        )]
        {
            eprintln!("no network namespace ({why}); left out: {what_is_left_out}");
        }
        None
    }

    fn new() -> io::Result<Self> {
        if !geteuid().is_root() {
            return Err(io::Error::other("only root may make one"));
        }
        let number = ReservedPort::new()?;
        let mut command = Command::new("unshare");
        command
            .args(["--net", "sh", "-c", "echo ready; exec sleep infinity"])
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // The guard removes nothing: there is no directory of this name.
        let nothing = format!("/nonexistent/{}", number.number());
        let mut holder = GuardedProcess::spawn(&mut command, Path::new(&nothing))?;
        let mut line = String::new();
        let output = holder
            .take_stdout()
            .ok_or_else(|| io::Error::other("no output"))?;
        io::BufRead::read_line(&mut io::BufReader::new(output), &mut line)?;
        if line != "ready\n" {
            return Err(io::Error::other("unshare is not allowed"));
        }
        let network = Self { holder, number };
        let (near, far) = (network.near(), network.far());
        let process = network.holder.id().to_string();
        ip(&format!("link add {near} type veth peer name {far}"))?;
        ip(&format!("link set {far} netns {process}"))?;
        ip(&format!("address add {}/30 dev {near}", network.here()))?;
        ip(&format!("link set {near} up"))?;
        network.inside(&format!("address add {}/30 dev {far}", network.there()))?;
        network.inside("link set lo up")?;
        network.inside(&format!("link set {far} up"))?;
        Ok(network)
    }

    /// The address of this side.
    #[must_use]
    pub fn here(&self) -> IpAddr {
        self.address(1)
    }

    /// The address of the other side.
    #[must_use]
    pub fn there(&self) -> IpAddr {
        self.address(2)
    }

    /// Has a server run on the other side.
    #[must_use]
    pub fn beyond(&self, options: Options) -> Options {
        let namespace = format!("--net=/proc/{}/ns/net", self.holder.id());
        Options {
            wrapper: vec!["nsenter".to_owned(), namespace],
            host: Some(self.there()),
            ..options
        }
    }

    /// Loses every packet from now on.
    ///
    /// # Panics
    /// When it cannot.
    pub fn cut(&self) {
        self.inside(&format!("link set {} down", self.far()))
            .expect("a link that goes down");
    }

    /// Undoes [`Network::cut`].
    ///
    /// # Panics
    /// When it cannot.
    pub fn mend(&self) {
        self.inside(&format!("link set {} up", self.far()))
            .expect("a link that goes up");
    }

    fn near(&self) -> String {
        format!("sw{}a", self.number.number())
    }

    fn far(&self) -> String {
        format!("sw{}b", self.number.number())
    }

    fn address(&self, side: u32) -> IpAddr {
        Ipv4Addr::from(FIRST + 4 * u32::from(self.number.number()) + side).into()
    }

    fn inside(&self, arguments: &str) -> io::Result<()> {
        let namespace = format!("--net=/proc/{}/ns/net", self.holder.id());
        run(Command::new("nsenter").arg(namespace).arg("ip"), arguments)
    }
}

const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn ip(arguments: &str) -> io::Result<()> {
    run(&mut Command::new("ip"), arguments)
}

fn run(command: &mut Command, arguments: &str) -> io::Result<()> {
    let output = command
        .args(arguments.split_whitespace())
        .env("PATH", PATH)
        .output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!(
            "ip {arguments}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Duration;

    use super::*;
    use crate::{Flavour, MariaDb, eventually};

    #[test]
    fn a_server_beyond_a_network_that_is_cut_does_not_answer() {
        let Some(network) = Network::if_possible("a server beyond a network") else {
            return;
        };
        let options = Options {
            flavour: Flavour::MariaDb,
            ..Options::default()
        };
        let server = MariaDb::start(network.beyond(options)).unwrap();
        assert_eq!(server.address().ip(), network.there());
        let answers = || TcpStream::connect_timeout(&server.address(), Duration::from_millis(300)).is_ok();
        assert!(answers());
        network.cut();
        assert!(!answers());
        assert!(server.run("SELECT 1").is_ok(), "the process goes on");
        network.mend();
        eventually(Duration::from_secs(20), answers);
    }
}
