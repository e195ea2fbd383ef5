//! The PROXY protocol: a load balancer that is trusted says who the client is.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use mysql::Conn;
use shardwright_proxy::Limits;
use shardwright_rules::{EngineRule, Listener};
use shardwright_testkit::{ClientOptions, ReservedPort, connect, eventually};

use crate::raw::packet;
use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, error, rule, start_on, write_secret};

/// A proxy whose only listener trusts these networks, with rules that tell clients apart.
fn proxy(trusted: &'static [&'static str], limits: fn(&mut Limits)) -> TestProxy {
    let directory = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let reserved = ReservedPort::new().unwrap();
    let port = reserved.number();
    let setup = Setup {
        options: Box::new(move |options| {
            limits(&mut options.limits);
            options.listen = shardwright_proxy::Listen::Configured {
                otherwise: "127.0.0.1:0".parse().unwrap(),
            };
        }),
        configuration: Box::new(move |configuration| {
            let address = "listeners.main".into();
            configuration.listeners = vec![Listener {
                proxy_protocol: trusted.iter().map(ToString::to_string).collect(),
                ..Listener::on_port("main", address, "127.0.0.1", port)
            }];
            for (id, client) in [(1, "127.0.0.77"), (2, "2001:db8::7"), (3, "127.0.0.1")] {
                let row = EngineRule {
                    client_addr: Some(client.into()),
                    match_digest: Some("who".into()),
                    error_msg: Some(client.into()),
                    apply: true,
                    ..EngineRule::default()
                };
                configuration.graph.rules.insert(0, rule(id, row));
            }
            configuration.graph.rules.sort_by_key(|rule| rule.id);
        }),
        ..Setup::default()
    };
    let secret = write_secret(&directory);
    let proxy = start_on(directory, &setup);
    let configuration = crate::support::configuration(&setup, &secret);
    crate::support::apply(&mut proxy.admin(), &configuration).unwrap();
    proxy
}

/// Passes a client on with a header in front, as a load balancer does.
fn in_front(to: SocketAddr, header: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        for byte in header {
            server.write_all(&[byte]).unwrap();
        }
        let (mut from, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut from, &mut back));
        let _end = std::io::copy(&mut { client }, &mut server);
        let _end = server.shutdown(std::net::Shutdown::Write);
    });
    address
}

fn login() -> ClientOptions<'static> {
    ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    }
}

fn who(client: &mut Conn) -> String {
    error(client, "SELECT who").1
}

fn v2(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let len = u16::try_from(rest.len()).unwrap().to_be_bytes();
    [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[command, family], &len, rest].concat()
}

const V4: [u8; 12] = [127, 0, 0, 77, 127, 0, 0, 1, 0x30, 0x39, 0x0C, 0xEA];

#[test]
fn rules_and_refusals_see_the_client_of_the_header() {
    let proxy = proxy(&["127.0.0.1/32"], |_| ());
    let address = proxy.running().listen_address();
    let with_tlvs = [&V4[..], &[0x05, 0, 3, 1, 2, 3, 0xE0, 0, 0]].concat();
    for (header, expected) in [
        (
            b"PROXY TCP4 127.0.0.77 127.0.0.1 12345 3306\r\n".to_vec(),
            "127.0.0.77",
        ),
        (
            b"PROXY TCP6 2001:db8::7 ::1 12345 3306\r\n".to_vec(),
            "2001:db8::7",
        ),
        (b"PROXY UNKNOWN\r\n".to_vec(), "127.0.0.1"),
        (v2(0x21, 0x11, &V4), "127.0.0.77"),
        (v2(0x21, 0x11, &with_tlvs), "127.0.0.77"),
        (v2(0x20, 0x00, &[]), "127.0.0.1"),
    ] {
        let front = in_front(address, header.clone());
        let mut client = connect(front, login()).unwrap();
        assert_eq!(who(&mut client), expected, "{header:?}");
    }
    let front = in_front(address, v2(0x21, 0x11, &V4));
    let wrong = ClientOptions {
        password: "wrong",
        ..login()
    };
    let denied = connect(front, wrong).unwrap_err().to_string();
    assert!(denied.contains("'app'@'127.0.0.77'"), "{denied}");
}

#[test]
fn a_trusted_network_must_send_a_header() {
    let proxy = proxy(&["127.0.0.1/32"], |_| ());
    let address = proxy.running().listen_address();
    for bytes in [
        b"GET / HTTP/1.1\r\n".to_vec(),
        v2(0x21, 0x12, &V4),
        v2(0x31, 0x11, &V4),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&bytes).unwrap();
        let answer = packet(&mut stream).unwrap();
        assert_eq!(answer[..3], [0xFF, 0x13, 0x04], "error 1043");
        assert_eq!(packet(&mut stream), None);
    }
}

#[test]
fn silence_in_the_place_of_a_header_ends_in_time() {
    let proxy = proxy(&["127.0.0.1/32"], |limits| {
        limits.handshake_timeout = std::time::Duration::from_millis(200);
    });
    let mut stream = TcpStream::connect(proxy.running().listen_address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"PROXY TCP4 1").unwrap();
    let answer = packet(&mut stream).unwrap();
    assert_eq!(answer[..3], [0xFF, 0x13, 0x04], "error 1043");
    assert_eq!(packet(&mut stream), None);
}

#[test]
fn nobody_else_may_say_who_he_is() {
    let proxy = proxy(&["10.0.0.0/8"], |_| ());
    let address = proxy.running().listen_address();
    assert_eq!(who(&mut connect(address, login()).unwrap()), "127.0.0.1");
    for header in [
        b"PROXY TCP4 127.0.0.77 127.0.0.1 12345 3306\r\n".to_vec(),
        v2(0x21, 0x11, &V4),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&header).unwrap();
        assert_eq!(packet(&mut stream).unwrap()[0], 10, "the greeting");
        let answer = packet(&mut stream).unwrap();
        assert_eq!(answer[..3], [0xFF, 0x6A, 0x04], "error 1130");
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            text.contains("Proxy header is not accepted from 127.0.0.1"),
            "{text}"
        );
        assert_eq!(packet(&mut stream), None);
    }
}

#[test]
fn silent_connections_count_for_the_clients_behind_a_load_balancer() {
    let proxy = proxy(&["127.0.0.1/32"], |limits| {
        limits.max_half_open = Some(3);
        limits.handshake_timeout = std::time::Duration::from_secs(600);
    });
    let address = proxy.running().listen_address();
    let silent: Vec<TcpStream> = (0..3)
        .map(|_| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            stream
                .write_all(b"PROXY TCP4 127.0.0.99 127.0.0.1 1 2\r\n")
                .unwrap();
            assert_eq!(packet(&mut stream).unwrap()[0], 10);
            stream
        })
        .collect();
    let front = in_front(address, v2(0x21, 0x11, &V4));
    assert_eq!(who(&mut connect(front, login()).unwrap()), "127.0.0.77");
    drop(silent);
}

/// A real HAProxy; killed when dropped.
struct HaProxy(Child);

impl Drop for HaProxy {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn haproxy_says_who_the_client_is() {
    let proxy = proxy(&["127.0.0.1/32"], |_| ());
    let to = proxy.running().listen_address();
    let fronts: Vec<TcpListener> = (0..2)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let ports: Vec<u16> = fronts
        .iter()
        .map(|front| front.local_addr().unwrap().port())
        .collect();
    drop(fronts);
    let path = proxy.directory.path().join("haproxy.cfg");
    let listen = |at: usize, option: &str| {
        format!(
            "listen l{at}\n  bind 127.0.0.1:{}\n  server s {to} source 127.0.0.1 {option} check inter 100ms {option_check}\n",
            ports[at],
            option_check = "check-send-proxy",
        )
    };
    let text = format!(
        "defaults\n  mode tcp\n  timeout connect 10s\n  timeout client 60s\n  timeout server 60s\n{}{}",
        listen(0, "send-proxy"),
        listen(1, "send-proxy-v2")
    );
    std::fs::write(&path, text).unwrap();
    let child = Command::new("haproxy")
        .env(
            "PATH",
            format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()),
        )
        .args(["-db", "-f"])
        .arg(&path)
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _haproxy = HaProxy(child);
    for port in ports {
        let front = SocketAddr::from(([127, 0, 0, 1], port));
        let mut client = None;
        eventually(PATIENCE, || {
            client = connect_from(77, front);
            client.is_some()
        });
        assert_eq!(who(&mut client.unwrap()), "127.0.0.77");
    }
}

/// A client at another address of this machine; `None` while HAProxy is not there yet.
fn connect_from(last: u8, to: SocketAddr) -> Option<Conn> {
    let options = login()
        .tcp(to)
        .bind_address(Some(SocketAddr::from(([127, 0, 0, last], 0))));
    Conn::new(options).ok()
}
