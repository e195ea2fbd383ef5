//! Waiting for the client's next command, and for everything else that can end the wait.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use shardwright_wire::{MysqlError, errors};

use super::Session;
use super::client::Client;
use super::holds::Holds;
use super::proof::packet_error;
use crate::channel::ReadError;
use crate::kill::{KillScope, Killed, connection_killed};
use crate::memory::OutOfMemory;

/// How a wait ended.
pub(super) enum Woken {
    /// A command is in the session's frame.
    Command,
    /// The session ends with this error, whose packet has this sequence number.
    Refused { error: MysqlError, seq: u8 },
    /// A command is answered with this error, because there was no room for it.
    LeftOut { error: OutOfMemory, seq: u8 },
    /// The client has gone, or what its session had on a server has.
    Gone,
}

impl Session {
    /// Waits for the next command. Meanwhile brief holds end, and a new generation is taken up.
    pub(super) async fn next_command(&mut self) -> Woken {
        self.handle
            .occupy_only(self.held.hostgroups_with(Holds::UNFINISHED));
        let limit = self.worker.shared.limits.idle_timeout;
        let own_s = self.settings.wait_timeout_s;
        let idle_for = own_s.map_or(limit, |own_s| Duration::from_secs(own_s.into()).min(limit));
        let began = self.answered_at.take().unwrap_or_else(Instant::now);
        let mut now = Some(began);
        let woken = poll_fn(|cx| self.poll_command(cx, began + idle_for, now.take())).await;
        self.handle.deadline.set(None);
        woken
    }

    /// `now`: where it is known, as when a wait begins.
    fn poll_command(
        &mut self,
        cx: &mut Context<'_>,
        idle_until: Instant,
        now: Option<Instant>,
    ) -> Poll<Woken> {
        let limit = self.worker.shared.limits.max_packet;
        let Client { channel, frame, .. } = &mut self.client;
        if let Some(order) = self.handle.take_order() {
            let scope = order.scope;
            order.done(Killed::Done);
            if scope == KillScope::Connection {
                return Poll::Ready(refused(connection_killed(), 0));
            }
        }
        // A wait begins right behind an answer: nothing has come as a rule.
        let received = match now.is_some() && channel.poll_heard(cx).is_pending() {
            true => Poll::Pending,
            false => channel.poll_packet(cx, frame, limit),
        };
        self.renew_snapshot();
        match received {
            Poll::Ready(Ok(())) => return Poll::Ready(self.accept_command()),
            Poll::Ready(Err(ReadError::Packet(error))) => {
                return Poll::Ready(refused(packet_error(&error), 1));
            }
            Poll::Ready(Err(ReadError::LeftOut { error, next_seq })) => {
                return Poll::Ready(Woken::LeftOut { error, seq: next_seq });
            }
            Poll::Ready(Err(ReadError::OutOfMemory(error))) => {
                let is_idle = self.client.channel.unread() == 0;
                self.client.channel.give_up();
                return Poll::Ready(refused(error.error(), u8::from(!is_idle)));
            }
            Poll::Ready(Err(ReadError::Closed | ReadError::Io(_))) => return Poll::Ready(Woken::Gone),
            Poll::Pending => {}
        }
        if self.is_draining() && self.client.channel.unread() == 0 {
            let error = errors::SERVER_SHUTDOWN.with("Server shutdown in progress");
            return Poll::Ready(refused(error, 0));
        }
        let now = now.unwrap_or_else(Instant::now);
        if idle_until <= now {
            let error = errors::CLIENT_INTERACTION_TIMEOUT
                .with("The client was disconnected by the server because of inactivity.");
            return Poll::Ready(refused(error, 0));
        }
        self.held.end_brief_holds(|| now, &self.worker.pool);
        // A server that ends a session closes its connection: so does the proxy where the session had more there than what
        // can be repeated.
        let lost = self.held.poll_lost(cx) - Holds::REPEATABLE;
        if !lost.is_empty() {
            let session = self.login.connection_id;
            tracing::warn!(
                session,
                holds = lost.texts(),
                "a server closed a connection that a session held"
            );
            return Poll::Ready(Woken::Gone);
        }
        let next_end = self.held.next_end();
        self.handle
            .deadline
            .set(Some(next_end.map_or(idle_until, |end| end.min(idle_until))));
        self.handle.register(cx);
        Poll::Pending
    }

    fn accept_command(&mut self) -> Woken {
        let frame = &self.client.frame;
        if frame.first_seq() != 0 {
            let error = errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order");
            return refused(error, frame.next_seq());
        }
        if self.login.is_removed {
            let error = errors::ACCESS_DENIED.with(format_args!(
                "Access denied for user '{}'@'{}': the user was removed",
                self.login.user.name, self.login.client_ip
            ));
            return refused(error, frame.next_seq());
        }
        self.held.end_brief_holds(Instant::now, &self.worker.pool);
        Woken::Command
    }
}

fn refused(error: MysqlError, seq: u8) -> Woken {
    Woken::Refused { error, seq }
}
