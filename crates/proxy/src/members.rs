//! Servers as members of hostgroups, while a proxy runs: their connection limits and their state.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use rustc_hash::{FxHashMap, FxHashSet};
use shardwright_rules::{HostgroupId, Member, ServerTls};
use shardwright_sql::Servers;
use shardwright_wire::{CapabilityFlags, Greeting, MariadbCapabilities};
use tokio::sync::Semaphore;

use crate::causal::Reach;
use crate::news::News;
use crate::read_speed::{LEAST_SHARE, ReadSpeed, WHOLE_SHARE};
use crate::room::{Request, Room};
use crate::server_defaults::KnownDefaults;

/// A member of a hostgroup, shared by all workers and by all generations that have it unchanged.
#[derive(Debug)]
pub(crate) struct MemberRuntime {
    /// Unique in the process.
    pub(crate) number: u64,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: ServerTls,
    pub(crate) max_connections: u32,
    /// The room for connections on its server, which other hostgroups may have as well.
    pub(crate) room: Arc<Room>,
    /// One permit for each connection that may be opened beside those, to kill.
    pub(crate) kill_permits: Arc<Semaphore>,
    /// Sessions that wait for a connection, on any worker.
    pub(crate) waiting: AtomicUsize,
    /// Those of them whose worker has no connection.
    pub(crate) starving: AtomicUsize,
    /// Workers that have a connection.
    pub(crate) workers: AtomicUsize,
    pub(crate) connected: AtomicU64,
    pub(crate) connect_errors: AtomicU64,
    /// Milliseconds after `epoch` until which the server is left alone; 0: it is not.
    avoid_until_ms: AtomicU64,
    /// Milliseconds after `epoch` at which it was back; 0: it was never away.
    back_at_ms: AtomicU64,
    epoch: Instant,
    /// The server is gone and another serves in its place: what it works at is given up.
    is_cut_off: AtomicBool,
    /// As the server greets.
    version: ArcSwapOption<String>,
    /// Capabilities that its greeting did not offer; none before the first.
    lacks: AtomicU32,
    /// MariaDB's further capabilities, as far as is known.
    mariadb_capabilities: AtomicU32,
    /// How its sessions begin.
    pub(crate) defaults: KnownDefaults,
    /// What it is known to have.
    pub(crate) reach: Reach,
    /// How fast it answers reads.
    pub(crate) speed: ReadSpeed,
    /// Where connections to its host have led.
    peers: Mutex<BTreeSet<IpAddr>>,
    /// Failed connections that were logged, by code (0: it was not reached) and user.
    pub(crate) news: News<(u16, Arc<str>)>,
}

impl MemberRuntime {
    /// A server that nobody has connected to yet.
    pub(crate) fn new(number: u64, member: &Member, room: Arc<Room>) -> Self {
        Self {
            number,
            host: member.host.clone(),
            port: member.port,
            tls: member.tls,
            max_connections: member.max_connections,
            room,
            kill_permits: Arc::new(Semaphore::new(KILLS_AT_ONCE)),
            waiting: AtomicUsize::new(0),
            starving: AtomicUsize::new(0),
            workers: AtomicUsize::new(0),
            connected: AtomicU64::new(0),
            connect_errors: AtomicU64::new(0),
            avoid_until_ms: AtomicU64::new(0),
            back_at_ms: AtomicU64::new(0),
            epoch: Instant::now(),
            is_cut_off: AtomicBool::new(false),
            version: ArcSwapOption::empty(),
            lacks: AtomicU32::new(0),
            mariadb_capabilities: AtomicU32::new(0),
            defaults: KnownDefaults::default(),
            reach: Reach::default(),
            speed: ReadSpeed::default(),
            peers: Mutex::default(),
            news: News::default(),
        }
    }

    /// The server's version, if a connection was opened.
    pub(crate) fn version(&self) -> Option<String> {
        self.version.load().as_deref().cloned()
    }

    /// The kind of its server, if a connection was opened; all of them if its version does not tell.
    pub(crate) fn servers(&self) -> Option<Servers> {
        let version = self.version.load();
        let version = version.as_deref()?;
        Some(Servers::of_version(version).unwrap_or(Servers::ALL))
    }

    /// Notes what the server says of itself.
    pub(crate) fn greeted(&self, greeting: &Greeting) {
        self.lacks
            .store(greeting.capabilities.complement().bits(), Ordering::Relaxed);
        self.mariadb_capabilities
            .store(greeting.mariadb_capabilities.bits(), Ordering::Relaxed);
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

    /// A connection to its host has led there.
    pub(crate) fn led_to(&self, peer: IpAddr) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.insert(peer);
    }

    /// Where connections to its host have led.
    pub(crate) fn peers(&self) -> BTreeSet<IpAddr> {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.clone()
    }

    /// MariaDB's further capabilities of the server, if a connection was opened.
    pub(crate) fn mariadb_capabilities(&self) -> Option<MariadbCapabilities> {
        self.version.load().as_ref()?;
        let bits = self.mariadb_capabilities.load(Ordering::Relaxed);
        Some(MariadbCapabilities::from_bits_retain(bits))
    }

    /// Capabilities that the server does not have, as far as is known.
    pub(crate) fn lacks(&self) -> CapabilityFlags {
        CapabilityFlags::from_bits_retain(self.lacks.load(Ordering::Relaxed))
    }

    /// Connections open or being opened.
    pub(crate) fn connections(&self) -> usize {
        self.room.open_to(self.number)
    }

    /// A connection for a statement, which only reads or may write.
    pub(crate) fn request(&self, user: &Arc<str>, is_read: bool) -> Request {
        Request {
            member: self.number,
            most: self.max_connections as usize,
            user: user.clone(),
            is_read,
        }
    }

    /// How many connections each of the workers that have some can have, at least one.
    pub(crate) fn share_of_worker(&self) -> usize {
        let workers = self.workers.load(Ordering::Relaxed).max(1);
        let most = self.room.most().min(self.max_connections as usize);
        (most / workers).max(1)
    }

    /// Leaves the server alone for a while.
    pub(crate) fn avoid_for(&self, time: Duration) {
        let until = (self.epoch.elapsed() + time).as_millis() as u64;
        self.avoid_until_ms.store(until.max(1), Ordering::Relaxed);
    }

    /// It was reached: nothing speaks against it any more. It takes its share step by step if it was away.
    pub(crate) fn reached(&self) {
        if self.avoid_until_ms.swap(0, Ordering::Relaxed) != 0 {
            self.came_back();
        }
    }

    /// It was away, and takes its share step by step.
    pub(crate) fn came_back(&self) {
        let now = self.epoch.elapsed().as_millis() as u64;
        self.back_at_ms.store(now.max(1), Ordering::Relaxed);
    }

    /// Has what the server works at given up, or not; whether it has become so.
    pub(crate) fn cut_off(&self, is_cut_off: bool) -> bool {
        !self.is_cut_off.swap(is_cut_off, Ordering::AcqRel) && is_cut_off
    }

    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_cut_off.load(Ordering::Acquire)
    }

    /// The part of its share that it takes now, in thousandths: a slow reader gets less.
    pub(crate) fn share(&self) -> u64 {
        self.share_since_back().min(self.speed.share())
    }

    /// Whether it can be compared with others: it is reached, and was not away a moment ago.
    pub(crate) fn is_steady(&self) -> bool {
        !self.is_avoided() && self.share_since_back() == WHOLE_SHARE
    }

    /// The same of a server that may have been away: its caches are cold.
    fn share_since_back(&self) -> u64 {
        let back_at = self.back_at_ms.load(Ordering::Relaxed);
        if back_at == 0 {
            return WHOLE_SHARE;
        }
        let back_for = (self.epoch.elapsed().as_millis() as u64).saturating_sub(back_at);
        let whole = SLOW_START.as_millis() as u64;
        (back_for * WHOLE_SHARE / whole).clamp(LEAST_SHARE, WHOLE_SHARE)
    }

    pub(crate) fn is_avoided(&self) -> bool {
        let until = self.avoid_until_ms.load(Ordering::Relaxed);
        until != 0 && until > self.epoch.elapsed().as_millis() as u64
    }

    /// Whether it is the same server, perhaps in another hostgroup or generation.
    pub(crate) fn endpoint_is(&self, other: &Self) -> bool {
        self.port == other.port && self.host == other.host
    }

    /// Whether its host is a name, and may lead elsewhere later.
    pub(crate) fn has_name(&self) -> bool {
        self.port != 0 && self.host.parse::<IpAddr>().is_err()
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

/// How long it takes until a server that was away has its whole share.
const SLOW_START: Duration = Duration::from_secs(10);

/// What makes two members of two generations the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MemberKey {
    hostgroup: HostgroupId,
    host: String,
    port: u16,
    tls: ServerTls,
    max_connections: u32,
    /// How often the host name has come to lead elsewhere.
    moves: u32,
}

/// A server, whatever hostgroups it is in: host, port, and how often the host name has come to lead elsewhere.
type Endpoint = (String, u16, u32);

/// What is known of host names.
#[derive(Debug, Default)]
struct HostNames {
    /// How often each has come to lead elsewhere.
    moves: FxHashMap<String, u32>,
    /// Those that lead to several servers.
    of_several: FxHashSet<String>,
}

impl HostNames {
    fn moves_of(&self, host: &str) -> u32 {
        self.moves.get(host).copied().unwrap_or(0)
    }
}

/// Every member that a served generation has; a change of generation keeps what did not change.
#[derive(Debug, Default)]
pub(crate) struct MemberRegistry {
    members: Mutex<FxHashMap<MemberKey, Arc<MemberRuntime>>>,
    rooms: Mutex<FxHashMap<Endpoint, Arc<Room>>>,
    names: Mutex<HostNames>,
    next: AtomicU64,
}

/// Most connections to a member that kill at a time.
const KILLS_AT_ONCE: usize = 4;

impl MemberRegistry {
    /// The running member for a member of a configuration.
    pub(crate) fn get(&self, hostgroup: HostgroupId, member: &Member) -> Arc<MemberRuntime> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let key = MemberKey {
            moves: names.moves_of(&member.host),
            hostgroup,
            host: member.host.clone(),
            port: member.port,
            tls: member.tls,
            max_connections: member.max_connections,
        };
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match members.entry(key) {
            Entry::Occupied(entry) => entry.get().clone(),
            Entry::Vacant(entry) => {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let room = self.room(member, entry.key().moves);
                let running = MemberRuntime::new(number, member, room);
                entry.insert(Arc::new(running)).clone()
            }
        };
        if names.of_several.contains(&member.host) {
            running.reach.is_of_several();
        }
        running
    }

    fn room(&self, member: &Member, moves: u32) -> Arc<Room> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoint = (member.host.clone(), member.port, moves);
        rooms.entry(endpoint).or_default().clone()
    }

    /// How often a host name has come to lead elsewhere.
    pub(crate) fn moves_of(&self, host: &str) -> u32 {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.moves_of(host)
    }

    /// A host name leads elsewhere: from now on, its members are others.
    pub(crate) fn moved(&self, host: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        *names.moves.entry(host.to_owned()).or_default() += 1;
    }

    /// A host name leads to several servers: what is known of one says nothing of the next connection.
    pub(crate) fn leads_to_several(&self, host: &str) {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.of_several.insert(host.to_owned());
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let at_host = members.values().filter(|member| member.host == host);
        at_host.for_each(|member| member.reach.is_of_several());
    }

    /// Forgets members that nothing refers to any more.
    pub(crate) fn prune(&self) {
        let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        members.retain(|_, member| Arc::strong_count(member) > 1);
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.retain(|_, room| Arc::strong_count(room) > 1);
    }
}

/// An online server with a share of 1 and room for ten connections.
#[cfg(test)]
pub(crate) fn member_of_tests(host: &str) -> Member {
    Member {
        server: host.into(),
        host: host.to_owned(),
        port: 3306,
        weight: 1,
        tier: 0,
        max_connections: 10,
        max_replication_lag_s: 0,
        tls: ServerTls::Disabled,
        status: shardwright_rules::MemberStatus::Online,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_away_takes_its_share_step_by_step() {
        let member = member_of_tests("h");
        let runtime = MemberRuntime::new(1, &member, Arc::default());
        runtime.reached();
        assert_eq!(runtime.share(), WHOLE_SHARE, "it was never away");
        runtime.avoid_for(Duration::from_secs(1));
        runtime.reached();
        assert!((LEAST_SHARE..WHOLE_SHARE).contains(&runtime.share()));
        runtime.back_at_ms.store(1, Ordering::Relaxed);
        let long_ago = MemberRuntime {
            epoch: Instant::now().checked_sub(SLOW_START * 2).unwrap(),
            ..runtime
        };
        assert_eq!(long_ago.share(), WHOLE_SHARE);
    }

    #[test]
    fn a_member_survives_what_does_not_change_it() {
        let registry = MemberRegistry::default();
        let mut member = member_of_tests("h");
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
        member.max_connections = 10;
        registry.moved("elsewhere");
        assert!(Arc::ptr_eq(&first, &registry.get(HostgroupId(1), &member)));
        registry.moved("h");
        assert!(
            !Arc::ptr_eq(&first, &registry.get(HostgroupId(1), &member)),
            "its name leads to another server"
        );
        drop(first);
        registry.prune();
        assert!(registry.members.lock().unwrap().is_empty());
    }
}
