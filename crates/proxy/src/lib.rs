//! The bundled proxy: sessions, pools, routing, and its admin port.
//!
//! One thread per core runs sessions to their end; nothing is shared between them but counts, connection limits and
//! the one [`Snapshot`](snapshot::Snapshot) that is served. The path of a statement:
//!
//! ```text
//! client ▶ channel ▶ session (command) ▶ router ▶ checkout (held, pooled or new connection) ▶ align
//!                                                                                              │
//! client ◀ forward (as the bytes come) ◀ backend ◀─────────────────────────────────────────────┘
//!                                           └▶ after_statement (what was left behind) ▶ held or pool
//! ```

mod admin;
mod backend;
mod backend_statements;
mod base_tables;
mod channel;
mod control;
mod failpoint;
mod listen_address;
mod listener;
mod members;
mod options;
mod permit;
mod pool;
mod proxy;
mod refuse;
mod secrets;
mod session;
mod set_names;
mod shared;
mod snapshot;
mod socket;
mod stats;
mod store;
mod validate;
mod worker;
mod worker_handle;
mod worker_thread;

pub use control::RestoreError;
pub use failpoint::UnknownFailPoint;
pub use options::{Limits, Options};
pub use proxy::{Proxy, RunningProxy, StartError};
pub use refuse::{RefusingPort, RefusingServer};
pub use store::StoreError;
