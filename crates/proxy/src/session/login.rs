//! The login of a client: greeting, proof, limits.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use shardwright_rules::Encoding;
use shardwright_sql::Servers;
use shardwright_wire::auth::Scramble;
use shardwright_wire::charset::{UTF8MB4_GENERAL_CI, charset_of_collation, is_lexable, is_never_of_clients};
use shardwright_wire::{
    CapabilityFlags, Dialect, Greeting, MariadbCapabilities, MysqlError, ServerLogin, SessionChange,
    capability, errors,
};

use tokio::time::Instant;

use super::proof::{Dialogue, Known, Verdict};
use super::set_statement::never_of_clients;
use super::{Flow, Session, proxied};
use crate::backend::{BASE, OF_EVERY_SERVER, SHAPING};
use crate::channel::Channel;
use crate::half_open::{LoginPermit, Origin};
use crate::listen_address::{ListenAddress, Peer};
use crate::permit::Permit;
use crate::server_defaults::ServerDefaults;
use crate::session_handle::LoggedIn;
use crate::shared::Phase;
use crate::snapshot::{Snapshot, UserEntry};
use crate::stats::bump;
use crate::worker::Worker;

/// Bytes of the longest name that a server is asked about. That of a schema has 64 characters.
const MAX_SCHEMA: usize = 1024;
/// Bytes of a longer name that its error shows.
const SHOWN_OF_SCHEMA: usize = 100;

/// What clients may use. TLS is where there is a certificate, and what changes the bytes of answers is where every server
/// has it.
const OFFERED: CapabilityFlags = BASE
    .union(SHAPING)
    .union(CapabilityFlags::CLIENT_IGNORE_SPACE)
    .union(CapabilityFlags::CLIENT_CONNECT_WITH_DB)
    .union(CapabilityFlags::CLIENT_CONNECT_ATTRS)
    .union(CapabilityFlags::CLIENT_MULTI_STATEMENTS)
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_COMPRESS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA)
    .union(CapabilityFlags::CLIENT_IGNORE_SIGPIPE)
    .union(CapabilityFlags::CLIENT_INTERACTIVE)
    .union(CapabilityFlags::CLIENT_RESERVED);

/// The same of MariaDB's further capabilities, where every server has them.
const OFFERED_OF_MARIADB: MariadbCapabilities = capability::UNDERSTOOD_OF_MARIADB;

/// Who a session belongs to, and the generation that it follows.
pub(super) struct Login {
    pub(super) connection_id: u32,
    pub(super) client_ip: String,
    pub(super) collation: u8,
    /// The challenge of the greeting.
    pub(super) scramble: Scramble,
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) user: Arc<UserEntry>,
    /// The generation that is followed does not have the user any more.
    pub(super) is_removed: bool,
    /// One of the sessions that the user may have.
    pub(super) permit: Permit,
}

impl Login {
    /// As others see it.
    pub(super) fn as_logged_in(&self) -> LoggedIn {
        LoggedIn {
            user: self.user.name.clone(),
            client_ip: self.client_ip.clone(),
            since: std::time::Instant::now(),
        }
    }

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
    pub(super) dialect: Dialect,
    pub(super) schema: Option<Arc<str>>,
    /// The client has named the schema; it is not the one of its user.
    pub(super) names_schema: bool,
    /// The sequence number of the answer, which it still waits for.
    pub(super) seq: u8,
}

impl Session {
    /// Answers the login. A schema that the client has named must be there, as on a server: whoever hears OK has it.
    pub(super) async fn welcome(&mut self, names_schema: bool, seq: u8) -> Flow {
        let schema = self.settings.schema.clone().filter(|_| names_schema);
        let error = match &schema {
            Some(schema) => self.schema_error(schema).await?,
            None => None,
        };
        match error {
            Some(error) => {
                tracing::debug!(
                    client = self.login.client_ip,
                    code = error.code,
                    "a login was refused"
                );
                self.refuse_and_close(error, seq).await
            }
            None => {
                self.begin_as_on_server().await;
                // The session has done nothing yet that could be asked about.
                let status = self.status();
                let mut changes = Vec::new();
                if let Some(schema) = &self.settings.schema
                    && self.client.tracks_session()
                    && self.settings.defaults.contains(ServerDefaults::TRACKS_SCHEMA)
                {
                    SessionChange::Schema(schema.as_bytes()).encode(&mut changes);
                }
                self.client.send_ok(seq, b"", status, &changes).await
            }
        }
    }
}

/// Receives a client, up to the answer to its login; `None` when there is no session. The time of a login is limited, and it
/// may have to make room for another one.
pub(super) async fn arrive(
    worker: &Worker,
    channel: &mut Channel,
    connection_id: u32,
    peer: Peer,
    listener: &ListenAddress,
    permit: &mut LoginPermit,
) -> Option<Accepted> {
    let deadline = Instant::now() + worker.shared.limits.handshake_timeout;
    let mut client = peer;
    if listener.trusts(peer) {
        let read = proxied::client_of(channel, peer);
        let read = within(worker, peer, deadline, permit, read).await;
        client = match read.unwrap_or_else(|| Err(Some(proxied::missing(peer)))) {
            Ok(client) => client,
            Err(error) => {
                refuse_before_greeting(channel, peer, error);
                return None;
            }
        };
        permit.move_to(Origin::from(client.ip()));
    }
    let login = log_in(worker, channel, connection_id, client);
    within(worker, client, deadline, permit, login).await?
}

/// What comes of a part of a login in time; `None` when its time is over or it has to make room.
async fn within<T>(
    worker: &Worker,
    peer: Peer,
    deadline: Instant,
    permit: &mut LoginPermit,
    part: impl Future<Output = T>,
) -> Option<T> {
    let why = tokio::select! {
        biased;
        done = part => return Some(done),
        () = permit.must_end() => {
            let why = "a login made room for another one: see --max-half-open";
            if let Some(cut) = worker.shared.cut_logins.count(std::time::Instant::now()) {
                tracing::warn!(%peer, cut, "{why}");
            }
            why
        }
        () = worker.shared.clock.sleep_until(deadline) => "a client did not log in in time: see --login-timeout",
    };
    tracing::debug!(%peer, "{why}");
    bump(&worker.counters.totals.logins_cut);
    None
}

/// Says why there is no greeting, as far as one write goes.
fn refuse_before_greeting(channel: &mut Channel, peer: Peer, error: Option<MysqlError>) {
    let Some(error) = error else {
        return;
    };
    tracing::warn!(%peer, "{}", error.message);
    let mut payload = Vec::new();
    error.encode_before_greeting(&mut payload);
    channel.queue(&mut 0, &payload);
    let mut cx = Context::from_waker(Waker::noop());
    if let Poll::Ready(Err(error)) = channel.poll_flush(&mut cx) {
        tracing::debug!(%peer, %error, "a client has gone before it was told");
    }
}

/// Logs a client in, up to the answer; `None` when it did not, and was told so if it is still there.
async fn log_in(worker: &Worker, channel: &mut Channel, connection_id: u32, peer: Peer) -> Option<Accepted> {
    let scramble = match Scramble::generate() {
        Ok(scramble) => scramble,
        Err(error) => {
            tracing::error!(%error, "no random bytes for a challenge");
            return None;
        }
    };
    let mut offered = OFFERED;
    let has_tls = worker.shared.tls.loaded().clients.is_some() && !channel.privacy().is_private();
    offered.set(CapabilityFlags::CLIENT_SSL, has_tls);
    let version = &worker.shared.server_version;
    let version = version
        .greeted(&worker.snapshot(), &worker.scratch, &worker.shared.clock)
        .await;
    if worker.servers() == Servers::ALL {
        worker.learn_servers();
    }
    offered.remove(worker.snapshot().lacks() & OF_EVERY_SERVER);
    let mut greeting = Greeting::native(version, connection_id, scramble, offered, UTF8MB4_GENERAL_CI);
    greeting.mariadb_capabilities = offered_of_mariadb(&worker.snapshot());
    let mut seq = 0;
    channel.queue(&mut seq, &greeting.encode());
    channel.flush().await.ok()?;
    let client_ip = peer.client_ip();
    let mut login = ServerLogin::new(&greeting, channel.privacy());
    let dialogue = Dialogue {
        worker,
        channel,
        client_ip: &client_ip,
        seq,
    };
    let Verdict { result, mut seq } = dialogue.run(&mut login, None).await?;
    match result.and_then(|known| admit(worker, known, &greeting, client_ip, seq)) {
        Ok(accepted) => Some(accepted),
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

/// A bulk execution is one statement to its servers, and each of its rows may have a key of its own. So clients are told to execute
/// rows one by one where values decide the shard.
fn offered_of_mariadb(snapshot: &Snapshot) -> MariadbCapabilities {
    let mut offered = OFFERED_OF_MARIADB & snapshot.mariadb_capabilities();
    if snapshot.binds_keys {
        offered.remove(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS);
    }
    offered
}

fn admit(
    worker: &Worker,
    known: Known,
    greeting: &Greeting,
    client_ip: String,
    seq: u8,
) -> Result<Accepted, MysqlError> {
    let Known {
        attempt,
        user,
        snapshot,
    } = known;
    let request = &attempt.request;
    let collation = collation(request.collation)?;
    let encoding = encoding_of(collation);
    let schema = schema_of_login(request.database.as_deref(), &user, encoding)?;
    let permit = user_permit(worker, &user)?;
    Ok(Accepted {
        login: Login {
            connection_id: greeting.connection_id,
            client_ip,
            collation,
            scramble: greeting.scramble,
            snapshot,
            user,
            is_removed: false,
            permit,
        },
        dialect: Dialect {
            capabilities: attempt.capabilities,
            mariadb_capabilities: attempt.mariadb_capabilities,
        },
        names_schema: request.database.is_some(),
        schema,
        seq,
    })
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

/// What bytes beyond ASCII are in the statements of a login with this collation.
pub(super) fn encoding_of(collation: u8) -> Encoding {
    charset_of_collation(u16::from(collation))
        .map_or(Encoding::Ascii, |charset| Encoding::of_charset(&charset))
}

/// The collation of a login, if statements in its character set can be read.
pub(super) fn collation(id: u8) -> Result<u8, MysqlError> {
    match charset_of_collation(u16::from(id)) {
        // Servers say the same.
        Some(charset) if is_never_of_clients(&charset) => Err(never_of_clients(charset.as_bytes())),
        Some(charset) if !is_lexable(&charset) => Err(errors::UNKNOWN_CHARACTER_SET.with(format_args!(
            "character set '{charset}' is not supported: the proxy cannot read statements in it"
        ))),
        Some(_) => Ok(id),
        // An id that nobody knows is what servers take for their default.
        None => Ok(UTF8MB4_GENERAL_CI),
    }
}

/// The schema that a login in this character set begins in: the one that it names, or the user's.
pub(super) fn schema_of_login(
    named: Option<&[u8]>,
    user: &UserEntry,
    encoding: Encoding,
) -> Result<Option<Arc<str>>, MysqlError> {
    let default = user.user.default_schema.as_deref();
    let name = named.or(default.map(str::as_bytes));
    name.map(|name| schema_name(name, encoding)).transpose()
}

/// A schema name as text, written in the character set of a client.
pub(super) fn schema_name(name: &[u8], encoding: Encoding) -> Result<Arc<str>, MysqlError> {
    match std::str::from_utf8(name) {
        Ok(name) if !encoding.reads_name(name) => Err(schema_beyond_ascii()),
        Ok(name) if !name.is_empty() && name.len() <= MAX_SCHEMA && !name.contains('\0') => {
            Ok(Arc::from(name))
        }
        _ if name.len() > MAX_SCHEMA => Err(errors::WRONG_DB_NAME.with(format_args!(
            "Incorrect database name '{}...'",
            String::from_utf8_lossy(&name[..SHOWN_OF_SCHEMA])
        ))),
        _ => Err(errors::BAD_DB.with(format_args!(
            "Unknown database '{}'",
            String::from_utf8_lossy(&name[..name.len().min(MAX_SCHEMA)])
        ))),
    }
}

/// The servers would take the bytes of such a name for another one.
pub(super) fn schema_beyond_ascii() -> MysqlError {
    errors::BAD_DB.with(
        "a schema whose name is not ASCII can be entered only by a session of utf8mb4; use SET NAMES utf8mb4",
    )
}
