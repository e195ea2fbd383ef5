//! Watching servers, and giving them the roles that follow.
//!
//! One thread asks every server of every watched cluster how it is, each on a connection of the monitor's own. What it sees goes to
//! [`Knowledge`](crate::knowledge::Knowledge); who writes and who reads follows from it by `rules::roles`, and goes to the hostgroups of what is served.

mod heartbeat;
mod names;
mod probe;
mod questions;
mod reconcile;
mod regulate;
mod slow_readers;
mod thread;
mod watcher;

pub(crate) use thread::start;
