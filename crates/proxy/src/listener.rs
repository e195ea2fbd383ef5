//! Accepting clients at a place, and handing them to the workers.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use shardwright_wire::{MysqlError, errors, write_packet};
use tokio::sync::watch;

use crate::bound::{Bound, Listening};
use crate::descriptors::{self, Reserve};
use crate::event_loop::{self, Incoming};
use crate::half_open::Origin;
use crate::listen_address::{ListenAddress, Peer};
use crate::listeners::{Accept, Acceptor, State, Wanted};
use crate::shared::Shared;
use crate::worker_handle::{ClientStream, NewSession};

/// Pause after a failed accept: most likely there are no descriptors left.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Starts the threads that accept clients.
pub(crate) struct Acceptors(pub(crate) Weak<Shared>);

impl Accept for Acceptors {
    fn bind(&self, wanted: &Wanted, leaving: Option<&OwnedFd>) -> io::Result<Acceptor> {
        let shared = self
            .0
            .upgrade()
            .ok_or_else(|| io::Error::other("the proxy has ended"))?;
        let bound = Bound::new(&wanted.place, leaving)?;
        let socket = bound.duplicate()?;
        let Bound {
            listening,
            address: tcp,
            file,
        } = bound;
        let address = Arc::new(ArcSwap::from_pointee(ListenAddress {
            port: tcp.map_or(0, |address| address.port()),
            ..wanted.listener.clone()
        }));
        let (state, followed) = watch::channel(State::Waiting);
        let accepting = Accepting {
            shared,
            address: address.clone(),
            listening,
        };
        let thread = event_loop::run_on_a_thread("acceptor".to_owned(), || accepting.run(followed))?;
        Ok(Acceptor {
            thread,
            state,
            socket,
            address,
            tcp,
            file,
        })
    }
}

/// Says why and closes; one short write into an empty socket does not block, and who does not take it goes without.
fn refuse(stream: ClientStream, error: &MysqlError) {
    let mut payload = Vec::new();
    error.encode_before_greeting(&mut payload);
    let mut packet = Vec::new();
    write_packet(&mut packet, &mut 0, &payload);
    let written = match stream {
        ClientStream::Tcp(mut stream) => stream.write(&packet),
        ClientStream::Unix(mut stream) => stream.write(&packet),
    };
    if let Err(error) = written {
        tracing::debug!(%error, "a client was not told that there are too many");
    }
}

impl Listening {
    /// The client that has waited longest; its stream does not block, and neither does this.
    fn accept(&self) -> io::Result<(ClientStream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok((ClientStream::Tcp(stream), Peer::Ip(peer)))
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok((ClientStream::Unix(stream), Peer::Local))
            }
        }
    }
}

/// What the thread of a listener has.
struct Accepting {
    shared: Arc<Shared>,
    address: Arc<ArcSwap<ListenAddress>>,
    listening: Listening,
}

impl Accepting {
    async fn run(self, mut state: watch::Receiver<State>) {
        let opened = state.wait_for(|state| *state != State::Waiting).await;
        if !opened.is_ok_and(|state| *state == State::Open) {
            return;
        }
        let mut reserve = Reserve::new();
        loop {
            let error = tokio::select! {
                error = self.accept() => error,
                _ = state.changed() => return,
            };
            self.could_not(&error, &mut reserve).await;
        }
    }

    /// Accepts until that fails.
    async fn accept(&self) -> io::Error {
        let incoming = match Incoming::at(&self.listening) {
            Ok(incoming) => incoming,
            Err(error) => return error,
        };
        loop {
            poll_fn(|cx| incoming.poll(cx)).await;
            match self.listening.accept() {
                Ok((stream, peer)) => self.admit(stream, peer),
                // The client has left.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::WouldBlock) => {}
                Err(error) => return error,
            }
        }
    }

    /// Nothing can be accepted, most likely because there are no descriptors.
    async fn could_not(&self, error: &io::Error, reserve: &mut Reserve) {
        if reserve.is_news() {
            tracing::warn!(%error, "connections cannot be accepted");
        }
        if descriptors::are_exhausted(error) && reserve.give_up() {
            // The place of the reserve is enough for one connection, whose client is told why.
            if let Ok((stream, _)) = self.listening.accept() {
                let why = "Too many connections: the proxy has no file descriptors left (ulimit -n)";
                refuse(stream, &errors::CON_COUNT_ERROR.with(why));
            }
        }
        reserve.refill();
        self.shared.clock.sleep(ACCEPT_PAUSE).await;
    }

    /// Hands a connection to the worker with the fewest sessions, or says that there are too many.
    fn admit(&self, stream: ClientStream, peer: Peer) {
        let limits = &self.shared.limits;
        let Some(session_permit) = self.shared.session_permit() else {
            let error = errors::CON_COUNT_ERROR.with(format_args!(
                "Too many connections (limit {}: --max-connections)",
                limits.max_sessions
            ));
            return refuse(stream, &error);
        };
        let origin = Origin::from(peer.ip());
        let Some(login_permit) = self.shared.half_open.begin(origin, Instant::now()) else {
            let error = errors::CON_COUNT_ERROR.with(format_args!(
                "Too many connections that have not logged in (limit {}: --max-half-open)",
                limits.max_half_open
            ));
            return refuse(stream, &error);
        };
        let least_loaded = self.shared.workers().iter().min_by_key(|worker| worker.load());
        if let Some(worker) = least_loaded {
            worker.take_on(NewSession {
                stream,
                peer,
                listener: self.address.load_full(),
                session_permit,
                login_permit,
            });
        }
    }
}
