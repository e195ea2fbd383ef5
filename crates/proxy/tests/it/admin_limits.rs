//! Statements on the admin port that would take too much.

use std::net::{Shutdown, TcpStream};

use shardwright_testkit::eventually;
use shardwright_wire::{ClientLogin, ClientStep, Privacy};

use crate::raw::{admin_credentials, packet, send};
use crate::support::{PATIENCE, Setup, error, start, value};

/// Never ends by itself.
pub(crate) const ENDLESS: &str =
    "SELECT COUNT(*) FROM (WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT a FROM n)";

#[test]
fn values_and_memory_are_limited() {
    let proxy = start(&Setup::default());
    let mut admin = proxy.admin();
    for sql in [
        "SELECT LENGTH(randomblob(1000000000))",
        "SELECT LENGTH(zeroblob(1000000000))",
        "SELECT LENGTH(group_concat(hex(randomblob(1000000)))) FROM (WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 100) SELECT a FROM n)",
    ] {
        let (code, _) = error(&mut admin, sql);
        assert_ne!(code, 0, "{sql}");
        assert_eq!(value(&mut admin, "SELECT 1"), "1");
    }
}

#[test]
fn the_work_of_a_client_that_goes_ends() {
    let proxy = start(&Setup::default());
    let mut stream = TcpStream::connect(proxy.running().admin_address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap()).unwrap();
    let admin = admin_credentials();
    let (mut login, answer) = ClientLogin::start(&greeting, &admin, Privacy::Plain).unwrap();
    send(&mut stream, 1, &answer);
    let ready = login.on_payload(&packet(&mut stream).unwrap()).unwrap();
    assert!(matches!(ready, ClientStep::Ready { .. }), "{ready:?}");
    send(&mut stream, 0, &[&[3], ENDLESS.as_bytes()].concat());
    stream.shutdown(Shutdown::Both).unwrap();
    eventually(PATIENCE, || proxy.running().admin_connections() == 0);
    assert_eq!(value(&mut proxy.admin(), "SELECT 1"), "1");
}
