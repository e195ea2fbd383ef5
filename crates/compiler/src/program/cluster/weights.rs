//! Weights of servers as writers and as readers.
//!
//! ProxySQL keeps one weight per server of a Galera or group replication cluster: when its monitor moves a server, the
//! row among the readers becomes a copy of the row among the writers (2.7.1, `update_galera_set_writer`; ProxySQL
//! #2558, #4370), and the writers that stay are those of the highest weight. So the weights have to fall in the order
//! of preference, and shares of reads are kept as far as that order lets them. Only the rows of the first writers,
//! which no move has touched, have a weight of their own among the readers. Where something else than the monitor moves
//! servers, weights are as they are written.

use shardwright_diagnostics::Severity;
use shardwright_rules::EngineId;
use shardwright_topology::model::{Cluster, ClusterKind, RolesBy, Server, WriterServesReads};

use crate::diagnostics::{DIFFERENCE, Diagnostics};

/// How much more than a writer of last resort a reader takes on an engine without tiers.
pub(super) const READER_WEIGHT_FACTOR: u32 = 100;
/// The largest weight of ProxySQL.
const LARGEST_WEIGHT: u32 = 10_000_000;

/// Weights in the order of preference.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Weights {
    /// As a writer.
    pub(super) writer: Vec<u32>,
    /// As a reader.
    pub(super) reader: Vec<u32>,
}

/// The share of reads.
pub(super) fn read_weight(server: &Server) -> u32 {
    server.read_weight.unwrap_or(server.weight)
}

impl Weights {
    /// The weights of `servers`, which stand in the order of preference; `writes` says which of them write at first.
    pub(super) fn of(
        cluster: &Cluster,
        servers: &[&Server],
        writes: &[bool],
        report: &mut Diagnostics<'_>,
    ) -> Self {
        let group = matches!(cluster.kind, ClusterKind::Galera | ClusterKind::GroupReplication)
            && cluster.roles_by == RolesBy::Engine;
        let written: Vec<u32> = servers.iter().map(|server| read_weight(server)).collect();
        if report.engine == EngineId::Bundled {
            return Self {
                writer: servers.iter().map(|server| server.weight).collect(),
                reader: written,
            };
        }
        if !group {
            let last_resort = cluster.writer_serves_reads == WriterServesReads::LastResort;
            let factor = if last_resort { READER_WEIGHT_FACTOR } else { 1 };
            return Self {
                writer: servers.iter().map(|server| server.weight).collect(),
                reader: written.iter().map(|&weight| scaled(weight, factor)).collect(),
            };
        }
        let factor = factor(&written);
        let ranks = ranks(&written, factor);
        for (at, server) in servers.iter().enumerate() {
            if ranks[at].is_lifted && !writes[at] {
                not_kept(server, servers.get(at + 1).copied(), report);
            }
        }
        let reader = (0..servers.len()).map(|at| {
            if writes[at] {
                scaled(written[at], factor)
            } else {
                ranks[at].weight
            }
        });
        Self {
            reader: reader.collect(),
            writer: ranks.iter().map(|rank| rank.weight).collect(),
        }
    }
}

fn not_kept(server: &Server, next: Option<&Server>, report: &mut Diagnostics<'_>) {
    let because = match next {
        Some(next) => format!(
            "it must stay above that of {}, which is less preferred as a writer",
            next.name
        ),
        None => "a server of weight 0 could not write either".to_owned(),
    };
    let message = format!(
        "on {}, {} takes more reads than its read weight says: one weight ranks writers and shares reads, and {because}",
        report.engine, server.name
    );
    report.add(
        Severity::Warning,
        DIFFERENCE,
        server.origin,
        "read_weight",
        message,
    );
}

/// As much room between two read weights as fits.
fn factor(written: &[u32]) -> u32 {
    let highest = written.iter().copied().max().unwrap_or(1).max(1);
    let room = written.len() as u32 + 1;
    if highest.saturating_mul(READER_WEIGHT_FACTOR).saturating_add(room) <= LARGEST_WEIGHT {
        READER_WEIGHT_FACTOR
    } else {
        1
    }
}

fn scaled(weight: u32, factor: u32) -> u32 {
    weight.saturating_mul(factor).min(LARGEST_WEIGHT)
}

/// A weight that stands above all that follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rank {
    weight: u32,
    /// It is further from its share of reads than to break ties.
    is_lifted: bool,
}

/// Weights that fall from the first to the last, each as near to its share of reads as the order lets it.
fn ranks(written: &[u32], factor: u32) -> Vec<Rank> {
    let room = written.len() as u32;
    let mut ranks = vec![Rank::default(); written.len()];
    let mut below = 0;
    for at in (0..written.len()).rev() {
        let wanted = scaled(written[at], factor).min(LARGEST_WEIGHT - room);
        let weight = wanted.max(below + 1);
        ranks[at] = Rank {
            weight,
            is_lifted: wanted == 0 || weight > wanted + room,
        };
        below = weight;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_in_the_order_of_preference_and_keep_the_shares_of_reads() {
        for (written, expected, lifted) in [
            (
                vec![1, 100, 100],
                vec![10_002, 10_001, 10_000],
                vec![true, false, false],
            ),
            (vec![1, 1, 1], vec![102, 101, 100], vec![false; 3]),
            (
                vec![1, 10, 100],
                vec![10_002, 10_001, 10_000],
                vec![true, true, false],
            ),
            (vec![100, 10, 1], vec![10_000, 1_000, 100], vec![false; 3]),
            (vec![5, 0], vec![500, 1], vec![false, true]),
            (vec![u32::MAX; 2], vec![9_999_999, 9_999_998], vec![false; 2]),
        ] {
            let ranks = ranks(&written, factor(&written));
            let weights: Vec<u32> = ranks.iter().map(|rank| rank.weight).collect();
            let is_lifted: Vec<bool> = ranks.iter().map(|rank| rank.is_lifted).collect();
            assert_eq!((weights, is_lifted), (expected, lifted), "{written:?}");
        }
    }
}
