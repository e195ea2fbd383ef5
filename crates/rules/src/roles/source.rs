//! The source of a replica, and how far it was behind that.

use serde::{Deserialize, Serialize};

/// How far a server was behind when it last said so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastLag {
    /// By how much, ms.
    pub lag_ms: u64,
    /// How long ago, ms.
    pub ago_ms: u64,
}

/// From where a server replicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It does not say.
    #[default]
    Unknown,
    /// From nowhere.
    None,
    /// It was told to stop.
    Stopped,
    /// It does not reach its source.
    Connecting,
    /// It is connected to its source.
    Running,
}
