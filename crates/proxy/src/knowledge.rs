//! What is known of servers, shared by the monitor, the making of generations and the admin port.

mod lag;
mod memory_file;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use shardwright_rules::roles::{
    self, Doubt, NotPreferred, RoleMemory, Roles, Sight, SisterReports, WatchedCluster,
};
use shardwright_rules::{Address, Configuration, Member};
use tokio::sync::Notify;

use self::lag::LagMemory;
use self::memory_file::Memories;
pub(crate) use self::memory_file::MemoryFile;

/// What is known of the servers of all clusters.
#[derive(Debug, Default)]
pub(crate) struct Knowledge(Mutex<BTreeMap<Address, KnownCluster>>);

/// What is known of the servers of a cluster.
#[derive(Debug, Default)]
struct KnownCluster {
    servers: BTreeMap<Address, KnownServer>,
    memory: RoleMemory,
    /// The roles that were given last.
    roles: Option<Roles>,
    /// How often servers got other roles.
    changes: u64,
    /// What is remembered has been changed beside a judgement.
    is_told: bool,
    suspicion: Arc<Notify>,
}

/// What is known of a server.
#[derive(Clone, Debug)]
pub(crate) struct KnownServer {
    host: String,
    port: u16,
    pub(crate) sight: Sight,
    lag: LagMemory,
    /// Since when it answers, or does not.
    pub(crate) since: SystemTime,
}

impl KnownServer {
    fn is(&self, member: &Member) -> bool {
        self.host == member.host && self.port == member.port
    }
}

/// What a judgement has come to.
pub(crate) struct Judgement {
    pub(crate) roles: Option<Roles>,
    /// The roles given before; `None`: they are the same but for figures and words.
    pub(crate) before: Option<Option<Roles>>,
    /// What is remembered has changed.
    pub(crate) is_news: bool,
}

impl Knowledge {
    /// What is remembered from an earlier run.
    pub(crate) fn of_memories(memories: Memories) -> Self {
        let known = |(cluster, memory)| {
            let known = KnownCluster {
                memory,
                ..KnownCluster::default()
            };
            (cluster, known)
        };
        Self(Mutex::new(memories.into_iter().map(known).collect()))
    }

    /// What is to be remembered for the next run.
    pub(crate) fn memories(&self) -> Memories {
        let clusters = self.clusters();
        let of_cluster =
            |(cluster, known): (&Address, &KnownCluster)| (cluster.clone(), known.memory.clone());
        clusters.iter().map(of_cluster).collect()
    }

    /// Who hears that something is wrong in a cluster.
    pub(crate) fn suspicion(&self, cluster: &Address) -> Arc<Notify> {
        self.clusters()
            .entry(cluster.clone())
            .or_default()
            .suspicion
            .clone()
    }

    /// The roles that would follow from what is known; nothing is remembered.
    pub(crate) fn suppose(&self, watched: &WatchedCluster<'_>) -> Option<Roles> {
        let mut clusters = self.clusters();
        let known = clusters.entry(watched.cluster.address.clone()).or_default();
        watched.roles(&known.sights(watched), &mut known.memory.clone())
    }

    /// Takes up what is seen of a server; how it was seen before, if that was in another way.
    pub(crate) fn saw(&self, cluster: &Address, member: &Member, mut sight: Sight) -> Option<Sight> {
        let mut clusters = self.clusters();
        let KnownCluster { servers, memory, .. } = clusters.entry(cluster.clone()).or_default();
        let before = servers.get_mut(&member.server);
        if before.as_ref().is_some_and(|known| !known.is(member)) {
            memory.forget(&member.server);
        }
        if let Some(known) = before.filter(|known| known.is(member)) {
            if let Sight::Seen(seen) = &mut sight {
                known.lag.follow(seen, Instant::now());
            }
            if std::mem::discriminant(&known.sight) != std::mem::discriminant(&sight) {
                known.since = SystemTime::now();
            }
            let former = std::mem::replace(&mut known.sight, sight);
            return (former != known.sight).then_some(former);
        }
        let mut lag = LagMemory::default();
        if let Sight::Seen(seen) = &mut sight {
            lag.follow(seen, Instant::now());
        }
        let known = KnownServer {
            host: member.host.clone(),
            port: member.port,
            lag,
            sight,
            since: SystemTime::now(),
        };
        servers.insert(member.server.clone(), known);
        Some(Sight::Unseen)
    }

    /// The roles that follow from what is known, which is remembered.
    pub(crate) fn judge(&self, watched: &WatchedCluster<'_>) -> Judgement {
        let mut clusters = self.clusters();
        let known = clusters.entry(watched.cluster.address.clone()).or_default();
        let sights = known.sights(watched);
        let remembered = known.memory.clone();
        let was_told = std::mem::take(&mut known.is_told);
        let roles = watched.roles(&sights, &mut known.memory);
        let former = std::mem::replace(&mut known.roles, roles.clone());
        let is_same = match (&former, &roles) {
            (Some(former), Some(roles)) => former.is_like(roles),
            (former, roles) => former == roles,
        };
        known.changes += u64::from(!is_same && former.is_some());
        let before = (!is_same).then_some(former);
        Judgement {
            roles,
            before,
            is_news: was_told || known.memory != remembered,
        }
    }

    /// Has a server write from the next judgement on.
    ///
    /// # Errors
    /// [`NotPreferred`]; then nothing has changed.
    pub(crate) fn prefer(&self, watched: &WatchedCluster<'_>, server: &Address) -> Result<(), NotPreferred> {
        let mut clusters = self.clusters();
        let known = clusters.entry(watched.cluster.address.clone()).or_default();
        let sights = known.sights(watched);
        watched.prefer(server, &sights, &mut known.memory)?;
        known.is_told = true;
        Ok(())
    }

    /// Takes up what other proxies say of who writes.
    pub(crate) fn hear(&self, configuration: &Configuration, reports: &SisterReports) {
        let mut clusters = self.clusters();
        for watched in roles::remembering(configuration) {
            let cluster = watched.cluster;
            if let Some(report) = reports.get(&cluster.address) {
                let known = clusters.entry(cluster.address.clone()).or_default();
                known.memory.hear(&cluster.kind, report);
            }
        }
    }

    /// What was remembered is lost. Who was promoted last can be seen again in part; where every server could write, it cannot.
    pub(crate) fn forgot(&self, configuration: &Configuration) {
        let mut clusters = self.clusters();
        for watched in
            roles::remembering(configuration).filter(|watched| watched.cluster.kind.group().is_some())
        {
            let known = clusters.entry(watched.cluster.address.clone()).or_default();
            known.memory = RoleMemory::of_doubt(Doubt::Forgotten);
        }
    }

    /// What is known of a server of a cluster.
    pub(crate) fn server(&self, cluster: &Address, server: &Address) -> Option<KnownServer> {
        self.clusters().get(cluster)?.servers.get(server).cloned()
    }

    /// The servers of a cluster that write, or did last.
    pub(crate) fn last_writers(&self, cluster: &Address) -> Vec<Address> {
        let clusters = self.clusters();
        let memory = clusters.get(cluster).map(|known| known.memory.last_writers());
        memory.unwrap_or_default()
    }

    /// How often servers got other roles since the start.
    pub(crate) fn changes(&self) -> u64 {
        self.clusters().values().map(|known| known.changes).sum()
    }

    /// The roles that were given last in a cluster.
    pub(crate) fn roles(&self, cluster: &Address) -> Option<Roles> {
        self.clusters().get(cluster)?.roles.clone()
    }

    fn clusters(&self) -> MutexGuard<'_, BTreeMap<Address, KnownCluster>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownCluster {
    /// What is seen of each candidate; a server that has moved was not seen where it is now.
    fn sights(&self, watched: &WatchedCluster<'_>) -> Vec<Sight> {
        let sight = |member: &Member| {
            let known = self.servers.get(&member.server).filter(|known| known.is(member));
            known.map_or(Sight::Unseen, |known| known.sight.clone())
        };
        watched.servers.iter().map(|(_, member)| sight(member)).collect()
    }
}
