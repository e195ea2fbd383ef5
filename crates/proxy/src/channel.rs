//! One connection, to a client or to a server: packets in, packets out, and memory only while there is something to keep.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::{ClientConfig, ServerConfig};
use shardwright_wire::{PacketError, Privacy, number_chunks, take_packet, write_packet};
use tokio::io::ReadBuf;

use crate::socket::Socket;

/// Bytes of a worker's scratch buffer, through which everything is read.
pub(crate) const SCRATCH: usize = 64 * 1024;
/// A buffer that has grown past this is given back once it is empty.
const KEPT_CAPACITY: usize = 4 * 1024;

/// The read buffer that all connections of a worker share: nothing stays in it between two polls.
#[derive(Clone)]
pub(crate) struct Scratch(Rc<RefCell<Box<[u8]>>>);

impl Scratch {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(vec![0; SCRATCH].into_boxed_slice())))
    }
}

/// Why nothing more can be read from a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the connection is closed")]
    Closed,
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Packet(#[from] PacketError),
}

/// A logical packet: the bytes as they came, and their payload.
#[derive(Default)]
pub(crate) struct Frame {
    raw: Vec<u8>,
    /// The payload, where it came in several packets.
    joined: Option<Vec<u8>>,
    first_seq: u8,
    last_seq: u8,
}

impl Frame {
    /// Headers and payload as they came.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.raw
    }

    pub(crate) fn payload(&self) -> &[u8] {
        match &self.joined {
            Some(joined) => joined,
            None => self.raw.get(shardwright_wire::HEADER_LEN..).unwrap_or_default(),
        }
    }

    pub(crate) fn first_seq(&self) -> u8 {
        self.first_seq
    }

    /// The sequence number that an answer starts with.
    pub(crate) fn next_seq(&self) -> u8 {
        self.last_seq.wrapping_add(1)
    }

    /// Makes this the frame of a payload of our own.
    pub(crate) fn fill(&mut self, payload: &[u8]) {
        self.clear();
        let mut seq = 0;
        write_packet(&mut self.raw, &mut seq, payload);
        self.last_seq = seq.wrapping_sub(1);
        if payload.len() >= shardwright_wire::MAX_CHUNK {
            self.joined = Some(payload.to_vec());
        }
    }

    pub(crate) fn clear(&mut self) {
        self.joined = None;
        self.first_seq = 0;
        self.last_seq = 0;
        self.raw.clear();
        if self.raw.capacity() > KEPT_CAPACITY {
            self.raw = Vec::new();
        }
    }
}

/// A connection with what has been read and not used, and what has been queued and not sent.
pub(crate) struct Channel {
    socket: Socket,
    scratch: Scratch,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    sent: usize,
}

impl Channel {
    pub(crate) fn new(socket: Socket, scratch: Scratch) -> Self {
        Self {
            socket,
            scratch,
            inbox: Vec::new(),
            outbox: Vec::new(),
            sent: 0,
        }
    }

    /// Reads once and hands what came to `use_bytes`; the scratch buffer is free again afterwards.
    pub(crate) fn poll_bytes<T>(
        &mut self,
        cx: &mut Context<'_>,
        use_bytes: impl FnOnce(&mut Self, &mut Context<'_>, &[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        let scratch = self.scratch.clone();
        let mut scratch = scratch.0.borrow_mut();
        let mut buffer = ReadBuf::new(&mut scratch);
        ready!(self.socket.poll_read(cx, &mut buffer))?;
        let filled = buffer.filled().len();
        Poll::Ready(Ok(use_bytes(self, cx, &scratch[..filled])))
    }

    /// Ready when something is there, or may be: cheaper than a read where nothing has come. The task is woken when something does.
    #[inline]
    pub(crate) fn poll_heard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.inbox.is_empty() {
            true => self.socket.poll_heard(cx),
            false => Poll::Ready(()),
        }
    }

    /// As [`Channel::poll_bytes`], but what [`Channel::keep`] has kept comes first.
    pub(crate) fn poll_arrived<T>(
        &mut self,
        cx: &mut Context<'_>,
        use_bytes: impl FnOnce(&mut Self, &mut Context<'_>, &[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        if self.inbox.is_empty() {
            return self.poll_bytes(cx, use_bytes);
        }
        let kept = std::mem::take(&mut self.inbox);
        Poll::Ready(Ok(use_bytes(self, cx, &kept)))
    }

    /// Keeps bytes that were read too early.
    pub(crate) fn keep(&mut self, bytes: &[u8]) {
        self.inbox.extend_from_slice(bytes);
    }

    /// Reads once into the inbox; `Ok(0)` is the end of the stream.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll_bytes(cx, |channel, _, bytes| {
            channel.inbox.extend_from_slice(bytes);
            bytes.len()
        })
    }

    pub(crate) fn privacy(&self) -> Privacy {
        self.socket.privacy()
    }

    /// Whether the other end has shown a certificate, which was checked.
    pub(crate) fn has_peer_certificate(&self) -> bool {
        self.socket.has_peer_certificate()
    }

    /// Begins TLS as the server, with what was read and not taken.
    pub(crate) async fn accept_tls(&mut self, config: Arc<ServerConfig>) -> io::Result<()> {
        let received = std::mem::take(&mut self.inbox);
        self.socket.accept_tls(config, &received).await
    }

    /// Begins compression, with what was read and not taken.
    pub(crate) fn compress(&mut self) -> io::Result<()> {
        let received = std::mem::take(&mut self.inbox);
        self.socket.compress(&received)
    }

    /// Begins TLS as the client of a server of this name, which has sent nothing since its greeting.
    pub(crate) async fn connect_tls(&mut self, config: Arc<ClientConfig>, host: &str) -> io::Result<()> {
        if !self.inbox.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the server sent more than its greeting before TLS",
            ));
        }
        self.socket.connect_tls(config, host).await
    }

    /// What was read and not taken.
    pub(crate) fn received(&self) -> &[u8] {
        &self.inbox
    }

    /// Takes bytes that were read out of the inbox.
    pub(crate) fn discard(&mut self, len: usize) {
        self.inbox.drain(..len);
    }

    /// Bytes that were read and not taken.
    pub(crate) fn unread(&self) -> usize {
        self.inbox.len()
    }

    /// Takes the next logical packet out of the inbox, if it is there whole.
    pub(crate) fn take(&mut self, frame: &mut Frame, limit: usize) -> Result<bool, PacketError> {
        if self.socket.is_compressed() {
            number_chunks(&mut self.inbox);
        }
        let Some(packet) = take_packet(&self.inbox, limit)? else {
            return Ok(false);
        };
        let (first_seq, last_seq, consumed) = (packet.first_seq, packet.last_seq, packet.consumed);
        let joined = match packet.payload {
            std::borrow::Cow::Owned(payload) => Some(payload),
            std::borrow::Cow::Borrowed(_) => None,
        };
        frame.clear();
        frame.joined = joined;
        frame.first_seq = first_seq;
        frame.last_seq = last_seq;
        if consumed == self.inbox.len() {
            std::mem::swap(&mut frame.raw, &mut self.inbox);
        } else {
            frame.raw.extend_from_slice(&self.inbox[..consumed]);
            self.inbox.drain(..consumed);
        }
        Ok(true)
    }

    /// Waits for the next logical packet.
    pub(crate) fn poll_packet(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        limit: usize,
    ) -> Poll<Result<(), ReadError>> {
        loop {
            if !self.inbox.is_empty() && self.take(frame, limit)? {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(ReadError::Closed));
            }
        }
    }

    /// Waits for the next logical packet.
    pub(crate) async fn packet(&mut self, frame: &mut Frame, limit: usize) -> Result<(), ReadError> {
        std::future::poll_fn(|cx| self.poll_packet(cx, frame, limit)).await
    }

    /// Queues a logical packet; `seq` is used and advanced.
    pub(crate) fn queue(&mut self, seq: &mut u8, payload: &[u8]) {
        write_packet(&mut self.outbox, seq, payload);
    }

    /// Hands over what is queued: it goes at once or at the end of the turn. Ready when nothing is kept back.
    #[inline]
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.outbox.is_empty() && self.socket.keeps_nothing() {
            true => Poll::Ready(Ok(())),
            false => self.poll_flush_queued(cx),
        }
    }

    fn poll_flush_queued(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_write_queued(cx))?;
        match self.socket.keeps_nothing() {
            true => Poll::Ready(Ok(())),
            false => self.socket.poll_flush(cx),
        }
    }

    fn poll_write_queued(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.outbox.len() {
            let written = ready!(self.socket.poll_write(cx, &self.outbox[self.sent..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
        }
        self.sent = 0;
        self.outbox.clear();
        if self.outbox.capacity() > KEPT_CAPACITY {
            self.outbox = Vec::new();
        }
        Poll::Ready(Ok(()))
    }

    /// Sends what is queued, at once, and waits until all that was sent is with the system.
    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            ready!(self.poll_write_queued(cx))?;
            self.socket.poll_flush(cx)
        })
        .await
    }

    /// Sends bytes as far as they go, at once or with what others send in this turn, and queues the rest; behind what is queued
    /// already, they are queued.
    pub(crate) fn send_or_queue(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() && self.outbox.is_empty() {
            match self.socket.poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => rest = &rest[written..],
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
        }
        self.outbox.extend_from_slice(rest);
        Ok(())
    }

    /// Whether a connection that should be silent is: nothing came, and it is not closed.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.inbox.is_empty() && self.outbox.is_empty() && {
            let mut scratch = self.scratch.0.borrow_mut();
            self.socket.is_silent(&mut scratch)
        }
    }

    /// The same; the task is woken when that ends.
    pub(crate) fn poll_silent(&mut self, cx: &mut Context<'_>) -> bool {
        self.inbox.is_empty() && self.outbox.is_empty() && self.poll_bytes(cx, |_, _, _| ()).is_pending()
    }
}
