//! Sending a statement to a server and its answer to the client, as the bytes come.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use shardwright_wire::statement::{PREPARED_ID_END, set_prepared_id};
use shardwright_wire::{ResponseScanner, ResponseShape, ScanEvent};

use crate::backend::{Backend, BackendError};
use crate::channel::Channel;

/// Bytes that a client may send ahead while its statement runs.
const MAX_SENT_AHEAD: usize = 64 * 1024;

/// What to send, and how the answer looks.
pub(super) struct Transmission<'a> {
    /// Whole packets.
    pub(super) bytes: &'a [u8],
    pub(super) shape: ResponseShape,
    /// The sequence number of the answer's first packet.
    pub(super) next_seq: u8,
    /// The number that the client is to have for the statement it prepares.
    pub(super) statement_id: Option<u32>,
}

/// An answer that was forwarded whole; what it was is in the backend's scanner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    /// From sending to the end of the answer.
    pub(super) time: Duration,
}

/// Why an answer was not forwarded whole.
#[derive(Debug)]
pub(super) enum Broken {
    /// The client has gone.
    Client,
    /// The server has.
    Backend {
        error: BackendError,
        /// Whether the client has seen a part of the answer.
        is_partial: bool,
    },
}

/// Sends and forwards. At most one read of a worker's scratch buffer is kept when the client is slow: then the server
/// is not read from.
pub(super) async fn forward(
    client: &mut Channel,
    backend: &mut Backend,
    transmission: &Transmission<'_>,
) -> Result<Traffic, Broken> {
    let started = Instant::now();
    backend.scanner.begin(transmission.shape, transmission.next_seq);
    let mut unsent = Some(transmission.bytes);
    let mut forwarding = Forwarding {
        client,
        scanner: &mut backend.scanner,
        head: transmission.statement_id.map(|id| (id, Vec::new())),
        received: 0,
        forwarded: 0,
        is_complete: transmission.shape == ResponseShape::None,
    };
    poll_fn(|cx| {
        if let Some(bytes) = unsent.take()
            && let Err(error) = backend.channel.send_or_queue(cx, bytes)
        {
            return Poll::Ready(Err(forwarding.lost(error.into())));
        }
        forwarding.poll(cx, &mut backend.channel)
    })
    .await?;
    Ok(Traffic {
        bytes_sent: transmission.bytes.len() as u64,
        bytes_received: forwarding.received,
        time: started.elapsed(),
    })
}

struct Forwarding<'a> {
    client: &'a mut Channel,
    scanner: &'a mut ResponseScanner,
    /// The start of an answer in which a number is to be replaced, until it is there.
    head: Option<(u32, Vec<u8>)>,
    received: u64,
    forwarded: u64,
    is_complete: bool,
}

impl Forwarding<'_> {
    fn poll(&mut self, cx: &mut Context<'_>, backend: &mut Channel) -> Poll<Result<(), Broken>> {
        loop {
            match self.client.poll_flush(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(Err(Broken::Client)),
                Poll::Pending => return Poll::Pending,
            }
            // A server that answers before it has read everything, or instead of it, is heard all the same.
            let flushed = backend.poll_flush(cx);
            if self.is_complete && flushed.is_ready() {
                return Poll::Ready(Ok(()));
            }
            match backend.poll_bytes(cx, |_, cx, bytes| self.take(cx, bytes)) {
                Poll::Ready(Ok(Ok(()))) => {}
                Poll::Ready(Ok(Err(broken))) => return Poll::Ready(Err(broken)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(self.lost(error.into()))),
                Poll::Pending => {
                    if let Poll::Ready(Err(error)) = flushed {
                        return Poll::Ready(Err(self.lost(error.into())));
                    }
                    return self.watch_client(cx);
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
            ScanEvent::More => {}
            ScanEvent::Complete if feed.consumed == bytes.len() => self.is_complete = true,
            ScanEvent::Complete => return Err(self.lost(shardwright_wire::ScanError::NotExpected.into())),
            // A file is only asked for where LOCAL INFILE was negotiated, and it was not.
            ScanEvent::LocalInfile => return Err(self.lost(shardwright_wire::ScanError::NotExpected.into())),
        }
        let sent = match self.head.take() {
            None => self.client.send_or_queue(cx, bytes),
            Some((id, mut head)) => {
                head.extend_from_slice(bytes);
                if head.len() < PREPARED_ID_END && !self.is_complete {
                    self.head = Some((id, head));
                    return Ok(());
                }
                // An error has no number to replace.
                set_prepared_id(&mut head, id);
                self.client.send_or_queue(cx, &head)
            }
        };
        self.forwarded += bytes.len() as u64;
        sent.map_err(|_| Broken::Client)
    }

    /// While the server works, notices a client that goes away.
    fn watch_client(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        while self.client.unread() < MAX_SENT_AHEAD {
            match self.client.poll_fill(cx) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(Broken::Client)),
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => break,
            }
        }
        Poll::Pending
    }

    fn lost(&self, error: BackendError) -> Broken {
        Broken::Backend {
            error,
            is_partial: self.forwarded > 0,
        }
    }
}
