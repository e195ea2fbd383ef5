//! What is seen gives servers their roles in what is served.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shardwright_rules::roles::{Roles, ServerRoles, Sight, Source, Standing, WatchedCluster, Why};
use shardwright_rules::{Address, ClusterKind, Member};

use crate::channel::Scratch;
use crate::shared::{Phase, Shared};
use crate::snapshot::Snapshot;
use crate::throttles::{Measures, Questions};
use crate::worker_handle::WorkerHandle;

/// From one look at a server to the next.
const INTERVAL: Duration = Duration::from_millis(500);
/// The same while something is happening.
pub(super) const HURRIED_INTERVAL: Duration = Duration::from_millis(50);
/// The same where a throttle depends on what is measured.
const MEASURED_INTERVAL: Duration = Duration::from_millis(250);
/// The same while such a throttle slows statements.
const REGULATED_INTERVAL: Duration = Duration::from_millis(100);
/// How long something is happening after roles have changed.
const HURRY: Duration = Duration::from_secs(60);

/// What is asked of a server, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Watched {
    pub(super) cluster: Address,
    pub(super) kind: ClusterKind,
    pub(super) member: Member,
}

/// Who watches, on one thread.
pub(super) struct Watcher {
    pub(super) shared: Arc<Shared>,
    pub(super) scratch: Scratch,
    /// Until when something is happening, by cluster.
    hurried: RefCell<BTreeMap<Address, Instant>>,
    next: Cell<u64>,
}

impl Watcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            scratch: Scratch::new(shared.budget.clone()),
            shared,
            hurried: RefCell::default(),
            next: Cell::new(0),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.shared.phase()
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.control.snapshot().load_full()
    }

    /// The names by which servers are reached, and where connections have led.
    pub(super) fn host_names(&self) -> BTreeMap<String, BTreeSet<IpAddr>> {
        let snapshot = self.snapshot();
        let mut names: BTreeMap<String, BTreeSet<IpAddr>> = BTreeMap::new();
        for member in snapshot.members_in_order().filter(|member| member.has_name()) {
            names
                .entry(member.host.clone())
                .or_default()
                .extend(member.peers());
        }
        names
    }

    /// A host name leads elsewhere.
    pub(super) fn moved(&self, host: &str) {
        self.shared.control.moved(host);
        self.shared.wake_all();
    }

    /// A number for a connection.
    pub(super) fn next_number(&self) -> u64 {
        self.next.set(self.next.get() + 1);
        self.next.get()
    }

    /// Takes up what is seen of a server.
    pub(super) fn saw(&self, of: &Watched, sight: Sight) {
        let knowledge = &self.shared.control.knowledge;
        let is_seen = sight.seen().is_some();
        let source = sight.seen().map(|seen| seen.source);
        let Some(former) = knowledge.saw(&of.cluster, &of.member, sight) else {
            return;
        };
        tell_source(&of.member.server, former.seen().map(|seen| seen.source), source);
        let snapshot = self.snapshot();
        let configuration = &snapshot.configuration;
        let cluster = configuration
            .clusters
            .iter()
            .find(|cluster| cluster.address == of.cluster);
        // Without it, a generation that has no such cluster is about to end this probe.
        let Some(watched) = cluster.and_then(|cluster| WatchedCluster::of(configuration, cluster)) else {
            return;
        };
        if is_seen && matches!(former, Sight::Lost { .. }) {
            came_back(&snapshot, &watched, &of.member.server);
        }
        self.judge(&snapshot, &watched);
    }

    /// What a server is asked beyond how it is: status variables only of those that write.
    pub(super) fn questions(&self, of: &Watched) -> Questions {
        let snapshot = self.snapshot();
        let monitor = snapshot.configuration.monitor.as_ref();
        let heartbeat = monitor.and_then(|monitor| monitor.heartbeat.clone());
        let Some(signals) = snapshot.gates.signals(&of.cluster) else {
            return Questions {
                heartbeat,
                ..Questions::default()
            };
        };
        let roles = self.shared.control.knowledge.roles(&of.cluster);
        let writes = roles.is_some_and(|roles| roles.writers().any(|writer| *writer == of.member.server));
        match writes {
            true => Questions {
                heartbeat,
                ..signals.questions.clone()
            },
            false => Questions {
                positions: signals.questions.positions,
                heartbeat,
                ..Questions::default()
            },
        }
    }

    /// Takes up what is measured of a server; `None`: it says nothing.
    pub(super) fn measured(&self, of: &Watched, measures: Option<Measures>) {
        let measured = &self.shared.control.measured;
        measured.saw(&of.member.server, Instant::now(), measures);
    }

    /// Whether a server that could write may not any more, because another was promoted.
    pub(super) fn is_superseded(&self, of: &Watched) -> bool {
        let roles = self.shared.control.knowledge.roles(&of.cluster);
        let of_server = roles.as_ref().and_then(|roles| roles.of(&of.member.server));
        of_server.is_some_and(|roles| matches!(roles.writes, Standing::Out(Why::Superseded(_))))
    }

    /// How long to wait until a server of a cluster is looked at again.
    pub(super) fn interval(&self, cluster: &Address) -> Duration {
        let hurried = self.hurried.borrow();
        let is_changing = hurried.get(cluster).is_some_and(|until| Instant::now() < *until);
        if is_changing || self.shared.pauses.has(cluster) {
            return HURRIED_INTERVAL;
        }
        match self.snapshot().gates.signals(cluster) {
            Some(signals) if signals.is_started() => REGULATED_INTERVAL,
            Some(_) => MEASURED_INTERVAL,
            None => INTERVAL,
        }
    }

    /// Gives a cluster's hostgroups the roles that follow from what is known.
    pub(super) fn judge(&self, snapshot: &Snapshot, watched: &WatchedCluster<'_>) {
        let knowledge = &self.shared.control.knowledge;
        let cluster = &watched.cluster.address;
        let judgement = knowledge.judge(watched);
        let roles = judgement.roles.as_ref();
        if judgement.is_news
            && let Err(error) = self.shared.control.remember()
        {
            tracing::error!(%error, "the roles of servers could not be written: after a restart, they follow from what is seen alone");
        }
        if let Some(before) = &judgement.before {
            tell(cluster, before.as_ref(), roles);
            self.hurried
                .borrow_mut()
                .insert(cluster.clone(), Instant::now() + HURRY);
        }
        let mut is_cut_off = false;
        for (role, id) in watched.hostgroups() {
            if let Some(group) = snapshot.hostgroups.get(&id) {
                let is_lost = |at: usize| roles.is_some_and(|roles| roles.0[at].is_lost());
                is_cut_off |= group.place(watched.places(role, roles), is_lost);
            }
        }
        if is_cut_off {
            self.shared.workers().iter().for_each(WorkerHandle::wake);
        }
    }
}

/// A server that did not answer does.
fn came_back(snapshot: &Snapshot, watched: &WatchedCluster<'_>, server: &Address) {
    for (_, id) in watched.hostgroups() {
        let members = snapshot
            .hostgroups
            .get(&id)
            .into_iter()
            .flat_map(|group| &group.members);
        for member in members.filter(|member| member.server == *server) {
            member.runtime.reached();
            member.runtime.came_back();
        }
    }
}

/// Writes down what has become of each server, and why.
fn tell(cluster: &Address, before: Option<&Roles>, now: Option<&Roles>) {
    let Some(now) = now else {
        tracing::warn!(%cluster, "the roles of the servers are not known");
        return;
    };
    for roles in &now.0 {
        let before = before.and_then(|before| before.of(&roles.server));
        if before.is_none_or(|before| !before.is_like(roles)) {
            tracing::info!(server = %roles.server, "{}", said(roles));
        }
    }
    if is_without_writer(now) && !before.is_some_and(is_without_writer) {
        tracing::warn!(%cluster, "no server takes writes");
    }
}

/// Writes down that a server has ceased to follow its source, or follows it again.
fn tell_source(server: &Address, before: Option<Source>, now: Option<Source>) {
    match now {
        now if now == before => {}
        Some(Source::Stopped) => {
            tracing::warn!(%server, "its replication is stopped: what it has grows old, and counts against its max_replication_lag if it has one");
        }
        Some(Source::Connecting) => {
            tracing::warn!(%server, "it does not reach the server that it replicates from: what it has grows old, and counts against its max_replication_lag if it has one");
        }
        Some(Source::Running) if matches!(before, Some(Source::Stopped | Source::Connecting)) => {
            tracing::info!(%server, "it replicates again");
        }
        Some(Source::Unknown | Source::None | Source::Running) | None => {}
    }
}

/// Whether it is known that no server takes writes: each was looked at.
fn is_without_writer(roles: &Roles) -> bool {
    let is_unseen = |of: &ServerRoles| matches!(of.writes, Standing::Out(Why::Unseen));
    roles.writers().next().is_none() && !roles.0.iter().any(is_unseen)
}

/// What a server does in both roles, in words.
fn said(roles: &ServerRoles) -> String {
    let said = |standing: &Standing, does: &str, does_not: &str| match standing {
        Standing::Serves => does.to_owned(),
        Standing::LastResort => format!("{does} when nobody else can"),
        Standing::StandsBy => format!("stands by ({does_not})"),
        Standing::Out(why) => format!("{does_not}: {why}"),
    };
    if let (Standing::Out(writes), Standing::Out(reads)) = (&roles.writes, &roles.reads)
        && writes == reads
    {
        return format!("takes no statements: {writes}");
    }
    format!(
        "{}; {}",
        said(&roles.writes, "takes writes", "takes no writes"),
        said(&roles.reads, "answers reads", "answers no reads")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_writes_only_when_each_server_was_looked_at() {
        let roles = |writes: &[Standing]| {
            let of = |standing: &Standing| ServerRoles {
                server: "clusters.a.servers.a1".into(),
                writes: standing.clone(),
                reads: Standing::Serves,
            };
            Roles(writes.iter().map(of).collect())
        };
        let (unseen, replica) = (Standing::Out(Why::Unseen), Standing::Out(Why::ReadOnly));
        assert!(!is_without_writer(&roles(&[unseen.clone(), unseen.clone()])));
        assert!(!is_without_writer(&roles(&[replica.clone(), unseen])));
        assert!(is_without_writer(&roles(&[replica.clone(), replica.clone()])));
        assert!(!is_without_writer(&roles(&[replica, Standing::Serves])));
    }
}
