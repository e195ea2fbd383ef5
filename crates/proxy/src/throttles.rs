//! Throttles while the proxy runs: what is measured of each cluster, and the gates that statements pass.
//!
//! A [`Gate`] is one throttle on one cluster. It belongs to a generation, and the next one takes it over. Monitors look at the servers
//! ([`Measures`]); what follows for each gate is worked out several times a second (`watch/regulate.rs`).

mod gate;
mod measured;
mod positions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardwright_rules::throttle::SignalSource;
use shardwright_rules::{Address, Body, Configuration, HostgroupId, NativeStep};

pub(crate) use self::gate::{Gate, Passage};
pub(crate) use self::measured::{Measured, Measures};
pub(crate) use self::positions::Positions;

/// The gates of one generation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gates {
    by_hostgroup: FxHashMap<HostgroupId, Arc<[Arc<Gate>]>>,
    /// Clusters that something is measured of.
    signals: BTreeMap<Address, Arc<ClusterSignals>>,
}

/// What is measured of a cluster, and for which gates.
#[derive(Debug, Default)]
pub(crate) struct ClusterSignals {
    pub(crate) questions: Questions,
    pub(crate) gates: Vec<Arc<Gate>>,
}

/// What servers are asked beyond how they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Questions {
    /// What they have written and applied.
    pub(crate) positions: bool,
    /// For how long flow control has stopped them.
    pub(crate) flow_control: bool,
    /// Status variables of the writer.
    pub(crate) status: BTreeSet<String>,
    /// The table of heartbeats that says how far replicas are behind, instead of replication itself.
    pub(crate) heartbeat: Option<String>,
}

impl Gates {
    /// The gates of a configuration. Those of what is served are taken over.
    pub(crate) fn of(configuration: &Configuration, served: Option<&Gates>) -> Self {
        let mut by_cluster: BTreeMap<&Address, Vec<Arc<Gate>>> = BTreeMap::new();
        for rule in &configuration.graph.rules {
            let Body::Native {
                scope,
                step: NativeStep::Throttle(throttle),
            } = &rule.body
            else {
                continue;
            };
            for cluster in &configuration.clusters {
                if !scope.clusters.contains(&cluster.name) {
                    continue;
                }
                let former = served.and_then(|served| served.get(cluster.writer, &rule.address));
                let gate = match former {
                    Some(same) if same.throttle == *throttle && same.cluster == cluster.address => {
                        same.clone()
                    }
                    former => Arc::new(Gate::new(
                        rule.address.clone(),
                        cluster.address.clone(),
                        throttle.clone(),
                        former.map(|former| &**former),
                    )),
                };
                by_cluster.entry(&cluster.address).or_default().push(gate);
            }
        }
        let mut gates = Self::default();
        for cluster in &configuration.clusters {
            let Some(of_cluster) = by_cluster.remove(&cluster.address) else {
                continue;
            };
            let of_cluster: Arc<[Arc<Gate>]> = of_cluster.into();
            for id in [Some(cluster.writer), cluster.reader].into_iter().flatten() {
                gates.by_hostgroup.insert(id, of_cluster.clone());
            }
            let signals = ClusterSignals::of(&of_cluster);
            if !signals.gates.is_empty() {
                gates.signals.insert(cluster.address.clone(), Arc::new(signals));
            }
        }
        gates
    }

    /// The gate of a throttle before a hostgroup.
    pub(crate) fn get(&self, hostgroup: HostgroupId, throttle: &Address) -> Option<&Arc<Gate>> {
        let gates = self.by_hostgroup.get(&hostgroup)?;
        gates.iter().find(|gate| gate.address == *throttle)
    }

    /// What is measured of a cluster, if anything.
    pub(crate) fn signals(&self, cluster: &Address) -> Option<&Arc<ClusterSignals>> {
        self.signals.get(cluster)
    }

    /// Every cluster that something is measured of.
    pub(crate) fn measured_clusters(&self) -> impl Iterator<Item = (&Address, &Arc<ClusterSignals>)> {
        self.signals.iter()
    }

    /// Every gate, by throttle and cluster.
    pub(crate) fn all(&self) -> Vec<Arc<Gate>> {
        let gates = self.by_hostgroup.values().flat_map(|gates| gates.iter());
        let by_name: BTreeMap<_, _> = gates.map(|gate| ((&gate.address, &gate.cluster), gate)).collect();
        by_name.into_values().cloned().collect()
    }
}

impl ClusterSignals {
    fn of(gates: &[Arc<Gate>]) -> Self {
        let mut signals = Self::default();
        for gate in gates {
            let Some(signal) = &gate.throttle.signal else {
                continue;
            };
            match &signal.source {
                SignalSource::ReplicationLag => signals.questions.positions = true,
                SignalSource::FlowControl => signals.questions.flow_control = true,
                SignalSource::Status(name) => {
                    signals.questions.status.insert(name.clone());
                }
            }
            signals.gates.push(gate.clone());
        }
        signals
    }

    /// Whether one of its throttles slows statements now.
    pub(crate) fn is_started(&self) -> bool {
        self.gates.iter().any(|gate| gate.is_started())
    }
}
