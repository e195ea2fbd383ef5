//! The program as its users meet it: files, commands, a running proxy, real MariaDB servers.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod bad_input;
mod cases;
mod commands;
mod differential;
mod examples;
mod findings;
mod generator;
mod language_pages;
mod more_cases;
mod route_tests;
mod reports;
mod support;
mod tenants;
mod transactional;
