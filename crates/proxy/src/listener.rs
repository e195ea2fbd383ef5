//! Accepting clients at a place, and handing them to the workers.

use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use shardwright_wire::{MysqlError, errors, write_packet};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;

use crate::bound::{Bound, Listening};
use crate::descriptors::{self, Reserve};
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
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let bound = {
            let _context = runtime.enter();
            Bound::new(&wanted.place, leaving)?
        };
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
            state: followed,
        };
        let thread = std::thread::Builder::new()
            .name("acceptor".to_owned())
            .spawn(move || runtime.block_on(accepting.run()))?;
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

/// An accepted connection of either kind.
enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Accepted {
    fn into_std(self) -> io::Result<ClientStream> {
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                Ok(ClientStream::Tcp(stream.into_std()?))
            }
            Self::Unix(stream) => Ok(ClientStream::Unix(stream.into_std()?)),
        }
    }

    /// Says why and closes; one short write into an empty socket does not block, and who does not take it goes without.
    fn refuse(&self, error: &MysqlError) {
        let mut payload = Vec::new();
        error.encode_before_greeting(&mut payload);
        let mut packet = Vec::new();
        write_packet(&mut packet, &mut 0, &payload);
        let written = match self {
            Self::Tcp(stream) => stream.try_write(&packet),
            Self::Unix(stream) => stream.try_write(&packet),
        };
        if let Err(error) = written {
            tracing::debug!(%error, "a client was not told that there are too many");
        }
    }
}

impl Listening {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Accepted, Peer)>> {
        Poll::Ready(match self {
            Self::Tcp(listener) => {
                ready!(listener.poll_accept(cx)).map(|(stream, peer)| (Accepted::Tcp(stream), Peer::Ip(peer)))
            }
            Self::Unix(listener) => {
                ready!(listener.poll_accept(cx)).map(|(stream, _)| (Accepted::Unix(stream), Peer::Local))
            }
        })
    }
}

/// What the thread of a listener has.
struct Accepting {
    shared: Arc<Shared>,
    address: Arc<ArcSwap<ListenAddress>>,
    listening: Listening,
    state: watch::Receiver<State>,
}

impl Accepting {
    async fn run(mut self) {
        let opened = self.state.wait_for(|state| *state != State::Waiting).await;
        if !opened.is_ok_and(|state| *state == State::Open) {
            return;
        }
        let mut reserve = Reserve::new();
        loop {
            let accepted = tokio::select! {
                accepted = poll_fn(|cx| self.listening.poll_accept(cx)) => accepted,
                _ = self.state.changed() => return,
            };
            match accepted {
                Ok((stream, peer)) => self.admit(stream, peer),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => self.could_not(&error, &mut reserve).await,
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
            let next = poll_fn(|cx| Poll::Ready(self.listening.poll_accept(cx))).await;
            if let Poll::Ready(Ok((stream, _))) = next {
                let why = "Too many connections: the proxy has no file descriptors left (ulimit -n)";
                stream.refuse(&errors::CON_COUNT_ERROR.with(why));
            }
        }
        reserve.refill();
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }

    /// Hands a connection to the worker with the fewest sessions, or says that there are too many.
    fn admit(&self, stream: Accepted, peer: Peer) {
        let limits = &self.shared.limits;
        let Some(session_permit) = self.shared.session_permit() else {
            return stream.refuse(&errors::CON_COUNT_ERROR.with(format_args!(
                "Too many connections (limit {}: --max-connections)",
                limits.max_sessions
            )));
        };
        let origin = Origin::from(peer.ip());
        let Some(login_permit) = self.shared.half_open.begin(origin, Instant::now()) else {
            return stream.refuse(&errors::CON_COUNT_ERROR.with(format_args!(
                "Too many connections that have not logged in (limit {}: --max-half-open)",
                limits.max_half_open
            )));
        };
        let stream = match stream.into_std() {
            Ok(stream) => stream,
            Err(error) => {
                tracing::debug!(%peer, %error, "a connection was gone before it began");
                return;
            }
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
