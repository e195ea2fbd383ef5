//! The routing table agrees with the evaluator.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod agreement;
mod dispatch;
