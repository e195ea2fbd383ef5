//! The client side of tests: connections by the `mysql` crate, and rows as text.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};

/// Where an answer that does not come stops a test.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// A row as the text protocol shows it; `NULL` is `None`.
pub type TextRow = Vec<Option<String>>;

/// Who connects, and to which schema.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientOptions<'a> {
    /// User name.
    pub user: &'a str,
    /// Password; empty for none.
    pub password: &'a str,
    /// Schema selected in the handshake.
    pub schema: Option<&'a str>,
}

impl ClientOptions<'_> {
    fn builder(&self) -> OptsBuilder {
        OptsBuilder::new()
            .user(Some(self.user))
            .pass((!self.password.is_empty()).then_some(self.password))
            .db_name(self.schema)
            .read_timeout(Some(ANSWER_WITHIN))
            .write_timeout(Some(ANSWER_WITHIN))
            .tcp_connect_timeout(Some(ANSWER_WITHIN))
    }

    /// Options for a TCP address. The crate's own start-up statements are turned off, so that the first statement a
    /// proxy sees is the test's.
    #[must_use]
    pub fn tcp(&self, address: SocketAddr) -> OptsBuilder {
        self.builder()
            .ip_or_hostname(Some(address.ip().to_string()))
            .tcp_port(address.port())
            .prefer_socket(false)
            .max_allowed_packet(Some(64 << 20))
    }

    /// Options for a unix socket.
    #[must_use]
    pub fn unix(&self, socket: &Path) -> OptsBuilder {
        self.builder()
            .socket(Some(socket.to_string_lossy()))
            .max_allowed_packet(Some(64 << 20))
    }
}

/// Connects by TCP without sending any statement.
///
/// # Errors
/// The server's or the network's, as the `mysql` crate gives it.
pub fn connect(address: SocketAddr, options: ClientOptions<'_>) -> mysql::Result<Conn> {
    Conn::new(options.tcp(address))
}

/// Runs one or more statements in the text protocol; the rows of all their results, in order.
///
/// # Errors
/// The first error the server gives.
pub fn text_rows(connection: &mut Conn, sql: impl AsRef<str>) -> mysql::Result<Vec<TextRow>> {
    let mut rows = Vec::new();
    let mut results = connection.query_iter(sql)?;
    while let Some(result) = results.iter() {
        for row in result {
            rows.push(row?.unwrap().into_iter().map(text).collect());
        }
    }
    Ok(rows)
}

pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        other => Some(other.as_sql(true)),
    }
}
