//! A connection to a server: what is known of its state, and exchanges that its session does not see.

mod age;
mod attributes;
mod beginning;
mod dial;
mod exchange;
mod last_insert_id;
mod own_commands;
mod reset;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
use shardwright_rules::ServerTls;
use shardwright_sql::{LexMode, Servers};
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, Command, ConnectError,
    Greeting, MariadbCapabilities, MysqlError, ResponseScanner, ScanError, SpliceError, StatusFlags,
    capability, errors,
};

pub(crate) use self::age::MAX_AGE_OF_OWN;
pub(crate) use self::dial::dial;
pub(crate) use self::own_commands::OwnCommands;
use self::reset::Ahead;
use crate::backend_statements::BackendStatements;
use crate::channel::{Channel, Frame, ReadError, Scratch};
use crate::characteristics::Characteristics;
use crate::clock::Clock;
use crate::insert_id::LeftId;
use crate::members::MemberRuntime;
use crate::pool_key::PoolKey;
use crate::reading::is_read_in;
use crate::set_names::SetNames;
use crate::slot::Slot;
use crate::tls::Loaded;

/// Capabilities of a client that its backend connections must have too, because they change answers.
pub(crate) const SHAPING: CapabilityFlags = CapabilityFlags::CLIENT_FOUND_ROWS
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES)
    .union(RESHAPING);

/// What clients are offered as long as no server is known to lack it.
pub(crate) const OF_EVERY_SERVER: CapabilityFlags = RESHAPING.union(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES);

/// The capabilities that change the bytes of answers: a client that has one needs servers that have it.
const RESHAPING: CapabilityFlags =
    CapabilityFlags::CLIENT_DEPRECATE_EOF.union(CapabilityFlags::CLIENT_SESSION_TRACK);

/// The same of MariaDB's further capabilities; whether there is extended metadata is up to the client.
const OF_MARIADB: MariadbCapabilities = MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS;

/// What is spoken on both sides beside those.
pub(crate) const BASE: CapabilityFlags = capability::REQUIRED
    .union(CapabilityFlags::CLIENT_LONG_PASSWORD)
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_LOCAL_FILES)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH);

/// Why a server whose sessions begin with this sql_mode is not used.
const OTHER_SQL_MODE: &str = "its sql_mode has ANSI_QUOTES, NO_BACKSLASH_ESCAPES, ORACLE or MSSQL, under which statements cannot be routed: set the server's \
     sql_mode to one without, and have sessions set it";

/// Why a server cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectFailure {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the server closed the connection while logging in")]
    Closed,
    #[error(transparent)]
    Login(#[from] ConnectError),
    #[error("TLS with the server could not be begun: {0}")]
    Tls(io::Error),
    #[error("{0}")]
    Unfit(&'static str),
}

/// The connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackendError {
    #[error("the server closed the connection")]
    Closed,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the server does not follow the protocol: {0}")]
    Scan(#[from] ScanError),
    #[error("the server did not answer a command of the proxy's own within {0:?}")]
    Silent(Duration),
    #[error("the server does not answer, and another has taken its place")]
    TakenOver,
    #[error("the server ended while it ran the read, and no server gets the read for a while")]
    Ended,
    #[error("the server has not reset the connection")]
    NotReset,
    #[error("the server does not follow the protocol: {0}")]
    Splice(#[from] SpliceError),
}

impl BackendError {
    /// The error for a client whose statement it ends.
    pub(crate) fn for_client(&self) -> MysqlError {
        errors::CLIENT_SERVER_LOST.with(format_args!(
            "Lost connection to MySQL server during query: {self}"
        ))
    }
}

/// A connection that is logged in. Dropping it closes it. Large, and handed over several times for a statement: so it lies
/// behind a pointer.
pub(crate) struct Backend {
    pub(crate) channel: Channel,
    pub(crate) scanner: ResponseScanner,
    pub(crate) member: Arc<MemberRuntime>,
    /// Unique in its worker.
    pub(crate) serial: u64,
    pub(crate) thread_id: u32,
    /// Where it leads; none for a unix socket.
    pub(crate) peer: Option<IpAddr>,
    /// A KILL QUERY was sent for it: what it meets may be the next statement.
    pub(crate) may_be_killed: bool,
    pub(crate) key: PoolKey,
    pub(crate) is_mariadb: bool,
    /// Its release line; all of them where it does not tell.
    pub(crate) servers: Servers,
    /// Attributes stand before the text of a query.
    takes_attributes: bool,
    /// It takes MariaDB's bulk executions.
    pub(crate) takes_bulk: bool,
    pub(crate) schema: Option<Arc<str>>,
    /// `None`: as the login left it.
    pub(crate) names: Option<SetNames>,
    pub(crate) autocommit: bool,
    /// It has run the server's `init_connect`, which a reset undoes and does not run again.
    pub(crate) has_run_init_connect: bool,
    /// The session that it is reset for begins with the autocommit of its server, whatever that is by then.
    pub(crate) takes_any_autocommit: bool,
    /// The autocommit that its server has come to have, until its session takes it on.
    pub(crate) begins_with: Option<bool>,
    /// The command of a reset that was sent or queued, and whose answer was not read.
    ahead: Option<Ahead>,
    pub(crate) statements: BackendStatements,
    /// A reset has left the schema, and set `character_set_database` to what the server has.
    pub(crate) has_forgotten_schema: bool,
    /// Code ran on it that may have changed how statements are to be read.
    pub(crate) is_suspect: bool,
    /// Code ran on it that may have set what a reset does not undo.
    pub(crate) may_outlast_reset: bool,
    /// The role that it has had since its login; empty: none.
    pub(crate) first_role: Box<[u8]>,
    /// The server was asked, and reads texts as UTF-8; since then nothing has run that could change it.
    pub(crate) is_utf8: bool,
    /// The session whose state it has; 0 for none.
    pub(crate) last_session: u64,
    /// The latest id of that session, if it was left here.
    pub(crate) insert_id: Option<LeftId>,
    /// What that session has set for its next transaction, unless that is used up for certain.
    pub(crate) next_transaction: Option<Characteristics>,
    /// The last entry of that session's SET history that it has.
    pub(crate) replayed: u64,
    pub(crate) idle_since: Instant,
    pub(crate) opened: Instant,
    /// From then on it goes to no further session.
    pub(crate) over_at: Instant,
    /// The password of its account has expired: the server runs nothing on it but a change of it.
    pub(crate) must_change_password: bool,
    /// The session whose writes `@@last_gtid` covers, as far as they were made here; 0 for none.
    pub(crate) wrote_for: u64,
    /// Its list of warnings need not be empty.
    pub(crate) may_have_warnings: bool,
    /// What commands of the proxy's own have changed of its answers about earlier statements.
    pub(crate) own: OwnCommands,
    /// Timers of whoever has it.
    pub(crate) clock: Clock,
    _slot: Slot,
}

/// With what and how to open a connection.
pub(crate) struct Connect<'a> {
    pub(crate) member: &'a Arc<MemberRuntime>,
    /// The address to connect to; where the host leads if none is given.
    pub(crate) at: Option<IpAddr>,
    pub(crate) key: PoolKey,
    pub(crate) secret: ClientSecret,
    /// The certificates of now.
    pub(crate) tls: Arc<Loaded>,
    pub(crate) allow_public_key_retrieval: bool,
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) slot: Slot,
    /// Time from the login until it goes to no further session.
    pub(crate) max_age: Duration,
    pub(crate) serial: u64,
    pub(crate) scratch: Scratch,
    pub(crate) clock: Clock,
}

/// What a login has come to.
struct LoggedIn {
    greeting: Greeting,
    status: StatusFlags,
    capabilities: CapabilityFlags,
    mariadb_capabilities: MariadbCapabilities,
}

impl Connect<'_> {
    /// Opens the connection and logs in.
    pub(crate) async fn open(self, timeout: Duration) -> Result<Box<Backend>, ConnectFailure> {
        let clock = self.clock.clone();
        let opened = async {
            let is_shared = self.slot.is_shared();
            let mut backend = self.open_untimed().await?;
            if is_shared {
                backend.learn_beginning(timeout).await?;
            }
            Ok(backend)
        };
        match clock.timeout(timeout, Box::pin(opened)).await {
            Ok(opened) => opened,
            Err(_) => Err(ConnectFailure::Timeout(timeout)),
        }
    }

    async fn open_untimed(self) -> Result<Box<Backend>, ConnectFailure> {
        let socket = dial(self.member, self.at, &self.clock).await?;
        let peer = socket.peer_ip();
        if let Some(peer) = peer {
            self.member.led_to(peer);
        }
        let mut channel = Channel::new(socket, self.scratch.clone());
        let LoggedIn {
            greeting,
            status,
            capabilities,
            mariadb_capabilities,
        } = self.log_in(&mut channel).await?;
        if !is_read_in(LexMode::default(), status, greeting.is_mariadb()) {
            return Err(ConnectFailure::Unfit(OTHER_SQL_MODE));
        }
        Ok(Box::new(Backend {
            channel,
            scanner: ResponseScanner::new(BASE | self.key.shaping),
            member: self.member.clone(),
            serial: self.serial,
            thread_id: greeting.connection_id,
            peer,
            may_be_killed: false,
            key: self.key,
            is_mariadb: greeting.is_mariadb(),
            servers: Servers::of_version(&greeting.server_version).unwrap_or(Servers::ALL),
            takes_attributes: capabilities.contains(CapabilityFlags::CLIENT_QUERY_ATTRIBUTES),
            takes_bulk: mariadb_capabilities
                .contains(MariadbCapabilities::MARIADB_CLIENT_STMT_BULK_OPERATIONS),
            schema: self.schema,
            names: None,
            autocommit: status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT),
            has_run_init_connect: false,
            takes_any_autocommit: false,
            begins_with: None,
            ahead: None,
            statements: BackendStatements::default(),
            has_forgotten_schema: false,
            is_suspect: false,
            may_outlast_reset: false,
            first_role: Box::default(),
            is_utf8: false,
            last_session: 0,
            insert_id: None,
            next_transaction: None,
            replayed: 0,
            idle_since: Instant::now(),
            opened: Instant::now(),
            over_at: Instant::now() + age::spread(self.max_age, self.serial),
            must_change_password: false,
            wrote_for: 0,
            may_have_warnings: false,
            own: OwnCommands::default(),
            clock: self.clock,
            _slot: self.slot,
        }))
    }

    async fn log_in(&self, channel: &mut Channel) -> Result<LoggedIn, ConnectFailure> {
        let credentials = self.credentials();
        let needed = self.key.shaping - CapabilityFlags::CLIENT_QUERY_ATTRIBUTES;
        let needed_of_mariadb = self.key.mariadb_capabilities();
        let mut frame = Frame::default();
        login_packet(channel, &mut frame).await?;
        let greeting = ClientLogin::greeting(frame.payload())?;
        self.member.greeted(&greeting);
        let mut seq = frame.next_seq();
        if let Some(config) = self.config(&greeting)? {
            channel.queue(&mut seq, &ClientLogin::tls_request(&greeting, &credentials));
            channel.flush().await?;
            let begun = channel.connect_tls(config, &self.member.host).await;
            begun.map_err(ConnectFailure::Tls)?;
        }
        let (mut login, answer) = ClientLogin::start(&greeting, &credentials, channel.privacy())?;
        channel.queue(&mut seq, &answer);
        loop {
            channel.flush().await?;
            login_packet(channel, &mut frame).await?;
            match login.on_payload(frame.payload())? {
                ClientStep::Send(payload) => channel.queue(&mut frame.next_seq(), &payload),
                ClientStep::Wait => {}
                ClientStep::Ready { .. } if channel.unread() > 0 => {
                    // It would be taken for the answer to the first statement.
                    return Err(ConnectFailure::Unfit("it said more than the answer to the login"));
                }
                ClientStep::Ready {
                    capabilities,
                    mariadb_capabilities,
                    status,
                } if capabilities.contains(needed) && mariadb_capabilities.contains(needed_of_mariadb) => {
                    return Ok(LoggedIn {
                        greeting,
                        status,
                        capabilities,
                        mariadb_capabilities,
                    });
                }
                ClientStep::Ready { .. } => {
                    return Err(ConnectFailure::Unfit(
                        "it lacks a protocol capability that the client uses",
                    ));
                }
            }
        }
    }

    fn credentials(&self) -> BackendCredentials {
        BackendCredentials {
            user: self.key.user.as_bytes().to_vec(),
            secret: self.secret.clone(),
            database: self.schema.as_ref().map(|schema| schema.as_bytes().to_vec()),
            capabilities: BASE
                | self.key.shaping
                | CapabilityFlags::CLIENT_CONNECT_ATTRS
                | CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS,
            mariadb_capabilities: OF_MARIADB | self.key.mariadb_capabilities(),
            collation: self.key.collation,
            attributes: attributes::attributes(),
            allow_public_key_retrieval: self.allow_public_key_retrieval,
        }
    }

    /// How TLS is begun with a server that greets like this; `None` for a plain connection. A unix socket is private
    /// without it.
    fn config(&self, greeting: &Greeting) -> Result<Option<Arc<ClientConfig>>, ConnectFailure> {
        let wanted = match self.member.port {
            0 => ServerTls::Disabled,
            _ => self.member.tls,
        };
        let is_offered = greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL);
        match wanted {
            ServerTls::Disabled => Ok(None),
            ServerTls::Preferred if !is_offered => Ok(None),
            ServerTls::Required | ServerTls::Verify if !is_offered => Err(ConnectFailure::Unfit(
                "the server offers no TLS, and its cluster asks for it: give the server a certificate, or change \
                 `tls` of the cluster",
            )),
            ServerTls::Preferred | ServerTls::Required => Ok(Some(self.tls.servers.clone())),
            ServerTls::Verify => match &self.tls.verified_servers {
                Some(config) => Ok(Some(config.clone())),
                None => Err(ConnectFailure::Unfit(
                    "the server's certificate is to be checked: start the proxy with --tls-server-ca",
                )),
            },
        }
    }
}

async fn login_packet(channel: &mut Channel, frame: &mut Frame) -> Result<(), ConnectFailure> {
    match channel
        .packet(frame, shardwright_wire::PRE_AUTH_MAX_PAYLOAD)
        .await
    {
        Ok(()) => Ok(()),
        Err(ReadError::Closed) => Err(ConnectFailure::Closed),
        Err(ReadError::Io(error)) => Err(error.into()),
        Err(ReadError::Packet(_) | ReadError::OutOfMemory(_) | ReadError::LeftOut { .. }) => Err(
            ConnectFailure::Unfit("its handshake is not of the MySQL protocol"),
        ),
    }
}

#[cfg(test)]
impl Backend {
    /// A connection that is not logged in anywhere.
    pub(crate) fn for_tests(
        stream: crate::event_loop::Stream,
        member: Arc<MemberRuntime>,
        slot: Slot,
        key: PoolKey,
        scratch: Scratch,
    ) -> Self {
        Self {
            channel: Channel::new(crate::socket::Socket::Unix(stream), scratch),
            scanner: ResponseScanner::new(BASE),
            member,
            serial: 0,
            thread_id: 0,
            peer: None,
            may_be_killed: false,
            key,
            is_mariadb: true,
            servers: Servers::ALL_MARIADB,
            takes_attributes: false,
            takes_bulk: false,
            schema: None,
            names: None,
            autocommit: true,
            has_run_init_connect: false,
            takes_any_autocommit: false,
            begins_with: None,
            ahead: None,
            statements: BackendStatements::default(),
            has_forgotten_schema: false,
            is_suspect: false,
            may_outlast_reset: false,
            first_role: Box::default(),
            is_utf8: false,
            last_session: 0,
            insert_id: None,
            next_transaction: None,
            replayed: 0,
            idle_since: Instant::now(),
            opened: Instant::now(),
            over_at: Instant::now() + MAX_AGE_OF_OWN,
            must_change_password: false,
            wrote_for: 0,
            may_have_warnings: false,
            own: OwnCommands::default(),
            clock: Clock::own(),
            _slot: slot,
        }
    }
}

impl Backend {
    /// Whether query attributes can be sent to it: a client that has any has asked for that, and the server knows them.
    pub(crate) fn takes_attributes(&self) -> bool {
        self.takes_attributes
    }

    /// Its autocommit after a reset, by what is known of its server.
    pub(crate) fn first_autocommit(&self) -> bool {
        self.member.defaults.get().unwrap_or_default().autocommit()
    }

    /// Notes that code ran whose text the proxy has not seen.
    pub(crate) fn ran_unknown_code(&mut self) {
        self.is_suspect = true;
        self.may_outlast_reset = true;
    }

    /// Follows the server's word on autocommit.
    pub(crate) fn note_status(&mut self, status: Option<StatusFlags>) {
        if let Some(status) = status {
            self.autocommit = status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
        }
    }

    /// Lets a KILL QUERY that came too late for its statement end a ping in place of the next one.
    pub(crate) async fn outlive_kill(&mut self) -> Result<(), BackendError> {
        if std::mem::take(&mut self.may_be_killed) {
            self.exchange(Command::Ping).await?;
        }
        Ok(())
    }

    /// Whether texts are read in this mode, in a character set that the lexer can read. A server that does not know the
    /// question is believed.
    pub(crate) async fn is_reading_in(&mut self, mode: LexMode) -> Result<bool, BackendError> {
        let not = |is_on: bool| if is_on { " NOT" } else { "" };
        // The trace that the session has asked for is of its own statement. MySQL has no way to leave this one out.
        let question = format!(
            "/*M!100401 SET STATEMENT optimizer_trace='enabled=off' FOR */ \
             SELECT 1 FROM DUAL WHERE @@character_set_client IN ('big5', 'cp932', 'gb18030', 'gbk', 'sjis', 'swe7') \
             OR @@sql_mode LIKE '%ORACLE%' OR @@sql_mode LIKE '%MSSQL%' OR @@sql_mode{} LIKE '%ANSI_QUOTES%' OR @@sql_mode{} LIKE '%NO_BACKSLASH_ESCAPES%' LIMIT 1",
            not(mode.ansi_quotes),
            not(mode.no_backslash_escapes)
        );
        let outcome = self.exchange(Command::Query(question.as_bytes())).await?;
        self.is_suspect = false;
        // It has a row in any other mode, whatever the session's sql_select_limit.
        Ok(outcome.rows == 0)
    }
}
