//! The client's side of a login, for connections to backends.
//!
//! ```text
//! greeting ▶ (TLS request ▶ handshake ▶) login request with an answer by the server's method ▶ OK
//!                 switch ▶ answer by that method ▶ OK
//!                 caching_sha2: fast accepted ▶ OK
//!                               full wanted ▶ password (private) or key ▶ encrypted password ▶ OK
//! ```
//!
//! Invariant: the password itself leaves only on a private connection, or encrypted where the caller allows to believe
//! the key that a server sends.

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use mysql_common::io::ParseBuf;
use mysql_common::packets::AuthSwitchRequest;
use mysql_common::proto::MyDeserialize;
use thiserror::Error;

use crate::auth::caching_sha2::{MORE_DATA, PUBLIC_KEY_WANTED};
use crate::auth::{ClientSecret, FAST_ACCEPTED, FULL_WANTED, Method, Scramble, rsa};
use crate::bytes::DecodeError;
use crate::capability;
use crate::errors::MysqlError;
use crate::handshake::Greeting;
use crate::login::{Attributes, LoginRequest, tls_request};
use crate::packet::MAX_CHUNK;
use crate::response::OkPacket;
use crate::server_login::Privacy;

/// With what to log in to a backend.
#[derive(Debug, Clone)]
pub struct BackendCredentials {
    /// User name.
    pub user: Vec<u8>,
    /// The password or its hash.
    pub secret: ClientSecret,
    /// Initial schema.
    pub database: Option<Vec<u8>>,
    /// Wished capabilities; what the server lacks or this crate does not understand is left out.
    pub capabilities: CapabilityFlags,
    /// The same of MariaDB's further capabilities.
    pub mariadb_capabilities: MariadbCapabilities,
    /// Collation of the connection, low byte of its id.
    pub collation: u8,
    /// Connection attributes.
    pub attributes: Attributes,
    /// Whether a password may be encrypted with a key that the server sends on a plain connection. Who answers in the
    /// server's place can send a key of their own, and reads the password.
    pub allow_public_key_retrieval: bool,
}

/// Why a login at a backend failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The server said no; 1040 and 1129 come here as well.
    #[error("the server refused the connection: {0}")]
    Refused(MysqlError),
    /// The server insists on a method that is not spoken.
    #[error(
        "the server asks for authentication plugin `{0}`; only `mysql_native_password` and `caching_sha2_password` are \
         spoken: create the user with one of them"
    )]
    UnsupportedPlugin(String),
    /// The server asks for more than a hash can answer.
    #[error(
        "the server asks for `caching_sha2_password`, and of the password only its mysql_native_password hash is known: \
         let the user's secret be the password itself, or create the user on the server with \
         `IDENTIFIED WITH mysql_native_password`"
    )]
    OnlyHashKnown,
    /// The server asks for the password on a connection that others can read.
    #[error(
        "the server asks for the password itself, and the connection is not encrypted: set `tls` of the cluster, or \
         allow the server's public key with --allow-public-key-retrieval"
    )]
    NeedsPrivacy,
    /// The server's packets make no sense.
    #[error("the server's handshake is not understood: {0}")]
    Handshake(#[from] DecodeError),
}

/// What to do after a payload of the server.
#[derive(Debug)]
pub enum ClientStep {
    /// Send this payload with the next sequence number and wait for another.
    Send(Vec<u8>),
    /// Send nothing and wait for another payload.
    Wait,
    /// Logged in.
    Ready {
        /// What the connection speaks.
        capabilities: CapabilityFlags,
        /// The same of MariaDB's further capabilities.
        mariadb_capabilities: MariadbCapabilities,
        /// The server's status.
        status: mysql_common::constants::StatusFlags,
    },
}

/// A login in progress at a backend.
#[derive(Debug)]
pub struct ClientLogin {
    secret: ClientSecret,
    capabilities: CapabilityFlags,
    mariadb_capabilities: MariadbCapabilities,
    privacy: Privacy,
    allow_public_key_retrieval: bool,
    /// The method of the last answer, and the challenge it is for.
    method: Method,
    scramble: Scramble,
    switches_left: u8,
    exchange: Exchange,
}

/// How far `caching_sha2_password` has come. Nothing comes twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exchange {
    Answered,
    KeyWanted,
    Over,
}

impl ClientLogin {
    /// Reads the server's first payload.
    ///
    /// # Errors
    /// [`ConnectError`], also when the server sends an error in place of a greeting.
    pub fn greeting(payload: &[u8]) -> Result<Greeting, ConnectError> {
        if payload.first() == Some(&0xFF) {
            return Err(ConnectError::Refused(MysqlError::decode(payload)?));
        }
        Ok(Greeting::decode(payload)?)
    }

    /// The payload that asks a server that offers it for TLS; the login goes on inside.
    #[must_use]
    pub fn tls_request(greeting: &Greeting, credentials: &BackendCredentials) -> Vec<u8> {
        let (capabilities, of_mariadb) = shared_capabilities(greeting, credentials);
        let capabilities = (capabilities | CapabilityFlags::CLIENT_SSL, of_mariadb);
        tls_request(capabilities, MAX_PACKET, credentials.collation)
    }

    /// The login, and the payload to send. It answers by the server's method if that is spoken: a server that wants
    /// another for this user asks for it.
    ///
    /// # Errors
    /// [`ConnectError`] where the secret does not suffice.
    pub fn start(
        greeting: &Greeting,
        credentials: &BackendCredentials,
        privacy: Privacy,
    ) -> Result<(Self, Vec<u8>), ConnectError> {
        let (mut capabilities, mariadb_capabilities) = shared_capabilities(greeting, credentials);
        // Elsewhere it would ask for TLS.
        capabilities.set(CapabilityFlags::CLIENT_SSL, privacy == Privacy::Tls);
        let offered = Method::named(greeting.auth_plugin.as_bytes()).unwrap_or(Method::Native);
        let answer = credentials.secret.answer(offered, &greeting.scramble);
        // A server with a method that the secret cannot answer may have the user with one that it can.
        let (method, answer) = match answer {
            Some(answer) => (offered, Some(answer)),
            None => (
                Method::Native,
                credentials.secret.answer(Method::Native, &greeting.scramble),
            ),
        };
        let request = LoginRequest {
            capabilities,
            mariadb_capabilities,
            max_packet: MAX_PACKET,
            collation: credentials.collation,
            user: credentials.user.clone(),
            auth_response: answer.ok_or(ConnectError::OnlyHashKnown)?,
            database: credentials.database.clone(),
            plugin: Some(method.name().as_bytes().to_vec()),
            attributes: credentials.attributes.clone(),
        };
        let login = Self {
            secret: credentials.secret.clone(),
            capabilities,
            mariadb_capabilities,
            privacy,
            allow_public_key_retrieval: credentials.allow_public_key_retrieval,
            method,
            scramble: greeting.scramble,
            switches_left: 1,
            exchange: Exchange::Answered,
        };
        Ok((login, request.encode()))
    }

    /// Takes a further payload of the server.
    ///
    /// # Errors
    /// [`ConnectError`]; the connection is then of no use.
    pub fn on_payload(&mut self, payload: &[u8]) -> Result<ClientStep, ConnectError> {
        match payload.first() {
            Some(0x00) => {
                let ok = OkPacket::decode(payload, self.capabilities)?;
                Ok(ClientStep::Ready {
                    capabilities: self.capabilities,
                    mariadb_capabilities: self.mariadb_capabilities,
                    status: ok.status,
                })
            }
            Some(0xFF) => Err(ConnectError::Refused(MysqlError::decode(payload)?)),
            Some(0xFE) if payload.len() == 1 => Err(DecodeError::Unsupported("mysql_old_password").into()),
            Some(0xFE) => self.switch(payload),
            Some(&MORE_DATA) if self.method == Method::CachingSha2 => self.more(payload),
            Some(_) => Err(DecodeError::Malformed("not a packet of an authentication").into()),
            None => Err(DecodeError::Truncated.into()),
        }
    }

    fn switch(&mut self, payload: &[u8]) -> Result<ClientStep, ConnectError> {
        // What can be wrong with it is a name that does not end.
        let request =
            AuthSwitchRequest::deserialize((), &mut ParseBuf(payload)).map_err(|_| DecodeError::Truncated)?;
        let name = request.auth_plugin();
        let name = name.as_bytes();
        let Some(method) = Method::named(name) else {
            let name = String::from_utf8_lossy(&name[..name.len().min(64)]).into_owned();
            return Err(ConnectError::UnsupportedPlugin(name));
        };
        self.switches_left = self.switches_left.checked_sub(1).ok_or(DecodeError::Malformed(
            "the server switches authentication again and again",
        ))?;
        self.scramble = Scramble::from_wire(request.plugin_data())?;
        self.method = method;
        self.exchange = Exchange::Answered;
        let answer = self.secret.answer(method, &self.scramble);
        Ok(ClientStep::Send(answer.ok_or(ConnectError::OnlyHashKnown)?))
    }

    /// What `caching_sha2_password` says between an answer and OK.
    fn more(&mut self, payload: &[u8]) -> Result<ClientStep, ConnectError> {
        const UNASKED: DecodeError = DecodeError::Malformed("not a packet of caching_sha2_password");
        let ClientSecret::Password(password) = &self.secret else {
            return Err(UNASKED.into());
        };
        match (self.exchange, payload) {
            (Exchange::Answered, payload) if payload == FAST_ACCEPTED => {
                self.exchange = Exchange::Over;
                Ok(ClientStep::Wait)
            }
            (Exchange::Answered, payload) if payload == FULL_WANTED => {
                if self.privacy.is_private() {
                    self.exchange = Exchange::Over;
                    return Ok(ClientStep::Send([password.as_slice(), &[0]].concat()));
                }
                if !self.allow_public_key_retrieval {
                    return Err(ConnectError::NeedsPrivacy);
                }
                self.exchange = Exchange::KeyWanted;
                Ok(ClientStep::Send(PUBLIC_KEY_WANTED.to_vec()))
            }
            (Exchange::KeyWanted, [_, key @ ..]) => {
                self.exchange = Exchange::Over;
                Ok(ClientStep::Send(rsa::encrypt(key, password, &self.scramble)?))
            }
            _ => Err(UNASKED.into()),
        }
    }
}

/// The largest packet that is taken.
const MAX_PACKET: u32 = MAX_CHUNK as u32 + 1;

/// What is wished for, understood, and offered.
fn shared_capabilities(
    greeting: &Greeting,
    credentials: &BackendCredentials,
) -> (CapabilityFlags, MariadbCapabilities) {
    let wished = credentials.capabilities | capability::REQUIRED | CapabilityFlags::CLIENT_PLUGIN_AUTH;
    // The server then lets a client in to whom it says that its password has expired, in an answer to a statement.
    let taken = capability::UNDERSTOOD | CapabilityFlags::CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS;
    let mut capabilities = wished & taken & greeting.capabilities;
    let with_schema = CapabilityFlags::CLIENT_CONNECT_WITH_DB;
    capabilities.set(
        with_schema,
        credentials.database.is_some() && greeting.capabilities.contains(with_schema),
    );
    let wished = credentials.mariadb_capabilities & capability::UNDERSTOOD_OF_MARIADB;
    let of_mariadb = wished & greeting.mariadb_capabilities;
    if !of_mariadb.is_empty() {
        capabilities.remove(CapabilityFlags::CLIENT_LONG_PASSWORD);
    }
    (capabilities, of_mariadb)
}
