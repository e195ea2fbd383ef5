//! Replication by GTID: the writer becomes read-only, the new one gets everything and ceases to be a replica, and the others follow it.

use std::thread;
use std::time::{Duration, Instant};

use shardwright_rules::Address;
use shardwright_secrets::Secret;
use shardwright_targets::{ReplicaStatus, Server, ServerError};

use super::fleet::Fleet;
use super::way::{Failed, Way};

/// How long replicas are given to follow their new source.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(10);
/// Between two looks whether they do.
const PAUSE: Duration = Duration::from_millis(50);

/// An account on servers.
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: Secret,
}

/// The servers of a cluster, by what they are to become.
pub(super) struct Replication {
    /// The present writer.
    from: Server,
    /// It was read-only before anything was done: an earlier switchover was cut off.
    was_read_only: bool,
    /// The new writer.
    to: Server,
    /// The channel in which it replicates from the present one.
    channel: String,
    /// The other replicas of the present writer, each with its channel.
    others: Vec<(Server, String)>,
    /// Who the present writer replicates as.
    replica: Option<Account>,
    /// What the present writer had written when it became read-only.
    position: String,
}

impl Replication {
    /// Looks whether the servers can change their roles; nothing is changed. `from` is the present writer, where one is known. What
    /// should be known beforehand goes to `notes`.
    ///
    /// # Errors
    /// Why not, for people.
    pub(super) fn prepare(
        from: Option<&Address>,
        mut to: Server,
        mut rest: Vec<Server>,
        replica: Option<Account>,
        patience: Duration,
        notes: &mut Vec<String>,
    ) -> Result<Self, String> {
        let said = |error: ServerError| error.to_string();
        let sources = to.sources().map_err(said)?;
        let found = match from {
            Some(from) => rest.iter().position(|server| server.server() == from),
            // Nobody writes: who is the source of the new writer is the one before.
            None => {
                let mut ids = Vec::with_capacity(rest.len());
                for server in &mut rest {
                    ids.push(server.id().map_err(said)?);
                }
                ids.iter()
                    .position(|id| sources.iter().any(|source| source.source_id == *id))
            }
        };
        let at = found.ok_or_else(|| format!("{} replicates from no server of the cluster", to.server()))?;
        let mut from = rest.remove(at);
        let id = from.id().map_err(said)?;
        let source = source_of(&sources, &id)
            .ok_or_else(|| format!("{} does not replicate from {}", to.server(), from.server()))?;
        check_source(&to, source)?;
        if !to.is_read_only().map_err(said)? {
            return Err(format!(
                "{} can write while it is a replica: set its read_only first, or its own writes are lost",
                to.server()
            ));
        }
        // It stays as it is; but whoever may not say so is found out now.
        to.set_read_only(true, patience).map_err(said)?;
        let was_read_only = from.is_read_only().map_err(said)?;
        if !to.can_be_followed().map_err(said)? {
            return Err(format!(
                "{} keeps no log of what it replicates (log_bin, log_slave_updates), so no server could follow it",
                to.server()
            ));
        }
        let mut others = Vec::new();
        for mut server in rest {
            let sources = server.sources().map_err(said)?;
            match source_of(&sources, &id) {
                Some(source) if source.by_gtid => {
                    let channel = source.channel.clone();
                    others.push((server, channel));
                }
                Some(_) => notes.push(format!(
                    "{} does not replicate by GTID, and is left as it is: it will follow nobody who writes",
                    server.server()
                )),
                None => notes.push(format!(
                    "{} does not replicate from {}, and is left as it is",
                    server.server(),
                    from.server()
                )),
            }
        }
        if replica.is_none() {
            notes.push(format!(
                "{} will stay read-only and replicate from nowhere: shardwright.yaml has no `switchover.replication`",
                from.server()
            ));
        }
        Ok(Self {
            channel: source.channel.clone(),
            from,
            was_read_only,
            to,
            others,
            replica,
            position: String::new(),
        })
    }

    /// The present writer.
    pub(super) fn from(&self) -> &Address {
        self.from.server()
    }

    /// Everything up to the moment from which there is no way back.
    fn approach(&mut self, deadline: Instant) -> Result<(), String> {
        let said = |error: ServerError| error.to_string();
        self.from.set_read_only(true, left(deadline)).map_err(said)?;
        self.position = self.from.position().map_err(said)?;
        let has_all = self
            .to
            .wait_for_position(&self.position, left(deadline))
            .map_err(said)?;
        if !has_all {
            return Err(format!(
                "{} has not got everything that {} has written in time",
                self.to.server(),
                self.from.server()
            ));
        }
        self.to.stop_replication(&self.channel).map_err(said)?;
        let position = self.from.position().map_err(said)?;
        if position != self.position {
            return Err(format!(
                "somebody writes on {} although it is read-only: an account has the privilege READ ONLY ADMIN or SUPER",
                self.from.server()
            ));
        }
        match Instant::now() < deadline {
            true => Ok(()),
            false => Err("it took too long".to_owned()),
        }
    }

    /// Makes the servers what they were.
    fn undo(&mut self, why: String) -> Failed {
        let mut problems = Vec::new();
        // It may never have been stopped; starting what runs is nothing.
        let started = self
            .to
            .reconnect()
            .and_then(|()| self.to.start_replication(&self.channel));
        if let Err(error) = started {
            problems.push(format!("replication could not be started again on {error}"));
        }
        if !self.was_read_only
            && let Err(error) = self
                .from
                .reconnect()
                .and_then(|()| self.from.set_read_only(false, FOLLOWS_WITHIN))
        {
            problems.push(format!("writes could not be allowed again on {error}"));
        }
        match problems.is_empty() {
            true => Failed::Undone(why),
            false => Failed::Mixed(format!("{why}; {}", problems.join("; "))),
        }
    }
}

impl Way for Replication {
    fn hand_over(&mut self, _: &mut Fleet, deadline: Instant) -> Result<(), Failed> {
        if let Err(why) = self.approach(deadline) {
            return Err(self.undo(why));
        }
        match self.to.set_read_only(false, left(deadline)) {
            Ok(()) => Ok(()),
            Err(error) if error.is_refusal => Err(self.undo(error.to_string())),
            // It may write or not: nobody else may until somebody has looked.
            Err(error) => Err(Failed::Mixed(format!(
                "nobody knows whether this server writes now, so {} stays read-only: {error}",
                self.from.server()
            ))),
        }
    }

    fn finish(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        let has_stopped = match self.from.position() {
            Ok(position) if position == self.position => true,
            Ok(position) => {
                problems.push(format!(
                    "{} was written to while it was read-only: it is at {position}, and {} began to write at {}",
                    self.from.server(),
                    self.to.server(),
                    self.position
                ));
                false
            }
            Err(error) => {
                problems.push(error.to_string());
                false
            }
        };
        if let Err(error) = self.to.forget_source(&self.channel) {
            problems.push(format!("it still knows its former source: {error}"));
        }
        let source = self.to.address().clone();
        for (server, channel) in &mut self.others {
            let followed = server
                .stop_replication(channel)
                .and_then(|()| server.follow(&source, channel, None));
            problems.extend(
                followed
                    .and_then(|()| follows(server, channel))
                    .err()
                    .map(not_followed),
            );
        }
        if let (Some(account), true) = (&self.replica, has_stopped) {
            let account = (account.user.as_str(), &account.password);
            let followed = self
                .from
                .continue_from_own_position()
                .and_then(|()| self.from.follow(&source, "", Some(account)))
                .and_then(|()| follows(&mut self.from, ""));
            problems.extend(followed.err().map(not_followed));
        }
        problems
    }
}

fn not_followed(error: ServerError) -> String {
    format!("it does not follow the new writer: {error}")
}

/// Waits until a server follows its source.
fn follows(server: &mut Server, channel: &str) -> Result<(), ServerError> {
    let until = Instant::now() + FOLLOWS_WITHIN;
    loop {
        let sources = server.sources()?;
        let source = sources.iter().find(|source| source.channel == channel);
        if source.is_some_and(|source| source.is_running) {
            return Ok(());
        }
        if Instant::now() >= until {
            let why = source.map_or("", |source| source.error.as_str());
            return Err(server.failure(&format!("replication does not run: {why}")));
        }
        thread::sleep(PAUSE);
    }
}

fn source_of<'s>(sources: &'s [ReplicaStatus], id: &str) -> Option<&'s ReplicaStatus> {
    sources.iter().find(|source| source.source_id == id)
}

fn check_source(to: &Server, source: &ReplicaStatus) -> Result<(), String> {
    let to = to.server();
    if !source.is_running {
        let error = match source.error.is_empty() {
            true => String::new(),
            false => format!(": {}", source.error),
        };
        return Err(format!("{to} is a replica that does not run{error}"));
    }
    match source.by_gtid {
        true => Ok(()),
        false => Err(format!(
            "{to} does not replicate by GTID, so nobody could tell when it has everything (MASTER_USE_GTID, SOURCE_AUTO_POSITION)"
        )),
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
