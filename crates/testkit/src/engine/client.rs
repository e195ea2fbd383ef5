//! A client of an engine that makes one value of every answer.

use std::net::{Ipv4Addr, SocketAddr};

use mysql::prelude::{Protocol, Queryable};
use mysql::{Conn, Opts, OptsBuilder, Params, Statement, Value};

use super::servers::FIRST_COLUMN;
use crate::client::{ClientOptions, TextRow, text};

/// What a client got for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Rows of a numbered server.
    From {
        /// Its hostgroup.
        hostgroup: u32,
        /// The text that it was sent.
        text: String,
        /// The schema that its connection was in.
        schema: String,
    },
    /// OK of a numbered server: its hostgroup.
    Done(u32),
    /// OK of the engine, with its text.
    Ok(String),
    /// Rows of the engine.
    Rows(Vec<TextRow>),
    /// An error with its number and text.
    Error(u16, String),
    /// The connection is gone, or what came is no answer; with the reason.
    Broken(String),
}

impl Reply {
    /// The hostgroup whose server answered.
    #[must_use]
    pub fn hostgroup(&self) -> Option<u32> {
        match self {
            Self::From { hostgroup, .. } | Self::Done(hostgroup) => Some(*hostgroup),
            Self::Ok(_) | Self::Rows(_) | Self::Error(..) | Self::Broken(_) => None,
        }
    }

    /// The engine itself answered, and with no error.
    #[must_use]
    pub fn is_of_engine(&self) -> bool {
        matches!(self, Self::Ok(_) | Self::Rows(_))
    }
}

/// A prepared statement of one client.
#[derive(Debug, Clone)]
pub struct Handle {
    statement: Statement,
}

/// A client's connection to an engine.
#[derive(Debug)]
pub struct EngineClient {
    connection: Conn,
}

impl EngineClient {
    /// Logs in.
    ///
    /// # Errors
    /// The engine's or the network's.
    pub fn connect(address: SocketAddr, options: ClientOptions<'_>) -> mysql::Result<Self> {
        Self::open(options.tcp(address))
    }

    /// Logs in from an address of this machine.
    ///
    /// # Errors
    /// The engine's or the network's.
    pub fn connect_from(
        from: Ipv4Addr,
        address: SocketAddr,
        options: ClientOptions<'_>,
    ) -> mysql::Result<Self> {
        Self::open(options.tcp(address).bind_address(Some((from, 0))))
    }

    fn open(options: OptsBuilder) -> mysql::Result<Self> {
        Ok(Self {
            connection: Conn::new(Opts::from(options.stmt_cache_size(0)))?,
        })
    }

    /// Sends a text as COM_QUERY.
    pub fn query(&mut self, sql: &str) -> Reply {
        match self.connection.query_iter(sql) {
            Ok(result) => reply(result),
            Err(error) => refused(error),
        }
    }

    /// Sends a text as COM_STMT_PREPARE.
    ///
    /// # Errors
    /// What came instead of a handle.
    pub fn prepare(&mut self, sql: &str) -> Result<Handle, Reply> {
        match self.connection.prep(sql) {
            Ok(statement) => Ok(Handle { statement }),
            Err(error) => Err(refused(error)),
        }
    }

    /// Sends COM_STMT_EXECUTE with the value 1 for every parameter.
    pub fn execute(&mut self, handle: &Handle) -> Reply {
        let values = vec![Value::from(1); usize::from(handle.statement.num_params())];
        let values = if values.is_empty() {
            Params::Empty
        } else {
            Params::Positional(values)
        };
        match self.connection.exec_iter(&handle.statement, values) {
            Ok(result) => reply(result),
            Err(error) => refused(error),
        }
    }

    /// Sends COM_INIT_DB.
    pub fn init_db(&mut self, schema: &str) -> Reply {
        match self.connection.select_db(schema) {
            Ok(()) => Reply::Ok(String::new()),
            Err(error) => refused(error),
        }
    }
}

fn refused(error: mysql::Error) -> Reply {
    match error {
        mysql::Error::MySqlError(error) => Reply::Error(error.code, error.message),
        other => Reply::Broken(other.to_string()),
    }
}

fn reply<P: Protocol>(mut result: mysql::QueryResult<'_, '_, '_, P>) -> Reply {
    let info = result.info_str().into_owned();
    let mut rows = Vec::new();
    let mut is_numbered = false;
    let mut has_columns = false;
    while let Some(set) = result.iter() {
        has_columns |= !set.columns().as_ref().is_empty();
        is_numbered |= set
            .columns()
            .as_ref()
            .first()
            .is_some_and(|column| column.name_str() == FIRST_COLUMN);
        for row in set {
            match row {
                Ok(row) => rows.push(row.unwrap().into_iter().map(text).collect::<TextRow>()),
                Err(error) => return refused(error),
            }
        }
    }
    if has_columns {
        return if is_numbered {
            numbered(rows)
        } else {
            Reply::Rows(rows)
        };
    }
    match info
        .strip_prefix("hostgroup ")
        .and_then(|number| number.parse().ok())
    {
        Some(hostgroup) => Reply::Done(hostgroup),
        None => Reply::Ok(info),
    }
}

fn numbered(rows: Vec<TextRow>) -> Reply {
    let Ok([row]) = <[TextRow; 1]>::try_from(rows) else {
        return Reply::Broken("a numbered server's answer without its one row".to_owned());
    };
    match row.as_slice() {
        [Some(hostgroup), Some(text), Some(schema)] => match hostgroup.parse() {
            Ok(hostgroup) => Reply::From {
                hostgroup,
                text: text.clone(),
                schema: schema.clone(),
            },
            Err(_) => Reply::Broken(format!("{hostgroup} is no hostgroup")),
        },
        other => Reply::Broken(format!("no row of a numbered server: {other:?}")),
    }
}
