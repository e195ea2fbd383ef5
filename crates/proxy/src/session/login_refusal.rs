//! What a server's refusal of a login is about, and so who is told, and when.

use shardwright_wire::MysqlError;

use crate::room::Limited;

/// What a refusal of a login is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoginRefusal {
    /// The account, its secret or its schema. Every server says the same: the client is told at once.
    Account,
    /// This server and the proxy's host. Another server may take the login.
    Host,
    /// The number of the server's connections, or of the account's: it serves as soon as one of them ends.
    Full(Limited),
    /// The server as it is now.
    Passing,
}

impl LoginRefusal {
    /// Codes that are not known are about the account: an answer with the server's words is better than a wait without them.
    pub(super) fn of(error: &MysqlError) -> Self {
        match error.code {
            // ER_HOST_IS_BLOCKED, ER_HOST_NOT_PRIVILEGED
            1129 | 1130 => Self::Host,
            // ER_CON_COUNT_ERROR
            1040 => Self::Full(Limited::Server),
            // ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
            1203 | 1226 => Self::Full(Limited::Account),
            // ER_OUTOFMEMORY, ER_OUT_OF_SORTMEMORY, ER_OUT_OF_RESOURCES, ER_HANDSHAKE_ERROR
            1037 | 1038 | 1041 | 1043
            // ER_UNKNOWN_COM_ERROR of a Galera server that is not prepared, ER_SERVER_SHUTDOWN, ER_CANT_CREATE_THREAD
            | 1047 | 1053 | 1135
            // ER_ABORTING_CONNECTION, ER_NET_*, ER_NEW_ABORTING_CONNECTION
            | 1152 | 1156..=1161 | 1184
            // ER_CONNECTION_KILLED, ER_SERVER_OFFLINE_MODE, ER_SERVER_ISNT_AVAILABLE, ER_SESSION_WAS_KILLED
            | 1927 | 3032 | 3168 | 3169 => Self::Passing,
            _ => Self::Account,
        }
    }
}
