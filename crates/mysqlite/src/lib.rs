//! SQLite answering over the MySQL protocol.
