//! Accepting clients at a place.
//!
//! The idea: every worker waits at every place, and the system wakes one of those that wait, the first before others. A client goes to
//! the worker with the fewest sessions, of several to the first. Most often that is the one that has accepted it, and no other
//! thread is woken. Clients that stay are spread by the number of sessions, whoever accepts them.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use shardwright_wire::{MysqlError, errors, write_packet};
use tokio::sync::watch;

use crate::bound::{Bound, ClientStream};
use crate::descriptors::{self, Reserve};
use crate::entrance::{Accepting, Entrance};
use crate::event_loop::Incoming;
use crate::half_open::Origin;
use crate::listen_address::{ListenAddress, Peer};
use crate::listeners::{Accept, Acceptor, State, Wanted};
use crate::shared::Shared;
use crate::stats::bump;
use crate::worker::Worker;
use crate::worker_handle::{NewSession, WorkerHandle};

/// Pause after a failed accept: most likely there are no descriptors left.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// Clients that a worker accepts before its sessions run again.
const AT_ONCE: usize = 16;

/// Has the workers accept clients.
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
        let entrance = Arc::new(Entrance {
            address: address.clone(),
            listening,
            reserve: Mutex::new(Reserve::new()),
        });
        let (ends, ended) = mpsc::channel();
        for worker in shared.workers() {
            worker.accept(Accepting {
                entrance: entrance.clone(),
                state: followed.clone(),
                ends: ends.clone(),
            });
        }
        Ok(Acceptor {
            ended,
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

/// Says why, and counts it.
fn turn_away(worker: &Worker, stream: ClientStream, peer: Peer, why: &str) {
    bump(&worker.counters.totals.clients_refused);
    if let Some(refused) = worker.shared.refused_clients.count(Instant::now()) {
        tracing::warn!(%peer, refused, "clients are refused: {why}");
    }
    refuse(stream, &errors::CON_COUNT_ERROR.with(why));
}

impl Accepting {
    /// Accepts clients as long as the place is open. `keep` takes those that stay with this worker.
    pub(crate) async fn run(self, worker: Rc<Worker>, keep: impl Fn(NewSession)) {
        // Dropped last: whoever waits for the end finds the place closed.
        let Self {
            ends: _ends,
            entrance,
            mut state,
        } = self;
        let opened = state.wait_for(|state| *state != State::Waiting).await;
        if !opened.is_ok_and(|state| *state == State::Open) {
            return;
        }
        loop {
            let error = tokio::select! {
                error = entrance.accept(&worker, &keep) => error,
                _ = state.changed() => return,
            };
            entrance.could_not(&worker, &error).await;
        }
    }
}

impl Entrance {
    /// Accepts until that fails.
    async fn accept(&self, worker: &Worker, keep: impl Fn(NewSession)) -> io::Error {
        let incoming = match Incoming::at(&self.listening) {
            Ok(incoming) => incoming,
            Err(error) => return error,
        };
        loop {
            poll_fn(|cx| incoming.poll(cx)).await;
            for _ in 0..AT_ONCE {
                match self.listening.accept() {
                    Ok((stream, peer)) => self.admit(stream, peer, worker, &keep),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    // The client has left, or a signal has come.
                    Err(error)
                        if matches!(
                            error.kind(),
                            ErrorKind::ConnectionAborted | ErrorKind::Interrupted
                        ) => {}
                    Err(error) => return error,
                }
            }
        }
    }

    /// Nothing can be accepted, most likely because there are no descriptors.
    async fn could_not(&self, worker: &Worker, error: &io::Error) {
        self.refuse_one(worker, error);
        worker.shared.clock.sleep(ACCEPT_PAUSE).await;
    }

    /// The place of the reserve is enough for one connection, whose client is told why.
    fn refuse_one(&self, worker: &Worker, error: &io::Error) {
        let mut reserve = self.reserve.lock().unwrap_or_else(PoisonError::into_inner);
        if reserve.is_news() {
            tracing::warn!(%error, "connections cannot be accepted");
        }
        if descriptors::are_exhausted(error)
            && reserve.give_up()
            && let Ok((stream, _)) = self.listening.accept()
        {
            bump(&worker.counters.totals.clients_refused);
            let why = "Too many connections: the proxy has no file descriptors left (ulimit -n)";
            refuse(stream, &errors::CON_COUNT_ERROR.with(why));
        }
        reserve.refill();
    }

    /// Gives a connection to the worker with the fewest sessions, or says that there are too many.
    fn admit(&self, stream: ClientStream, peer: Peer, worker: &Worker, keep: impl Fn(NewSession)) {
        let shared = &worker.shared;
        let (origin, now) = (Origin::from(peer.ip()), Instant::now());
        let session_permit = shared.session_permit().or_else(|| {
            let gives_way = shared.half_open.give_way(origin, now);
            gives_way.then(|| shared.session_permit_of_another())
        });
        let Some(session_permit) = session_permit else {
            let limit = shared.limits.max_sessions;
            let why = format!("Too many connections (limit {limit}: --max-connections)");
            return turn_away(worker, stream, peer, &why);
        };
        let Some(login_permit) = shared.half_open.begin(origin, now) else {
            let limit = shared.half_open.limit();
            let why =
                format!("Too many connections that have not logged in (limit {limit}: --max-half-open)");
            return turn_away(worker, stream, peer, &why);
        };
        let Some(share) = shared.budget.share() else {
            let limit = shared.budget.limit() >> 20;
            let why = format!(
                "Too many connections: clients hold the {limit} MiB of memory that there are for them (--max-memory)"
            );
            return turn_away(worker, stream, peer, &why);
        };
        let session = NewSession {
            stream,
            peer,
            listener: self.address.load_full(),
            session_permit,
            share,
            login_permit,
        };
        let workers = shared.workers();
        let chosen = WorkerHandle::with_fewest(workers).filter(|place| *place != worker.place);
        match chosen.and_then(|place| workers.get(place)) {
            Some(other) => other.take_on(session),
            None => keep(session),
        }
    }
}
