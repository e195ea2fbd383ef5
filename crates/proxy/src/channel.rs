//! One connection, to a client or to a server: packets in, packets out, and memory only while there is something to keep.

mod frame;

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::{ClientConfig, ServerConfig};
use shardwright_wire::{
    ByteStore, PacketError, PacketExtent, Privacy, number_chunks, packet_extent, write_packet,
};
use tokio::io::ReadBuf;

pub(crate) use self::frame::Frame;
use crate::memory::{Account, Budget, Buffer, KEPT_CAPACITY, OutOfMemory, SCRATCH, packet_cost};
use crate::socket::Socket;

/// The read buffer that all connections of a worker share: nothing stays in it between two polls.
#[derive(Clone)]
pub(crate) struct Scratch(Rc<ReadBuffer>);

struct ReadBuffer {
    bytes: RefCell<Box<[u8]>>,
    budget: Arc<Budget>,
}

impl Scratch {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self(Rc::new(ReadBuffer {
            bytes: RefCell::new(vec![0; SCRATCH].into_boxed_slice()),
            budget,
        }))
    }

    #[cfg(test)]
    pub(crate) fn of_tests() -> Self {
        Self::new(Arc::new(Budget::unlimited()))
    }

    /// Bytes to read at once: what is read has to be kept where the other end is slow.
    #[inline]
    fn most(&self) -> usize {
        if self.0.budget.is_spent() {
            KEPT_CAPACITY
        } else {
            SCRATCH
        }
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
    /// The session must end.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// A packet was left out for which there was no room. Others can follow.
    #[error("{error}")]
    LeftOut {
        error: OutOfMemory,
        /// The sequence number of the answer.
        next_seq: u8,
    },
}

/// A connection with what has been read and not used, and what has been queued and not sent.
pub(crate) struct Channel {
    socket: Socket,
    scratch: Scratch,
    /// Of a client.
    account: Option<Box<Account>>,
    inbox: Buffer,
    outbox: Buffer,
    sent: usize,
}

impl Channel {
    pub(crate) fn new(socket: Socket, scratch: Scratch) -> Self {
        Self {
            socket,
            scratch,
            account: None,
            inbox: Buffer::new(),
            outbox: Buffer::new(),
            sent: 0,
        }
    }

    /// A connection to a client, whose memory is counted.
    pub(crate) fn of_client(socket: Socket, scratch: Scratch, account: Account) -> Self {
        Self {
            account: Some(Box::new(account)),
            ..Self::new(socket, scratch)
        }
    }

    /// What the client's session holds of the budget.
    #[inline]
    pub(crate) fn account(&mut self) -> Option<&mut Account> {
        self.account.as_deref_mut()
    }

    /// Counts buffers that have grown, or were given back.
    #[inline]
    fn count_buffers(&mut self) {
        let Some(account) = &mut self.account else {
            return;
        };
        let bytes = self.inbox.footprint() + self.outbox.footprint() + self.socket.footprint();
        if bytes > 2 * KEPT_CAPACITY || account.has_buffered() {
            account.set_buffered(bytes, self.socket.is_inside_frame());
        }
    }

    /// Reads once and hands what came to `use_bytes`; the scratch buffer is free again afterwards.
    pub(crate) fn poll_bytes<T>(
        &mut self,
        cx: &mut Context<'_>,
        use_bytes: impl FnOnce(&mut Self, &mut Context<'_>, &[u8]) -> T,
    ) -> Poll<io::Result<T>> {
        let scratch = self.scratch.clone();
        let mut bytes = scratch.0.bytes.borrow_mut();
        let mut buffer = ReadBuf::new(&mut bytes[..scratch.most()]);
        ready!(self.socket.poll_read(cx, &mut buffer))?;
        let filled = buffer.filled().len();
        Poll::Ready(Ok(use_bytes(self, cx, &bytes[..filled])))
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
        self.inbox.append(bytes);
    }

    /// Reads once into the inbox; `Ok(0)` is the end of the stream. Where there is no room for a compressed frame, it waits.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ReadError>> {
        loop {
            let filled = ready!(self.poll_bytes(cx, |channel, _, bytes| {
                channel.inbox.append(bytes);
                bytes.len()
            }))?;
            if filled > 0 {
                if let Some(account) = &self.account
                    && (self.inbox.len() > KEPT_CAPACITY || account.is_in_book())
                {
                    account.received(filled);
                    self.count_buffers();
                }
                return Poll::Ready(Ok(filled));
            }
            let Some(room) = self.socket.wanted_room() else {
                return Poll::Ready(Ok(0));
            };
            if let Some(account) = &mut self.account {
                ready!(account.poll_frame(Some(cx), room))?;
            }
            self.socket.allow(room);
        }
    }

    /// The same, ahead of the command that it is for: nothing is read for which there is no room.
    pub(crate) fn poll_fill_ahead(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, ReadError>> {
        if self.scratch.0.budget.is_spent() && self.inbox.len() >= KEPT_CAPACITY {
            return Poll::Pending;
        }
        if self.socket.wanted_room().is_some() {
            return Poll::Pending;
        }
        let filled = ready!(self.poll_bytes(cx, |channel, _, bytes| {
            channel.inbox.append(bytes);
            bytes.len()
        }))?;
        self.count_buffers();
        if filled == 0 && self.socket.wanted_room().is_some() {
            return Poll::Pending;
        }
        Poll::Ready(Ok(filled))
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
        if let Some(account) = &mut self.account {
            account.add_tls();
        }
        self.socket.accept_tls(config, &received).await
    }

    /// Begins compression, with what was read and not taken.
    pub(crate) fn compress(&mut self) {
        let received = std::mem::take(&mut self.inbox);
        self.socket.compress(&received);
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
        self.inbox.discard(len);
    }

    /// Bytes that were read and not taken.
    pub(crate) fn unread(&self) -> usize {
        self.inbox.len()
    }

    /// Takes the next logical packet out of the inbox, if it is there whole.
    pub(crate) fn take(&mut self, frame: &mut Frame, limit: usize) -> Result<bool, PacketError> {
        if self.socket.is_compressed() {
            number_chunks(self.inbox.bytes_mut());
        }
        let PacketExtent::Whole {
            first_seq,
            last_seq,
            len,
        } = packet_extent(&self.inbox, limit)?
        else {
            return Ok(false);
        };
        frame.clear();
        frame.first_seq = first_seq;
        frame.last_seq = last_seq;
        if len == self.inbox.len() {
            std::mem::swap(&mut frame.raw, &mut self.inbox);
        } else {
            frame.raw = self.inbox.split_front(len);
        }
        frame.join();
        if len > KEPT_CAPACITY {
            self.count_buffers();
        }
        Ok(true)
    }

    /// Waits for room for the logical packet at the front of the inbox, which is not a small one.
    fn poll_room(&mut self, cx: &mut Context<'_>, limit: usize) -> Poll<Result<(), ReadError>> {
        let Some(account) = &mut self.account else {
            return Poll::Ready(Ok(()));
        };
        if self.socket.is_compressed() {
            number_chunks(self.inbox.bytes_mut());
        }
        match packet_extent(&self.inbox, limit)? {
            PacketExtent::Whole { len, .. } => ready!(account.poll_run(cx, packet_cost(len, &self.inbox)))?,
            PacketExtent::Begun { announced } => {
                ready!(account.poll_receive(cx, packet_cost(announced, &self.inbox)))?;
                let missing = announced.saturating_sub(self.inbox.len());
                self.inbox.reserve(missing);
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Leaves out the packet at the front of the inbox, for which there is no room.
    fn leave_out(&mut self, error: OutOfMemory) {
        if let Some(account) = &mut self.account {
            account.leave_out(error);
        }
    }

    /// Drops what comes of a packet that is left out, until it has come whole.
    fn poll_left_out(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ReadError>> {
        loop {
            if let Some(account) = &mut self.account
                && let Some((error, next_seq)) = account.skip(&mut self.inbox)
            {
                return Poll::Ready(Err(ReadError::LeftOut { error, next_seq }));
            }
            if self.inbox.is_empty() {
                self.inbox.clear();
                self.count_buffers();
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(ReadError::Closed));
            }
        }
    }

    /// Waits for the next logical packet. A client that holds too much is told that it must end.
    pub(crate) fn poll_packet(
        &mut self,
        cx: &mut Context<'_>,
        frame: &mut Frame,
        limit: usize,
    ) -> Poll<Result<(), ReadError>> {
        loop {
            if let Some(account) = &mut self.account {
                if let Some(error) = account.must_end() {
                    return Poll::Ready(Err(error.into()));
                }
                if account.is_leaving_out() {
                    return self.poll_left_out(cx);
                }
            }
            if !self.inbox.is_empty() {
                if self.inbox.len() > KEPT_CAPACITY {
                    match ready!(self.poll_room(cx, limit)) {
                        Err(ReadError::OutOfMemory(error)) => {
                            self.leave_out(error);
                            continue;
                        }
                        room => room?,
                    }
                }
                if self.take(frame, limit)? {
                    return Poll::Ready(Ok(()));
                }
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(ReadError::Closed));
            }
        }
    }

    /// Drops what was read and not taken, and what it was reserved for: its session ends.
    pub(crate) fn give_up(&mut self) {
        self.inbox = Buffer::new();
        self.count_buffers();
        if let Some(account) = &mut self.account {
            account.give_back();
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
        if self.outbox.footprint() > KEPT_CAPACITY {
            self.outbox.clear();
            self.count_buffers();
        } else {
            self.outbox.clear();
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
        if !rest.is_empty() {
            self.outbox.append(rest);
            self.count_buffers();
        }
        Ok(())
    }

    /// Whether a connection that should be silent is: nothing came, and it is not closed.
    pub(crate) fn is_silent(&mut self) -> bool {
        self.inbox.is_empty() && self.outbox.is_empty() && {
            let mut scratch = self.scratch.0.bytes.borrow_mut();
            self.socket.is_silent(&mut scratch)
        }
    }

    /// The same; the task is woken when that ends.
    pub(crate) fn poll_silent(&mut self, cx: &mut Context<'_>) -> bool {
        self.inbox.is_empty() && self.outbox.is_empty() && self.poll_bytes(cx, |_, _, _| ()).is_pending()
    }
}
