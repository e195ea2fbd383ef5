//! SQLite answering over the MySQL protocol.

pub mod world;
