//! The login of a client: greeting, proof, limits.

use std::net::SocketAddr;
use std::sync::Arc;

use shardwright_wire::auth::{NativeVerifier, Scramble};
use shardwright_wire::charset::{UTF8MB4_GENERAL_CI, charset_of_collation, is_lexable};
use shardwright_wire::{
    CapabilityFlags, Greeting, LoginAttempt, LoginStep, MysqlError, OkPacket, PRE_AUTH_MAX_PAYLOAD,
    PacketError, ServerLogin, StatusFlags, errors,
};

use crate::backend::{BASE, SHAPING};
use crate::channel::{Channel, Frame, ReadError};
use crate::permit::Permit;
use crate::shared::Phase;
use crate::snapshot::{Snapshot, UserEntry};
use crate::stats::bump;
use crate::worker::Worker;

/// Longest schema name in bytes: 64 characters.
const MAX_SCHEMA: usize = 256;

/// What clients may use. `CLIENT_DEPRECATE_EOF`, `CLIENT_SESSION_TRACK`, `CLIENT_MULTI_STATEMENTS`,
/// `CLIENT_LOCAL_FILES`, TLS and compression are not offered.
const OFFERED: CapabilityFlags = BASE
    .union(SHAPING)
    .union(CapabilityFlags::CLIENT_CONNECT_WITH_DB)
    .union(CapabilityFlags::CLIENT_CONNECT_ATTRS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_IGNORE_SIGPIPE)
    .union(CapabilityFlags::CLIENT_INTERACTIVE)
    .union(CapabilityFlags::CLIENT_RESERVED);

/// Who a session belongs to, and the generation that it follows.
pub(super) struct Login {
    pub(super) connection_id: u32,
    pub(super) client_ip: String,
    pub(super) collation: u8,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) user: Arc<UserEntry>,
    /// The generation that is followed does not have the user any more.
    pub(super) is_removed: bool,
    /// One of the sessions that the user may have.
    pub(super) permit: Permit,
}

impl Login {
    /// Follows another generation.
    pub(super) fn follow(&mut self, snapshot: Arc<Snapshot>) {
        self.snapshot = snapshot;
        match self.snapshot.users.get(&self.user.name) {
            Some(user) => {
                self.user = user.clone();
                self.is_removed = false;
            }
            None => self.is_removed = true,
        }
    }

    /// Whether no server has a schema under this name.
    pub(super) fn is_logical(&self, schema: Option<&str>) -> bool {
        schema.is_some_and(|schema| self.snapshot.is_logical_schema(schema, &self.user.name))
    }
}

/// A client that has proved who it is, and how its session begins.
pub(super) struct Accepted {
    pub(super) login: Login,
    pub(super) capabilities: CapabilityFlags,
    pub(super) schema: Option<Arc<str>>,
}

/// What a login came to.
struct Verdict {
    result: Result<Accepted, MysqlError>,
    /// The sequence number of the answer.
    seq: u8,
}

/// The address that rules compare with; IPv4 in its own form.
fn client_ip(peer: SocketAddr) -> String {
    peer.ip().to_canonical().to_string()
}

/// Logs a client in; `None` when it was refused or went away.
pub(super) async fn log_in(worker: &Worker, channel: &mut Channel, peer: SocketAddr) -> Option<Accepted> {
    let connection_id = worker.shared.next_connection_id();
    let scramble = match Scramble::generate() {
        Ok(scramble) => scramble,
        Err(error) => {
            tracing::error!(%error, "no random bytes for a challenge");
            return None;
        }
    };
    let version = worker.shared.server_version.as_str();
    let greeting = Greeting::native(version, connection_id, scramble, OFFERED, UTF8MB4_GENERAL_CI);
    let mut seq = 0;
    channel.queue(&mut seq, &greeting.encode());
    channel.flush().await.ok()?;
    let Verdict { result, mut seq } = negotiate(worker, channel, &greeting, peer).await?;
    match result {
        Ok(accepted) => {
            let ok = OkPacket {
                status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
                ..OkPacket::default()
            };
            let mut payload = Vec::new();
            ok.encode(&mut payload, accepted.capabilities);
            channel.queue(&mut seq, &payload);
            channel.flush().await.ok()?;
            Some(accepted)
        }
        Err(error) => {
            tracing::debug!(%peer, code = error.code, "a login was refused");
            let mut payload = Vec::new();
            error.encode(&mut payload);
            channel.queue(&mut seq, &payload);
            channel.flush().await.ok()?;
            None
        }
    }
}

/// Runs the login up to the answer, and says with which sequence number to send that.
async fn negotiate(
    worker: &Worker,
    channel: &mut Channel,
    greeting: &Greeting,
    peer: SocketAddr,
) -> Option<Verdict> {
    let refused = |error, seq| {
        let result = Err(error);
        Some(Verdict { result, seq })
    };
    let mut login = ServerLogin::new(greeting);
    let mut frame = Frame::default();
    let mut expected = 1;
    loop {
        match channel.packet(&mut frame, PRE_AUTH_MAX_PAYLOAD).await {
            Ok(()) if frame.first_seq() == expected => {}
            Ok(()) => {
                let error = errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order");
                return refused(error, frame.next_seq());
            }
            Err(ReadError::Packet(error)) => {
                return refused(packet_error(&error), expected.wrapping_add(1));
            }
            Err(ReadError::Closed | ReadError::Io(_)) => return None,
        }
        let mut seq = frame.next_seq();
        match login.on_payload(frame.payload()) {
            Ok(LoginStep::Send(payload)) => {
                channel.queue(&mut seq, &payload);
                channel.flush().await.ok()?;
                expected = seq;
            }
            Ok(LoginStep::Attempt(attempt)) => {
                let result = admit(worker, &attempt, greeting.connection_id, client_ip(peer));
                return Some(Verdict { result, seq });
            }
            Err(error) => return refused(error, seq),
        }
    }
}

/// The error for bytes that are no packets.
pub(super) fn packet_error(error: &PacketError) -> MysqlError {
    match error {
        PacketError::TooLarge { .. } => {
            errors::NET_PACKET_TOO_LARGE.with("Got a packet bigger than 'max_allowed_packet' bytes")
        }
        PacketError::OutOfOrder { .. } => errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order"),
    }
}

fn admit(
    worker: &Worker,
    attempt: &LoginAttempt,
    connection_id: u32,
    client_ip: String,
) -> Result<Accepted, MysqlError> {
    let request = &attempt.request;
    let snapshot = worker.snapshot();
    let name = std::str::from_utf8(&request.user).ok();
    let is_right = |verifier: &NativeVerifier| attempt.verify(verifier);
    let Some(user) = authenticated(&snapshot, name, is_right) else {
        bump(&worker.counters.totals.logins_denied);
        return Err(attempt.denied(&client_ip));
    };
    let collation = collation(request.collation)?;
    let schema = match &request.database {
        Some(name) => Some(schema_name(name)?),
        None => user.user.default_schema.as_deref().map(Arc::from),
    };
    let permit = user_permit(worker, &user)?;
    Ok(Accepted {
        login: Login {
            connection_id,
            client_ip,
            collation,
            snapshot,
            user,
            is_removed: false,
            permit,
        },
        capabilities: attempt.capabilities,
        schema,
    })
}

/// The user of this name, if the client's answer is right.
pub(super) fn authenticated(
    snapshot: &Snapshot,
    name: Option<&str>,
    is_right: impl FnOnce(&NativeVerifier) -> bool,
) -> Option<Arc<UserEntry>> {
    let user = name.and_then(|name| snapshot.users.get(name))?;
    let credentials = user.credentials.as_ref()?;
    is_right(&credentials.verifier).then(|| user.clone())
}

pub(super) fn user_permit(worker: &Worker, user: &UserEntry) -> Result<Permit, MysqlError> {
    if worker.phase() != Phase::Serving {
        return Err(errors::SERVER_SHUTDOWN.with("Server shutdown in progress"));
    }
    let limit = user.user.max_connections;
    worker.shared.user_permit(&user.name, limit).ok_or_else(|| {
        errors::USER_LIMIT_REACHED.with(format_args!(
            "User '{}' has exceeded the 'max_user_connections' resource (current value: {limit})",
            user.name
        ))
    })
}

/// The collation of a login, if statements in its character set can be read.
pub(super) fn collation(id: u8) -> Result<u8, MysqlError> {
    match charset_of_collation(u16::from(id)) {
        Some(charset) if !is_lexable(&charset) => Err(errors::UNKNOWN_CHARACTER_SET.with(format_args!(
            "character set '{charset}' is not supported: the proxy cannot read statements in it"
        ))),
        Some(_) => Ok(id),
        // An id that nobody knows is what servers take for their default.
        None => Ok(UTF8MB4_GENERAL_CI),
    }
}

/// A schema name as text.
pub(super) fn schema_name(name: &[u8]) -> Result<Arc<str>, MysqlError> {
    match std::str::from_utf8(name) {
        Ok(name) if !name.is_empty() && name.len() <= MAX_SCHEMA && !name.contains('\0') => {
            Ok(Arc::from(name))
        }
        _ => Err(errors::BAD_DB.with(format_args!(
            "Unknown database '{}'",
            String::from_utf8_lossy(&name[..name.len().min(MAX_SCHEMA)])
        ))),
    }
}
