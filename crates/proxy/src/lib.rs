//! The bundled proxy: sessions, pools, routing, and its admin port.
//!
//! One thread per core runs sessions to their end; nothing is shared between them but counts, connection limits and
//! the one [`Snapshot`](snapshot::Snapshot) that is served. One more thread [watches](watch) servers. The path of a statement:
//!
//! ```text
//! client ▶ channel ▶ session (command) ▶ router ▶ checkout (held, pooled or new connection) ▶ align
//!                                                                                              │
//! client ◀ forward (as the bytes come) ◀ backend ◀─────────────────────────────────────────────┘
//!                                           └▶ after_statement (what was left behind) ▶ held or pool
//! ```

mod admin;
mod admin_accounts;
mod backend;
mod backend_statements;
mod base_tables;
mod bound;
mod causal;
mod channel;
mod characteristics;
mod checks;
mod clock;
mod clock_thread;
mod connection_ids;
mod control;
mod counted;
mod denied;
mod descriptors;
mod entrance;
mod event_loop;
mod failpoint;
mod foreign_key_question;
mod half_open;
mod hostgroup_members;
#[cfg(feature = "in-process")]
pub mod in_process;
mod insert_id;
mod kill;
mod kill_target;
mod knowledge;
mod known_good;
mod listen_address;
mod listener;
mod listeners;
mod members;
mod memory;
mod news;
mod operations;
mod options;
mod pauses;
mod permit;
mod pool;
mod pool_key;
mod private_file;
mod proxy;
mod read_speed;
mod read_times;
mod reading;
mod refuse;
mod refused_apps;
mod room;
mod secrets;
mod seldom;
mod server_defaults;
mod server_version;
mod session;
mod session_handle;
mod set_names;
mod shared;
mod slot;
mod snapshot;
mod socket;
mod stats;
mod store;
mod sweeps;
mod sync_connections;
mod table_question;
mod throttles;
mod tls;
mod validate;
mod watch;
mod watcher_handle;
mod withheld;
mod worker;
mod worker_handle;
mod worker_thread;

pub use admin_accounts::AccountsError;
pub use control::RestoreError;
pub use failpoint::UnknownFailPoint;
pub use options::{Limits, Listen, Options};
pub use proxy::{Proxy, RunningProxy, StartError};
pub use refuse::{RefusingPort, RefusingServer};
pub use store::StoreError;
pub use tls::{TlsError, TlsFiles};
