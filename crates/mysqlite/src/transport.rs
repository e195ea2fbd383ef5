//! Packets over a blocking TCP stream, with limits on their size and on waiting.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use shardwright_wire::{HEADER_LEN, MysqlError, PacketError, errors, take_packet, write_packet};
use thiserror::Error;

use crate::backend::IsGone;

/// Bytes of answer that are collected before they are written.
const WRITE_THRESHOLD: usize = 64 * 1024;

/// Bytes asked of the socket at a time.
const READ_CHUNK: usize = 16 * 1024;

/// The other end has closed, whatever it sent before. The crate does not name it.
const HUNG_UP: PollFlags = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);

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
    stream: TcpStream,
    inbound: Vec<u8>,
    pub(crate) outbound: Vec<u8>,
    /// Sequence number of the next packet that is written.
    pub(crate) seq: u8,
}

impl Transport {
    /// A question whether the other end has closed, for another thread or a callback; what it sent stays to be read.
    pub(crate) fn is_gone(&self) -> Option<IsGone> {
        let stream = self.stream.try_clone().ok()?;
        Some(Box::new(move || {
            let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
            match recv(stream.as_raw_fd(), &mut [0], flags) {
                Ok(read) => read == 0,
                Err(Errno::EAGAIN | Errno::EINTR) => false,
                Err(_) => true,
            }
        }))
    }

    /// Waits, unless the client goes first.
    pub(crate) fn pause(&self, time: Duration) -> Result<(), TransportError> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            // Rounded up: a wait of nothing would spin.
            let left = left + Duration::from_millis(1);
            let mut watched = [PollFd::new(self.stream.as_fd(), HUNG_UP)];
            match poll(
                &mut watched,
                PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX),
            ) {
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Err(TransportError::Closed),
                Err(error) => return Err(TransportError::Io(error.into())),
            }
        }
    }

    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            inbound: Vec::new(),
            outbound: Vec::new(),
            seq: 0,
        }
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
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(TransportError::TimedOut);
        }
        self.stream.set_read_timeout(left)?;
        let have = self.inbound.len();
        // The buffer grows with what came, not with what a header promises.
        self.inbound
            .resize(have + READ_CHUNK.max(have.min(1024 * 1024)), 0);
        let read = loop {
            match self.stream.read(&mut self.inbound[have..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
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
        self.stream.write_all(&self.outbound)?;
        self.outbound.clear();
        Ok(())
    }
}
