//! The client's side of a login, for connections to backends.

use std::fmt;

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::AuthSwitchRequest;
use mysql_common::proto::MyDeserialize;
use thiserror::Error;

use crate::auth::{CACHING_SHA2, NATIVE, PasswordHash, SCRAMBLE_LEN, Scramble};
use crate::bytes::DecodeError;
use crate::capability;
use crate::errors::MysqlError;
use crate::handshake::Greeting;
use crate::login::{Attributes, LoginRequest};
use crate::packet::MAX_CHUNK;
use crate::response::OkPacket;

/// What a backend asks for in place of a password. Never printed.
#[derive(Clone)]
pub enum ClientSecret {
    /// The password; may be empty.
    Password(Vec<u8>),
    /// Its SHA1.
    Hash(PasswordHash),
}

impl ClientSecret {
    fn answer(&self, scramble: &Scramble) -> Vec<u8> {
        match self {
            Self::Password(password) => crate::auth::native_answer(password, scramble),
            Self::Hash(hash) => hash.answer(scramble).to_vec(),
        }
    }
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientSecret(..)")
    }
}

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
    /// Collation of the connection, low byte of its id.
    pub collation: u8,
    /// Connection attributes.
    pub attributes: Attributes,
}

/// Why a login at a backend failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectError {
    /// The server said no; 1040 and 1129 come here as well.
    #[error("the server refused the connection: {0}")]
    Refused(MysqlError),
    /// The server insists on a method that is not spoken.
    #[error(
        "the server asks for authentication plugin `{plugin}`; only `mysql_native_password` is spoken{hint}"
    )]
    UnsupportedPlugin {
        /// The method's name.
        plugin: String,
        /// What can be done about it, starting with `: `, or empty.
        hint: &'static str,
    },
    /// The server's packets make no sense.
    #[error("the server's handshake is not understood: {0}")]
    Handshake(#[from] DecodeError),
}

/// What to do after a payload of the server.
#[derive(Debug)]
pub enum ClientStep {
    /// Send this payload with the next sequence number and wait for another.
    Send(Vec<u8>),
    /// Logged in.
    Ready {
        /// What the connection speaks.
        capabilities: CapabilityFlags,
        /// The server's status.
        status: mysql_common::constants::StatusFlags,
    },
}

/// A login at a backend that has begun.
#[derive(Debug)]
pub struct Started {
    /// What the server said first.
    pub greeting: Greeting,
    /// The login.
    pub login: ClientLogin,
    /// The payload to send.
    pub answer: Vec<u8>,
}

/// A login in progress at a backend.
#[derive(Debug)]
pub struct ClientLogin {
    secret: ClientSecret,
    capabilities: CapabilityFlags,
    switches_left: u8,
}

impl ClientLogin {
    /// Takes the server's first payload.
    ///
    /// The answer is for `mysql_native_password` whatever the server's default is: a server that wants another
    /// method for this user asks for it.
    ///
    /// # Errors
    /// [`ConnectError`], also when the server sends an error in place of a greeting.
    pub fn start(payload: &[u8], credentials: &BackendCredentials) -> Result<Started, ConnectError> {
        if payload.first() == Some(&0xFF) {
            return Err(ConnectError::Refused(MysqlError::decode(payload)?));
        }
        let greeting = Greeting::decode(payload)?;
        let wished = credentials.capabilities | capability::REQUIRED | CapabilityFlags::CLIENT_PLUGIN_AUTH;
        let mut capabilities = wished & capability::UNDERSTOOD & greeting.capabilities;
        capabilities.set(
            CapabilityFlags::CLIENT_CONNECT_WITH_DB,
            credentials.database.is_some()
                && greeting
                    .capabilities
                    .contains(CapabilityFlags::CLIENT_CONNECT_WITH_DB),
        );
        let request = LoginRequest {
            capabilities,
            max_packet: MAX_CHUNK as u32 + 1,
            collation: credentials.collation,
            user: credentials.user.clone(),
            auth_response: credentials.secret.answer(&greeting.scramble),
            database: credentials.database.clone(),
            plugin: Some(NATIVE.as_bytes().to_vec()),
            attributes: credentials.attributes.clone(),
        };
        let login = Self {
            secret: credentials.secret.clone(),
            capabilities,
            switches_left: 1,
        };
        Ok(Started {
            greeting,
            login,
            answer: request.encode(),
        })
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
                    status: ok.status,
                })
            }
            Some(0xFF) => Err(ConnectError::Refused(MysqlError::decode(payload)?)),
            Some(0xFE) if payload.len() == 1 => Err(DecodeError::Unsupported("mysql_old_password").into()),
            Some(0xFE) => self.switch(payload),
            Some(_) => Err(DecodeError::Malformed("not a packet of an authentication").into()),
            None => Err(DecodeError::Truncated.into()),
        }
    }

    fn switch(&mut self, payload: &[u8]) -> Result<ClientStep, ConnectError> {
        // What can be wrong with it is a name that does not end.
        let request =
            AuthSwitchRequest::deserialize((), &mut ParseBuf(payload)).map_err(|_| DecodeError::Truncated)?;
        let method = request.auth_plugin();
        let method = method.as_bytes();
        if method != NATIVE.as_bytes() {
            let plugin = String::from_utf8_lossy(&method[..method.len().min(64)]).into_owned();
            let hint = if plugin == CACHING_SHA2 {
                ": create the user with `IDENTIFIED WITH mysql_native_password`"
            } else {
                ""
            };
            return Err(ConnectError::UnsupportedPlugin { plugin, hint });
        }
        self.switches_left = self.switches_left.checked_sub(1).ok_or(DecodeError::Malformed(
            "the server switches authentication again and again",
        ))?;
        let scramble = Scramble::from_wire(request.plugin_data())?;
        let answer = self.secret.answer(&scramble);
        debug_assert!(answer.is_empty() || answer.len() == SCRAMBLE_LEN);
        Ok(ClientStep::Send(answer))
    }
}
