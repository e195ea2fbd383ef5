//! Streams that a thread's loop watches.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::EventLoop;
use super::sockets::{Readiness, TO_READ, TO_READ_AND_WRITE};

pub(crate) type TcpStream = Stream<std::net::TcpStream>;
pub(crate) type UnixStream = Stream<std::os::unix::net::UnixStream>;

/// A stream that does not block; one task reads it, and one writes it.
pub(crate) struct Stream<S> {
    inner: S,
    readiness: Rc<Readiness>,
    here: Rc<EventLoop>,
    /// Its loop is told when there is room to write: the first time that there was none, it asks for that.
    watches_room: bool,
}

impl TcpStream {
    /// Connects to an address.
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = Self::connecting(begun(Domain::for_address(address), &address.into())?.into())?;
        stream.connected().await;
        stream.inner.take_error()?.map_or(Ok(stream), Err)
    }

    /// One that is connected already, and does not block.
    pub(crate) fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        Self::new(stream)
    }

    pub(crate) fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.inner.peer_addr()
    }

    pub(crate) fn set_nodelay(&self, is_set: bool) -> io::Result<()> {
        self.inner.set_nodelay(is_set)
    }
}

impl UnixStream {
    /// Connects to the socket of this file.
    pub(crate) async fn connect(path: &Path) -> io::Result<Self> {
        let stream = Self::connecting(begun(Domain::UNIX, &SockAddr::unix(path)?)?.into())?;
        stream.connected().await;
        stream.inner.take_error()?.map_or(Ok(stream), Err)
    }

    /// One that is connected already, and does not block.
    pub(crate) fn from_std(stream: std::os::unix::net::UnixStream) -> io::Result<Self> {
        Self::new(stream)
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
impl UnixStream {
    /// A stream of this thread's loop, and its other end.
    pub(crate) fn pair_of_tests() -> (Self, std::os::unix::net::UnixStream) {
        super::start().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        for stream in [&ours, &theirs] {
            stream.set_nonblocking(true).unwrap();
        }
        (Self::from_std(ours).unwrap(), theirs)
    }

    pub(super) fn place_of_tests(&self) -> usize {
        self.readiness.place()
    }

    pub(super) fn copy_of_tests(&self) -> std::os::unix::net::UnixStream {
        self.inner.try_clone().unwrap()
    }
}

impl<S: AsFd> Stream<S> {
    /// One that is connected, and does not block.
    pub(crate) fn new(inner: S) -> io::Result<Self> {
        let stream = Self::watched(inner, TO_READ)?;
        stream.readiness.set_writable(true);
        Ok(stream)
    }

    /// One whose connection is on its way: it can be written when that has come to something.
    fn connecting(inner: S) -> io::Result<Self> {
        Self::watched(inner, TO_READ_AND_WRITE)
    }

    fn watched(inner: S, wanted: EventFlags) -> io::Result<Self> {
        let here = super::here()?;
        Ok(Self {
            readiness: here.sockets.add(&here.epoll, &inner, wanted)?,
            inner,
            here,
            watches_room: wanted.contains(EventFlags::OUT),
        })
    }

    async fn connected(&self) {
        std::future::poll_fn(|cx| {
            if self.readiness.is_writable() {
                return Poll::Ready(());
            }
            self.readiness.wait_to_write(cx);
            Poll::Pending
        })
        .await
    }

    /// Ready when something may be there to read. The task is woken when that changes.
    #[inline]
    pub(crate) fn poll_heard(&self, cx: &Context<'_>) -> Poll<()> {
        self.readiness.poll_readable(cx)
    }

    /// Has the loop tell of room to write, which it looks at once.
    fn watch_room(&mut self) -> io::Result<()> {
        if !self.watches_room {
            self.readiness
                .change(&self.here.epoll, &self.inner, TO_READ_AND_WRITE)?;
            self.watches_room = true;
        }
        Ok(())
    }
}

impl<S: AsFd> Stream<S> {
    /// Reads what is there, if anything is known to be. It asks for no waking.
    pub(crate) fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.readiness.is_readable() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        loop {
            match recv(&self.inner, &mut *buffer, RecvFlags::empty()) {
                Ok((read, _)) => {
                    // Less than there was room for: what comes later is told of.
                    if 0 < read && read < buffer.len() {
                        self.readiness.emptied();
                    }
                    return Ok(read);
                }
                Err(Errno::AGAIN) => {
                    self.readiness.would_block_reader();
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn poll_written(
        &mut self,
        cx: &Context<'_>,
        write: impl Fn(&S) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        if !self.readiness.is_writable() {
            self.readiness.wait_to_write(cx);
            return Poll::Pending;
        }
        ready!(self.here.poll_allowance(cx));
        loop {
            match write(&self.inner) {
                Err(Errno::AGAIN) => {
                    self.readiness.set_writable(false);
                    self.readiness.wait_to_write(cx);
                    // Behind the wish to be woken: room that has come since the call is told of.
                    self.watch_room()?;
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                written => return Poll::Ready(Ok(written?)),
            }
        }
    }
}

impl<S: AsFd + Unpin> AsyncRead for Stream<S> {
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
                self.readiness.wait_to_read(cx);
                Poll::Pending
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl<S: AsFd + Unpin> AsyncWrite for Stream<S> {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut()
            .poll_written(cx, |socket| send(socket, bytes, SendFlags::NOSIGNAL))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut()
            .poll_written(cx, |socket| rustix::io::writev(socket, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// What is written is sent.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(&self.inner, Shutdown::Write).map_err(io::Error::from))
    }
}

impl<S> Drop for Stream<S> {
    /// The system forgets a socket when it is closed.
    fn drop(&mut self) {
        self.here.sockets.remove(&self.readiness);
    }
}
