//! Hostgroups that refuse: where ProxySQL sends an execution that it must not answer itself.
//!
//! ProxySQL 2.7.1 frees the packet of a COM_STMT_EXECUTE twice when `error_msg` answers it, and ends. A hostgroup whose
//! server refuses the login answers it as well, and is safe. Queries and preparations meet `error_msg` as ever.

use serde::{Deserialize, Serialize};

use crate::{Address, HostgroupId, Rejection};

/// A hostgroup without databases: its server answers every login with an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusingHostgroup {
    /// Number, pinned in the lock file.
    pub id: HostgroupId,
    /// The object of the topology that refuses.
    pub address: Address,
    /// What clients are told, with its code: `SW351: no shard key: …`.
    pub reason: String,
    /// Who refuses the login.
    pub refuser: Refuser,
    /// Its host.
    pub host: String,
    /// Its TCP port.
    pub port: u16,
}

/// Who refuses the logins of a [`RefusingHostgroup`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refuser {
    /// The engine's own admin port, which knows no application users: the reason does not reach the client.
    Admin,
    /// `shardwright refuse`: the client gets the reason.
    Service,
}

/// What stands in front of the reason in a refusal of `shardwright refuse`: the monitor of ProxySQL takes a server that
/// answers so for alive (2.7.1).
pub const REFUSED_LOGIN: &str = "Access denied for user: ";

impl RefusingHostgroup {
    /// What the client gets, by the names that the evaluator knows.
    pub fn rejection(&self) -> Rejection {
        let (code, sqlstate) = match self.refuser {
            Refuser::Admin => (1045, "28000"),
            Refuser::Service => (1226, "42000"),
        };
        Rejection {
            code,
            sqlstate,
            message: self.reason.clone(),
            address: Some(self.address.clone()),
        }
    }
}
