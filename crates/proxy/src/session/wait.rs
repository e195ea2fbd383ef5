//! Waiting for the client's next command, and for everything else that can end the wait.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Instant;

use shardwright_wire::{MysqlError, errors};

use super::holds::Holds;
use super::login::packet_error;
use super::{Held, Session};
use crate::channel::ReadError;

/// How a wait ended.
pub(super) enum Woken {
    /// A command is in the session's frame.
    Command,
    /// The session ends with this error, whose packet has this number.
    Refused(MysqlError, u8),
    /// The client has gone.
    Gone,
}

impl Session {
    /// Waits for the next command. Meanwhile brief holds end, and a new generation is taken up.
    pub(super) async fn next_command(&mut self) -> Woken {
        let idle_until = Instant::now() + self.worker.shared.limits.idle_timeout;
        let woken = poll_fn(|cx| self.poll_command(cx, idle_until)).await;
        self.slot.deadline.set(None);
        woken
    }

    fn poll_command(&mut self, cx: &mut Context<'_>, idle_until: Instant) -> Poll<Woken> {
        let limit = self.worker.shared.limits.max_packet;
        let received = self.client.poll_packet(cx, &mut self.frame, limit);
        self.renew_snapshot();
        match received {
            Poll::Ready(Ok(())) => return Poll::Ready(self.accept_command()),
            Poll::Ready(Err(ReadError::Packet(error))) => {
                return Poll::Ready(Woken::Refused(packet_error(&error), 1));
            }
            Poll::Ready(Err(ReadError::Closed | ReadError::Io(_))) => return Poll::Ready(Woken::Gone),
            Poll::Pending => {}
        }
        if self.is_draining() && self.client.unread() == 0 {
            return Poll::Ready(Woken::Refused(
                errors::SERVER_SHUTDOWN.with("Server shutdown in progress"),
                0,
            ));
        }
        let now = Instant::now();
        if idle_until <= now {
            return Poll::Ready(Woken::Refused(
                errors::CLIENT_INTERACTION_TIMEOUT
                    .with("The client was disconnected by the server because of inactivity."),
                0,
            ));
        }
        self.end_brief_holds(now);
        let next_end = self.held.iter().filter_map(|held| held.until).min();
        self.slot
            .deadline
            .set(Some(next_end.map_or(idle_until, |end| end.min(idle_until))));
        self.slot.register(cx);
        Poll::Pending
    }

    fn accept_command(&mut self) -> Woken {
        if self.frame.first_seq() != 0 {
            return Woken::Refused(
                errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order"),
                self.frame.next_seq(),
            );
        }
        if self.is_removed {
            let error = errors::ACCESS_DENIED.with(format_args!(
                "Access denied for user '{}'@'{}': the user was removed",
                self.user.name, self.client_ip
            ));
            return Woken::Refused(error, self.frame.next_seq());
        }
        self.end_brief_holds(Instant::now());
        Woken::Command
    }

    /// Lets go of what is kept for questions that were not asked in time.
    fn end_brief_holds(&mut self, now: Instant) {
        if self
            .held
            .iter()
            .all(|held| held.until.is_none_or(|until| until > now))
        {
            return;
        }
        for mut held in std::mem::take(&mut self.held) {
            if held.until.is_some_and(|until| until <= now) {
                held.holds = held.holds.without(Holds::BRIEF);
                held.until = None;
            }
            self.keep_or_give(held);
        }
    }

    /// Keeps a connection as long as there is a reason to, else gives it back.
    pub(super) fn keep_or_give(&mut self, held: Held) {
        if held.holds.is_empty() {
            self.worker.pool.give(held.backend);
        } else {
            self.held.push(held);
        }
    }
}
