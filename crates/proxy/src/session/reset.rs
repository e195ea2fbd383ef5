//! COM_RESET_CONNECTION and COM_CHANGE_USER: the session begins anew.

use std::sync::Arc;

use shardwright_wire::auth::{NativeVerifier, Scramble, switch_to_native};
use shardwright_wire::{ChangeUser, MysqlError, PRE_AUTH_MAX_PAYLOAD, errors};

use super::diagnostics::Diagnostics;
use super::login::{authenticated, collation, schema_name, user_permit};
use super::routing_state::RoutingState;
use super::settings::Settings;
use super::{End, Flow, Session, malformed};
use crate::channel::{Frame, ReadError};
use crate::stats::bump;

impl Session {
    /// COM_RESET_CONNECTION: everything but the user and the schema is as after the login.
    pub(super) async fn reset_connection(&mut self, seq: u8) -> Flow {
        let schema = self.settings.schema.take();
        self.begin_anew(schema);
        self.send_ok(seq, b"").await
    }

    fn begin_anew(&mut self, schema: Option<Arc<str>>) {
        self.held.release_all(&self.worker);
        self.settings = Settings::new(schema);
        self.pending.clear();
        self.diagnostics = Diagnostics::default();
        self.routing = RoutingState::default();
        self.statements.clear();
    }

    /// COM_CHANGE_USER: another login on the same connection.
    pub(super) async fn change_user(&mut self, body: &[u8], seq: u8) -> Flow {
        let change = match ChangeUser::decode(body, self.client.capabilities) {
            Ok(change) => change,
            Err(error) => return self.client.send_error(seq, &malformed(error)).await,
        };
        let scramble = match Scramble::generate() {
            Ok(scramble) => scramble,
            Err(error) => {
                tracing::error!(%error, "no random bytes for a challenge");
                return Err(End::Closed);
            }
        };
        // The answer in the command is to the greeting's challenge, which may have been seen before: ask again.
        self.client.send(seq, &switch_to_native(&scramble)).await?;
        let mut frame = Frame::default();
        let timeout = self.worker.shared.limits.handshake_timeout;
        let answer = self.client.channel.packet(&mut frame, PRE_AUTH_MAX_PAYLOAD);
        match tokio::time::timeout(timeout, answer).await {
            Ok(Ok(())) => {}
            Ok(Err(ReadError::Packet(_))) | Err(_) => return Err(End::Closed),
            Ok(Err(_)) => return Err(End::ClientGone),
        }
        let seq = frame.next_seq();
        match self.become_user(&change, frame.payload(), &scramble) {
            Ok(()) => self.send_ok(seq, b"").await,
            Err(error) => {
                bump(&self.worker.counters.totals.logins_denied);
                self.refuse_and_close(&error, seq).await
            }
        }
    }

    fn become_user(
        &mut self,
        change: &ChangeUser<'_>,
        answer: &[u8],
        scramble: &Scramble,
    ) -> Result<(), MysqlError> {
        let snapshot = self.worker.snapshot();
        let name = std::str::from_utf8(change.user).ok();
        let is_right = |verifier: &NativeVerifier| verifier.verify(answer, scramble);
        let Some(user) = authenticated(&snapshot, name, is_right) else {
            return Err(errors::ACCESS_DENIED.with(format_args!(
                "Access denied for user '{}'@'{}' (using password: {})",
                name.unwrap_or_default(),
                self.login.client_ip,
                if answer.is_empty() { "NO" } else { "YES" }
            )));
        };
        let schema = match change.database {
            [] => user.user.default_schema.as_deref().map(Arc::from),
            name => Some(schema_name(name)?),
        };
        let collation = match change.collation {
            Some(id) => collation(u8::try_from(id).unwrap_or_default())?,
            None => self.login.collation,
        };
        let permit = user_permit(&self.worker, &user)?;
        self.begin_anew(schema);
        self.login.snapshot = snapshot;
        self.login.user = user;
        self.login.is_removed = false;
        self.login.permit = permit;
        self.login.collation = collation;
        Ok(())
    }
}
