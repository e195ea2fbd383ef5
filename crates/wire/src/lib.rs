//! The MySQL client/server protocol without I/O: bytes in, values out, and back.
//!
//! Nothing here owns a socket or a clock. A caller hands over the bytes it has; the answer is a value, a payload to
//! send, or "more bytes are needed". Every decoder takes hostile input: it has a limit and it never panics.
//!
//! Two layers are worth knowing apart:
//! * whole packets ([`take_packet`], [`Command`], [`Greeting`], [`ServerLogin`], [`ClientLogin`]) for what is small,
//! * streams ([`ResponseScanner`]) for responses that are forwarded as they arrive and are never
//!   held in memory.

mod answer_splice;
pub mod auth;
pub mod binary;
mod bytes;
pub mod capability;
pub mod charset;
mod client_login;
mod column;
mod command;
mod compression;
pub mod errors;
mod handshake;
mod login;
mod outcome;
mod packet;
pub mod query_attributes;
mod response;
mod response_scanner;
mod result_set;
mod scan;
mod server_login;
mod session_track;
pub mod statement;

pub use answer_splice::{AnswerSplice, SpliceError};
pub use auth::ClientSecret;
pub use bytes::DecodeError;
pub use client_login::{BackendCredentials, ClientLogin, ClientStep, ConnectError};
pub use column::{ColumnDefinition, Dialect};
pub use command::{ChangeUser, Command, ResponseShape};
pub use compression::{CompressionError, FrameCodec, Received};
pub use errors::{ErrorCode, MysqlError};
pub use handshake::Greeting;
pub use login::{Attributes, ClientHello, LoginRequest};
pub use mysql_common::constants::{
    CapabilityFlags, ColumnFlags, ColumnType, MariadbCapabilities, StatusFlags,
};
pub use outcome::{Outcome, OutcomeKind};
pub use packet::{
    ByteStore, HEADER_LEN, MAX_CHUNK, PRE_AUTH_MAX_PAYLOAD, Packet, PacketError, PacketExtent, PacketHeader,
    append_packet, chunk_payloads, number_chunks, packet_extent, take_packet, write_packet, write_parts,
};
pub use response::{EofPacket, OkPacket, PrepareOk};
pub use response_scanner::{Feed, ResponseScanner, ScanError, ScanEvent};
pub use result_set::{ResultSetWriter, TextRows, first_value};
pub use server_login::{LoginAttempt, LoginStep, Privacy, ServerLogin};
pub use session_track::{SessionChange, gtid_set, session_changes};
