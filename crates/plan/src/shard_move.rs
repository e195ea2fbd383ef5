//! A shard on its way from one cluster to another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shardwright_rules::Address;

/// A shard that moves, and the limits that it moves within.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShardMove {
    /// Its name in the files: `moves.tenants/t137`.
    #[schemars(with = "String")]
    pub address: Address,
    /// The shard: `shard_maps.tenants.shards.t137`.
    #[schemars(with = "String")]
    pub shard: Address,
    /// The cluster that holds it.
    pub from: String,
    /// The cluster that will hold it.
    pub to: String,
    /// How long writes of its keys may be fenced before the move is given up, in milliseconds.
    pub max_fence_ms: u64,
    /// How long open transactions may go on, in milliseconds.
    pub wait_ms: u64,
    /// Whether transactions that are still open then are ended; otherwise the move is given up.
    pub kill_open_transactions: bool,
    /// The program that says that the copy is complete, with its arguments.
    pub ready: Vec<String>,
    /// How long that program may take, in milliseconds.
    pub ready_timeout_ms: u64,
    /// Why, where the files say so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ShardMove {
    /// What happens, human-readable: `shard-137 to shard-020, writes fenced for 10s at most, …`.
    pub fn describe(&self) -> String {
        let then = if self.kill_open_transactions {
            "then they are ended"
        } else {
            "then the move is given up"
        };
        format!(
            "from {} to {}: writes fenced for {} at most, open transactions may take {}, {then}; ready when `{}` says so \
             within {}",
            self.from,
            self.to,
            duration(self.max_fence_ms),
            duration(self.wait_ms),
            self.ready.join(" "),
            duration(self.ready_timeout_ms)
        )
    }
}

/// As it is written in the files.
fn duration(ms: u64) -> String {
    if ms.is_multiple_of(1000) {
        format!("{}s", ms / 1000)
    } else {
        format!("{ms}ms")
    }
}
