//! Throttles that a signal regulates, that limit how many statements run at once, or that end by themselves.
//!
//! A [`Throttle`] is what is asked for. What it does at a moment follows from what is known of its signal: [`Regulator`].

mod backlog;
mod level;
mod reading;
mod regulator;
mod speed;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Address, OnUnknown};
pub use backlog::{Backlog, Pace};
pub use level::Level;
pub use reading::Reading;
pub use regulator::{Change, LOOK_EVERY, Regulator};
pub use speed::Speed;

/// The status variable that has a word of its own in the language.
pub const THREADS_RUNNING: &str = "Threads_running";

/// Slows statements, or limits how many run at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    /// The least delay, ms; that of a throttle whose signal has just started it.
    pub from_ms: u32,
    /// The greatest delay, ms.
    pub to_ms: u32,
    /// What starts and stops it; none: it is always on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Signal>,
    /// The least time in a state before it changes, ms.
    #[serde(default)]
    pub hold_ms: u32,
    /// What it does while the signal is not known.
    #[serde(default)]
    pub on_unknown: OnUnknown,
    /// The maximum number of its statements at the same time on one cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_concurrent: Option<u32>,
    /// When it ends for good, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at_s: Option<u64>,
}

/// What starts and stops a throttle.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// What is measured.
    pub source: SignalSource,
    /// It starts above this.
    pub start_above: Level,
    /// It stops below this.
    pub stop_below: Level,
}

/// What is measured of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignalSource {
    /// The greatest lag of the replicas, ms.
    ReplicationLag,
    /// A status variable of the writer.
    Status(String),
    /// The share of time in which Galera's flow control stopped the writer, from 0 to 1.
    FlowControl,
}

/// A throttle that matched a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Throttled {
    /// `throttles.NAME`
    pub address: Address,
    /// What it asks for.
    pub throttle: Arc<Throttle>,
}

impl Throttle {
    /// The delay that does not depend on a signal, ms.
    #[must_use]
    pub fn certain_delay_ms(&self) -> Option<u32> {
        self.signal.is_none().then_some(self.from_ms)
    }
}

impl SignalSource {
    /// What people call it: the word of the language, or the status variable.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            SignalSource::ReplicationLag => "replication_lag",
            SignalSource::Status(name) if name.eq_ignore_ascii_case(THREADS_RUNNING) => "threads_running",
            SignalSource::Status(name) => name,
            SignalSource::FlowControl => "flow_control",
        }
    }

    /// A value as people read it: `3.5 s`, `64`, `0.1`.
    #[must_use]
    pub fn said(&self, value: f64) -> String {
        match self {
            SignalSource::ReplicationLag => format!("{} s", (value / 10.0).round() / 100.0),
            SignalSource::Status(_) | SignalSource::FlowControl => {
                ((value * 1000.0).round() / 1000.0).to_string()
            }
        }
    }
}

impl fmt::Display for Throttle {
    /// `delayed by 1 to 500 ms while replication_lag is high (above 3 s until below 1 s), at most 16 at once`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from_ms, self.to_ms) {
            (0, 0) => f.write_str("not delayed")?,
            (from, to) if from == to => write!(f, "delayed by {from} ms")?,
            (from, to) => write!(f, "delayed by {from} to {to} ms")?,
        }
        if let Some(limit) = self.max_concurrent {
            write!(f, ", at most {limit} at once")?;
        }
        if let Some(Signal {
            source,
            start_above,
            stop_below,
        }) = &self.signal
        {
            write!(
                f,
                ", from {} above {} until below {}",
                source.name(),
                source.said(start_above.get()),
                source.said(stop_below.get())
            )?;
        }
        Ok(())
    }
}
