//! What the tasks of one turn send: it goes with one call when they have run.
//!
//! Who sends alone does so at once. Where several tasks are ready, each call would wake somebody who has the core before the next
//! task runs.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use shardwright_sends::BatchSender;

use super::sockets::Watched;

/// Messages, and what they are sent to.
pub(super) struct Outgoing(RefCell<Queue>);

struct Queue {
    sender: BatchSender,
    sockets: Vec<Rc<Watched>>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let sender = BatchSender::with_ring().unwrap_or_else(|error| {
            tracing::debug!(%error, "without io_uring, each message is sent with a call of its own");
            BatchSender::one_by_one()
        });
        Self(RefCell::new(Queue {
            sender,
            sockets: Vec::new(),
        }))
    }

    /// Whether several messages go with one call. Unit tests want what waits to be there on every system.
    pub(super) fn has_ring(&self) -> bool {
        cfg!(test) || self.0.borrow().sender.has_ring()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().sockets.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.borrow().sender.is_full()
    }

    /// Queues a message. The socket has none that is queued or unsent.
    pub(super) fn queue(&self, socket: &Rc<Watched>, message: &[u8]) {
        let mut queue = self.0.borrow_mut();
        queue.sender.add(message);
        queue.sockets.push(socket.clone());
        socket.set_queued(true);
    }

    /// Sends what is queued. Sockets are told what has become of it.
    pub(super) fn send(&self, epoll: &OwnedFd) {
        let Queue { sender, sockets } = &mut *self.0.borrow_mut();
        if sockets.is_empty() {
            return;
        }
        let submitted = sender.send(sockets, |socket, message, sent| {
            socket.set_queued(false);
            socket.was_sent(epoll, message, sent);
        });
        if let Err(error) = submitted {
            tracing::warn!(%error, "io_uring has failed: from now on, each message is sent with a call of its own");
        }
        sockets.clear();
    }
}
