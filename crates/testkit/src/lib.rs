//! Real servers and a cleared command-line environment for tests.
//!
//! Everything started here ends with the value that owns it, and with the test process if that dies first:
//! see [`GuardedProcess`]. Nothing here uses a fixed port or a fixed time to wait.

mod admin_port;
mod cable;
mod cases;
#[cfg(feature = "certificates")]
mod certificates;
mod client;
mod command;
#[cfg(feature = "configurations")]
mod configurations;
mod engine;
mod etcd;
mod eventually;
mod faulty;
mod galera;
mod guarded;
mod haproxy;
mod mariadb;
mod mysql_group;
mod network;
mod normalise;
mod output;
mod proxy;
mod proxysql;
#[cfg(feature = "recorded")]
mod recorded;
mod replication;
mod reserved_port;
#[cfg(feature = "sessions")]
mod sessions;
mod stand_in;
mod world;

pub use admin_port::AdminPort;
pub use cable::Cable;
pub use cases::cases;
#[cfg(feature = "certificates")]
pub use certificates::{Authority, Pair};
pub use client::{ClientOptions, TextRow, connect, text_rows};
pub use command::{ADMIN_PASSWORD, CommandEnvironment, CommandOutput, RunningCommand};
#[cfg(feature = "configurations")]
pub use configurations::configuration;
pub use engine::{Arrival, EngineClient, Handle, NumberedServers, Reply, Rig, Via};
pub use etcd::{Etcd, EtcdOptions};
pub use eventually::{DeadlineExceeded, eventually, poll_until};
pub use faulty::{Fault, Faulty};
pub use galera::Galera;
pub use guarded::GuardedProcess;
pub use haproxy::{Forwarding, HaProxy};
pub use mariadb::{Flavour, LaunchError, MYSQLD, MariaDb, Options, three_shards};
pub use mysql_group::MySqlGroup;
pub use network::Network;
pub use normalise::Normaliser;
pub use proxy::{Endpoints, Ports, ProxyError, ProxyOptions, ProxyProcess};
pub use proxysql::{PROXYSQL_BIN, PROXYSQL_STARTED, ProxySql, ProxySqlError, ProxySqlOptions, real_proxysql};
#[cfg(feature = "recorded")]
pub use recorded::{recorded, recorded_bytes};
pub use replication::{Acknowledges, Replication};
pub use reserved_port::ReservedPort;
#[cfg(feature = "sessions")]
pub use sessions::{CaseReport, SessionCases};
pub use stand_in::StandIn;
pub use world::{WORLD_SHARDS, load_world_oracle, load_world_shards};
