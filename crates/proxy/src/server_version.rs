//! The version that clients are greeted with: that of the servers behind the proxy, or one that was set.
//!
//! Drivers choose what they send by it. A member's version is known once a connection to it was opened. Before the first,
//! a client's greeting waits until one server was asked: it greets whoever connects.

use std::time::{Duration, Instant};

use shardwright_wire::{Greeting, PRE_AUTH_MAX_PAYLOAD};
use tokio::sync::Mutex;

use crate::backend::dial;
use crate::channel::{Channel, Frame, Scratch};
use crate::clock::Clock;
use crate::members::MemberRuntime;
use crate::snapshot::Snapshot;

/// What clients are told while no server can be reached.
const UNKNOWN: &str = "8.0.30-shardwright";
/// Time for one server to greet.
const PATIENCE: Duration = Duration::from_secs(1);
/// Servers that are asked before a client is told [`UNKNOWN`].
const MOST_ASKED: usize = 3;
/// Time after which they are asked again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What is known of the version, for all workers.
#[derive(Debug, Default)]
pub(crate) struct ServerVersion {
    set: Option<String>,
    /// When no server greeted. Whoever holds it asks; the others wait for the answer.
    failed: Mutex<Option<Instant>>,
}

impl ServerVersion {
    /// `set`: whatever the servers say.
    pub(crate) fn new(set: Option<String>) -> Self {
        Self {
            set,
            failed: Mutex::default(),
        }
    }

    /// What a client would be told now.
    pub(crate) fn now(&self, snapshot: &Snapshot) -> String {
        self.known(snapshot).unwrap_or_else(|| UNKNOWN.to_owned())
    }

    /// Whether a client would take the proxy for a MariaDB now.
    pub(crate) fn is_mariadb(&self, snapshot: &Snapshot) -> bool {
        self.now(snapshot).contains("MariaDB")
    }

    fn known(&self, snapshot: &Snapshot) -> Option<String> {
        self.set.clone().or_else(|| snapshot.server_version())
    }

    /// What a client is told; servers are asked where nothing is known.
    pub(crate) async fn greeted(&self, snapshot: &Snapshot, scratch: &Scratch, clock: &Clock) -> String {
        if let Some(version) = self.known(snapshot) {
            return version;
        }
        let mut failed = self.failed.lock().await;
        if let Some(version) = self.known(snapshot) {
            return version;
        }
        if failed.is_none_or(|failed| failed.elapsed() >= ASK_AGAIN) {
            for member in snapshot.members_in_order().take(MOST_ASKED) {
                match clock.timeout(PATIENCE, ask(scratch, clock, member)).await {
                    Ok(Some(greeting)) => {
                        member.greeted(&greeting);
                        return greeting.server_version;
                    }
                    Ok(None) | Err(_) => tracing::debug!(server = member.endpoint(), "no greeting"),
                }
            }
            *failed = Some(Instant::now());
        }
        UNKNOWN.to_owned()
    }
}

/// A server's greeting.
async fn ask(scratch: &Scratch, clock: &Clock, member: &MemberRuntime) -> Option<Greeting> {
    let mut channel = Channel::new(dial(member, None, clock).await.ok()?, scratch.clone());
    let mut frame = Frame::default();
    channel.packet(&mut frame, PRE_AUTH_MAX_PAYLOAD).await.ok()?;
    Greeting::decode(frame.payload()).ok()
}
