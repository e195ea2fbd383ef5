//! TLS of the admin port: the `mysql` crate with rustls, the `mariadb` command with OpenSSL, and bytes of no client.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use mysql::prelude::Queryable;
use mysql::{ChangeUserOpts, Conn, SslOpts};
use rustls::{ClientConnection, StreamOwned};
use shardwright_proxy::{Options, TlsFiles};
use shardwright_testkit::{Authority, ClientOptions, Network, Pair, eventually};
use shardwright_wire::{ClientLogin, ClientStep, Privacy};

use crate::admin_limits::ENDLESS;
use crate::raw::{admin_credentials, credentials, framed, packet};
use crate::support::{
    ADMIN_PASSWORD, PATIENCE, Setup, TestProxy, apply, configuration, mariadb, start, value,
};
use crate::tls_of_clients::rustls_client;

fn start_with(pair: &Pair, admin: SocketAddr) -> TestProxy {
    let files = TlsFiles {
        certificate: Some(pair.certificate.clone()),
        key: Some(pair.key.clone()),
        ..TlsFiles::default()
    };
    start(&Setup {
        options: Box::new(move |options: &mut Options| {
            options.tls = files.clone();
            options.admin = admin;
        }),
        ..Setup::default()
    })
}

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

fn connect(to: SocketAddr, authority: Option<&Authority>) -> mysql::Result<Conn> {
    let options = ClientOptions {
        user: "admin",
        password: ADMIN_PASSWORD,
        schema: None,
    };
    let tls =
        authority.map(|authority| SslOpts::default().with_root_cert_path(Some(authority.certificate())));
    Conn::new(options.tcp(to).ssl_opts(tls))
}

/// What the `mariadb` command shows of the admin port, and of its connection.
fn ask(to: SocketAddr, arguments: &[&str]) -> String {
    mariadb(to, ("admin", ADMIN_PASSWORD), arguments, r"SELECT 1; \s")
}

#[test]
fn administrators_log_in_with_and_without() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    let proxy = start_with(&authority.issue("proxy", &["127.0.0.1"]).unwrap(), loopback());
    let address = proxy.running().admin_address();
    let mut inside = connect(address, Some(&authority)).unwrap();
    assert_eq!(value(&mut inside, "SELECT 40 + 2"), "42");
    assert_eq!(
        value(&mut proxy.admin(), "SELECT 1"),
        "1",
        "in the clear on this machine"
    );
    assert!(
        connect(address, Some(&stranger)).is_err(),
        "the client checks who answers"
    );

    // A statement and a result of many records.
    let text = "x".repeat(5 << 20);
    assert_eq!(value(&mut inside, &format!("SELECT '{text}'")), text);
    let secret = proxy.directory.path().join("secret");
    assert_eq!(
        apply(&mut inside, &configuration(&Setup::default(), &secret))
            .unwrap()
            .0,
        2
    );
    let admin = ChangeUserOpts::new()
        .with_user(Some("admin".into()))
        .with_pass(Some(ADMIN_PASSWORD.into()));
    inside.change_user(admin).unwrap();
    assert_eq!(value(&mut inside, "SELECT 1"), "1");

    let ca = format!("--ssl-ca={}", authority.certificate().display());
    for version in ["TLSv1.2", "TLSv1.3"] {
        let version = format!("--tls-version={version}");
        let shown = ask(address, &[&ca, "--ssl-verify-server-cert", &version]);
        assert!(
            shown.starts_with("1\n") && shown.contains("Cipher in use is"),
            "{shown}"
        );
    }
    let other = format!("--ssl-ca={}", stranger.certificate().display());
    let shown = ask(address, &[&other, "--ssl-verify-server-cert"]);
    assert!(shown.contains("ERROR 2026"), "{shown}");
    let shown = ask(address, &["--skip-ssl"]);
    assert!(
        shown.starts_with("1\n") && shown.contains("Not in use"),
        "{shown}"
    );
}

#[test]
fn other_machines_log_in_with_tls_only() {
    let Some(network) = Network::if_possible("logins at the admin port from another machine") else {
        return;
    };
    let authority = Authority::new().unwrap();
    let host = network.here();
    let names = ["127.0.0.1", &*host.to_string()];
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let proxy = start_with(&authority.issue("proxy", &names).unwrap(), everywhere);
    let port = proxy.running().admin_address().port();
    let address = SocketAddr::new(host, port);
    let plain = connect(address, None).unwrap_err();
    let mysql::Error::MySqlError(plain) = plain else {
        panic!("{plain}")
    };
    assert_eq!(plain.code, 3159, "{}", plain.message);
    assert!(plain.message.contains("need TLS"), "{}", plain.message);
    let mut inside = connect(address, Some(&authority)).unwrap();
    assert_eq!(value(&mut inside, "SELECT 1"), "1");
    let near = SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port);
    assert_eq!(value(&mut connect(near, None).unwrap(), "SELECT 1"), "1");
    let shown = ask(address, &["--skip-ssl"]);
    assert!(shown.contains("ERROR 3159"), "{shown}");
}

#[test]
fn a_port_without_a_certificate_offers_none() {
    let proxy = start(&Setup::default());
    let address = proxy.running().admin_address();
    let refused = connect(address, Some(&Authority::new().unwrap())).unwrap_err();
    assert!(
        refused.to_string().contains("requires secure connection"),
        "{refused}"
    );
    let shown = ask(address, &["--ssl"]);
    assert!(
        shown.starts_with("1\n") && shown.contains("Not in use"),
        "{shown}"
    );
}

#[test]
fn a_reload_changes_the_certificate() {
    let (old, new) = (Authority::new().unwrap(), Authority::new().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let pair = old.issue_into(directory.path(), "proxy", &["127.0.0.1"]).unwrap();
    let proxy = start_with(&pair, loopback());
    let address = proxy.running().admin_address();
    let mut session = connect(address, Some(&old)).unwrap();
    new.issue_into(directory.path(), "proxy", &["127.0.0.1"]).unwrap();
    session.query_drop("SHARDWRIGHT RELOAD").unwrap();
    assert!(connect(address, Some(&old)).is_err());
    connect(address, Some(&new)).unwrap();
    assert_eq!(value(&mut session, "SELECT 1"), "1", "a connection goes on");
}

/// A TLS session whose request, and all that follows, was sent in one piece.
fn inside(proxy: &TestProxy, authority: &Authority) -> StreamOwned<ClientConnection, TcpStream> {
    let mut tls = rustls_client(&authority.certificate());
    let mut stream = TcpStream::connect(proxy.running().admin_address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap()).unwrap();
    let admin = admin_credentials();
    let (mut login, answer) = ClientLogin::start(&greeting, &admin, Privacy::Tls).unwrap();
    let mut together = framed(1, &ClientLogin::tls_request(&greeting, &admin));
    tls.write_tls(&mut together).unwrap();
    stream.write_all(&together).unwrap();
    let mut stream = StreamOwned::new(tls, stream);
    stream.write_all(&framed(2, &answer)).unwrap();
    let ready = login.on_payload(&packet(&mut stream).unwrap()).unwrap();
    assert!(matches!(ready, ClientStep::Ready { .. }), "{ready:?}");
    stream
}

#[test]
fn the_end_of_a_session_is_announced() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(&authority.issue("proxy", &["127.0.0.1"]).unwrap(), loopback());
    let mut stream = inside(&proxy, &authority);
    // COM_QUIT
    stream.write_all(&framed(0, &[1])).unwrap();
    // Without the announcement this would be an error.
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn the_work_of_a_client_that_goes_ends() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(&authority.issue("proxy", &["127.0.0.1"]).unwrap(), loopback());
    let mut stream = inside(&proxy, &authority);
    stream
        .write_all(&framed(0, &[&[3], ENDLESS.as_bytes()].concat()))
        .unwrap();
    stream.flush().unwrap();
    stream.conn.send_close_notify();
    stream.conn.write_tls(&mut stream.sock).unwrap();
    drop(stream);
    eventually(PATIENCE, || proxy.running().admin_connections() == 0);
}

#[test]
fn what_is_no_tls_ends_that_connection_only() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(&authority.issue("proxy", &["127.0.0.1"]).unwrap(), loopback());
    let mut bystander = proxy.admin();
    let mut stream = TcpStream::connect(proxy.running().admin_address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap()).unwrap();
    let request = framed(1, &ClientLogin::tls_request(&greeting, &credentials()));
    stream
        .write_all(&[&request[..], b"GET / HTTP/1.1\r\n\r\n"].concat())
        .unwrap();
    let mut rest = Vec::new();
    // A reset is an end as well.
    let _end = stream.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("Access"), "{rest:?}");
    assert_eq!(value(&mut bystander, "SELECT 1"), "1");
}
