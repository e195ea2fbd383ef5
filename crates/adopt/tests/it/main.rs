//! Rule sets as projects.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod examples;
mod exact;
mod lifting;
mod published;
mod support;
