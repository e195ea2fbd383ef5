//! A raw TCP passthrough: what any proxy on this kernel has to pay, as the floor of comparisons.
//!
//! Threads with level-triggered epoll and one buffer each; per message and direction one `epoll_wait`, one `read` and one
//! `write`. It knows nothing of the protocol. A thread of its own accepts connections and hands them to the others in turn, so
//! that all have equally many.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

/// How it copies.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Threads that copy.
    pub threads: usize,
    /// Bytes that one `read` may take.
    pub buffer: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            buffer: 64 << 10,
        }
    }
}

/// One direction's bytes that the receiver would not take yet; while there are any, its sender is not read.
type Pending = Vec<u8>;

/// Two sockets joined; what is read from one is written to the other.
struct Pair {
    /// The client and the server.
    sockets: [TcpStream; 2],
    /// Bytes waiting to be written to the socket of the same index.
    pending: [Pending; 2],
}

/// What became of an event.
enum Outcome {
    Open,
    Closed,
}

/// One thread's connections.
struct Worker {
    epoll: Epoll,
    /// Locked by the thread while it copies, and for a moment by the one that accepts.
    pairs: Mutex<Vec<Option<Pair>>>,
}

/// Joins each connection accepted by `listener` with a new one to `server`, until an error of the listener.
///
/// # Errors
/// Those of the listener, of epoll and of starting threads; a connection's own errors only close that connection.
pub fn serve(listener: &TcpListener, server: SocketAddr, options: Options) -> io::Result<()> {
    let mut workers = Vec::new();
    for _ in 0..options.threads.max(1) {
        let worker = Arc::new(Worker {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            pairs: Mutex::default(),
        });
        let copying = Arc::clone(&worker);
        thread::Builder::new()
            .name("copies".to_owned())
            .spawn(move || copying.copy(options.buffer))?;
        workers.push(worker);
    }
    for worker in workers.iter().cycle() {
        match listener.accept() {
            // A server that refuses the connection closes the client's.
            Ok((client, _)) => match TcpStream::connect(server) {
                Ok(server) => worker.adopt([client, server])?,
                Err(_) => continue,
            },
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Worker {
    /// Copies until epoll fails, which it does only where this program is wrong.
    fn copy(&self, buffer: usize) -> io::Result<()> {
        let mut buffer = vec![0; buffer];
        let mut events = [EpollEvent::empty(); 64];
        loop {
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let mut pairs = self.pairs();
            let mut closed = Vec::new();
            for event in &events[..ready] {
                let (slot, side) = place(event.data());
                let Some(pair) = pairs[slot].as_mut() else {
                    continue;
                };
                match pair.advance(&self.epoll, slot, side, event.events(), &mut buffer) {
                    Ok(Outcome::Open) => {}
                    // Closing the sockets takes them out of the epoll set. The slot is freed after this batch, in which
                    // events of the closed sockets may follow.
                    Ok(Outcome::Closed) | Err(_) => closed.push(slot),
                }
            }
            for slot in closed {
                pairs[slot] = None;
            }
        }
    }

    fn pairs(&self) -> MutexGuard<'_, Vec<Option<Pair>>> {
        self.pairs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn adopt(&self, sockets: [TcpStream; 2]) -> io::Result<()> {
        let mut pairs = self.pairs();
        let slot = pairs.iter().position(Option::is_none).unwrap_or_else(|| {
            pairs.push(None);
            pairs.len() - 1
        });
        for (side, socket) in sockets.iter().enumerate() {
            socket.set_nonblocking(true)?;
            socket.set_nodelay(true)?;
            self.epoll
                .add(socket, EpollEvent::new(EpollFlags::EPOLLIN, token(slot, side)))?;
        }
        pairs[slot] = Some(Pair {
            sockets,
            pending: [Vec::new(), Vec::new()],
        });
        Ok(())
    }
}

fn token(slot: usize, side: usize) -> u64 {
    (slot * 2 + side) as u64
}

fn place(token: u64) -> (usize, usize) {
    let token = usize::try_from(token).expect("tokens are made from slots");
    (token / 2, token % 2)
}

impl Pair {
    fn advance(
        &mut self,
        epoll: &Epoll,
        slot: usize,
        side: usize,
        events: EpollFlags,
        buffer: &mut [u8],
    ) -> io::Result<Outcome> {
        if events.contains(EpollFlags::EPOLLOUT) {
            let sent = write_some(&mut self.sockets[side], &self.pending[side])?;
            self.pending[side].drain(..sent);
            if self.pending[side].is_empty() {
                self.watch(epoll, slot)?;
            }
        }
        let readable = EpollFlags::EPOLLIN | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
        let other = 1 - side;
        if !events.intersects(readable) || !self.pending[other].is_empty() {
            return Ok(Outcome::Open);
        }
        let received = match self.sockets[side].read(buffer) {
            Ok(0) => return Ok(Outcome::Closed),
            Ok(received) => received,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Outcome::Open),
            Err(error) => return Err(error),
        };
        let sent = write_some(&mut self.sockets[other], &buffer[..received])?;
        if sent < received {
            self.pending[other].extend_from_slice(&buffer[sent..received]);
            self.watch(epoll, slot)?;
        }
        Ok(Outcome::Open)
    }

    /// A side with bytes waiting is watched for room, and its sender is not read until they are gone.
    fn watch(&self, epoll: &Epoll, slot: usize) -> io::Result<()> {
        for side in [0, 1] {
            let mut interest = EpollFlags::empty();
            interest.set(EpollFlags::EPOLLOUT, !self.pending[side].is_empty());
            interest.set(EpollFlags::EPOLLIN, self.pending[1 - side].is_empty());
            epoll.modify(
                &self.sockets[side],
                &mut EpollEvent::new(interest, token(slot, side)),
            )?;
        }
        Ok(())
    }
}

/// Writes what the socket takes now.
fn write_some(socket: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    match socket.write(bytes) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Shutdown};
    use std::thread;

    /// A passthrough to a server that sends back what it gets, on threads that end with the test process.
    fn passthrough_to_echo() -> SocketAddr {
        let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = echo.local_addr().unwrap();
        thread::spawn(move || {
            for connection in echo.incoming() {
                let mut read = connection.unwrap();
                let mut write = read.try_clone().unwrap();
                thread::spawn(move || io::copy(&mut read, &mut write).unwrap());
            }
        });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            serve(
                &listener,
                server,
                Options {
                    threads: 2,
                    ..Options::default()
                },
            )
            .unwrap()
        });
        address
    }

    #[test]
    fn small_messages_come_back_on_many_connections() {
        let address = passthrough_to_echo();
        let mut clients: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
        for round in 0..3_u8 {
            for (client, number) in clients.iter_mut().zip(0_u8..) {
                client.write_all(&[number, round]).unwrap();
            }
            for (client, number) in clients.iter_mut().zip(0_u8..) {
                let mut answer = [0; 2];
                client.read_exact(&mut answer).unwrap();
                assert_eq!(answer, [number, round]);
            }
        }
    }

    #[test]
    fn a_receiver_that_does_not_read_gets_everything_later() {
        let mut client = TcpStream::connect(passthrough_to_echo()).unwrap();
        let sent: Vec<u8> = (0..24_u32 << 20).map(|position| (position % 251) as u8).collect();
        let mut writer = client.try_clone().unwrap();
        let bytes = sent.clone();
        let writing = thread::spawn(move || writer.write_all(&bytes).unwrap());
        let mut received = vec![0; sent.len()];
        client.read_exact(&mut received).unwrap();
        writing.join().unwrap();
        assert!(received == sent);
    }

    #[test]
    fn a_client_that_leaves_closes_only_its_own_pair() {
        let address = passthrough_to_echo();
        let leaving = TcpStream::connect(address).unwrap();
        let mut staying = TcpStream::connect(address).unwrap();
        leaving.shutdown(Shutdown::Write).unwrap();
        let mut leaving = leaving;
        assert_eq!(leaving.read(&mut [0; 1]).unwrap(), 0);
        staying.write_all(b"x").unwrap();
        let mut answer = [0; 1];
        staying.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"x");
    }
}
