//! The listener: accepts connections up to a limit, gives each a thread, and takes them all down again.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use shardwright_wire::auth::NativeVerifier;
use shardwright_wire::{MysqlError, errors, write_packet};

use crate::backend::{Backend, Interrupt};
use crate::connection;

/// Called with the connection's number, the current schema and the text of each statement before it runs.
pub type OnQuery = Arc<dyn Fn(u32, Option<&str>, &[u8]) + Send + Sync>;

/// A user who may log in.
#[derive(Clone)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password in the clear, or `*` and 40 hexadecimal digits.
    pub password: String,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Pause after a failed accept: most likely there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// What clients may take of the server.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// Bytes of a command.
    pub max_packet: usize,
    /// For the whole login.
    pub handshake_timeout: Duration,
    /// Between two commands, and for writing an answer.
    pub idle_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 512,
            max_packet: 64 * 1024 * 1024,
            handshake_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(8 * 60 * 60),
        }
    }
}

/// How a server presents itself.
#[derive(Clone)]
pub struct Config {
    /// Who may log in.
    pub users: Vec<User>,
    /// Version text of the greeting, for example `8.4.0-shardwright`.
    pub server_version: String,
    /// Limits.
    pub limits: Limits,
    /// Sees each statement.
    pub on_query: Option<OnQuery>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            users: Vec::new(),
            server_version: "8.4.0-mysqlite".to_owned(),
            limits: Limits::default(),
            on_query: None,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("users", &self.users)
            .field("server_version", &self.server_version)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

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

/// What the acceptor and the connections share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) started: Instant,
    verifiers: BTreeMap<String, NativeVerifier>,
    is_stopping: AtomicBool,
    next_id: AtomicU32,
    live: Mutex<BTreeMap<u32, Live>>,
}

/// A connection as others see it.
struct Live {
    stream: TcpStream,
    interrupt: Option<Interrupt>,
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
        let verifiers = config
            .users
            .iter()
            .map(|user| (user.name.clone(), NativeVerifier::from_secret(&user.password)))
            .collect();
        let shared = Arc::new(Shared {
            config,
            backend,
            started: Instant::now(),
            verifiers,
            is_stopping: AtomicBool::new(false),
            next_id: AtomicU32::new(1),
            live: Mutex::default(),
        });
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
        self.shared.live().len()
    }

    /// Stops listening, ends every connection and waits for their threads.
    pub fn shutdown(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        let Some(Acceptor { thread, stop }) = self.acceptor.take() else {
            return;
        };
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        self.shared.end_all();
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

impl Shared {
    pub(crate) fn verifier(&self, user: &str) -> Option<&NativeVerifier> {
        self.verifiers.get(user)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Hands over the way to stop this connection's statements.
    pub(crate) fn set_interrupt(&self, id: u32, interrupt: Option<Interrupt>) {
        if let Some(live) = self.live().get_mut(&id) {
            live.interrupt = interrupt;
        }
    }

    /// Ends a connection; `false` when there is none of this number.
    pub(crate) fn kill(&self, id: u32) -> bool {
        self.live().get(&id).is_some_and(|live| {
            live.end();
            true
        })
    }

    fn end_all(&self) {
        self.live().values().for_each(Live::end);
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u32, Live>> {
        // The map stays consistent whatever a panicking holder was doing.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    fn end(&self) {
        // An error means that the connection has already ended.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(interrupt) = &self.interrupt {
            interrupt();
        }
    }
}

/// Takes a connection out of the books when its thread ends, even by a panic.
struct Registration {
    shared: Arc<Shared>,
    id: u32,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shared.live().remove(&self.id);
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
    let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
    let watched = stream.try_clone().ok()?;
    {
        let mut live = shared.live();
        if live.len() >= shared.config.limits.connections {
            drop(live);
            refuse(stream, &errors::CON_COUNT_ERROR.with("Too many connections"));
            return None;
        }
        live.insert(
            id,
            Live {
                stream: watched,
                interrupt: None,
            },
        );
    }
    let registration = Registration {
        shared: Arc::clone(shared),
        id,
    };
    thread::Builder::new()
        .name(format!("mysqlite-{id}"))
        .spawn(move || {
            connection::run(&registration.shared, registration.id, stream, peer);
        })
        .ok()
}

/// Says why and closes; one short write into an empty socket does not block.
fn refuse(mut stream: TcpStream, error: &MysqlError) {
    use std::io::Write;
    let mut payload = Vec::new();
    error.encode_before_greeting(&mut payload);
    let mut packet = Vec::new();
    write_packet(&mut packet, &mut 0, &payload);
    // A client that is gone needs no answer.
    let _ = stream.write_all(&packet);
}
