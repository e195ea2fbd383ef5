//! The proxy in front of real servers.

mod support;

mod statements;
