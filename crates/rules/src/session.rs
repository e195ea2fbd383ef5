//! What a decision may know of a session and of a statement.

use crate::HostgroupId;

/// The part of a session's state that routing depends on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionView<'a> {
    /// Name that the client logged in with.
    pub user: &'a str,
    /// Where that user stands in [`crate::Configuration::users`], if somebody has looked: it spares the search. The name counts.
    pub user_position: Option<u32>,
    /// Current schema; `None` where none was named: the engine may have one for that
    /// ([`crate::Configuration::default_schema`]).
    pub schema: Option<&'a str>,
    /// Client address without port; `localhost` on a unix socket; `None` where it is not known.
    pub client_addr: Option<&'a str>,
    /// Address and port of the listener as configured; `None` where it is not known.
    pub listener: Option<(&'a str, u16)>,
    /// The open transaction.
    pub transaction: Option<Transaction>,
    /// BEGIN or XA START was answered, and the transaction opens with the first statement that has a key.
    pub transaction_pending: Option<PendingKind>,
    /// `autocommit=0`: without an open transaction, the next statement opens one.
    pub autocommit_off: bool,
    /// `next_query_flagIN` of an earlier statement.
    pub next_query_flag_in: Option<u32>,
    /// The hostgroup that the session is locked on, as [`crate::Route::locks`] says.
    pub locked_on: Option<HostgroupId>,
    /// Milliseconds since the session's last write; `None`: no write yet.
    pub since_write_ms: Option<u64>,
    /// Hostgroups where the session keeps what no other connection has: temporary tables, user variables, locks,
    /// prepared statements by name, what stored code may have left.
    pub state_on: &'a [HostgroupId],
}

impl SessionView<'_> {
    /// No transaction is open, and one opens with the next statement: what follows it there may write.
    #[inline]
    pub fn is_about_to_open(&self) -> bool {
        self.transaction.is_none() && (self.transaction_pending.is_some() || self.autocommit_off)
    }
}

/// How a transaction was begun that no server knows of yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingKind {
    /// BEGIN, START TRANSACTION.
    Local,
    /// XA START.
    Xa,
}

/// An open transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The hostgroup that it runs on.
    pub hostgroup: HostgroupId,
}
