//! The idle backend connections of one worker, and the sessions that wait for one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tokio::sync::Notify;

use crate::backend::{Backend, PoolKey};
use crate::insert_id::InsertId;

/// Which connection a session would like best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    /// The session.
    pub(crate) session: u64,
    /// The one connection that will do; others will not.
    pub(crate) only: Option<u64>,
}

/// Idle connections by member. Nothing here waits or does I/O.
#[derive(Default)]
pub(crate) struct Pool {
    members: RefCell<FxHashMap<u64, MemberPool>>,
}

#[derive(Default)]
struct MemberPool {
    /// Used most recently last.
    idle: Vec<Box<Backend>>,
    waiters: VecDeque<Rc<Notify>>,
}

/// Figures about one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberFigures {
    pub(crate) member: u64,
    pub(crate) idle: usize,
}

impl Pool {
    /// Takes an idle connection that fits: the one the session used last, else the one used most recently. Connections
    /// that the server has closed, or said something on unasked, are dropped on the way.
    pub(crate) fn take(&self, member: u64, key: &PoolKey, preference: Preference) -> Option<Box<Backend>> {
        let mut members = self.members.borrow_mut();
        let idle = &mut members.get_mut(&member)?.idle;
        loop {
            let fits = |backend: &Backend| backend.key == *key;
            let position = match preference.only {
                Some(serial) => idle.iter().rposition(|backend| {
                    backend.serial == serial && backend.last_session == preference.session && fits(backend)
                }),
                None => idle
                    .iter()
                    .rposition(|backend| backend.last_session == preference.session && fits(backend))
                    .or_else(|| idle.iter().rposition(|backend| fits(backend))),
            }?;
            let mut backend = idle.remove(position);
            if backend.channel.is_silent() {
                return Some(backend);
            }
        }
    }

    /// Takes the idle connection that has this id.
    pub(crate) fn take_with(&self, id: &Rc<InsertId>) -> Option<Box<Backend>> {
        let mut members = self.members.borrow_mut();
        let idle = &mut members.get_mut(&id.member)?.idle;
        let position = idle.iter().position(|backend| backend.has_this(id))?;
        let mut backend = idle.remove(position);
        backend.channel.is_silent().then_some(backend)
    }

    /// Closes the idle connection of this member that was used least recently, if possible one that no session needs for
    /// its LAST_INSERT_ID(); `false` when there is none.
    pub(crate) fn evict(&self, member: u64) -> bool {
        let mut members = self.members.borrow_mut();
        match members.get_mut(&member) {
            Some(pool) if !pool.idle.is_empty() => {
                let position = pool.idle.iter().position(|backend| !backend.has_insert_id());
                pool.idle.remove(position.unwrap_or(0));
                true
            }
            _ => false,
        }
    }

    /// Gives a connection back that is as a session must find it. It is closed instead when a session on another
    /// worker waits for one and none on this worker does.
    pub(crate) fn give(&self, mut backend: Box<Backend>) {
        let mut members = self.members.borrow_mut();
        let pool = members.entry(backend.member.number).or_default();
        if pool.waiters.is_empty() && backend.member.waiting.load(Ordering::Relaxed) > 0 {
            return;
        }
        backend.idle_since = Instant::now();
        pool.idle.push(backend);
        if let Some(waiter) = pool.waiters.pop_front() {
            waiter.notify_one();
        }
    }

    /// Waits in line for the next connection to this member that is given back. Dropping the entry leaves the line.
    pub(crate) fn wait(&self, member: u64) -> Waiting<'_> {
        let notify = Rc::new(Notify::new());
        let mut members = self.members.borrow_mut();
        members
            .entry(member)
            .or_default()
            .waiters
            .push_back(notify.clone());
        Waiting {
            pool: self,
            member,
            notify,
        }
    }

    /// Closes connections that have been idle too long and those to members that are not `wanted` any more.
    pub(crate) fn prune(&self, idle_timeout: Duration, wanted: impl Fn(u64) -> bool) {
        let now = Instant::now();
        self.members.borrow_mut().retain(|member, pool| {
            let is_wanted = wanted(*member);
            pool.idle
                .retain(|backend| is_wanted && now - backend.idle_since < idle_timeout);
            is_wanted || !pool.waiters.is_empty()
        });
    }

    pub(crate) fn figures(&self) -> Vec<MemberFigures> {
        let members = self.members.borrow();
        members
            .iter()
            .map(|(&member, pool)| MemberFigures {
                member,
                idle: pool.idle.len(),
            })
            .collect()
    }
}

/// A place in the line for a member's connections.
pub(crate) struct Waiting<'a> {
    pool: &'a Pool,
    member: u64,
    notify: Rc<Notify>,
}

impl Waiting<'_> {
    pub(crate) async fn given(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut members = self.pool.members.borrow_mut();
        let Some(pool) = members.get_mut(&self.member) else {
            return;
        };
        let in_line = pool.waiters.len();
        pool.waiters.retain(|waiter| !Rc::ptr_eq(waiter, &self.notify));
        // It was called up and leaves: whoever is next is called in its place, as what was given may be there still.
        let was_called = pool.waiters.len() == in_line;
        if was_called
            && !pool.idle.is_empty()
            && let Some(next) = pool.waiters.pop_front()
        {
            next.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shardwright_rules::HostgroupId;
    use shardwright_wire::CapabilityFlags;
    use tokio::net::UnixStream;

    use super::*;
    use crate::channel::Scratch;
    use crate::members::{MemberRegistry, MemberRuntime, member_of_tests};

    /// A member, and the far ends of its connections.
    struct Fixture {
        member: Arc<MemberRuntime>,
        servers: Vec<UnixStream>,
    }

    impl Fixture {
        fn new() -> Self {
            let member = member_of_tests("h");
            Self {
                member: MemberRegistry::default().get(HostgroupId(1), &member),
                servers: Vec::new(),
            }
        }

        fn backend(&mut self, serial: u64, last_session: u64, key: PoolKey) -> Box<Backend> {
            let (ours, theirs) = UnixStream::pair().unwrap();
            self.servers.push(theirs);
            let permit = self.member.permits.clone().try_acquire_owned().unwrap();
            let mut backend = Box::new(Backend::for_tests(
                ours,
                self.member.clone(),
                permit,
                key,
                Scratch::new(),
            ));
            backend.serial = serial;
            backend.last_session = last_session;
            backend
        }
    }

    fn key(user: &str, has_schema: bool) -> PoolKey {
        PoolKey {
            user: Arc::from(user),
            shaping: CapabilityFlags::empty(),
            collation: 45,
            has_schema,
        }
    }

    fn take(pool: &Pool, fixture: &Fixture, key: &PoolKey, session: u64, only: Option<u64>) -> Option<u64> {
        let backend = pool.take(fixture.member.number, key, Preference { session, only })?;
        Some(backend.serial)
    }

    #[tokio::test]
    async fn a_session_gets_its_own_connection_back_or_the_latest() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        for (serial, session) in [(1, 7), (2, 8), (3, 9)] {
            pool.give(fixture.backend(serial, session, key("app", false)));
        }
        assert_eq!(take(&pool, &fixture, &key("app", false), 7, None), Some(1));
        assert_eq!(take(&pool, &fixture, &key("app", false), 7, None), Some(3));
        assert_eq!(
            take(&pool, &fixture, &key("app", false), 7, Some(2)),
            None,
            "another session used it since"
        );
        assert_eq!(take(&pool, &fixture, &key("app", false), 8, Some(2)), Some(2));
        assert_eq!(take(&pool, &fixture, &key("app", false), 8, None), None);
    }

    #[tokio::test]
    async fn what_does_not_fit_is_not_given() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        pool.give(fixture.backend(1, 7, key("app", true)));
        assert_eq!(take(&pool, &fixture, &key("app", false), 7, None), None);
        assert_eq!(take(&pool, &fixture, &key("other", true), 7, None), None);
        assert!(pool.evict(fixture.member.number));
        assert!(!pool.evict(fixture.member.number));
        assert_eq!(fixture.member.connections(), 0, "its permit is free again");
    }

    #[tokio::test]
    async fn a_connection_that_the_server_has_closed_is_passed_over() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        pool.give(fixture.backend(1, 7, key("app", false)));
        pool.give(fixture.backend(2, 7, key("app", false)));
        drop(fixture.servers.pop());
        // The reactor has to hear of it first.
        tokio::task::yield_now().await;
        let taken = take(&pool, &fixture, &key("app", false), 7, None);
        assert_eq!(taken, Some(1));
    }

    #[tokio::test]
    async fn a_waiting_session_is_called_when_a_connection_comes_back() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        let member = fixture.member.number;
        let first = pool.wait(member);
        let second = pool.wait(member);
        fixture.member.waiting.store(2, Ordering::Relaxed);
        pool.give(fixture.backend(1, 7, key("app", false)));
        first.given().await;
        // The first leaves without taking it: the second is called in its place.
        drop(first);
        second.given().await;
        assert_eq!(take(&pool, &fixture, &key("app", false), 8, None), Some(1));
        drop(second);
        // Nobody waits here, but somebody does elsewhere: it is closed for them.
        pool.give(fixture.backend(2, 7, key("app", false)));
        assert_eq!(take(&pool, &fixture, &key("app", false), 8, None), None);
        assert_eq!(fixture.member.connections(), 0);
    }

    #[tokio::test]
    async fn connections_to_members_that_are_gone_are_closed() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        pool.give(fixture.backend(1, 7, key("app", false)));
        pool.prune(Duration::from_secs(3600), |_| true);
        assert_eq!(pool.figures()[0].idle, 1);
        pool.prune(Duration::from_secs(3600), |_| false);
        assert_eq!(pool.figures(), []);
        pool.give(fixture.backend(2, 7, key("app", false)));
        pool.prune(Duration::ZERO, |_| true);
        assert_eq!(pool.figures()[0].idle, 0);
    }
}
