//! A worker's thread: it takes on sessions and runs them until the proxy stops.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use tokio::sync::mpsc;

use crate::bound::ClientStream;
use crate::channel::Channel;
use crate::connection_ids::ConnectionId;
use crate::event_loop::{self, Stream};
use crate::memory::Account;
use crate::session;
use crate::shared::{Phase, Shared};
use crate::socket::Socket;
use crate::stats::bump;
use crate::worker::Worker;
use crate::worker_handle::{Message, NewSession, WorkerHandle};

/// Starts a worker thread.
pub(crate) fn start(shared: Arc<Shared>, number: usize) -> io::Result<(WorkerHandle, JoinHandle<()>)> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(|error| io::Error::other(error.to_string()))?;
    let (sender, receiver) = mpsc::unbounded_channel();
    let load = Arc::new(AtomicUsize::new(0));
    let handle = WorkerHandle::new(sender, load.clone());
    let thread = event_loop::run_on_a_thread(format!("worker-{number}"), move || {
        let worker = Rc::new(Worker::new(shared, number, u64::from_le_bytes(seed)));
        run(worker, receiver, load)
    })?;
    Ok((handle, thread))
}

/// Runs a worker until the proxy stops.
pub(crate) async fn run(
    worker: Rc<Worker>,
    mut messages: mpsc::UnboundedReceiver<Message>,
    load: Arc<AtomicUsize>,
) {
    worker.changed();
    while worker.phase() != Phase::Stopping {
        match messages.recv().await {
            Some(message) => handle(&worker, message, &load),
            None => return,
        }
    }
}

fn handle(worker: &Rc<Worker>, message: Message, load: &Arc<AtomicUsize>) {
    match message {
        Message::Session(session) => spawn_session(worker.clone(), session, load.clone()),
        Message::Accept(accepting) => {
            let (here, load) = (worker.clone(), load.clone());
            let keep = move |session| {
                load.fetch_add(1, Ordering::Relaxed);
                spawn_session(here.clone(), session, load.clone());
            };
            event_loop::spawn(accepting.run(worker.clone(), keep));
        }
        Message::Wake => worker.changed(),
        Message::Sweep => worker.sweep(),
        Message::Kill(request) => worker.kill(request),
        Message::Release(wanted) => worker.pool.release(&wanted),
        // Who asked may have gone; then nobody misses the answer.
        Message::Occupants(hostgroup, sender) => {
            let _gone = sender.send(worker.occupants(hostgroup));
        }
        Message::Sessions(sender) => {
            let _gone = sender.send(worker.session_figures());
        }
        Message::Figures(sender) => {
            let _gone = sender.send(worker.counters.figures(worker.pool.figures()));
        }
        Message::TakeDigests(sender) => {
            let _gone = sender.send(worker.counters.take_digests());
        }
    }
}

/// Takes the session out of the worker's books, however it ends.
struct SessionEntry {
    worker: Rc<Worker>,
    id: ConnectionId,
    load: Arc<AtomicUsize>,
}

impl Drop for SessionEntry {
    fn drop(&mut self) {
        self.worker.forget(self.id.id);
        self.load.fetch_sub(1, Ordering::Relaxed);
        if std::thread::panicking() {
            bump(&self.worker.counters.totals.session_panics);
        }
    }
}

/// Serves a client, which `load` counts already.
fn spawn_session(worker: Rc<Worker>, new: NewSession, load: Arc<AtomicUsize>) {
    let (id, handle) = worker.remember();
    let connection_id = id.id;
    let entry = SessionEntry {
        id,
        worker: worker.clone(),
        load,
    };
    bump(&worker.counters.totals.sessions);
    // A panic ends this task alone, and the parts of the session are dropped on the way.
    event_loop::spawn(async move {
        let _entry = entry;
        let watched = match new.stream {
            ClientStream::Tcp(stream) => Stream::new(stream).map(Socket::Tcp),
            ClientStream::Unix(stream) => Stream::new(stream).map(Socket::Unix),
        };
        let socket = match watched {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!(%error, "a client connection cannot be watched");
                return;
            }
        };
        let channel = Channel::of_client(socket, worker.scratch.clone(), Account::new(new.share));
        let _permit = new.session_permit;
        let arrival = session::Arrival {
            connection_id,
            handle,
            channel,
            peer: new.peer,
            listener: new.listener,
            login_permit: new.login_permit,
        };
        session::serve(worker, arrival).await;
    });
}
