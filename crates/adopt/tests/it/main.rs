//! Rule sets as projects.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod estate;
mod exact;
mod examples;
mod lifting;
mod proofs;
mod published;
mod random;
mod scheduled;
mod support;
mod unchanged;
