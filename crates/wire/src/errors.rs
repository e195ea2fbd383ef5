//! MySQL errors: a number, an SQLSTATE and a message, and the numbers that a proxy sends.

use std::fmt;

/// An error as the protocol carries it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({}): {message}", String::from_utf8_lossy(.sqlstate))]
pub struct MysqlError {
    /// Error number.
    pub code: u16,
    /// Five characters; `HY000` where nothing better is known.
    pub sqlstate: [u8; 5],
    /// For people.
    pub message: String,
}

impl MysqlError {
    /// An error with `HY000` as its state.
    pub fn general(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            sqlstate: *b"HY000",
            message: message.into(),
        }
    }
}

/// A known error number with its SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode {
    /// Error number.
    pub code: u16,
    /// SQLSTATE.
    pub sqlstate: [u8; 5],
}

impl ErrorCode {
    const fn new(code: u16, sqlstate: &[u8; 5]) -> Self {
        Self {
            code,
            sqlstate: *sqlstate,
        }
    }

    /// The error with this number and `message`.
    pub fn with(self, message: impl fmt::Display) -> MysqlError {
        MysqlError {
            code: self.code,
            sqlstate: self.sqlstate,
            message: message.to_string(),
        }
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $state:literal;)+) => {
        $($(#[doc = $doc])+ pub const $name: ErrorCode = ErrorCode::new($code, $state);)+

        /// Every code of this module with its name, ordered by number.
        pub const ALL: &[(&str, ErrorCode)] = &[$((stringify!($name), $name)),+];
    };
}

// Numbers and states: MySQL 8.4 Server and Client Error Message References; MariaDB Error Codes; ProxySQL
// `include/proxysql_structs.h` (9001 and up).
codes! {
    /// The schema exists already.
    DB_CREATE_EXISTS = 1007, b"HY000";
    /// The schema to drop does not exist.
    DB_DROP_EXISTS = 1008, b"HY000";
    /// No connection can be taken on.
    CON_COUNT_ERROR = 1040, b"08004";
    /// There is no memory for it.
    OUT_OF_RESOURCES = 1041, b"HY000";
    /// The handshake was not understood.
    HANDSHAKE_ERROR = 1043, b"08S01";
    /// The user may not use this schema.
    DBACCESS_DENIED = 1044, b"42000";
    /// Wrong user or password.
    ACCESS_DENIED = 1045, b"28000";
    /// No schema is selected.
    NO_DB = 1046, b"3D000";
    /// The command is not known or not supported.
    UNKNOWN_COM = 1047, b"08S01";
    /// A column that may not be NULL was given NULL.
    BAD_NULL = 1048, b"23000";
    /// The schema does not exist.
    BAD_DB = 1049, b"42000";
    /// The table exists already.
    TABLE_EXISTS = 1050, b"42S01";
    /// The column name is ambiguous.
    NON_UNIQ = 1052, b"23000";
    /// The server is going down.
    SERVER_SHUTDOWN = 1053, b"08S01";
    /// The column does not exist.
    BAD_FIELD = 1054, b"42S22";
    /// A unique key exists already.
    DUP_ENTRY = 1062, b"23000";
    /// The statement could not be parsed.
    PARSE = 1064, b"42000";
    /// The statement is empty.
    EMPTY_QUERY = 1065, b"42000";
    /// The thread to kill does not exist.
    NO_SUCH_THREAD = 1094, b"HY000";
    /// KILL of another user's thread.
    KILL_DENIED = 1095, b"HY000";
    /// The name is no name of a schema.
    WRONG_DB_NAME = 1102, b"42000";
    /// Something without a number of its own.
    UNKNOWN = 1105, b"HY000";
    /// The character set is not known, or not one in which statements can be read.
    UNKNOWN_CHARACTER_SET = 1115, b"42000";
    /// The table or result has too many columns.
    TOO_MANY_FIELDS = 1117, b"HY000";
    /// The server takes no connections from there for now.
    HOST_IS_BLOCKED = 1129, b"HY000";
    /// The server takes no connections from there.
    HOST_NOT_PRIVILEGED = 1130, b"HY000";
    /// The row has another number of columns than the table.
    WRONG_VALUE_COUNT = 1136, b"21S01";
    /// The table does not exist.
    NO_SUCH_TABLE = 1146, b"42S02";
    /// The command is not allowed here.
    NOT_ALLOWED_COMMAND = 1148, b"42000";
    /// A packet is larger than `max_allowed_packet`.
    NET_PACKET_TOO_LARGE = 1153, b"08S01";
    /// Packets came out of order.
    NET_PACKETS_OUT_OF_ORDER = 1156, b"08S01";
    /// Reading from the connection failed.
    NET_READ_ERROR = 1158, b"08S01";
    /// Reading from the connection took too long.
    NET_READ_INTERRUPTED = 1159, b"08S01";
    /// Writing to the connection failed.
    NET_ERROR_ON_WRITE = 1160, b"08S01";
    /// Writing to the connection took too long.
    NET_WRITE_INTERRUPTED = 1161, b"08S01";
    /// No variable has this name.
    UNKNOWN_SYSTEM_VARIABLE = 1193, b"HY000";
    /// A lock was not granted in time.
    LOCK_WAIT_TIMEOUT = 1205, b"HY000";
    /// The arguments do not fit.
    WRONG_ARGUMENTS = 1210, b"HY000";
    /// The transaction was chosen as the victim of a deadlock.
    LOCK_DEADLOCK = 1213, b"40001";
    /// A user has used up a resource.
    USER_LIMIT_REACHED = 1226, b"42000";
    /// The account lacks a privilege.
    SPECIFIC_ACCESS_DENIED = 1227, b"42000";
    /// The variable cannot have this value.
    WRONG_VALUE_FOR_VAR = 1231, b"42000";
    /// What a server of this version does not do.
    NOT_SUPPORTED_YET = 1235, b"42000";
    /// The prepared statement is not known.
    UNKNOWN_STMT_HANDLER = 1243, b"HY000";
    /// Client and server have no authentication method in common.
    NOT_SUPPORTED_AUTH_MODE = 1251, b"08004";
    /// The server runs with an option that forbids the statement (`--read-only` among them).
    OPTION_PREVENTS_STATEMENT = 1290, b"HY000";
    /// The command is not supported in the prepared statement protocol.
    UNSUPPORTED_PS = 1295, b"HY000";
    /// The text is not in its character set.
    INVALID_CHARACTER_STRING = 1300, b"HY000";
    /// The savepoint or function does not exist.
    SP_DOES_NOT_EXIST = 1305, b"42000";
    /// The statement was interrupted.
    QUERY_INTERRUPTED = 1317, b"70100";
    /// The statement has too many placeholders.
    PS_MANY_PARAM = 1390, b"HY000";
    /// The statement has no open cursor.
    STMT_HAS_NO_OPEN_CURSOR = 1421, b"HY000";
    /// The row that a foreign key refers to does not exist.
    NO_REFERENCED_ROW = 1452, b"23000";
    /// Too many statements are prepared.
    MAX_PREPARED_STMT_COUNT_REACHED = 1461, b"42000";
    /// SET TRANSACTION within a transaction.
    CANT_CHANGE_TX_CHARACTERISTICS = 1568, b"25001";
    /// A prepared statement would not mean the same any more.
    NEED_REPREPARE = 1615, b"HY000";
    /// The packet is malformed.
    MALFORMED_PACKET = 1835, b"HY000";
    /// The connection was killed.
    CONNECTION_KILLED = 1927, b"70100";
    /// Client side: the server cannot be reached.
    CLIENT_CONN_HOST_ERROR = 2003, b"HY000";
    /// Client side: the server closed the connection before the statement was sent.
    CLIENT_SERVER_GONE = 2006, b"HY000";
    /// Client side: the connection was lost while a statement ran.
    CLIENT_SERVER_LOST = 2013, b"HY000";
    /// Client side: the server sent what is not understood.
    CLIENT_MALFORMED_PACKET = 2027, b"HY000";
    /// Client side: the authentication plugin cannot be used.
    CLIENT_AUTH_PLUGIN = 2059, b"HY000";
    /// The connection must be encrypted.
    SECURE_TRANSPORT_REQUIRED = 3159, b"HY000";
    /// MySQL 8: the client or the server does not do `LOAD DATA LOCAL`.
    CLIENT_LOCAL_FILES_DISABLED = 3948, b"42000";
    /// A foreign key or a check does not hold.
    CONSTRAINT_FAILED = 4025, b"23000";
    /// The connection was idle for too long.
    CLIENT_INTERACTION_TIMEOUT = 4031, b"HY000";
    /// MariaDB: the client or the server does not do `LOAD DATA LOCAL`.
    LOAD_INFILE_CAPABILITY_DISABLED = 4166, b"HY000";
    /// No backend of the hostgroup could be reached in time.
    PROXY_HOSTGROUP_TIMEOUT = 9001, b"HY000";
    /// The session is bound to a hostgroup and the statement belongs to another.
    PROXY_HOSTGROUP_LOCKED = 9006, b"HY000";
    /// A throttle lets no more of a statement's kind run at once, and none of them ended in time.
    PROXY_THROTTLED = 9101, b"HY000";
    /// A server ended while it ran the read, and no server gets it for a while.
    PROXY_READ_WITHHELD = 9102, b"HY000";
}
