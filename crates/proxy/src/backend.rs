//! A connection to a server: what is known of its state, and exchanges that its session does not see.

use std::sync::Arc;
use std::time::{Duration, Instant};

use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, Command, ConnectError,
    Greeting, MysqlError, Outcome, ResponseScanner, ResponseShape, ScanError, ScanEvent, Started,
    StatusFlags, capability, errors,
};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;

use crate::backend_statements::BackendStatements;
use crate::channel::{Channel, Frame, ReadError, Scratch};
use crate::members::MemberRuntime;
use crate::set_names::SetNames;
use crate::socket::Socket;

/// Capabilities of a client that its backend connections must have too, because they change answers.
pub(crate) const SHAPING: CapabilityFlags = CapabilityFlags::CLIENT_FOUND_ROWS
    .union(CapabilityFlags::CLIENT_IGNORE_SPACE)
    .union(CapabilityFlags::CLIENT_MULTI_RESULTS)
    .union(CapabilityFlags::CLIENT_PS_MULTI_RESULTS);

/// What is spoken on both sides beside those. `CLIENT_DEPRECATE_EOF` and `CLIENT_SESSION_TRACK` are not: they
/// change the bytes of responses, and servers that lack them must be able to serve every client.
pub(crate) const BASE: CapabilityFlags = capability::REQUIRED
    .union(CapabilityFlags::CLIENT_LONG_PASSWORD)
    .union(CapabilityFlags::CLIENT_LONG_FLAG)
    .union(CapabilityFlags::CLIENT_TRANSACTIONS)
    .union(CapabilityFlags::CLIENT_PLUGIN_AUTH);

/// Status flags of a server whose statements the lexer would read wrongly. The second is MariaDB's
/// (`include/mysql_com.h`, SERVER_STATUS_ANSI_QUOTES).
const UNREADABLE: u16 = StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES.bits() | 0x8000;

/// Has a row in a session whose statements the lexer would read wrongly, whatever its `sql_select_limit`.
const UNREADABLE_SESSION: &[u8] = b"SELECT 1 FROM DUAL WHERE @@character_set_client IN \
    ('big5', 'cp932', 'gb18030', 'gbk', 'sjis', 'swe7') \
    OR @@sql_mode LIKE '%ANSI_QUOTES%' OR @@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%' LIMIT 1";

/// What a connection must be for a session to use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolKey {
    pub(crate) user: Arc<str>,
    /// The part of [`SHAPING`] that the client has.
    pub(crate) shaping: CapabilityFlags,
    /// Collation of the login.
    pub(crate) collation: u8,
    /// Whether a schema is selected: none can be unselected.
    pub(crate) has_schema: bool,
}

/// Why a server cannot be talked to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectFailure {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the server closed the connection while logging in")]
    Closed,
    #[error(transparent)]
    Login(#[from] ConnectError),
    #[error("{0}")]
    Unfit(&'static str),
}

/// The connection is of no use any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackendError {
    #[error("the server closed the connection")]
    Closed,
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("the server does not follow the protocol: {0}")]
    Scan(#[from] ScanError),
}

impl BackendError {
    /// The error for a client whose statement it ends.
    pub(crate) fn for_client(&self) -> MysqlError {
        errors::CLIENT_SERVER_LOST.with(format_args!(
            "Lost connection to MySQL server during query: {self}"
        ))
    }
}

/// A connection that is logged in. Dropping it closes it.
pub(crate) struct Backend {
    pub(crate) channel: Channel,
    pub(crate) scanner: ResponseScanner,
    pub(crate) member: Arc<MemberRuntime>,
    /// Unique in its worker.
    pub(crate) serial: u64,
    pub(crate) key: PoolKey,
    pub(crate) is_mariadb: bool,
    pub(crate) schema: Option<Arc<str>>,
    /// `None`: as the login left it.
    pub(crate) names: Option<SetNames>,
    pub(crate) autocommit: bool,
    pub(crate) statements: BackendStatements,
    /// Code ran on it that may have changed how statements are to be read.
    pub(crate) is_suspect: bool,
    /// The session that used it last.
    pub(crate) last_session: u64,
    pub(crate) idle_since: Instant,
    /// Its list of warnings need not be empty.
    pub(crate) may_have_warnings: bool,
    /// Commands of the proxy's own that it answered.
    pub(crate) exchanges: u64,
    _permit: OwnedSemaphorePermit,
}

/// With what and how to open a connection.
pub(crate) struct Connect<'a> {
    pub(crate) member: &'a Arc<MemberRuntime>,
    pub(crate) key: PoolKey,
    pub(crate) secret: &'a ClientSecret,
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) permit: OwnedSemaphorePermit,
    pub(crate) serial: u64,
    pub(crate) scratch: Scratch,
}

impl Connect<'_> {
    /// Opens the connection and logs in.
    pub(crate) async fn open(self, timeout: Duration) -> Result<Backend, ConnectFailure> {
        match tokio::time::timeout(timeout, self.open_untimed()).await {
            Ok(opened) => opened,
            Err(_) => Err(ConnectFailure::Timeout(timeout)),
        }
    }

    async fn open_untimed(self) -> Result<Backend, ConnectFailure> {
        let socket = if self.member.port == 0 {
            Socket::Unix(UnixStream::connect(&self.member.host).await?)
        } else {
            let stream = TcpStream::connect((self.member.host.as_str(), self.member.port)).await?;
            stream.set_nodelay(true)?;
            Socket::Tcp(stream)
        };
        let mut channel = Channel::new(socket, self.scratch.clone());
        let (greeting, status) = self.log_in(&mut channel).await?;
        if status.bits() & UNREADABLE != 0 {
            return Err(ConnectFailure::Unfit(
                "its sql_mode has ANSI_QUOTES or NO_BACKSLASH_ESCAPES, under which statements cannot be routed",
            ));
        }
        Ok(Backend {
            channel,
            scanner: ResponseScanner::new(BASE | self.key.shaping),
            member: self.member.clone(),
            serial: self.serial,
            key: self.key,
            is_mariadb: greeting.is_mariadb(),
            schema: self.schema,
            names: None,
            autocommit: status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT),
            statements: BackendStatements::default(),
            is_suspect: false,
            last_session: 0,
            idle_since: Instant::now(),
            may_have_warnings: false,
            exchanges: 0,
            _permit: self.permit,
        })
    }

    async fn log_in(&self, channel: &mut Channel) -> Result<(Greeting, StatusFlags), ConnectFailure> {
        let credentials = BackendCredentials {
            user: self.key.user.as_bytes().to_vec(),
            secret: self.secret.clone(),
            database: self.schema.as_ref().map(|schema| schema.as_bytes().to_vec()),
            capabilities: BASE | self.key.shaping,
            collation: self.key.collation,
            attributes: Vec::new(),
        };
        let mut frame = Frame::default();
        login_packet(channel, &mut frame).await?;
        let Started {
            greeting,
            mut login,
            mut answer,
        } = ClientLogin::start(frame.payload(), &credentials)?;
        loop {
            channel.queue(&mut frame.next_seq(), &answer);
            channel.flush().await?;
            login_packet(channel, &mut frame).await?;
            match login.on_payload(frame.payload())? {
                ClientStep::Send(payload) => answer = payload,
                ClientStep::Ready { capabilities, status } if capabilities.contains(self.key.shaping) => {
                    return Ok((greeting, status));
                }
                ClientStep::Ready { .. } => {
                    return Err(ConnectFailure::Unfit(
                        "it lacks a protocol capability that the client uses",
                    ));
                }
            }
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
        Err(ReadError::Packet(_)) => Err(ConnectFailure::Unfit(
            "its handshake is not of the MySQL protocol",
        )),
    }
}

#[cfg(test)]
impl Backend {
    /// A connection that is not logged in anywhere.
    pub(crate) fn for_tests(
        stream: UnixStream,
        member: Arc<MemberRuntime>,
        permit: OwnedSemaphorePermit,
        key: PoolKey,
        scratch: Scratch,
    ) -> Self {
        Self {
            channel: Channel::new(Socket::Unix(stream), scratch),
            scanner: ResponseScanner::new(BASE),
            member,
            serial: 0,
            key,
            is_mariadb: true,
            schema: None,
            names: None,
            autocommit: true,
            statements: BackendStatements::default(),
            is_suspect: false,
            last_session: 0,
            idle_since: Instant::now(),
            may_have_warnings: false,
            exchanges: 0,
            _permit: permit,
        }
    }
}

impl Backend {
    /// Sends a command and reads its whole answer, which nobody else sees.
    pub(crate) async fn exchange(&mut self, command: Command<'_>) -> Result<Outcome, BackendError> {
        let mut payload = Vec::new();
        command.encode(&mut payload);
        let mut seq = 0;
        self.channel.queue(&mut seq, &payload);
        self.receive(command.response_shape(), seq).await
    }

    /// Sends what is queued and reads the answer to it.
    async fn receive(&mut self, shape: ResponseShape, next_seq: u8) -> Result<Outcome, BackendError> {
        self.exchanges += 1;
        self.scanner.begin(shape, next_seq);
        self.channel.flush().await?;
        std::future::poll_fn(|cx| {
            loop {
                let scanner = &mut self.scanner;
                let fed = std::task::ready!(self.channel.poll_bytes(cx, |_, _, bytes| {
                    if bytes.is_empty() {
                        return Err(BackendError::Closed);
                    }
                    let feed = scanner.feed(bytes)?;
                    if feed.consumed < bytes.len() {
                        return Err(ScanError::NotExpected.into());
                    }
                    Ok(feed.event)
                }))??;
                match fed {
                    ScanEvent::More => {}
                    ScanEvent::Complete => return std::task::Poll::Ready(Ok::<_, BackendError>(())),
                    ScanEvent::LocalInfile => {
                        return std::task::Poll::Ready(Err(ScanError::NotExpected.into()));
                    }
                }
            }
        })
        .await?;
        let outcome = self.scanner.outcome().clone();
        self.may_have_warnings |= outcome.warnings > 0 || outcome.error.is_some();
        Ok(outcome)
    }

    /// Follows the server's word on autocommit.
    pub(crate) fn note_status(&mut self, status: Option<StatusFlags>) {
        if let Some(status) = status {
            self.autocommit = status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
        }
    }

    /// Makes the session of the connection as it was after the login, except for its schema.
    pub(crate) async fn reset(&mut self) -> Result<Result<(), MysqlError>, BackendError> {
        let outcome = self.exchange(Command::ResetConnection).await?;
        self.statements = BackendStatements::default();
        self.is_suspect = false;
        if let Some(error) = outcome.error {
            return Ok(Err(error));
        }
        self.autocommit = outcome
            .status
            .is_none_or(|status| status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT));
        // MariaDB goes back to the character set of the login; MySQL to its global one (sql/sql_parse.cc of both,
        // COM_RESET_CONNECTION).
        self.names = if self.is_mariadb {
            None
        } else {
            Some(SetNames::unknown())
        };
        Ok(Ok(()))
    }

    /// Whether statements are still read as the lexer reads them. A server that does not know the question is
    /// believed.
    pub(crate) async fn is_readable(&mut self) -> Result<bool, BackendError> {
        let outcome = self.exchange(Command::Query(UNREADABLE_SESSION)).await?;
        self.is_suspect = false;
        Ok(outcome.rows == 0)
    }
}

/// Whether the lexer would read wrongly what a server in this state executes.
pub(crate) fn is_unreadable(status: StatusFlags) -> bool {
    status.bits() & UNREADABLE != 0
}
