//! Where plans are applied: the bundled proxy, ProxySQL over its admin port, and files for ProxySQL.

mod admin;
mod bundled;
mod bundled_runs;
pub mod emit;
mod live_tables;
mod pausing;
pub mod proxysql;
mod schema;
mod self_report;
mod server;

pub use admin::{AdminAddress, Timeouts};
pub use bundled::BundledTarget;
pub use bundled_runs::WayBack;
pub use live_tables::{LiveTables, LiveTablesError, live_tables};
pub use pausing::{ProxyAdmin, Unfinished, WatchedServer};
pub use proxysql::ProxySqlTarget;
pub use schema::schemas;
pub use self_report::{Operation, SelfProblem, Writers};
pub use server::{ReplicaStatus, Server, ServerAccount, ServerAddress, ServerError};
