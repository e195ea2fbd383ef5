//! COM_RESET_CONNECTION and COM_CHANGE_USER: the session begins anew.

use std::sync::Arc;
use std::time::Duration;

use shardwright_wire::{ChangeUser, LoginStep, MysqlError, ServerLogin, errors};

use super::diagnostics::Diagnostics;
use super::hidden_variables::HiddenVariables;
use super::login::{collation, encoding_of, schema_of_login, user_permit};
use super::proof::{Dialogue, Known, Verdict};
use super::routing_state::RoutingState;
use super::settings::Settings;
use super::{End, Flow, Session, malformed};

/// Failed COM_CHANGE_USERs of a connection, after which each fails (MariaDB, `sql/sql_parse.cc`).
const MAX_FAILED_CHANGES: u8 = 3;
/// The answer to a failed COM_CHANGE_USER waits for so long.
const FAILED_CHANGE_DELAY: Duration = Duration::from_secs(1);

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
        self.count_kept();
    }

    /// COM_CHANGE_USER: another login on the same connection.
    pub(super) async fn change_user(&mut self, body: &[u8], seq: u8) -> Flow {
        if self.failed_changes >= MAX_FAILED_CHANGES {
            return Box::pin(self.stay(errors::UNKNOWN_COM.with("Unknown command"), seq)).await;
        }
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
        // After another error, nobody knows what the client says next.
        let is_over = result
            .as_ref()
            .err()
            .is_none_or(|error| error.code == errors::ACCESS_DENIED.code);
        let became = match result {
            Ok(known) => self.become_user(&change, known).await,
            Err(error) => Err(error),
        };
        match became {
            Ok(()) => self.welcome(!change.database.is_empty(), seq).await,
            Err(error) if is_over && self.is_mariadb() => Box::pin(self.stay(error, seq)).await,
            Err(error) => self.refuse_and_close(error, seq).await,
        }
    }

    /// A COM_CHANGE_USER that fails ends the session of MariaDB's user, who begins another one; MySQL closes the connection.
    async fn stay(&mut self, error: MysqlError, seq: u8) -> Flow {
        self.failed_changes = self.failed_changes.saturating_add(1);
        let schema = self.settings.schema.take();
        self.begin_anew(schema).await;
        self.begin_as_on_server().await;
        // As MariaDB does it, so that passwords cannot be tried in numbers.
        self.worker.shared.clock.sleep(FAILED_CHANGE_DELAY).await;
        self.refuse(seq, error).await
    }

    async fn become_user(&mut self, change: &ChangeUser<'_>, known: Known) -> Result<(), MysqlError> {
        let Known { user, snapshot, .. } = known;
        let collation = match change.collation {
            Some(id) => collation(u8::try_from(id).unwrap_or_default())?,
            None => self.login.collation,
        };
        let named = Some(change.database).filter(|name| !name.is_empty());
        let schema = schema_of_login(named, &user, encoding_of(collation))?;
        let permit = user_permit(&self.worker, &user)?;
        self.login.collation = collation;
        self.begin_anew(schema).await;
        self.login.snapshot = snapshot;
        self.login.user = user;
        self.login.is_removed = false;
        self.login.permit = permit;
        self.handle.log_in(self.login.as_logged_in());
        Ok(())
    }
}
