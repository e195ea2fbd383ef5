//! Regulating throttles: several times a second, what is measured says what they do.

use std::rc::Rc;
use std::time::{Duration, Instant};

use shardwright_rules::roles::WatchedCluster;
use shardwright_rules::throttle::LOOK_EVERY;
use tokio::time::sleep;

use super::watcher::Watcher;

/// From one look at what is measured to the next, while nothing is measured.
const IDLE_INTERVAL: Duration = Duration::from_millis(500);

/// Regulates until it is aborted.
pub(super) async fn run(watcher: Rc<Watcher>) {
    let began = Instant::now();
    loop {
        let is_idle = regulate(&watcher, began);
        sleep(if is_idle { IDLE_INTERVAL } else { LOOK_EVERY }).await;
    }
}

/// Whether there is nothing to regulate.
fn regulate(watcher: &Watcher, began: Instant) -> bool {
    let snapshot = watcher.snapshot();
    let control = &watcher.shared.control;
    let mut is_idle = true;
    for (address, signals) in snapshot.gates.measured_clusters() {
        is_idle = false;
        let configuration = &snapshot.configuration;
        let cluster = configuration
            .clusters
            .iter()
            .find(|cluster| cluster.address == *address);
        let Some(watched) = cluster.and_then(|cluster| WatchedCluster::of(configuration, cluster)) else {
            continue;
        };
        let roles = control.knowledge.roles(address);
        let now = Instant::now();
        for gate in &signals.gates {
            let Some(signal) = &gate.throttle.signal else {
                continue;
            };
            let reading = control.measured.reading(signal, &watched, roles.as_ref(), now);
            gate.look(now.saturating_duration_since(began), reading);
        }
    }
    is_idle
}
