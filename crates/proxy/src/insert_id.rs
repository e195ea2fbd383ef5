//! Where a session's LAST_INSERT_ID() is.
//!
//! A server keeps it for each connection, so a session that goes to another connection must take it along. It cannot be seen
//! in answers: an INSERT of an explicit id answers with that id and leaves LAST_INSERT_ID() as it was. So a server is asked,
//! but only when it matters: when another session takes the connection over, or when the session needs the id elsewhere.
//!
//! Session 1 inserts on connection 7 and gives it back; both know one [`InsertId`]. Session 2 takes 7 over: before the reset
//! it asks for the id and leaves it in there. Session 1 asks for LAST_INSERT_ID() and gets connection 8: `SET last_insert_id`
//! goes first.

use std::cell::Cell;
use std::rc::Rc;

use shardwright_rules::HostgroupId;

/// The id that a session's latest statement of that kind has left on a connection.
#[derive(Debug)]
pub(crate) struct InsertId {
    pub(crate) hostgroup: HostgroupId,
    pub(crate) member: u64,
    /// What its server has said, once it was asked.
    value: Cell<Option<u64>>,
}

impl InsertId {
    /// For a connection to this member; `value` where the server need not be asked.
    pub(crate) fn on(hostgroup: HostgroupId, member: u64, value: Option<u64>) -> Rc<Self> {
        Rc::new(Self {
            hostgroup,
            member,
            value: Cell::new(value),
        })
    }

    pub(crate) fn say(&self, value: Option<u64>) {
        self.value.set(value);
    }

    pub(crate) fn value(&self) -> Option<u64> {
        self.value.get()
    }
}
