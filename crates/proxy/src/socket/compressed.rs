//! A connection whose packets come in compressed frames, inside TLS or not.

use std::io;
use std::task::{Context, Poll, ready};

use shardwright_wire::FrameCodec;
use tokio::io::ReadBuf;

use super::Socket;

/// Bytes that are made into frames before they must be sent.
const MOST_UNSENT: usize = 64 * 1024;
/// A buffer that has grown past this is given back once it is empty.
const KEPT_CAPACITY: usize = 4 * 1024;

pub(crate) struct CompressedSocket {
    inner: Socket,
    codec: FrameCodec,
    /// What frames held and nobody has read. Nothing more is received before it is empty.
    unread: Vec<u8>,
    read: usize,
    /// Frames that are not sent.
    unsent: Vec<u8>,
    sent: usize,
}

impl CompressedSocket {
    /// `received`: bytes of the peer's that were read already. They are frames.
    pub(super) fn new(inner: Socket, received: &[u8]) -> io::Result<Self> {
        let mut socket = Self {
            inner,
            codec: FrameCodec::default(),
            unread: Vec::new(),
            read: 0,
            unsent: Vec::new(),
            sent: 0,
        };
        socket
            .codec
            .receive(received, &mut socket.unread)
            .map_err(damaged)?;
        Ok(socket)
    }

    pub(super) fn inner(&self) -> &Socket {
        &self.inner
    }

    /// Reads. Without a byte it is the end, which must not come inside a frame.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.read == self.unread.len() {
            empty(&mut self.unread, &mut self.read);
            let before = buffer.filled().len();
            ready!(self.inner.poll_read(cx, buffer))?;
            let received = &buffer.filled()[before..];
            if received.is_empty() {
                return Poll::Ready(match self.codec.is_inside_frame() {
                    true => Err(io::ErrorKind::UnexpectedEof.into()),
                    false => Ok(()),
                });
            }
            let taken = self.codec.receive(received, &mut self.unread);
            buffer.set_filled(before);
            taken.map_err(damaged)?;
        }
        let rest = &self.unread[self.read..];
        let (now, _) = rest.split_at(rest.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.read += now.len();
        Poll::Ready(Ok(()))
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
