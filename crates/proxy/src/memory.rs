//! One budget for what clients make the proxy hold (`--max-memory`).
//!
//! The idea: few bytes are counted by a fixed share for each session. Many are reserved before they are read, and a statement
//! reserves at once all that it may need until it is answered: as it comes, changed, and unsent. So who holds memory for a statement
//! waits for no more of it, and who waits holds little.
//!
//! ```text
//!            nothing of it           its header tells the length         answered
//!   client ───────────────▶ 4 KiB ───────────────────────────▶ runs ───────────────▶
//!            (the share)          room for all of it, or it waits      given back
//!                                 and is not read from
//! ```
//!
//! Invariants:
//!
//! * What is held never exceeds the limit, but for one reading of each worker ([`SCRATCH`]), and what a connection has already
//!   taken on when it is counted.
//! * Somebody always goes on. A session that waits has a deadline. At the deadline, the greediest session that is not running a
//!   statement ends: the one that waits, or another one, whose memory is free then. Each of these steps ends a session, so
//!   there are finitely many. A statement that runs waits for no memory, but for pieces of a file, which have the same deadline.
//! * A session that has begun a statement and does not go on ends as soon as another one waits.
//!
//! The greediest is the one that holds and wants the most.

mod account;
mod book;
mod budget;
mod buffer;
mod machine;
#[cfg(test)]
mod tests;

pub(crate) use self::account::{Account, packet_cost};
pub(crate) use self::budget::{Budget, OutOfMemory, SCRATCH, Share};
pub(crate) use self::buffer::{Buffer, KEPT_CAPACITY};
pub(crate) use self::machine::available;
