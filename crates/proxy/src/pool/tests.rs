//! Idle connections and those who wait for them, without servers.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::*;
use crate::channel::Scratch;
use crate::counted::Counted;
use crate::event_loop::{self, Stream};
use crate::members::{MemberRegistry, MemberRuntime, member_of_tests};
use crate::room::{Limited, Request};
use crate::slot::Slot;
use shardwright_rules::HostgroupId;
use shardwright_wire::CapabilityFlags;

/// A member, and the far ends of its connections.
struct Fixture {
    member: Arc<MemberRuntime>,
    servers: Vec<std::os::unix::net::UnixStream>,
}

impl Fixture {
    fn wanted(&self, limited: Limited) -> Wanted {
        Wanted {
            room: self.member.room.clone(),
            member: self.member.number,
            user: "app".into(),
            limited,
        }
    }

    fn new() -> Self {
        let member = member_of_tests("h");
        Self {
            member: MemberRegistry::default().get(HostgroupId(1), &member),
            servers: Vec::new(),
        }
    }

    fn backend(&mut self, serial: u64, last_session: u64, key: PoolKey) -> Box<Backend> {
        // Of a worker that has another one.
        let counted = Counted::new(Rc::new(Cell::new(1)), self.member.clone());
        self.counted(counted, serial, last_session, key)
    }

    fn counted(&mut self, counted: Counted, serial: u64, last_session: u64, key: PoolKey) -> Box<Backend> {
        let (ours, theirs) = Stream::pair_of_tests();
        self.servers.push(theirs);
        let place = self.member.room.enter(&self.member.request(&key.user, false));
        let place = place.unwrap();
        place.opened();
        let slot = Slot::shared(counted, Rc::new(place));
        let member = self.member.clone();
        let mut backend = Box::new(Backend::for_tests(ours, member, slot, key, Scratch::of_tests()));
        backend.serial = serial;
        backend.last_session = last_session;
        backend
    }
}

fn key(user: &str, has_schema: bool) -> PoolKey {
    PoolKey {
        user: Arc::from(user),
        shaping: CapabilityFlags::empty(),
        has_extended_metadata: false,
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
    let wanted = fixture.wanted(Limited::Member);
    assert!(pool.evict(&wanted));
    assert!(!pool.evict(&wanted));
    assert_eq!(fixture.member.connections(), 0, "its place is free again");
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
    let first = pool.wait(&fixture.member, key("app", false), false);
    let second = pool.wait(&fixture.member.clone(), key("app", false), false);
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
    let first = pool.wait(&fixture.member, key("app", false), false);
    let second = pool.wait(&fixture.member.clone(), key("other", false), false);
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
        let counted = pool.count(&fixture.member);
        opened.push(fixture.counted(counted, serial, 7, key("app", false)));
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
    // The room's own count: one that its account keeps waiting, whom no connection helps.
    let room = fixture.member.room.clone();
    let request = Request {
        most: 0,
        member: 99,
        ..fixture.member.request(&"app".into(), true)
    };
    let _turn = room.wait(request, Instant::now());
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
