//! Clients that wait at a listener.

use std::io;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rustix::event::epoll::{self, EventFlags};

use super::EventLoop;
use super::sockets::Watched;

/// Tells when a client waits to be accepted, for as long as somebody accepts.
///
/// Unlike streams, the system tells of a listener again and again while a client waits there. Of several loops that wait for
/// the same listener, it wakes one (`EPOLLEXCLUSIVE`).
pub(crate) struct Incoming {
    watched: Rc<Watched>,
    here: Rc<EventLoop>,
}

impl Incoming {
    pub(crate) fn at(listener: &impl AsFd) -> io::Result<Self> {
        let here = super::here()?;
        let listener = listener.as_fd().try_clone_to_owned()?;
        let wanted = EventFlags::IN | EventFlags::EXCLUSIVE;
        Ok(Self {
            watched: here.sockets.add(&here.epoll, listener, wanted)?,
            here,
        })
    }

    /// Ready when a client waits, unless somebody else is faster.
    pub(crate) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        ready!(self.watched.poll_readable(cx));
        self.watched.would_block_reader();
        Poll::Ready(())
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.here.sockets.remove(&self.watched);
        if let Err(error) = epoll::delete(&self.here.epoll, &self.watched) {
            tracing::error!(%error, "a listener is still watched");
        }
    }
}
