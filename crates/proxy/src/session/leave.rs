//! Letting go: COM_RESET_CONNECTION, COM_CHANGE_USER, and the end of a session.

use std::rc::Rc;
use std::sync::Arc;

use shardwright_wire::auth::{AuthSwitch, NativeVerifier, Scramble};
use shardwright_wire::{MysqlError, errors};

use super::holds::Holds;
use super::login::{collation, schema_name, user_permit};
use super::set::SetHistory;
use super::{End, Flow, Held, RESET_TIMEOUT, Session, malformed};
use crate::channel::{Frame, ReadError};
use crate::snapshot::UserEntry;
use crate::stats::bump;
use crate::worker::Worker;
use shardwright_wire::ChangeUser;

impl Session {
    /// COM_RESET_CONNECTION: everything but the user and the schema is as after the login.
    pub(super) async fn reset_connection(&mut self, seq: u8) -> Flow {
        self.forget_state();
        self.send_ok(seq, b"").await
    }

    fn forget_state(&mut self) {
        self.release_everything();
        self.names = None;
        self.autocommit = true;
        self.pending.clear();
        self.next_transaction = None;
        self.next_query_flag_in = None;
        self.last_write = None;
        self.history = SetHistory::default();
        self.previous = None;
        self.warned_on = None;
        self.statements.clear();
    }

    /// Gives every connection back once it has forgotten the session; those that cannot are closed.
    pub(super) fn release_everything(&mut self) {
        for held in std::mem::take(&mut self.held) {
            // A prepared XA transaction belongs to nobody but this session; only closing leaves it as a server would.
            // What a switch of autocommit has hidden from the server outlasts everything else.
            if held.holds.intersects(Holds::UNTIL_CLOSED) {
                continue;
            }
            if held.holds.is_empty() {
                self.worker.pool.give(held.backend);
            } else {
                tokio::task::spawn_local(clean(self.worker.clone(), held));
            }
        }
    }

    /// COM_CHANGE_USER: another login on the same connection.
    pub(super) async fn change_user(&mut self, body: &[u8], seq: u8) -> Flow {
        let change = match ChangeUser::decode(body, self.capabilities) {
            Ok(change) => change,
            Err(error) => return self.send_error(seq, &malformed(error)).await,
        };
        let name = std::str::from_utf8(change.user).ok().map(str::to_owned);
        let database = change.database.to_vec();
        let new_collation = change.collation.map(|id| u8::try_from(id).unwrap_or_default());
        let scramble = match Scramble::generate() {
            Ok(scramble) => scramble,
            Err(error) => {
                tracing::error!(%error, "no random bytes for a challenge");
                return Err(End::Closed);
            }
        };
        // The answer in the command is to the greeting's challenge, which may have been seen before: ask again.
        self.send(seq, &AuthSwitch::to_native(&scramble)).await?;
        let mut frame = Frame::default();
        let timeout = self.worker.shared.limits.handshake_timeout;
        let answer = self
            .client
            .packet(&mut frame, shardwright_wire::PRE_AUTH_MAX_PAYLOAD);
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(())) => {}
            Ok(Err(ReadError::Packet(_))) | Err(_) => return Err(End::Closed),
            Ok(Err(_)) => return Err(End::ClientGone),
        }
        let seq = frame.next_seq();
        match self.become_user(name.as_deref(), &database, new_collation, &frame, &scramble) {
            Ok(()) => self.send_ok(seq, b"").await,
            Err(error) => {
                bump(&self.worker.counters.totals.logins_denied);
                self.refuse_and_close(&error, seq).await
            }
        }
    }

    fn become_user(
        &mut self,
        name: Option<&str>,
        database: &[u8],
        new_collation: Option<u8>,
        answer: &Frame,
        scramble: &Scramble,
    ) -> Result<(), MysqlError> {
        let snapshot = self.worker.snapshot();
        let user = name.and_then(|name| snapshot.users.get(name)).cloned();
        let verifier =
            |user: &Arc<UserEntry>| user.credentials.as_ref().map(|credentials| credentials.verifier);
        let is_right = |verifier: NativeVerifier| verifier.verify(answer.payload(), scramble).is_some();
        let Some(user) = user.filter(|user| verifier(user).is_some_and(is_right)) else {
            return Err(errors::ACCESS_DENIED.with(format_args!(
                "Access denied for user '{}'@'{}' (using password: {})",
                name.unwrap_or_default(),
                self.client_ip,
                if answer.payload().is_empty() { "NO" } else { "YES" }
            )));
        };
        let schema = match database {
            [] => user.user.default_schema.as_deref().map(Arc::from),
            name => Some(schema_name(name)?),
        };
        let collation = match new_collation {
            Some(id) => collation(id)?,
            None => self.collation,
        };
        let permit = user_permit(&self.worker, &user)?;
        self.forget_state();
        self.snapshot = snapshot;
        self.user = user;
        self.is_removed = false;
        self._user_permit = permit;
        self.schema = schema;
        self.collation = collation;
        Ok(())
    }
}

/// Resets a connection, which rolls back what is open, and gives it back; it is closed if that does not work.
async fn clean(worker: Rc<Worker>, mut held: Held) {
    match tokio::time::timeout(RESET_TIMEOUT, held.backend.reset()).await {
        Ok(Ok(Ok(()))) => worker.pool.give(held.backend),
        Ok(Ok(Err(error))) => tracing::warn!(%error, "a server does not reset connections"),
        Ok(Err(error)) => tracing::debug!(%error, "a backend connection was lost while it was reset"),
        Err(_) => tracing::warn!("a backend connection was not reset in time"),
    }
}
