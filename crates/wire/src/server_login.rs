//! The server's side of a login, up to the point where the caller believes it or not.
//!
//! ```text
//! greeting ▶ client ─▶ (StartTls ▶ handshake ▶) login request ─▶ Identified ▶ caller looks the user up
//!                                                                                │
//!   the answer is of use ────────────────────────────▶ Attempt ◀─────────────────┤
//!   other method: Send(switch) ▶ client answers ─────▶ Attempt ◀─────────────────┤
//!   no answer can be checked: Send(full wanted) ▶ [public key ▶] password ▶ Attempt
//! ```
//!
//! Invariant: a client is asked for its password only through TLS or a unix socket, or encrypted with the key it was
//! sent; and a method is only used with the challenge that was sent for it.

use mysql_common::constants::{CapabilityFlags, MariadbCapabilities};
use zeroize::Zeroizing;

use crate::auth::{FAST_ACCEPTED, FULL_WANTED, Method, Proof, Proven, Scramble, Verifier, switch_to};
use crate::bytes::DecodeError;
use crate::command::ChangeUser;
use crate::errors::{self, MysqlError};
use crate::handshake::Greeting;
use crate::login::{ClientHello, LoginRequest};

/// Who can read what is sent on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privacy {
    /// Whoever is on the way.
    Plain,
    /// Both ends alone: a unix socket.
    Local,
    /// Both ends alone: TLS.
    Tls,
}

impl Privacy {
    /// Whether only both ends can.
    #[must_use]
    pub const fn is_private(self) -> bool {
        matches!(self, Self::Local | Self::Tls)
    }
}

/// A login in progress: feed it the client's payloads until it gives an attempt.
#[derive(Debug)]
pub struct ServerLogin {
    scramble: Scramble,
    offered: CapabilityFlags,
    offered_of_mariadb: MariadbCapabilities,
    /// The method that the greeting's challenge is for.
    greeted: Option<Method>,
    privacy: Privacy,
    state: State,
}

#[derive(Debug)]
enum State {
    Hello { tls: bool },
    Identified(LoginRequest),
    Answer(LoginRequest, Method, Checkable),
    Password(LoginRequest, KeyAsked),
    Over,
}

/// Whether an answer to a challenge can be checked, or only the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Checkable {
    Answer,
    PasswordOnly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyAsked {
    No,
    Yes,
}

/// What to do after a payload.
#[derive(Debug)]
pub enum LoginStep {
    /// Begin TLS with the next bytes, and go on inside. Bytes that came behind this payload belong to TLS.
    StartTls,
    /// The client says who it is: look [`ServerLogin::user`] up and go on with [`ServerLogin::identified`].
    Identified,
    /// Send this payload with the next sequence number and wait for another.
    Send(Vec<u8>),
    /// Send the public key and wait for another payload.
    SendPublicKey,
    /// The client has shown what it knows: [`LoginAttempt::verify`] it.
    Attempt(LoginAttempt),
}

/// A complete login, not yet believed.
#[derive(Debug)]
pub struct LoginAttempt {
    /// What the client sent.
    pub request: LoginRequest,
    /// What both sides can do: this is what the connection speaks.
    pub capabilities: CapabilityFlags,
    /// The same of MariaDB's further capabilities.
    pub mariadb_capabilities: MariadbCapabilities,
    /// What the client shows of its password.
    pub proof: Proof,
}

impl ServerLogin {
    /// A login that began with `greeting`, which offers TLS if it has `CLIENT_SSL`.
    #[must_use]
    pub fn new(greeting: &Greeting, privacy: Privacy) -> Self {
        Self {
            scramble: greeting.scramble,
            offered: greeting.capabilities,
            offered_of_mariadb: greeting.mariadb_capabilities,
            greeted: Method::named(greeting.auth_plugin.as_bytes()),
            privacy,
            state: State::Hello { tls: false },
        }
    }

    /// COM_CHANGE_USER: the next thing to do is to look the user up. The client is asked with `scramble`, whatever stands
    /// in the command. It is the challenge of the greeting, as servers do it: MariaDB's C library answers that one in any
    /// case.
    #[must_use]
    pub fn of_change(
        change: &ChangeUser<'_>,
        capabilities: CapabilityFlags,
        scramble: Scramble,
        privacy: Privacy,
    ) -> Self {
        let request = LoginRequest {
            capabilities: capabilities | CapabilityFlags::CLIENT_PLUGIN_AUTH,
            mariadb_capabilities: MariadbCapabilities::empty(),
            max_packet: 0,
            collation: 0,
            user: change.user.to_vec(),
            auth_response: change.auth_response.to_vec(),
            database: None,
            plugin: change.plugin.map(<[u8]>::to_vec),
            attributes: Vec::new(),
        };
        Self {
            scramble,
            offered: capabilities,
            offered_of_mariadb: MariadbCapabilities::empty(),
            greeted: None,
            privacy,
            state: State::Identified(request),
        }
    }

    /// The name that the client gives; nothing before it has.
    #[must_use]
    pub fn user(&self) -> &[u8] {
        match &self.state {
            State::Identified(request) | State::Answer(request, ..) | State::Password(request, _) => {
                &request.user
            }
            State::Hello { .. } | State::Over => &[],
        }
    }

    /// Takes a payload of the client.
    ///
    /// # Errors
    /// The error to send before the connection is closed.
    pub fn on_payload(&mut self, payload: &[u8]) -> Result<LoginStep, MysqlError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Hello { tls } => self.hello(payload, tls),
            State::Answer(request, method, checkable) => {
                Ok(self.answered(request, method, checkable, payload.to_vec()))
            }
            State::Password(request, asked) => Ok(self.password(request, asked, payload)),
            State::Identified(_) | State::Over => Err(bad_handshake()),
        }
    }

    fn hello(&mut self, payload: &[u8], tls: bool) -> Result<LoginStep, MysqlError> {
        match ClientHello::decode(payload).map_err(refusal)? {
            ClientHello::TlsRequest if tls => Err(bad_handshake()),
            ClientHello::TlsRequest if self.offered.contains(CapabilityFlags::CLIENT_SSL) => {
                self.privacy = Privacy::Tls;
                self.state = State::Hello { tls: true };
                Ok(LoginStep::StartTls)
            }
            ClientHello::TlsRequest => Err(errors::HANDSHAKE_ERROR.with("TLS is not offered on this port")),
            ClientHello::Login(request) => {
                self.state = State::Identified(request);
                Ok(LoginStep::Identified)
            }
        }
    }

    /// Goes on with what is kept of the user's password. For a user who does not exist, it goes on as if there were
    /// one with a password.
    ///
    /// # Errors
    /// The error to send before the connection is closed.
    pub fn identified(&mut self, verifier: Option<&Verifier>) -> Result<LoginStep, MysqlError> {
        let State::Identified(mut request) = std::mem::replace(&mut self.state, State::Over) else {
            return Err(bad_handshake());
        };
        let checks = |method| verifier.is_none_or(|verifier| verifier.checks_answers(method));
        let named = method_of(&request);
        let method = match named {
            Some(Method::CachingSha2) if checks(Method::CachingSha2) || self.privacy.is_private() => {
                Method::CachingSha2
            }
            _ if checks(Method::Native) => Method::Native,
            _ => Method::CachingSha2,
        };
        let checkable = match checks(method) {
            true => Checkable::Answer,
            false => Checkable::PasswordOnly,
        };
        if named == Some(method) && self.greeted == Some(method) {
            let answer = std::mem::take(&mut request.auth_response);
            return Ok(self.answered(request, method, checkable, answer));
        }
        if !request.capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
            return Err(errors::NOT_SUPPORTED_AUTH_MODE
                .with("Client does not support authentication protocol requested by server"));
        }
        self.state = State::Answer(request, method, checkable);
        Ok(LoginStep::Send(switch_to(method, &self.scramble)))
    }

    fn answered(
        &mut self,
        request: LoginRequest,
        method: Method,
        checkable: Checkable,
        answer: Vec<u8>,
    ) -> LoginStep {
        let proof = Proof::Answer {
            method,
            answer,
            scramble: self.scramble,
        };
        // Who has no password is not asked for it: the client would not send one.
        if checkable == Checkable::Answer || proof.is_empty() {
            return self.attempt(request, proof);
        }
        self.state = State::Password(request, KeyAsked::No);
        LoginStep::Send(FULL_WANTED.to_vec())
    }

    fn password(&mut self, request: LoginRequest, asked: KeyAsked, payload: &[u8]) -> LoginStep {
        if self.privacy.is_private() {
            let password = payload.strip_suffix(&[0]).unwrap_or(payload);
            return self.attempt(request, Proof::Password(Zeroizing::new(password.to_vec())));
        }
        if asked == KeyAsked::No && payload == crate::auth::caching_sha2::PUBLIC_KEY_WANTED {
            self.state = State::Password(request, KeyAsked::Yes);
            return LoginStep::SendPublicKey;
        }
        let proof = Proof::Encrypted {
            ciphertext: payload.to_vec(),
            scramble: self.scramble,
        };
        self.attempt(request, proof)
    }

    fn attempt(&self, request: LoginRequest, proof: Proof) -> LoginStep {
        let capabilities = request.capabilities & self.offered;
        let mariadb_capabilities = request.mariadb_capabilities & self.offered_of_mariadb;
        LoginStep::Attempt(LoginAttempt {
            request,
            capabilities,
            mariadb_capabilities,
            proof,
        })
    }
}

impl LoginAttempt {
    /// Whether the client knows the user's password, and what it has revealed of it.
    #[must_use]
    pub fn verify(&self, verifier: &Verifier) -> Option<Proven> {
        verifier.verify(&self.proof)
    }

    /// The payload that goes ahead of OK.
    #[must_use]
    pub fn acknowledgement(&self) -> Option<&'static [u8]> {
        match &self.proof {
            Proof::Answer {
                method: Method::CachingSha2,
                ..
            } if !self.proof.is_empty() => Some(&FAST_ACCEPTED),
            _ => None,
        }
    }

    /// The error of a wrong user or password. The same for both, so that names cannot be guessed.
    #[must_use]
    pub fn denied(&self, client_host: &str) -> MysqlError {
        let user = String::from_utf8_lossy(&self.request.user);
        let using = if self.proof.is_empty() { "NO" } else { "YES" };
        errors::ACCESS_DENIED.with(format_args!(
            "Access denied for user '{user}'@'{client_host}' (using password: {using})"
        ))
    }
}

fn method_of(request: &LoginRequest) -> Option<Method> {
    match &request.plugin {
        Some(plugin) => Method::named(plugin),
        // Without plugins, a 4.1 client answers natively.
        None => request
            .capabilities
            .contains(CapabilityFlags::CLIENT_SECURE_CONNECTION)
            .then_some(Method::Native),
    }
}

fn bad_handshake() -> MysqlError {
    errors::HANDSHAKE_ERROR.with("Bad handshake")
}

fn refusal(error: DecodeError) -> MysqlError {
    match error {
        DecodeError::Unsupported(_) => errors::NOT_SUPPORTED_AUTH_MODE
            .with("Client does not support authentication protocol requested by server; consider upgrading the client"),
        DecodeError::Truncated | DecodeError::Malformed(_) => bad_handshake(),
    }
}
