//! A client proves who it is: from the greeting, or COM_CHANGE_USER, to a user whose password is right.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use shardwright_wire::auth::Scramble;
use shardwright_wire::{
    CapabilityFlags, ChangeUser, Greeting, LoginAttempt, LoginStep, MysqlError, PRE_AUTH_MAX_PAYLOAD,
    Privacy, ServerLogin, capability, charset, errors,
};

use crate::config::DeniedLogin;
use crate::shared::Shared;
use crate::transport::{Ended, Transport, TransportError};

/// A login whose password is right.
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) attempt: LoginAttempt,
}

/// A dialogue about who a client is.
pub(crate) struct Dialogue<'a> {
    shared: &'a Shared,
    peer: IpAddr,
    transport: &'a mut Transport,
    deadline: Instant,
    /// For clients that want TLS.
    tls: Option<Arc<ServerConfig>>,
}

impl<'a> Dialogue<'a> {
    pub(crate) fn new(shared: &'a Shared, peer: IpAddr, transport: &'a mut Transport) -> Self {
        Self {
            shared,
            peer,
            transport,
            deadline: Instant::now() + shared.config.limits.handshake_timeout,
            tls: shared.config.tls.as_ref().and_then(|current| current()),
        }
    }

    /// Greets a client and hears who it is.
    pub(crate) fn greet(mut self, id: u32) -> Result<Login, Ended> {
        let mut offered = capability::SERVER_BASE;
        offered.set(CapabilityFlags::CLIENT_SSL, self.tls.is_some());
        let greeting = Greeting::native(
            self.shared.config.server_version.as_str(),
            id,
            scramble()?,
            offered,
            charset::UTF8MB4_GENERAL_CI,
        );
        self.transport.queue(&greeting.encode());
        self.transport.flush()?;
        let mut machine = ServerLogin::new(&greeting, Privacy::Plain);
        let payload = self.next_payload()?;
        let first = machine.on_payload(&payload)?;
        let attempt = self.attempt(&mut machine, first)?;
        self.prove(attempt)
    }

    /// Hears who the client of a session is from now on.
    pub(crate) fn change_user(
        mut self,
        change: &ChangeUser<'_>,
        capabilities: CapabilityFlags,
    ) -> Result<Login, Ended> {
        let privacy = self.transport.privacy();
        let mut machine = ServerLogin::of_change(change, capabilities, scramble()?, privacy);
        let attempt = self.attempt(&mut machine, LoginStep::Identified)?;
        self.prove(attempt)
    }

    /// Runs a login from a step on to the attempt.
    fn attempt(&mut self, machine: &mut ServerLogin, mut step: LoginStep) -> Result<LoginAttempt, Ended> {
        loop {
            step = match step {
                LoginStep::StartTls => {
                    // It is only asked for where it was offered.
                    let config = self.tls.clone().ok_or(Ended::Silently)?;
                    self.transport.start_tls(config, self.deadline)?;
                    machine.on_payload(&self.next_payload()?)?
                }
                LoginStep::Identified => {
                    self.check_privacy()?;
                    let verifier = std::str::from_utf8(machine.user()).ok();
                    let verifier = verifier.and_then(|user| self.shared.verifier(user));
                    machine.identified(verifier.as_ref())?
                }
                LoginStep::Send(payload) => {
                    self.transport.queue(&payload);
                    self.transport.flush()?;
                    machine.on_payload(&self.next_payload()?)?
                }
                LoginStep::Attempt(attempt) => return Ok(attempt),
                // There is no key.
                LoginStep::SendPublicKey => {
                    let message = "the password cannot be sent on this connection: it is not encrypted";
                    return Err(errors::NOT_SUPPORTED_AUTH_MODE.with(message).into());
                }
            };
        }
    }

    /// Refuses logins in the clear from other machines, where TLS is offered.
    fn check_privacy(&self) -> Result<(), MysqlError> {
        let is_private = self.transport.privacy().is_private();
        if is_private || self.tls.is_none() || self.peer.to_canonical().is_loopback() {
            return Ok(());
        }
        Err(errors::SECURE_TRANSPORT_REQUIRED.with(
            "connections from other machines need TLS: set the client's ssl-mode to REQUIRED (mariadb: --ssl), or `ca` of the target",
        ))
    }

    fn next_payload(&mut self) -> Result<Vec<u8>, TransportError> {
        let patience = self.deadline.saturating_duration_since(Instant::now());
        self.transport.read_next(PRE_AUTH_MAX_PAYLOAD, patience)
    }

    /// Answers an attempt, after the wait that wrong passwords from this address have earned.
    fn prove(self, attempt: LoginAttempt) -> Result<Login, Ended> {
        let (shared, peer) = (self.shared, self.peer);
        let user = std::str::from_utf8(&attempt.request.user).ok();
        let account = user.and_then(|user| Some((user, shared.verifier(user)?)));
        let is_right = account
            .as_ref()
            .is_some_and(|(_, verifier)| attempt.verify(verifier).is_some());
        let user = account.map_or("", |(user, _)| user).to_owned();
        let report = |was_checked| {
            if let Some(on_denied) = &shared.config.on_denied {
                on_denied(&DeniedLogin {
                    peer,
                    account: &user,
                    was_checked,
                });
            }
        };
        let counted = shared.attempts.as_ref();
        let wait = counted.map(|attempts| attempts.count(peer, &user, is_right, Instant::now()));
        let Ok(wait) = wait.unwrap_or(Ok(Duration::ZERO)) else {
            report(false);
            return Err(too_many_waiting(peer).into());
        };
        if !is_right {
            report(true);
        }
        self.transport.pause(wait)?;
        if !is_right {
            return Err(attempt.denied(&peer.to_string()).into());
        }
        if let Some(attempts) = counted {
            attempts.forgive(peer, &user);
        }
        Ok(Login { user, attempt })
    }
}

fn scramble() -> Result<Scramble, Ended> {
    Ok(Scramble::generate().map_err(|_| errors::UNKNOWN.with("no random bytes"))?)
}

fn too_many_waiting(peer: IpAddr) -> MysqlError {
    errors::HOST_IS_BLOCKED.with(format_args!(
        "too many wrong passwords came from {peer}, and other logins from there wait: try again in 10 seconds"
    ))
}
