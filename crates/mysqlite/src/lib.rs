//! SQLite answering over the MySQL protocol.
//!
//! A [`Server`] speaks the protocol with one thread per connection; a [`Backend`] says what statements mean. The
//! backend that is ready to use, [`sqlite::SqliteBackend`], runs MySQL-flavoured SQL on SQLite. The proxy's admin port
//! puts its own commands in front of it; the demo and the tests use it as a database that needs no installation.

mod answer;
mod attempts;
mod backend;
mod config;
mod connection;
mod login;
mod prepared;
mod responder;
mod server;
mod shared;
mod socket;
pub mod sqlite;
mod transport;
pub mod world;

pub use answer::{Answer, Cell, Completion, RowSink, Table, Value};
pub use backend::{Backend, Interrupt, IsGone, Session, SessionContext, StatementShape};
pub use config::{Config, CurrentTls, DeniedLogin, Limits, OnDenied, OnQuery, User};
pub use server::Server;
pub use shardwright_wire::{ColumnDefinition, ColumnType, MysqlError, StatusFlags};
