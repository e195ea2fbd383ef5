//! A server in a process that has no descriptors left. A process of its own: the limit is everybody's.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use shardwright_mysqlite::sqlite::SqliteBackend;
use shardwright_mysqlite::{Config, Server};

/// A shutdown that takes longer does not end.
const HANGS_AFTER: Duration = Duration::from_secs(120);

#[test]
fn a_server_stops_where_no_descriptor_is_left() {
    let backend = SqliteBackend::new("8.4.0-test").unwrap();
    let server = Server::bind("127.0.0.1:0", Config::default(), Arc::new(backend)).unwrap();
    let (sender, stopped) = mpsc::channel();
    // Descriptors are given from the lowest number, so no number below the first free one is free.
    let free = File::open("/dev/null").unwrap().as_raw_fd();
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, u64::try_from(free).unwrap(), hard).unwrap();
    assert!(File::open("/dev/null").is_err(), "no descriptor is left");
    thread::spawn(move || {
        server.shutdown();
        sender.send(()).unwrap();
    });
    let ended = stopped.recv_timeout(HANGS_AFTER);
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    ended.expect("the server stops");
}
