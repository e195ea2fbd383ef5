//! Who gets a place, and who waits.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

const MEMBER: u64 = 1;

fn request(user: &str, is_read: bool) -> Request {
    Request {
        member: MEMBER,
        most: 1000,
        user: user.into(),
        is_read,
    }
}

fn read() -> Request {
    request("app", true)
}

fn write() -> Request {
    request("other", false)
}

/// The room of a server that does not say how many connections it has.
fn silent() -> Arc<Room> {
    let room = Arc::new(Room::default());
    drop(room.enter(&write()).unwrap());
    room
}

/// Places until there are no more, and the limit that is reached.
fn fill(room: &Arc<Room>, request: &Request) -> (Vec<Place>, Limited) {
    let mut places = Vec::new();
    loop {
        match room.enter(request) {
            Ok(place) => places.push(place),
            Err(limited) => return (places, limited),
        }
    }
}

/// The place, if the turn has come.
fn has_come(turn: &mut Turn) -> Option<Place> {
    match pin!(turn.place()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(place) => Some(place),
        Poll::Pending => None,
    }
}

#[test]
fn a_tenth_is_kept_for_writes_and_some_for_others() {
    let room = Arc::new(Room::default());
    room.learn(151, 1);
    let (reads, limited) = fill(&room, &read());
    assert_eq!(
        (reads.len(), limited),
        (144, Limited::Server),
        "nobody writes there"
    );
    drop(reads);
    room.takes_writes(true);
    let (reads, _) = fill(&room, &read());
    assert_eq!(reads.len(), 130);
    let (writes, limited) = fill(&room, &write());
    assert_eq!((writes.len(), limited), (14, Limited::Server));
    assert_eq!(room.to_spare(), 144 - 36);
}

#[test]
fn the_first_login_says_how_many_there_may_be() {
    let ends: [(fn(Place), _); 3] = [
        (
            |first| {
                first.room.learn(11, 1);
                drop(first);
            },
            9,
        ),
        (|first| first.opened(), 20),
        (drop, 20),
    ];
    for (end, most) in ends {
        let room = Arc::new(Room::default());
        room.takes_writes(true);
        let now = Instant::now();
        let first = room.enter(&read()).unwrap();
        let mut turns: Vec<Turn> = (0..20).map(|_| room.wait(read(), now)).collect();
        assert!(turns.iter_mut().all(|turn| has_come(turn).is_none()));
        end(first);
        let places: Vec<Place> = turns.iter_mut().filter_map(has_come).collect();
        assert_eq!(places.len(), most);
    }
}

#[test]
fn a_first_login_that_hangs_is_waited_for_a_moment() {
    let room = Arc::new(Room::default());
    let now = Instant::now();
    let _hangs = room.enter(&read()).unwrap();
    assert_eq!(room.limited(&write()), Some(Limited::Server));
    let mut turn = room.wait(write(), now);
    assert!(has_come(&mut turn).is_none());
    room.retry(now + Duration::from_secs(2));
    assert!(has_come(&mut turn).is_some());
}

#[test]
fn the_limit_of_a_member_is_its_own() {
    let room = silent();
    let few = Request { most: 20, ..read() };
    let (_first, limited) = fill(&room, &few);
    assert_eq!((room.open_to(MEMBER), limited), (20, Limited::Member));
    let of_another = Request { member: 2, ..few };
    assert_eq!(fill(&room, &of_another).0.len(), 20);
    room.takes_writes(true);
    assert_eq!(
        fill(
            &room,
            &Request {
                member: 3,
                ..of_another
            }
        )
        .0
        .len(),
        18
    );
}

#[test]
fn a_refusal_says_how_many_there_may_be_until_it_is_tried_again() {
    let room = silent();
    let now = Instant::now();
    let kept: Vec<Place> = (0..3).map(|_| room.enter(&write()).unwrap()).collect();
    let refused = room.enter(&write()).unwrap();
    assert!(refused.refused(Limited::Server, "1040", now));
    drop(refused);
    assert_eq!(room.limited(&write()), Some(Limited::Server));
    assert_eq!(room.why("other", Limited::Server).as_deref(), Some("1040"));
    let mut turn = room.wait(write(), now);
    room.retry(now);
    assert!(has_come(&mut turn).is_none(), "a moment ago");
    let later = now + Duration::from_secs(1);
    room.retry(later);
    let tried = has_come(&mut turn).unwrap();
    assert!(
        !tried.refused(Limited::Server, "1040", now + Duration::from_millis(10)),
        "told"
    );
    drop(tried);
    assert_eq!(room.most(), 3);
    let mut turn = room.wait(write(), later);
    room.retry(later + Duration::from_secs(1));
    let tried = has_come(&mut turn).unwrap();
    let mut next = room.wait(write(), later);
    tried.opened();
    assert!(has_come(&mut next).is_some(), "the next may be taken as well");
    drop(kept);
}

#[test]
fn the_limit_of_an_account_stops_nobody_else() {
    let room = silent();
    let now = Instant::now();
    let first = room.enter(&read()).unwrap();
    let refused = room.enter(&read()).unwrap();
    refused.refused(Limited::Account, "1226", now);
    drop(refused);
    assert_eq!(room.limited(&read()), Some(Limited::Account));
    assert_eq!(room.limited(&write()), None);
    let mut turn = room.wait(read(), now);
    assert!(room.wants(MEMBER + 1, "app"), "one of the account would do");
    assert!(!room.wants(MEMBER + 1, "other"));
    drop(first);
    assert!(has_come(&mut turn).is_some());
}

#[test]
fn writes_and_reads_get_places_in_turn() {
    let room = Arc::new(Room::default());
    let now = Instant::now();
    room.learn(10, 1);
    let (mut places, _) = fill(&room, &read());
    let mut waiting: Vec<(bool, Turn)> = [true, true, true, false, false]
        .into_iter()
        .map(|is_read| (is_read, room.wait(request("app", is_read), now)))
        .collect();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        places.pop();
        let at = waiting.iter_mut().position(|(_, turn)| {
            let place = has_come(turn);
            let has_come = place.is_some();
            places.splice(0..0, place);
            has_come
        });
        order.push(waiting.remove(at.unwrap()).0);
    }
    assert_eq!(order, [false, true, false, true, true]);
}

#[test]
fn who_leaves_the_line_takes_no_place() {
    let room = Arc::new(Room::default());
    room.learn(2, 1);
    let place = room.enter(&write()).unwrap();
    let first = room.wait(write(), Instant::now());
    let mut second = room.wait(write(), Instant::now());
    drop(place);
    drop(first);
    assert!(has_come(&mut second).is_some());
    drop(second);
    assert_eq!((room.open_to(MEMBER), room.waiting()), (0, 0));
}

#[test]
fn an_address_that_leads_to_several_servers_has_no_limit_of_one() {
    let room = Arc::new(Room::default());
    room.learn(10, 1);
    assert_eq!(room.most(), 9);
    room.learn(500, 1);
    assert_eq!(room.most(), 490);
    for server in [2, 1, 2] {
        room.learn(10, server);
        assert_eq!(room.most(), usize::MAX);
    }
}
