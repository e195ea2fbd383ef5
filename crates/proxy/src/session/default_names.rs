//! `SET NAMES DEFAULT`, `SET CHARACTER SET DEFAULT`: what these set depends on the server, and on its kind. So a server executes
//! them, and the session is given the names that it has by then.

use shardwright_rules::Statement;
use shardwright_sql::set::{self, SetItem};
use shardwright_wire::{Command, MysqlError, TextRows};

use super::held::Held;
use super::saved_values::PATIENCE;
use super::{End, Flow, Session};
use crate::backend::BackendError;
use crate::set_names::SetNames;

const NAMES: &[u8] =
    b"SELECT @@character_set_client, @@collation_connection, @@character_set_results LIMIT 1";

impl Session {
    /// The SET of the names that a server gives in place of `DEFAULT`, or the error of the server; `None`: it sets something else,
    /// or no server says.
    pub(super) async fn with_default_names(
        &mut self,
        statement: &Statement<'_>,
    ) -> Flow<Option<Result<Vec<u8>, MysqlError>>> {
        if !sets_default_names(statement) {
            return Ok(None);
        }
        let Some(mut held) = self.connection_for(statement).await? else {
            return Ok(None);
        };
        let names = default_names(&mut held, statement.text()).await;
        let names = names.map_err(|error| {
            tracing::warn!(%error, "a connection was lost while its names were asked for");
            End::Closed
        })?;
        self.diagnostics.lose_warnings();
        self.held.keep_or_give(held, &self.worker.pool);
        Ok(names)
    }
}

fn sets_default_names(statement: &Statement<'_>) -> bool {
    let items = set::items(statement.text(), statement.mode());
    matches!(
        items[..],
        [SetItem::Names { charset: None, .. } | SetItem::CharacterSet(None)]
    )
}

/// Has a server execute the text, and reads what it has set.
async fn default_names(
    held: &mut Held,
    text: &[u8],
) -> Result<Option<Result<Vec<u8>, MysqlError>>, BackendError> {
    let backend = &mut held.backend;
    let outcome = backend.exchange(Command::Query(text)).await?;
    let rows = backend.exchange_rows(NAMES, PATIENCE).await?;
    // Its names are not those of the session any more, whatever becomes of the statement.
    backend.names = Some(SetNames::none());
    backend.replayed = 0;
    backend.is_utf8 = false;
    if let Some(error) = outcome.error {
        return Ok(Some(Err(error)));
    }
    Ok(rows.ok().as_ref().and_then(statement_of).map(Ok))
}

fn statement_of(rows: &TextRows) -> Option<Vec<u8>> {
    let row = rows.rows.first()?;
    let is_name = |name: &&[u8]| {
        !name.is_empty()
            && name
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    let name = |at: usize| row.get(at)?.as_deref().filter(is_name);
    // Results that are not converted have no character set.
    let results = match row.get(2)? {
        Some(_) => [b"'", name(2)?, b"'"].concat(),
        None => b"NULL".to_vec(),
    };
    Some(
        [
            b"SET character_set_client='",
            name(0)?,
            b"', collation_connection='",
            name(1)?,
            b"', character_set_results=",
            &results,
        ]
        .concat(),
    )
}
