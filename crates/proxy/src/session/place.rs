//! A backend connection for a statement: the one that the session holds, else an idle one, else a new one.
//!
//! Invariant: it has the session's state when the statement is sent; a statement that needs what another
//! connection holds is refused. [`Session::adopt`] wipes what another session left, [`Session::align`] sends
//! what differs. Example: an idle connection in schema `a` for a session in `b` with one SET gets
//! COM_RESET_CONNECTION, COM_INIT_DB `b`, SET NAMES if names differ, and the SET.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use shardwright_rules::{HostgroupId, Rejection};
use shardwright_wire::{Command, MysqlError, StatusFlags, errors};

use super::holds::Holds;
use super::{Held, Session, is_about_login};
use crate::backend::{Backend, BackendError, CLASS, Connect, ConnectFailure, Fit};
use crate::members::{MemberRuntime, Standing};
use crate::pool::Preference;
use crate::set_names::SetNames;

/// Connections of the pool that turn out to be dead before one is given up.
const MAX_DEAD: usize = 8;

/// What a statement needs.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) hostgroup: HostgroupId,
    /// The schema to be in.
    pub(super) schema: Option<Arc<str>>,
    /// Without a schema, any will do: the session's is one that no server has, and the statement was not placed.
    pub(super) any_schema: bool,
    /// It is about no schema: COMMIT and its kin.
    pub(super) needs_no_schema: bool,
    pub(super) user_variables: bool,
    /// It asks about the session's earlier statements.
    pub(super) asks: bool,
    /// What it asks, by the reasons for which connections are held for that.
    pub(super) asked: Holds,
    pub(super) row_count: bool,
    /// It reads `@@in_transaction`.
    pub(super) in_transaction: bool,
    /// It opens the transaction that was begun.
    pub(super) opens: bool,
    /// It can begin a transaction: what was said about the next one is about it.
    pub(super) begins: bool,
    /// It may be about tables.
    pub(super) is_work: bool,
}

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The client gets this error, and the session goes on.
    Refused(MysqlError),
    /// The client gets the error of a rule, and the session goes on.
    Rejected(Box<Rejection>),
    /// The client gets this error, and the session ends: what it had on the connection is lost.
    Fatal(MysqlError),
}

/// Why a connection could not be made as the session needs it.
enum Misfit {
    /// The server said no.
    Refused(MysqlError),
    Lost(BackendError),
    /// The server said no to what the client was told had worked.
    Broken(MysqlError),
}

impl From<BackendError> for Misfit {
    fn from(error: BackendError) -> Self {
        Self::Lost(error)
    }
}

/// Why a member gave no connection.
enum NotConnected {
    Refused(MysqlError),
    Unreachable(String),
    Full,
}

impl Session {
    /// A connection to the hostgroup, in the session's state.
    pub(super) async fn held_or_new(&mut self, target: &Target) -> Result<Held, Trouble> {
        self.check_elsewhere(target)?;
        self.leave_former_member(target)?;
        if let Some(position) = self
            .held
            .iter()
            .position(|held| held.hostgroup == target.hostgroup)
        {
            let mut held = self.held.swap_remove(position);
            return match self.align(&mut held, target).await {
                Ok(()) => Ok(held),
                Err(Misfit::Refused(error)) => {
                    self.held.push(held);
                    Err(Trouble::Refused(error))
                }
                Err(Misfit::Lost(error)) => Err(Trouble::Fatal(lost(&error))),
                Err(Misfit::Broken(error)) => Err(Trouble::Fatal(error)),
            };
        }
        for _ in 0..MAX_DEAD {
            let backend = self.checkout(target).await?;
            let mut held = Held {
                hostgroup: target.hostgroup,
                backend,
                holds: Holds::NONE,
                until: None,
                replayed: 0,
            };
            match self.adopt(&mut held, target).await {
                Ok(()) => return Ok(held),
                Err(Misfit::Refused(error)) => {
                    if held.holds.is_empty() {
                        self.worker.pool.give(held.backend);
                    }
                    return Err(Trouble::Refused(error));
                }
                Err(Misfit::Broken(error)) => return Err(Trouble::Fatal(error)),
                // Nothing of the statement was sent, so another connection will do.
                Err(Misfit::Lost(error)) => tracing::debug!(%error, "an idle connection was lost"),
            }
        }
        Err(Trouble::Refused(
            errors::CLIENT_SERVER_LOST.with("Lost connection to MySQL server"),
        ))
    }

    /// Lets go of a connection to a server that the hostgroup has no more or takes out of service: what can be
    /// repeated follows the session to where the hostgroup is now. What cannot stays while the server drains.
    fn leave_former_member(&mut self, target: &Target) -> Result<(), Trouble> {
        let position = |held: &Held| held.hostgroup == target.hostgroup;
        let Some(position) = self.held.iter().position(position) else {
            return Ok(());
        };
        let held = &self.held[position];
        let group = self.snapshot.hostgroups.get(&target.hostgroup);
        let standing = group.map_or(Standing::Gone, |group| group.standing(&held.backend.member));
        let is_question = target.asks && !target.begins;
        let has_more = !held.holds.without(Holds::REPEATABLE).is_empty();
        if standing == Standing::Serves || is_question || (standing == Standing::Drains && has_more) {
            return Ok(());
        }
        let held = self.held.swap_remove(position);
        if !has_more {
            return Ok(());
        }
        Err(Trouble::Fatal(errors::CLIENT_SERVER_LOST.with(format_args!(
            "Lost connection to MySQL server: {} is not a server of hostgroup {} any more, and the session held {} there",
            held.backend.member.endpoint(),
            target.hostgroup,
            held.holds.texts()
        ))))
    }

    /// Refuses a statement whose meaning depends on what another connection holds.
    fn check_elsewhere(&self, target: &Target) -> Result<(), Trouble> {
        for held in self.held.iter().filter(|held| held.hostgroup != target.hostgroup) {
            let mut missed = Holds::NONE;
            if target.user_variables {
                missed = missed.with(Holds::USER_VARIABLES).with(Holds::UNKNOWN_CODE);
            }
            if target.asks {
                missed = missed.with(target.asked);
            }
            if target.is_work {
                missed = missed.with(Holds::NO_WORK_ELSEWHERE);
            }
            if held.holds.intersects(missed.with(Holds::NOT_ELSEWHERE)) {
                return Err(Trouble::Refused(errors::PROXY_HOSTGROUP_LOCKED.with(format_args!(
                    "the session holds a connection to hostgroup {} ({}), and this statement belongs to hostgroup {}; \
                     reset the connection, or use another one",
                    held.hostgroup,
                    held.holds.texts(),
                    target.hostgroup
                ))));
            }
        }
        Ok(())
    }

    async fn checkout(&mut self, target: &Target) -> Result<Backend, Trouble> {
        if let Some(backend) = self.previous_connection(target)? {
            return Ok(backend);
        }
        let snapshot = self.snapshot.clone();
        let Some(group) = snapshot.hostgroups.get(&target.hostgroup) else {
            return Err(Trouble::Refused(
                errors::PROXY_HOSTGROUP_TIMEOUT
                    .with(format_args!("hostgroup {} does not exist", target.hostgroup)),
            ));
        };
        let deadline = Instant::now() + self.worker.shared.limits.checkout_timeout;
        let mut reason = "it has no server that takes statements".to_owned();
        for attempt in 0..=group.members.len() {
            let random = self.worker.random();
            let picked = group.pick(random, false);
            let Some(placed) = picked.or_else(|| group.pick(random, true).filter(|_| attempt == 0)) else {
                break;
            };
            match self.connection_to(&placed.runtime, target, deadline).await {
                Ok(backend) => return Ok(backend),
                Err(NotConnected::Refused(error)) => return Err(Trouble::Refused(error)),
                Err(NotConnected::Full) => {
                    let limit = placed.runtime.max_connections;
                    reason = format!("all {limit} connections to {} stayed in use", placed.server);
                    break;
                }
                Err(NotConnected::Unreachable(error)) => {
                    placed
                        .runtime
                        .avoid_for(self.worker.shared.limits.backend_retry_after);
                    tracing::warn!(server = %placed.server, %error, "a server cannot be reached");
                    reason = format!("{} ({}): {error}", placed.server, placed.runtime.endpoint());
                }
            }
        }
        Err(Trouble::Refused(errors::PROXY_HOSTGROUP_TIMEOUT.with(
            format_args!("no connection to hostgroup {}: {reason}", target.hostgroup),
        )))
    }

    /// The connection that ran the statement that is asked about, if nobody has used it since.
    fn previous_connection(&self, target: &Target) -> Result<Option<Backend>, Trouble> {
        let Some(previous) = self.previous.filter(|_| target.asks) else {
            return Ok(None);
        };
        let taken = (previous.hostgroup == target.hostgroup)
            .then(|| self.idle(previous.member, target, Some(previous.serial)))
            .flatten();
        match taken {
            Some(backend) => Ok(Some(backend)),
            None => Err(Trouble::Refused(errors::UNKNOWN.with(
                "the connection that ran the session's previous statement is not held any more; ask in a transaction, \
                 or directly after the statement",
            ))),
        }
    }

    fn fit(&self, has_schema: bool) -> Fit {
        Fit {
            user: self.user.name.clone(),
            class: self.capabilities & CLASS,
            collation: self.collation,
            has_schema,
        }
    }

    /// An idle connection to the member; one in a schema where none is needed, if that is all there is.
    fn idle(&self, member: u64, target: &Target, only: Option<u64>) -> Option<Backend> {
        let session = self.number;
        let take = |has_schema| {
            let fit = self.fit(has_schema);
            self.worker.pool.take(member, &fit, Preference { session, only })
        };
        let has_schema = target.schema.is_some();
        let is_either = only.is_some() || target.needs_no_schema;
        take(has_schema).or_else(|| is_either.then(|| take(!has_schema)).flatten())
    }

    /// An idle connection to the member, or a new one, or the next that is given back.
    async fn connection_to(
        &self,
        member: &Arc<MemberRuntime>,
        target: &Target,
        deadline: Instant,
    ) -> Result<Backend, NotConnected> {
        let fit = self.fit(target.schema.is_some());
        loop {
            if let Some(backend) = self.idle(member.number, target, None) {
                return Ok(backend);
            }
            if let Ok(permit) = member.permits.clone().try_acquire_owned() {
                return self.connect(member, fit, target, permit).await;
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
                    Ok(permit) => return self.connect(member, fit, target, permit).await,
                    Err(_closed) => return Err(NotConnected::Full),
                },
                () = tokio::time::sleep_until(deadline.into()) => return Err(NotConnected::Full),
            }
        }
    }

    async fn connect(
        &self,
        member: &Arc<MemberRuntime>,
        fit: Fit,
        target: &Target,
        permit: tokio::sync::OwnedSemaphorePermit,
    ) -> Result<Backend, NotConnected> {
        let Some(credentials) = &self.user.credentials else {
            return Err(NotConnected::Refused(
                errors::ACCESS_DENIED.with("the user's secret cannot be resolved"),
            ));
        };
        let connect = Connect {
            member,
            fit,
            secret: &credentials.secret,
            schema: target.schema.clone(),
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
                match &failure {
                    ConnectFailure::Login(error) => match is_about_login(error) {
                        Some(error) => Err(NotConnected::Refused(error.clone())),
                        None => Err(NotConnected::Unreachable(failure.to_string())),
                    },
                    _ => Err(NotConnected::Unreachable(failure.to_string())),
                }
            }
        }
    }

    /// Makes a connection that was taken from the pool, or is new, the session's.
    async fn adopt(&mut self, held: &mut Held, target: &Target) -> Result<(), Misfit> {
        let backend = &mut held.backend;
        let is_anothers = backend.last_session != 0 && backend.last_session != self.number;
        // A view or a trigger can call code that sets variables or takes locks, and nothing tells of it.
        if is_anothers {
            refused(backend.reset().await?.err())?;
        }
        if is_anothers && (target.user_variables || target.asks) {
            // MariaDB's reset leaves FOUND_ROWS() and ROW_COUNT() as they were.
            refused(backend.exchange(Command::Query(b"SELECT 1 LIMIT 0")).await?.error)?;
        }
        if target.row_count && self.previous.is_none() {
            // A session that has run nothing is told 0; behind a SELECT of the proxy's own it would be -1.
            refused(backend.exchange(Command::Query(b"DO 0")).await?.error)?;
        }
        self.align(held, target).await
    }

    /// Gives a connection the session's schema, character set, variables, and the transaction that was begun.
    async fn align(&mut self, held: &mut Held, target: &Target) -> Result<(), Misfit> {
        if held.backend.is_suspect && !target.asks && !held.backend.is_readable().await? {
            return Err(Misfit::Broken(errors::UNKNOWN.with(
                "code that ran in this session has changed its sql_mode or character set to one in which the proxy \
                 cannot read statements",
            )));
        }
        self.align_schema(&mut held.backend, target).await?;
        self.align_names(held).await?;
        self.align_variables(held).await?;
        if target.begins {
            self.align_next_transaction(held).await?;
        }
        if target.opens {
            self.open_transaction(held).await?;
        }
        Ok(())
    }

    async fn align_schema(&self, backend: &mut Backend, target: &Target) -> Result<(), Misfit> {
        if backend.schema == target.schema || target.any_schema || target.needs_no_schema {
            return Ok(());
        }
        let Some(schema) = &target.schema else {
            return Err(Misfit::Refused(errors::NO_DB.with("No database selected")));
        };
        refused(backend.exchange(Command::InitDb(schema.as_bytes())).await?.error)?;
        backend.schema = Some(schema.clone());
        backend.fit.has_schema = true;
        Ok(())
    }

    async fn align_names(&self, held: &mut Held) -> Result<(), Misfit> {
        let backend = &mut held.backend;
        if backend.names == self.names {
            return Ok(());
        }
        if self.names.is_none() && backend.is_mariadb && held.holds.is_empty() {
            return refused(backend.reset().await?.err());
        }
        let Some(names) = self
            .names
            .clone()
            .or_else(|| SetNames::of_login(backend.fit.collation))
        else {
            return Ok(());
        };
        refused(
            backend
                .exchange(Command::Query(names.statement().as_bytes()))
                .await?
                .error,
        )?;
        backend.names.clone_from(&self.names);
        Ok(())
    }

    async fn align_variables(&mut self, held: &mut Held) -> Result<(), Misfit> {
        let backend = &mut held.backend;
        if held.replayed < self.history.last() {
            for text in self.history.since(held.replayed) {
                let outcome = backend.exchange(Command::Query(text)).await?;
                refused(outcome.error)?;
                note_autocommit(backend, outcome.status);
                held.holds = held.holds.with(Holds::SESSION_VARIABLES);
            }
            held.replayed = self.history.last();
        }
        if backend.autocommit != self.autocommit {
            let text: &[u8] = if self.autocommit {
                b"SET autocommit=1"
            } else {
                b"SET autocommit=0"
            };
            refused(backend.exchange(Command::Query(text)).await?.error)?;
            backend.autocommit = self.autocommit;
        }
        if !self.autocommit {
            held.holds = held.holds.with(Holds::AUTOCOMMIT);
        }
        Ok(())
    }

    /// `SET TRANSACTION …`. Whether a statement has used it up cannot be seen, so the connection stays.
    async fn align_next_transaction(&mut self, held: &mut Held) -> Result<(), Misfit> {
        if let Some(text) = self.next_transaction.take() {
            refused(held.backend.exchange(Command::Query(&text)).await?.error)?;
            held.holds = held.holds.with(Holds::SESSION_VARIABLES);
        }
        Ok(())
    }

    async fn open_transaction(&mut self, held: &mut Held) -> Result<(), Misfit> {
        for text in self.pending.take() {
            let outcome = held.backend.exchange(Command::Query(&text)).await?;
            if let Some(error) = outcome.error {
                return Err(Misfit::Broken(error));
            }
            held.holds = held.holds.with(Holds::TRANSACTION);
        }
        Ok(())
    }
}

/// Follows the server's word on autocommit.
pub(super) fn note_autocommit(backend: &mut Backend, status: Option<StatusFlags>) {
    if let Some(status) = status {
        backend.autocommit = status.contains(StatusFlags::SERVER_STATUS_AUTOCOMMIT);
    }
}

fn refused(error: Option<MysqlError>) -> Result<(), Misfit> {
    error.map_or(Ok(()), |error| Err(Misfit::Refused(error)))
}

pub(super) fn lost(error: &BackendError) -> MysqlError {
    errors::CLIENT_SERVER_LOST.with(format_args!(
        "Lost connection to MySQL server during query: {error}"
    ))
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
