//! A prepared statement on the connection that it is executed on, with the server's number of it.

use std::rc::Rc;

use shardwright_wire::{Command, MysqlError, errors};

use super::bound_kinds::bound_kinds;
use super::checkout_error::CheckoutError;
use super::execution::Execution;
use super::held::Held;
use super::prepared_errors::read_otherwise;
use super::requirements::Requirements;
use super::routed::RoutedStatement;
use super::{Flow, Session};
use crate::backend_statements::{Bound, PreparedText};

/// Why a connection has no number of a statement.
pub(super) enum NotPrepared {
    /// It has not prepared this text, or has executed it with other kinds of types.
    Text(PreparedText, Bound),
    /// The text cannot be sent.
    Refused(MysqlError),
}

impl Session {
    /// Notes the server's number of a statement, and closes the one before with the same text and types, or another when there are too
    /// many. COM_STMT_CLOSE has no answer, but it is sent at once: a connection with bytes to send is no idle one, and would
    /// be given up with all that its session has there.
    pub(super) async fn remember_prepared(
        &self,
        held: &mut Held,
        (key, bound): (PreparedText, Bound),
        id: u32,
    ) {
        let limit = self.worker.shared.limits.max_backend_statements;
        let closed = held.backend.statements.insert(key, bound, id, limit);
        for &closed in &closed {
            let mut payload = Vec::new();
            Command::StmtClose(closed).encode(&mut payload);
            held.backend.channel.queue(&mut 0, &payload);
        }
        if !closed.is_empty()
            && let Err(error) = held.backend.channel.flush().await
        {
            tracing::debug!(%error, "the connection of a statement was lost");
        }
    }

    /// The server's number of a statement.
    ///
    /// # Errors
    /// What the connection has to prepare, or why it cannot.
    pub(super) fn find_prepared(
        &self,
        held: &mut Held,
        execution: &Execution<'_>,
        routed: &RoutedStatement<'_>,
    ) -> Result<u32, Box<NotPrepared>> {
        let prepared = self.statements.get(execution.id);
        let sent = self
            .sent_text(routed)
            .map_err(|error| Box::new(NotPrepared::Refused(error)))?;
        let sent = match (sent, prepared) {
            (Some(sent), _) => Rc::from(&*sent),
            (None, Some(prepared)) => prepared.text.clone(),
            (None, None) => Rc::from(routed.statement.text()),
        };
        let key = PreparedText::new(
            sent,
            held.backend.schema.clone(),
            self.settings.names.as_ref(),
            prepared
                .map(|prepared| prepared.reading.clone())
                .unwrap_or_default(),
            prepared.map_or(0, |prepared| prepared.sets),
        );
        let types = if held.backend.is_mariadb {
            &[]
        } else {
            &*execution.types
        };
        let kinds = bound_kinds(types, execution.parameters.null_bitmap);
        let known = held.backend.statements.get(&key, kinds.clone());
        known.ok_or_else(|| Box::new(NotPrepared::Text(key, Bound::of(kinds))))
    }

    /// Prepares a statement on a connection, and gives that back with the server's number of it; `None`: the client was told why that
    /// cannot be.
    pub(super) async fn prepare_or_tell(
        &mut self,
        mut held: Held,
        why: NotPrepared,
        requirements: &Requirements,
        seq: u8,
    ) -> Flow<Option<(Held, u32)>> {
        let mut prepared = match why {
            NotPrepared::Text(key, bound) => self.prepare_on(&mut held, key, bound).await,
            NotPrepared::Refused(error) => Err(CheckoutError::Refused(error)),
        };
        // MySQL begins a list of warnings with it.
        if let Err(error) = self.diagnostics.preparation(requirements.asked, &held.backend) {
            prepared = prepared.and(Err(CheckoutError::Refused(error)));
        }
        match prepared {
            Ok(server_id) => Ok(Some((held, server_id))),
            Err(error) => {
                self.return_unused(held, &error);
                self.not_checked_out(error, seq).await.map(|()| None)
            }
        }
    }

    /// Prepares a statement on a connection, to be executed with types of these kinds; the server's number of it.
    async fn prepare_on(
        &mut self,
        held: &mut Held,
        key: PreparedText,
        bound: Bound,
    ) -> Result<u32, CheckoutError> {
        if key.reading != self.settings.reading() {
            return Err(CheckoutError::Refused(read_otherwise()));
        }
        let outcome = self
            .exchange_waiting(&mut held.backend, Command::StmtPrepare(&key.text))
            .await?;
        if let Some(error) = outcome.error {
            return Err(CheckoutError::Refused(error));
        }
        let Some(prepared) = outcome.prepared else {
            return Err(CheckoutError::Fatal(
                errors::CLIENT_MALFORMED_PACKET.with("Malformed packet"),
            ));
        };
        self.remember_prepared(held, (key, bound), prepared.statement_id)
            .await;
        Ok(prepared.statement_id)
    }
}
