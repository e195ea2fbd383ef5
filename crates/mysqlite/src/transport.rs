//! Packets over a blocking TCP stream, with limits on their size and on waiting.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use shardwright_wire::{HEADER_LEN, MysqlError, PacketError, Privacy, errors, take_packet, write_packet};
use thiserror::Error;

use crate::backend::IsGone;
use crate::socket::Socket;

/// Bytes of answer that are collected before they are written.
const WRITE_THRESHOLD: usize = 64 * 1024;

/// Bytes asked of the socket at a time.
const READ_CHUNK: usize = 16 * 1024;

/// Why a connection ends.
#[derive(Debug, Error)]
pub(crate) enum TransportError {
    #[error("the client is gone")]
    Closed,
    #[error("the client sent nothing in time")]
    TimedOut,
    #[error(transparent)]
    Packet(#[from] PacketError),
    #[error(transparent)]
    Io(io::Error),
}

impl TransportError {
    /// What to tell the client before the connection is closed, where that makes sense.
    pub(crate) fn farewell(&self) -> Option<MysqlError> {
        match self {
            Self::Packet(PacketError::TooLarge { .. }) => {
                Some(errors::NET_PACKET_TOO_LARGE.with("Got a packet bigger than 'max_allowed_packet' bytes"))
            }
            Self::Packet(PacketError::OutOfOrder { .. }) => {
                Some(errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order"))
            }
            Self::TimedOut => {
                Some(errors::NET_READ_INTERRUPTED.with("Got timeout reading communication packets"))
            }
            Self::Closed | Self::Io(_) => None,
        }
    }
}

/// How a connection came to its end.
pub(crate) enum Ended {
    /// The client is gone or is to be left.
    Silently,
    /// Tell the client first.
    With(MysqlError),
}

impl From<TransportError> for Ended {
    fn from(error: TransportError) -> Self {
        error.farewell().map_or(Self::Silently, Self::With)
    }
}

impl From<MysqlError> for Ended {
    fn from(error: MysqlError) -> Self {
        Self::With(error)
    }
}

impl From<io::Error> for TransportError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::TimedOut,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                Self::Closed
            }
            _ => Self::Io(error),
        }
    }
}

pub(crate) struct Transport {
    socket: Socket,
    inbound: Vec<u8>,
    pub(crate) outbound: Vec<u8>,
    /// Sequence number of the next packet that is written.
    pub(crate) seq: u8,
}

impl Transport {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            socket: Socket::new(stream),
            inbound: Vec::new(),
            outbound: Vec::new(),
            seq: 0,
        }
    }

    /// A question whether the other end has closed, for another thread or a callback; what it sent stays to be read.
    pub(crate) fn is_gone(&self) -> Option<IsGone> {
        self.socket.is_gone()
    }

    pub(crate) fn privacy(&self) -> Privacy {
        if self.socket.is_encrypted() {
            Privacy::Tls
        } else {
            Privacy::Plain
        }
    }

    /// Begins TLS with the bytes behind the payload that was read last.
    pub(crate) fn start_tls(
        &mut self,
        config: Arc<ServerConfig>,
        deadline: Instant,
    ) -> Result<(), TransportError> {
        let received = std::mem::take(&mut self.inbound);
        Ok(self.socket.start_tls(config, &received, deadline)?)
    }

    /// Waits, unless the client goes first.
    pub(crate) fn pause(&self, time: Duration) -> Result<(), TransportError> {
        Ok(self.socket.pause(time)?)
    }

    /// Tells the client that nothing follows.
    pub(crate) fn close(&mut self) {
        self.socket.close();
    }

    /// Reads one payload, which must be complete within `patience`.
    pub(crate) fn read(&mut self, max_payload: usize, patience: Duration) -> Result<Vec<u8>, TransportError> {
        self.read_numbered(max_payload, patience, None)
    }

    /// Reads the next payload of an exchange: its sequence number follows the one written last.
    pub(crate) fn read_next(
        &mut self,
        max_payload: usize,
        patience: Duration,
    ) -> Result<Vec<u8>, TransportError> {
        self.read_numbered(max_payload, patience, Some(self.seq))
    }

    fn read_numbered(
        &mut self,
        max_payload: usize,
        patience: Duration,
        number: Option<u8>,
    ) -> Result<Vec<u8>, TransportError> {
        let deadline = Instant::now().checked_add(patience);
        loop {
            let taken = take_packet(&self.inbound, max_payload);
            if let Err(PacketError::TooLarge { seq, .. }) = &taken {
                self.seq = seq.wrapping_add(1);
            }
            if let Some(packet) = taken? {
                let expected = number.unwrap_or(0);
                if packet.first_seq != expected {
                    return Err(PacketError::OutOfOrder {
                        expected,
                        found: packet.first_seq,
                    }
                    .into());
                }
                self.seq = packet.last_seq.wrapping_add(1);
                let consumed = packet.consumed;
                let payload = packet.payload.into_owned();
                self.inbound.drain(..consumed);
                return Ok(payload);
            }
            self.fill(deadline)?;
        }
    }

    fn fill(&mut self, deadline: Option<Instant>) -> Result<(), TransportError> {
        let have = self.inbound.len();
        // The buffer grows with what came, not with what a header promises.
        self.inbound
            .resize(have + READ_CHUNK.max(have.min(1024 * 1024)), 0);
        let read = self.socket.read(&mut self.inbound[have..], deadline);
        self.inbound.truncate(have + *read.as_ref().unwrap_or(&0));
        match read? {
            0 => Err(TransportError::Closed),
            _ => Ok(()),
        }
    }

    /// Queues a payload.
    pub(crate) fn queue(&mut self, payload: &[u8]) {
        write_packet(&mut self.outbound, &mut self.seq, payload);
    }

    /// Queues an error.
    pub(crate) fn queue_error(&mut self, error: &MysqlError) {
        let mut payload = Vec::with_capacity(HEADER_LEN + error.message.len() + 9);
        error.encode(&mut payload);
        self.queue(&payload);
    }

    /// Writes what is queued once it is worth a write.
    pub(crate) fn flush_if_full(&mut self) -> Result<(), TransportError> {
        if self.outbound.len() < WRITE_THRESHOLD {
            Ok(())
        } else {
            self.flush()
        }
    }

    /// Writes what is queued.
    pub(crate) fn flush(&mut self) -> Result<(), TransportError> {
        self.socket.write_all(&self.outbound)?;
        self.outbound.clear();
        Ok(())
    }
}
