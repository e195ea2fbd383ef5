//! Statements that end before their server has answered: KILL, a time limit, a client that has gone.

use std::future::poll_fn;
use std::task::Poll;

use shardwright_rules::OnClientGone;
use shardwright_sql::Shape;
use shardwright_wire::{Command, Outcome, errors};
use tokio::sync::oneshot;

use super::checkout_error::CheckoutError;
use super::held::Held;
use super::kill_statement::KillStatement;
use super::watch::{Watch, end};
use super::{Flow, Session};
use crate::backend::{Backend, BackendError};
use crate::event_loop;
use crate::kill::{
    KillOrder, KillRequest, KillScope, Killed, connection_killed, interrupted, not_told, unknown_thread,
};
use crate::kill_target::Serving;

impl Session {
    /// A command of the proxy's own that may wait for other sessions. Meanwhile the client may go, and the session be killed.
    pub(super) async fn exchange_waiting(
        &mut self,
        backend: &mut Backend,
        command: Command<'_>,
    ) -> Result<Outcome, CheckoutError> {
        let target = Serving::by(backend).target();
        let mut watch = Watch {
            worker: &self.worker,
            user: &self.login.user,
            handle: &self.handle,
            time_limit: None,
            ending: None,
        };
        let client = &mut self.client;
        let mut exchange = Box::pin(backend.exchange_waiting(command));
        let outcome = poll_fn(|cx| {
            if let Poll::Ready(outcome) = exchange.as_mut().poll(cx) {
                return Poll::Ready(outcome.map_err(|error| error.for_client()));
            }
            let killed = watch.poll(cx, &target.serving()).map(|()| connection_killed());
            let gone = client.poll_gone(cx).map(|()| BackendError::Closed.for_client());
            match (killed, gone) {
                (Poll::Ready(error), _) | (_, Poll::Ready(error)) => Poll::Ready(Err(error)),
                _ => Poll::Pending,
            }
        });
        let outcome = outcome.await.map_err(CheckoutError::Fatal);
        drop(exchange);
        let outcome = outcome?;
        backend.may_be_killed |= watch.finish().await;
        Ok(outcome)
    }

    /// The client has gone while a server worked at its statement.
    pub(super) fn abandon(&self, held: Held, shape: &Shape) {
        let is_ended = match self.login.snapshot.on_client_gone {
            OnClientGone::Finish => false,
            OnClientGone::Kill => true,
            OnClientGone::KillReads => shape.read_hazards.is_empty(),
        };
        if !is_ended {
            return;
        }
        let order = KillOrder {
            scope: KillScope::Connection,
            answer: None,
        };
        let ended = end(
            &self.worker,
            &self.login.user,
            Serving::by(&held.backend).target(),
            order,
        );
        // The connection counts until the server has ended it.
        event_loop::spawn(async move {
            if let Err(error) = ended.await {
                tracing::error!(%error, "ending a statement has failed");
            }
            drop(held);
        });
    }

    /// Ends the session with this number, or its statement.
    pub(super) async fn kill(&mut self, id: u32, scope: KillScope, seq: u8) -> Flow {
        if id == self.login.connection_id {
            return match scope {
                KillScope::Query => self.refuse(seq, interrupted()).await,
                KillScope::Connection => self.refuse_and_close(connection_killed(), seq).await,
            };
        }
        let shared = &self.worker.shared;
        let (answer, answered) = oneshot::channel();
        let request = KillRequest {
            id,
            owner: Some(self.login.user.name.clone()),
            order: KillOrder {
                scope,
                // This session may end before it hears the answer.
                answer: Some(Box::new(|killed| {
                    let _gone = answer.send(killed);
                })),
            },
        };
        shared.kill(request);
        let killed = tokio::select! {
            answered = answered => answered.unwrap_or(Killed::Done),
            // A server that does not answer is given time to connect and to kill.
            () = shared.clock.sleep(2 * shared.limits.connect_timeout) => Killed::Done,
            // Two sessions that kill each other.
            () = self.handle.ordered() => Killed::Done,
        };
        match killed {
            Killed::Done => self.send_ok(seq, b"").await,
            Killed::Unknown => self.refuse(seq, unknown_thread(id)).await,
            Killed::Denied => {
                let error = errors::KILL_DENIED.with(format_args!("You are not owner of thread {id}"));
                self.refuse(seq, error).await
            }
            Killed::Failed(why) => self.refuse(seq, not_told(&why)).await,
        }
    }

    /// The KILL statement.
    pub(super) async fn kill_statement(&mut self, text: &[u8], seq: u8) -> Flow {
        let Some(KillStatement { scope, id }) = KillStatement::read(text) else {
            let error = errors::UNKNOWN_COM
                .with("through the proxy, KILL takes QUERY or CONNECTION and a number that CONNECTION_ID() has said");
            return self.refuse(seq, error).await;
        };
        match id.map_or(Ok(self.login.connection_id), u32::try_from) {
            Ok(id) => self.kill(id, scope, seq).await,
            Err(_) => {
                let error = unknown_thread(id.unwrap_or_default());
                self.refuse(seq, error).await
            }
        }
    }
}
