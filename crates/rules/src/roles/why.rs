//! Why a server takes no statements of a role.

use std::fmt;

use super::sisters::Doubt;
use super::source::Source;
use crate::{Address, MemberStatus, Words};

/// Why a server takes no statements of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The configuration says so.
    Written(MemberStatus),
    /// It has not been looked at.
    Unseen,
    /// It does not answer; why.
    Lost(String),
    /// It does not say whether it can write; why, if it is known.
    Silent(String),
    /// It is a replica.
    ReadOnly,
    /// It can write and replicates from another server: nobody has promoted it.
    Replicates,
    /// Another server was promoted later; which, if it still writes.
    Superseded(Option<Address>),
    /// These servers all say that they can write, and nobody knows which was promoted last.
    Undecided(Vec<Address>),
    /// It replicates from nowhere and does not write: nobody knows what it has.
    NoReplica,
    /// It writes, and the writer answers no reads.
    WriterReadsNothing,
    /// It is further behind than its limit, ms.
    Lags {
        /// By how much.
        lag_ms: u64,
        /// Its limit.
        limit_ms: u64,
        /// Whether it follows its source.
        source: Source,
    },
    /// It has a limit of lag, and does not say how far it is behind.
    LagUnknown,
    /// More transactions wait to be applied than its cluster allows.
    Behind {
        /// How many.
        queue: u64,
        /// How many may.
        limit: u32,
    },
    /// It does not say how many transactions wait to be applied.
    QueueUnknown,
    /// Its state in the group is another than that of a server that serves.
    State(String),
    /// It could write, and other proxies may write elsewhere.
    Doubted(Doubt),
}

impl Why {
    /// Whether transactions that are open on the server may end there.
    pub(super) fn status(&self) -> MemberStatus {
        match self {
            Why::Written(status) => *status,
            Why::ReadOnly
            | Why::Replicates
            | Why::WriterReadsNothing
            | Why::Lags { .. }
            | Why::LagUnknown
            | Why::Behind { .. }
            | Why::QueueUnknown
            | Why::Silent(_)
            | Why::Doubted(_)
            | Why::Unseen => MemberStatus::Draining,
            Why::Lost(_) | Why::Superseded(_) | Why::Undecided(_) | Why::NoReplica | Why::State(_) => {
                MemberStatus::Offline
            }
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |ms: &u64| *ms as f64 / 1000.0;
        match self {
            Why::Written(status) => write!(f, "the configuration says {}", status.word()),
            Why::Unseen => f.write_str("the monitor has not reached it yet"),
            Why::Lost(why) => write!(f, "it does not answer: {why}"),
            Why::Silent(why) => write!(f, "it does not say whether it can write: {why}"),
            Why::ReadOnly => f.write_str("it is read-only"),
            Why::Replicates => {
                f.write_str("it can write and replicates from another server; set its read_only")
            }
            Why::Superseded(Some(by)) => write!(
                f,
                "it can write, but {by} was promoted later; set its read_only, or make it a replica of {by}"
            ),
            Why::Superseded(None) => f.write_str(
                "it can write, but another server was promoted later; set its read_only first to promote it",
            ),
            Why::Undecided(servers) => {
                let servers: Vec<&str> = servers.iter().map(Address::as_str).collect();
                write!(
                    f,
                    "{} say that they can write, and nobody knows which was promoted last; set read_only on all but one",
                    servers.join(" and ")
                )
            }
            Why::NoReplica => f.write_str("it replicates from no server"),
            Why::WriterReadsNothing => f.write_str("it is the writer, which answers no reads"),
            Why::Lags {
                lag_ms,
                limit_ms,
                source,
            } => {
                let state = match source {
                    Source::Stopped => ", its replication is stopped",
                    Source::Connecting => ", it does not reach its source",
                    Source::Unknown | Source::None | Source::Running => "",
                };
                let (lag, limit) = (seconds(lag_ms), seconds(limit_ms));
                write!(f, "it is up to {lag} s behind, its limit is {limit} s{state}")
            }
            Why::LagUnknown => f.write_str("it does not say how far it is behind"),
            Why::Behind { queue, limit } => {
                write!(f, "{queue} transactions wait to be applied, the limit is {limit}")
            }
            Why::QueueUnknown => f.write_str("it does not say how many transactions wait to be applied"),
            Why::State(state) => write!(f, "{state}"),
            Why::Doubted(doubt) => doubt.fmt(f),
        }
    }
}
