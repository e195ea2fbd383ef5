//! The text of a statement as its server gets it: as the rules rewrote it, with what the proxy decides put in.

use std::borrow::Cow;

use shardwright_sql::SessionEffects;
use shardwright_wire::MysqlError;

use super::Session;
use super::own_schema::may_name_schema;
use super::routed::RoutedStatement;

impl Session {
    /// The text for the server; `None` where it is the client's.
    ///
    /// # Errors
    /// The error for the client, where a value has to be put in and cannot be.
    pub(super) fn sent_text<'a>(
        &self,
        routed: &RoutedStatement<'a>,
    ) -> Result<Option<Cow<'a, [u8]>>, MysqlError> {
        let statement = routed.statement;
        let shape = statement.shape();
        let mut sent = routed.besides.rewritten.as_deref().map(Cow::Borrowed);
        let of_session = SessionEffects::READS_SESSION | SessionEffects::READS_SYSTEM_VARIABLE;
        if shape.effects.intersects(of_session) {
            let text = sent.as_deref().unwrap_or(statement.text());
            let text = self.own_values().put_in(text, statement.mode(), shape.class);
            sent = text.map(Cow::Owned).or(sent);
        }
        if may_name_schema(shape) {
            let text = sent.as_deref().unwrap_or(statement.text());
            let text = self.with_own_schema(text, routed)?;
            sent = text.map(Cow::Owned).or(sent);
        }
        Ok(sent)
    }
}
