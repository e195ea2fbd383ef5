//! Throttles: which statements are slowed, by how much, and when.

use std::sync::Arc;

use super::{OnUnknown, OnUnsupported, OriginId, Scope};

/// Slows statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Throttle {
    /// The name after `throttles.`.
    pub name: Arc<str>,
    /// Where it was written.
    pub origin: OriginId,
    /// Whose statements it is about.
    pub applies_to: Scope,
    /// What starts and stops it; none for always.
    pub signal: Option<Signal>,
    /// How long a statement waits.
    pub delay: Delay,
    /// The maximum number of these statements at the same time on one cluster.
    pub max_concurrent: Option<u32>,
    /// Least time in a state before it changes, in milliseconds.
    pub hold_ms: u64,
    /// What happens while the signal is not known.
    pub on_unknown: OnUnknown,
    /// When it ends for good (RFC 3339).
    pub until: Option<Arc<str>>,
    /// The same, in seconds since 1970.
    pub ends_at_s: Option<u64>,
    /// Whether that has come: it slows nothing any more.
    pub ended: bool,
    /// Why.
    pub reason: Option<Arc<str>>,
    /// What to do for an engine that cannot.
    pub on_unsupported: OnUnsupported,
}

/// How long a statement waits, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Always so long.
    Fixed {
        /// The time.
        ms: u64,
    },
    /// Regulated by the signal between both.
    Range {
        /// The least time.
        from_ms: u64,
        /// The greatest time.
        to_ms: u64,
    },
}

/// What starts and stops a throttle.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// What is measured.
    pub source: SignalSource,
    /// When it starts and stops.
    pub levels: SignalLevels,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum SignalSource {
    /// The greatest lag of a cluster's replicas, in milliseconds.
    ReplicationLag,
    /// `Threads_running` of the writer.
    ThreadsRunning,
    /// A status variable of the writer.
    Status(Arc<str>),
    /// The share of time in Galera flow control, from 0 to 1.
    FlowControl,
}

/// A throttle runs from `start_above` until `stop_below`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalLevels {
    /// Starts above this value.
    pub start_above: f64,
    /// Stops below this value.
    pub stop_below: f64,
}
