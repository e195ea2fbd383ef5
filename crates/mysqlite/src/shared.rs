//! What the acceptor and the connections of a server share: who is connected, and how each connection is ended.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use shardwright_wire::auth::Verifier;

use crate::backend::{Backend, Interrupt};
use crate::config::Config;

/// What the acceptor and the connections share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) started: Instant,
    verifiers: BTreeMap<String, Verifier>,
    is_stopping: AtomicBool,
    next_id: AtomicU32,
    live: Mutex<BTreeMap<u32, LiveConnection>>,
}

/// A connection as others see it.
struct LiveConnection {
    stream: TcpStream,
    interrupt: Option<Interrupt>,
}

impl Shared {
    pub(crate) fn new(config: Config, backend: Arc<dyn Backend>) -> Self {
        let verifiers = config
            .users
            .iter()
            .map(|user| (user.name.clone(), Verifier::from_secret(&user.password)))
            .collect();
        Self {
            config,
            backend,
            started: Instant::now(),
            verifiers,
            is_stopping: AtomicBool::new(false),
            next_id: AtomicU32::new(1),
            live: Mutex::default(),
        }
    }

    /// Enters a connection; `None` when there are too many.
    pub(crate) fn register(shared: &Arc<Self>, stream: TcpStream) -> Option<Registration> {
        let id = shared.next_id.fetch_add(1, Ordering::Relaxed);
        let mut live = shared.live();
        if live.len() >= shared.config.limits.connections {
            return None;
        }
        let connection = LiveConnection {
            stream,
            interrupt: None,
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

    pub(crate) fn verifier(&self, user: &str) -> Option<&Verifier> {
        self.verifiers.get(user)
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
