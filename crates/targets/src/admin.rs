//! Admin ports: where they are, and how they are connected to.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;
use std::{fmt, io, thread};

use mysql::{Conn, DriverError, OptsBuilder, SslOpts};
use shardwright_secrets::Secret;

/// The largest statement or row that is exchanged; the most that the protocol's own limit can be set to.
pub(crate) const MAX_PACKET_BYTES: usize = 1 << 30;

/// Where an admin port is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminAddress {
    /// A host name or IP address, and a port.
    Tcp {
        /// Without brackets.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// The path of a unix socket.
    Unix(String),
}

impl AdminAddress {
    /// Reads `HOST:PORT`, `[IPV6]:PORT` or `/PATH`; `None` when it is none of them.
    pub fn parse(text: &str) -> Option<Self> {
        if text.starts_with('/') {
            return Some(Self::Unix(text.to_owned()));
        }
        let (host, port) = text.rsplit_once(':')?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bare {
            Some(host) => host,
            None if host.contains(':') => return None,
            None => host,
        };
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (!host.is_empty()).then(|| Self::Tcp {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => f.write_str(path),
        }
    }
}

/// How long the parts of an exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a connection stands, with its login.
    pub connect: Duration,
    /// Until the next bytes of an answer: validating and storing a large configuration comes before its first one.
    pub answer: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(60),
        }
    }
}

/// Connects, without sending any statement; with authorities, inside TLS that is checked with them.
pub(crate) fn open(
    address: &AdminAddress,
    user: &str,
    password: &Secret,
    authorities: Option<&Path>,
    timeouts: Timeouts,
) -> Result<Conn, mysql::Error> {
    let tls = authorities.map(|path| SslOpts::default().with_root_cert_path(Some(path.to_owned())));
    let options = OptsBuilder::new()
        .user(Some(user))
        .pass(Some(password.expose()))
        .prefer_socket(false)
        .stmt_cache_size(Some(0))
        // Set here so that the driver does not ask the server for it.
        .max_allowed_packet(Some(MAX_PACKET_BYTES))
        .tcp_connect_timeout(Some(timeouts.connect))
        .read_timeout(Some(timeouts.answer))
        .write_timeout(Some(timeouts.answer))
        .ssl_opts(tls);
    let options = match address {
        AdminAddress::Tcp { host, port } => options.ip_or_hostname(Some(host.as_str())).tcp_port(*port),
        AdminAddress::Unix(path) => options.socket(Some(path.as_str())),
    };
    // The driver waits for a greeting as long as for an answer. A thread that is left behind ends with that time, or with us.
    let (sender, receiver) = channel();
    thread::spawn(move || sender.send(Conn::new(options)));
    receiver
        .recv_timeout(timeouts.connect)
        .unwrap_or_else(|_| Err(mysql::Error::IoError(io::ErrorKind::TimedOut.into())))
        .map_err(|error| {
            if is_timeout(&error) {
                silent(timeouts.connect.min(timeouts.answer))
            } else {
                error
            }
        })
}

/// The error of a port that has not answered within a time.
fn silent(limit: Duration) -> mysql::Error {
    let message = format!("it does not answer within {} s", limit.as_secs_f64());
    mysql::Error::IoError(io::Error::other(message))
}

/// What went wrong, with the time that an answer may take.
pub(crate) fn reason_within(error: &mysql::Error, limit: Duration) -> String {
    if is_timeout(error) {
        reason(&silent(limit))
    } else {
        reason(error)
    }
}

fn is_timeout(error: &mysql::Error) -> bool {
    let of_driver = match error {
        mysql::Error::DriverError(DriverError::ConnectTimeout | DriverError::Timeout) => true,
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, _, kind)))) => {
            *kind == io::ErrorKind::TimedOut
        }
        _ => false,
    };
    of_driver
        || matches!(
            cause(error),
            Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
        )
}

/// Whether nothing listens there.
pub(crate) fn is_refused(error: &mysql::Error) -> bool {
    match error {
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, _, kind)))) => {
            *kind == io::ErrorKind::ConnectionRefused
        }
        other => cause(other) == Some(io::ErrorKind::ConnectionRefused),
    }
}

pub(crate) fn reason(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(error) => {
            format!(
                "{} ({}, {})",
                printable(&error.message),
                error.code,
                printable(&error.state)
            )
        }
        mysql::Error::DriverError(error) => driver_reason(error),
        other => match cause(other) {
            Some(io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                "it does not answer in time".to_owned()
            }
            Some(
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe,
            ) => "the connection has ended".to_owned(),
            _ => match other {
                mysql::Error::IoError(error) => printable(&error.to_string()),
                _ => printable(&other.to_string()),
            },
        },
    }
}

/// What the system says, where the driver has wrapped it.
fn cause(error: &mysql::Error) -> Option<io::ErrorKind> {
    let mut next: Option<&dyn std::error::Error> = Some(match error {
        // The driver's error does not name these as its source.
        mysql::Error::IoError(error) => error,
        mysql::Error::CodecError(error) => error,
        other => other,
    });
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(error.kind());
        }
        next = error.source();
    }
    None
}

/// The driver's own errors without the names of their types.
fn driver_reason(error: &DriverError) -> String {
    match error {
        DriverError::ConnectTimeout | DriverError::Timeout => "it does not answer in time".to_owned(),
        DriverError::CouldNotConnect(Some((_, description, kind))) => match kind {
            io::ErrorKind::ConnectionRefused => "connection refused: nothing listens there".to_owned(),
            io::ErrorKind::TimedOut => "it does not answer in time".to_owned(),
            _ => printable(description),
        },
        DriverError::CouldNotConnect(None) => "no such host".to_owned(),
        other => printable(&other.to_string()),
    }
}

/// A text as a literal of SQLite: a quote is written twice, and a backslash is a character.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

pub(crate) fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("127.0.0.1:6032", Some("127.0.0.1:6032")),
            ("px-a1.internal:6032", Some("px-a1.internal:6032")),
            ("[::1]:6032", Some("[::1]:6032")),
            ("/run/shardwright/admin.sock", Some("/run/shardwright/admin.sock")),
            ("::1:6032", None),
            ("px-a1", None),
            (":6032", None),
            ("px-a1:0", None),
            ("px-a1:65536", None),
            ("", None),
        ] {
            let parsed = AdminAddress::parse(text).map(|address| address.to_string());
            assert_eq!(parsed.as_deref(), expected, "{text}");
        }
    }
}
