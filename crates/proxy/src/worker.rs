//! A worker: one thread that owns its sessions, its idle backend connections and its counters.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};
use std::task::{Context, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, Cache};
use rustc_hash::FxHashMap;
use tokio::net::TcpStream;
use tokio::runtime;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::channel::{Channel, Scratch, Socket};
use crate::pool::Pool;
use crate::session;
use crate::shared::{Phase, Place, Shared};
use crate::snapshot::Snapshot;
use crate::stats::{Counters, DigestFigures, Report, bump};
use crate::tables::KnownTables;

/// How exact idle timeouts are.
const SWEEP: Duration = Duration::from_millis(250);

/// What a worker is told.
pub(crate) enum Message {
    /// Take on a session.
    Session(NewSession),
    /// Something that everybody looks at has changed: the generation or the phase.
    Wake,
    /// A session elsewhere waits for a connection to this member.
    Release(u64),
    /// Say what was counted.
    Report(std_mpsc::Sender<Report>),
    /// Say the digests and forget them.
    TakeDigests(std_mpsc::Sender<Vec<DigestFigures>>),
}

/// A client connection that was accepted.
pub(crate) struct NewSession {
    pub(crate) stream: StdTcpStream,
    pub(crate) peer: SocketAddr,
    pub(crate) place: Place,
    pub(crate) login_place: Place,
}

/// A worker as other threads see it.
#[derive(Clone)]
pub(crate) struct WorkerHandle {
    sender: mpsc::UnboundedSender<Message>,
    load: Arc<AtomicUsize>,
}

impl WorkerHandle {
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// Hands over a session; it is closed if the worker has ended.
    pub(crate) fn take_on(&self, session: NewSession) {
        self.load.fetch_add(1, Ordering::Relaxed);
        if self.sender.send(Message::Session(session)).is_err() {
            self.load.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Makes the worker look at the generation and the phase.
    pub(crate) fn wake(&self) {
        self.tell(Message::Wake);
    }

    pub(crate) fn release(&self, member: u64) {
        self.tell(Message::Release(member));
    }

    pub(crate) fn report(&self) -> Option<Report> {
        let (sender, receiver) = std_mpsc::channel();
        self.tell(Message::Report(sender));
        receiver.recv().ok()
    }

    pub(crate) fn take_digests(&self) -> Option<Vec<DigestFigures>> {
        let (sender, receiver) = std_mpsc::channel();
        self.tell(Message::TakeDigests(sender));
        receiver.recv().ok()
    }

    /// A worker that has ended hears nothing, and has nothing to do about it.
    fn tell(&self, message: Message) {
        let _ended = self.sender.send(message);
    }
}

/// What a session leaves with its worker so that it can be woken.
pub(crate) struct Slot {
    waker: RefCell<Option<Waker>>,
    /// When the session wants to be woken.
    pub(crate) deadline: Cell<Option<Instant>>,
}

impl Slot {
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
    pub(crate) tables: RefCell<KnownTables>,
    snapshot: RefCell<Cache<Arc<ArcSwap<Snapshot>>, Arc<Snapshot>>>,
    slots: RefCell<FxHashMap<u64, Rc<Slot>>>,
    next: Cell<u64>,
    random: Cell<u64>,
}

impl Worker {
    fn new(shared: Arc<Shared>, seed: u64) -> Self {
        let snapshot = shared.control.snapshot().clone();
        Self {
            scratch: Scratch::new(),
            pool: Pool::default(),
            counters: Counters::new(shared.limits.max_digests),
            snapshot: RefCell::new(Cache::new(snapshot)),
            slots: RefCell::default(),
            tables: RefCell::default(),
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
    pub(crate) fn remember(&self, session: u64) -> Rc<Slot> {
        let slot = Rc::new(Slot {
            waker: RefCell::new(None),
            deadline: Cell::new(None),
        });
        self.slots.borrow_mut().insert(session, slot.clone());
        slot
    }

    pub(crate) fn forget(&self, session: u64) {
        self.slots.borrow_mut().remove(&session);
    }

    fn wake_all(&self) {
        self.slots.borrow().values().for_each(|slot| slot.wake());
    }

    fn sweep(&self) {
        let now = Instant::now();
        for slot in self.slots.borrow().values() {
            if slot.deadline.get().is_some_and(|deadline| deadline <= now) {
                slot.wake();
            }
        }
        let snapshot = self.snapshot();
        self.pool
            .prune(self.shared.limits.backend_idle_timeout, |member| {
                snapshot.has_member(member)
            });
    }

    fn changed(&self) {
        let snapshot = self.snapshot();
        self.counters.follow(&snapshot);
        let wanted = |member| snapshot.has_member(member);
        self.counters.prune(wanted);
        self.pool.prune(self.shared.limits.backend_idle_timeout, wanted);
        self.wake_all();
    }
}

/// Starts a worker thread.
pub(crate) fn start(shared: Arc<Shared>, number: usize) -> io::Result<(WorkerHandle, JoinHandle<()>)> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, receiver) = mpsc::unbounded_channel();
    let load = Arc::new(AtomicUsize::new(0));
    let handle = WorkerHandle {
        sender,
        load: load.clone(),
    };
    let thread = std::thread::Builder::new()
        .name(format!("worker-{number}"))
        .spawn(move || {
            let worker = Rc::new(Worker::new(shared, u64::from_le_bytes(seed)));
            let local = LocalSet::new();
            local.block_on(&runtime, run(worker, receiver, load));
        })?;
    Ok((handle, thread))
}

async fn run(worker: Rc<Worker>, mut messages: mpsc::UnboundedReceiver<Message>, load: Arc<AtomicUsize>) {
    worker.changed();
    let mut sweep = tokio::time::interval(SWEEP);
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while worker.phase() != Phase::Stopping {
        tokio::select! {
            message = messages.recv() => match message {
                Some(message) => handle(&worker, message, &load),
                None => return,
            },
            _ = sweep.tick() => worker.sweep(),
        }
    }
}

fn handle(worker: &Rc<Worker>, message: Message, load: &Arc<AtomicUsize>) {
    match message {
        Message::Session(session) => spawn_session(worker.clone(), session, load.clone()),
        Message::Wake => worker.changed(),
        Message::Release(member) => {
            worker.pool.evict(member);
        }
        // Who asked may have gone; then nobody misses the answer.
        Message::Report(sender) => {
            let _gone = sender.send(worker.counters.report(worker.pool.figures()));
        }
        Message::TakeDigests(sender) => {
            let _gone = sender.send(worker.counters.take_digests());
        }
    }
}

/// Takes the session out of the worker's books, however it ends.
struct Entry {
    worker: Rc<Worker>,
    session: u64,
    load: Arc<AtomicUsize>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.worker.forget(self.session);
        self.load.fetch_sub(1, Ordering::Relaxed);
        if std::thread::panicking() {
            bump(&self.worker.counters.totals.session_panics);
        }
    }
}

fn spawn_session(worker: Rc<Worker>, new: NewSession, load: Arc<AtomicUsize>) {
    let number = worker.next_number();
    let entry = Entry {
        session: number,
        worker: worker.clone(),
        load,
    };
    bump(&worker.counters.totals.sessions);
    let slot = worker.remember(number);
    // A panic ends this task alone: tokio catches it, and the parts of the session are dropped on the way.
    tokio::task::spawn_local(async move {
        let _entry = entry;
        let stream = match TcpStream::from_std(new.stream) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!(%error, "a client connection cannot be watched");
                return;
            }
        };
        let channel = Channel::new(Socket::Tcp(stream), worker.scratch.clone());
        let _place = new.place;
        session::serve(worker, slot, number, channel, new.peer, new.login_place).await;
    });
}
