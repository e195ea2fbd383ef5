//! A server as its clients see it.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod command_line;
mod driver;
mod hostile;
mod support;
mod wrong_passwords;
