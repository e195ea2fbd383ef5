//! A worker as other threads see it: what it can be told, and how.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc as std_mpsc};

use shardwright_rules::HostgroupId;
use tokio::sync::mpsc;

use crate::bound::ClientStream;
use crate::entrance::Accepting;
use crate::half_open::LoginPermit;
use crate::kill::KillRequest;
use crate::listen_address::{ListenAddress, Peer};
use crate::memory::Share;
use crate::permit::Permit;
use crate::pool::Wanted;
use crate::session_handle::SessionFigures;
use crate::stats::{DigestFigures, WorkerFigures};

/// What a worker is told.
pub(crate) enum Message {
    /// Take on a session.
    Session(NewSession),
    /// Accept clients at a place.
    Accept(Accepting),
    /// Something that everybody looks at has changed: the generation or the phase.
    Wake,
    /// The time of a session or of an idle connection may have come.
    Sweep,
    /// End a session, or its statement.
    Kill(KillRequest),
    /// A session elsewhere waits for a connection.
    Release(Wanted),
    /// Say how many sessions have something unfinished in this hostgroup.
    Occupants(HostgroupId, std_mpsc::Sender<usize>),
    /// Say the sessions that are logged in.
    Sessions(std_mpsc::Sender<Vec<SessionFigures>>),
    /// Say what was counted.
    Figures(std_mpsc::Sender<WorkerFigures>),
    /// Say the digests and forget them.
    TakeDigests(std_mpsc::Sender<Vec<DigestFigures>>),
}

/// A client connection that was accepted.
pub(crate) struct NewSession {
    pub(crate) stream: ClientStream,
    pub(crate) peer: Peer,
    /// Where it connected to.
    pub(crate) listener: Arc<ListenAddress>,
    pub(crate) session_permit: Permit,
    /// Of the memory that all clients have.
    pub(crate) share: Share,
    pub(crate) login_permit: LoginPermit,
}

/// A worker as other threads see it.
#[derive(Clone)]
pub(crate) struct WorkerHandle {
    sender: mpsc::UnboundedSender<Message>,
    load: Arc<AtomicUsize>,
}

impl WorkerHandle {
    /// A handle of a worker that receives from `sender` and counts its sessions in `load`.
    pub(crate) fn new(sender: mpsc::UnboundedSender<Message>, load: Arc<AtomicUsize>) -> Self {
        Self { sender, load }
    }

    /// How many sessions it has.
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    /// The place of the worker with the fewest sessions, of several the first; of those that have not ended.
    pub(crate) fn with_fewest(workers: &[Self]) -> Option<usize> {
        let running = workers
            .iter()
            .enumerate()
            .filter(|(_, worker)| !worker.sender.is_closed());
        running
            .min_by_key(|(_, worker)| worker.load())
            .map(|(place, _)| place)
    }

    /// Hands over a session; it is closed if the worker has ended.
    pub(crate) fn take_on(&self, session: NewSession) {
        self.load.fetch_add(1, Ordering::Relaxed);
        if self.sender.send(Message::Session(session)).is_err() {
            self.load.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Has the worker accept clients at a place.
    pub(crate) fn accept(&self, accepting: Accepting) {
        self.tell(Message::Accept(accepting));
    }

    /// Makes the worker look at the generation and the phase.
    pub(crate) fn wake(&self) {
        self.tell(Message::Wake);
    }

    /// Makes the worker look at the time.
    pub(crate) fn sweep(&self) {
        self.tell(Message::Sweep);
    }

    pub(crate) fn kill(&self, request: KillRequest) {
        self.tell(Message::Kill(request));
    }

    pub(crate) fn release(&self, wanted: Wanted) {
        self.tell(Message::Release(wanted));
    }

    pub(crate) fn occupants(&self, hostgroup: HostgroupId) -> Option<usize> {
        self.ask(|sender| Message::Occupants(hostgroup, sender))
    }

    pub(crate) fn sessions(&self) -> Option<Vec<SessionFigures>> {
        self.ask(Message::Sessions)
    }

    pub(crate) fn figures(&self) -> Option<WorkerFigures> {
        self.ask(Message::Figures)
    }

    pub(crate) fn take_digests(&self) -> Option<Vec<DigestFigures>> {
        self.ask(Message::TakeDigests)
    }

    /// Waits for an answer; `None`: the worker has ended.
    fn ask<T>(&self, question: impl FnOnce(std_mpsc::Sender<T>) -> Message) -> Option<T> {
        let (sender, receiver) = std_mpsc::channel();
        self.tell(question(sender));
        receiver.recv().ok()
    }

    /// A worker that has ended hears nothing, and has nothing to do about it.
    fn tell(&self, message: Message) {
        let _ended = self.sender.send(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(load: usize) -> (WorkerHandle, mpsc::UnboundedReceiver<Message>) {
        let (sender, messages) = mpsc::unbounded_channel();
        (WorkerHandle::new(sender, Arc::new(load.into())), messages)
    }

    #[test]
    fn clients_go_to_the_first_worker_with_the_fewest_sessions_that_runs() {
        let (workers, mut messages): (Vec<_>, Vec<_>) = [0, 3, 2, 2].map(worker).into_iter().unzip();
        assert_eq!(WorkerHandle::with_fewest(&workers), Some(0));
        messages.remove(0);
        assert_eq!(WorkerHandle::with_fewest(&workers), Some(2));
        messages.clear();
        assert_eq!(WorkerHandle::with_fewest(&workers), None);
    }
}
