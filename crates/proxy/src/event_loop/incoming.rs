//! Clients that wait at a listener.

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rustix::event::epoll::{self, EventFlags};

use super::EventLoop;
use super::sockets::Readiness;

/// Tells when a client waits to be accepted, for as long as somebody accepts.
///
/// Unlike streams, the system tells of a listener again and again while a client waits there. Of several loops that wait for
/// the same listener, it wakes one (`EPOLLEXCLUSIVE`).
pub(crate) struct Incoming<'a, L: AsFd> {
    listener: &'a L,
    readiness: Rc<Readiness>,
    here: Rc<EventLoop>,
}

impl<'a, L: AsFd> Incoming<'a, L> {
    pub(crate) fn at(listener: &'a L) -> io::Result<Self> {
        let here = super::here()?;
        Ok(Self {
            readiness: here
                .sockets
                .add(&here.epoll, listener, EventFlags::IN | EventFlags::EXCLUSIVE)?,
            listener,
            here,
        })
    }

    /// Ready when a client waits, unless somebody else is faster.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        ready!(self.readiness.poll_readable(cx));
        self.readiness.would_block_reader();
        Poll::Ready(())
    }
}

impl<L: AsFd> Drop for Incoming<'_, L> {
    fn drop(&mut self) {
        self.here.sockets.remove(&self.readiness);
        if let Err(error) = epoll::delete(&self.here.epoll, self.listener) {
            tracing::error!(%error, "a listener is still watched");
        }
    }
}
