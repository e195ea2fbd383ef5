//! What the sessions of one worker share: its idle backend connections, its counters, and how they are woken.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Instant;

use arc_swap::{ArcSwap, Cache};
use rustc_hash::FxHashMap;

use crate::base_tables::BaseTables;
use crate::channel::Scratch;
use crate::pool::Pool;
use crate::shared::{Phase, Shared};
use crate::snapshot::Snapshot;
use crate::stats::Counters;

/// What a session leaves with its worker so that it can be woken.
pub(crate) struct SessionWaker {
    waker: RefCell<Option<Waker>>,
    /// When the session wants to be woken.
    pub(crate) deadline: Cell<Option<Instant>>,
}

impl SessionWaker {
    /// Wakes this task at the deadline, and when something changes.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// A worker, on its own thread.
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scratch: Scratch,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
    pub(crate) base_tables: RefCell<BaseTables>,
    snapshot: RefCell<Cache<Arc<ArcSwap<Snapshot>>, Arc<Snapshot>>>,
    wakers: RefCell<FxHashMap<u64, Rc<SessionWaker>>>,
    next: Cell<u64>,
    random: Cell<u64>,
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, seed: u64) -> Self {
        let snapshot = shared.control.snapshot().clone();
        Self {
            scratch: Scratch::new(),
            pool: Pool::default(),
            counters: Counters::new(shared.limits.max_digests),
            snapshot: RefCell::new(Cache::new(snapshot)),
            wakers: RefCell::default(),
            base_tables: RefCell::default(),
            next: Cell::new(1),
            random: Cell::new(seed | 1),
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
    pub(crate) fn remember(&self, session: u64) -> Rc<SessionWaker> {
        let waker = Rc::new(SessionWaker {
            waker: RefCell::new(None),
            deadline: Cell::new(None),
        });
        self.wakers.borrow_mut().insert(session, waker.clone());
        waker
    }

    pub(crate) fn forget(&self, session: u64) {
        self.wakers.borrow_mut().remove(&session);
    }

    fn wake_all(&self) {
        self.wakers.borrow().values().for_each(|waker| waker.wake());
    }

    /// Wakes the sessions whose time has come, and closes connections that were idle for too long.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        for waker in self.wakers.borrow().values() {
            if waker.deadline.get().is_some_and(|deadline| deadline <= now) {
                waker.wake();
            }
        }
        let snapshot = self.snapshot();
        self.pool
            .prune(self.shared.limits.backend_idle_timeout, |member| {
                snapshot.has_member(member)
            });
    }

    /// Follows a change of the generation or of the phase.
    pub(crate) fn changed(&self) {
        let snapshot = self.snapshot();
        self.counters.follow(&snapshot);
        let wanted = |member| snapshot.has_member(member);
        self.counters.prune(wanted);
        self.pool.prune(self.shared.limits.backend_idle_timeout, wanted);
        self.wake_all();
    }
}
