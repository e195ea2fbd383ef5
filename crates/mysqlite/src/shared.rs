//! What the acceptor and the connections of a server share: who is connected, and how each connection is ended.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shardwright_wire::auth::Verifier;

use crate::attempts::Attempts;
use crate::backend::{Backend, Interrupt};
use crate::config::Config;

/// What the acceptor and the connections share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) started: Instant,
    pub(crate) attempts: Option<Attempts>,
    verifiers: BTreeMap<String, Verifier>,
    is_stopping: AtomicBool,
    next_id: AtomicU32,
    live: Mutex<BTreeMap<u32, LiveConnection>>,
}

/// A connection as others see it.
struct LiveConnection {
    stream: TcpStream,
    interrupt: Option<Interrupt>,
    /// When it was accepted, until it has logged in.
    logging_in_since: Option<Instant>,
}

/// Time that a login has before it makes room for another connection.
const GRACE: Duration = Duration::from_millis(100);

impl Shared {
    pub(crate) fn new(config: Config, backend: Arc<dyn Backend>) -> Self {
        let verifiers = config
            .users
            .iter()
            .map(|user| (user.name.clone(), Verifier::from_secret(&user.password)))
            .collect();
        let attempts = config.limits.free_failures.map(Attempts::new);
        Self {
            config,
            backend,
            started: Instant::now(),
            attempts,
            verifiers,
            is_stopping: AtomicBool::new(false),
            next_id: AtomicU32::new(1),
            live: Mutex::default(),
        }
    }

    /// Enters a connection. At the limit, the oldest one that has not logged in ends for it; `None` when there is none.
    pub(crate) fn register(shared: &Arc<Self>, stream: TcpStream) -> Option<Registration> {
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let mut live = shared.live();
        if live.len() >= shared.config.limits.connections {
            let oldest = live.iter().find(|(_, other)| other.has_had_its_time(now));
            let oldest = oldest.map(|(&id, _)| id)?;
            live.remove(&oldest)?.end();
        }
        let connection = LiveConnection {
            stream,
            interrupt: None,
            logging_in_since: Some(now),
        };
        live.insert(id, connection);
        Some(Registration {
            shared: Arc::clone(shared),
            id,
        })
    }

    /// Connections that are open.
    pub(crate) fn connections(&self) -> usize {
        self.live().len()
    }

    pub(crate) fn verifier(&self, user: &str) -> Option<Verifier> {
        let stated = self.verifiers.get(user).cloned();
        stated.or_else(|| self.backend.verifier(user))
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Takes no further command, and ends every connection.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.end_all();
    }

    /// Hands over the way to stop this connection's statements.
    pub(crate) fn set_interrupt(&self, id: u32, interrupt: Option<Interrupt>) {
        if let Some(live) = self.live().get_mut(&id) {
            live.interrupt = interrupt;
        }
    }

    /// A connection has logged in: it stays until it ends.
    pub(crate) fn logged_in(&self, id: u32) {
        if let Some(live) = self.live().get_mut(&id) {
            live.logging_in_since = None;
        }
    }

    /// Ends a connection; `false` when there is none of this number.
    pub(crate) fn kill(&self, id: u32) -> bool {
        self.live().get(&id).is_some_and(|live| {
            live.end();
            true
        })
    }

    pub(crate) fn end_all(&self) {
        self.live().values().for_each(LiveConnection::end);
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u32, LiveConnection>> {
        // The map stays consistent whatever a panicking holder was doing.
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveConnection {
    fn has_had_its_time(&self, now: Instant) -> bool {
        let since = self.logging_in_since;
        since.is_some_and(|since| now.saturating_duration_since(since) >= GRACE)
    }

    fn end(&self) {
        // An error means that the connection has already ended.
        let _ = self.stream.shutdown(Shutdown::Both);
        if let Some(interrupt) = &self.interrupt {
            interrupt();
        }
    }
}

/// Takes a connection out of the books when its thread ends, even by a panic.
pub(crate) struct Registration {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: u32,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shared.live().remove(&self.id);
    }
}
