//! What the other proxies of a project say of who writes, for a proxy that has not seen it itself.
//!
//! Where every server could write, and where a promotion was long ago, only a proxy that was there knows who writes. A proxy that
//! begins with an empty directory would choose anew, and write beside the others. So whoever applies to it asks the others first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::WatchedCluster;
use crate::{Address, ClusterKind, Configuration, Failback};

/// Why it is not known who writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// Other proxies write to different ones of these servers.
    Disputed(Vec<Address>),
    /// These proxies could not be asked.
    NotAsked(Vec<String>),
    /// What this proxy had remembered is lost.
    Forgotten,
}

/// What other proxies say of one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SisterReport {
    /// All that know it write to these servers.
    Writers(Vec<Address>),
    /// They give no answer that could be followed.
    Doubt(Doubt),
}

/// What other proxies say, by cluster.
pub type SisterReports = BTreeMap<Address, SisterReport>;

impl SisterReport {
    /// What the answers of several proxies come to: the servers to which each of them writes, none where it does not know, or the
    /// name of one that could not be asked. `None`: nobody writes anywhere.
    pub fn of<'a>(answers: impl IntoIterator<Item = Result<Vec<Address>, &'a str>>) -> Option<Self> {
        let mut writers: BTreeSet<Vec<Address>> = BTreeSet::new();
        let mut away = Vec::new();
        for answer in answers {
            match answer {
                Ok(mut of_one) => {
                    of_one.sort();
                    writers.insert(of_one);
                }
                Err(name) => away.push(name.to_owned()),
            }
        }
        let mut writers = writers.into_iter().filter(|writers| !writers.is_empty());
        match (writers.next(), writers.next()) {
            (Some(writers), None) => Some(Self::Writers(writers)),
            (Some(one), Some(other)) => {
                let all: BTreeSet<Address> = [one, other].into_iter().chain(writers).flatten().collect();
                Some(Self::Doubt(Doubt::Disputed(all.into_iter().collect())))
            }
            (None, _) if !away.is_empty() => Some(Self::Doubt(Doubt::NotAsked(away))),
            (None, _) => None,
        }
    }
}

/// The watched clusters of a configuration in which who writes depends on what was seen before.
pub fn remembering(configuration: &Configuration) -> impl Iterator<Item = WatchedCluster<'_>> {
    let watched = |cluster| WatchedCluster::of(configuration, cluster);
    let watched = configuration.clusters.iter().filter_map(watched);
    watched.filter(|watched| match &watched.cluster.kind {
        ClusterKind::Single => false,
        ClusterKind::Replication { .. } => true,
        ClusterKind::Galera(group) | ClusterKind::GroupReplication(group) => {
            group.failback == Failback::Manual
        }
    })
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::Disputed(servers) => {
                let servers: Vec<&str> = servers.iter().map(Address::as_str).collect();
                write!(
                    f,
                    "other proxies of the project write to {}",
                    servers.join(" and to ")
                )?;
            }
            Doubt::NotAsked(names) => {
                write!(f, "nobody could ask {} where writes go", names.join(" and "))?;
            }
            Doubt::Forgotten => f.write_str("roles.json is lost, and with it where this proxy wrote")?,
        }
        f.write_str(
            "; say on this admin port which server is right: SHARDWRIGHT PREFER 'clusters.NAME.servers.NAME'",
        )
    }
}
