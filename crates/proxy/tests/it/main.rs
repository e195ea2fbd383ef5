//! The proxy in front of real servers.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod admin_tables;
mod support;

mod apply;
mod autocommit;
mod crash;
mod failures;
mod hostile;
mod leaks;
mod maps;
mod prepared;
mod refuse;
mod simulated;
mod statements;
mod streaming;
mod trust;
