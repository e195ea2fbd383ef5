//! The connection to the client: what is spoken on it, and how answers are sent.

use std::future::poll_fn;
use std::task::Poll;

use shardwright_wire::{CapabilityFlags, EofPacket, MysqlError, OkPacket, StatusFlags};

use super::{End, Flow};
use crate::channel::{Channel, Frame};

pub(super) struct Client {
    pub(super) channel: Channel,
    /// What both sides can do.
    pub(super) capabilities: CapabilityFlags,
    /// The command that was read last.
    pub(super) frame: Frame,
}

impl Client {
    pub(super) fn new(channel: Channel, capabilities: CapabilityFlags) -> Self {
        Self {
            channel,
            capabilities,
            frame: Frame::default(),
        }
    }

    pub(super) async fn send_ok(&mut self, seq: u8, info: &[u8], status: StatusFlags) -> Flow {
        let ok = OkPacket {
            status,
            info,
            ..OkPacket::default()
        };
        let mut payload = Vec::with_capacity(16 + info.len());
        ok.encode(&mut payload, self.capabilities);
        self.send(seq, &payload).await
    }

    pub(super) async fn send_eof(&mut self, seq: u8, status: StatusFlags) -> Flow {
        let mut payload = Vec::new();
        EofPacket { warnings: 0, status }.encode(&mut payload);
        self.send(seq, &payload).await
    }

    pub(super) async fn send_error(&mut self, seq: u8, error: &MysqlError) -> Flow {
        let mut payload = Vec::new();
        error.encode(&mut payload);
        self.send(seq, &payload).await
    }

    /// Sends one payload.
    pub(super) async fn send(&mut self, mut seq: u8, payload: &[u8]) -> Flow {
        self.channel.queue(&mut seq, payload);
        self.channel.flush().await.map_err(|_| End::ClientGone)
    }

    /// Sends whole packets.
    pub(super) async fn send_packets(&mut self, bytes: &[u8]) -> Flow {
        let channel = &mut self.channel;
        let sent = poll_fn(|cx| Poll::Ready(channel.send_or_queue(cx, bytes))).await;
        sent.map_err(|_| End::ClientGone)?;
        self.channel.flush().await.map_err(|_| End::ClientGone)
    }
}
