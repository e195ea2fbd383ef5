//! Wrong passwords slow the address that they come from, and no other.

use std::thread;
use std::time::{Duration, Instant};

use mysql::{Conn, Opts, OptsBuilder};
use shardwright_mysqlite::Limits;

use crate::support::{World, code, world_with};

fn guarded() -> World {
    world_with(Limits {
        free_failures: Some(2),
        ..Limits::default()
    })
}

fn from(world: &World, address: &str, password: &str) -> Opts {
    let opts = world.opts("app", password, None);
    OptsBuilder::from_opts(opts)
        .bind_address(Some((address.parse::<std::net::IpAddr>().unwrap(), 0)))
        .into()
}

#[test]
fn logins_of_an_address_wait_after_wrong_passwords() {
    let world = guarded();
    for _ in 0..2 {
        assert_eq!(code(Conn::new(from(&world, "127.0.0.2", "guess"))), 1045);
    }
    let began = Instant::now();
    assert_eq!(code(Conn::new(from(&world, "127.0.0.2", "guess"))), 1045);
    assert!(
        began.elapsed() >= Duration::from_millis(500),
        "{:?}",
        began.elapsed()
    );
    let began = Instant::now();
    Conn::new(from(&world, "127.0.0.2", "secret")).unwrap();
    assert!(
        began.elapsed() >= Duration::from_secs(1),
        "the right one waits too: {:?}",
        began.elapsed()
    );
    assert_eq!(code(Conn::new(from(&world, "127.0.0.2", "guess"))), 1045);
    let wrong = "127.0.0.2 \"app\" wrong".to_owned();
    assert_eq!(*world.denied.lock().unwrap(), vec![wrong; 4]);
}

#[test]
fn passwords_are_not_tried_faster_in_parallel_and_other_addresses_get_in() {
    let world = guarded();
    let began = Instant::now();
    let codes: Vec<u16> = thread::scope(|scope| {
        let attempts: Vec<_> = (0..40)
            .map(|_| scope.spawn(|| code(Conn::new(from(&world, "127.0.0.3", "guess")))))
            .collect();
        let mut bystander = Conn::new(from(&world, "127.0.0.4", "secret")).unwrap();
        bystander.ping().unwrap();
        attempts
            .into_iter()
            .map(|attempt| attempt.join().unwrap())
            .collect()
    });
    let checked = codes.iter().filter(|code| **code == 1045).count();
    let refused = codes.iter().filter(|code| **code == 1129).count();
    assert_eq!(checked + refused, 40, "{codes:?}");
    // Two are free, and then each is a pause after the other.
    let turns = 3 + began.elapsed().as_millis() / 500;
    assert!(
        checked as u128 <= turns,
        "{checked} of {codes:?} in {:?}",
        began.elapsed()
    );
    let refusals = world
        .denied
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.ends_with("refused"))
        .count();
    assert_eq!(refusals, refused);
}

#[test]
fn logins_that_wait_end_with_the_server() {
    let world = guarded();
    let attempts: Vec<_> = (0..6)
        .map(|_| {
            let opts = from(&world, "127.0.0.5", "guess");
            thread::spawn(move || Conn::new(opts).unwrap_err())
        })
        .collect();
    // All are counted before any of them has waited for its turn.
    while world.denied.lock().unwrap().len() < attempts.len() {
        thread::yield_now();
    }
    world.server.shutdown();
    let errors: Vec<_> = attempts
        .into_iter()
        .map(|attempt| attempt.join().unwrap())
        .collect();
    let cut = |error: &mysql::Error| !matches!(error, mysql::Error::MySqlError(_));
    assert!(errors.iter().any(cut), "{errors:?}");
}
