//! How many connections a server takes, in its own words.

use serde::{Deserialize, Serialize};

/// The part of a server's limit that a bundled proxy leaves to others, and most of it.
const LEFT: u32 = 20;
const MOST_LEFT: u32 = 10;

/// What a server has said of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLimit {
    /// Host name, IP address, or the path of a unix socket when `port` is 0.
    pub host: String,
    /// TCP port; 0 for a unix socket.
    pub port: u16,
    /// `@@global.max_connections`.
    pub max_connections: u32,
}

/// Most connections that one bundled proxy opens to a server that takes this many. Some are left to people and monitors.
#[must_use]
pub fn most_of_one_proxy(max_connections: u32) -> u32 {
    let left = (max_connections / LEFT).clamp(1, MOST_LEFT);
    max_connections.saturating_sub(left).max(1)
}
