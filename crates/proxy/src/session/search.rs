//! A search for a connection that the session does not hold: idle in the pool, new, or given back by another session. Where a
//! monitor watches the servers, it waits for one that serves.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shardwright_rules::HostgroupId;
use shardwright_wire::{CapabilityFlags, ConnectError, MysqlError, errors};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::checkout_error::CheckoutError;
use super::login::Login;
use super::login_refusal::LoginRefusal;
use super::place::Place;
use super::requirements::Requirements;
use crate::backend::{Backend, Connect, ConnectFailure};
use crate::descriptors;
use crate::hostgroup_members::HostgroupMembers;
use crate::kill::interrupted;
use crate::members::MemberRuntime;
use crate::pool::Preference;
use crate::pool_key::WantedKey;
use crate::session_handle::SessionHandle;
use crate::worker::Worker;

/// How long to wait for other roles before the same servers are tried again.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// Why a read that is sent again finds no server.
const NOT_FOR_WRITER: &str = "the connection of the read was lost, no other reader serves, and a read that a reader has lost is not sent to the writer";

/// The error for such a read.
pub(super) fn not_for_writer(hostgroup: HostgroupId) -> MysqlError {
    errors::PROXY_HOSTGROUP_TIMEOUT.with(format_args!(
        "no connection to hostgroup {hostgroup}: {NOT_FOR_WRITER}"
    ))
}

/// Why a member gave no connection.
enum NotConnected {
    Refused(MysqlError),
    /// Another server may do.
    RefusedHere(MysqlError),
    Unreachable(String),
    /// It refuses logins of everybody for now, or those of this account alone.
    Busy {
        why: String,
        is_of_account: bool,
    },
    Full,
    Killed,
}

/// A search for a connection that the session does not hold.
pub(super) struct Search<'a> {
    pub(super) worker: &'a Worker,
    pub(super) handle: &'a SessionHandle,
    pub(super) login: &'a Login,
    /// The session's number.
    pub(super) session: u64,
    /// Capabilities of the client that the connection must have.
    pub(super) capabilities: CapabilityFlags,
    pub(super) requirements: &'a Requirements,
    /// By which the first member is picked.
    pub(super) random: u64,
}

impl Search<'_> {
    pub(super) async fn connection(&self) -> Result<Box<Backend>, CheckoutError> {
        let hostgroup = self.requirements.hostgroup;
        let Some(group) = self.login.snapshot.hostgroups.get(&hostgroup) else {
            return Err(CheckoutError::Refused(
                errors::PROXY_HOSTGROUP_TIMEOUT.with(format_args!("hostgroup {hostgroup} does not exist")),
            ));
        };
        let deadline = Instant::now() + self.worker.shared.limits.checkout_timeout;
        let mut is_first = true;
        // A server that refuses logins is not tried all the time, and its reason is told all the same.
        let mut busy = None;
        let reason = loop {
            let reason = match self.connection_in(group, is_first, deadline, &mut busy).await? {
                Ok(backend) => return Ok(backend),
                Err(reason) => busy.clone().unwrap_or(reason),
            };
            if !group.is_watched() {
                break reason;
            }
            tokio::select! {
                biased;
                () = self.worker.shared.clock.sleep_until(deadline) => break reason,
                () = self.handle.ordered() => return Err(CheckoutError::Refused(interrupted())),
                () = group.changed() => {}
                () = self.worker.shared.clock.sleep(PAUSE) => {}
            }
            is_first = false;
        };
        Err(CheckoutError::Refused(errors::PROXY_HOSTGROUP_TIMEOUT.with(
            format_args!("no connection to hostgroup {hostgroup}: {reason}"),
        )))
    }

    /// An idle connection to a member that serves now.
    pub(super) fn unused(&self) -> Option<Box<Backend>> {
        let group = self.login.snapshot.hostgroups.get(&self.requirements.hostgroup)?;
        let member = group.pick(self.random, false, &self.not_on())?;
        self.idle(member.runtime.number, None)
    }

    /// Why nobody serves in the hostgroup, as far as a monitor knows.
    fn nobody_serves(&self) -> String {
        let configuration = &self.login.snapshot.configuration;
        let hostgroup = configuration.hostgroup(self.requirements.hostgroup);
        let whys = hostgroup.and_then(|hostgroup| {
            let roles = self.worker.shared.control.knowledge.roles(&hostgroup.cluster)?;
            Some(roles.whys(hostgroup.role)).filter(|whys| !whys.is_empty())
        });
        if self.requirements.is_kept_off_writer() {
            return NOT_FOR_WRITER.to_owned();
        }
        whys.unwrap_or_else(|| "it has no server that accepts statements".to_owned())
    }

    /// A connection to a member that serves now, or why there is none. Of servers that could not be reached a moment ago, one is
    /// tried if there are no others, and if `even_avoided`.
    async fn connection_in(
        &self,
        group: &HostgroupMembers,
        even_avoided: bool,
        deadline: Instant,
        busy: &mut Option<String>,
    ) -> Result<Result<Box<Backend>, String>, CheckoutError> {
        let (mut reason, mut refused) = (None, None);
        for attempt in 0..=group.members.len() {
            // Whoever looked for an idle connection before has looked at the same member: it gets its share whether it has one or not.
            let random = match even_avoided && attempt == 0 {
                true => self.random,
                false => self.worker.random(),
            };
            let not_on = &self.not_on();
            let avoided = || {
                group
                    .pick(random, true, not_on)
                    .filter(|_| even_avoided && attempt == 0)
            };
            let Some(member) = group.pick(random, false, not_on).or_else(avoided) else {
                break;
            };
            match self.connection_to(&member.runtime, deadline).await {
                Ok(backend) => return Ok(Ok(backend)),
                Err(NotConnected::Refused(error)) => return Err(CheckoutError::Refused(error)),
                Err(NotConnected::Killed) => return Err(CheckoutError::Refused(interrupted())),
                Err(NotConnected::Full) => {
                    let limit = member.runtime.max_connections;
                    reason = Some(format!(
                        "all {limit} connections to {} stayed in use",
                        member.server
                    ));
                    break;
                }
                Err(NotConnected::Busy { why, is_of_account }) => {
                    *busy = Some(format!(
                        "{} ({}): {why}",
                        member.server,
                        member.runtime.endpoint()
                    ));
                    if is_of_account {
                        break;
                    }
                    member
                        .runtime
                        .avoid_for(self.worker.shared.limits.backend_retry_after);
                    group.suspect();
                }
                Err(NotConnected::RefusedHere(error)) => {
                    member
                        .runtime
                        .avoid_for(self.worker.shared.limits.backend_retry_after);
                    refused = Some(error);
                }
                Err(NotConnected::Unreachable(error)) => {
                    member
                        .runtime
                        .avoid_for(self.worker.shared.limits.backend_retry_after);
                    group.suspect();
                    if member.runtime.news.is_news((0, self.login.user.name.clone())) {
                        tracing::warn!(server = %member.server, %error, "a server cannot be reached");
                    }
                    let endpoint = member.runtime.endpoint();
                    reason = Some(format!("{} ({endpoint}): {error}", member.server));
                }
            }
        }
        match refused {
            Some(error) => Err(CheckoutError::Refused(error)),
            None => Ok(Err(reason.unwrap_or_else(|| self.nobody_serves()))),
        }
    }

    /// Members that the statement must not go to, by their numbers.
    fn not_on(&self) -> Cow<'_, [u64]> {
        let requirements = self.requirements;
        let mut not_on = Cow::Borrowed(requirements.avoided_members());
        if requirements.is_kept_off_writer() {
            not_on
                .to_mut()
                .extend(self.login.snapshot.writers_in(requirements.hostgroup));
        }
        not_on
    }

    /// One of the session's connections, if nobody has used it since.
    pub(super) fn connection_at(&self, place: Place) -> Option<Box<Backend>> {
        self.idle(place.member, Some(place.serial))
    }

    fn key(&self, has_schema: bool) -> WantedKey<'_> {
        WantedKey {
            user: &self.login.user.name,
            shaping: self.capabilities,
            collation: self.login.collation,
            has_schema,
        }
    }

    /// An idle connection to the member; one in a schema where none is needed, if that is all there is.
    fn idle(&self, member: u64, only: Option<u64>) -> Option<Box<Backend>> {
        let session = self.session;
        let take = |has_schema| {
            let key = self.key(has_schema);
            self.worker.pool.take(member, key, Preference { session, only })
        };
        let has_schema = self.requirements.schema.is_some();
        let is_either = only.is_some() || self.requirements.needs_no_schema;
        take(has_schema).or_else(|| is_either.then(|| take(!has_schema)).flatten())
    }

    /// An idle connection to the member, or a new one, or the next that is given back.
    async fn connection_to(
        &self,
        member: &Arc<MemberRuntime>,
        deadline: Instant,
    ) -> Result<Box<Backend>, NotConnected> {
        let has_schema = self.requirements.schema.is_some();
        loop {
            if let Some(backend) = self.idle(member.number, None) {
                return Ok(backend);
            }
            if let Ok(permit) = member.permits.clone().try_acquire_owned() {
                return self.connect(member, permit).await;
            }
            // An idle connection that does not fit stands in the way of one that would.
            if self.worker.pool.evict(member.number) {
                continue;
            }
            let open = self.worker.pool.open(member.number);
            let _counted = WaitingCount::new(member, open == 0);
            let line = self.worker.pool.wait(member.number, self.key(has_schema).owned());
            if open < member.share_of_worker() {
                self.ask_other_workers(member.number);
            }
            tokio::select! {
                biased;
                given = line.given() => if let Some(backend) = given {
                    return Ok(backend);
                },
                permit = member.permits.clone().acquire_owned() => match permit {
                    Ok(permit) => return self.connect(member, permit).await,
                    Err(_closed) => return Err(NotConnected::Full),
                },
                () = self.worker.shared.clock.sleep_until(deadline) => return Err(NotConnected::Full),
                () = self.handle.ordered() => return Err(NotConnected::Killed),
            }
        }
    }

    /// Has other workers close a connection that they do not need.
    fn ask_other_workers(&self, member: u64) {
        let workers = self.worker.shared.workers().iter().enumerate();
        let others = workers.filter(|(place, _)| *place != self.worker.place);
        others.for_each(|(_, worker)| worker.release(member));
    }

    async fn connect(
        &self,
        member: &Arc<MemberRuntime>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Box<Backend>, NotConnected> {
        let Some(credentials) = &self.login.user.credentials else {
            return Err(NotConnected::Refused(
                errors::ACCESS_DENIED.with("the user's secret cannot be resolved"),
            ));
        };
        let Some(secret) = credentials.secret() else {
            return Err(NotConnected::Refused(errors::ACCESS_DENIED.with(
                "the user's secret is a hash, and no client has shown the password since the proxy started: log in again",
            )));
        };
        // The server may have none of this name.
        let schema = self.requirements.schema.clone();
        let schema = schema.filter(|_| !self.requirements.needs_no_schema);
        let connect = Connect {
            member,
            at: None,
            key: self.key(schema.is_some()).owned(),
            secret,
            tls: self.worker.shared.tls.loaded(),
            allow_public_key_retrieval: self.worker.shared.allow_public_key_retrieval,
            schema,
            permit,
            counted: Some(self.worker.pool.count(member)),
            max_age: self.worker.shared.limits.backend_max_age,
            serial: self.worker.next_number(),
            scratch: self.worker.scratch.clone(),
            clock: self.worker.shared.clock.clone(),
        };
        match connect.open(self.worker.shared.limits.connect_timeout).await {
            Ok(backend) => {
                member.connected.fetch_add(1, Ordering::Relaxed);
                member.reached();
                Ok(backend)
            }
            Err(failure) => {
                member.connect_errors.fetch_add(1, Ordering::Relaxed);
                match failure {
                    ConnectFailure::Login(ConnectError::Refused(error)) => {
                        Err(self.login_refused(member, error))
                    }
                    ConnectFailure::Login(
                        error @ (ConnectError::UnsupportedPlugin(_)
                        | ConnectError::OnlyHashKnown
                        | ConnectError::NeedsPrivacy),
                    ) => Err(NotConnected::Refused(errors::CLIENT_AUTH_PLUGIN.with(error))),
                    // No fault of the server's: it is not avoided.
                    ConnectFailure::Io(error) if descriptors::are_exhausted(&error) => {
                        let why = "the proxy has no file descriptors left (ulimit -n)";
                        Err(NotConnected::Refused(errors::PROXY_HOSTGROUP_TIMEOUT.with(why)))
                    }
                    _ => Err(NotConnected::Unreachable(failure.to_string())),
                }
            }
        }
    }

    /// A server refuses the login. It is logged once in a while: every statement meets it.
    fn login_refused(&self, member: &MemberRuntime, error: MysqlError) -> NotConnected {
        let user = &self.login.user.name;
        if member.news.is_news((error.code, user.clone())) {
            tracing::warn!(server = %member.endpoint(), %user, %error, "a server refuses a login");
        }
        let refusal = LoginRefusal::of(&error);
        if refusal == LoginRefusal::Limit {
            self.worker.pool.evict_of(member.number, user);
            self.ask_other_workers(member.number);
        }
        match refusal {
            LoginRefusal::Account => NotConnected::Refused(error),
            LoginRefusal::Host => NotConnected::RefusedHere(error),
            kind @ (LoginRefusal::Limit | LoginRefusal::Passing) => NotConnected::Busy {
                why: ConnectError::Refused(error).to_string(),
                is_of_account: kind == LoginRefusal::Limit,
            },
        }
    }
}

/// Counts a session among those that wait for a connection to a member.
struct WaitingCount<'a> {
    member: &'a MemberRuntime,
    is_starving: bool,
}

impl<'a> WaitingCount<'a> {
    /// `is_starving`: its worker has no connection.
    fn new(member: &'a MemberRuntime, is_starving: bool) -> Self {
        member.waiting.fetch_add(1, Ordering::Relaxed);
        if is_starving {
            member.starving.fetch_add(1, Ordering::Relaxed);
        }
        Self { member, is_starving }
    }
}

impl Drop for WaitingCount<'_> {
    fn drop(&mut self) {
        self.member.waiting.fetch_sub(1, Ordering::Relaxed);
        if self.is_starving {
            self.member.starving.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
