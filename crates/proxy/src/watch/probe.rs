//! One server, looked at again and again on a connection of its own.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use shardwright_rules::roles::{ServerSight, Sight};
use shardwright_wire::{CapabilityFlags, ConnectError, errors};
use tokio::time::sleep;

use super::questions;
use super::watcher::{HURRIED_INTERVAL, Watched, Watcher};
use crate::backend::{Backend, BackendError, Connect, ConnectFailure, MAX_AGE_OF_OWN};
use crate::clock::Clock;
use crate::members::MemberRuntime;
use crate::pool_key::PoolKey;
use crate::slot::Slot;
use crate::throttles::Measures;

/// Time for a look, its connection included.
const PATIENCE: Duration = Duration::from_secs(1);
/// Looks in a row that may take too long before a server counts as lost: it may be busy. One is enough where another was
/// promoted: statements wait there for an answer.
const SLOW_LOOKS: u32 = 2;
/// The collation of the connection: utf8mb4_general_ci.
const COLLATION: u8 = 45;

/// A server that is watched.
pub(super) struct Probe {
    of: Watched,
    runtime: Arc<MemberRuntime>,
    connection: Option<Box<Backend>>,
    /// How often the host name had come to lead elsewhere when it was opened.
    moves: u32,
    /// Looks in a row that took too long.
    slow: u32,
    /// It has told how it is.
    was_seen: bool,
}

/// Why a look has shown nothing.
enum Failure {
    /// The server answers, and not this account.
    Refused(String),
    /// It has no connection left: it is there.
    Full(String),
    Lost(String),
}

impl Probe {
    pub(super) fn new(of: Watched) -> Self {
        let runtime = Arc::new(MemberRuntime::new(0, &of.member, Arc::default()));
        Self {
            of,
            runtime,
            connection: None,
            moves: 0,
            slow: 0,
            was_seen: false,
        }
    }

    /// Looks until it is aborted.
    pub(super) async fn run(mut self, watcher: Rc<Watcher>) {
        let suspicion = watcher.shared.control.knowledge.suspicion(&self.of.cluster);
        loop {
            let suspected = suspicion.notified();
            tokio::pin!(suspected);
            // From here on, whoever suspects something is heard.
            suspected.as_mut().enable();
            if let Some((sight, measures)) = self.look(&watcher).await {
                watcher.measured(&self.of, measures);
                watcher.saw(&self.of, sight);
                sleep(HURRIED_INTERVAL).await;
                let rest = watcher
                    .interval(&self.of.cluster)
                    .saturating_sub(HURRIED_INTERVAL);
                tokio::select! {
                    () = sleep(rest) => {}
                    () = suspected => {}
                }
            }
        }
    }

    /// What is seen and measured of the server; `None`: it took too long or had no connection left, and is looked at once more.
    async fn look(&mut self, watcher: &Watcher) -> Option<(Sight, Option<Measures>)> {
        let (of, was_slow) = (self.of.clone(), self.slow > 0);
        let superseded = async {
            while !(was_slow && watcher.is_superseded(&of)) {
                sleep(HURRIED_INTERVAL).await;
            }
        };
        let looked = tokio::select! {
            looked = tokio::time::timeout(PATIENCE, self.see(watcher)) => looked.ok(),
            () = superseded => None,
        };
        let looked = match looked {
            Some(looked) => {
                self.slow = 0;
                looked
            }
            None => {
                self.slow += 1;
                let is_superseded = watcher.is_superseded(&of);
                if self.slow < SLOW_LOOKS && !is_superseded {
                    return None;
                }
                Err(Failure::Lost(match is_superseded {
                    true => "no answer, and another server was promoted".to_owned(),
                    false => format!("no answer within {PATIENCE:?}"),
                }))
            }
        };
        if self.was_seen && matches!(looked, Err(Failure::Full(_))) {
            sleep(HURRIED_INTERVAL).await;
            return None;
        }
        self.was_seen |= looked.is_ok();
        Some(match looked {
            Ok((sight, measures)) => (Sight::Seen(Box::new(sight)), Some(measures)),
            Err(Failure::Refused(why) | Failure::Full(why)) => (Sight::Silent { why }, None),
            Err(Failure::Lost(why)) => (Sight::Lost { why }, None),
        })
    }

    async fn see(&mut self, watcher: &Watcher) -> Result<(ServerSight, Measures), Failure> {
        let moves = watcher.shared.control.moves_of(&self.of.member.host);
        if self.moves != moves {
            (self.moves, self.connection) = (moves, None);
        }
        // While it is asked, the connection is here: a look that is given up closes it.
        if let Some(connection) = self.connection.take() {
            match self.ask(watcher, connection).await {
                Ok(sight) => return Ok(sight),
                // The server may have closed this one connection.
                Err(error) => {
                    tracing::debug!(server = %self.of.member.server, %error, "a monitor's connection was lost")
                }
            }
        }
        let connection = self.connect(watcher).await?;
        let seen = self.ask(watcher, connection).await;
        seen.map_err(|error| Failure::Lost(error.to_string()))
    }

    async fn ask(
        &mut self,
        watcher: &Watcher,
        mut connection: Box<Backend>,
    ) -> Result<(ServerSight, Measures), BackendError> {
        let questions = watcher.questions(&self.of);
        let seen = questions::look(&mut connection, &self.of.kind, &questions, PATIENCE).await?;
        self.connection = Some(connection);
        Ok(seen)
    }

    async fn connect(&self, watcher: &Watcher) -> Result<Box<Backend>, Failure> {
        let Some(account) = watcher.snapshot().monitor.clone() else {
            return Err(Failure::Refused(
                "the monitor's secret cannot be resolved".to_owned(),
            ));
        };
        let connect = Connect {
            member: &self.runtime,
            at: None,
            key: PoolKey {
                user: account.user.clone(),
                shaping: CapabilityFlags::empty(),
                has_extended_metadata: false,
                collation: COLLATION,
                has_schema: false,
            },
            secret: account.secret.clone(),
            tls: watcher.shared.tls.loaded(),
            allow_public_key_retrieval: watcher.shared.allow_public_key_retrieval,
            schema: None,
            slot: Slot::own(None),
            max_age: MAX_AGE_OF_OWN,
            serial: watcher.next_number(),
            scratch: watcher.scratch.clone(),
            clock: Clock::own(),
        };
        connect.open(PATIENCE).await.map_err(|failure| match failure {
            ConnectFailure::Login(ConnectError::Refused(error))
                if error.code == errors::CON_COUNT_ERROR.code =>
            {
                Failure::Full(error.to_string())
            }
            ConnectFailure::Login(ConnectError::Refused(error)) => Failure::Refused(error.to_string()),
            ConnectFailure::Login(error) => Failure::Refused(error.to_string()),
            failure => Failure::Lost(failure.to_string()),
        })
    }
}
