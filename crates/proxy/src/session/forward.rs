//! Sending a statement to a server and its answer to the client, as the bytes come.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use shardwright_rules::Statement;
use shardwright_wire::statement::{PREPARED_ID_END, set_prepared_id};
use shardwright_wire::{CapabilityFlags, ResponseScanner, ResponseShape, ScanEvent, StatusFlags};

use super::Session;
use super::client::{Client, Wait};
use super::local_file::{FileError, FileTransfer, local_file};
use super::watch::Watch;
use crate::backend::{Backend, BackendError};
use crate::channel::Channel;
use crate::kill_target::Serving;

/// ER_OPTION_PREVENTS_STATEMENT
const PREVENTED: u16 = 1290;
/// ER_READ_ONLY_MODE
const READ_ONLY_MODE: u16 = 1836;
/// A server of a Galera cluster that is not in the majority, or has not joined, says that it does not know the command.
const NOT_PREPARED: u16 = 1047;

/// What to send, and how the answer looks.
pub(super) struct Transmission<'a> {
    /// Whole packets.
    pub(super) bytes: &'a [u8],
    pub(super) shape: ResponseShape,
    /// The sequence number of the answer's first packet.
    pub(super) next_seq: u8,
    /// The number that the client is to have for the statement it prepares.
    pub(super) statement_id: Option<u32>,
    /// The statement, whose file the server may ask the client for.
    pub(super) statement: Option<&'a Statement<'a>>,
    /// An error that says that nothing was executed is not for the client.
    pub(super) may_repeat: bool,
}

/// An answer that was forwarded whole; what it was is in the backend's scanner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traffic {
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    /// From sending to the end of the answer.
    pub(super) time: Duration,
    /// The end of the answer.
    pub(super) ended: Instant,
}

/// Why an answer was not forwarded whole.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client has gone.
    Client,
    /// The client has gone while it waited for the server.
    GivenUp,
    /// The server takes no writes now: it has executed nothing.
    NotRun,
    /// The session was killed.
    Killed {
        /// Whether the client has seen a part of the answer.
        is_partial: bool,
    },
    /// The server has.
    Backend {
        error: BackendError,
        /// Whether the client has seen a part of the answer.
        is_partial: bool,
    },
}

impl Session {
    /// Sends a statement on a connection and passes on the answer. It may take `limit_ms`, and as long as a statement of the user may.
    /// At most one read of a worker's scratch buffer is kept when the client is slow: then the server is not read from.
    pub(super) async fn transmit(
        &mut self,
        backend: &mut Backend,
        transmission: &Transmission<'_>,
        limit_ms: Option<u32>,
    ) -> Result<Traffic, Broken> {
        let time_limit = self.time_limit(limit_ms);
        let in_transaction = self.flags_of_transaction();
        let mut watch = Watch {
            worker: &self.worker,
            user: &self.login.user,
            handle: &self.handle,
            time_limit: time_limit.map(|limit| Box::pin(self.worker.shared.clock.sleep(limit))),
            ending: None,
        };
        let started = Instant::now();
        self.handle.start(started);
        self.client.wait = Wait::since(started);
        poll_fn(|cx| Poll::Ready(backend.channel.send_or_queue(cx, transmission.bytes)))
            .await
            .map_err(|error| lost(error.into()))?;
        if backend.is_resetting() {
            poll_fn(|cx| poll_reset(&mut self.client, backend, &mut watch, cx)).await?;
        }
        backend.scanner.begin(transmission.shape, transmission.next_seq);
        let is_one_of_several = self.client.splice.is_some();
        // The answer to COM_STMT_PREPARE has no status in its OK.
        if transmission.statement_id.is_none() {
            self.client.set_flags(transmission.next_seq, in_transaction);
        }
        let mut forwarding = Forwarding {
            client: &mut self.client,
            watch: &mut watch,
            server: Serving {
                member: &backend.member,
                key: &backend.key,
                thread_id: backend.thread_id,
                peer: &backend.peer,
            },
            scanner: &mut backend.scanner,
            head: transmission.statement_id.map(|id| {
                Box::new(Head {
                    id,
                    bytes: Vec::new(),
                })
            }),
            statement: transmission.statement,
            may_repeat: transmission.may_repeat,
            transfer: None,
            received: 0,
            forwarded: 0,
            is_complete: transmission.shape == ResponseShape::None,
            is_new: true,
        };
        let forwarded = poll_fn(|cx| forwarding.poll(cx, &mut backend.channel)).await;
        let bytes_received = forwarding.received;
        self.client.set_flags(transmission.next_seq, StatusFlags::empty());
        self.client.splice.take_if(|_| !is_one_of_several);
        forwarded?;
        let ended = Instant::now();
        backend.may_be_killed |= watch.finish().await;
        backend.note_answer();
        Ok(Traffic {
            bytes_sent: transmission.bytes.len() as u64,
            bytes_received,
            time: ended - started,
            ended,
        })
    }

    /// What the client is told of a transaction that was begun and that no server knows of yet, or that is open on another
    /// connection than that of the statement.
    pub(super) fn flags_of_transaction(&self) -> StatusFlags {
        let of_waiting = match self.pending.is_empty() {
            true => StatusFlags::empty(),
            false => self.pending.status(self.is_mariadb()),
        };
        of_waiting | self.held.status_of_transaction()
    }

    /// How long a statement may take; the user's own limit holds for all of them.
    fn time_limit(&self, limit_ms: Option<u32>) -> Option<Duration> {
        let of_user = self.login.user.user.statement_timeout_ms;
        let limits = [limit_ms, of_user].into_iter().flatten();
        let least = limits.filter(|limit_ms| *limit_ms > 0).min();
        least.map(|limit_ms| Duration::from_millis(u64::from(limit_ms)))
    }
}

/// Nothing of an answer has reached the client.
fn lost(error: BackendError) -> Broken {
    Broken::Backend {
        error,
        is_partial: false,
    }
}

/// Reads the answer to a reset that went ahead of the statement, while the client may go and its session be killed.
fn poll_reset(
    client: &mut Client,
    backend: &mut Backend,
    watch: &mut Watch<'_>,
    cx: &mut Context<'_>,
) -> Poll<Result<(), Broken>> {
    if let Poll::Ready(finished) = backend.poll_reset(cx) {
        return Poll::Ready(finished.map_err(lost));
    }
    if watch.poll(cx, &Serving::by(backend)).is_ready() {
        return Poll::Ready(Err(Broken::Killed { is_partial: false }));
    }
    client.poll_gone(cx).map(|()| Err(Broken::Client))
}

/// The start of an answer to COM_STMT_PREPARE, and the number that the client is to have.
struct Head {
    id: u32,
    bytes: Vec<u8>,
}

/// An answer on its way. What it seldom has is behind pointers: a session's future has room for all of it.
struct Forwarding<'a, 'w> {
    client: &'a mut Client,
    watch: &'a mut Watch<'w>,
    server: Serving<'a>,
    scanner: &'a mut ResponseScanner,
    /// Until the number is there that is to be replaced.
    head: Option<Box<Head>>,
    statement: Option<&'a Statement<'a>>,
    may_repeat: bool,
    /// The server waits for the client's file.
    transfer: Option<Box<FileTransfer>>,
    received: u64,
    forwarded: u64,
    is_complete: bool,
    /// Nothing was looked for yet. A server takes longer to answer than the proxy to look.
    is_new: bool,
}

impl Forwarding<'_, '_> {
    fn poll(&mut self, cx: &mut Context<'_>, backend: &mut Channel) -> Poll<Result<(), Broken>> {
        let polled = self.poll_traffic(cx, backend);
        if polled.is_pending() {
            if self.watch.poll(cx, &self.server).is_ready() {
                let is_partial = self.forwarded > 0;
                return Poll::Ready(Err(Broken::Killed { is_partial }));
            }
            if self.server.member.is_cut_off() {
                return Poll::Ready(Err(self.lost(BackendError::TakenOver)));
            }
        }
        polled
    }

    fn poll_traffic(&mut self, cx: &mut Context<'_>, backend: &mut Channel) -> Poll<Result<(), Broken>> {
        loop {
            match self.client.channel.poll_flush(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Broken::Client)),
                Poll::Pending => return Poll::Pending,
            }
            if let Some(transfer) = &mut self.transfer {
                match ready!(transfer.poll(cx, self.client, backend)) {
                    Ok(next_seq) => self.scanner.resume_after_infile(next_seq),
                    Err(FileError::Client) => return Poll::Ready(Err(Broken::Client)),
                    Err(FileError::Backend(error)) => return Poll::Ready(Err(self.lost(error))),
                }
                self.transfer = None;
            }
            // A server that answers before it has read everything, or instead of it, is heard all the same.
            let flushed = backend.poll_flush(cx);
            if self.is_complete && flushed.is_ready() {
                return Poll::Ready(Ok(()));
            }
            let arrived = match std::mem::take(&mut self.is_new) && backend.poll_heard(cx).is_pending() {
                true => Poll::Pending,
                false => backend.poll_arrived(cx, |_, cx, bytes| self.take(cx, bytes)),
            };
            match arrived {
                Poll::Ready(Ok(Ok(()))) => {}
                Poll::Ready(Ok(Err(broken))) => return Poll::Ready(Err(broken)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.lost(error.into()))),
                Poll::Pending => {
                    if let Poll::Ready(Err(error)) = flushed {
                        return Poll::Ready(Err(self.lost(error.into())));
                    }
                    return self.client.poll_gone(cx).map(|()| Err(self.left()));
                }
            }
        }
    }

    fn take(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<(), Broken> {
        if bytes.is_empty() {
            return Err(self.lost(BackendError::Closed));
        }
        self.received += bytes.len() as u64;
        let feed = match self.scanner.feed(bytes) {
            Ok(feed) => feed,
            Err(error) => return Err(self.lost(error.into())),
        };
        match feed.event {
            ScanEvent::More => self.client.wait.note_beginning(),
            ScanEvent::Complete if self.may_repeat && self.forwarded == 0 && self.is_not_run() => {
                return Err(Broken::NotRun);
            }
            ScanEvent::Complete if feed.consumed == bytes.len() => self.is_complete = true,
            ScanEvent::Complete => return Err(self.lost(shardwright_wire::ScanError::NotExpected.into())),
            ScanEvent::LocalInfile if feed.consumed == bytes.len() && self.may_ask() => {
                let limit = self.watch.worker.shared.limits.max_packet;
                self.client.receives_file();
                self.transfer = Some(Box::new(FileTransfer::new(limit)));
            }
            ScanEvent::LocalInfile => return Err(self.lost(shardwright_wire::ScanError::NotExpected.into())),
        }
        let sent = match self.head.take() {
            None => return self.pass(cx, bytes),
            Some(mut head) => {
                head.bytes.extend_from_slice(bytes);
                if head.bytes.len() < PREPARED_ID_END && !self.is_complete {
                    self.head = Some(head);
                    return Ok(());
                }
                // An error has no number to replace.
                set_prepared_id(&mut head.bytes, head.id);
                self.client.channel.send_or_queue(cx, &head.bytes)
            }
        };
        self.forwarded += bytes.len() as u64;
        sent.map_err(|_| Broken::Client)
    }

    /// Passes bytes of the answer on.
    fn pass(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<(), Broken> {
        self.forwarded += bytes.len() as u64;
        let Client { channel, splice, .. } = &mut *self.client;
        let sent = match splice {
            None => channel.send_or_queue(cx, bytes),
            Some(splice) => {
                let mut spliced = Vec::with_capacity(bytes.len());
                let taken = splice.take(bytes, self.is_complete, &mut spliced);
                taken.map_err(|error| self.lost(error.into()))?;
                self.client.channel.send_or_queue(cx, &spliced)
            }
        };
        sent.map_err(|_| Broken::Client)
    }

    /// Whether the file that the server asks for is the one that the statement names.
    fn may_ask(&self) -> bool {
        let takes = self
            .client
            .capabilities
            .contains(CapabilityFlags::CLIENT_LOCAL_FILES);
        if !takes || self.client.splice.is_some() {
            return false;
        }
        let named = self.statement.and_then(local_file);
        named.is_some() && named.as_deref() == self.scanner.outcome().infile.as_deref()
    }

    /// Whether the answer says that the server has executed nothing, because it takes no writes.
    fn is_not_run(&self) -> bool {
        let error = self.scanner.outcome().error.as_ref();
        error.is_some_and(|error| match error.code {
            NOT_PREPARED | READ_ONLY_MODE => true,
            // The option is one of several.
            PREVENTED => error.message.contains("read-only") || error.message.contains("read_only"),
            _ => false,
        })
    }

    /// The client has gone.
    fn left(&self) -> Broken {
        match self.received {
            0 => Broken::GivenUp,
            _ => Broken::Client,
        }
    }

    fn lost(&self, error: BackendError) -> Broken {
        Broken::Backend {
            error,
            is_partial: self.forwarded > 0,
        }
    }
}
