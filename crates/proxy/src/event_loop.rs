//! The event loop of a worker's thread: sockets, the tasks that wait for them, and nothing else.
//!
//! Every thread that has sockets has one loop, which [`start`] makes. A worker's thread does nothing but turn it ([`run`]). Where
//! another runtime has the thread, as for the monitors' questions and in tests, the loop is a task of it ([`hosted`]).
//!
//! What it leaves out is what makes it cheap, and what limits it: no timers ([`crate::clock`]), no tasks that move between threads,
//! and one task for each direction of a socket. Calls for every statement are made by rustix, which asks the system itself. In libc, a
//! thread that may be cancelled notes that before and after each of them, with two locked instructions.
//!
//! ```text
//! epoll ─▶ socket that is ready ─▶ its task's waker ─▶ queue of tasks ─▶ poll ─▶ recv, send ─▶ would block: back to epoll
//!                                                                        └─▶ the turn's messages, in one call
//! ```

mod hosted;
mod incoming;
mod outgoing;
mod sockets;
mod streams;
mod tasks;
#[cfg(test)]
mod tests;

use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use rustix::event::Timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;

use self::outgoing::Outgoing;
use self::sockets::{Sockets, Watched};
use self::tasks::{ALARM, Alarm, Tasks};

pub(crate) use self::hosted::hosted;
pub(crate) use self::incoming::Incoming;
pub(crate) use self::streams::Stream;
pub(crate) use self::tasks::{Ended, spawn, spawn_told};

/// Sockets that one question to the system may tell of.
const EVENTS: usize = 128;
/// Calls on sockets after which a task lets the others run, however much there is to read and however fast it can be written.
const ALLOWANCE: u32 = 128;
/// Without waiting.
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};
/// Tasks that run before the sockets are looked at again.
const TASKS_IN_TURN: usize = 64;

thread_local! {
    static HERE: OnceCell<Rc<EventLoop>> = const { OnceCell::new() };
}

/// A thread's loop.
struct EventLoop {
    epoll: OwnedFd,
    events: RefCell<[Event; EVENTS]>,
    sockets: Sockets,
    tasks: Tasks,
    outgoing: Outgoing,
    /// Calls on sockets that are left to the task that runs.
    allowance: Cell<u32>,
    /// Whoever turns the loop, while nobody does.
    host: RefCell<Option<Waker>>,
    is_turning: Cell<bool>,
}

/// Makes the loop of this thread, if it has none.
///
/// # Errors
/// The system's, most likely because there are no file descriptors.
pub(crate) fn start() -> io::Result<()> {
    HERE.with(|here| {
        if here.get().is_none() {
            let made = Rc::new(EventLoop::new()?);
            // Nothing that is called between the two makes one.
            let _first = here.set(made);
        }
        Ok(())
    })
}

/// Runs a task and those that it starts, on this thread alone, until it ends. Those that are left end with it.
///
/// # Errors
/// The task has panicked, the loop cannot be made, or the system does not tell of sockets any more.
pub(crate) fn run(task: impl Future<Output = ()> + 'static) -> io::Result<()> {
    start()?;
    let here = here()?;
    let end = Rc::new(Cell::new(End::NotYet));
    let ends = Ends(end.clone());
    here.tasks.spawn(async move {
        task.await;
        ends.0.set(End::Well);
    });
    here.is_turning.set(true);
    let turned = here.turn_until(&end);
    let how = end.get();
    here.tasks.end_all();
    here.is_turning.set(false);
    match how {
        End::ByPanic => Err(io::Error::other("the thread's task has panicked")),
        End::NotYet | End::Well => turned,
    }
}

/// How the task ended that a thread is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotYet,
    Well,
    ByPanic,
}

/// Notes the end that a task does not come to by itself.
struct Ends(Rc<Cell<End>>);

impl Drop for Ends {
    fn drop(&mut self) {
        if self.0.get() == End::NotYet {
            self.0.set(End::ByPanic);
        }
    }
}

/// Starts a thread that runs a task on a loop of its own; see [`run`]. When this returns, the loop is there.
///
/// # Errors
/// The thread cannot be started, or its loop cannot be made.
pub(crate) fn run_on_a_thread<F: Future<Output = ()> + 'static>(
    name: String,
    task: impl FnOnce() -> F + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (made, is_made) = mpsc::channel();
    let thread = std::thread::Builder::new().name(name.clone()).spawn(move || {
        let result = start();
        let is_useless = result.is_err();
        if made.send(result).is_err() || is_useless {
            return;
        }
        if let Err(error) = run(task()) {
            tracing::error!(thread = name, %error, "a thread has ended");
        }
    })?;
    let ended = |_| io::Error::other("the thread has ended");
    is_made.recv().map_err(ended)??;
    Ok(thread)
}

fn here() -> io::Result<Rc<EventLoop>> {
    HERE.try_with(|here| here.get().cloned())
        .ok()
        .flatten()
        .ok_or_else(|| io::Error::other("this thread has no event loop"))
}

impl EventLoop {
    fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let alarm = Alarm::new()?;
        epoll::add(&epoll, &alarm, EventData::new_u64(ALARM), sockets::TO_READ)?;
        let nothing = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(ALARM),
        };
        Ok(Self {
            epoll,
            events: RefCell::new([nothing; EVENTS]),
            sockets: Sockets::default(),
            allowance: Cell::new(ALLOWANCE),
            tasks: Tasks::new(Arc::new(alarm)),
            outgoing: Outgoing::new(),
            host: RefCell::default(),
            is_turning: Cell::new(false),
        })
    }

    fn turn_until(&self, end: &Cell<End>) -> io::Result<()> {
        loop {
            self.run_tasks();
            if end.get() != End::NotYet {
                return Ok(());
            }
            self.look(match self.tasks.are_ready() {
                true => Some(AT_ONCE),
                false => None,
            })?;
        }
    }

    fn run_tasks(&self) {
        for _ in 0..TASKS_IN_TURN {
            self.allowance.set(ALLOWANCE);
            if !self.tasks.run_next() {
                break;
            }
            if self.outgoing.is_full() {
                self.send_queued();
            }
        }
        self.send_queued();
    }

    /// Whether what is to be sent waits for others of this turn, which have something to send too, or may have.
    fn gathers(&self) -> bool {
        self.outgoing.has_ring()
            && self.is_turning.get()
            && (self.tasks.are_ready() || !self.outgoing.is_empty())
    }

    fn queue(&self, socket: &Rc<Watched>, message: &[u8]) {
        self.outgoing.queue(socket, message);
    }

    fn send_queued(&self) {
        self.outgoing.send(&self.epoll);
    }

    /// Counts a call on a socket. Pending: the task has had its turn, and is woken for another.
    fn poll_allowance(&self, cx: &Context<'_>) -> Poll<()> {
        match self.allowance.get().checked_sub(1) {
            Some(left) => {
                self.allowance.set(left);
                Poll::Ready(())
            }
            None => {
                self.allowance.set(ALLOWANCE);
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }

    /// Asks the system which sockets are ready, and wakes who waits for them; whether there was any. Without a limit of time it
    /// waits until one is.
    fn look(&self, limit: Option<Timespec>) -> io::Result<bool> {
        let mut events = self.events.borrow_mut();
        let told = match epoll::wait(&self.epoll, &mut *events, limit.as_ref()) {
            Ok(told) => told,
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        for event in &events[..told] {
            match event.data.u64() {
                ALARM => self.tasks.hear_others(),
                token => self.sockets.tell(token, event.flags),
            }
        }
        Ok(told > 0)
    }
}

/// Notes what the system says of this thread's sockets.
#[cfg(test)]
pub(crate) fn look_around() {
    here().unwrap().look(Some(AT_ONCE)).unwrap();
}

/// Runs a test beside this thread's loop.
#[cfg(test)]
pub(crate) async fn hosting<T>(test: impl Future<Output = T>) -> T {
    tokio::select! {
        turned = hosted() => panic!("the loop has ended: {turned:?}"),
        result = test => result,
    }
}
