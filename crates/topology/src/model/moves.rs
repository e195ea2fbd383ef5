//! Shards on their way from one cluster to another.

use std::sync::Arc;

use super::{ClusterId, OriginId, Words};

/// A shard that moves. The map still places it on `from`.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// Where it was written.
    pub origin: OriginId,
    /// The shard.
    pub shard: OriginId,
    /// Where it is.
    pub from: ClusterId,
    /// Where it will be; another cluster.
    pub to: ClusterId,
    /// How long writes of its keys may be fenced before the move is given up, in milliseconds.
    pub max_fence_ms: u64,
    /// How long open transactions may go on, in milliseconds; less than `max_fence_ms`.
    pub wait_ms: u64,
    /// What happens to transactions that are still open then.
    pub then: OpenTransactions,
    /// The program that says by its exit code that the copy is complete, with its arguments; no shell is involved.
    pub ready: Vec<Arc<str>>,
    /// How long that program may take, in milliseconds.
    pub ready_timeout_ms: u64,
    /// Why.
    pub reason: Option<Arc<str>>,
}

/// What happens to transactions that do not end in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenTransactions {
    /// The move is given up.
    Abort,
    /// They are ended.
    Kill,
}

impl Words for OpenTransactions {
    const WORDS: &'static [(&'static str, Self)] = &[("kill", Self::Kill), ("abort", Self::Abort)];
}
