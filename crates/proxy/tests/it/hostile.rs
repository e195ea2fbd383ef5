//! Bytes that no client would send: an error or a closed connection, and nobody else notices.

use mysql::prelude::Queryable;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use crate::raw::RawClient;
use crate::support::{PATIENCE, Setup, heavy, start, value};

/// Connects, reads the greeting, sends `bytes`, and reads what comes until the proxy closes.
fn answer_to(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let mut greeting = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8];
    stream.read_exact(&mut greeting).unwrap();
    // The proxy may close while it is being sent to; what it said before is what counts.
    let _sent = stream
        .write_all(bytes)
        .and_then(|()| stream.shutdown(Shutdown::Write));
    let mut answer = Vec::new();
    let _read = stream.read_to_end(&mut answer);
    answer
}

fn error_code(answer: &[u8]) -> Option<u16> {
    match answer {
        [_, _, _, _, 0xFF, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

#[test]
fn logins_of_no_client_get_an_error_or_nothing() {
    let proxy = start(&Setup::default());
    let address = proxy.running().listen_address();
    let mut bystander = proxy.connect(None);
    let long = [&[0xFF, 0xFF, 0xFF, 1][..], &vec![0; 70_000]].concat();
    let tls_request: Vec<u8> = [
        &[32, 0, 0, 1, 0x85, 0xAE, 0xFF, 0x19, 0, 0, 0, 1, 45][..],
        &[0; 23],
    ]
    .concat();
    for (what, bytes, expected) in [
        ("nothing", Vec::new(), None),
        ("half a header", vec![1, 0], None),
        (
            "a packet that announces more than it has",
            vec![200, 0, 0, 1, 1, 2, 3],
            None,
        ),
        ("an empty packet", vec![0, 0, 0, 1], Some(1043)),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), Some(1153)),
        ("too much before the login", long, Some(1153)),
        ("a wrong sequence number", vec![1, 0, 0, 9, 1], Some(1156)),
        (
            "a client from before 4.1",
            vec![6, 0, 0, 1, 5, 0, 0, 0, 0, 0],
            Some(1251),
        ),
        ("a TLS request", tls_request, Some(1043)),
        ("zeros", vec![0; 64], Some(1156)),
        ("0xFF", vec![0xFF; 64], Some(1153)),
    ] {
        let answer = answer_to(address, &bytes);
        assert_eq!(error_code(&answer), expected, "{what}: {answer:?}");
        assert_eq!(value(&mut bystander, "SELECT 1"), "1", "{what}");
    }
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 1);
}

#[test]
fn random_bytes_do_no_harm() {
    let proxy = start(&Setup::default());
    let address = proxy.running().listen_address();
    let mut bystander = proxy.connect(None);
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    for round in 0..200 {
        let bytes: Vec<u8> = (0..round * 3)
            .map(|at| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                // Half of them look like the first packet of a login.
                match at {
                    0 if round % 2 == 0 => (round * 3 - 4).clamp(0, 255) as u8,
                    1 | 2 if round % 2 == 0 => 0,
                    3 if round % 2 == 0 => 1,
                    _ => state as u8,
                }
            })
            .collect();
        answer_to(address, &bytes);
    }
    assert_eq!(value(&mut bystander, "SELECT 1"), "1");
    let mut admin = proxy.admin();
    let panics = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Session_Panics'";
    assert_eq!(value(&mut admin, panics), "0");
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 1);
}

#[test]
fn oversized_statements_are_refused() {
    let _alone = heavy();
    let proxy = start(&Setup {
        options: Box::new(|options| options.limits.max_packet = 1 << 20),
        ..Setup::default()
    });
    let mut bystander = proxy.connect(None);
    let mut client = proxy.connect(None);
    for asks in [
        "SELECT @@max_allowed_packet",
        "SELECT @@session.max_allowed_packet AS m",
    ] {
        assert_eq!(
            value(&mut client, asks),
            "1048576",
            "the server's limit is 64 MiB"
        );
        assert_eq!(client.exec_first(asks, ()).unwrap(), Some(1_048_576));
    }
    let sql = format!("SELECT '{}'", "x".repeat(2 << 20));
    let mut raw = RawClient::log_in(proxy.running().listen_address());
    // The header is enough, so the error arrives before the connection is reset.
    let header = &crate::raw::framed(0, sql.as_bytes())[..4];
    raw.stream.write_all(header).unwrap();
    let refusal = String::from_utf8_lossy(&raw.packet().unwrap()).into_owned();
    assert!(refusal.contains("(1048576; --max-allowed-packet"), "{refusal}");
    assert!(crate::support::try_value(&mut client, &sql).is_err());
    assert_eq!(value(&mut bystander, "SELECT 1"), "1");
}

#[test]
fn commands_of_no_client_get_an_error_and_the_session_goes_on() {
    let proxy = start(&Setup::default());
    let mut client = RawClient::log_in(proxy.running().listen_address());
    for (what, payload, expected) in [
        ("an empty command", &b""[..], 1835),
        ("an unknown command", &[0xEE, 1, 2], 1047),
        ("COM_SLEEP", &[0], 1047),
        ("COM_BINLOG_DUMP", &[18, 0, 0, 0, 0], 1047),
        ("COM_PROCESS_KILL", &[12, 1, 0, 0, 0], 1094),
        ("COM_SHUTDOWN", &[8], 1047),
        ("COM_SET_OPTION for what does not exist", &[27, 7, 0], 1835),
        ("an execution that ends early", &[23, 1, 0], 1835),
        ("an execution of nothing", &[23, 9, 0, 0, 0, 0, 1, 0, 0, 0], 1243),
        ("a fetch of nothing", &[28, 9, 0, 0, 0, 1, 0, 0, 0], 1243),
        ("a reset of nothing", &[26, 9, 0, 0, 0], 1243),
        ("COM_FIELD_LIST without an end", b"\x04table", 1835),
        ("a statement that is not UTF-8", b"\x03SELECT \xFF\xFE", 1064),
        ("an unterminated string", b"\x03SELECT 'a", 1064),
        ("an unterminated comment", b"\x03SELECT 1 /* a", 1064),
        ("COM_PING", &[14], 0),
    ] {
        assert_eq!(client.code(payload), Some(expected), "{what}");
    }
    assert_eq!(client.code(b"\x03SELECT 1"), Some(0));
}

#[test]
fn commands_out_of_order_end_the_session() {
    let proxy = start(&Setup::default());
    let mut client = RawClient::log_in(proxy.running().listen_address());
    client.send(7, b"\x03SELECT 1");
    assert_eq!(client.packet().unwrap()[..3], [0xFF, 0x84, 0x04], "error 1156");
    assert_eq!(client.packet(), None);
    let mut client = RawClient::log_in(proxy.running().listen_address());
    // There is no answer to COM_STMT_SEND_LONG_DATA, so the only way to say no is to close.
    client.send(0, &[24, 9, 0, 0, 0, 0, 0, 1, 2, 3]);
    assert_eq!(client.packet(), None);
}

#[test]
fn an_execution_with_broken_parameters_is_refused() {
    let proxy = start(&Setup::default());
    let mut client = RawClient::log_in(proxy.running().listen_address());
    client.send(0, b"\x16SELECT ?, ?");
    let prepared = client.packet().unwrap();
    assert_eq!(prepared[0], 0);
    let id = &prepared[1..5];
    // Two parameters and an EOF, two columns and an EOF.
    for _ in 0..6 {
        client.packet().unwrap();
    }
    let execute = |parameters: &[u8]| [&[23], id, &[0, 1, 0, 0, 0], parameters].concat();
    assert_eq!(client.code(&execute(&[])), Some(1210), "no NULL bitmap");
    assert_eq!(
        client.code(&execute(&[0, 0])),
        Some(1210),
        "types were never bound"
    );
    assert_eq!(
        client.code(&execute(&[0, 1, 3])),
        Some(1210),
        "types that end early"
    );
    let right = execute(&[0, 1, 3, 0, 3, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(client.code(&right), Some(0));
}
