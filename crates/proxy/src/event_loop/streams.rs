//! Streams that a thread's loop watches.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
#[cfg(test)]
use std::os::fd::AsFd;
use std::os::fd::OwnedFd;
#[cfg(test)]
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{set_tcp_nodelay, socket_error};
use rustix::net::{RecvFlags, SendFlags, Shutdown, getpeername, recv, send, shutdown};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::EventLoop;
use super::sockets::{TO_READ, TO_READ_AND_WRITE, Watched};

/// The longest message that waits for the others of a turn: it is copied.
const MOST_COPIED: usize = 4 * 1024;

/// A stream that does not block; one task reads it, and one writes it.
pub(crate) struct Stream {
    watched: Rc<Watched>,
    here: Rc<EventLoop>,
}

impl Stream {
    /// Connects to an address.
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        Self::connected(begun(Domain::for_address(address), &address.into())?).await
    }

    /// Connects to the socket of this file.
    pub(crate) async fn connect_unix(path: &Path) -> io::Result<Self> {
        Self::connected(begun(Domain::UNIX, &SockAddr::unix(path)?)?).await
    }

    async fn connected(socket: Socket) -> io::Result<Self> {
        let stream = Self::watched(socket.into(), TO_READ_AND_WRITE)?;
        let watched = &stream.watched;
        poll_fn(|cx| {
            if watched.is_writable() {
                return Poll::Ready(());
            }
            watched.wait_to_write(cx);
            Poll::Pending
        })
        .await;
        socket_error(watched)??;
        Ok(stream)
    }

    /// One that is connected already, and does not block.
    pub(crate) fn new(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let stream = Self::watched(socket.into(), TO_READ)?;
        stream.watched.set_writable(true);
        Ok(stream)
    }

    fn watched(socket: OwnedFd, wanted: EventFlags) -> io::Result<Self> {
        let here = super::here()?;
        Ok(Self {
            watched: here.sockets.add(&here.epoll, socket, wanted)?,
            here,
        })
    }

    /// The address of the other end of a TCP connection.
    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(getpeername(&self.watched)?.ok_or(Errno::NOTCONN)?.try_into()?)
    }

    pub(crate) fn set_nodelay(&self, is_set: bool) -> io::Result<()> {
        Ok(set_tcp_nodelay(&self.watched, is_set)?)
    }

    /// Ready when something may be there to read. The task is woken when that changes.
    #[inline]
    pub(crate) fn poll_heard(&self, cx: &Context<'_>) -> Poll<()> {
        self.watched.poll_readable(cx)
    }

    /// Reads what is there, if anything is known to be. It asks for no waking.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.watched.is_readable() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.watched.check()?;
        loop {
            match recv(&self.watched, &mut *buffer, RecvFlags::empty()) {
                Ok((read, _)) => {
                    // Less than there was room for: what comes later is told of.
                    if 0 < read && read < buffer.len() {
                        self.watched.emptied();
                    }
                    return Ok(read);
                }
                Err(Errno::AGAIN) => {
                    self.watched.would_block_reader();
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether a message goes with what other tasks of this turn send, if there are any: it has gone when the turn ends.
    #[inline]
    fn gathers(&self, length: usize) -> bool {
        length <= MOST_COPIED
            && self.watched.is_writable()
            && !self.watched.is_queued()
            && self.here.gathers()
    }

    /// Whether all that was written is with the system, or will be at the end of the turn.
    #[inline]
    pub(crate) fn keeps_nothing(&self) -> bool {
        !self.watched.has_unsent()
    }

    fn poll_written(
        &mut self,
        cx: &Context<'_>,
        write: impl Fn(&Watched) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if self.watched.is_queued() {
            self.here.send_queued();
        }
        self.watched.check()?;
        if !self.watched.is_writable() {
            self.watched.wait_to_write(cx);
            return Poll::Pending;
        }
        ready!(self.here.poll_allowance(cx));
        loop {
            match write(&self.watched) {
                Err(Errno::AGAIN) => {
                    self.watched.set_writable(false);
                    self.watched.wait_to_write(cx);
                    // Behind the wish to be woken: room that has come since the call is told of.
                    self.watched.watch_room(&self.here.epoll)?;
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                written => return Poll::Ready(Ok(written?)),
            }
        }
    }
}

/// A socket that does not block, on its way to an address.
fn begun(domain: Domain, address: &SockAddr) -> io::Result<Socket> {
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), None)?;
    match socket.connect(address) {
        Ok(()) => Ok(socket),
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => Ok(socket),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
impl Stream {
    /// A stream of this thread's loop, and its other end.
    pub(crate) fn pair_of_tests() -> (Self, UnixStream) {
        super::start().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        for stream in [&ours, &theirs] {
            stream.set_nonblocking(true).unwrap();
        }
        (Self::new(ours).unwrap(), theirs)
    }

    pub(super) fn place_of_tests(&self) -> usize {
        self.watched.place()
    }

    pub(super) fn copy_of_tests(&self) -> UnixStream {
        self.watched.as_fd().try_clone_to_owned().unwrap().into()
    }
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_heard(cx));
        ready!(self.here.poll_allowance(cx));
        match self.try_read(buffer.initialize_unfilled()) {
            Ok(read) => {
                buffer.advance(read);
                Poll::Ready(Ok(()))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.watched.wait_to_read(cx);
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

/// What is written may go at the end of the turn only, with what other tasks write. Then it is told by the next reading or writing whether it
/// could be sent.
impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.gathers(bytes.len()) {
            ready!(self.here.poll_allowance(cx));
            self.here.queue(&self.watched, bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        self.get_mut()
            .poll_written(cx, |socket| send(socket, bytes, SendFlags::NOSIGNAL))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // A record of TLS, most often.
        if let [message] = bytes {
            return self.poll_write(cx, message);
        }
        self.get_mut()
            .poll_written(cx, |socket| rustix::io::writev(socket, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// All that was written is with the system.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let watched = &self.watched;
        if watched.is_queued() {
            self.here.send_queued();
        }
        watched.check()?;
        if watched.has_unsent() {
            watched.wait_to_write(cx);
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        Poll::Ready(shutdown(&self.watched, Shutdown::Write).map_err(io::Error::from))
    }
}

impl Drop for Stream {
    /// The system forgets a socket when it is closed.
    fn drop(&mut self) {
        if self.watched.is_queued() {
            self.here.send_queued();
        }
        self.here.sockets.remove(&self.watched);
    }
}
