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

/// What stands before the reason in the comment of the server's row, by who refuses.
const COMMENTS: [(Refuser, &str); 2] = [
    (Refuser::Admin, "refuses by the admin port: "),
    (Refuser::Service, "refuses by shardwright refuse: "),
];

impl RefusingHostgroup {
    /// The comment of its server's row, which says what the hostgroup is.
    pub fn comment(&self) -> String {
        let lead = COMMENTS.iter().find(|(refuser, _)| *refuser == self.refuser);
        format!("{}{}", lead.map_or("", |(_, lead)| lead), self.reason)
    }

    /// Who refuses and why, from the comment of a server's row; none where the server is any other.
    pub fn parse_comment(comment: &str) -> Option<(Refuser, &str)> {
        COMMENTS
            .iter()
            .find_map(|(refuser, lead)| Some((*refuser, comment.strip_prefix(lead)?)))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_says_who_refuses_and_why() {
        for refuser in [Refuser::Admin, Refuser::Service] {
            let hostgroup = RefusingHostgroup {
                id: HostgroupId(9),
                address: "shard_maps.m".into(),
                reason: "SW351: no shard key: ...".into(),
                refuser,
                host: "127.0.0.1".into(),
                port: 6100,
            };
            assert_eq!(
                RefusingHostgroup::parse_comment(&hostgroup.comment()),
                Some((refuser, hostgroup.reason.as_str()))
            );
        }
        assert_eq!(RefusingHostgroup::parse_comment("clusters.a.servers.b"), None);
    }
}
