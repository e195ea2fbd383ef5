//! Rule sets of live systems, read from their files.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod dumps;
mod files;
mod hostile;
mod proxysql_admin;
mod recorded;
mod round_trip;
mod scheduler;
