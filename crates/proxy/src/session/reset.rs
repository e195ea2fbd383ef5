//! COM_RESET_CONNECTION and COM_CHANGE_USER: the session begins anew.

use std::sync::Arc;

use shardwright_wire::{ChangeUser, LoginStep, MysqlError, ServerLogin};

use super::diagnostics::Diagnostics;
use super::hidden_variables::HiddenVariables;
use super::login::{collation, encoding_of, schema_name, user_permit};
use super::proof::{Dialogue, Known, Verdict};
use super::routing_state::RoutingState;
use super::settings::Settings;
use super::{End, Flow, Session, malformed};

impl Session {
    /// COM_RESET_CONNECTION: everything but the user and the schema is as after the login.
    pub(super) async fn reset_connection(&mut self, seq: u8) -> Flow {
        let schema = self.settings.schema.take();
        self.begin_anew(schema).await;
        self.begin_as_on_server().await;
        self.send_ok(seq, b"").await
    }

    /// What the client has written stays written: its reads go on waiting for that.
    async fn begin_anew(&mut self, schema: Option<Arc<str>>) {
        self.held.finish_all(&self.worker).await;
        // Idle connections with this session's state are another's from now on.
        self.number = self.worker.next_number();
        self.settings = Settings::new(schema, encoding_of(self.login.collation));
        self.pending.clear();
        self.diagnostics = Diagnostics::default();
        self.insert_id = None;
        self.hidden = HiddenVariables::default();
        self.routing = RoutingState::default();
        self.statements.clear();
    }

    /// COM_CHANGE_USER: another login on the same connection.
    pub(super) async fn change_user(&mut self, body: &[u8], seq: u8) -> Flow {
        let change = match ChangeUser::decode(body, self.client.capabilities) {
            Ok(change) => change,
            Err(error) => return self.client.send_error(seq, &malformed(error)).await,
        };
        let client_ip = self.login.client_ip.clone();
        let channel = &mut self.client.channel;
        let mut login = ServerLogin::of_change(
            &change,
            self.client.capabilities,
            self.login.scramble,
            channel.privacy(),
        );
        let dialogue = Dialogue {
            worker: &self.worker,
            channel,
            client_ip: &client_ip,
            seq,
        };
        let timeout = self.worker.shared.limits.handshake_timeout;
        let verdict = dialogue.run(&mut login, Some(LoginStep::Identified));
        let Verdict { result, seq } = match self.worker.shared.clock.timeout(timeout, verdict).await {
            Ok(Some(verdict)) => verdict,
            Ok(None) => return Err(End::ClientGone),
            Err(_) => return Err(End::Closed),
        };
        let became = match result {
            Ok(known) => self.become_user(&change, known).await,
            Err(error) => Err(error),
        };
        match became {
            Ok(()) => self.welcome(!change.database.is_empty(), seq).await,
            Err(error) => self.refuse_and_close(error, seq).await,
        }
    }

    async fn become_user(&mut self, change: &ChangeUser<'_>, known: Known) -> Result<(), MysqlError> {
        let Known { user, snapshot, .. } = known;
        let schema = match change.database {
            [] => user.user.default_schema.as_deref().map(Arc::from),
            name => Some(schema_name(name)?),
        };
        let collation = match change.collation {
            Some(id) => collation(u8::try_from(id).unwrap_or_default())?,
            None => self.login.collation,
        };
        let permit = user_permit(&self.worker, &user)?;
        self.login.collation = collation;
        self.begin_anew(schema).await;
        self.login.snapshot = snapshot;
        self.login.user = user;
        self.login.is_removed = false;
        self.login.permit = permit;
        self.handle.log_in(self.login.user.name.clone());
        Ok(())
    }
}
