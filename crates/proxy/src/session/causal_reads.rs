//! Reads that see what their session has written, whichever server answers them (`consistency: causal`).
//!
//! # Idea
//!
//! [`OwnWrites`](super::own_writes::OwnWrites) says what a session has written in a cluster, and what each server is known to have
//! is in its [`Reach`](crate::causal::Reach). A read that is routed to readers takes a connection as any other. If its server is
//! not known to have everything, the server is asked to catch up before the read is sent:
//!
//! ```text
//! Galera        on a connection for that purpose (sync_connections): until it has what its cluster has
//! replication   the writer's position, if it is not known yet: SELECT @@gtid_binlog_pos
//!               on the read's connection: SELECT MASTER_GTID_WAIT('0-1-500', 0.1)
//! ```
//!
//! One that does not catch up in time is not asked again for a while, and another reader is, at last the writer.
//!
//! The session's variables stay as they are: the question is a statement of its own, which fails or not, and the read is only
//! sent behind it. A position counts as long as the server writes that has said it. When another takes its place, that one says
//! what there is to catch up with: what was lost with its predecessor is lost for everybody.

use std::time::{Duration, Instant};

use shardwright_rules::HostgroupId;
use shardwright_wire::errors;

use super::Session;
use super::checkout_error::CheckoutError;
use super::held::Held;
use super::holds::Holds;
use super::requirements::{NotOn, Requirements};
use super::search::not_for_writer;
use crate::backend::Backend;
use crate::causal::{CatchUp, CausalCluster};
use crate::hostgroup_members::HostgroupMembers;
use crate::members::MemberRuntime;
use crate::secrets::Credentials;
use crate::stats::bump;
use crate::sync_connections::SyncRequest;

/// How often the writer is asked for one read: another may take its place meanwhile.
const MOST_TARGETS: u32 = 2;

/// What became of a server that was asked to catch up.
pub(super) enum CaughtUp {
    Yes,
    /// Not in time, or it cannot say.
    No,
    /// What it is to catch up with is not known.
    NoTarget,
}

impl Session {
    /// A connection for a read, to a server that has what the session has written.
    pub(super) async fn check_out_caught_up(
        &mut self,
        requirements: &Requirements,
    ) -> Result<Held, CheckoutError> {
        let clusters = &self.login.snapshot.causal;
        let cluster = clusters.of_hostgroup(requirements.hostgroup).cloned();
        // A question about an earlier statement goes where that ran, and nothing may come between.
        let Some(cluster) = cluster.filter(|_| !requirements.is_question) else {
            return self.check_out(requirements).await;
        };
        let Some(writes) = self.own_writes.of(&cluster.address) else {
            return self.check_out(requirements).await;
        };
        let started = Instant::now();
        let mut waited = false;
        // SET TRANSACTION is for one connection, which would be left with it.
        let is_tied = writes.is_unlogged || !writes.lost.is_empty() || !self.settings.next.is_empty();
        let found = match is_tied || self.has_late_servers(requirements.hostgroup) {
            true => self.caught_up(&cluster, requirements, None, &mut waited).await,
            false => {
                let held = self.check_out(requirements).await?;
                if self.has_writes(&cluster, &held.backend) {
                    return Ok(held);
                }
                self.caught_up(&cluster, requirements, Some(held), &mut waited)
                    .await
            }
        };
        if waited {
            let totals = &self.worker.counters.totals;
            bump(&totals.causal_waits);
            let us = totals.causal_waited_us.get() + started.elapsed().as_micros() as u64;
            totals.causal_waited_us.set(us);
        }
        found
    }

    /// Whether a server did not catch up a moment ago.
    fn has_late_servers(&self, hostgroup: HostgroupId) -> bool {
        let group = self.login.snapshot.hostgroups.get(&hostgroup);
        let mut members = group.into_iter().flat_map(|group| &group.members);
        members.any(|member| member.runtime.reach.is_late())
    }

    /// `first`: the connection to ask first.
    async fn caught_up(
        &mut self,
        cluster: &CausalCluster,
        requirements: &Requirements,
        mut first: Option<Held>,
        waited: &mut bool,
    ) -> Result<Held, CheckoutError> {
        let is_settled = self.settle_lost_writes(cluster, waited).await?;
        if !is_settled || !self.settings.next.is_empty() {
            return self.check_out_on_writer(cluster, requirements, waited).await;
        }
        let snapshot = self.login.snapshot.clone();
        let group = snapshot.hostgroups.get(&requirements.hostgroup);
        let mut requirements = requirements.clone();
        requirements.keep_off(NotOn {
            members: self.of_no_use(cluster, group),
            writer: false,
        });
        let mut targets = 0;
        loop {
            let held = match first.take() {
                Some(held) => held,
                None => {
                    let random = self.worker.random();
                    let avoided = requirements.avoided_members();
                    let pick = |group: &HostgroupMembers| group.pick(random, true, avoided).is_some();
                    if !group.is_some_and(pick) {
                        return self.check_out_on_writer(cluster, &requirements, waited).await;
                    }
                    self.check_out(&requirements).await?
                }
            };
            if self.has_writes(cluster, &held.backend) {
                let is_other = !requirements.avoided_members().is_empty();
                if is_other && self.writes_now(cluster, &held.backend.member) {
                    bump(&self.worker.counters.totals.causal_on_writer);
                }
                return Ok(held);
            }
            *waited = true;
            let number = held.backend.member.number;
            match self.catch_up(cluster, held).await? {
                (CaughtUp::Yes, Some(held)) => return Ok(held),
                (CaughtUp::NoTarget, held) => {
                    self.leave(held);
                    targets += 1;
                    if targets > MOST_TARGETS || !self.find_target(cluster).await? {
                        return self.check_out_on_writer(cluster, &requirements, waited).await;
                    }
                }
                (_, held) => {
                    self.leave(held);
                    requirements.keep_off(NotOn {
                        members: vec![number],
                        writer: false,
                    });
                }
            }
        }
    }

    /// Servers that need not be asked.
    fn of_no_use(&mut self, cluster: &CausalCluster, group: Option<&HostgroupMembers>) -> Vec<u64> {
        let is_unlogged = self
            .own_writes
            .of(&cluster.address)
            .is_some_and(|writes| writes.is_unlogged);
        let members = group.into_iter().flat_map(|group| &group.members);
        let mut of_no_use = Vec::new();
        for member in members {
            let runtime = &member.runtime;
            let is_of_no_use = is_unlogged || runtime.reach.is_late();
            if is_of_no_use && !self.are_written_on(cluster, runtime, Instant::now()) {
                of_no_use.push(runtime.number);
            }
        }
        of_no_use
    }

    /// Gives back a connection on which the read does not run.
    fn leave(&mut self, held: Option<Held>) {
        if let Some(mut held) = held {
            held.holds.remove(Holds::BRIEF);
            self.held.keep_or_give(held, &self.worker.pool);
        }
    }

    /// Whether a server has everything, as far as is known without asking.
    fn has_writes(&mut self, cluster: &CausalCluster, backend: &Backend) -> bool {
        self.are_written_on(cluster, &backend.member, backend.opened)
    }

    fn are_written_on(&mut self, cluster: &CausalCluster, member: &MemberRuntime, opened: Instant) -> bool {
        // The writer of a replication is what all others follow.
        if cluster.catch_up == CatchUp::Position && self.writes_now(cluster, member) {
            return true;
        }
        let writes = self.own_writes.of(&cluster.address);
        writes.is_none_or(|writes| writes.are_on(member, opened))
    }

    /// Whether a server takes the writes of a cluster.
    pub(super) fn writes_now(&self, cluster: &CausalCluster, member: &MemberRuntime) -> bool {
        let group = self.login.snapshot.hostgroups.get(&cluster.writer);
        let mut placed = group.into_iter().flat_map(|group| group.placed());
        placed.any(|(writer, place)| place.serves() && writer.runtime.endpoint_is(member))
    }

    /// Has a server catch up. The connection comes back unless it is lost.
    async fn catch_up(
        &mut self,
        cluster: &CausalCluster,
        mut held: Held,
    ) -> Result<(CaughtUp, Option<Held>), CheckoutError> {
        // What the session has there it has nowhere else: the server is given the time that a statement may wait.
        let is_bound = !(held.holds - Holds::BRIEF).is_empty();
        let limits = &self.worker.shared.limits;
        let patience = if is_bound {
            limits.checkout_timeout
        } else {
            limits.causal_wait
        };
        let retry_after = limits.causal_retry_after;
        let caught_up = match cluster.catch_up {
            CatchUp::Sync => Ok(self.sync(cluster, &held.backend, patience).await),
            CatchUp::Position => self.reach_position(cluster, &mut held.backend, patience).await,
            CatchUp::Never => Ok(CaughtUp::No),
        };
        match caught_up {
            Ok(CaughtUp::Yes) => {
                let (number, now) = (held.backend.member.number, Instant::now());
                if let Some(writes) = self.own_writes.of(&cluster.address) {
                    writes.is_on(number, now);
                }
                Ok((CaughtUp::Yes, Some(held)))
            }
            Ok(CaughtUp::NoTarget) => Ok((CaughtUp::NoTarget, Some(held))),
            Ok(CaughtUp::No) if is_bound => {
                let error = errors::PROXY_HOSTGROUP_TIMEOUT.with(format_args!(
                    "{} does not catch up with what this session has written, and the session holds {} there",
                    held.backend.member.endpoint(),
                    held.holds.texts()
                ));
                self.held.keep(held);
                Err(CheckoutError::Refused(error))
            }
            Ok(CaughtUp::No) => {
                held.backend.member.reach.is_late_for(retry_after);
                Ok((CaughtUp::No, Some(held)))
            }
            Err(error) if is_bound => Err(CheckoutError::Fatal(error.for_client())),
            Err(error) => {
                tracing::debug!(%error, "a connection was lost on which a server was asked to catch up");
                held.backend.member.reach.is_late_for(retry_after);
                Ok((CaughtUp::No, None))
            }
        }
    }

    /// Galera: until the server has what the cluster has now.
    async fn sync(&mut self, cluster: &CausalCluster, backend: &Backend, patience: Duration) -> CaughtUp {
        if !backend.is_mariadb {
            return CaughtUp::No;
        }
        let credentials = self.login.user.credentials.as_ref();
        let writes = self.own_writes.of(&cluster.address);
        let request = SyncRequest {
            member: &backend.member,
            user: &self.login.user.name,
            secret: credentials.and_then(Credentials::secret),
            tls: self.worker.shared.tls.loaded(),
            allow_public_key_retrieval: self.worker.shared.allow_public_key_retrieval,
            serial: self.worker.next_number(),
            scratch: self.worker.scratch.clone(),
            clock: self.worker.shared.clock.clone(),
            written: writes.map_or_else(Instant::now, |writes| writes.at),
            opened: backend.opened,
        };
        match self.worker.syncs.sync(&request, patience).await {
            true => CaughtUp::Yes,
            false => CaughtUp::No,
        }
    }

    /// No reader has caught up: the writer answers. Where it is another server than the one that has executed the writes, it
    /// may have to catch up itself (Galera).
    async fn check_out_on_writer(
        &mut self,
        cluster: &CausalCluster,
        requirements: &Requirements,
        waited: &mut bool,
    ) -> Result<Held, CheckoutError> {
        if requirements.is_kept_off_writer() {
            return Err(CheckoutError::Refused(not_for_writer(requirements.hostgroup)));
        }
        bump(&self.worker.counters.totals.causal_on_writer);
        let requirements = Requirements {
            hostgroup: cluster.writer,
            not_on: None,
            ..requirements.clone()
        };
        let held = self.check_out(&requirements).await?;
        if cluster.catch_up != CatchUp::Sync || self.has_writes(cluster, &held.backend) {
            return Ok(held);
        }
        *waited = true;
        let patience = self.worker.shared.limits.checkout_timeout;
        // Percona XtraDB Cluster has no statement for it: what it has applied is what can be had.
        if !held.backend.is_mariadb {
            return Ok(held);
        }
        if let CaughtUp::Yes = self.sync(cluster, &held.backend, patience).await {
            return Ok(held);
        }
        let error = errors::PROXY_HOSTGROUP_TIMEOUT.with(format_args!(
            "{} writes since another server does not, and has not caught up with it",
            held.backend.member.endpoint()
        ));
        self.held.keep_or_give(held, &self.worker.pool);
        Err(CheckoutError::Refused(error))
    }
}
