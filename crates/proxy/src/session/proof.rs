//! A client proves who it is: every step between its greeting, or COM_CHANGE_USER, and the answer.

use std::sync::Arc;
use std::time::Instant;

use shardwright_rules::ClientTls;
use shardwright_wire::auth::{Proof, Proven, Verifier};
use shardwright_wire::{
    LoginAttempt, LoginStep, MysqlError, PRE_AUTH_MAX_PAYLOAD, PacketError, ServerLogin, errors,
};

use super::proxied;
use crate::channel::{Channel, Frame, ReadError};
use crate::denied;
use crate::half_open::Origin;
use crate::shared::Shared;
use crate::snapshot::{Snapshot, UserEntry};
use crate::stats::bump;
use crate::worker::Worker;

/// A client that knows the password of its user.
pub(super) struct Known {
    pub(super) attempt: LoginAttempt,
    pub(super) user: Arc<UserEntry>,
    /// The generation that the user is of.
    pub(super) snapshot: Arc<Snapshot>,
}

/// What a dialogue came to.
pub(super) struct Verdict {
    pub(super) result: Result<Known, MysqlError>,
    /// The sequence number of the answer.
    pub(super) seq: u8,
}

/// A dialogue about who a client is.
pub(super) struct Dialogue<'a> {
    pub(super) worker: &'a Worker,
    pub(super) channel: &'a mut Channel,
    pub(super) client_ip: &'a str,
    /// The sequence number that comes next, from either side.
    pub(super) seq: u8,
}

/// What a client's user is, as far as the login is concerned.
struct Claimed {
    snapshot: Arc<Snapshot>,
    user: Option<Arc<UserEntry>>,
    verifier: Option<Verifier>,
}

impl Dialogue<'_> {
    /// Runs the login up to the answer; `None` when the client has gone. What goes ahead of OK is queued.
    pub(super) async fn run(mut self, login: &mut ServerLogin, first: Option<LoginStep>) -> Option<Verdict> {
        let result = self.conclude(login, first).await?;
        let seq = self.seq;
        Some(Verdict { result, seq })
    }

    async fn conclude(
        &mut self,
        login: &mut ServerLogin,
        first: Option<LoginStep>,
    ) -> Option<Result<Known, MysqlError>> {
        let mut claimed = None;
        let mut step = match first {
            Some(step) => Ok(step),
            None => self.next(login).await?,
        };
        loop {
            step = match step {
                Err(error) => return Some(Err(error)),
                Ok(LoginStep::StartTls) => {
                    self.start_tls().await?;
                    self.next(login).await?
                }
                Ok(LoginStep::Identified) => {
                    let looked_up = self.look_up(login.user());
                    let step = login.identified(looked_up.verifier.as_ref());
                    claimed = Some(looked_up);
                    step
                }
                Ok(LoginStep::Send(payload)) => self.ask(login, &payload).await?,
                Ok(LoginStep::SendPublicKey) => {
                    let payload = public_key(self.worker.shared.clone()).await?;
                    self.ask(login, &payload).await?
                }
                Ok(LoginStep::Attempt(attempt)) => return Some(self.believe(attempt, claimed?).await),
            };
        }
    }

    /// What the client's next payload leads to.
    async fn next(&mut self, login: &mut ServerLogin) -> Option<Result<LoginStep, MysqlError>> {
        let mut frame = Frame::default();
        match self.channel.packet(&mut frame, PRE_AUTH_MAX_PAYLOAD).await {
            Ok(()) if frame.first_seq() == self.seq => {
                self.seq = frame.next_seq();
                Some(login.on_payload(frame.payload()))
            }
            Ok(()) => {
                self.seq = frame.next_seq();
                Some(Err(
                    errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order")
                ))
            }
            Err(ReadError::Packet(_)) if proxied::is_header(self.channel.received()) => {
                self.seq = self.seq.wrapping_add(1);
                Some(Err(proxied::not_trusted(self.client_ip)))
            }
            Err(ReadError::Packet(error)) => {
                self.seq = self.seq.wrapping_add(1);
                Some(Err(login_packet_error(&error)))
            }
            Err(ReadError::OutOfMemory(error) | ReadError::LeftOut { error, .. }) => {
                self.seq = self.seq.wrapping_add(1);
                Some(Err(error.error()))
            }
            Err(ReadError::Closed | ReadError::Io(_)) => None,
        }
    }

    async fn ask(
        &mut self,
        login: &mut ServerLogin,
        payload: &[u8],
    ) -> Option<Result<LoginStep, MysqlError>> {
        self.channel.queue(&mut self.seq, payload);
        self.channel.flush().await.ok()?;
        self.next(login).await
    }

    async fn start_tls(&mut self) -> Option<()> {
        let config = self.worker.shared.tls.loaded().clients.clone()?;
        match self.channel.accept_tls(config).await {
            Ok(()) => Some(()),
            Err(error) => {
                tracing::debug!(client = self.client_ip, %error, "TLS could not be begun");
                bump(&self.worker.counters.totals.logins_denied);
                None
            }
        }
    }

    fn look_up(&self, name: &[u8]) -> Claimed {
        let snapshot = self.worker.snapshot();
        let name = std::str::from_utf8(name).ok();
        let user = name.and_then(|name| snapshot.users.get(name)).cloned();
        let credentials = user.as_ref().and_then(|user| user.credentials.as_ref());
        let verifier = credentials.map(|credentials| credentials.verifier());
        Claimed {
            snapshot,
            user,
            verifier,
        }
    }

    /// Whether what the client shows is right, and its connection is what its user must have.
    async fn believe(&mut self, mut attempt: LoginAttempt, claimed: Claimed) -> Result<Known, MysqlError> {
        let (Some(user), Some(verifier)) = (claimed.user, claimed.verifier) else {
            self.count_denied("", "wrong password");
            return Err(attempt.denied(self.client_ip));
        };
        let proven = match attempt.proof.is_slow() {
            false => attempt.verify(&verifier),
            true => {
                let checked = verify_slowly(self.worker.shared.clone(), attempt.proof, verifier).await;
                attempt.proof = checked.0;
                checked.1
            }
        };
        let Some(proven) = proven else {
            self.count_denied(&user.name, "wrong password");
            return Err(attempt.denied(self.client_ip));
        };
        if let Some(credentials) = &user.credentials {
            credentials.learn(proven);
        }
        if let Err(error) = self.is_fit_for(&user) {
            self.count_denied(&user.name, "without the TLS that the user needs");
            return Err(error);
        }
        if let Some(payload) = attempt.acknowledgement() {
            self.channel.queue(&mut self.seq, payload);
        }
        Ok(Known {
            attempt,
            user,
            snapshot: claimed.snapshot,
        })
    }

    /// Counts a login that is denied, and logs one a second of each address. The user is empty for a name that nobody has.
    fn count_denied(&self, user: &str, reason: &str) {
        bump(&self.worker.counters.totals.logins_denied);
        let origin = Origin::from(self.client_ip.parse().ok());
        if let Some(count) = self.worker.shared.denied_clients.count(origin, Instant::now()) {
            let (client, user) = (self.client_ip, denied::loggable_name(user));
            tracing::warn!(client, user, reason, count, "logins were denied");
        }
    }

    fn is_fit_for(&self, user: &UserEntry) -> Result<(), MysqlError> {
        let name = &user.name;
        match user.user.tls {
            ClientTls::Required | ClientTls::Certificate if !self.channel.privacy().is_private() => {
                Err(errors::SECURE_TRANSPORT_REQUIRED.with(format_args!(
                    "user '{name}' must connect with TLS: set the client's ssl-mode to REQUIRED (mariadb: --ssl)"
                )))
            }
            ClientTls::Certificate if !self.channel.has_peer_certificate() => {
                Err(errors::ACCESS_DENIED.with(format_args!(
                    "Access denied for user '{name}'@'{}': it must show a certificate (ssl-cert and ssl-key)",
                    self.client_ip
                )))
            }
            ClientTls::Optional | ClientTls::Required | ClientTls::Certificate => Ok(()),
        }
    }
}

/// Checks a password on a thread where it holds up no session: a stored hash takes milliseconds, decryption one.
async fn verify_slowly(shared: Arc<Shared>, proof: Proof, verifier: Verifier) -> (Proof, Option<Proven>) {
    let clock = shared.clock.clone();
    let checked = clock.aside(move || {
        let proof = match (proof, shared.rsa_key()) {
            (proof @ Proof::Encrypted { .. }, Some(key)) => proof.decrypted(&key),
            (proof, _) => proof,
        };
        let proven = verifier.verify(&proof);
        (proof, proven)
    });
    match checked.await {
        Ok(checked) => checked,
        Err(error) => {
            tracing::error!(%error, "a password could not be checked");
            (Proof::Password(Vec::new().into()), None)
        }
    }
}

/// The payload with the public key. The first time, a key is made, which takes a good part of a second.
async fn public_key(shared: Arc<Shared>) -> Option<Vec<u8>> {
    let clock = shared.clock.clone();
    let made = clock.aside(move || shared.rsa_key());
    match made.await {
        Ok(Some(key)) => Some(key.public_key_payload()),
        Ok(None) => None,
        Err(error) => {
            tracing::error!(%error, "no public key");
            None
        }
    }
}

/// The error for bytes of a login that are no packets. No flag changes its limit.
fn login_packet_error(error: &PacketError) -> MysqlError {
    match error {
        PacketError::TooLarge { limit, .. } => errors::NET_PACKET_TOO_LARGE.with(format_args!(
            "Got a packet of a login bigger than {limit} bytes, which is all that it may have"
        )),
        PacketError::OutOfOrder { .. } => packet_error(error),
    }
}

/// The error for bytes that are no packets.
pub(super) fn packet_error(error: &PacketError) -> MysqlError {
    match error {
        PacketError::TooLarge { limit, .. } => errors::NET_PACKET_TOO_LARGE.with(format_args!(
            "Got a packet bigger than 'max_allowed_packet' bytes ({limit}; --max-allowed-packet of the proxy)"
        )),
        PacketError::OutOfOrder { .. } => errors::NET_PACKETS_OUT_OF_ORDER.with("Got packets out of order"),
    }
}
