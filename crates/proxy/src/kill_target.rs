//! What a server is working at, and telling the server to end it.

use std::net::IpAddr;
use std::sync::Arc;

use shardwright_wire::{Command, errors};

use crate::backend::{Backend, Connect, ConnectFailure, MAX_AGE_OF_OWN};
use crate::kill::KillScope;
use crate::members::MemberRuntime;
use crate::pool_key::PoolKey;
use crate::slot::Slot;
use crate::snapshot::UserEntry;
use crate::worker::Worker;

/// A connection to a server, by what a KILL needs of it.
pub(crate) struct Serving<'a> {
    pub(crate) member: &'a Arc<MemberRuntime>,
    pub(crate) key: &'a PoolKey,
    /// The server's number of the connection.
    pub(crate) thread_id: u32,
    /// Where it leads: the host name may lead elsewhere by now, where the number is somebody else's.
    pub(crate) peer: &'a Option<IpAddr>,
}

impl<'a> Serving<'a> {
    pub(crate) fn by(backend: &'a Backend) -> Self {
        Self {
            member: &backend.member,
            key: &backend.key,
            thread_id: backend.thread_id,
            peer: &backend.peer,
        }
    }

    pub(crate) fn target(&self) -> Target {
        Target {
            member: self.member.clone(),
            key: self.key.clone(),
            thread_id: self.thread_id,
            peer: *self.peer,
        }
    }
}

/// What a server is to end.
pub(crate) struct Target {
    member: Arc<MemberRuntime>,
    key: PoolKey,
    thread_id: u32,
    peer: Option<IpAddr>,
}

impl Target {
    pub(crate) fn serving(&self) -> Serving<'_> {
        Serving {
            member: &self.member,
            key: &self.key,
            thread_id: self.thread_id,
            peer: &self.peer,
        }
    }

    /// Connects anew, beside the connections that the limit of the server counts: a server whose connections are all in use must be
    /// reached too.
    ///
    /// # Errors
    /// Why that did not work; `None`: the user's secret is not known, or the proxy ends.
    pub(crate) async fn open(
        self,
        worker: &Worker,
        user: &UserEntry,
    ) -> Result<Box<Backend>, Option<ConnectFailure>> {
        let secret = user
            .credentials
            .as_ref()
            .and_then(|credentials| credentials.secret());
        let secret = secret.ok_or(None)?;
        let permits = self.member.kill_permits.clone();
        let permit = permits.acquire_owned().await.map_err(|_closed| None)?;
        let connect = Connect {
            member: &self.member,
            at: self.peer,
            key: PoolKey {
                has_schema: false,
                ..self.key
            },
            secret,
            tls: worker.shared.tls.loaded(),
            allow_public_key_retrieval: worker.shared.allow_public_key_retrieval,
            schema: None,
            slot: Slot::own(Some(permit)),
            max_age: MAX_AGE_OF_OWN,
            serial: worker.next_number(),
            scratch: worker.scratch.clone(),
            clock: worker.shared.clock.clone(),
        };
        let opened = connect.open(worker.shared.limits.connect_timeout).await;
        opened.map_err(Some)
    }

    /// Kills over a connection of its own.
    ///
    /// # Errors
    /// Why the server could not be told, for people.
    pub(crate) async fn kill(
        self,
        worker: &Worker,
        user: &UserEntry,
        scope: KillScope,
    ) -> Result<(), String> {
        let thread_id = self.thread_id;
        let mut backend = match self.open(worker, user).await {
            Ok(backend) => backend,
            Err(Some(failure)) => return Err(failure.to_string()),
            Err(None) => return Err("the user's secret cannot be resolved".to_owned()),
        };
        let text = format!("KILL {} {thread_id}", scope.keyword());
        let answer = backend.exchange(Command::Query(text.as_bytes()));
        let answer = worker
            .shared
            .clock
            .timeout(worker.shared.limits.connect_timeout, answer)
            .await;
        let outcome = answer
            .map_err(|_| "the server does not answer KILL".to_owned())?
            .map_err(|error| error.to_string())?;
        match outcome.error {
            // It has ended by itself.
            Some(error) if error.code == errors::NO_SUCH_THREAD.code => Ok(()),
            Some(error) => Err(error.to_string()),
            None => Ok(()),
        }
    }
}
