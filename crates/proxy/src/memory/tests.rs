//! Who gets room, who waits, and who has to end.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use shardwright_wire::{ByteStore, MAX_CHUNK};

use super::account::Cost;
use super::{Account, Budget, Buffer, OutOfMemory, packet_cost};

const MIB: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(10);

/// Counts how often it is woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A session, and how often it was woken.
struct Session {
    account: Account,
    bell: Arc<Bell>,
}

impl Session {
    fn of(budget: &Arc<Budget>) -> Self {
        Self {
            account: Account::new(budget.share().unwrap()),
            bell: Arc::default(),
        }
    }

    fn claim(&mut self, bytes: usize) -> Poll<Result<(), OutOfMemory>> {
        let waker = Waker::from(self.bell.clone());
        self.account.poll_run(&Context::from_waker(&waker), all(bytes))
    }

    /// Asks for room for a statement that takes four times as much when it has come.
    fn receive(&mut self, bytes: usize) -> Poll<Result<(), OutOfMemory>> {
        let waker = Waker::from(self.bell.clone());
        self.account
            .poll_receive(&Context::from_waker(&waker), four_times(bytes))
    }

    fn run(&mut self, bytes: usize) -> Poll<Result<(), OutOfMemory>> {
        let waker = Waker::from(self.bell.clone());
        self.account
            .poll_run(&Context::from_waker(&waker), four_times(bytes))
    }

    fn claims(&mut self, bytes: usize) -> bool {
        self.claim(bytes) == Poll::Ready(Ok(()))
    }

    fn was_woken(&self) -> bool {
        self.bell.0.swap(0, Ordering::Relaxed) > 0
    }

    fn code(&mut self) -> Option<u16> {
        self.account.must_end().map(|error| error.error().code)
    }
}

fn all(bytes: usize) -> Cost {
    Cost {
        received: bytes,
        answered: bytes,
    }
}

fn four_times(bytes: usize) -> Cost {
    Cost {
        received: bytes,
        answered: 4 * bytes,
    }
}

/// 100 MiB beyond the shares.
fn budget() -> Arc<Budget> {
    Arc::new(Budget::new(100 * MIB + 1000 * 16 * 1024, 1000, PATIENCE))
}

fn used_beyond_shares(budget: &Budget, sessions: usize) -> usize {
    budget.figures().used - sessions * 16 * 1024
}

#[test]
fn what_is_reserved_is_given_back() {
    let budget = budget();
    let mut session = Session::of(&budget);
    assert!(session.claims(60 * MIB));
    assert_eq!(used_beyond_shares(&budget, 1), 60 * MIB);
    session.account.begin_command();
    session.account.end_command();
    assert_eq!(used_beyond_shares(&budget, 1), 0);
    assert!(session.claims(100 * MIB));
    drop(session);
    assert_eq!(budget.figures().used, 0);
}

#[test]
fn more_than_there_is_is_refused_at_once() {
    let budget = budget();
    let mut session = Session::of(&budget);
    let Poll::Ready(Err(refused)) = session.claim(101 * MIB) else {
        panic!("it waits for ever");
    };
    let error = refused.error();
    assert_eq!(error.code, 1041);
    assert!(error.message.contains("--max-memory"), "{}", error.message);
    assert_eq!(budget.figures().refused, 1);
    assert!(session.claims(100 * MIB), "the session goes on");
}

#[test]
fn the_one_that_wants_least_goes_on_first() {
    let budget = budget();
    let [mut holds, mut large, mut small] = [(); 3].map(|()| Session::of(&budget));
    assert!(holds.claims(90 * MIB));
    assert!(large.claim(50 * MIB).is_pending());
    assert!(small.claim(20 * MIB).is_pending());
    assert_eq!(budget.figures().waiting, 2);
    holds.account.give_back();
    assert!(small.was_woken() && large.was_woken());
    assert!(small.claims(20 * MIB) && large.claims(50 * MIB));
    assert!(holds.claim(60 * MIB).is_pending());
    large.account.give_back();
    assert!(holds.was_woken() && holds.claims(60 * MIB));
    assert_eq!(used_beyond_shares(&budget, 3), 80 * MIB);
}

#[test]
fn who_leaves_while_waiting_waits_no_more() {
    let budget = budget();
    let [mut holds, mut leaves] = [(); 2].map(|()| Session::of(&budget));
    assert!(holds.claims(90 * MIB));
    assert!(leaves.claim(50 * MIB).is_pending());
    drop(leaves);
    assert_eq!(budget.figures().waiting, 0);
    drop(holds);
    assert_eq!(budget.figures().used, 0);
}

#[test]
fn who_begins_and_does_not_go_on_ends_when_another_waits() {
    let budget = budget();
    let [mut idle, mut greedy, mut busy, mut waits] = [(); 4].map(|()| Session::of(&budget));
    assert!(greedy.claims(50 * MIB) && idle.claims(20 * MIB) && busy.claims(25 * MIB));
    let begun = Instant::now();
    budget.look(begun);
    assert!(waits.claim(30 * MIB).is_pending());
    budget.look(begun);
    busy.account.received(MIB);
    budget.look(begun + Duration::from_millis(900));
    assert_eq!(
        [idle.code(), greedy.code(), busy.code()],
        [None; 3],
        "there is time left"
    );
    let orders = budget.orders();
    budget.look(begun + Duration::from_millis(1100));
    assert_ne!(budget.orders(), orders);
    assert_eq!(
        [idle.code(), greedy.code(), busy.code()],
        [None, Some(1041), None]
    );
    drop(greedy);
    assert!(waits.was_woken() && waits.claims(30 * MIB));
    assert_eq!(budget.figures().ended, 1);
}

#[test]
fn nobody_ends_while_nobody_waits() {
    let budget = budget();
    let mut idle = Session::of(&budget);
    assert!(idle.claims(100 * MIB));
    let begun = Instant::now();
    for second in 0..100 {
        budget.look(begun + Duration::from_secs(second));
    }
    assert_eq!(idle.code(), None);
}

#[test]
fn the_greediest_gives_way_at_the_deadline() {
    // What runs is left alone: who waits ends if it wants the most of the others.
    let budget = budget();
    let [mut runs, mut keeps, mut waits] = [(); 3].map(|()| Session::of(&budget));
    assert!(runs.claims(70 * MIB));
    runs.account.begin_command();
    keeps.account.keep(10 * MIB);
    assert!(waits.claim(30 * MIB).is_pending());
    let begun = Instant::now();
    budget.look(begun + PATIENCE / 2);
    assert!(!waits.was_woken());
    budget.look(begun + PATIENCE + Duration::from_secs(1));
    assert!(waits.was_woken());
    let Poll::Ready(Err(refused)) = waits.claim(30 * MIB) else {
        panic!("it goes on waiting");
    };
    assert_eq!(refused.error().code, 1041);
    assert_eq!(
        [runs.code(), keeps.code(), waits.code()],
        [None; 3],
        "its session goes on"
    );
    assert_eq!(budget.figures().waiting, 0);
    // One that keeps more than another wants is the greediest.
    keeps.account.keep(25 * MIB);
    assert!(waits.claim(20 * MIB).is_pending());
    budget.look(begun + 3 * PATIENCE);
    assert_eq!([runs.code(), keeps.code()], [None, Some(1041)]);
    drop(keeps);
    assert!(waits.was_woken() && waits.claims(20 * MIB));
}

/// Whoever has begun can end: as many begin as leave room for one of them to run.
#[test]
fn those_that_receive_leave_room_for_one_that_runs() {
    let budget = budget();
    let mut sessions: [Session; 6] = [(); 6].map(|()| Session::of(&budget));
    let begun: Vec<bool> = sessions
        .iter_mut()
        .map(|session| session.receive(15 * MIB).is_ready())
        .collect();
    assert_eq!(begun, [true, true, true, false, false, false]);
    // All three have come. One runs, and the next when it is answered.
    assert!(sessions[0].run(15 * MIB).is_ready());
    assert!(sessions[1].run(15 * MIB).is_pending() && sessions[2].run(15 * MIB).is_pending());
    sessions[0].account.begin_command();
    sessions[0].account.end_command();
    assert!(sessions[1].was_woken() && sessions[1].run(15 * MIB).is_ready());
    assert!(!sessions[3].was_woken(), "those that have come go first");
    sessions[1].account.give_back();
    assert!(sessions[2].was_woken() && sessions[2].run(15 * MIB).is_ready());
    sessions[2].account.give_back();
    assert!(sessions[3].was_woken() && sessions[4].was_woken() && sessions[5].was_woken());
    // What is kept leaves that room, too.
    let mut keeps = Session::of(&budget);
    let waker = Waker::from(keeps.bell.clone());
    assert!(
        keeps
            .account
            .poll_keep(&Context::from_waker(&waker), 20 * MIB)
            .is_pending()
    );
}

#[test]
fn sessions_have_room_whatever_others_hold() {
    let budget = budget();
    let mut greedy = Session::of(&budget);
    assert!(greedy.claims(100 * MIB));
    let sessions: Vec<Session> = (1..1000).map(|_| Session::of(&budget)).collect();
    assert!(budget.share().is_none(), "what is set aside is used up");
    greedy.account.give_back();
    let more = budget.share();
    assert!(more.is_some());
    assert!(greedy.claim(100 * MIB).is_pending());
    drop((sessions, more));
    assert!(greedy.was_woken() && greedy.claims(100 * MIB));
}

#[test]
fn small_statements_reserve_nothing() {
    let budget = budget();
    let mut session = Session::of(&budget);
    assert_eq!(packet_cost(4096, b"\x00\x00\x00\x00\x03"), all(0));
    assert!(session.claims(0));
    session.account.begin_command();
    session.account.end_command();
    assert_eq!(used_beyond_shares(&budget, 1), 0);
    assert_eq!(packet_cost(5000, b"\x00\x00\x00\x00\x03"), all(20_000));
    assert_eq!(packet_cost(5000, b"\x00\x00\x00\x00\x16"), all(30_000));
    assert_eq!(packet_cost(MIB, b"\x00\x00\x00\x00\x03"), four_times(MIB));
    assert_eq!(packet_cost(20 * MIB, b"").answered, 120 * MIB);
}

mod races {
    use super::*;

    /// Threads take and give back. Nothing is lost, and everybody goes on.
    #[test]
    fn threads_share_a_budget() {
        let budget = budget();
        let looks = budget.clone();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let looker = std::thread::spawn(move || {
            while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
                looks.look(Instant::now());
                std::thread::yield_now();
            }
        });
        let workers: Vec<_> = (0..4_usize)
            .map(|number| {
                let budget = budget.clone();
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    let mut account = Account::new(budget.share().unwrap());
                    for round in 0..2000_usize {
                        let bytes = (1 + (round * 7 + number * 13) % 60) * MIB;
                        let claimed = poll_fn(|cx| account.poll_run(cx, all(bytes)));
                        runtime.block_on(claimed).unwrap();
                        account.begin_command();
                        assert!(budget.figures().used <= 101 * MIB + 1000 * 16 * 1024);
                        account.end_command();
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        drop(stop);
        looker.join().unwrap();
        let figures = budget.figures();
        assert_eq!((figures.used, figures.waiting), (0, 0));
    }
}

/// What is left out is dropped chunk by chunk, whatever pieces it comes in; what follows stays.
#[test]
fn a_packet_is_left_out_whole() {
    let budget = budget();
    let chunk = |seq: u8, len: usize| {
        let [a, b, c, ..] = len.to_le_bytes();
        [&[a, b, c, seq][..], &vec![b'x'; len]].concat()
    };
    let bytes = [chunk(0, MAX_CHUNK), chunk(1, 5), b"rest".to_vec()].concat();
    for piece in [3, 1000, 1 << 20, bytes.len()] {
        let mut session = Session::of(&budget);
        let Poll::Ready(Err(refused)) = session.claim(101 * MIB) else {
            panic!("it waits for ever");
        };
        session.account.leave_out(refused);
        let (mut inbox, mut answers) = (Buffer::new(), Vec::new());
        // Small pieces at the beginning and the end, where the headers are.
        let (begin, end) = (piece.min(20) * 3, bytes.len() - 20);
        let small = bytes[..begin].chunks(piece).chain([&bytes[begin.min(end)..end]]);
        for piece in small.chain(bytes[begin.max(end)..].chunks(piece)) {
            inbox.append(piece);
            if session.account.is_leaving_out() {
                answers.extend(session.account.skip(&mut inbox));
            }
        }
        assert_eq!(answers, [(refused, 2)], "{piece}");
        assert_eq!(&inbox[..], b"rest", "{piece}");
    }
}
