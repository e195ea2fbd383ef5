//! A backend connection for a statement: the one that the session holds, else an idle one, else a new one.
//!
//! Invariant: it has the session's state when the statement is sent; a statement that needs what another connection
//! holds is refused.

use std::rc::Rc;

use shardwright_rules::HostgroupId;
use shardwright_sql::Servers;
use shardwright_wire::{MysqlError, errors};

use super::Session;
use super::align::{AlignError, Alignment};
use super::checkout_error::CheckoutError;
use super::held::{Held, HeldConnections};
use super::hidden_variables::{Doubt, any_is_unset, lost};
use super::holds::Holds;
use super::place::Place;
use super::requirements::Requirements;
use super::search::Search;
use crate::backend::{Backend, BackendError, SHAPING};
use crate::hostgroup_members::{HostgroupMembers, Standing};
use crate::insert_id::{InsertId, Loss};
use crate::kill::interrupted;

/// Connections of the pool that turn out to be dead before one is given up.
const MAX_DEAD: usize = 8;

/// An idle connection, if there is one.
enum Unused {
    /// It is the session's.
    Adopted(Held),
    /// Its server has to be asked for something first.
    Found(Option<Box<Backend>>),
}

impl Session {
    /// A connection for a statement, in the session's state, which gives what the statement asks about earlier ones the
    /// answer that one server would give.
    ///
    /// # Errors
    /// [`CheckoutError`] where there is no connection, and where it could not answer.
    pub(super) async fn check_out(&mut self, requirements: &Requirements) -> Result<Held, CheckoutError> {
        if !self.worker.shared.pauses.is_empty() {
            Box::pin(self.wait_for_resumption(requirements.hostgroup)).await?;
        }
        self.handle.occupy(requirements.hostgroup);
        self.diagnostics
            .check(requirements, !self.pending.is_empty())
            .map_err(CheckoutError::Refused)?;
        check_elsewhere(&self.held, requirements)?;
        if let Some(names) = requirements.locks() {
            Box::pin(self.check_locks(names, requirements.hostgroup)).await?;
        }
        if requirements.may_use_up && self.settings.next.is_given() {
            Box::pin(self.settle_for(requirements)).await?;
        }
        let group = self.login.snapshot.hostgroups.get(&requirements.hostgroup);
        leave_former_member(&mut self.held, group, requirements)?;
        let place = self.place_of(requirements).map_err(CheckoutError::Refused)?;
        let held = match self.held.take(requirements.hostgroup) {
            Some(held) if place.is_some_and(|place| place.serial != held.backend.serial) => {
                self.held.keep(held);
                return Err(CheckoutError::Refused(not_held(requirements)));
            }
            Some(held) if self.alignment(requirements).is_aligned(&held.backend) => held,
            Some(held) => Box::pin(self.align_held(held, requirements)).await?,
            None => {
                let random = self.worker.random();
                match self.unused_connection(requirements, place, random) {
                    Unused::Adopted(held) => held,
                    Unused::Found(found) => {
                        let adopted = self.adopt_connection(requirements, place, found, random);
                        Box::pin(adopted).await?
                    }
                }
            }
        };
        let held = match requirements.insert_id && !self.has_right_insert_id(&held, requirements) {
            true => Box::pin(self.with_insert_id(held, requirements)).await?,
            false => held,
        };
        if !held.backend.servers.are_in(requirements.read_for) {
            let error = read_for_others(&held.backend, requirements.read_for);
            self.worker.meet_servers(held.backend.servers);
            self.held.keep_or_give(held, &self.worker.pool);
            return Err(CheckoutError::Refused(error));
        }
        if requirements.hidden_variables.is_none() && !requirements.asks() {
            return Ok(held);
        }
        Box::pin(self.with_answers(held, requirements)).await
    }

    /// The connection that has what a statement asks about earlier ones.
    fn place_of(&self, requirements: &Requirements) -> Result<Option<Place>, MysqlError> {
        if requirements.hidden_variables.is_none() {
            return Ok(requirements.earlier());
        }
        let hidden = self.hidden.place(requirements.hostgroup)?;
        match requirements.earlier() {
            Some(earlier) if earlier.serial != hidden.serial => Err(lost()),
            _ => Ok(Some(hidden)),
        }
    }

    /// Sees to it that a connection answers about earlier statements as one server would.
    async fn with_answers(
        &mut self,
        mut held: Held,
        requirements: &Requirements,
    ) -> Result<Held, CheckoutError> {
        match self.prepare_answers(&mut held, requirements).await {
            Ok(()) => Ok(held),
            Err(error) => {
                self.return_unused(held, &error);
                Err(error)
            }
        }
    }

    async fn prepare_answers(
        &self,
        held: &mut Held,
        requirements: &Requirements,
    ) -> Result<(), CheckoutError> {
        let lost_connection = |error: BackendError| CheckoutError::Fatal(error.for_client());
        if let Some(names) = &requirements.hidden_variables {
            let is_unset = match self.hidden.doubt() {
                Doubt::None => false,
                // Its connection was reset on the way.
                Doubt::Lost => true,
                Doubt::Unset => {
                    let question = any_is_unset(names);
                    let answer = held.backend.exchange_value(&question).await;
                    answer.map_err(lost_connection)?.as_deref() != Some(b"0")
                }
            };
            if is_unset {
                return Err(CheckoutError::Refused(lost()));
            }
        }
        let asked = requirements.asked;
        if asked.is_nothing() {
            return Ok(());
        }
        let commands = self.diagnostics.preparation(asked, &held.backend);
        for command in commands.map_err(CheckoutError::Refused)? {
            let outcome = held.backend.exchange(command).await.map_err(lost_connection)?;
            if let Some(error) = outcome.error {
                return Err(CheckoutError::Refused(error));
            }
        }
        Ok(())
    }

    /// Waits while the cluster of a writer is paused. What the session has begun there goes on.
    async fn wait_for_resumption(&self, hostgroup: HostgroupId) -> Result<(), CheckoutError> {
        let pauses = &self.worker.shared.pauses;
        let mut begun = self.held.hostgroups_with(Holds::UNFINISHED);
        if begun.any(|begun| begun == hostgroup) {
            return Ok(());
        }
        tokio::select! {
            () = pauses.ended(hostgroup, &self.worker.shared.clock) => Ok(()),
            () = self.handle.ordered() => Err(CheckoutError::Refused(interrupted())),
        }
    }

    /// Whether what a connection says of LAST_INSERT_ID() is right for the session.
    fn has_right_insert_id(&self, held: &Held, requirements: &Requirements) -> bool {
        self.insert_id
            .as_ref()
            .is_none_or(|id| held.backend.has_this(id) && !asks_what_may_be_lost(requirements, id.loss()))
    }

    /// The connection with the session's LAST_INSERT_ID(), which another one may have.
    async fn with_insert_id(
        &mut self,
        mut held: Held,
        requirements: &Requirements,
    ) -> Result<Held, CheckoutError> {
        let Some(id) = self.insert_id.clone() else {
            return Ok(held);
        };
        let is_here = held.backend.has_this(&id);
        let brought = if is_here {
            self.check_insert_id(&id, &mut held).await
        } else {
            self.bring_insert_id(&id, &mut held, requirements).await
        };
        match brought {
            Ok(()) => Ok(held),
            Err(error) => {
                self.return_unused(held, &error);
                Err(error)
            }
        }
    }

    /// Has a connection go on with the id. One that is lost matters only to who asks for it.
    async fn bring_insert_id(
        &mut self,
        id: &Rc<InsertId>,
        held: &mut Held,
        requirements: &Requirements,
    ) -> Result<(), CheckoutError> {
        let lost = |error: BackendError| CheckoutError::Fatal(error.for_client());
        if id.is_unasked() {
            self.ask_insert_id(id).await.map_err(lost)?;
        }
        // One that was lost before may have been brought here; this one was lost just now.
        let loss = if id.is_unasked() { Loss::Untold } else { id.loss() };
        let value = id.value();
        if !held
            .backend
            .set_insert_id(value.unwrap_or_default())
            .await
            .map_err(lost)?
        {
            return Err(CheckoutError::Refused(
                errors::UNKNOWN.with("the server does not take the session's LAST_INSERT_ID()"),
            ));
        }
        let loss = if value.is_some() { Loss::None } else { loss };
        // Known: it is set above.
        let set = Some(value.unwrap_or_default());
        let id = held.backend.leave_insert_id(held.hostgroup, set, loss);
        self.insert_id = Some(id.clone());
        match asks_what_may_be_lost(requirements, loss) {
            true => Err(lost_insert_id(&id)),
            false => Ok(()),
        }
    }

    /// Whether an id that follows a lost one is another: its server is asked.
    async fn check_insert_id(&mut self, id: &Rc<InsertId>, held: &mut Held) -> Result<(), CheckoutError> {
        let lost = |error: BackendError| CheckoutError::Fatal(error.for_client());
        held.backend.save_insert_id().await.map_err(lost)?;
        if id.value().is_none() {
            return Err(lost_insert_id(id));
        }
        let known = held
            .backend
            .leave_insert_id(held.hostgroup, id.value(), Loss::None);
        self.insert_id = Some(known);
        Ok(())
    }

    /// Asks the connection that has it, unless another session does, which takes it over.
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
        } else {
            let patience = self.worker.shared.limits.checkout_timeout;
            let settled = self.worker.shared.clock.timeout(patience, id.settled()).await;
            if settled.is_err() {
                tracing::warn!("the connection with a session's LAST_INSERT_ID() does not tell it");
            }
        }
        Ok(())
    }

    fn alignment<'a>(&'a mut self, requirements: &'a Requirements) -> Alignment<'a> {
        Alignment {
            session: self.number,
            settings: &mut self.settings,
            pending: &mut self.pending,
            hidden: &mut self.hidden,
            requirements,
            follows_loss: self.has_lost_connection,
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

    pub(super) fn search<'a>(&'a self, requirements: &'a Requirements, random: u64) -> Search<'a> {
        Search {
            worker: &self.worker,
            handle: &self.handle,
            login: &self.login,
            session: self.number,
            capabilities: self.client.capabilities & SHAPING,
            has_extended_metadata: self.client.has_extended_metadata,
            requirements,
            random,
        }
    }

    /// What most statements find: an idle connection that is as the session needs it, or becomes so with a reset.
    fn unused_connection(
        &mut self,
        requirements: &Requirements,
        place: Option<Place>,
        random: u64,
    ) -> Unused {
        if place.is_some() || requirements.asks() {
            return Unused::Found(None);
        }
        let Some(mut backend) = self.search(requirements, random).unused() else {
            return Unused::Found(None);
        };
        match self.alignment(requirements).adopt_at_once(&mut backend) {
            true => Unused::Adopted(Held::new(requirements.hostgroup, backend)),
            false => Unused::Found(Some(backend)),
        }
    }

    /// An idle or new connection; one that was `found` comes first.
    async fn adopt_connection(
        &mut self,
        requirements: &Requirements,
        place: Option<Place>,
        mut found: Option<Box<Backend>>,
        mut random: u64,
    ) -> Result<Held, CheckoutError> {
        for _ in 0..MAX_DEAD {
            let search = self.search(requirements, random);
            random = self.worker.random();
            let backend = match (found.take(), place) {
                (Some(found), _) => found,
                (None, Some(place)) => search
                    .connection_at(place)
                    .ok_or_else(|| CheckoutError::Refused(not_held(requirements)))?,
                (None, None) => search.connection().await?,
            };
            let mut held = Held::new(requirements.hostgroup, backend);
            match self.alignment(requirements).adopt(&mut held).await {
                Ok(()) => return Ok(held),
                Err(AlignError::Refused(error)) => {
                    if held.holds.is_empty() {
                        self.worker.pool.give(held.backend);
                    } else if held.holds.intersects(Holds::IN_TRANSACTION) {
                        // The transaction is open, only a savepoint of it failed.
                        self.held.keep(held);
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

/// Whether a statement must know an id that may have been lost. Code that may ask is refused once.
fn asks_what_may_be_lost(requirements: &Requirements, loss: Loss) -> bool {
    match loss {
        Loss::None => false,
        Loss::Untold => requirements.asks_insert_id || requirements.runs_unseen_code,
        Loss::Told => requirements.asks_insert_id,
    }
}

/// The error for a statement whose connection has gone to another session.
fn not_held(requirements: &Requirements) -> MysqlError {
    if requirements.hidden_variables.is_some() {
        return lost();
    }
    errors::UNKNOWN.with(
        "the connection that ran the session's previous statement is not held any more; ask in a transaction, or directly after \
         the statement",
    )
}

fn lost_insert_id(id: &InsertId) -> CheckoutError {
    id.tell();
    CheckoutError::Refused(errors::UNKNOWN.with(
        "the connection that had the session's LAST_INSERT_ID() is closed; read the id from the answer of the statement, as drivers do",
    ))
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
    let is_question = requirements.asks() && !requirements.begins;
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
    // Routines and prepared texts may read the session's variables.
    if requirements.runs_unseen_code {
        missed |= Holds::USER_VARIABLES;
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

/// A server of another kind than all that were met before. Now it is known, and the statement will be read for it too.
fn read_for_others(backend: &Backend, read_for: Servers) -> MysqlError {
    let names = |servers: Servers| servers.names().collect::<Vec<_>>().join(", ");
    errors::NOT_SUPPORTED_YET.with(format_args!(
        "{} is a {}, and the statement was read as {} reads it; send it again",
        backend.member.endpoint(),
        names(backend.servers),
        names(read_for)
    ))
}
