//! A search for a connection that the session does not hold: idle in the pool, new, or given back by another session. Where a
//! monitor watches the servers, it waits for one that serves.

use std::borrow::Cow;
use std::time::Duration;

use shardwright_rules::HostgroupId;
use shardwright_wire::{CapabilityFlags, MysqlError, errors};
use tokio::time::Instant;

use super::checkout_error::CheckoutError;
use super::login::Login;
use super::not_connected::NotConnected;
use super::place::Place;
use super::requirements::Requirements;
use crate::backend::Backend;
use crate::hostgroup_members::{HostgroupMember, HostgroupMembers};
use crate::kill::interrupted;
use crate::members::MemberRuntime;
use crate::pool::Preference;
use crate::pool_key::WantedKey;
use crate::room::Request;
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

/// A search for a connection that the session does not hold.
pub(super) struct Search<'a> {
    pub(super) worker: &'a Worker,
    pub(super) handle: &'a SessionHandle,
    pub(super) login: &'a Login,
    /// The session's number.
    pub(super) session: u64,
    /// Capabilities of the client that the connection must have.
    pub(super) capabilities: CapabilityFlags,
    pub(super) has_extended_metadata: bool,
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
            let member = self.one_with_room(group, member, random);
            let has_room_elsewhere = || {
                let other = self.one_with_room(group, member, random);
                other.runtime.number != member.runtime.number
            };
            let found = self.connection_to(&member.runtime, deadline, has_room_elsewhere);
            match found.await {
                Ok(backend) => return Ok(Ok(backend)),
                Err(NotConnected::Refused(error)) => return Err(CheckoutError::Refused(error)),
                Err(NotConnected::Killed) => return Err(CheckoutError::Refused(interrupted())),
                Err(NotConnected::FullHere) => {}
                Err(NotConnected::Full { most, why }) => {
                    let (server, endpoint) = (&member.server, member.runtime.endpoint());
                    reason = Some(match why {
                        Some(why) => format!("{server} ({endpoint}): {why}"),
                        None => format!("all {most} connections to {server} stayed in use"),
                    });
                    break;
                }
                Err(NotConnected::Busy(why)) => {
                    let endpoint = member.runtime.endpoint();
                    *busy = Some(format!("{} ({endpoint}): {why}", member.server));
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

    /// The member, or another that serves as it does and has a connection at once.
    fn one_with_room<'g>(
        &self,
        group: &'g HostgroupMembers,
        member: &'g HostgroupMember,
        random: u64,
    ) -> &'g HostgroupMember {
        let has_room = |member: &HostgroupMember| {
            let key = self.key(self.requirements.schema.is_some());
            let request = self.request(&member.runtime);
            self.worker.pool.has(member.runtime.number, key)
                || member.runtime.room.limited(&request).is_none()
        };
        if group.members.len() == 1 || has_room(member) {
            return member;
        }
        let others = group.beside(member, &self.not_on());
        let with_room: Vec<_> = others.into_iter().filter(|other| has_room(other)).collect();
        let chosen = (random as usize).checked_rem(with_room.len());
        chosen.map_or(member, |at| with_room[at])
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

    /// A connection to the member, as the statement needs one.
    pub(super) fn request(&self, member: &MemberRuntime) -> Request {
        member.request(&self.login.user.name, self.requirements.is_read_alone)
    }

    pub(super) fn key(&self, has_schema: bool) -> WantedKey<'_> {
        WantedKey {
            user: &self.login.user.name,
            shaping: self.capabilities,
            has_extended_metadata: self.has_extended_metadata,
            collation: self.login.collation,
            has_schema,
        }
    }

    /// An idle connection to the member; one in a schema where none is needed, if that is all there is.
    pub(super) fn idle(&self, member: u64, only: Option<u64>) -> Option<Box<Backend>> {
        let session = self.session;
        let take = |has_schema| {
            let key = self.key(has_schema);
            self.worker.pool.take(member, key, Preference { session, only })
        };
        let has_schema = self.requirements.schema.is_some();
        let is_either = only.is_some() || self.requirements.needs_no_schema;
        take(has_schema).or_else(|| is_either.then(|| take(!has_schema)).flatten())
    }
}
