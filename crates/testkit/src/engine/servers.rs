//! Servers that answer every statement with the number of their hostgroup.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use shardwright_mysqlite::{
    Answer, Backend, Cell, ColumnDefinition, ColumnType, Completion, Config, Limits, MysqlError, RowSink,
    Server, Session, SessionContext, StatementShape, StatusFlags, User, Value,
};

/// The first column of every result: what tells a server's answer from one of the engine's own.
pub(super) const FIRST_COLUMN: &str = "numbered_hostgroup";

/// How a text reached a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// COM_QUERY.
    Query,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_EXECUTE.
    Execute,
}

/// A text that reached a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The server's hostgroup.
    pub hostgroup: u32,
    /// The command.
    pub via: Via,
    /// The text.
    pub text: Vec<u8>,
    /// The schema that the connection was in.
    pub schema: String,
}

type Arrivals = Arc<Mutex<Vec<Arrival>>>;

/// A server for each hostgroup; they end with this value.
///
/// They share a port, and each has an address of its own in 127.0.0.0/8: ten thousand hostgroups need no ten thousand
/// ports, of which the machine has few, and no thread each.
///
/// A statement that a server would answer with rows is answered with one row: hostgroup, text, schema. All others are
/// answered with OK, whose text is `hostgroup N`. BEGIN, COMMIT and autocommit are followed, so that the status flags
/// of answers are a server's.
#[derive(Debug)]
pub struct NumberedServers {
    hostgroups: Vec<u32>,
    server: Server,
    arrivals: Arrivals,
}

/// Hostgroups that have an address.
const MOST_HOSTGROUPS: u32 = 0x007F_0000;

impl NumberedServers {
    /// Starts a server for each of `hostgroups`; every user of `users` may log in, without a password.
    ///
    /// # Errors
    /// A port cannot be listened on, or a hostgroup's number is too large for an address.
    pub fn start(hostgroups: impl IntoIterator<Item = u32>, users: &[&str]) -> io::Result<Self> {
        let hostgroups: Vec<u32> = hostgroups.into_iter().collect();
        if hostgroups.iter().any(|hostgroup| *hostgroup >= MOST_HOSTGROUPS) {
            return Err(io::Error::other(format!("a hostgroup above {MOST_HOSTGROUPS}")));
        }
        let arrivals = Arrivals::default();
        let users = users.iter().map(|name| User {
            name: (*name).to_owned(),
            password: String::new(),
        });
        let config = Config {
            users: users.collect(),
            server_version: "8.0.30".to_owned(),
            limits: Limits {
                connections: usize::MAX,
                ..Limits::default()
            },
            ..Config::default()
        };
        let backend = Numbered {
            arrivals: Arc::clone(&arrivals),
        };
        let server = Server::bind((Ipv4Addr::UNSPECIFIED, 0), config, Arc::new(backend))?;
        Ok(Self {
            hostgroups,
            server,
            arrivals,
        })
    }

    /// Each hostgroup with its server's address.
    pub fn addresses(&self) -> impl Iterator<Item = (u32, SocketAddr)> {
        let port = self.server.local_addr().port();
        let hostgroups = self.hostgroups.iter();
        hostgroups.map(move |hostgroup| (*hostgroup, SocketAddr::from((address_of(*hostgroup), port))))
    }

    /// The rows of `mysql_servers` for ProxySQL's admin port, without `LOAD`.
    #[must_use]
    pub fn rows(&self) -> Vec<String> {
        self.addresses()
            .map(|(hostgroup, address)| {
                format!(
                    "INSERT INTO mysql_servers (hostgroup_id, hostname, port) VALUES ({hostgroup}, '{}', {})",
                    address.ip(),
                    address.port()
                )
            })
            .collect()
    }

    /// What has reached the servers since this was asked before, in order; what the engine itself sends, such as
    /// `SET NAMES`, is among it.
    #[must_use]
    pub fn take_arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// 127.1.0.0 is that of hostgroup 0.
fn address_of(hostgroup: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 0)) + hostgroup)
}

fn hostgroup_at(address: IpAddr) -> Option<u32> {
    let IpAddr::V4(address) = address else {
        return None;
    };
    let first = u32::from(address_of(0));
    let hostgroup = u32::from(address).checked_sub(first)?;
    (hostgroup < MOST_HOSTGROUPS).then_some(hostgroup)
}

struct Numbered {
    arrivals: Arrivals,
}

impl Backend for Numbered {
    fn open_session(&self, context: &SessionContext) -> Result<Box<dyn Session>, MysqlError> {
        let hostgroup = hostgroup_at(context.local.ip())
            .ok_or_else(|| MysqlError::general(1105, format!("{} is no hostgroup's", context.local)))?;
        Ok(Box::new(NumberedSession {
            hostgroup,
            arrivals: Arc::clone(&self.arrivals),
            schema: None,
            autocommit: true,
            in_transaction: false,
        }))
    }
}

struct NumberedSession {
    hostgroup: u32,
    arrivals: Arrivals,
    schema: Option<String>,
    autocommit: bool,
    in_transaction: bool,
}

impl NumberedSession {
    fn arrived(&self, via: Via, text: &[u8]) {
        let arrival = Arrival {
            hostgroup: self.hostgroup,
            via,
            text: text.to_vec(),
            schema: self.schema.clone().unwrap_or_default(),
        };
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.push(arrival);
    }

    fn run(&mut self, text: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let words = first_words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["BEGIN", ..] | ["START", "TRANSACTION", ..] => self.in_transaction = true,
            ["COMMIT", ..] => self.in_transaction = false,
            ["ROLLBACK", rest @ ..] if !rest.contains(&"TO") => self.in_transaction = false,
            ["SET", "AUTOCOMMIT", value, ..] => {
                let is_on = matches!(*value, "1" | "ON" | "TRUE");
                // Switching on what is on already ends nothing.
                self.in_transaction &= !is_on || self.autocommit;
                self.autocommit = is_on;
            }
            ["SET" | "SHOW" | "USE", ..] => {}
            _ => self.in_transaction |= !self.autocommit,
        }
        if !has_rows(&words) {
            let info = format!("hostgroup {}", self.hostgroup);
            return Ok(Answer::Ok(Completion {
                info,
                ..Completion::default()
            }));
        }
        rows.columns(&columns())?;
        rows.row(&[
            Cell::Int(i64::from(self.hostgroup)),
            Cell::Text(text),
            Cell::Text(self.schema.as_deref().unwrap_or_default().as_bytes()),
        ])?;
        Ok(Answer::Rows { warnings: 0 })
    }
}

fn columns() -> Vec<ColumnDefinition> {
    vec![
        ColumnDefinition::new(FIRST_COLUMN, ColumnType::MYSQL_TYPE_LONGLONG),
        ColumnDefinition::new("text", ColumnType::MYSQL_TYPE_VAR_STRING),
        ColumnDefinition::new("schema", ColumnType::MYSQL_TYPE_VAR_STRING),
    ]
}

/// The first words of a text in capitals, comments left out: as much as tells what kind of statement it is.
fn first_words(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(text);
    let mut rest: &str = &text;
    let mut words = Vec::new();
    while words.len() < 4 {
        rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '/' && c != '#' && c != '-');
        if let Some(comment) = rest.strip_prefix("/*").filter(|rest| !rest.starts_with('!')) {
            rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
        } else if rest.starts_with('#') || rest.starts_with("-- ") {
            rest = rest.split_once('\n').map_or("", |(_, behind)| behind);
        } else {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            if rest.is_empty() {
                break;
            }
            if end > 0 {
                words.push(rest[..end].to_ascii_uppercase());
            }
            rest = &rest[end.max(rest.chars().next().map_or(1, char::len_utf8))..];
        }
    }
    words
}

fn has_rows(words: &[&str]) -> bool {
    matches!(
        words.first(),
        Some(&("SELECT" | "SHOW" | "WITH" | "EXPLAIN" | "DESC" | "DESCRIBE" | "VALUES" | "TABLE" | "CALL"))
    )
}

impl Session for NumberedSession {
    fn use_schema(&mut self, schema: &str) -> Result<(), MysqlError> {
        self.schema = Some(schema.to_owned());
        Ok(())
    }

    fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    fn status(&self) -> StatusFlags {
        let mut status = StatusFlags::empty();
        status.set(StatusFlags::SERVER_STATUS_AUTOCOMMIT, self.autocommit);
        status.set(StatusFlags::SERVER_STATUS_IN_TRANS, self.in_transaction);
        status
    }

    fn query(&mut self, text: &[u8], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.arrived(Via::Query, text);
        self.run(text, rows)
    }

    fn prepare(&mut self, text: &[u8]) -> Result<StatementShape, MysqlError> {
        self.arrived(Via::Prepare, text);
        let words = first_words(text);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(StatementShape {
            parameters: parameters(text),
            columns: if has_rows(&words) { columns() } else { Vec::new() },
        })
    }

    fn execute(&mut self, text: &[u8], _: &[Value], rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        self.arrived(Via::Execute, text);
        self.run(text, rows)
    }
}

/// The number of `?` outside quotes.
fn parameters(text: &[u8]) -> u16 {
    let mut quote = None;
    let mut count = 0;
    for byte in text {
        match (quote, byte) {
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            (None, b'?') => count += 1,
            _ => {}
        }
    }
    count
}
