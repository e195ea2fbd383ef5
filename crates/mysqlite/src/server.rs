//! The listener: accepts connections up to a limit, gives each a thread, and takes them all down again.

use std::fmt;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use shardwright_wire::{MysqlError, errors, write_packet};

use crate::backend::Backend;
use crate::config::Config;
use crate::connection;
use crate::shared::Shared;

/// Pause after a failed accept: most likely there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A running server. Dropping it shuts it down.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<Acceptor>,
}

/// The thread that accepts connections.
struct Acceptor {
    thread: JoinHandle<()>,
    /// The thread waits for connections and for this to be closed. It is opened with the server, because a server must
    /// stop where no descriptor is left.
    stop: UnixStream,
}

impl Server {
    /// Listens on `address` (port 0 picks a free one) and answers with `backend`.
    ///
    /// # Errors
    /// The address cannot be listened on, or no thread can be started.
    pub fn bind(address: impl ToSocketAddrs, config: Config, backend: Arc<dyn Backend>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let (stop, stopped) = UnixStream::pair()?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(config, backend));
        let thread = thread::Builder::new().name("mysqlite-accept".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &stopped, &shared)
        })?;
        Ok(Self {
            shared,
            address,
            acceptor: Some(Acceptor { thread, stop }),
        })
    }

    /// Where the server listens.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Connections that are open.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }

    /// Stops listening, ends every connection and waits for their threads.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        let Some(Acceptor { thread, stop }) = self.acceptor.take() else {
            return;
        };
        self.shared.stop();
        drop(stop);
        // A thread that panicked has already told so; there is nothing to add.
        let _ = thread.join();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

fn accept(listener: &TcpListener, stopped: &UnixStream, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while !shared.is_stopping() {
        let mut awaited = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(stopped.as_fd(), PollFlags::POLLIN),
        ];
        // A signal interrupts the wait; nothing else can be wrong with it but memory that is short for a moment.
        if poll(&mut awaited, PollTimeout::NONE).is_err() {
            thread::sleep(ACCEPT_PAUSE);
        }
        let accepted = listener.accept();
        threads.retain(|thread| !thread.is_finished());
        match accepted {
            Ok((stream, peer)) => threads.extend(admit(shared, stream, peer)),
            Err(error) => match error.kind() {
                io::ErrorKind::ConnectionAborted | io::ErrorKind::WouldBlock => {}
                // Wait for connections to end rather than spin.
                _ => thread::sleep(ACCEPT_PAUSE),
            },
        }
    }
    shared.end_all();
    for thread in threads {
        // A panic has ended one session, as it may; the others are joined all the same.
        let _ = thread.join();
    }
}

fn admit(shared: &Arc<Shared>, stream: TcpStream, peer: SocketAddr) -> Option<JoinHandle<()>> {
    if shared.is_stopping() {
        return None;
    }
    let watched = stream.try_clone().ok()?;
    let Some(registration) = Shared::register(shared, watched) else {
        refuse(stream, &errors::CON_COUNT_ERROR.with("Too many connections"));
        return None;
    };
    let id = registration.id;
    thread::Builder::new()
        .name(format!("mysqlite-{id}"))
        .spawn(move || {
            connection::run(&registration.shared, id, stream, peer);
        })
        .ok()
}

/// Says why and closes; one short write into an empty socket does not block.
fn refuse(mut stream: TcpStream, error: &MysqlError) {
    let mut payload = Vec::new();
    error.encode_before_greeting(&mut payload);
    let mut packet = Vec::new();
    write_packet(&mut packet, &mut 0, &payload);
    // A client that is gone needs no answer.
    let _ = stream.write_all(&packet);
}
