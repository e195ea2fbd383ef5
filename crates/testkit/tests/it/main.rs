//! Commands and servers that tests start.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod command;
mod mariadb;
