//! The server's side of a login, up to the point where the caller looks the user up.

use mysql_common::constants::CapabilityFlags;

use crate::auth::{NATIVE, NativeVerifier, Scramble, switch_to_native};
use crate::bytes::DecodeError;
use crate::errors::{self, MysqlError};
use crate::handshake::Greeting;
use crate::login::{ClientHello, LoginRequest};

/// A login in progress: feed it the client's payloads until it gives an attempt.
///
/// ```text
/// greeting ▶ client ▶ LoginRequest ──native──▶ Attempt
///                          └─other method─▶ Send(switch to native) ▶ client ▶ Attempt
/// ```
#[derive(Debug)]
pub struct ServerLogin {
    scramble: Scramble,
    offered: CapabilityFlags,
    switched: Option<LoginRequest>,
}

/// What to do after a payload.
#[derive(Debug)]
pub enum LoginStep {
    /// Send this payload with the next sequence number and wait for another.
    Send(Vec<u8>),
    /// The client has answered the challenge: look the user up and [`LoginAttempt::verify`].
    Attempt(LoginAttempt),
}

/// A complete login, not yet believed.
#[derive(Debug)]
pub struct LoginAttempt {
    /// What the client sent; `auth_response` is for `mysql_native_password`.
    pub request: LoginRequest,
    /// What both sides can do: this is what the connection speaks.
    pub capabilities: CapabilityFlags,
    scramble: Scramble,
}

impl ServerLogin {
    /// A login that began with `greeting`.
    #[must_use]
    pub fn new(greeting: &Greeting) -> Self {
        Self {
            scramble: greeting.scramble,
            offered: greeting.capabilities,
            switched: None,
        }
    }

    /// Takes a payload of the client.
    ///
    /// # Errors
    /// The error to send before the connection is closed.
    pub fn on_payload(&mut self, payload: &[u8]) -> Result<LoginStep, MysqlError> {
        if let Some(mut request) = self.switched.take() {
            request.auth_response = payload.to_vec();
            return Ok(self.attempt(request));
        }
        match ClientHello::decode(payload).map_err(refusal)? {
            ClientHello::TlsRequest => Err(errors::HANDSHAKE_ERROR.with("TLS is not offered on this port")),
            ClientHello::Login(request) if is_native(&request) => Ok(self.attempt(request)),
            ClientHello::Login(request) => {
                if !request.capabilities.contains(CapabilityFlags::CLIENT_PLUGIN_AUTH) {
                    return Err(errors::NOT_SUPPORTED_AUTH_MODE
                        .with("Client does not support authentication protocol requested by server"));
                }
                self.switched = Some(request);
                Ok(LoginStep::Send(switch_to_native(&self.scramble)))
            }
        }
    }

    fn attempt(&self, request: LoginRequest) -> LoginStep {
        let capabilities = request.capabilities & self.offered;
        LoginStep::Attempt(LoginAttempt {
            request,
            capabilities,
            scramble: self.scramble,
        })
    }
}

impl LoginAttempt {
    /// Whether the answer fits the user's password.
    #[must_use]
    pub fn verify(&self, verifier: &NativeVerifier) -> bool {
        verifier.verify(&self.request.auth_response, &self.scramble)
    }

    /// The error of a wrong user or password. The same for both, so that names cannot be guessed.
    #[must_use]
    pub fn denied(&self, client_host: &str) -> MysqlError {
        let user = String::from_utf8_lossy(&self.request.user);
        let using = if self.request.auth_response.is_empty() {
            "NO"
        } else {
            "YES"
        };
        errors::ACCESS_DENIED.with(format_args!(
            "Access denied for user '{user}'@'{client_host}' (using password: {using})"
        ))
    }
}

fn is_native(request: &LoginRequest) -> bool {
    match &request.plugin {
        Some(plugin) => plugin == NATIVE.as_bytes(),
        // Without plugins, a 4.1 client answers natively.
        None => request
            .capabilities
            .contains(CapabilityFlags::CLIENT_SECURE_CONNECTION),
    }
}

fn refusal(error: DecodeError) -> MysqlError {
    match error {
        DecodeError::Unsupported(_) => errors::NOT_SUPPORTED_AUTH_MODE
            .with("Client does not support authentication protocol requested by server; consider upgrading the client"),
        DecodeError::Truncated | DecodeError::Malformed(_) => errors::HANDSHAKE_ERROR.with("Bad handshake"),
    }
}
