//! The proxy in front of real servers.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod admin_limits;
mod admin_tables;
mod door;
mod raw;
mod support;

mod alike;
mod apply;
mod authentication;
mod autocommit;
mod bound_keys;
mod causal;
mod causal_trials;
mod changing_hands;
mod checks;
mod compression;
mod crash;
mod failures;
mod galera;
mod greeting;
mod half_open;
mod heartbeats;
mod hostile;
mod kill;
mod lag_trials;
mod leaks;
mod ledger;
mod listeners;
mod lost_reads;
mod maps;
mod on_mysql;
mod pauses;
mod prepared;
mod prompt_errors;
mod proxied;
mod reading;
mod refuse;
mod roles;
mod scripted;
mod several;
mod shares;
mod sharing;
mod shifts;
mod simulated;
mod soak;
mod statements;
mod streaming;
mod throttle_scopes;
mod throttle_signals;
mod throttles;
mod tls_of_clients;
mod tls_to_servers;
mod trials;
mod trust;
