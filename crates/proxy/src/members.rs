//! Servers as members of hostgroups, while a proxy runs: their connection limits, their state, and who is picked.

use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use rustc_hash::FxHashMap;
use shardwright_rules::{Address, HostgroupId, Member, MemberStatus, Role, ServerTls};
use shardwright_wire::{CapabilityFlags, Greeting};
use tokio::sync::Semaphore;

/// A member of a hostgroup, shared by all workers and by all generations that have it unchanged.
#[derive(Debug)]
pub(crate) struct MemberRuntime {
    /// Unique in the process.
    pub(crate) number: u64,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: ServerTls,
    pub(crate) max_connections: u32,
    /// One permit for each connection that may be opened.
    pub(crate) permits: Arc<Semaphore>,
    /// One permit for each connection that may be opened beside those, to kill.
    pub(crate) kill_permits: Arc<Semaphore>,
    /// Sessions that wait for a permit, on any worker.
    pub(crate) waiting: AtomicUsize,
    pub(crate) connected: AtomicU64,
    pub(crate) connect_errors: AtomicU64,
    /// Milliseconds after `epoch` until which the server is left alone; 0: it is not.
    avoid_until_ms: AtomicU64,
    epoch: Instant,
    /// As the server greets.
    version: ArcSwapOption<String>,
    /// Capabilities that its greeting did not offer; none before the first.
    lacks: AtomicU32,
}

impl MemberRuntime {
    /// The server's version, if a connection was opened.
    pub(crate) fn version(&self) -> Option<String> {
        self.version.load().as_deref().cloned()
    }

    /// Notes what the server says of itself.
    pub(crate) fn greeted(&self, greeting: &Greeting) {
        self.lacks
            .store(greeting.capabilities.complement().bits(), Ordering::Relaxed);
        let version = greeting.server_version.as_str();
        if self
            .version
            .load()
            .as_deref()
            .is_none_or(|known| known != version)
        {
            self.version.store(Some(Arc::new(version.to_owned())));
        }
    }

    /// Capabilities that the server does not have, as far as is known.
    pub(crate) fn lacks(&self) -> CapabilityFlags {
        CapabilityFlags::from_bits_retain(self.lacks.load(Ordering::Relaxed))
    }

    /// Connections open or being opened.
    pub(crate) fn connections(&self) -> usize {
        (self.max_connections as usize).saturating_sub(self.permits.available_permits())
    }

    /// Leaves the server alone for a while.
    pub(crate) fn avoid_for(&self, time: Duration) {
        let until = (self.epoch.elapsed() + time).as_millis() as u64;
        self.avoid_until_ms.store(until.max(1), Ordering::Relaxed);
    }

    /// It was reached: nothing speaks against it any more.
    pub(crate) fn reached(&self) {
        self.avoid_until_ms.store(0, Ordering::Relaxed);
    }

    pub(crate) fn is_avoided(&self) -> bool {
        let until = self.avoid_until_ms.load(Ordering::Relaxed);
        until != 0 && until > self.epoch.elapsed().as_millis() as u64
    }

    /// `host:port`, or the path of a socket.
    pub(crate) fn endpoint(&self) -> String {
        if self.port == 0 {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// What makes two members of two generations the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MemberKey {
    hostgroup: HostgroupId,
    host: String,
    port: u16,
    tls: ServerTls,
    max_connections: u32,
}

/// Every member that a served generation has; a change of generation keeps what did not change.
#[derive(Debug, Default)]
pub(crate) struct MemberRegistry {
    members: Mutex<FxHashMap<MemberKey, Arc<MemberRuntime>>>,
    next: AtomicU64,
}

/// Most connections to a member that kill at a time.
const KILLS_AT_ONCE: usize = 4;

impl MemberRegistry {
    /// The running member for a member of a configuration.
    pub(crate) fn get(&self, hostgroup: HostgroupId, member: &Member) -> Arc<MemberRuntime> {
        let key = MemberKey {
            hostgroup,
            host: member.host.clone(),
            port: member.port,
            tls: member.tls,
            max_connections: member.max_connections,
        };
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        match members.entry(key) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => {
                let limit = member.max_connections as usize;
                let runtime = Arc::new(MemberRuntime {
                    number: self.next.fetch_add(1, Ordering::Relaxed),
                    host: member.host.clone(),
                    port: member.port,
                    tls: member.tls,
                    max_connections: member.max_connections,
                    permits: Arc::new(Semaphore::new(limit.min(Semaphore::MAX_PERMITS))),
                    kill_permits: Arc::new(Semaphore::new(KILLS_AT_ONCE)),
                    waiting: AtomicUsize::new(0),
                    connected: AtomicU64::new(0),
                    connect_errors: AtomicU64::new(0),
                    avoid_until_ms: AtomicU64::new(0),
                    epoch: Instant::now(),
                    version: ArcSwapOption::empty(),
                    lacks: AtomicU32::new(0),
                });
                entry.insert(runtime).clone()
            }
        }
    }

    /// Forgets members that nothing refers to any more.
    pub(crate) fn prune(&self) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|_, member| Arc::strong_count(member) > 1);
    }
}

/// A member with what the configuration says of it.
#[derive(Clone, Debug)]
pub(crate) struct HostgroupMember {
    pub(crate) runtime: Arc<MemberRuntime>,
    pub(crate) server: Address,
    pub(crate) weight: u32,
    pub(crate) tier: u8,
    pub(crate) status: MemberStatus,
}

/// What a hostgroup has for a connection that is open already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// New connections go to its server as well.
    Serves,
    /// Its server takes no new connections of the hostgroup.
    Drains,
    /// Its server is none of the hostgroup's.
    Gone,
}

/// A hostgroup of one generation.
#[derive(Clone, Debug)]
pub(crate) struct HostgroupMembers {
    pub(crate) role: Role,
    pub(crate) members: Vec<HostgroupMember>,
}

impl HostgroupMembers {
    /// Where an open connection to `runtime` stands, which may be a member of an earlier generation.
    pub(crate) fn standing(&self, runtime: &MemberRuntime) -> Standing {
        let is_same = |member: &&HostgroupMember| {
            (member.runtime.host.as_str(), member.runtime.port) == (runtime.host.as_str(), runtime.port)
        };
        let is_online = |member: &&HostgroupMember| member.status == MemberStatus::Online;
        let writer = self.members.iter().find(is_online);
        match self.members.iter().find(is_same) {
            None => Standing::Gone,
            Some(member) if member.status == MemberStatus::Offline => Standing::Gone,
            Some(member) if !is_online(&member) => Standing::Drains,
            Some(_) if self.role == Role::Writer && !writer.is_some_and(|writer| is_same(&writer)) => {
                Standing::Drains
            }
            Some(_) => Standing::Serves,
        }
    }

    /// The member that the next statement goes to. `random` is any number. Servers that could not be reached a moment
    /// ago are left out, unless `even_avoided`. A writer hostgroup has one writer: its first online member.
    pub(crate) fn pick(&self, random: u64, even_avoided: bool) -> Option<&HostgroupMember> {
        let usable = |member: &&HostgroupMember| {
            member.status == MemberStatus::Online
                && (member.weight > 0 || self.role == Role::Writer)
                && (even_avoided || !member.runtime.is_avoided())
        };
        if self.role == Role::Writer {
            let first = self
                .members
                .iter()
                .find(|member| member.status == MemberStatus::Online)?;
            return Some(first).filter(usable);
        }
        let tier = self
            .members
            .iter()
            .filter(usable)
            .map(|member| member.tier)
            .min()?;
        let candidates = || {
            self.members
                .iter()
                .filter(usable)
                .filter(move |member| member.tier == tier)
        };
        let total: u64 = candidates().map(|member| u64::from(member.weight)).sum();
        let mut left = random % total;
        candidates().find(|member| {
            let weight = u64::from(member.weight);
            let found = left < weight;
            left = left.saturating_sub(weight);
            found
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(role: Role, rows: &[(&str, u32, u8, MemberStatus)]) -> HostgroupMembers {
        let registry = MemberRegistry::default();
        let members = rows
            .iter()
            .map(|&(host, weight, tier, status)| {
                let member = Member {
                    server: host.into(),
                    host: host.to_owned(),
                    port: 3306,
                    weight,
                    tier,
                    max_connections: 10,
                    max_replication_lag_s: 0,
                    tls: ServerTls::Disabled,
                    status,
                };
                HostgroupMember {
                    runtime: registry.get(HostgroupId(1), &member),
                    server: member.server,
                    weight,
                    tier,
                    status,
                }
            })
            .collect();
        HostgroupMembers { role, members }
    }

    fn picks(group: &HostgroupMembers, even_avoided: bool) -> Vec<String> {
        let mut hosts: Vec<String> = (0..100)
            .filter_map(|random| group.pick(random, even_avoided))
            .map(|member| member.runtime.host.clone())
            .collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }

    use MemberStatus::{Draining, Offline, Online};

    #[test]
    fn readers_share_by_weight() {
        let group = members(
            Role::Reader,
            &[("a", 1, 0, Online), ("b", 3, 0, Online), ("c", 0, 0, Online)],
        );
        let to_b = (0..400)
            .filter(|&random| group.pick(random, false).unwrap().runtime.host == "b")
            .count();
        assert_eq!(to_b, 300);
        assert_eq!(picks(&group, false), ["a", "b"]);
    }

    #[test]
    fn a_last_resort_serves_only_when_no_other_can() {
        let group = members(
            Role::Reader,
            &[
                ("a", 1, 0, Online),
                ("b", 1, 0, Draining),
                ("writer", 1, 1, Online),
            ],
        );
        assert_eq!(picks(&group, false), ["a"]);
        group.members[0].runtime.avoid_for(Duration::from_secs(3600));
        assert_eq!(picks(&group, false), ["writer"]);
        group.members[0].runtime.reached();
        assert_eq!(picks(&group, false), ["a"]);
    }

    #[test]
    fn a_writer_hostgroup_has_one_writer() {
        let group = members(
            Role::Writer,
            &[("a", 1, 0, Offline), ("b", 0, 0, Online), ("c", 1, 0, Online)],
        );
        assert_eq!(picks(&group, false), ["b"]);
        group.members[1].runtime.avoid_for(Duration::from_secs(3600));
        assert_eq!(picks(&group, false), Vec::<String>::new());
        assert_eq!(picks(&group, true), ["b"]);
    }

    #[test]
    fn a_member_survives_what_does_not_change_it() {
        let registry = MemberRegistry::default();
        let mut member = Member {
            server: "s".into(),
            host: "h".into(),
            port: 1,
            weight: 1,
            tier: 0,
            max_connections: 5,
            max_replication_lag_s: 0,
            tls: ServerTls::Disabled,
            status: Online,
        };
        let first = registry.get(HostgroupId(1), &member);
        member.weight = 9;
        assert!(Arc::ptr_eq(&first, &registry.get(HostgroupId(1), &member)));
        member.tls = ServerTls::Required;
        assert!(
            !Arc::ptr_eq(&first, &registry.get(HostgroupId(1), &member)),
            "connections in the clear are not used any more"
        );
        member.tls = ServerTls::Disabled;
        member.max_connections = 6;
        assert!(!Arc::ptr_eq(&first, &registry.get(HostgroupId(1), &member)));
        drop(first);
        registry.prune();
        assert!(registry.members.lock().unwrap().is_empty());
    }
}
