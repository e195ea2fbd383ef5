//! Commands that serve clients until a signal ends them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroUsize, ParseIntError};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args as ClapArgs;
use shardwright_proxy::Limits;

/// Runs the bundled proxy
///
/// Serves the configuration that was last applied to the data directory. On an empty one it waits for a first apply, and only
/// administrators are served. The admin password comes from --admin-password-file or SHARDWRIGHT_ADMIN_PASSWORD.
///
/// Standard output gets one line when it has started, `ready listen=ADDR,… admin=ADDR` or `waiting for a first apply
/// admin=ADDR`, and the first of these after the first apply. The log goes to standard error; SHARDWRIGHT_LOG says how much
/// (error, warn, info, debug, trace; default: info).
///
/// SIGHUP reads certificates, passwords and admin accounts again; sessions go on. SIGTERM takes on no more clients and gives open
/// transactions 30 seconds to end; a second one stops at once.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  SHARDWRIGHT_ADMIN_PASSWORD=… shardwright proxy --data-dir /var/lib/shardwright\n  \
    shardwright proxy --listen 127.0.0.1:6033 --admin 127.0.0.1:6032 --data-dir ./data --admin-password-file admin.pw\n  \
    shardwright proxy --listen 0.0.0.0:6033 --tls-cert server.pem --tls-key server.key --tls-server-ca ca.pem --data-dir ./data"
)]
pub(crate) struct Proxy {
    /// The address for clients; default: the listeners of the configuration, or 127.0.0.1:6033 if it has none
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// The address of the admin port
    #[arg(long, default_value = "127.0.0.1:6032", value_name = "ADDR")]
    pub(crate) admin: SocketAddr,
    /// Where jobs ask by HTTP whether they may write, as they ask Freno; such as 127.0.0.1:9777. There is no login
    #[arg(long, value_name = "ADDR")]
    pub(crate) checks: Option<SocketAddr>,
    /// The directory of applied configurations
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: PathBuf,
    /// The proxy's name; it does not start on a data directory that belongs to a proxy with another name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Does not start on a data directory without a configuration, such as one whose volume is not mounted
    #[arg(long)]
    pub(crate) require_configuration: bool,
    /// A file with the password of the user `admin`
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_password_file: Option<PathBuf>,
    /// A file with further accounts of the admin port and the role of each (YAML)
    #[arg(long, value_name = "FILE")]
    pub(crate) admin_accounts: Option<PathBuf>,
    /// Allows configurations and the file of admin accounts to run commands that print a password
    #[arg(long)]
    pub(crate) allow_secret_commands: bool,
    /// The certificate for clients, with those that lead to its authority (PEM); without it clients get no TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Authorities whose certificates clients may show (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_client_ca: Option<PathBuf>,
    /// Authorities of servers' certificates, for clusters with `tls: verify` (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_server_ca: Option<PathBuf>,
    /// Encrypts passwords with keys that servers send in the clear; who answers in a server's place can read them
    #[arg(long)]
    pub(crate) allow_public_key_retrieval: bool,
    /// Worker threads; default: one for each core
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<NonZeroUsize>,
    /// The version that clients are greeted with; default: that of the servers
    #[arg(long, value_name = "VERSION", value_parser = server_version)]
    pub(crate) server_version: Option<String>,
    /// Also does what `refuse` does, for the project of -C
    #[arg(long)]
    pub(crate) refuse: bool,
    #[command(flatten)]
    pub(crate) limits: ProxyLimits,
}

fn at_least_one(text: &str) -> Result<usize, ParseIntError> {
    text.parse().map(NonZeroUsize::get)
}

/// A version of which drivers can read the numbers.
fn server_version(text: &str) -> Result<String, &'static str> {
    let mut numbers = text.splitn(3, '.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let has_numbers = numbers.next().is_some_and(is_number)
        && numbers.next().is_some_and(is_number)
        && numbers
            .next()
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    match has_numbers && text.len() <= LONGEST_VERSION && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text.to_owned()),
        false => Err("write a version as servers say it, such as 8.0.36 or 11.4.2-MariaDB"),
    }
}

/// Clients keep it in a buffer of this length (SERVER_VERSION_LENGTH).
const LONGEST_VERSION: usize = 60;

/// Limits of the bundled proxy. Each error at a limit names its flag.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Limits")]
pub(crate) struct ProxyLimits {
    /// Client connections at a time (error 1040)
    #[arg(long, default_value_t = Limits::default().max_sessions, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_connections: usize,
    /// Client connections that have not logged in; at the limit, the address with the most gives up its oldest (error 1040);
    /// default: as many as file descriptors allow
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_half_open: Option<usize>,
    /// Seconds for a login, TLS included
    #[arg(long, default_value_t = Limits::default().handshake_timeout.as_secs(), value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) login_timeout: u64,
    /// Seconds that a statement waits for a connection to a server, or for a place in a throttle (errors 9001 and 9101)
    #[arg(long, default_value_t = Limits::default().checkout_timeout.as_secs(), value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) checkout_timeout: u64,
    /// Largest statement, and parameters of one that are sent in pieces (error 1153); clients that ask for
    /// `@@max_allowed_packet` are told no more
    #[arg(long, default_value_t = Bytes(Limits::default().max_packet), value_name = "BYTES")]
    pub(crate) max_allowed_packet: Bytes,
    /// Memory for all that clients make the proxy hold; at the limit, who holds the most waits or is refused (error 1041); default:
    /// half of what the machine or the control group has
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_memory: Option<Memory>,
}

/// Bytes of memory, from 64M on: `512M`, `8G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory(pub(crate) usize);

/// With less, few statements would fit.
const LEAST_MEMORY: usize = 64 << 20;

impl FromStr for Memory {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        bytes_of(text)
            .filter(|bytes| (LEAST_MEMORY..=usize::MAX / 4).contains(bytes))
            .map(Self)
            .ok_or("write a number of bytes from 64M on, such as 2G")
    }
}

/// A number of bytes, from 1K to 1G as servers allow it: `67108864`, `64M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) usize);

const UNITS: [(char, usize); 3] = [('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

impl FromStr for Bytes {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        bytes_of(text)
            .filter(|bytes| (1 << 10..=1 << 30).contains(bytes))
            .map(Self)
            .ok_or("write a number of bytes from 1K to 1G, such as 64M")
    }
}

/// `67108864`, `64M`
fn bytes_of(text: &str) -> Option<usize> {
    let unit = UNITS
        .into_iter()
        .find_map(|(letter, bytes)| Some((text.strip_suffix([letter, letter.to_ascii_lowercase()])?, bytes)));
    let (number, unit) = unit.unwrap_or((text, 1));
    let number: usize = number.parse().ok()?;
    number.checked_mul(unit)
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.into_iter().find(|(_, bytes)| self.0.is_multiple_of(*bytes));
        match unit {
            Some((letter, bytes)) => write!(f, "{}{letter}", self.0 / bytes),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_shown() {
        for (text, bytes) in [
            ("64M", 64 << 20),
            ("16m", 16 << 20),
            ("1G", 1 << 30),
            ("1k", 1 << 10),
            ("1025", 1025),
        ] {
            let read: Bytes = text.parse().unwrap();
            assert_eq!(read.0, bytes, "{text}");
            assert_eq!(read.to_string().parse(), Ok(read));
        }
        for wrong in [
            "",
            "M",
            "1023",
            "2G",
            "-1M",
            "64 M",
            "18446744073709551615G",
            "64MB",
        ] {
            assert!(wrong.parse::<Bytes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_version_is_one_that_drivers_read() {
        for version in ["8.0.36", "5.7.44-log", "11.4.2-MariaDB-1:11.4.2+maria~deb12"] {
            assert_eq!(server_version(version).as_deref(), Ok(version));
        }
        let long = format!("8.0.36-{}", "x".repeat(60));
        for wrong in [
            "", "abc", "8", "8.0", "8.0.x", "v8.0.36", ".0.1", "8.0.36 x", &long,
        ] {
            assert!(server_version(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn memory_has_a_least_size() {
        for (text, bytes) in [("64M", 64 << 20), ("16G", 16 << 30), ("100000000", 100_000_000)] {
            assert_eq!(text.parse(), Ok(Memory(bytes)), "{text}");
        }
        for wrong in ["", "0", "63M", "1K", "-1G", "18446744073709551615", "1T"] {
            assert!(wrong.parse::<Memory>().is_err(), "{wrong}");
        }
    }
}

/// Tells clients of ProxySQL why their prepared statements are refused
///
/// ProxySQL ends when a rule answers the execution of a prepared statement with an error. The compiled rules send such an
/// execution to a hostgroup whose server is this command. It answers every connection with the reason, and nothing else.
/// Each reason has its own port, counted up from `engine_settings.proxysql.refuser.port`. Prints
/// `ready listen=ADDR,…` to standard output once it serves. SIGHUP reads the project again; SIGTERM ends it.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  shardwright refuse -C /etc/shardwright\n  shardwright refuse -C DIR -e prod --listen 10.0.0.7"
)]
pub(crate) struct Refuse {
    /// The engine that it refuses for; default: the first ProxySQL that the project lists
    #[arg(long, value_name = "ENGINE")]
    pub(crate) engine: Option<String>,
    /// The address to listen on; default: the `host` of the project's refuser
    #[arg(long, value_name = "IP")]
    pub(crate) listen: Option<IpAddr>,
}
