//! A blocking socket, in the clear or inside TLS, whose reads have deadlines.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{MsgFlags, recv};
use rustls::{ServerConfig, ServerConnection};

use crate::backend::IsGone;

/// The other end has closed, whatever it sent before. The crate does not name it.
const HUNG_UP: PollFlags = PollFlags::from_bits_retain(nix::libc::POLLRDHUP);

/// One end of a connection.
pub(crate) struct Socket {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
}

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, tls: None }
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// A question whether the other end has closed, for another thread or a callback; what it sent stays to be read.
    pub(crate) fn is_gone(&self) -> Option<IsGone> {
        let stream = self.stream.try_clone().ok()?;
        if self.is_encrypted() {
            // The end of a TLS session lies unread before the end of the connection.
            return Some(Box::new(move || {
                has_hung_up(&stream, Duration::ZERO) != Ok(false)
            }));
        }
        Some(Box::new(move || {
            let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
            match recv(stream.as_raw_fd(), &mut [0], flags) {
                Ok(read) => read == 0,
                Err(Errno::EAGAIN | Errno::EINTR) => false,
                Err(_) => true,
            }
        }))
    }

    /// Waits; the error is that the client goes first.
    pub(crate) fn pause(&self, time: Duration) -> io::Result<()> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            // Rounded up: a wait of nothing would spin.
            if has_hung_up(&self.stream, left + Duration::from_millis(1))? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads what there is, at least a byte; 0 at the end.
    pub(crate) fn read(&mut self, buffer: &mut [u8], deadline: Option<Instant>) -> io::Result<usize> {
        loop {
            let Some(tls) = &mut self.tls else {
                return receive(&self.stream, deadline, |stream| stream.read(buffer));
            };
            let read = tls.reader().read(buffer);
            match read {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.decrypt(deadline)?,
                read => return read,
            }
        }
    }

    pub(crate) fn write_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return self.stream.write_all(bytes);
        };
        while !bytes.is_empty() {
            let taken = tls.writer().write(bytes)?;
            bytes = &bytes[taken..];
            send(tls, &mut self.stream)?;
        }
        Ok(())
    }

    /// Begins TLS. `received` came behind the request for it.
    pub(crate) fn start_tls(
        &mut self,
        config: Arc<ServerConfig>,
        mut received: &[u8],
        deadline: Instant,
    ) -> io::Result<()> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let tls = self.tls.insert(Box::new(tls));
        while !received.is_empty() {
            tls.read_tls(&mut received)?;
            process(tls, &mut self.stream)?;
        }
        while self.tls.as_ref().is_some_and(|tls| tls.is_handshaking()) {
            self.decrypt(Some(deadline))?;
        }
        Ok(())
    }

    /// Tells the other end that nothing follows.
    pub(crate) fn close(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // The client may be gone; the connection ends either way.
            let _ = send(tls, &mut self.stream);
        }
    }

    /// Receives a part of the TLS session.
    fn decrypt(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let read = receive(&self.stream, deadline, |stream| tls.read_tls(stream))?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        process(tls, &mut self.stream)
    }
}

/// Calls the system until it is not interrupted, with what is left of the time.
fn receive(
    mut stream: &TcpStream,
    deadline: Option<Instant>,
    mut read: impl FnMut(&mut &TcpStream) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(left)?;
        match read(&mut stream) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Takes in what was received, and sends what it leads to; an alert, too.
fn process(tls: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<()> {
    let processed = tls.process_new_packets();
    let sent = send(tls, stream);
    processed.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    sent
}

fn send(tls: &mut ServerConnection, stream: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(stream)?;
    }
    Ok(())
}

/// Waits for the other end to close; `false` if it does not in time.
fn has_hung_up(stream: &TcpStream, within: Duration) -> Result<bool, Errno> {
    let mut watched = [PollFd::new(stream.as_fd(), HUNG_UP)];
    match poll(
        &mut watched,
        PollTimeout::try_from(within).unwrap_or(PollTimeout::MAX),
    ) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(error),
    }
}
