//! The idle backend connections of one worker, and the sessions that wait for one.

mod idle;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use tokio::sync::Notify;

use self::idle::Idle;
use crate::backend::Backend;
use crate::counted::Counted;
use crate::insert_id::InsertId;
use crate::members::MemberRuntime;
use crate::pool_key::{PoolKey, WantedKey};

/// A connection that was idle for this long is not used all the time.
const SPARE: Duration = Duration::from_millis(10);

/// Which connection a session would like best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preference {
    /// The session.
    pub(crate) session: u64,
    /// The one connection that will do; others will not.
    pub(crate) only: Option<u64>,
}

/// Idle connections by member. Nothing here waits or does I/O.
///
/// A member's limit counts for all workers. A connection cannot move to another worker: it is closed here and opened there, which
/// costs more than many statements. So a worker that has its share of a member's connections waits for one of its own; see
/// [`Pool::give`].
#[derive(Default)]
pub(crate) struct Pool {
    members: RefCell<FxHashMap<u64, MemberPool>>,
}

#[derive(Default)]
struct MemberPool {
    /// Used most recently last.
    idle: Vec<Idle>,
    waiters: VecDeque<Rc<Waiter>>,
    /// Connections of this worker, idle or not.
    open: Rc<Cell<usize>>,
}

/// A session that waits for a connection.
struct Waiter {
    key: PoolKey,
    /// One that was handed over.
    given: RefCell<Option<Box<Backend>>>,
    called: Notify,
}

impl MemberPool {
    fn evict(&mut self) -> bool {
        let unneeded = self.idle.iter().position(|idle| !idle.backend.has_insert_id());
        let is_there = !self.idle.is_empty();
        if is_there {
            self.idle.remove(unneeded.unwrap_or(0));
        }
        is_there
    }

    /// Whether an idle connection is better closed than kept, for sessions on other workers.
    fn is_for_others(&self, member: &MemberRuntime) -> bool {
        let is_over = || self.open.get() > member.share_of_worker();
        let waits = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
        self.waiters.is_empty() && (waits(&member.starving) || (waits(&member.waiting) && is_over()))
    }
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
    pub(crate) fn take(
        &self,
        member: u64,
        key: WantedKey<'_>,
        preference: Preference,
    ) -> Option<Box<Backend>> {
        let mut members = self.members.borrow_mut();
        let idle = &mut members.get_mut(&member)?.idle;
        loop {
            let fits = |idle: &Idle| !idle.is_over && idle.backend.key == key;
            let is_own = |idle: &Idle| idle.session == preference.session && fits(idle);
            let is_this = |idle: &Idle, serial| {
                idle.session == preference.session && idle.backend.serial == serial && idle.backend.key == key
            };
            let position = match preference.only {
                Some(serial) => idle.iter().rposition(|idle| is_this(idle, serial)),
                None => idle
                    .iter()
                    .rposition(is_own)
                    .or_else(|| idle.iter().rposition(fits)),
            }?;
            let mut backend = idle.remove(position).backend;
            if backend.channel.is_silent() {
                return Some(backend);
            }
        }
    }

    /// Takes the idle connection that has this id.
    pub(crate) fn take_with(&self, id: &Rc<InsertId>) -> Option<Box<Backend>> {
        let mut members = self.members.borrow_mut();
        let idle = &mut members.get_mut(&id.member)?.idle;
        let position = idle.iter().position(|idle| idle.backend.has_this(id))?;
        let mut backend = idle.remove(position).backend;
        backend.channel.is_silent().then_some(backend)
    }

    /// Closes the idle connection of this member that was used least recently, if possible one that no session needs for
    /// its LAST_INSERT_ID(); `false` when there is none.
    pub(crate) fn evict(&self, member: u64) -> bool {
        let mut members = self.members.borrow_mut();
        match members.get_mut(&member) {
            Some(pool) => pool.evict(),
            None => false,
        }
    }

    /// Closes a connection of this member for a session on another worker, unless it is in use here.
    pub(crate) fn release(&self, member: u64) {
        let mut members = self.members.borrow_mut();
        let Some(pool) = members.get_mut(&member) else {
            return;
        };
        let is_due = pool
            .idle
            .first()
            .map(|first| &first.backend)
            .is_some_and(|first| pool.is_for_others(&first.member) || first.idle_since.elapsed() > SPARE);
        if is_due {
            pool.evict();
        }
    }

    /// Gives a connection back that is as a session must find it: to the session that has waited longest. Where none waits, it is
    /// closed for a session on another worker, if that has no connection of its own, or this worker has more than its share.
    pub(crate) fn give(&self, backend: Box<Backend>) {
        self.give_at(backend, Instant::now());
    }

    /// The same, where the time is known.
    pub(crate) fn give_at(&self, mut backend: Box<Backend>, now: Instant) {
        let mut members = self.members.borrow_mut();
        let pool = members.entry(backend.member.number).or_default();
        if backend.is_over(now) && (backend.must_change_password || !backend.has_insert_id()) {
            // Who waits may open another in its place.
            return;
        }
        backend.idle_since = now;
        let Some(waiter) = pool.waiters.pop_front() else {
            if !pool.is_for_others(&backend.member) {
                pool.idle.push(Idle::new(backend, now));
            }
            return;
        };
        match waiter.key == backend.key && !backend.is_over(now) {
            true => *waiter.given.borrow_mut() = Some(backend),
            false => pool.idle.push(Idle::new(backend, now)),
        }
        waiter.called.notify_one();
    }

    /// Counts a connection that is about to be opened.
    pub(crate) fn count(&self, member: &Arc<MemberRuntime>) -> Counted {
        let mut members = self.members.borrow_mut();
        let open = members.entry(member.number).or_default().open.clone();
        Counted::new(open, member.clone())
    }

    /// Connections of this worker to a member, idle or not.
    pub(crate) fn open(&self, member: u64) -> usize {
        self.members
            .borrow()
            .get(&member)
            .map_or(0, |pool| pool.open.get())
    }

    /// Waits in line for the next connection to this member that is given back. Dropping the entry leaves the line.
    pub(crate) fn wait(&self, member: u64, key: PoolKey) -> Waiting<'_> {
        let waiter = Rc::new(Waiter {
            key,
            given: RefCell::default(),
            called: Notify::new(),
        });
        let mut members = self.members.borrow_mut();
        members
            .entry(member)
            .or_default()
            .waiters
            .push_back(waiter.clone());
        Waiting {
            pool: self,
            member,
            waiter,
        }
    }

    /// Closes connections that sessions on other workers wait for, where nobody has used them for a while.
    pub(crate) fn spare(&self) {
        let members = &mut *self.members.borrow_mut();
        for pool in members.values_mut().filter(|pool| pool.waiters.is_empty()) {
            let first = pool.idle.first().map(|first| &first.backend);
            let is_spare = first.is_some_and(|first| {
                first.member.waiting.load(Ordering::Relaxed) > 0 && first.idle_since.elapsed() > SPARE
            });
            if is_spare {
                pool.evict();
            }
        }
    }

    /// Closes connections that have been idle too long, those whose login was too long ago, and those to members that are not `wanted` any more.
    pub(crate) fn prune(&self, idle_timeout: Duration, wanted: impl Fn(u64) -> bool) {
        let now = Instant::now();
        self.members.borrow_mut().retain(|member, pool| {
            let is_wanted = wanted(*member);
            pool.idle.retain_mut(|idle| {
                idle.is_over = idle.backend.is_over(now);
                let is_kept = !idle.is_over || idle.backend.has_insert_id();
                is_wanted && is_kept && now - idle.backend.idle_since < idle_timeout
            });
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
    waiter: Rc<Waiter>,
}

impl Waiting<'_> {
    /// The connection that was handed over; `None`: one has come back that does not fit.
    pub(crate) async fn given(&self) -> Option<Box<Backend>> {
        self.waiter.called.notified().await;
        let given = self.waiter.given.take();
        given.and_then(|mut backend| backend.channel.is_silent().then_some(backend))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(given) = self.waiter.given.take() {
            return self.pool.give(given);
        }
        let mut members = self.pool.members.borrow_mut();
        let Some(pool) = members.get_mut(&self.member) else {
            return;
        };
        let in_line = pool.waiters.len();
        pool.waiters.retain(|waiter| !Rc::ptr_eq(waiter, &self.waiter));
        // It was called up and leaves: whoever is next is called in its place, as what was given may be there still.
        let was_called = pool.waiters.len() == in_line;
        if was_called
            && !pool.idle.is_empty()
            && let Some(next) = pool.waiters.pop_front()
        {
            next.called.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::channel::Scratch;
    use crate::event_loop::{self, Stream};
    use crate::members::{MemberRegistry, MemberRuntime, member_of_tests};
    use shardwright_rules::HostgroupId;
    use shardwright_wire::CapabilityFlags;

    /// A member, and the far ends of its connections.
    struct Fixture {
        member: Arc<MemberRuntime>,
        servers: Vec<std::os::unix::net::UnixStream>,
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
            let (ours, theirs) = Stream::pair_of_tests();
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
        let backend = pool.take(
            fixture.member.number,
            key.borrowed(),
            Preference { session, only },
        )?;
        Some(backend.serial)
    }

    #[test]
    fn a_session_gets_its_own_connection_back_or_the_latest() {
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

    #[test]
    fn what_does_not_fit_is_not_given() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        pool.give(fixture.backend(1, 7, key("app", true)));
        assert_eq!(take(&pool, &fixture, &key("app", false), 7, None), None);
        assert_eq!(take(&pool, &fixture, &key("other", true), 7, None), None);
        assert!(pool.evict(fixture.member.number));
        assert!(!pool.evict(fixture.member.number));
        assert_eq!(fixture.member.connections(), 0, "its permit is free again");
    }

    #[test]
    fn a_connection_that_the_server_has_closed_is_passed_over() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        pool.give(fixture.backend(1, 7, key("app", false)));
        pool.give(fixture.backend(2, 7, key("app", false)));
        drop(fixture.servers.pop());
        // The loop has to hear of it first.
        event_loop::look_around();
        let taken = take(&pool, &fixture, &key("app", false), 7, None);
        assert_eq!(taken, Some(1));
    }

    #[tokio::test]
    async fn a_waiting_session_is_called_when_a_connection_comes_back() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        let member = fixture.member.number;
        let first = pool.wait(member, key("app", false));
        let second = pool.wait(member, key("app", false));
        fixture.member.waiting.store(2, Ordering::Relaxed);
        pool.give(fixture.backend(1, 7, key("app", false)));
        // The first leaves without taking it: the second gets it.
        drop(first);
        let given = second.given().await;
        assert_eq!(given.map(|backend| backend.serial), Some(1));
    }

    #[tokio::test]
    async fn who_waits_is_called_for_a_connection_that_does_not_fit() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        let member = fixture.member.number;
        let first = pool.wait(member, key("app", false));
        let second = pool.wait(member, key("other", false));
        pool.give(fixture.backend(1, 7, key("other", false)));
        assert!(first.given().await.is_none(), "it is another user's");
        drop(first);
        assert!(second.given().await.is_none());
        assert_eq!(take(&pool, &fixture, &key("other", false), 8, None), Some(1));
    }

    /// Gives back connections that this worker has, and tells which are kept.
    fn kept(pool: &Pool, fixture: &mut Fixture, serials: std::ops::Range<u64>) -> Vec<u64> {
        let mut opened = Vec::new();
        for serial in serials {
            let mut backend = fixture.backend(serial, 7, key("app", false));
            backend.count(pool.count(&fixture.member));
            opened.push(backend);
        }
        opened.into_iter().for_each(|backend| pool.give(backend));
        let app = key("app", false);
        std::iter::from_fn(|| take(pool, fixture, &app, 7, None)).collect()
    }

    #[test]
    fn a_worker_keeps_its_share_while_others_wait() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        // Of ten connections, two workers have five each.
        let elsewhere = Pool::default();
        let _other = elsewhere.count(&fixture.member);
        assert_eq!(kept(&pool, &mut fixture, 0..7).len(), 7, "nobody waits");
        fixture.member.waiting.store(1, Ordering::Relaxed);
        assert_eq!(kept(&pool, &mut fixture, 0..7), [6, 5, 4, 3, 2]);
        fixture.member.starving.store(1, Ordering::Relaxed);
        assert!(
            kept(&pool, &mut fixture, 0..1).is_empty(),
            "a worker without any comes first"
        );
        assert_eq!(fixture.member.connections(), 0);
    }

    #[test]
    fn a_login_of_long_ago_serves_no_further_session() {
        let (pool, mut fixture) = (Pool::default(), Fixture::new());
        let app = key("app", false);
        let over = |fixture: &mut Fixture, serial| {
            let mut backend = fixture.backend(serial, 7, app.clone());
            backend.over_at = Instant::now();
            backend
        };
        pool.give(over(&mut fixture, 1));
        assert_eq!(fixture.member.connections(), 0, "closed");
        // With an id that its session may ask for, it is there for that alone.
        let mut backend = over(&mut fixture, 2);
        let id = backend.leave_insert_id(HostgroupId(1), None, crate::insert_id::Loss::None);
        pool.give(backend);
        assert_eq!(take(&pool, &fixture, &app, 7, None), None);
        let backend = pool.take_with(&id).unwrap();
        id.say(Some(5));
        pool.give(backend);
        assert_eq!(fixture.member.connections(), 0, "its id is known");
        // One that waits in the pool is closed there.
        let mut backend = fixture.backend(3, 7, app.clone());
        backend.over_at = Instant::now() + Duration::from_millis(1);
        pool.give(backend);
        wait_until(|| {
            pool.prune(Duration::from_secs(3600), |_| true);
            fixture.member.connections() == 0
        });
    }

    /// Looks until it is so.
    fn wait_until(is_so: impl Fn() -> bool) {
        while !is_so() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn connections_to_members_that_are_gone_are_closed() {
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
