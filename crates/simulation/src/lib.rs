//! Sessions without servers: what becomes of statements that a session sends one after the other.
//!
//! * [`route_tests`] runs the cases that a project writes down, measures what they cover, and makes mutants of a
//!   configuration to see whether they notice.
//! * [`replay`] has a throttle look at a recorded series of its signal.
//! * [`script`] sends the statements of a text and shows the rules that each of them met.
//! * [`supposed`] tells which servers take a statement when some are down or behind.
//! * [`traffic`] reads recorded traffic and compares where two configurations send it.
//! * [`visits`] shows the rules that a decision asked, and why those that did not match did not.
//!
//! Every decision is one of `rules::Evaluator` or of the routing table that agrees with it. A simulated session changes as the
//! proxy's does after each statement, which is taken to succeed. A test of the proxy compares the two.

mod parameters;
pub mod replay;
pub mod route_tests;
pub mod script;
mod session;
mod step;
pub mod supposed;
pub mod traffic;
mod visits;

pub use step::{Command, Step};
pub use visits::{Visit, visits};
