//! What the sessions of one worker share: its idle backend connections, its counters, and how they are woken.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use arc_swap::{ArcSwap, Cache};
use rustc_hash::FxHashMap;
use shardwright_rules::{HostgroupId, KnownTexts, Statement};
use shardwright_sql::{LexMode, Servers};

use crate::base_tables::BaseTables;
use crate::channel::Scratch;
use crate::connection_ids::ConnectionId;
use crate::kill::{KillRequest, KillScope, Killed};
use crate::known_good::KnownGood;
use crate::pool::Pool;
use crate::read_times::ReadTimes;
use crate::session_handle::{SessionFigures, SessionHandle};
use crate::shared::{Phase, Shared};
use crate::snapshot::Snapshot;
use crate::stats::Counters;
use crate::sync_connections::SyncConnections;

/// A worker, on its own thread.
pub(crate) struct Worker {
    /// Its place among the workers.
    pub(crate) place: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) scratch: Scratch,
    pub(crate) pool: Pool,
    pub(crate) syncs: SyncConnections,
    pub(crate) counters: Counters,
    pub(crate) read_times: ReadTimes,
    pub(crate) base_tables: RefCell<BaseTables>,
    pub(crate) known_good: KnownGood,
    known_texts: RefCell<KnownTexts>,
    /// The kinds of the servers that are known.
    servers: Cell<Servers>,
    snapshot: RefCell<Cache<Arc<ArcSwap<Snapshot>>, Arc<Snapshot>>>,
    /// By the number of the client's connection.
    sessions: RefCell<FxHashMap<u32, Rc<SessionHandle>>>,
    next: Cell<u64>,
    random: Cell<u64>,
    /// How often sessions had been told to end for their memory when they were looked at.
    orders_seen: Cell<u64>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, place: usize, seed: u64) -> Self {
        let snapshot = shared.control.snapshot().clone();
        Self {
            place,
            scratch: Scratch::new(shared.budget.clone()),
            pool: Pool::default(),
            syncs: SyncConnections::default(),
            counters: Counters::new(shared.limits.max_digests),
            read_times: ReadTimes::default(),
            snapshot: RefCell::new(Cache::new(snapshot)),
            sessions: RefCell::default(),
            base_tables: RefCell::default(),
            known_good: KnownGood::default(),
            known_texts: RefCell::default(),
            servers: Cell::new(Servers::ALL),
            next: Cell::new(1),
            random: Cell::new(seed | 1),
            orders_seen: Cell::new(0),
            shared,
        }
    }

    /// The generation that is served now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.borrow_mut().load().clone()
    }

    /// Whether `snapshot` is the generation that is served now.
    pub(crate) fn is_current(&self, snapshot: &Arc<Snapshot>) -> bool {
        Arc::ptr_eq(self.snapshot.borrow_mut().load(), snapshot)
    }

    /// A statement. What an earlier text with the same skeleton has told of it is not read again.
    pub(crate) fn statement<'a>(&self, text: &'a [u8], mode: LexMode) -> Statement<'a> {
        let statement = Statement::new(text, mode);
        match self.known_texts.borrow_mut().known(text, mode) {
            Some(known) => statement.with_known(&known),
            None => statement,
        }
    }

    /// The kinds of server that may run a statement.
    pub(crate) fn servers(&self) -> Servers {
        self.servers.get()
    }

    /// Takes in the kinds of the members of now. Those that no connection was opened to yet are left out: a session that gets
    /// one of another kind does not send what was read for these. What was met once stays until the next generation, as an
    /// address can lead to servers of several kinds.
    pub(crate) fn learn_servers(&self) {
        let found = self.snapshot().servers();
        self.servers.set(match self.servers.get() {
            Servers::ALL => found,
            known if found == Servers::ALL => known,
            known => known | found,
        });
    }

    /// Takes in the kind of a server that was met.
    pub(crate) fn meet_servers(&self, met: Servers) {
        self.servers.set(self.servers.get() | met);
    }

    pub(crate) fn phase(&self) -> Phase {
        self.shared.phase()
    }

    /// A number that this worker gives once.
    pub(crate) fn next_number(&self) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        number
    }

    /// A number to choose members by (xorshift64).
    pub(crate) fn random(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x
    }

    /// Registers a session; it must be given back with [`Worker::forget`].
    pub(crate) fn remember(&self) -> (ConnectionId, Rc<SessionHandle>) {
        let id = self.shared.connection_ids.take(self.place);
        let handle = Rc::new(SessionHandle::default());
        self.sessions.borrow_mut().insert(id.id, handle.clone());
        (id, handle)
    }

    pub(crate) fn forget(&self, id: u32) {
        self.sessions.borrow_mut().remove(&id);
    }

    /// Leaves a KILL with its session.
    pub(crate) fn kill(&self, request: KillRequest) {
        let KillRequest { id, owner, order } = request;
        let handle = self.sessions.borrow().get(&id).cloned();
        let Some((handle, user)) = handle.and_then(|handle| handle.user().map(|user| (handle, user))) else {
            return order.done(Killed::Unknown);
        };
        if owner.is_some_and(|owner| owner != user) {
            return order.done(Killed::Denied);
        }
        match handle.take_order() {
            // The session ends, and its statement with it.
            Some(earlier) if earlier.scope == KillScope::Connection => {
                order.done(Killed::Done);
                handle.order(earlier);
            }
            earlier => {
                handle.order(order);
                if let Some(earlier) = earlier {
                    earlier.done(Killed::Done);
                }
            }
        }
    }

    /// Sessions with a statement in this hostgroup, or with something that is begun there and not ended.
    pub(crate) fn occupants(&self, hostgroup: HostgroupId) -> usize {
        let sessions = self.sessions.borrow();
        sessions
            .values()
            .filter(|session| session.occupies(hostgroup))
            .count()
    }

    /// The sessions that are logged in.
    pub(crate) fn session_figures(&self) -> Vec<SessionFigures> {
        let sessions = self.sessions.borrow();
        let figures = sessions.iter().map(|(id, session)| session.figures(*id));
        figures.flatten().collect()
    }

    fn wake_all(&self) {
        self.sessions.borrow().values().for_each(|session| session.wake());
    }

    /// Wakes the sessions whose time has come, tells what was measured, and closes connections that were idle for too long.
    pub(crate) fn sweep(&self) {
        self.counters.look_at_time();
        self.read_times.tell();
        let now = Instant::now();
        for session in self.sessions.borrow().values() {
            if session.deadline.get().is_some_and(|deadline| deadline <= now) {
                session.wake();
            }
        }
        self.see_to_memory(now);
        self.pool.spare();
        self.learn_servers();
        let snapshot = self.snapshot();
        self.pool
            .prune(self.shared.limits.backend_idle_timeout, |member| {
                snapshot.has_member(member)
            });
    }

    /// Sees to it that nobody waits for memory for ever: sessions that are told to end may wait for their clients.
    fn see_to_memory(&self, now: Instant) {
        let budget = &self.shared.budget;
        budget.look(now);
        let orders = budget.orders();
        if self.orders_seen.replace(orders) != orders {
            self.wake_all();
        }
    }

    /// Follows a change of the generation or of the phase.
    pub(crate) fn changed(&self) {
        self.servers.set(Servers::ALL);
        self.learn_servers();
        let snapshot = self.snapshot();
        self.counters.follow(&snapshot);
        let wanted = |member| snapshot.has_member(member);
        self.counters.prune(wanted);
        self.syncs.prune(wanted);
        self.pool.prune(self.shared.limits.backend_idle_timeout, wanted);
        self.wake_all();
    }
}
