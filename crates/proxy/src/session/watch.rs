//! What may end a statement that a server works at, and how the server is told.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::Sleep;

use crate::event_loop::{self, Ended};
use crate::kill::{KillOrder, KillScope, Killed};
use crate::kill_target::{Serving, Target};
use crate::session_handle::SessionHandle;
use crate::snapshot::UserEntry;
use crate::worker::Worker;

/// A statement that a server works at, and what may end it.
pub(super) struct Watch<'a> {
    pub(super) worker: &'a Rc<Worker>,
    pub(super) user: &'a Arc<UserEntry>,
    pub(super) handle: &'a SessionHandle,
    pub(super) time_limit: Option<Pin<Box<Sleep>>>,
    /// The server is being told to end it.
    pub(super) ending: Option<Ended>,
}

impl Watch<'_> {
    /// Looks for an order and for the end of the time, and tells the server. Ready: the session ends at once.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, server: &Serving<'_>) -> Poll<()> {
        self.handle.register(cx);
        if let Some(order) = self.handle.take_order() {
            let scope = order.scope;
            self.tell(order, server);
            if scope == KillScope::Connection {
                return Poll::Ready(());
            }
        }
        let is_over = |limit: &mut Pin<Box<Sleep>>| limit.as_mut().poll(cx).is_ready();
        if self.time_limit.as_mut().is_some_and(is_over) {
            self.time_limit = None;
            let order = KillOrder {
                scope: KillScope::Query,
                answer: None,
            };
            self.tell(order, server);
        }
        Poll::Pending
    }

    /// Waits until the server has taken a KILL: before that, the connection is nobody's. Whether there was one.
    pub(super) async fn finish(&mut self) -> bool {
        let Some(ending) = self.ending.take() else {
            return false;
        };
        if let Err(error) = ending.await {
            tracing::error!(%error, "ending a statement has failed");
        }
        true
    }

    /// Tells the server, unless it is told already.
    fn tell(&mut self, order: KillOrder, server: &Serving<'_>) {
        if self.ending.is_some() && order.scope == KillScope::Query {
            return order.done(Killed::Done);
        }
        self.ending = Some(end(self.worker, self.user, server.target(), order));
    }
}

/// Ends what a server does.
pub(super) fn end(worker: &Rc<Worker>, user: &Arc<UserEntry>, target: Target, order: KillOrder) -> Ended {
    let (worker, user) = (worker.clone(), user.clone());
    event_loop::spawn_told(async move {
        let scope = order.scope;
        let killed = match target.kill(&worker, &user, scope).await {
            Ok(()) => Killed::Done,
            Err(error) => {
                tracing::warn!(%error, "a server could not be told to end a statement");
                Killed::Failed(error)
            }
        };
        order.done(killed);
    })
}
