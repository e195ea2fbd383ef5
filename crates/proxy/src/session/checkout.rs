//! A backend connection for a statement: the one that the session holds, else an idle one, else a new one.
//!
//! Invariant: it has the session's state when the statement is sent; a statement that needs what another connection
//! holds is refused.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use shardwright_rules::Rejection;
use shardwright_wire::{CapabilityFlags, Command, ConnectError, MysqlError, errors};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::Session;
use super::align::{AlignError, Alignment};
use super::diagnostics::{Previous, unknown_counts};
use super::held::{Held, HeldConnections};
use super::hidden_variables::{Place, lost};
use super::holds::Holds;
use super::login::Login;
use super::requirements::Requirements;
use crate::backend::{Backend, BackendError, Connect, ConnectFailure, PoolKey, SHAPING};
use crate::descriptors;
use crate::insert_id::InsertId;
use crate::kill::interrupted;
use crate::members::{HostgroupMembers, MemberRuntime, Standing};
use crate::pool::Preference;
use crate::session_handle::SessionHandle;
use crate::worker::Worker;

/// Connections of the pool that turn out to be dead before one is given up.
const MAX_DEAD: usize = 8;

/// Why there is no connection for a statement.
#[derive(Debug)]
pub(super) enum CheckoutError {
    /// The client gets this error, and the session goes on.
    Refused(MysqlError),
    /// The client gets the error of a rule, and the session goes on.
    Rejected(Box<Rejection>),
    /// The client gets this error, and the session ends: what it had on the connection is lost.
    Fatal(MysqlError),
}

/// Why a member gave no connection.
enum NotConnected {
    Refused(MysqlError),
    Unreachable(String),
    Full,
    Killed,
}

impl Session {
    /// A connection for a statement, in the session's state, which gives what the statement asks about earlier ones the
    /// answer that one server would give.
    ///
    /// # Errors
    /// [`CheckoutError`] where there is no connection, and where it could not answer.
    pub(super) async fn check_out(&mut self, requirements: &Requirements) -> Result<Held, CheckoutError> {
        self.diagnostics
            .check(requirements, !self.pending.is_empty())
            .map_err(CheckoutError::Refused)?;
        check_elsewhere(&self.held, requirements)?;
        let group = self.login.snapshot.hostgroups.get(&requirements.hostgroup);
        leave_former_member(&mut self.held, group, requirements)?;
        let hidden = match requirements.hidden_variables {
            true => self
                .hidden
                .place(requirements.hostgroup)
                .map_err(CheckoutError::Refused)?,
            false => None,
        };
        let held = match self.held.take(requirements.hostgroup) {
            Some(held) if hidden.is_some_and(|place| place.serial != held.backend.serial) => {
                self.held.keep(held);
                return Err(CheckoutError::Refused(lost()));
            }
            Some(held) => self.align_held(held, requirements).await?,
            None => self.adopt_connection(requirements, hidden).await?,
        };
        let held = match requirements.insert_id {
            true => self.with_insert_id(held, requirements).await?,
            false => held,
        };
        let mut held = held;
        if self.diagnostics.needs_empty_list(requirements, &held.backend) {
            let emptied = held.backend.exchange(Command::Query(b"DO 0")).await;
            emptied.map_err(|error| CheckoutError::Fatal(error.for_client()))?;
            held.backend.may_have_warnings = false;
        }
        if requirements.row_count && !self.diagnostics.is_as_left(&held.backend) {
            // The connection was pinged, or given another schema, since the statement that the client means.
            self.held.keep_or_give(held, &self.worker.pool);
            return Err(CheckoutError::Refused(unknown_counts()));
        }
        Ok(held)
    }

    /// The connection with the session's LAST_INSERT_ID(), which another one may have.
    async fn with_insert_id(
        &mut self,
        mut held: Held,
        requirements: &Requirements,
    ) -> Result<Held, CheckoutError> {
        let Some(id) = self.insert_id.clone().filter(|id| !held.backend.has_this(id)) else {
            return Ok(held);
        };
        let brought = match requirements.asks {
            // To bring it would take a statement of the proxy's own.
            true => Err(CheckoutError::Refused(unknown_counts())),
            false => self.bring_insert_id(&id, &mut held).await,
        };
        match brought {
            Ok(()) => Ok(held),
            Err(error) => {
                self.return_unused(held, &error);
                Err(error)
            }
        }
    }

    async fn bring_insert_id(&mut self, id: &Rc<InsertId>, held: &mut Held) -> Result<(), CheckoutError> {
        let lost = |error: BackendError| CheckoutError::Fatal(error.for_client());
        if id.value().is_none() {
            self.ask_insert_id(id).await.map_err(lost)?;
        }
        let Some(value) = id.value() else {
            return Err(CheckoutError::Refused(errors::UNKNOWN.with(
                "the connection that had the session's LAST_INSERT_ID() is closed; read the id from the answer of the statement, as drivers do",
            )));
        };
        if !held.backend.set_insert_id(value).await.map_err(lost)? {
            return Err(CheckoutError::Refused(
                errors::UNKNOWN.with("the server does not take the session's LAST_INSERT_ID()"),
            ));
        }
        self.insert_id = Some(held.backend.leave_insert_id(held.hostgroup, Some(value)));
        Ok(())
    }

    /// Asks the connection that has it, if the session holds it or nobody has used it since.
    async fn ask_insert_id(&mut self, id: &Rc<InsertId>) -> Result<(), BackendError> {
        if self
            .held
            .on(id.hostgroup)
            .is_some_and(|held| held.backend.has_this(id))
        {
            let Some(mut other) = self.held.take(id.hostgroup) else {
                return Ok(());
            };
            other.backend.save_insert_id().await?;
            self.held.keep_or_give(other, &self.worker.pool);
            return Ok(());
        }
        let idle = self.worker.pool.take_with(id);
        if let Some(mut backend) = idle {
            // Lost, it has no id to give either.
            if let Err(error) = backend.save_insert_id().await {
                tracing::debug!(%error, "an idle connection was lost");
                return Ok(());
            }
            self.worker.pool.give(backend);
        }
        Ok(())
    }

    fn alignment<'a>(&'a mut self, requirements: &'a Requirements) -> Alignment<'a> {
        Alignment {
            session: self.number,
            has_run: self.diagnostics.previous.is_some(),
            settings: &mut self.settings,
            pending: &mut self.pending,
            hidden: &mut self.hidden,
            requirements,
        }
    }

    async fn align_held(
        &mut self,
        mut held: Held,
        requirements: &Requirements,
    ) -> Result<Held, CheckoutError> {
        match self.alignment(requirements).align(&mut held).await {
            Ok(()) => Ok(held),
            Err(AlignError::Refused(error)) => {
                self.held.keep(held);
                Err(CheckoutError::Refused(error))
            }
            Err(AlignError::Lost(error)) => Err(CheckoutError::Fatal(error.for_client())),
            Err(AlignError::Broken(error)) => Err(CheckoutError::Fatal(error)),
        }
    }

    /// An idle or new connection.
    async fn adopt_connection(
        &mut self,
        requirements: &Requirements,
        hidden: Option<Place>,
    ) -> Result<Held, CheckoutError> {
        for _ in 0..MAX_DEAD {
            let checkout = Checkout {
                worker: &self.worker,
                handle: &self.handle,
                login: &self.login,
                session: self.number,
                capabilities: self.client.capabilities & SHAPING,
                requirements,
            };
            let backend = match hidden {
                Some(place) => checkout.connection_of_variables(place)?,
                None => checkout.connection(self.diagnostics.previous).await?,
            };
            let mut held = Held::new(requirements.hostgroup, backend);
            match self.alignment(requirements).adopt(&mut held).await {
                Ok(()) => return Ok(held),
                Err(AlignError::Refused(error)) => {
                    if held.holds.is_empty() {
                        self.worker.pool.give(held.backend);
                    }
                    return Err(CheckoutError::Refused(error));
                }
                Err(AlignError::Broken(error)) => return Err(CheckoutError::Fatal(error)),
                // The client has waited long enough: another connection may be as silent.
                Err(AlignError::Lost(error @ BackendError::Silent(_))) => {
                    return Err(CheckoutError::Refused(error.for_client()));
                }
                // Nothing of the statement was sent, so another connection will do.
                Err(AlignError::Lost(error)) => tracing::debug!(%error, "an idle connection was lost"),
            }
        }
        Err(CheckoutError::Refused(
            errors::CLIENT_SERVER_LOST.with("Lost connection to MySQL server"),
        ))
    }
}

/// Lets go of a connection to a server that the hostgroup has no more or takes out of service: what can be repeated
/// follows the session to where the hostgroup is now. What cannot stays while the server drains.
fn leave_former_member(
    connections: &mut HeldConnections,
    group: Option<&HostgroupMembers>,
    requirements: &Requirements,
) -> Result<(), CheckoutError> {
    let hostgroup = requirements.hostgroup;
    let Some(held) = connections.on(hostgroup) else {
        return Ok(());
    };
    let standing = group.map_or(Standing::Gone, |group| group.standing(&held.backend.member));
    let is_question = requirements.asks && !requirements.begins;
    let has_more = !(held.holds - Holds::REPEATABLE).is_empty();
    if standing == Standing::Serves || is_question || (standing == Standing::Drains && has_more) {
        return Ok(());
    }
    let lost = has_more.then(|| {
        errors::CLIENT_SERVER_LOST.with(format_args!(
            "Lost connection to MySQL server: {} is not a server of hostgroup {hostgroup} any more, and the session held \
             {} there",
            held.backend.member.endpoint(),
            held.holds.texts()
        ))
    });
    connections.take(hostgroup);
    lost.map_or(Ok(()), |error| Err(CheckoutError::Fatal(error)))
}

/// Refuses a statement whose meaning depends on what another connection holds.
fn check_elsewhere(connections: &HeldConnections, requirements: &Requirements) -> Result<(), CheckoutError> {
    let hostgroup = requirements.hostgroup;
    let mut missed = Holds::NOT_ELSEWHERE;
    if requirements.user_variables {
        missed |= Holds::USER_VARIABLES | Holds::UNKNOWN_CODE;
    }
    if requirements.asks {
        missed |= requirements.asked;
    }
    if requirements.is_work {
        missed |= Holds::NO_WORK_ELSEWHERE;
    }
    let mut elsewhere = connections.iter().filter(|held| held.hostgroup != hostgroup);
    match elsewhere.find(|held| held.holds.intersects(missed)) {
        None => Ok(()),
        Some(held) => Err(CheckoutError::Refused(errors::PROXY_HOSTGROUP_LOCKED.with(
            format_args!(
                "the session holds a connection to hostgroup {} ({}), and this statement belongs to hostgroup \
                 {hostgroup}; reset the connection, or use another one",
                held.hostgroup,
                held.holds.texts(),
            ),
        ))),
    }
}

/// A search for a connection that the session does not hold.
struct Checkout<'a> {
    worker: &'a Worker,
    handle: &'a SessionHandle,
    login: &'a Login,
    /// The session's number.
    session: u64,
    /// Capabilities of the client that the connection must have.
    capabilities: CapabilityFlags,
    requirements: &'a Requirements,
}

impl Checkout<'_> {
    async fn connection(&self, previous: Option<Previous>) -> Result<Backend, CheckoutError> {
        if let Some(previous) = previous.filter(|_| self.requirements.asks) {
            return self.previous_connection(previous);
        }
        let hostgroup = self.requirements.hostgroup;
        let Some(group) = self.login.snapshot.hostgroups.get(&hostgroup) else {
            return Err(CheckoutError::Refused(
                errors::PROXY_HOSTGROUP_TIMEOUT.with(format_args!("hostgroup {hostgroup} does not exist")),
            ));
        };
        let limits = &self.worker.shared.limits;
        let deadline = Instant::now() + limits.checkout_timeout;
        let mut reason = "it has no server that accepts statements".to_owned();
        for attempt in 0..=group.members.len() {
            let random = self.worker.random();
            let picked = group.pick(random, false);
            let Some(member) = picked.or_else(|| group.pick(random, true).filter(|_| attempt == 0)) else {
                break;
            };
            match self.connection_to(&member.runtime, deadline).await {
                Ok(backend) => return Ok(backend),
                Err(NotConnected::Refused(error)) => return Err(CheckoutError::Refused(error)),
                Err(NotConnected::Killed) => return Err(CheckoutError::Refused(interrupted())),
                Err(NotConnected::Full) => {
                    let limit = member.runtime.max_connections;
                    reason = format!("all {limit} connections to {} stayed in use", member.server);
                    break;
                }
                Err(NotConnected::Unreachable(error)) => {
                    member.runtime.avoid_for(limits.backend_retry_after);
                    tracing::warn!(server = %member.server, %error, "a server cannot be reached");
                    reason = format!("{} ({}): {error}", member.server, member.runtime.endpoint());
                }
            }
        }
        Err(CheckoutError::Refused(errors::PROXY_HOSTGROUP_TIMEOUT.with(
            format_args!("no connection to hostgroup {hostgroup}: {reason}"),
        )))
    }

    /// The connection that ran the statement that is asked about, if nobody has used it since.
    fn previous_connection(&self, previous: Previous) -> Result<Backend, CheckoutError> {
        let serial = previous
            .serial
            .filter(|_| previous.hostgroup == self.requirements.hostgroup);
        let taken = serial.and_then(|serial| self.idle(previous.member, Some(serial)));
        taken.ok_or_else(|| {
            CheckoutError::Refused(errors::UNKNOWN.with(
                "the connection that ran the session's previous statement is not held any more; ask in a transaction, \
                 or directly after the statement",
            ))
        })
    }

    /// The connection on which a trigger may have set variables, if nobody has used it since.
    fn connection_of_variables(&self, place: Place) -> Result<Backend, CheckoutError> {
        let taken = self.idle(place.member, Some(place.serial));
        taken.ok_or_else(|| CheckoutError::Refused(lost()))
    }

    fn key(&self, has_schema: bool) -> PoolKey {
        PoolKey {
            user: self.login.user.name.clone(),
            shaping: self.capabilities,
            collation: self.login.collation,
            has_schema,
        }
    }

    /// An idle connection to the member; one in a schema where none is needed, if that is all there is.
    fn idle(&self, member: u64, only: Option<u64>) -> Option<Backend> {
        let session = self.session;
        let take = |has_schema| {
            let key = self.key(has_schema);
            self.worker.pool.take(member, &key, Preference { session, only })
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
    ) -> Result<Backend, NotConnected> {
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
            let _counted = WaitingCount::new(member);
            let line = self.worker.pool.wait(member.number);
            self.worker
                .shared
                .workers()
                .iter()
                .for_each(|worker| worker.release(member.number));
            tokio::select! {
                biased;
                () = line.given() => {}
                permit = member.permits.clone().acquire_owned() => match permit {
                    Ok(permit) => return self.connect(member, permit).await,
                    Err(_closed) => return Err(NotConnected::Full),
                },
                () = tokio::time::sleep_until(deadline) => return Err(NotConnected::Full),
                () = self.handle.ordered() => return Err(NotConnected::Killed),
            }
        }
    }

    async fn connect(
        &self,
        member: &Arc<MemberRuntime>,
        permit: OwnedSemaphorePermit,
    ) -> Result<Backend, NotConnected> {
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
        let connect = Connect {
            member,
            key: self.key(self.requirements.schema.is_some()),
            secret,
            tls: self.worker.shared.tls.loaded(),
            allow_public_key_retrieval: self.worker.shared.allow_public_key_retrieval,
            schema: self.requirements.schema.clone(),
            permit,
            serial: self.worker.next_number(),
            scratch: self.worker.scratch.clone(),
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
                    ConnectFailure::Login(ConnectError::Refused(error)) if is_about_login(&error) => {
                        Err(NotConnected::Refused(error))
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
}

/// Whether a server's refusal is about this login and not about the server.
fn is_about_login(error: &MysqlError) -> bool {
    matches!(error.code, 1044 | 1045 | 1049 | 1698)
}

/// Counts a session among those that wait for a connection to a member.
struct WaitingCount<'a>(&'a MemberRuntime);

impl<'a> WaitingCount<'a> {
    fn new(member: &'a MemberRuntime) -> Self {
        member.waiting.fetch_add(1, Ordering::Relaxed);
        Self(member)
    }
}

impl Drop for WaitingCount<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
