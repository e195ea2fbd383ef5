//! The proxy in front of real servers.

mod support;

mod apply;
mod crash;
mod failures;
mod hostile;
mod leaks;
mod prepared;
mod statements;
mod streaming;
