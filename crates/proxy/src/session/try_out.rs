//! What a server says of a schema or a character set, asked when the client sets it and not with its next statement.
//!
//! Only a server's word counts. Where none can be asked, or another server might say otherwise, the session takes what the
//! client has set, and the statement that needs it fails.

use std::sync::Arc;

use shardwright_rules::{HostgroupId, Outcome as Decided, Statement};
use shardwright_sql::LexMode;
use shardwright_wire::{Command, MysqlError};

use super::checkout_error::CheckoutError;
use super::requirements::Requirements;
use super::{End, Flow, Session};
use crate::backend::Backend;
use crate::known_good::KnownSchema;
use crate::set_names::SetNames;

/// Access denied to the schema, unknown schema, a name that is too long to MySQL, a name that no schema can have, a name that is not
/// in its character set.
const ABOUT_SCHEMAS: [u16; 5] = [1044, 1049, 1059, 1102, 1300];
/// Unknown character set, collation of another one, unknown collation, wrong value of the variable.
const ABOUT_NAMES: [u16; 4] = [1115, 1253, 1273, 1231];

impl Session {
    /// The error of a server that does not let the session into this schema.
    pub(super) async fn schema_error(&mut self, schema: &Arc<str>) -> Flow<Option<MysqlError>> {
        let Some(hostgroup) = self.home_of_schema(schema) else {
            return Ok(None);
        };
        Ok(self.try_schema(hostgroup, schema).await?.refused())
    }

    /// Whether a server of the hostgroup has let the user into this schema.
    pub(super) fn is_known_schema(&self, hostgroup: HostgroupId, schema: &Arc<str>) -> bool {
        let known = self.known_schema(hostgroup, schema);
        self.worker.known_good.has_schema(&known)
    }

    /// Whether a server of the hostgroup lets the session into this schema.
    pub(super) async fn is_schema_there(&mut self, hostgroup: HostgroupId, schema: &Arc<str>) -> Flow<bool> {
        let tried = self.try_schema(hostgroup, schema).await?;
        Ok(matches!(tried, Tried::Taken))
    }

    async fn try_schema(&mut self, hostgroup: HostgroupId, schema: &Arc<str>) -> Flow<Tried> {
        let known = self.known_schema(hostgroup, schema);
        if self.worker.known_good.has_schema(&known) {
            return Ok(Tried::Taken);
        }
        let tried = self
            .try_out(hostgroup, Tries::Schema(schema.clone()), &ABOUT_SCHEMAS)
            .await?;
        if let Tried::Taken = tried {
            self.worker.known_good.schema(known);
        }
        Ok(tried)
    }

    fn known_schema(&self, hostgroup: HostgroupId, schema: &Arc<str>) -> KnownSchema {
        KnownSchema {
            generation: self.login.snapshot.generation,
            hostgroup,
            user: self.login.user.name.clone(),
            schema: schema.clone(),
            changes: self.worker.shared.table_changes(),
        }
    }

    /// The error of a server that does not take these names.
    pub(super) async fn names_error(
        &mut self,
        names: &SetNames,
        hostgroup: HostgroupId,
    ) -> Flow<Option<MysqlError>> {
        if self.settings.names.as_ref() == Some(names) || self.worker.known_good.has_names(names) {
            return Ok(None);
        }
        let former = self.settings.names.replace(names.clone());
        let tried = self.try_out(hostgroup, Tries::Names, &ABOUT_NAMES).await;
        self.settings.names = former;
        let tried = tried?;
        if let Tried::Taken = tried {
            self.worker.known_good.names(names.clone());
        }
        Ok(tried.refused())
    }

    /// Where the schema must be: on the shard that its name decides, or on the only cluster that the user's statements go
    /// to. Else a schema that one server lacks may be on the one that a statement decides.
    fn home_of_schema(&mut self, schema: &Arc<str>) -> Option<HostgroupId> {
        if self.login.is_logical(Some(schema)) {
            return None;
        }
        let text = format!("USE `{}`", schema.replace('`', "``"));
        let statement = Statement::new(text.as_bytes(), LexMode::default());
        let former = self.settings.schema.replace(schema.clone());
        self.routing.note_state(&self.held, &statement);
        let outcome = self
            .login
            .snapshot
            .router
            .dispatch(&self.view(), &statement)
            .outcome;
        self.settings.schema = former;
        let Decided::Route(route) = outcome else {
            return None;
        };
        let is_certain = route.is_on_shard
            || self
                .login
                .snapshot
                .is_only_cluster(route.hostgroup, &self.login.user.name);
        is_certain.then_some(route.hostgroup)
    }

    /// Makes a connection as the session is to be; names are among the settings that every connection gets.
    async fn try_out(&mut self, hostgroup: HostgroupId, tries: Tries, codes: &[u16]) -> Flow<Tried> {
        match self.check_out(&Requirements::settings_only(hostgroup)).await {
            Ok(mut held) => {
                let error = match &tries {
                    Tries::Names => None,
                    Tries::Schema(schema) => enter(&mut held.backend, schema).await?,
                };
                self.held.keep_or_give(held, &self.worker.pool);
                Ok(match error {
                    None => Tried::Taken,
                    Some(error) if codes.contains(&error.code) => Tried::Refused(error),
                    Some(_) => Tried::Unknown,
                })
            }
            Err(CheckoutError::Refused(error)) if codes.contains(&error.code) => Ok(Tried::Refused(error)),
            Err(CheckoutError::Refused(_) | CheckoutError::Rejected(_)) => Ok(Tried::Unknown),
            Err(CheckoutError::Fatal(error)) => {
                tracing::warn!(%error, "a connection that a session held was lost");
                Err(End::Closed)
            }
        }
    }
}

/// Asks the server, also where the connection is in the schema: it may have been dropped since.
async fn enter(backend: &mut Backend, schema: &Arc<str>) -> Flow<Option<MysqlError>> {
    let exchange = backend.exchange(Command::InitDb(schema.as_bytes())).await;
    let outcome = exchange.map_err(|error| {
        tracing::warn!(%error, "a connection was lost while a schema was tried");
        End::Closed
    })?;
    if outcome.error.is_none() {
        backend.schema = Some(schema.clone());
        backend.has_forgotten_schema = false;
        backend.key.has_schema = true;
    }
    Ok(outcome.error)
}

/// What is tried.
enum Tries {
    Names,
    Schema(Arc<str>),
}

/// What came of it.
enum Tried {
    Taken,
    Refused(MysqlError),
    /// No server could be asked.
    Unknown,
}

impl Tried {
    fn refused(self) -> Option<MysqlError> {
        match self {
            Tried::Refused(error) => Some(error),
            Tried::Taken | Tried::Unknown => None,
        }
    }
}
