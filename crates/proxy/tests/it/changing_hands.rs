//! Connections that go from one session to the next: in how many round trips, and what happens where a step of it fails.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::MariaDb;

use crate::support::{self, Setup, TestProxy, error, schema, server, value};

/// A stretch of cable to the server that counts how often it is spoken to after it has answered.
struct Cable {
    port: u16,
    turns: Arc<AtomicU64>,
}

impl Cable {
    fn to(server: &MariaDb) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (turns, address) = (Arc::new(AtomicU64::new(0)), server.address());
        let counted = turns.clone();
        thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect(address).unwrap());
                let has_answered = Arc::new(Mutex::new(false));
                let (answered, turns) = (has_answered.clone(), counted.clone());
                let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                thread::spawn(move || {
                    pass_on(from, to, || {
                        if std::mem::take(&mut *answered.lock().unwrap()) {
                            turns.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                });
                thread::spawn(move || pass_on(far, near, || *has_answered.lock().unwrap() = true));
            }
        });
        Self { port, turns }
    }

    fn setup(&self) -> Setup {
        Setup {
            port: self.port,
            max_connections: 1,
            options: Box::new(|options| options.workers = Some(std::num::NonZeroUsize::MIN)),
            ..Setup::default()
        }
    }

    /// Round trips of some work.
    fn turns(&self, work: impl FnOnce()) -> u64 {
        let before = self.turns.load(Ordering::SeqCst);
        work();
        self.turns.load(Ordering::SeqCst) - before
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, mut note: impl FnMut()) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        note();
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    // The other direction may have ended already.
    let _ended = to.shutdown(Shutdown::Both);
}

/// A proxy with one connection, and two schemas with a table `t` each.
fn two_schemas(name: &str, setup: &Setup) -> (TestProxy, [String; 2]) {
    let names = [schema(&format!("{name}_1")), schema(&format!("{name}_2"))];
    for name in &names {
        server().run(format!("CREATE TABLE {name}.t (a INT)")).unwrap();
    }
    (support::start(setup), names)
}

fn rows(schema: &str) -> String {
    value(
        &mut server().root().unwrap(),
        &format!("SELECT COUNT(*) FROM {schema}.t"),
    )
}

#[test]
fn a_statement_takes_one_round_trip_on_whose_connection_ever() {
    let cable = Cable::to(server());
    let (proxy, [name, _]) = two_schemas("hands_turns", &cable.setup());
    let mut sessions = [proxy.connect(Some(&name)), proxy.connect(Some(&name))];
    // The first ones open the connection and find out what the server is like.
    for session in &mut sessions {
        session.query_drop("SELECT a FROM t").unwrap();
    }
    let turns = cable.turns(|| {
        for _ in 0..10 {
            for session in &mut sessions {
                session.query_drop("INSERT INTO t VALUES (1)").unwrap();
            }
        }
    });
    assert_eq!(turns, 20);
    assert_eq!(rows(&name), "20");
    // What a session has set goes along in one more: what may fail is answered before the statement is sent.
    sessions[0].query_drop("SET autocommit=0").unwrap();
    let turns = cable.turns(|| {
        for session in &mut sessions {
            session.query_drop("SELECT a FROM t").unwrap();
            session.query_drop("COMMIT").unwrap();
        }
    });
    assert_eq!(turns, 3 + 2, "SET, SELECT, COMMIT; SELECT, COMMIT");
}

#[test]
fn a_step_that_fails_keeps_the_statement_from_running() {
    let (proxy, [one, two]) = two_schemas(
        "hands_steps",
        &Setup {
            max_connections: 1,
            options: Box::new(|options| options.workers = Some(std::num::NonZeroUsize::MIN)),
            ..Setup::default()
        },
    );
    let mut first = proxy.connect(Some(&one));
    let mut second = proxy.connect(Some(&two));
    let mut refused = |break_it: &str, mend_it: &str, code: u16| {
        first.query_drop("SELECT a FROM t").unwrap();
        second.query_drop("SELECT a FROM t").unwrap();
        first.query_drop("SELECT a FROM t").unwrap();
        server().run(break_it).unwrap();
        assert_eq!(
            error(&mut second, "INSERT INTO t VALUES (1)").0,
            code,
            "{break_it}"
        );
        assert_eq!(
            error(&mut second, "INSERT INTO t VALUES (1)").0,
            code,
            "{break_it}, again"
        );
        server().run(mend_it).unwrap();
        assert_eq!((rows(&one), rows(&two)), ("0".into(), "0".into()), "{break_it}");
        second.query_drop("SELECT a FROM t").unwrap();
    };
    let create = format!("CREATE DATABASE {two}; CREATE TABLE {two}.t (a INT)");
    refused(&format!("DROP DATABASE {two}"), &create, 1049);
    let away = format!(
        "CREATE DATABASE IF NOT EXISTS {two}_away; DROP TABLE IF EXISTS {two}_away.t; RENAME TABLE {two}.t TO {two}_away.t; DROP DATABASE {two}"
    );
    refused(&away, &create, 1049);
}

#[test]
fn what_a_session_may_not_do_any_more_is_not_done_with_what_it_may() {
    // Rights are the whole server's, so this test has one of its own.
    let server = MariaDb::start(shardwright_testkit::Options::default()).unwrap();
    support::create_users(&server);
    server
        .run("CREATE DATABASE one; CREATE TABLE one.t (a INT); CREATE DATABASE two; CREATE TABLE two.t (a INT)")
        .unwrap();
    server
        .run("REVOKE ALL PRIVILEGES ON *.* FROM app@'%'; GRANT ALL ON one.* TO app@'%'; GRANT ALL ON two.* TO app@'%'; GRANT BINLOG ADMIN ON *.* TO app@'%'")
        .unwrap();
    let proxy = support::start(&Setup {
        port: server.port(),
        max_connections: 1,
        options: Box::new(|options| options.workers = Some(std::num::NonZeroUsize::MIN)),
        ..Setup::default()
    });
    let mut first = proxy.connect(Some("one"));
    let mut second = proxy.connect(Some("two"));
    second.query_drop("SELECT a FROM t").unwrap();
    first.query_drop("SELECT a FROM t").unwrap();
    server.run("REVOKE ALL ON two.* FROM app@'%'").unwrap();
    assert_eq!(error(&mut second, "INSERT INTO t VALUES (1)").0, 1044);
    server.run("GRANT ALL ON two.* TO app@'%'").unwrap();
    // A setting that the session had, and may not repeat on its next connection.
    second.query_drop("SET sql_log_bin = 0").unwrap();
    second.query_drop("SELECT a FROM t").unwrap();
    first.query_drop("SELECT a FROM t").unwrap();
    server.run("REVOKE BINLOG ADMIN ON *.* FROM app@'%'").unwrap();
    // Rights of this kind are those of the login: the connection must be a new one to have lost it.
    let of_proxy = value(&mut first, "SELECT @@pseudo_thread_id");
    server.run(format!("KILL {of_proxy}")).unwrap();
    let refused = |client: &mut Conn| error(client, "INSERT INTO t VALUES (1)").0;
    shardwright_testkit::eventually(support::PATIENCE, || first.query_drop("SELECT a FROM t").is_ok());
    assert_eq!(refused(&mut second), 1227);
    let count = |schema: &str| {
        value(
            &mut server.root().unwrap(),
            &format!("SELECT COUNT(*) FROM {schema}.t"),
        )
    };
    assert_eq!((count("one"), count("two")), ("0".into(), "0".into()));
}

#[test]
fn a_kill_at_any_moment_runs_nothing_twice_or_with_anothers_settings() {
    let (proxy, [one, two]) = two_schemas(
        "hands_kill",
        &Setup {
            max_connections: 1,
            options: Box::new(|options| options.workers = Some(std::num::NonZeroUsize::MIN)),
            ..Setup::default()
        },
    );
    let is_over = Arc::new(AtomicBool::new(false));
    let over = is_over.clone();
    let killer = thread::spawn(move || {
        let mut root = server().root().unwrap();
        let threads = "SELECT id FROM information_schema.processlist WHERE db LIKE 'hands\\_kill\\_%'";
        let mut kills = 0_u64;
        while !over.load(Ordering::SeqCst) {
            let ids: Vec<u64> = root.query(threads).unwrap();
            for id in ids {
                for _ in 0..20 {
                    // It may be gone.
                    kills += u64::from(root.query_drop(format!("KILL QUERY {id}")).is_ok());
                }
            }
        }
        kills
    });
    // A session of each kind: one commits what it does, the other never does.
    let connect = |name: &str, off: bool| {
        let mut client = proxy.connect(Some(name));
        client
            .query_drop(format!("SET autocommit={}", u8::from(!off)))
            .map(|()| client)
    };
    let open = |name: &str, off: bool| (0..100).find_map(|_| connect(name, off).ok()).unwrap();
    let (mut commits, mut never) = (open(&one, false), open(&two, true));
    let (mut done, mut unsure) = (0_u64, 0_u64);
    for _ in 0..1000 {
        match commits.query_drop("INSERT INTO t VALUES (1)") {
            Ok(()) => done += 1,
            Err(mysql::Error::MySqlError(error)) if error.code == 1317 => {}
            Err(_) => {
                unsure += 1;
                commits = open(&one, false);
            }
        }
        let inserted = never.query_drop("INSERT INTO t VALUES (1)");
        let rolled_back = inserted.and_then(|()| never.query_drop("ROLLBACK"));
        let is_interrupted =
            |error: &mysql::Error| matches!(error, mysql::Error::MySqlError(error) if error.code == 1317);
        let is_lost = rolled_back.as_ref().is_err_and(|error| !is_interrupted(error));
        if is_lost || (rolled_back.is_err() && never.query_drop("ROLLBACK").is_err()) {
            never = open(&two, true);
        }
    }
    is_over.store(true, Ordering::SeqCst);
    let kills = killer.join().unwrap();
    assert!(kills > 0);
    drop(never);
    let committed: u64 = rows(&one).parse().unwrap();
    assert!(
        (done..=done + unsure).contains(&committed),
        "{done} {unsure} {committed}"
    );
    assert_eq!(
        rows(&two),
        "0",
        "nothing of a session without autocommit is committed"
    );
}

/// A server that ends piece by piece: its connections of until then end when they are spoken to.
fn ending(server: &MariaDb) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (ends, address) = (Arc::new(AtomicBool::new(false)), server.address());
    let told = ends.clone();
    thread::spawn(move || {
        for near in listener.incoming() {
            let (near, far) = (near.unwrap(), TcpStream::connect(address).unwrap());
            let ends = told.clone();
            let is_new = ends.load(Ordering::SeqCst);
            let (from, to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            let end = near.try_clone().unwrap();
            thread::spawn(move || {
                pass_on(from, to, || {
                    if !is_new && ends.load(Ordering::SeqCst) {
                        end.shutdown(Shutdown::Both).unwrap();
                    }
                });
            });
            thread::spawn(move || pass_on(far, near, || {}));
        }
    });
    (port, ends)
}

#[test]
fn of_a_client_one_statement_is_lost_with_its_server() {
    let (port, ends) = ending(server());
    let setup = Setup {
        port,
        options: Box::new(|options| options.workers = Some(std::num::NonZeroUsize::MIN)),
        ..Setup::default()
    };
    let (proxy, [name, _]) = two_schemas("hands_ending", &setup);
    for is_own in [true, false] {
        ends.store(false, Ordering::SeqCst);
        let mut sessions: Vec<Conn> = (0..4).map(|_| proxy.connect(Some(&name))).collect();
        for sql in ["BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"] {
            for session in &mut sessions {
                session.query_drop(sql).unwrap();
            }
        }
        let mut client = match is_own {
            true => sessions.swap_remove(0),
            false => proxy.connect(Some(&name)),
        };
        ends.store(true, Ordering::SeqCst);
        assert_eq!(error(&mut client, "INSERT INTO t VALUES (2)").0, 2013);
        client.query_drop("INSERT INTO t VALUES (3)").unwrap();
        client.exec_drop("INSERT INTO t VALUES (?)", (4,)).unwrap();
    }
}
