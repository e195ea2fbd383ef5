//! A connection to one member for a statement: idle in the pool, new, or the next that is given back.
//!
//! A server that takes no more connections is not gone: the session waits in line for one of those that are open, and for a place to
//! open another. What is idle is closed for it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shardwright_wire::{ConnectError, MysqlError, errors};
use tokio::time::Instant;

use super::login_refusal::LoginRefusal;
use super::not_connected::NotConnected;
use super::search::Search;
use crate::backend::{Backend, Connect, ConnectFailure};
use crate::descriptors;
use crate::members::MemberRuntime;
use crate::pool::Wanted;
use crate::room::{Limited, Place};
use crate::slot::Slot;

/// Time after which a login is tried again that the server has refused for a connection that it still counts; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// How often.
const MOST_PAUSES: u32 = 5;

/// Why a connection was not opened.
enum NotOpened {
    /// The server refuses the login.
    Refused(MysqlError),
    /// The server has as many as it takes, or as many of the account.
    Full(Limited),
    Otherwise(NotConnected),
}

impl Search<'_> {
    /// An idle connection to the member, or a new one, or the next that is given back. A server that turns out to be full is not waited
    /// for if another has room.
    pub(super) async fn connection_to(
        &self,
        member: &Arc<MemberRuntime>,
        deadline: Instant,
        has_room_elsewhere: impl Fn() -> bool,
    ) -> Result<Box<Backend>, NotConnected> {
        let request = self.request(member);
        let mut limited = Limited::Member;
        // A server that is full may refuse again and again.
        while Instant::now() < deadline {
            if let Some(backend) = self.idle(member.number, None) {
                return Ok(backend);
            }
            let place = match member.room.enter(&request) {
                Ok(place) => place,
                Err(reached) => {
                    limited = reached;
                    // An idle connection that does not fit stands in the way of one that would.
                    if self.worker.pool.evict(&self.wanted(member, limited)) {
                        continue;
                    }
                    match self.wait(member, limited, deadline).await? {
                        Chance::Given(backend) => return Ok(backend),
                        Chance::Place(place) => place,
                    }
                }
            };
            match self.connect(member, &Rc::new(place)).await {
                Ok(backend) => return Ok(backend),
                Err(NotOpened::Full(_)) if has_room_elsewhere() => return Err(NotConnected::FullHere),
                Err(NotOpened::Full(reached)) => limited = reached,
                Err(NotOpened::Refused(error)) => return Err(NotConnected::Refused(error)),
                Err(NotOpened::Otherwise(why)) => return Err(why),
            }
        }
        Err(self.full(member, limited))
    }

    /// Waits in line, for a place and for a connection of this worker that is given back.
    async fn wait(
        &self,
        member: &Arc<MemberRuntime>,
        limited: Limited,
        deadline: Instant,
    ) -> Result<Chance, NotConnected> {
        let pool = &self.worker.pool;
        let open = pool.open(member.number);
        let _counted = WaitingCount::new(member, open == 0);
        let wanted = self.wanted(member, limited);
        let mut turn = member.room.wait(self.request(member), Instant::now().into_std());
        if limited != Limited::Member || open < member.share_of_worker() {
            self.ask_other_workers(&wanted);
        }
        loop {
            let key = self.key(self.requirements.schema.is_some()).owned();
            let line = pool.wait(member, key, self.requirements.is_read_alone);
            tokio::select! {
                biased;
                given = line.given() => if let Some(backend) = given {
                    return Ok(Chance::Given(backend));
                },
                place = turn.place() => return Ok(Chance::Place(place)),
                () = self.worker.shared.clock.sleep_until(deadline) => return Err(self.full(member, limited)),
                () = self.handle.ordered() => return Err(NotConnected::Killed),
            }
            drop(line);
            // One has come back that does not fit. It is closed for whoever waits longest; the turn stays.
            if let Some(backend) = self.idle(member.number, None) {
                return Ok(Chance::Given(backend));
            }
            pool.evict(&wanted);
        }
    }

    fn full(&self, member: &MemberRuntime, limited: Limited) -> NotConnected {
        let most = match limited {
            Limited::Server => member.room.most(),
            Limited::Member | Limited::Account => member.max_connections as usize,
        };
        NotConnected::Full {
            most,
            why: member.room.why(&self.login.user.name, limited),
        }
    }

    fn wanted(&self, member: &MemberRuntime, limited: Limited) -> Wanted {
        Wanted {
            room: member.room.clone(),
            member: member.number,
            user: self.login.user.name.clone(),
            limited,
        }
    }

    /// Has other workers close a connection that they do not need.
    fn ask_other_workers(&self, wanted: &Wanted) {
        let workers = self.worker.shared.workers().iter().enumerate();
        let others = workers.filter(|(place, _)| *place != self.worker.place);
        others.for_each(|(_, worker)| worker.release(wanted.clone()));
    }

    /// Opens a connection. A server counts one that was closed for a moment, and may refuse another for that.
    async fn connect(
        &self,
        member: &Arc<MemberRuntime>,
        place: &Rc<Place>,
    ) -> Result<Box<Backend>, NotOpened> {
        let mut pauses = 0;
        loop {
            let error = match self.log_in(member, place).await {
                Err(NotOpened::Refused(error)) => error,
                done => return done,
            };
            let refusal = LoginRefusal::of(&error);
            let now = Instant::now().into_std();
            let is_early = matches!(refusal, LoginRefusal::Full(limited) if place.is_early(limited, now));
            if !is_early || pauses == MOST_PAUSES {
                return Err(self.login_refused(member, place, refusal, error));
            }
            self.worker.shared.clock.sleep(FIRST_PAUSE * (1 << pauses)).await;
            pauses += 1;
        }
    }

    async fn log_in(
        &self,
        member: &Arc<MemberRuntime>,
        place: &Rc<Place>,
    ) -> Result<Box<Backend>, NotOpened> {
        let refused = |why: &str| {
            Err(NotOpened::Otherwise(NotConnected::Refused(
                errors::ACCESS_DENIED.with(why),
            )))
        };
        let Some(credentials) = &self.login.user.credentials else {
            return refused("the user's secret cannot be resolved");
        };
        let Some(secret) = credentials.secret() else {
            return refused(
                "the user's secret is a hash, and no client has shown the password since the proxy started: log in again",
            );
        };
        // The server may have none of this name.
        let schema = self.requirements.schema.clone();
        let schema = schema.filter(|_| !self.requirements.needs_no_schema);
        let connect = Connect {
            member,
            at: None,
            key: self.key(schema.is_some()).owned(),
            secret,
            tls: self.worker.shared.tls.loaded(),
            allow_public_key_retrieval: self.worker.shared.allow_public_key_retrieval,
            schema,
            slot: Slot::shared(self.worker.pool.count(member), place.clone()),
            max_age: self.worker.shared.limits.backend_max_age,
            serial: self.worker.next_number(),
            scratch: self.worker.scratch.clone(),
            clock: self.worker.shared.clock.clone(),
        };
        match connect.open(self.worker.shared.limits.connect_timeout).await {
            Ok(backend) => {
                member.connected.fetch_add(1, Ordering::Relaxed);
                member.reached();
                place.opened();
                Ok(backend)
            }
            Err(failure) => {
                member.connect_errors.fetch_add(1, Ordering::Relaxed);
                Err(not_opened(failure))
            }
        }
    }

    /// A server refuses the login. It is logged once in a while: every statement meets it.
    fn login_refused(
        &self,
        member: &MemberRuntime,
        place: &Place,
        refusal: LoginRefusal,
        error: MysqlError,
    ) -> NotOpened {
        let user = &self.login.user.name;
        if let LoginRefusal::Full(limited) = refusal {
            let why = ConnectError::Refused(error).to_string();
            if place.refused(limited, &why, Instant::now().into_std()) {
                let open = member.connections().saturating_sub(1);
                tracing::warn!(server = %member.endpoint(), %user, open, %why, "a server takes no more connections; statements wait");
            }
            return NotOpened::Full(limited);
        }
        if member.news.is_news((error.code, user.clone())) {
            tracing::warn!(server = %member.endpoint(), %user, %error, "a server refuses a login");
        }
        NotOpened::Otherwise(match refusal {
            LoginRefusal::Account => NotConnected::Refused(error),
            LoginRefusal::Host => NotConnected::RefusedHere(error),
            LoginRefusal::Full(_) | LoginRefusal::Passing => {
                NotConnected::Busy(ConnectError::Refused(error).to_string())
            }
        })
    }
}

fn not_opened(failure: ConnectFailure) -> NotOpened {
    let why = match failure {
        ConnectFailure::Login(ConnectError::Refused(error)) => return NotOpened::Refused(error),
        ConnectFailure::Login(
            error @ (ConnectError::UnsupportedPlugin(_)
            | ConnectError::OnlyHashKnown
            | ConnectError::NeedsPrivacy),
        ) => NotConnected::Refused(errors::CLIENT_AUTH_PLUGIN.with(error)),
        // No fault of the server's: it is not avoided.
        ConnectFailure::Io(error) if descriptors::are_exhausted(&error) => {
            let why = "the proxy has no file descriptors left (ulimit -n)";
            NotConnected::Refused(errors::PROXY_HOSTGROUP_TIMEOUT.with(why))
        }
        _ => NotConnected::Unreachable(failure.to_string()),
    };
    NotOpened::Otherwise(why)
}

/// How a session comes to a connection.
enum Chance {
    /// One that was given back.
    Given(Box<Backend>),
    /// It may open one.
    Place(Place),
}

/// Counts a session among those that wait for a connection to a member.
struct WaitingCount<'a> {
    member: &'a MemberRuntime,
    is_starving: bool,
}

impl<'a> WaitingCount<'a> {
    /// `is_starving`: its worker has no connection.
    fn new(member: &'a MemberRuntime, is_starving: bool) -> Self {
        member.waiting.fetch_add(1, Ordering::Relaxed);
        if is_starving {
            member.starving.fetch_add(1, Ordering::Relaxed);
        }
        Self { member, is_starving }
    }
}

impl Drop for WaitingCount<'_> {
    fn drop(&mut self) {
        self.member.waiting.fetch_sub(1, Ordering::Relaxed);
        if self.is_starving {
            self.member.starving.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
