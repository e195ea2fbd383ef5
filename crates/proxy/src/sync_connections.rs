//! Connections on which Galera servers are asked whether they have everything that their cluster has.
//!
//! They are no sessions' and are never reset: behind a COM_RESET_CONNECTION, MariaDB 10.11.19 takes `wsrep_sync_wait` and does not
//! wait. What they learn is about the server, so it counts for every session of every worker.
//!
//! Invariant: few ask at once. Whoever waits for a place may find that the one in front has asked late enough for both.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use shardwright_wire::{CapabilityFlags, ClientSecret};
use tokio::sync::Semaphore;

use crate::backend::{Backend, Connect, MAX_AGE_OF_OWN};
use crate::channel::Scratch;
use crate::clock::Clock;
use crate::members::MemberRuntime;
use crate::pool_key::PoolKey;
use crate::slot::Slot;
use crate::tls::Loaded;

/// Questions that are asked of one server at once, by one worker.
const AT_ONCE: usize = 2;
/// The collation of the connections: utf8mb4_general_ci.
const COLLATION: u8 = 45;
/// Waits until everything is applied that the cluster has committed.
const SYNC: &[u8] = b"SET STATEMENT wsrep_sync_wait=1 FOR SELECT 1";

/// A worker's connections, by the numbers of the members.
#[derive(Default)]
pub(crate) struct SyncConnections(RefCell<FxHashMap<u64, Rc<Line>>>);

/// Those to one server.
struct Line {
    places: Semaphore,
    idle: RefCell<Vec<Box<Backend>>>,
}

/// What a server is asked for, and with whose account.
pub(crate) struct SyncRequest<'a> {
    pub(crate) member: &'a Arc<MemberRuntime>,
    pub(crate) user: &'a Arc<str>,
    pub(crate) secret: Option<ClientSecret>,
    pub(crate) tls: Arc<Loaded>,
    pub(crate) allow_public_key_retrieval: bool,
    /// A number and a buffer for a connection that is opened.
    pub(crate) serial: u64,
    pub(crate) scratch: Scratch,
    pub(crate) clock: Clock,
    /// The server must have what was written until then, as seen on a connection that was `opened`.
    pub(crate) written: Instant,
    pub(crate) opened: Instant,
}

impl SyncConnections {
    /// Closes connections to members that are not served any more.
    pub(crate) fn prune(&self, wanted: impl Fn(u64) -> bool) {
        self.0.borrow_mut().retain(|member, _| wanted(*member));
    }

    fn line(&self, member: u64) -> Rc<Line> {
        let new = || {
            Rc::new(Line {
                places: Semaphore::new(AT_ONCE),
                idle: RefCell::default(),
            })
        };
        self.0.borrow_mut().entry(member).or_insert_with(new).clone()
    }

    /// Has a server apply everything that its cluster has committed; `false`: it does not say so in time.
    pub(crate) async fn sync(&self, request: &SyncRequest<'_>, patience: Duration) -> bool {
        let synced = request
            .clock
            .timeout(patience, self.sync_untimed(request, patience));
        synced.await.unwrap_or(false)
    }

    async fn sync_untimed(&self, request: &SyncRequest<'_>, patience: Duration) -> bool {
        let member = request.member;
        let line = self.line(member.number);
        let Ok(_place) = line.places.acquire().await else {
            return false;
        };
        loop {
            if member.reach.has_since(request.written, request.opened) {
                return true;
            }
            let idle = line.idle.borrow_mut().pop();
            let is_new = idle.is_none();
            let connection = match idle {
                Some(backend) => Some(backend),
                None => request.connect(patience).await,
            };
            let Some(mut connection) = connection else {
                return false;
            };
            let begun = Instant::now();
            match connection.exchange_rows(SYNC, patience).await {
                Ok(answer) => {
                    line.idle.borrow_mut().push(connection);
                    if let Err(error) = &answer {
                        tracing::debug!(server = member.endpoint(), %error, "a server does not catch up");
                        return false;
                    }
                    member.reach.synced(begun);
                    return true;
                }
                // It was idle for long, and its server has closed it.
                Err(_) if !is_new => {}
                Err(error) => {
                    tracing::debug!(server = member.endpoint(), %error, "a connection was lost");
                    return false;
                }
            }
        }
    }
}

impl SyncRequest<'_> {
    async fn connect(&self, patience: Duration) -> Option<Box<Backend>> {
        let connect = Connect {
            member: self.member,
            at: None,
            key: PoolKey {
                user: self.user.clone(),
                shaping: CapabilityFlags::empty(),
                has_extended_metadata: false,
                collation: COLLATION,
                has_schema: false,
            },
            secret: self.secret.clone()?,
            tls: self.tls.clone(),
            allow_public_key_retrieval: self.allow_public_key_retrieval,
            schema: None,
            // Beside those that statements may have: sessions hold these while they wait.
            slot: Slot::own(None),
            max_age: MAX_AGE_OF_OWN,
            serial: self.serial,
            scratch: self.scratch.clone(),
            clock: self.clock.clone(),
        };
        match connect.open(patience).await {
            Ok(backend) => Some(backend),
            Err(error) => {
                tracing::debug!(server = self.member.endpoint(), %error, "a server cannot be asked to catch up");
                None
            }
        }
    }
}
