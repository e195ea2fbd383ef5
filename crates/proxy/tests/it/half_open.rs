//! Connections that never log in: they take room from nobody but their own address.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use shardwright_testkit::{Authority, eventually};
use socket2::{Domain, Socket, Type};

use crate::raw::packet;
use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, start, value};

const LIMIT: usize = 8;

fn proxy(handshake_timeout: Duration) -> TestProxy {
    start(&Setup {
        options: Box::new(move |options| {
            options.limits.max_half_open = Some(LIMIT);
            options.limits.handshake_timeout = handshake_timeout;
        }),
        ..Setup::default()
    })
}

/// A connection from another address of this machine.
fn connect_from(last: u8, to: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let from = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    socket.connect(&to.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Connections that have read the greeting and say nothing.
fn silent(count: usize, last: u8, to: SocketAddr) -> Vec<TcpStream> {
    let greeted = || {
        let mut stream = connect_from(last, to);
        assert_eq!(packet(&mut stream).unwrap()[0], 10, "a greeting");
        stream
    };
    (0..count).map(|_| greeted()).collect()
}

#[test]
fn another_address_always_gets_in() {
    let proxy = proxy(Duration::from_secs(600));
    let address = proxy.running().listen_address();
    let mut silent = silent(LIMIT, 9, address);
    // 127.0.0.1 has none under way, so the oldest of 127.0.0.9 ends for it.
    let mut client = proxy.connect(None);
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    let mut oldest = silent.remove(0);
    assert_eq!(oldest.read(&mut [0]).unwrap(), 0, "closed without a word");
    for stream in &mut silent {
        stream.set_nonblocking(true).unwrap();
        let error = stream.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "the others go on");
    }
    let mut admin = proxy.admin();
    let cut = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Client_Logins_Cut'";
    assert_eq!(value(&mut admin, cut), "1");
}

#[test]
fn an_address_at_the_limit_waits_for_its_own_and_hears_which_limit() {
    let proxy = proxy(Duration::from_secs(600));
    let address = proxy.running().listen_address();
    let _silent = silent(LIMIT, 9, address);
    let answer = packet(&mut connect_from(9, address)).unwrap();
    let text = String::from_utf8_lossy(&answer);
    if answer[0] == 0xFF {
        assert_eq!(answer[1..3], 1040_u16.to_le_bytes());
        assert!(text.contains("(limit 8: --max-half-open)"), "{text}");
    } else {
        // The machine was so slow that the oldest one has had its time.
        assert_eq!(answer[0], 10);
    }
}

#[test]
fn logins_have_a_time_limit_also_in_tls_and_byte_by_byte() {
    let authority = Authority::new().unwrap();
    let pair = authority.issue("proxy", &["localhost"]).unwrap();
    let (certificate, key) = (pair.certificate.clone(), pair.key.clone());
    let proxy = start(&Setup {
        options: Box::new(move |options| {
            options.limits.max_half_open = Some(LIMIT);
            options.limits.handshake_timeout = Duration::from_millis(300);
            options.tls.certificate = Some(certificate.clone());
            options.tls.key = Some(key.clone());
        }),
        ..Setup::default()
    });
    let address = proxy.running().listen_address();
    let tls_request: Vec<u8> = [
        &[32, 0, 0, 1, 0x85, 0xAE, 0xFF, 0x19, 0, 0, 0, 1, 45][..],
        &[0; 23],
    ]
    .concat();
    // The head of a record of TLS that is long in coming.
    let record: Vec<u8> = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC][..], &[0; 500]].concat();
    let mut slow = silent(1, 9, address).remove(0);
    slow.write_all(&tls_request).unwrap();
    let mut sent = 0;
    let began = Instant::now();
    // One byte at a time, for as long as the proxy takes them.
    while sent < record.len() && slow.write_all(&record[sent..=sent]).is_ok() {
        sent += 1;
        let mut byte = [0];
        slow.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        match slow.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => panic!("an answer to half a record"),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    assert!(sent < record.len(), "the login was cut");
    assert!(began.elapsed() >= Duration::from_millis(200), "and not at once");
    eventually(PATIENCE, || proxy.try_connect(USER, PASSWORD, None).is_ok());
}
