//! The tasks of a thread, and how they are woken: by the thread itself without a lock, by others through an alarm.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use slab::Slab;
use tokio::sync::oneshot;

use super::HERE;

/// What the alarm is registered as: no socket's token.
pub(super) const ALARM: u64 = u64::MAX;

/// A thread's tasks.
pub(super) struct Tasks {
    tasks: RefCell<Slab<Rc<Task>>>,
    /// Those that were woken and have not run since.
    ready: RefCell<VecDeque<usize>>,
    alarm: Arc<Alarm>,
    /// They are ended, and none begins any more.
    are_ending: Cell<bool>,
}

struct Task {
    /// `None`: it has ended.
    future: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    wakes: Arc<WakesTask>,
    /// The same.
    waker: Waker,
}

/// What wakes a task.
struct WakesTask {
    place: usize,
    /// It is among those that are ready.
    is_ready: OwnThreadsFlag,
    alarm: Arc<Alarm>,
}

/// How other threads wake tasks of this one. Nothing is read from it: each ring is told of (`EPOLLET`).
pub(super) struct Alarm {
    woken: Mutex<Vec<usize>>,
    rings: OwnedFd,
}

/// A task has ended; an error: by a panic, or with its thread.
pub(crate) type Ended = oneshot::Receiver<()>;

/// Starts a task on this thread's loop.
pub(crate) fn spawn(future: impl Future<Output = ()> + 'static) {
    match super::here() {
        Ok(here) => {
            here.tasks.spawn(future);
            here.rouse();
        }
        Err(error) => tracing::error!(%error, "a task was not started"),
    }
}

/// The same; its end is told. Such a task takes twice the room: what waits for a future has it beside what it was given.
pub(crate) fn spawn_told(future: impl Future<Output = ()> + 'static) -> Ended {
    let (ends, ended) = oneshot::channel();
    spawn(async move {
        future.await;
        // Who does not wait for it has dropped the other end.
        let _unheard = ends.send(());
    });
    ended
}

impl Tasks {
    pub(super) fn new(alarm: Arc<Alarm>) -> Self {
        Self {
            tasks: RefCell::default(),
            ready: RefCell::default(),
            alarm,
            are_ending: Cell::new(false),
        }
    }

    pub(super) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        if self.are_ending.get() {
            return;
        }
        let place = {
            let mut tasks = self.tasks.borrow_mut();
            let entry = tasks.vacant_entry();
            let place = entry.key();
            let wakes = Arc::new(WakesTask {
                place,
                is_ready: OwnThreadsFlag::default(),
                alarm: self.alarm.clone(),
            });
            entry.insert(Rc::new(Task {
                future: RefCell::new(Some(Box::pin(future))),
                waker: wakes.clone().into(),
                wakes,
            }));
            place
        };
        self.make_ready(place);
    }

    pub(super) fn are_ready(&self) -> bool {
        !self.ready.borrow().is_empty()
    }

    /// Runs the task that has been ready for longest; whether there was one.
    pub(super) fn run_next(&self) -> bool {
        let Some(place) = self.ready.borrow_mut().pop_front() else {
            return false;
        };
        let task = self.tasks.borrow().get(place).cloned();
        if let Some(task) = task
            && task.run()
        {
            self.tasks.borrow_mut().try_remove(place);
        }
        true
    }

    /// Takes over what other threads have woken.
    pub(super) fn hear_others(&self) {
        let woken = std::mem::take(&mut *self.alarm.woken());
        woken.into_iter().for_each(|place| self.make_ready(place));
    }

    /// A place may have another task by now, which finds then that nothing has changed for it.
    fn make_ready(&self, place: usize) {
        if let Some(task) = self.tasks.borrow().get(place) {
            self.woken_here(&task.wakes);
        }
    }

    fn woken_here(&self, task: &WakesTask) {
        if !task.is_ready.replace(true) {
            self.ready.borrow_mut().push_back(task.place);
        }
    }

    /// Ends every task; what they have is dropped.
    pub(super) fn end_all(&self) {
        self.are_ending.set(true);
        // What a task has may wake others while it is dropped.
        let tasks = self.tasks.take();
        tasks.iter().for_each(|(_, task)| drop(task.future.take()));
        self.ready.borrow_mut().clear();
        self.are_ending.set(false);
    }
}

/// A flag that only the task's own thread looks at, though others have it too: without the price of an atomic exchange.
#[derive(Default)]
struct OwnThreadsFlag(AtomicBool);

impl OwnThreadsFlag {
    fn replace(&self, value: bool) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(value, Ordering::Relaxed);
        before
    }
}

impl Task {
    /// Runs as far as it goes; whether it has ended. A panic ends this task alone: what it has is dropped on the way.
    fn run(&self) -> bool {
        self.wakes.is_ready.replace(false);
        let mut future = self.future.borrow_mut();
        let Some(running) = &mut *future else { return true };
        let mut cx = Context::from_waker(&self.waker);
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let running = EndedByPanic(running);
            running.0.as_mut().poll(&mut cx).is_ready()
        }));
        let has_ended = ended.unwrap_or(true);
        if has_ended {
            *future = None;
        }
        has_ended
    }
}

/// Drops what a task has while its panic goes on, so that it can tell that from an end.
struct EndedByPanic<'a>(&'a mut Pin<Box<dyn Future<Output = ()>>>);

impl Drop for EndedByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *self.0 = Box::pin(std::future::ready(()));
        }
    }
}

impl Wake for WakesTask {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let woken_here = HERE.try_with(|here| match here.get() {
            Some(here) if Arc::ptr_eq(&here.tasks.alarm, &self.alarm) => {
                here.tasks.woken_here(self);
                here.rouse();
                true
            }
            _ => false,
        });
        if !woken_here.unwrap_or(false) {
            self.alarm.wake(self.place);
        }
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.rings.as_fd()
    }
}

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            woken: Mutex::default(),
            rings: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    fn wake(&self, place: usize) {
        self.woken().push(place);
        match rustix::io::write(&self.rings, &1_u64.to_ne_bytes()) {
            // Full: it rings.
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => tracing::error!(%error, "another thread could not be woken"),
        }
    }

    fn woken(&self) -> MutexGuard<'_, Vec<usize>> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
