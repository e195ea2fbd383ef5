//! What a server must have before it may answer a session that has written: positions, and what each server is known to have.
//!
//! # Idea
//!
//! A write that was answered at 12.0 s is on every server that is known to have, at some moment after 12.0 s, everything that the
//! cluster had at that moment. Who asks a server to wait until it has everything *of now* therefore learns something about all
//! sessions whose writes are older than that, and the [`Reach`] of the server keeps it for them.
//!
//! ```text
//! session 1 writes, answered 12.000   asks b to catch up, begun 12.001   b has caught up: synced 12.001
//! session 2 writes, answered 12.000                                      reads on b: 12.000 < 12.001, nothing to ask
//! session 2 writes, answered 12.004                                      reads on b: asks
//! ```
//!
//! A server that starts again may have lost what it had. So a connection only profits from what became known while it was open.

mod clusters;
mod position;
mod reach;

pub(crate) use clusters::{CatchUp, CausalCluster, CausalClusters};
pub(crate) use position::Position;
pub(crate) use reach::Reach;
