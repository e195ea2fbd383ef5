//! A server of MySQL 8 for tests: a door that speaks `caching_sha2_password`, and a real MariaDB behind it.
//!
//! The door greets as MySQL 8.4 does and decides about the login with checks of its own, which are mysql_common's and
//! aws-lc's, not the proxy's. Then it logs in to the real server natively and passes bytes on: sequence numbers begin
//! anew with each command, so neither side notices.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientHello, ClientLogin, ClientStep, LoginRequest,
    MariadbCapabilities, OkPacket, Privacy, StatusFlags,
};

use crate::raw::{credentials, packet, send};
use crate::support::{PASSWORD, USER, server};
use shardwright_testkit::Pair;

/// How a door behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cache {
    /// It knows the password's double hash: fast answers are enough.
    Warm,
    /// It asks for the password.
    Cold,
}

/// A running door.
pub(crate) struct Door {
    pub(crate) port: u16,
    /// How each login came in.
    pub(crate) logins: Arc<Mutex<Vec<&'static str>>>,
}

/// Opens a door, with TLS if it has a certificate. It is open as long as the process runs.
pub(crate) fn open(cache: Cache, pair: Option<&Pair>) -> Door {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let logins: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let seen = logins.clone();
    let tls = pair.map(|pair| Arc::new(tls_config(pair)));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (seen, tls) = (seen.clone(), tls.clone());
            thread::spawn(move || serve(stream.unwrap(), cache, tls, &seen));
        }
    });
    Door { port, logins }
}

fn tls_config(pair: &Pair) -> ServerConfig {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&pair.certificate).unwrap()],
            PrivateKeyDer::from_pem_file(&pair.key).unwrap(),
        )
        .unwrap()
}

/// The greeting of a MySQL 8.4.3 that listens on TCP, as it was recorded, but for the challenge, the capabilities that
/// the real server behind the door lacks, and `CLIENT_SSL`.
fn greeting(scramble: &[u8; 20], has_tls: bool) -> Vec<u8> {
    let mut capabilities = CapabilityFlags::from_bits_retain(0xDFFF_FFFF)
        - CapabilityFlags::CLIENT_COMPRESS
        - CapabilityFlags::CLIENT_ZSTD_COMPRESSION_ALGORITHM
        - CapabilityFlags::CLIENT_QUERY_ATTRIBUTES
        - CapabilityFlags::MULTI_FACTOR_AUTHENTICATION
        - CapabilityFlags::CLIENT_OPTIONAL_RESULTSET_METADATA
        - CapabilityFlags::CLIENT_DEPRECATE_EOF
        - CapabilityFlags::CLIENT_SESSION_TRACK;
    capabilities.set(CapabilityFlags::CLIENT_SSL, has_tls);
    let bits = capabilities.bits().to_le_bytes();
    let mut out = b"\x0A8.4.3\0\x2A\0\0\0".to_vec();
    out.extend(&scramble[..8]);
    out.extend([0, bits[0], bits[1], 0xFF, 0x02, 0x00, bits[2], bits[3], 21]);
    out.extend([0; 10]);
    out.extend(&scramble[8..]);
    out.extend(b"\0caching_sha2_password\0");
    out
}

fn serve(
    mut client: TcpStream,
    cache: Cache,
    tls: Option<Arc<ServerConfig>>,
    seen: &Mutex<Vec<&'static str>>,
) {
    let scramble = *b"recorded challenge!!";
    send(&mut client, 0, &greeting(&scramble, tls.is_some()));
    let Some(first) = packet(&mut client) else {
        return;
    };
    match ClientHello::decode(&first).unwrap() {
        ClientHello::Login(login) => {
            if let Some(how) = log_in(&mut client, 2, &login, &scramble, cache, false) {
                seen.lock().unwrap().push(how);
                pass_on(client, &login);
            }
        }
        ClientHello::TlsRequest => {
            let connection = ServerConnection::new(tls.unwrap()).unwrap();
            let mut inside = StreamOwned::new(connection, client);
            let Some(payload) = packet(&mut inside) else {
                return;
            };
            let ClientHello::Login(login) = ClientHello::decode(&payload).unwrap() else {
                panic!("a login")
            };
            if let Some(how) = log_in(&mut inside, 3, &login, &scramble, cache, true) {
                seen.lock().unwrap().push(how);
                pass_on_inside(inside, &login);
            }
        }
    }
}

/// Runs the login; how it came in, or nothing when it is refused.
fn log_in(
    client: &mut (impl Read + Write),
    mut seq: u8,
    login: &LoginRequest,
    scramble: &[u8; 20],
    cache: Cache,
    is_private: bool,
) -> Option<&'static str> {
    let password = PASSWORD.as_bytes();
    let mut answer = login.auth_response.clone();
    if login.plugin.as_deref() != Some(b"caching_sha2_password") {
        let switch = [b"\xFEcaching_sha2_password\0", scramble.as_slice(), &[0]].concat();
        send(client, seq, &switch);
        answer = packet(client)?;
        seq += 2;
    }
    let expected = scramble_sha256(scramble, password).unwrap();
    let mut how = "fast";
    let mut is_right = login.user == USER.as_bytes();
    if cache == Cache::Warm {
        is_right &= answer == expected;
        if is_right {
            send(client, seq, &[1, 3]);
            seq += 1;
        }
    } else {
        send(client, seq, &[1, 4]);
        let mut payload = packet(client)?;
        how = "password";
        if !is_private {
            how = "encrypted password";
            assert_eq!(payload, [2], "the public key is asked for");
            let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
            let der = key.public_key().as_der().unwrap();
            let body = [&[1], pem(der.as_ref()).as_bytes()].concat();
            send(client, seq + 2, &body);
            let ciphertext = packet(client)?;
            let mut buffer = vec![0; key.key_size_bytes()];
            let key = OaepPrivateDecryptingKey::new(key).unwrap();
            let hidden = key
                .decrypt(&OAEP_SHA1_MGF1SHA1, &ciphertext, &mut buffer, None)
                .unwrap();
            payload = hidden
                .iter()
                .zip(scramble.iter().cycle())
                .map(|(byte, mask)| byte ^ mask)
                .collect();
            seq += 2;
        }
        is_right &= payload == [password, &[0]].concat();
        seq += 2;
    }
    let mut answer = Vec::new();
    if is_right {
        let ok = OkPacket {
            status: StatusFlags::SERVER_STATUS_AUTOCOMMIT,
            ..OkPacket::default()
        };
        ok.encode(&mut answer, login.capabilities);
    } else {
        shardwright_wire::errors::ACCESS_DENIED
            .with("denied at the door")
            .encode(&mut answer);
    }
    send(client, seq, &answer);
    is_right.then_some(how)
}

/// A public key as text.
fn pem(der: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("-----BEGIN PUBLIC KEY-----\n");
    for line in der.chunks(48) {
        for three in line.chunks(3) {
            let value = three
                .iter()
                .fold(0_u32, |value, &byte| value << 8 | u32::from(byte))
                << (8 * (3 - three.len()));
            for at in 0..4 {
                let digit = DIGITS[(value >> (18 - 6 * at)) as usize & 63];
                text.push(if at <= three.len() { char::from(digit) } else { '=' });
            }
        }
        text.push('\n');
    }
    text + "-----END PUBLIC KEY-----\n"
}

/// A connection to the real server, logged in as the client of the door.
fn real_server(login: &LoginRequest) -> TcpStream {
    let mut stream = TcpStream::connect(server().address()).unwrap();
    let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap()).unwrap();
    let credentials = BackendCredentials {
        database: login.database.clone(),
        capabilities: login.capabilities,
        mariadb_capabilities: MariadbCapabilities::empty(),
        collation: login.collation,
        ..credentials()
    };
    let (mut machine, answer) = ClientLogin::start(&greeting, &credentials, Privacy::Plain).unwrap();
    send(&mut stream, 1, &answer);
    let ready = machine.on_payload(&packet(&mut stream).unwrap()).unwrap();
    assert!(matches!(ready, ClientStep::Ready { .. }), "{ready:?}");
    stream
}

fn pass_on(client: TcpStream, login: &LoginRequest) {
    let server = real_server(login);
    let (mut from, mut to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    let (mut from, mut to) = (client, server);
    // Either end may end it.
    let _end = std::io::copy(&mut from, &mut to);
    let _end = to.shutdown(std::net::Shutdown::Both);
}

/// TLS has one state for both directions, so one thread asks both ends in turn.
fn pass_on_inside(mut client: StreamOwned<ServerConnection, TcpStream>, login: &LoginRequest) {
    let mut server = real_server(login);
    client.sock.set_nonblocking(true).unwrap();
    server.set_nonblocking(true).unwrap();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let from_client = copy_some(&mut client, &mut server, &mut buffer);
        let from_server = copy_some(&mut server, &mut client, &mut buffer);
        match (from_client, from_server) {
            (Some(0), Some(0)) => thread::yield_now(),
            (Some(_), Some(_)) => {}
            _ => return,
        }
    }
}

/// What there is, from one to the other; `None` at the end.
fn copy_some(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> Option<usize> {
    let len = match from.read(buffer) {
        Ok(0) => return None,
        Ok(len) => len,
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => 0,
        Err(_) => return None,
    };
    let mut rest = &buffer[..len];
    while !rest.is_empty() {
        match to.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => thread::yield_now(),
            Err(_) => return None,
        }
    }
    while let Err(error) = to.flush() {
        if error.kind() != std::io::ErrorKind::WouldBlock {
            return None;
        }
    }
    Some(len)
}
