//! Clients that break the rules, and limits.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_mysqlite::{Limits, MysqlError};
use shardwright_wire::{HEADER_LEN, take_packet, write_packet};

use crate::support::{World, code, world, world_with};

/// Everything that the server sends before it closes the connection.
fn conversation(world: &World, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut stream = TcpStream::connect(world.server.local_addr()).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut received = Vec::new();
    // A server that closes with unread input resets the connection: what came before counts.
    let _ = stream.read_to_end(&mut received);
    let mut rest = received.as_slice();
    let mut payloads = Vec::new();
    while let Ok(Some(packet)) = take_packet(rest, 1 << 20) {
        rest = &rest[packet.consumed..];
        payloads.push(packet.payload.into_owned());
    }
    payloads
}

fn login_packet(payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    write_packet(&mut packet, &mut 1, payload);
    packet
}

#[test]
fn garbage_in_place_of_a_login_ends_that_connection_only() {
    let world = world();
    let mut bystander = world.connect(Some("Europe"));
    let pre_41 = login_packet(&[0x05, 0, 0, 0, 1]);
    let tls_request = login_packet(&[&[0x00, 0x0A, 0, 0], [0; 28].as_slice()].concat());
    let cases: [(&str, &[u8], u16); 7] = [
        ("truncated login", &login_packet(&[0xFF, 0xFF, 0xFF]), 1043),
        ("protocol before 4.1", &pre_41, 1251),
        ("TLS that was not offered", &tls_request, 1043),
        (
            "endless user name",
            &login_packet(&[[0xFF; 32].as_slice(), &[b'a'; 60_000]].concat()),
            1043,
        ),
        ("a packet announced too large", &[0xFF, 0xFF, 0xFF, 1], 1153),
        ("a wrong sequence number", &[0x01, 0, 0, 9, 0], 1156),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: example\r\n\r\n", 1153),
    ];
    for (what, bytes, number) in cases {
        let payloads = conversation(&world, bytes);
        let error = payloads
            .get(1)
            .map(|payload| MysqlError::decode(payload).unwrap().code);
        assert_eq!(error, Some(number), "{what}");
    }
    assert_eq!(
        conversation(&world, &[]).len(),
        1,
        "a client that leaves is told nothing"
    );
    assert_eq!(
        bystander
            .query_first::<i64, _>("SELECT count(*) FROM City")
            .unwrap(),
        Some(3)
    );
}

#[test]
fn a_command_over_the_limit_is_refused_by_its_header() {
    let world = world_with(Limits {
        max_packet: 1024,
        ..Limits::default()
    });
    let mut conn = world.connect(None);
    assert!(conn.query_drop(format!("SELECT '{}'", "x".repeat(900))).is_ok());
    assert_eq!(
        code(conn.query_drop(format!("SELECT '{}'", "x".repeat(1024)))),
        1153
    );
    assert!(conn.query_drop("SELECT 1").is_err(), "the connection is closed");
}

#[test]
fn connections_over_the_limit_are_told_so() {
    let world = world_with(Limits {
        connections: 2,
        ..Limits::default()
    });
    let (one, _two) = (world.connect(None), world.connect(None));
    assert_eq!(code(Conn::new(world.opts("app", "secret", None))), 1040);
    let id = one.connection_id();
    drop(one);
    // The place is free once the thread of the connection has ended, which is soon but not at once.
    let again = loop {
        match Conn::new(world.opts("app", "secret", None)) {
            Ok(conn) => break conn,
            Err(mysql::Error::MySqlError(error)) if error.code == 1040 => thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    };
    assert!(again.connection_id() > id);
}

#[test]
fn who_does_not_log_in_makes_room() {
    let world = world_with(Limits {
        connections: 2,
        handshake_timeout: Duration::from_secs(600),
        ..Limits::default()
    });
    let mut one = world.connect(None);
    let mut silent = TcpStream::connect(world.server.local_addr()).unwrap();
    // Its time has to come first.
    let _two = loop {
        match Conn::new(world.opts("app", "secret", None)) {
            Ok(conn) => break conn,
            Err(mysql::Error::MySqlError(error)) if error.code == 1040 => thread::yield_now(),
            Err(other) => panic!("{other}"),
        }
    };
    silent.read_to_end(&mut Vec::new()).unwrap();
    one.query_drop("SELECT 1").unwrap();
    assert_eq!(code(Conn::new(world.opts("app", "secret", None))), 1040);
}

#[test]
fn a_client_that_says_nothing_is_left() {
    let limits = Limits {
        handshake_timeout: Duration::from_millis(50),
        idle_timeout: Duration::from_millis(50),
        ..Limits::default()
    };
    let world = world_with(limits);
    let mut silent = TcpStream::connect(world.server.local_addr()).unwrap();
    let mut received = Vec::new();
    silent.read_to_end(&mut received).unwrap();
    let greeting = take_packet(&received, 1 << 20).unwrap().unwrap().consumed;
    assert_eq!(
        MysqlError::decode(&received[greeting + HEADER_LEN..])
            .unwrap()
            .code,
        1159
    );
}

#[test]
fn shutting_down_ends_sessions_and_running_statements() {
    let world = world();
    let mut idle = world.connect(None);
    let mut busy = world.connect(None);
    let (started, has_started) = mpsc::channel();
    let running = thread::spawn(move || {
        started.send(()).unwrap();
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        busy.query_drop(endless)
    });
    has_started.recv().unwrap();
    let address = world.server.local_addr();
    world.server.shutdown();
    assert!(running.join().unwrap().is_err());
    assert!(idle.query_drop("SELECT 1").is_err());
    assert!(TcpStream::connect(address).is_err());
}
