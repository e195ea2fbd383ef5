//! Servers whose connections are all in use: they are waited for, and whoever reads costs whoever writes nothing but their share.
//!
//! `SHARDWRIGHT_BURSTS` in the environment asks for 20 bursts of 450 clients instead of 2.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_rules::Role;
use shardwright_testkit::{ClientOptions, MariaDb, connect, eventually, poll_until};

use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, create_users, heavy, member, start, value};

const CLIENTS: usize = 450;
const WRITERS: usize = 4;
/// Who waits for a server that takes no more waits 10 s.
const AT_ONCE: Duration = Duration::from_secs(8);
/// How long writes go on behind a burst.
const AFTER: Duration = Duration::from_millis(500);

/// A server with its own default of 151 connections, and a table `t.t`.
fn server(arguments: &[&str]) -> MariaDb {
    let mut options = shardwright_testkit::Options::default();
    let arguments = arguments.iter().map(|&argument| argument.to_owned());
    options.extra_args.extend(arguments);
    let server = MariaDb::start(options).unwrap();
    create_users(&server);
    server
        .run("CREATE DATABASE t; CREATE TABLE t.t (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB")
        .unwrap();
    server
}

/// A proxy with more connections to the server than that takes.
fn in_front_of(server: &MariaDb, workers: usize) -> TestProxy {
    start(&Setup {
        port: server.port(),
        max_connections: 1000,
        options: Box::new(move |options| options.workers = std::num::NonZeroUsize::new(workers)),
        configuration: Box::new(|configuration| {
            for user in &mut configuration.users {
                user.max_connections = 10_000;
            }
        }),
    })
}

/// The errors of some reads at once, all on connections of their own.
pub(crate) fn burst(proxy: &TestProxy, count: usize) -> Vec<String> {
    let are_there = Barrier::new(count);
    thread::scope(|scope| {
        let read = || -> mysql::Result<()> {
            let client = proxy.try_connect(USER, PASSWORD, None);
            are_there.wait();
            client?.query_drop("SELECT SLEEP(0.2)")
        };
        let reads: Vec<_> = (0..count).map(|_| scope.spawn(read)).collect();
        let ended = reads.into_iter().map(|read| read.join().unwrap());
        ended.filter_map(|read| Some(read.err()?.to_string())).collect()
    })
}

/// Writes of another user, each on a connection of its own, until they are told to end: the errors, and the longest time.
fn writes(proxy: &TestProxy, is_over: &AtomicBool, written: &AtomicU64) -> (Vec<String>, Duration) {
    let (mut errors, mut longest) = (Vec::new(), Duration::ZERO);
    while !is_over.load(Ordering::Relaxed) {
        let write = || -> mysql::Result<Duration> {
            let mut client = proxy.try_connect("other", PASSWORD, Some("t"))?;
            let began = Instant::now();
            client.query_drop("INSERT INTO t VALUES ()")?;
            Ok(began.elapsed())
        };
        match write() {
            Ok(time) => longest = longest.max(time),
            Err(error) => errors.push(error.to_string()),
        }
        written.fetch_add(1, Ordering::Relaxed);
    }
    (errors, longest)
}

#[test]
fn a_burst_of_reads_ends_no_writes() {
    let _alone = heavy();
    let bursts = if std::env::var_os("SHARDWRIGHT_BURSTS").is_some() {
        20
    } else {
        2
    };
    let server = server(&["--max-connections=151"]);
    let proxy = in_front_of(&server, 2);
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| scope.spawn(|| writes(&proxy, &is_over, &written)))
            .collect();
        let mut of_reads = Vec::new();
        for _ in 0..bursts {
            of_reads.extend(burst(&proxy, CLIENTS));
            let before = written.load(Ordering::Relaxed);
            let ended = Instant::now();
            eventually(PATIENCE, || {
                ended.elapsed() > AFTER && written.load(Ordering::Relaxed) > before + 10
            });
        }
        is_over.store(true, Ordering::Relaxed);
        let ended: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        let longest = ended.iter().map(|(_, longest)| *longest).max().unwrap();
        let errors: Vec<&String> = ended.iter().flat_map(|(errors, _)| errors).collect();

        println!(
            "{bursts} bursts: {} writes, the slowest {longest:?}, refused: {} writes, {} reads",
            written.load(Ordering::Relaxed),
            errors.len(),
            of_reads.len()
        );
        assert_eq!((errors.first(), of_reads.first()), (None, None));
    });
}

/// Sessions of a user that are in a transaction, which holds their connections; all of them begin at once.
fn holding(proxy: &TestProxy, user: &str, comment: &str, count: usize) -> Vec<Conn> {
    thread::scope(|scope| {
        let begin = || {
            let mut client = proxy.try_connect(user, PASSWORD, Some("t")).unwrap();
            for sql in ["BEGIN", INSERT] {
                client.query_drop(format!("{comment}{sql}")).unwrap();
            }
            client
        };
        let begun: Vec<_> = (0..count).map(|_| scope.spawn(begin)).collect();
        begun.into_iter().map(|begun| begun.join().unwrap()).collect()
    })
}

const INSERT: &str = "INSERT INTO t VALUES ()";
/// The comment that leads to the other hostgroup of the same server.
const ELSEWHERE: &str = "/* b */ ";

/// Of 12 connections one is left to others.
const FEW: &str = "--max-connections=12";
const ALL_OF_FEW: usize = 11;

#[test]
fn what_is_idle_makes_room_for_other_users_and_hostgroups() {
    let server = server(&[FEW]);
    let proxy = in_front_of(&server, 3);
    for (user, comment) in [(USER, ""), ("other", ""), (USER, ELSEWHERE), ("other", ELSEWHERE)] {
        let began = Instant::now();
        // They go back to the pool as the clients leave.
        drop(holding(&proxy, user, comment, ALL_OF_FEW));
        let took = began.elapsed();
        assert!(took < AT_ONCE, "{user}, {comment}: {took:?}");
    }
}

#[test]
fn a_proxy_leaves_room_for_another() {
    let server = server(&[FEW]);
    let proxies = [in_front_of(&server, 2), in_front_of(&server, 2)];
    for proxy in proxies.iter().cycle().take(4) {
        drop(holding(proxy, USER, "", ALL_OF_FEW - 3));
    }
}

#[test]
fn reads_that_take_long_leave_room_for_writes() {
    let server = server(&[FEW]);
    let proxy = in_front_of(&server, 2);
    thread::scope(|scope| {
        let read = || proxy.connect(None).query_drop("SELECT SLEEP(60)").unwrap();
        let reads: Vec<_> = (0..2 * ALL_OF_FEW).map(|_| scope.spawn(read)).collect();
        let mut admin = proxy.admin();
        let used = "SELECT ConnUsed FROM stats_mysql_connection_pool WHERE hostgroup = 10";
        // One in ten is left.
        let most = (ALL_OF_FEW - ALL_OF_FEW / 10).to_string();
        eventually(PATIENCE, || value(&mut admin, used) == most);
        let mut other = proxy.try_connect("other", PASSWORD, Some("t")).unwrap();
        other.query_drop(INSERT).unwrap();
        assert!(
            reads.iter().all(|read| !read.is_finished()),
            "the write waited for a read"
        );
        let ended = eventually_ended(&server, || reads.iter().all(|read| read.is_finished()));
        assert!(ended, "reads that were ended go on");
    });
}

/// Ends whatever sleeps on the server until this is so.
fn eventually_ended(server: &MariaDb, mut is_so: impl FnMut() -> bool) -> bool {
    let ended = poll_until(PATIENCE, || {
        let sleeping = server
            .run("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'")
            .unwrap();
        for id in sleeping.into_iter().filter_map(|row| row[0].clone()) {
            // It may have ended by itself.
            let _ended = server.run(format!("KILL QUERY {id}"));
        }
        is_so().then_some(())
    });
    ended.is_ok()
}

#[test]
fn a_reader_with_room_answers_for_one_that_is_full() {
    let (full, free) = (server(&[FEW]), server(&[FEW]));
    let ports = [full.port(), free.port()];
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| {
            let group = &mut configuration.hostgroups[1];
            group.role = Role::Reader;
            group.members = ports.map(|port| member("b", port, 1000)).to_vec();
        }),
        port: full.port(),
        ..Setup::default()
    });
    let _taken = take_all(&full);
    let mut client = proxy.connect(None);
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(
            value(&mut client, "SELECT /* b */ @@port"),
            free.port().to_string()
        );
    }
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
}

/// Connections past the proxy, as many as the server takes.
fn take_all(server: &MariaDb) -> Vec<Conn> {
    let direct = ClientOptions {
        user: "other",
        password: PASSWORD,
        schema: None,
    };
    let taken: Vec<Conn> = std::iter::from_fn(|| connect(server.address(), direct).ok()).collect();
    assert!(taken.len() >= ALL_OF_FEW);
    taken
}

#[test]
fn a_full_server_is_waited_for_and_not_avoided() {
    let server = server(&[FEW]);
    let proxy = in_front_of(&server, 2);
    let taken = take_all(&server);
    let mut admin = proxy.admin();
    let mut count = |what: &str| {
        value(
            &mut admin,
            &format!("SELECT {what} FROM stats_mysql_connection_pool WHERE hostgroup = 10"),
        )
    };
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..20)
            .map(|_| scope.spawn(|| value(&mut proxy.connect(None), "SELECT 1")))
            .collect();
        eventually(PATIENCE, || count("ConnERR") != "0");
        assert_eq!(count("status"), "ONLINE");
        drop(taken);
        for waited in waiting {
            assert_eq!(waited.join().unwrap(), "1");
        }
    });
    // Refusals are few, however many wait.
    assert!(
        count("ConnERR").parse::<usize>().unwrap() < 200,
        "{}",
        count("ConnERR")
    );
}

#[test]
fn the_limit_of_an_account_is_waited_for() {
    let server = server(&["--max-connections=151"]);
    server
        .run(format!("ALTER USER {USER}@'%' WITH MAX_USER_CONNECTIONS 3"))
        .unwrap();
    let proxy = in_front_of(&server, 2);
    thread::scope(|scope| {
        // With and without a schema: connections of two kinds.
        for at in 0..40 {
            let proxy = &proxy;
            scope.spawn(move || {
                let mut client = proxy.connect((at % 2 == 0).then_some("t"));
                for _ in 0..3 {
                    assert_eq!(value(&mut client, "SELECT 1 + SLEEP(0.001)"), "1");
                }
            });
        }
        let mut other = proxy.try_connect("other", PASSWORD, Some("t")).unwrap();
        other.query_drop(INSERT).unwrap();
    });
}
