//! What a session leaves with its worker so that others can reach it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use shardwright_rules::HostgroupId;
use smallvec::SmallVec;

use crate::kill::KillOrder;

/// The user of a session, and where the client is.
#[derive(Clone)]
pub(crate) struct LoggedIn {
    pub(crate) user: Arc<str>,
    /// As rules compare it.
    pub(crate) client_ip: String,
    pub(crate) since: Instant,
}

/// A session as administrators see it.
pub(crate) struct SessionFigures {
    /// The number of the client's connection.
    pub(crate) id: u32,
    pub(crate) login: LoggedIn,
    /// Hostgroups where a statement runs, or where something is begun and not ended.
    pub(crate) hostgroups: SmallVec<[HostgroupId; 2]>,
    /// When a server was sent the statement that runs.
    pub(crate) started: Option<Instant>,
}

/// A session as its worker sees it.
#[derive(Default)]
pub(crate) struct SessionHandle {
    waker: RefCell<Option<Waker>>,
    /// When the session wants to be woken.
    pub(crate) deadline: Cell<Option<Instant>>,
    /// Who is logged in.
    login: RefCell<Option<LoggedIn>>,
    /// When a server was sent the statement that runs.
    started: Cell<Option<Instant>>,
    order: RefCell<Option<KillOrder>>,
    /// Hostgroups of statements that run, and of what statements have begun and not ended.
    occupied: RefCell<SmallVec<[HostgroupId; 2]>>,
}

impl SessionHandle {
    /// Wakes this task at the deadline, and when something changes.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            *waker = Some(cx.waker().clone());
        }
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// A statement runs in this hostgroup from here on.
    pub(crate) fn occupy(&self, hostgroup: HostgroupId) {
        let mut occupied = self.occupied.borrow_mut();
        if !occupied.contains(&hostgroup) {
            occupied.push(hostgroup);
        }
    }

    /// No statement runs; what is begun and not ended is in these hostgroups.
    pub(crate) fn occupy_only(&self, unfinished: impl Iterator<Item = HostgroupId>) {
        self.started.set(None);
        let mut occupied = self.occupied.borrow_mut();
        occupied.clear();
        occupied.extend(unfinished);
    }

    /// Whether something runs in this hostgroup, or is begun and not ended.
    pub(crate) fn occupies(&self, hostgroup: HostgroupId) -> bool {
        self.occupied.borrow().contains(&hostgroup)
    }

    /// A server is sent a statement.
    pub(crate) fn start(&self, at: Instant) {
        self.started.set(Some(at));
    }

    pub(crate) fn log_in(&self, login: LoggedIn) {
        *self.login.borrow_mut() = Some(login);
    }

    pub(crate) fn user(&self) -> Option<Arc<str>> {
        self.login.borrow().as_ref().map(|login| login.user.clone())
    }

    /// `None`: nobody is logged in yet.
    pub(crate) fn figures(&self, id: u32) -> Option<SessionFigures> {
        Some(SessionFigures {
            id,
            login: self.login.borrow().clone()?,
            hostgroups: self.occupied.borrow().clone(),
            started: self.started.get(),
        })
    }

    /// Leaves an order for the session, in place of one that it has not seen.
    pub(crate) fn order(&self, order: KillOrder) {
        *self.order.borrow_mut() = Some(order);
        self.wake();
    }

    pub(crate) fn has_order(&self) -> bool {
        self.order.borrow().is_some()
    }

    pub(crate) fn take_order(&self) -> Option<KillOrder> {
        self.order.borrow_mut().take()
    }

    /// Until there is an order, which stays.
    pub(crate) async fn ordered(&self) {
        poll_fn(|cx| match self.has_order() {
            true => Poll::Ready(()),
            false => {
                self.register(cx);
                Poll::Pending
            }
        })
        .await;
    }
}
