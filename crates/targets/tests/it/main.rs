//! The ports of admin and the files of ProxySQL, as tests ask them.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod admin;
mod emit;
mod proxysql;
mod schemas;
