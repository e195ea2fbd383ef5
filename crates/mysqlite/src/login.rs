//! A client proves who it is: from the greeting, or COM_CHANGE_USER, to a user whose password is right.

use std::net::IpAddr;
use std::time::{Duration, Instant};

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

/// Greets a client and hears who it is.
pub(crate) fn run(shared: &Shared, id: u32, peer: IpAddr, transport: &mut Transport) -> Result<Login, Ended> {
    let greeting = Greeting::native(
        shared.config.server_version.as_str(),
        id,
        scramble()?,
        capability::SERVER_BASE,
        charset::UTF8MB4_GENERAL_CI,
    );
    transport.queue(&greeting.encode());
    transport.flush()?;
    let deadline = Instant::now() + shared.config.limits.handshake_timeout;
    let mut machine = ServerLogin::new(&greeting, Privacy::Plain);
    let payload = next_payload(transport, deadline)?;
    let first = machine.on_payload(&payload)?;
    let attempt = attempt(shared, &mut machine, first, transport, deadline)?;
    prove(shared, peer, transport, attempt)
}

/// Hears who the client of a session is from now on.
pub(crate) fn change_user(
    shared: &Shared,
    peer: IpAddr,
    transport: &mut Transport,
    change: &ChangeUser<'_>,
    capabilities: CapabilityFlags,
) -> Result<Login, Ended> {
    let deadline = Instant::now() + shared.config.limits.handshake_timeout;
    let mut machine = ServerLogin::of_change(change, capabilities, scramble()?, Privacy::Plain);
    let attempt = attempt(shared, &mut machine, LoginStep::Identified, transport, deadline)?;
    prove(shared, peer, transport, attempt)
}

fn scramble() -> Result<Scramble, Ended> {
    Ok(Scramble::generate().map_err(|_| errors::UNKNOWN.with("no random bytes"))?)
}

/// Runs a login from a step on to the attempt.
fn attempt(
    shared: &Shared,
    machine: &mut ServerLogin,
    mut step: LoginStep,
    transport: &mut Transport,
    deadline: Instant,
) -> Result<LoginAttempt, Ended> {
    loop {
        step = match step {
            LoginStep::Identified => {
                let verifier = std::str::from_utf8(machine.user()).ok();
                let verifier = verifier.and_then(|user| shared.verifier(user));
                machine.identified(verifier.as_ref())?
            }
            LoginStep::Send(payload) => {
                transport.queue(&payload);
                transport.flush()?;
                machine.on_payload(&next_payload(transport, deadline)?)?
            }
            LoginStep::Attempt(attempt) => return Ok(attempt),
            // TLS is not offered, and there is no key.
            LoginStep::StartTls | LoginStep::SendPublicKey => {
                let message = "the password cannot be sent on this connection: it is not encrypted";
                return Err(errors::NOT_SUPPORTED_AUTH_MODE.with(message).into());
            }
        };
    }
}

fn next_payload(transport: &mut Transport, deadline: Instant) -> Result<Vec<u8>, TransportError> {
    let patience = deadline.saturating_duration_since(Instant::now());
    transport.read_next(PRE_AUTH_MAX_PAYLOAD, patience)
}

/// Answers an attempt, after the wait that wrong passwords from this address have earned.
fn prove(
    shared: &Shared,
    peer: IpAddr,
    transport: &Transport,
    attempt: LoginAttempt,
) -> Result<Login, Ended> {
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
    transport.pause(wait)?;
    if !is_right {
        return Err(attempt.denied(&peer.to_string()).into());
    }
    if let Some(attempts) = counted {
        attempts.forgive(peer, &user);
    }
    Ok(Login { user, attempt })
}

fn too_many_waiting(peer: IpAddr) -> MysqlError {
    errors::HOST_IS_BLOCKED.with(format_args!(
        "too many wrong passwords came from {peer}, and other logins from there wait: try again in 10 seconds"
    ))
}
