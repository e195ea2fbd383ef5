//! The LAST_INSERT_ID() that a connection has.

use std::rc::Rc;

use shardwright_rules::HostgroupId;
use shardwright_wire::Command;

use super::{Backend, BackendError};
use crate::insert_id::{InsertId, LeftId, Loss};

impl Backend {
    /// Notes that the session's LAST_INSERT_ID() is here.
    pub(crate) fn leave_insert_id(
        &mut self,
        hostgroup: HostgroupId,
        value: Option<u64>,
        loss: Loss,
    ) -> Rc<InsertId> {
        let id = InsertId::on(hostgroup, self.member.number, value, loss);
        self.insert_id = Some(LeftId::of(&id));
        id
    }

    /// Whether the session's id is that of this connection.
    pub(crate) fn has_this(&self, id: &Rc<InsertId>) -> bool {
        self.insert_id
            .as_ref()
            .is_some_and(|LeftId(own)| Rc::ptr_eq(own, id))
    }

    /// Whether a session can only learn its id from this connection.
    pub(crate) fn has_insert_id(&self) -> bool {
        let wanted = |LeftId(id): &LeftId| id.is_unasked() && Rc::strong_count(id) > 1;
        self.insert_id.as_ref().is_some_and(wanted)
    }

    /// Asks the server for the id that a session has left here, if it is wanted and not known.
    pub(crate) async fn save_insert_id(&mut self) -> Result<(), BackendError> {
        if !self.has_insert_id() {
            return Ok(());
        }
        let id = self.insert_id.as_ref().map(|LeftId(id)| id.clone());
        if let Some(id) = id {
            let text = self.exchange_value(b"SELECT LAST_INSERT_ID()").await?;
            let value = text.and_then(|text| std::str::from_utf8(&text).ok()?.parse().ok());
            id.say(value);
        }
        Ok(())
    }

    /// Gives the connection an id that was left elsewhere; `false` if the server refuses.
    pub(crate) async fn set_insert_id(&mut self, value: u64) -> Result<bool, BackendError> {
        let text = format!("SET last_insert_id = {value}");
        let outcome = self.exchange(Command::Query(text.as_bytes())).await?;
        Ok(outcome.error.is_none())
    }
}
