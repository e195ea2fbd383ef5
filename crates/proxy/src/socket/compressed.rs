//! A connection whose packets come in compressed frames, inside TLS or not.

use std::io;
use std::task::{Context, Poll, ready};

use shardwright_wire::{ByteStore, FrameCodec, Received};
use tokio::io::ReadBuf;

use super::Socket;
use crate::memory::{Buffer, KEPT_CAPACITY};

/// Bytes that are made into frames before they must be sent.
const MOST_UNSENT: usize = 64 * 1024;
/// Room of a frame that nobody has to be asked for.
const FREE_ROOM: usize = 2 * KEPT_CAPACITY;

pub(crate) struct CompressedSocket {
    inner: Socket,
    codec: FrameCodec<Buffer>,
    /// Bytes that came behind a frame which is not read, or has no room yet.
    pending: Vec<u8>,
    /// What a frame held and nobody has read. No further frame is looked at before it is empty.
    unread: Buffer,
    read: usize,
    /// What a frame may take: as it comes, and inflated.
    room: usize,
    /// What the frame would take that has begun and has no room.
    wanted: Option<usize>,
    /// Frames that are not sent.
    unsent: Vec<u8>,
    sent: usize,
}

impl CompressedSocket {
    /// `received`: bytes of the peer's that were read already. They are frames.
    pub(super) fn new(inner: Socket, received: &[u8]) -> Self {
        Self {
            inner,
            codec: FrameCodec::default(),
            pending: received.to_vec(),
            unread: Buffer::new(),
            read: 0,
            room: FREE_ROOM,
            wanted: None,
            unsent: Vec::new(),
            sent: 0,
        }
    }

    pub(super) fn inner(&self) -> &Socket {
        &self.inner
    }

    /// Room that the next frame needs before anything can be read.
    pub(super) fn wanted_room(&self) -> Option<usize> {
        self.wanted
    }

    /// The next frame may take so much.
    pub(super) fn allow(&mut self, room: usize) {
        self.room = room;
        self.wanted = None;
    }

    /// Whether a frame has begun, or holds what nobody has read.
    pub(super) fn is_inside_frame(&self) -> bool {
        self.codec.is_inside_frame() || self.read < self.unread.len()
    }

    /// Bytes of memory, without those of a frame that room was asked for.
    pub(super) fn footprint(&self) -> usize {
        let of_frame = self.unread.footprint() + self.codec.partial_len();
        let is_free = self.room <= FREE_ROOM;
        self.pending.capacity() + self.unsent.capacity() + if is_free { of_frame } else { 0 }
    }

    /// Reads. Without a byte it is the end, which must not come inside a frame, or a frame that has no room.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.unread.is_empty() {
            if self.wanted.is_some() {
                return Poll::Ready(Ok(()));
            }
            if self.pending.is_empty() {
                let before = buffer.filled().len();
                ready!(self.inner.poll_read(cx, buffer))?;
                let received = &buffer.filled()[before..];
                if received.is_empty() {
                    return Poll::Ready(match self.codec.is_inside_frame() {
                        true => Err(io::ErrorKind::UnexpectedEof.into()),
                        false => Ok(()),
                    });
                }
                let taken = self.receive(received);
                let rest = taken.map(|taken| self.pending.extend_from_slice(&received[taken..]));
                buffer.set_filled(before);
                rest?;
            } else {
                let mut pending = std::mem::take(&mut self.pending);
                let taken = self.receive(&pending)?;
                pending.drain(..taken);
                self.pending = if pending.is_empty() { Vec::new() } else { pending };
            }
        }
        let rest = &self.unread[self.read..];
        let (now, _) = rest.split_at(rest.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.read += now.len();
        if self.read == self.unread.len() {
            self.unread.clear();
            self.read = 0;
            self.room = FREE_ROOM;
        }
        Poll::Ready(Ok(()))
    }

    /// Takes bytes up to the end of a frame. How many were taken.
    fn receive(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let received = self.codec.receive_within(bytes, self.room, &mut self.unread);
        Ok(match received.map_err(damaged)? {
            Received::All => bytes.len(),
            Received::Frame(taken) => taken,
            Received::TooLarge { taken, room } => {
                self.wanted = Some(room);
                taken
            }
        })
    }

    /// Takes bytes; they are sent by [`CompressedSocket::poll_flush`] at the latest.
    pub(super) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.unsent.len() - self.sent >= MOST_UNSENT {
            ready!(self.poll_send(cx))?;
        }
        let (now, _) = bytes.split_at(bytes.len().min(MOST_UNSENT));
        self.codec.send(now, &mut self.unsent);
        Poll::Ready(Ok(now.len()))
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        self.inner.poll_flush(cx)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.unsent.len() {
            let written = ready!(self.inner.poll_write(cx, &self.unsent[self.sent..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent += written;
        }
        empty(&mut self.unsent, &mut self.sent);
        Poll::Ready(Ok(()))
    }
}

fn empty(buffer: &mut Vec<u8>, used: &mut usize) {
    *used = 0;
    buffer.clear();
    if buffer.capacity() > KEPT_CAPACITY {
        *buffer = Vec::new();
    }
}

fn damaged(error: shardwright_wire::CompressionError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
