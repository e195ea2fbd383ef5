//! Statements for a writer wait while it changes, and a server is told to write.

use std::sync::Arc;
use std::time::Duration;

use shardwright_mysqlite::{Answer, RowSink, Value};
use shardwright_rules::roles::WatchedCluster;
use shardwright_rules::{Address, Cluster, HostgroupId};
use shardwright_wire::{MysqlError, errors};
use tokio::time::Instant;

use super::rows::{Rows, int, text};
use super::{AdminSession, one_row};
use crate::pauses::Pause;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use crate::stats::WorkerFigures;

impl AdminSession {
    /// Has statements for the writer of a cluster wait.
    pub(super) fn pause(
        &self,
        address: &str,
        time: Duration,
        rows: &mut dyn RowSink,
    ) -> Result<Answer, MysqlError> {
        let snapshot = self.shared.control.snapshot().load_full();
        let cluster = cluster(&snapshot, address)?;
        let pauses = &self.shared.pauses;
        pauses
            .begin(&cluster.address, cluster.writer, time)
            .ok_or_else(|| {
                errors::UNKNOWN.with(format_args!(
                    "{address} is paused already: somebody else is changing its writer"
                ))
            })?;
        tracing::info!(cluster = address, ?time, "statements for the writer wait");
        // It is looked at more often from here on.
        self.shared
            .control
            .knowledge
            .suspicion(&cluster.address)
            .notify_waiters();
        self.paused(address, rows)
    }

    /// Lets statements for the writer of a cluster go on.
    pub(super) fn resume(&self, address: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let snapshot = self.shared.control.snapshot().load_full();
        let was_paused = self.shared.pauses.end(&cluster(&snapshot, address)?.address);
        if was_paused {
            tracing::info!(cluster = address, "statements for the writer go on");
        }
        one_row(
            &["cluster", "was_paused"],
            vec![text(address), int(i64::from(was_paused))],
        )
        .send(rows)
    }

    /// Has a server write in the place of those that do.
    pub(super) fn prefer(&self, server: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let snapshot = self.shared.control.snapshot().load_full();
        let configuration = &snapshot.configuration;
        let server = Address::new(server);
        let watched = configuration.clusters.iter().find_map(|cluster| {
            let watched = WatchedCluster::of(configuration, cluster)?;
            let mut servers = watched.servers.iter();
            servers
                .any(|(candidate, _)| candidate.server == server)
                .then_some(watched)
        });
        let watched = watched
            .ok_or_else(|| errors::UNKNOWN.with(format_args!("no monitor watches a server {server}")))?;
        self.shared
            .control
            .knowledge
            .prefer(&watched, &server)
            .map_err(|why| errors::UNKNOWN.with(format_args!("{}: {why}", watched.cluster.address)))?;
        tracing::info!(%server, "it is told to write");
        self.shared.wake_all();
        one_row(&["server"], vec![text(server.as_str())]).send(rows)
    }

    fn paused(&self, address: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let found = pauses(&self.shared, &[])
            .into_iter()
            .find(|row| row[0] == text(address));
        let row =
            found.ok_or_else(|| errors::UNKNOWN.with(format_args!("the pause of {address} is over")))?;
        one_row(&COLUMNS, row).send(rows)
    }
}

const COLUMNS: [&str; 4] = ["cluster", "left_ms", "unfinished", "waiting"];

/// # Errors
/// No cluster has this address; the error names those that there are.
fn cluster<'s>(snapshot: &'s Snapshot, address: &str) -> Result<&'s Cluster, MysqlError> {
    let clusters = &snapshot.configuration.clusters;
    let found = clusters
        .iter()
        .find(|cluster| cluster.address.as_str() == address);
    found.ok_or_else(|| {
        let known: Vec<&str> = clusters.iter().map(|cluster| cluster.address.as_str()).collect();
        let known = match known.as_slice() {
            [] => "there is none".to_owned(),
            known => format!("there are: {}", known.join(", ")),
        };
        errors::UNKNOWN.with(format_args!("there is no cluster {address:?}; {known}"))
    })
}

/// The clusters whose statements wait, and what is begun there and not ended.
pub(super) fn pauses(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let row = |(cluster, pause): (Address, Arc<Pause>)| -> Vec<Value> {
        let left = pause.until.saturating_duration_since(Instant::now());
        vec![
            text(cluster.as_str()),
            int(left.as_millis()),
            int(occupants(shared, pause.hostgroup)),
            int(pause.waiting()),
        ]
    };
    shared.pauses.all().into_iter().map(row).collect()
}

/// Sessions with a statement in a hostgroup, or with something that is begun there and not ended; those that wait are among them
/// no more than once they have begun. A worker that does not answer has ended, and its sessions with it.
fn occupants(shared: &Shared, hostgroup: HostgroupId) -> usize {
    let workers = shared.workers().iter();
    workers.filter_map(|worker| worker.occupants(hostgroup)).sum()
}
