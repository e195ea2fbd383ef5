//! The program as its users meet it: files, commands, a running proxy, real MariaDB servers.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod authoring;
mod bad_input;
mod bench;
mod canaries;
mod cases;
mod commands;
mod compiling;
mod crowd;
mod descriptors;
mod differential;
mod editor;
mod environments;
mod examples;
mod explain;
mod findings;
mod generator;
mod killed_apply;
mod language_pages;
mod language_server;
mod lint;
mod lint_fixes;
mod more_cases;
mod mutants;
mod objects;
mod ownership;
mod pictures;
mod prepared;
mod properties;
mod prove;
mod refines;
mod refuse;
mod reports;
mod route_tests;
mod rule_sets;
mod session_statements;
mod sessions;
mod signals;
mod simulate;
mod support;
mod supposing;
mod switchover;
mod tenants;
mod traffic;
mod transactional;
