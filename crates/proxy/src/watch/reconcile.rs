//! What is watched follows what is served.

use std::collections::BTreeMap;
use std::rc::Rc;

use shardwright_rules::Address;
use shardwright_rules::roles::WatchedCluster;
use tokio::task::JoinHandle;

use super::probe::Probe;
use super::watcher::{Watched, Watcher};

/// The servers that are looked at.
#[derive(Default)]
pub(super) struct Probes(BTreeMap<Address, (Watched, JoinHandle<()>)>);

impl Probes {
    /// Watches the servers of what is served and no others, and gives its hostgroups the roles that are known.
    pub(super) fn reconcile(&mut self, watcher: &Rc<Watcher>) {
        let snapshot = watcher.snapshot();
        let configuration = &snapshot.configuration;
        let mut wanted = BTreeMap::new();
        for cluster in &configuration.clusters {
            let Some(watched) = WatchedCluster::of(configuration, cluster) else {
                continue;
            };
            watcher.judge(&snapshot, &watched);
            for (candidate, member) in &watched.servers {
                let watched = Watched {
                    cluster: cluster.address.clone(),
                    kind: cluster.kind.clone(),
                    member: (*member).clone(),
                };
                wanted.insert(candidate.server.clone(), watched);
            }
        }
        self.0.retain(|server, (watched, task)| {
            let stays = wanted.get(server) == Some(watched);
            if !stays {
                task.abort();
            }
            stays
        });
        for (server, watched) in wanted {
            self.0.entry(server).or_insert_with(|| {
                let task = tokio::task::spawn_local(Probe::new(watched.clone()).run(watcher.clone()));
                (watched, task)
            });
        }
    }
}
