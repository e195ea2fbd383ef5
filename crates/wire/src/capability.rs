//! Which protocol capabilities this crate understands, for each side of a proxy.

use mysql_common::constants::{CapabilityFlags as C, MariadbCapabilities as M};

/// What a peer must offer or claim: protocol 4.1 and 20-byte challenges.
pub const REQUIRED: C = C::CLIENT_PROTOCOL_41.union(C::CLIENT_SECURE_CONNECTION);

/// Every capability whose effect on the bytes this crate knows. `CLIENT_COMPRESS` puts packets into frames
/// ([`crate::FrameCodec`]), from the first packet behind the login on; whoever claims or offers it must do that.
///
/// Left out on purpose, because each changes the layout of packets: `CLIENT_ZSTD_COMPRESSION_ALGORITHM`, `CLIENT_SSL`, `CLIENT_OPTIONAL_RESULTSET_METADATA`,
/// `MULTI_FACTOR_AUTHENTICATION`.
pub const UNDERSTOOD: C = REQUIRED
    .union(C::CLIENT_LONG_PASSWORD)
    .union(C::CLIENT_FOUND_ROWS)
    .union(C::CLIENT_LONG_FLAG)
    .union(C::CLIENT_CONNECT_WITH_DB)
    .union(C::CLIENT_NO_SCHEMA)
    .union(C::CLIENT_COMPRESS)
    .union(C::CLIENT_ODBC)
    .union(C::CLIENT_LOCAL_FILES)
    .union(C::CLIENT_IGNORE_SPACE)
    .union(C::CLIENT_INTERACTIVE)
    .union(C::CLIENT_IGNORE_SIGPIPE)
    .union(C::CLIENT_TRANSACTIONS)
    .union(C::CLIENT_RESERVED)
    .union(C::CLIENT_MULTI_STATEMENTS)
    .union(C::CLIENT_MULTI_RESULTS)
    .union(C::CLIENT_PS_MULTI_RESULTS)
    .union(C::CLIENT_PLUGIN_AUTH)
    .union(C::CLIENT_CONNECT_ATTRS)
    .union(C::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(C::CLIENT_SESSION_TRACK)
    .union(C::CLIENT_QUERY_ATTRIBUTES)
    .union(C::CLIENT_DEPRECATE_EOF);

/// The same of MariaDB's further capabilities, which only connections without `CLIENT_LONG_PASSWORD` have.
///
/// Left out on purpose: progress reports, which come between other packets; definitions that are sent once; and an answer for
/// each row of a bulk execution.
pub const UNDERSTOOD_OF_MARIADB: M =
    M::MARIADB_CLIENT_STMT_BULK_OPERATIONS.union(M::MARIADB_CLIENT_EXTENDED_METADATA);

/// What a server built on this crate may offer before it knows more: everything understood except what asks for
/// work beyond packets (compression, `LOAD DATA LOCAL`, several statements in one query, session tracking, query attributes).
pub const SERVER_BASE: C = UNDERSTOOD
    .difference(C::CLIENT_COMPRESS)
    .difference(C::CLIENT_LOCAL_FILES)
    .difference(C::CLIENT_MULTI_STATEMENTS)
    .difference(C::CLIENT_SESSION_TRACK)
    .difference(C::CLIENT_QUERY_ATTRIBUTES)
    .difference(C::CLIENT_NO_SCHEMA)
    .difference(C::CLIENT_ODBC);
