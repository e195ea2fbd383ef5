//! The protocol as its documents, another implementation, and hostile peers have it.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod cursors;
mod golden;
mod hostile;
mod login;
mod oracle;
mod packets;
mod responses;
mod scanner;
