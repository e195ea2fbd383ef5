//! Where plans are applied: the bundled proxy, and files for ProxySQL.

mod bundled;
pub mod emit;
mod live_tables;
mod pausing;
mod server;

pub use bundled::{AdminAddress, BundledTarget, Timeouts};
pub use live_tables::{LiveTables, LiveTablesError, live_tables};
pub use pausing::{ProxyAdmin, Unfinished, WatchedServer};
pub use server::{ReplicaStatus, Server, ServerAddress, ServerError};
