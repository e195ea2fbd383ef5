//! The connection to the client: what is spoken on it, and how answers are sent.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use shardwright_wire::{
    AnswerSplice, CapabilityFlags, Dialect, EofPacket, MariadbCapabilities, MysqlError, OkPacket,
    StatusFlags, write_packet,
};

use super::{End, Flow};
use crate::channel::{Channel, Frame};

/// Bytes that a client may send ahead while its statement runs.
const MAX_SENT_AHEAD: usize = 64 * 1024;

const EXTENDED_METADATA: MariadbCapabilities = MariadbCapabilities::MARIADB_CLIENT_EXTENDED_METADATA;

pub(super) struct Client {
    pub(super) channel: Channel,
    /// What both sides can do.
    pub(super) capabilities: CapabilityFlags,
    /// Column definitions have MariaDB's extended metadata.
    pub(super) has_extended_metadata: bool,
    /// The client was offered MariaDB's bulk executions, and takes the offer.
    pub(super) takes_bulk: bool,
    /// The command that was read last.
    pub(super) frame: Frame,
    /// Several statements in one text are taken.
    pub(super) takes_several: bool,
    /// Joins answers while the statements of one text run.
    pub(super) splice: Option<AnswerSplice>,
    /// How long the answer to the latest statement takes to begin; here, because a statement on its way is small.
    pub(super) wait: Wait,
}

/// How long an answer takes to begin, for which no client can be to blame.
pub(super) struct Wait {
    sent: Instant,
    /// Set if the answer does not come at once.
    began: Option<Instant>,
}

impl Wait {
    pub(super) fn since(sent: Instant) -> Self {
        Self { sent, began: None }
    }

    /// A part of the answer is there.
    pub(super) fn note_beginning(&mut self) {
        self.began.get_or_insert_with(Instant::now);
    }

    /// From sending to the beginning of an answer that ended then.
    pub(super) fn until_answered(&self, ended: Instant) -> Duration {
        self.began.unwrap_or(ended) - self.sent
    }

    pub(super) fn so_far(&self) -> Duration {
        self.sent.elapsed()
    }
}

impl Client {
    pub(super) fn new(channel: Channel, dialect: Dialect) -> Self {
        let Dialect {
            capabilities,
            mariadb_capabilities,
        } = dialect;
        Self {
            channel,
            capabilities,
            has_extended_metadata: mariadb_capabilities.contains(EXTENDED_METADATA),
            takes_bulk: mariadb_capabilities
                .contains(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS),
            frame: Frame::default(),
            takes_several: capabilities.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS),
            splice: None,
            wait: Wait::since(Instant::now()),
        }
    }

    /// `session_state`: changes that a client is told of if it wants to be.
    pub(super) async fn send_ok(
        &mut self,
        seq: u8,
        info: &[u8],
        status: StatusFlags,
        session_state: &[u8],
    ) -> Flow {
        let ok = OkPacket {
            status,
            info,
            session_state,
            ..OkPacket::default()
        };
        let mut payload = Vec::with_capacity(16 + info.len() + session_state.len());
        ok.encode(&mut payload, self.capabilities);
        self.send(seq, &payload).await
    }

    /// How results are laid out for the client.
    pub(super) fn dialect(&self) -> Dialect {
        let mut mariadb_capabilities = MariadbCapabilities::empty();
        mariadb_capabilities.set(EXTENDED_METADATA, self.has_extended_metadata);
        Dialect {
            capabilities: self.capabilities,
            mariadb_capabilities,
        }
    }

    /// Whether the client's statements come with attributes.
    pub(super) fn has_attributes(&self) -> bool {
        self.capabilities
            .contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES)
    }

    /// Whether the client is told of changes in its session.
    pub(super) fn tracks_session(&self) -> bool {
        self.capabilities.contains(CapabilityFlags::CLIENT_SESSION_TRACK)
    }

    pub(super) async fn send_eof(&mut self, seq: u8, status: StatusFlags) -> Flow {
        let mut payload = Vec::new();
        if self.capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF) {
            let end = OkPacket {
                status,
                ..OkPacket::default()
            };
            end.encode_end_of_rows(&mut payload, self.capabilities);
        } else {
            EofPacket { warnings: 0, status }.encode(&mut payload);
        }
        self.send(seq, &payload).await
    }

    pub(super) async fn send_error(&mut self, seq: u8, error: &MysqlError) -> Flow {
        let mut payload = Vec::new();
        error.encode(&mut payload);
        self.send(seq, &payload).await
    }

    /// Compresses from here on, where the client has asked for it.
    pub(super) fn begin_compression(&mut self) {
        if self.capabilities.contains(CapabilityFlags::CLIENT_COMPRESS) {
            self.channel.compress();
        }
    }

    /// A command runs from here on, with the memory that was reserved for it.
    #[inline]
    pub(super) fn begin_command(&mut self) {
        if let Some(account) = self.channel.account() {
            account.begin_command();
        }
    }

    /// The client sends a file from here on.
    pub(super) fn receives_file(&mut self) {
        if let Some(account) = self.channel.account() {
            account.receives_file();
        }
    }

    /// The command was answered.
    #[inline]
    pub(super) fn end_command(&mut self) {
        if let Some(account) = self.channel.account() {
            account.end_command();
        }
    }

    /// While a server works: ready when the client has gone. What it sends ahead is kept, up to a limit.
    pub(super) fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.channel.unread() == 0 && self.channel.poll_heard(cx).is_pending() {
            return Poll::Pending;
        }
        while self.channel.unread() < MAX_SENT_AHEAD {
            match self.channel.poll_fill_ahead(cx) {
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => break,
            }
        }
        Poll::Pending
    }

    /// Sets flags in the answers that are forwarded from here on; the next begins with packet `seq`.
    pub(super) fn set_flags(&mut self, seq: u8, flags: StatusFlags) {
        if !flags.is_empty() {
            self.splice.get_or_insert_with(|| AnswerSplice::new(seq));
        }
        if let Some(splice) = &mut self.splice {
            splice.set_flags(flags);
        }
    }

    /// Sends one payload.
    pub(super) async fn send(&mut self, mut seq: u8, payload: &[u8]) -> Flow {
        if self.splice.is_some() {
            let mut bytes = Vec::with_capacity(payload.len() + 4);
            write_packet(&mut bytes, &mut seq, payload);
            return self.send_packets(&bytes).await;
        }
        self.channel.queue(&mut seq, payload);
        self.channel.flush().await.map_err(|_| End::ClientGone)
    }

    /// Sends the packets of a whole answer.
    pub(super) async fn send_packets(&mut self, bytes: &[u8]) -> Flow {
        let mut spliced = Vec::new();
        let bytes = match &mut self.splice {
            Some(splice) => {
                let taken = splice.take(bytes, true, &mut spliced);
                taken.map_err(|_| End::Closed)?;
                &spliced
            }
            None => bytes,
        };
        let channel = &mut self.channel;
        let sent = poll_fn(|cx| Poll::Ready(channel.send_or_queue(cx, bytes))).await;
        sent.map_err(|_| End::ClientGone)?;
        self.channel.flush().await.map_err(|_| End::ClientGone)
    }
}
