//! TLS of clients: the `mysql` crate with rustls, the `mariadb` command with OpenSSL, and bytes of no client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{ClientIdentity, Conn, SslOpts};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use shardwright_proxy::{Options, TlsFiles};
use shardwright_rules::{ClientTls, Configuration};
use shardwright_testkit::{Authority, ClientOptions, Pair};
use shardwright_wire::{ClientLogin, ClientStep, Privacy};

use crate::raw::{credentials, framed, packet};
use crate::support::{PASSWORD, PATIENCE, Setup, TestProxy, USER, server, start, try_value, value};

/// A proxy with a certificate for 127.0.0.1.
fn start_with(files: TlsFiles, tls: ClientTls) -> TestProxy {
    start(&Setup {
        options: Box::new(move |options: &mut Options| {
            options.tls = files.clone();
            options.limits.handshake_timeout = Duration::from_secs(2);
        }),
        configuration: Box::new(move |configuration: &mut Configuration| configuration.users[0].tls = tls),
        ..Setup::default()
    })
}

fn files(pair: &Pair) -> TlsFiles {
    TlsFiles {
        certificate: Some(pair.certificate.clone()),
        key: Some(pair.key.clone()),
        ..TlsFiles::default()
    }
}

fn trusting(authority: &Authority) -> SslOpts {
    SslOpts::default().with_root_cert_path(Some(authority.certificate()))
}

fn connect(proxy: &TestProxy, ssl: SslOpts) -> mysql::Result<Conn> {
    let options = ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    };
    Conn::new(options.tcp(proxy.running().listen_address()).ssl_opts(Some(ssl)))
}

/// `SELECT 1` by the `mariadb` command.
fn mariadb(address: SocketAddr, arguments: &[&str]) -> Output {
    Command::new("mariadb")
        .args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--protocol=TCP",
        ])
        .args(["--host=127.0.0.1", &format!("--port={}", address.port())])
        .args([&format!("--user={USER}"), &format!("--password={PASSWORD}")])
        .args(arguments)
        .args(["--execute", r"SELECT 1; \s"])
        .output()
        .unwrap()
}

fn shown(output: &Output) -> String {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    format!("{out}{err}")
}

#[test]
fn clients_log_in_with_and_without() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    let proxy = start_with(
        files(&authority.issue("proxy", &["127.0.0.1"]).unwrap()),
        ClientTls::Optional,
    );
    let mut inside = connect(&proxy, trusting(&authority)).unwrap();
    assert_eq!(value(&mut inside, "SELECT 40 + 2"), "42");
    assert_eq!(
        value(&mut proxy.connect(None), "SELECT 1"),
        "1",
        "in the clear as before"
    );
    assert!(
        connect(&proxy, trusting(&stranger)).is_err(),
        "the client checks who answers"
    );
    // A statement and a result of many records, and of more than one packet.
    let text = "x".repeat(17 << 20);
    assert_eq!(
        value(&mut inside, &format!("SELECT LENGTH('{text}')")),
        text.len().to_string()
    );
    assert_eq!(value(&mut inside, "SELECT REPEAT('x', 17 << 20)"), text);
    let rows: Vec<u32> = inside
        .query("SELECT seq FROM mysql.seq_1_to_100000 WHERE LENGTH(REPEAT('y', 100)) = 100")
        .unwrap();
    assert_eq!((rows.len(), rows[99_999]), (100_000, 100_000));
    inside.change_user(mysql::ChangeUserOpts::DEFAULT).unwrap();
    assert_eq!(value(&mut inside, "SELECT 1"), "1");

    let address = proxy.running().listen_address();
    let ca = format!("--ssl-ca={}", authority.certificate().display());
    for version in ["TLSv1.2", "TLSv1.3"] {
        let version = format!("--tls-version={version}");
        let output = shown(&mariadb(address, &[&ca, "--ssl-verify-server-cert", &version]));
        assert!(
            output.starts_with("1\n") && output.contains("Cipher in use is"),
            "{output}"
        );
    }
    let other = format!("--ssl-ca={}", stranger.certificate().display());
    let output = shown(&mariadb(address, &[&other, "--ssl-verify-server-cert"]));
    assert!(output.contains("ERROR 2026"), "{output}");
    let output = shown(&mariadb(address, &["--skip-ssl"]));
    assert!(
        output.starts_with("1\n") && output.contains("Not in use"),
        "{output}"
    );
}

/// Their records go together, where several clients are answered in one turn of the worker, unless they are long.
#[test]
fn many_clients_at_once_have_their_own_answers() {
    const CLIENTS: usize = 24;
    let authority = Authority::new().unwrap();
    let files = files(&authority.issue("proxy", &["127.0.0.1"]).unwrap());
    let proxy = start(&Setup {
        options: Box::new(move |options: &mut Options| {
            options.tls = files.clone();
            options.workers = Some(NonZeroUsize::MIN);
        }),
        configuration: Box::new(|configuration: &mut Configuration| {
            configuration.users[0].tls = ClientTls::Required;
        }),
        ..Setup::default()
    });
    let together = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (proxy, authority, together) = (&proxy, &authority, &together);
            scope.spawn(move || {
                let mut connection = connect(proxy, trusting(authority)).unwrap();
                together.wait();
                for round in 0..200 {
                    let length = [0, 3_000, 5_000, 70_000][(client + round) % 4];
                    let asked = format!("SELECT CONCAT('{client} {round} ', REPEAT('x', {length}))");
                    let answer = value(&mut connection, &asked);
                    assert_eq!(answer, format!("{client} {round} {}", "x".repeat(length)));
                }
            });
        }
    });
}

#[test]
fn a_proxy_without_a_certificate_offers_none() {
    let proxy = start(&Setup::default());
    let output = shown(&mariadb(proxy.running().listen_address(), &["--ssl"]));
    assert!(
        output.starts_with("1\n") && output.contains("Not in use"),
        "{output}"
    );
    let refused = connect(&proxy, trusting(&Authority::new().unwrap())).unwrap_err();
    assert!(
        refused.to_string().contains("requires secure connection"),
        "{refused}"
    );
}

#[test]
fn a_user_who_must_use_tls() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(
        files(&authority.issue("proxy", &["127.0.0.1"]).unwrap()),
        ClientTls::Required,
    );
    let plain = proxy.try_connect(USER, PASSWORD, None).unwrap_err();
    let mysql::Error::MySqlError(plain) = plain else {
        panic!("{plain}")
    };
    assert_eq!(plain.code, 3159);
    assert!(
        plain.message.contains("user 'app' must connect with TLS"),
        "{}",
        plain.message
    );
    // Who does not know the password learns nothing of it.
    let wrong = proxy.try_connect(USER, "wrong", None).unwrap_err();
    assert!(matches!(wrong, mysql::Error::MySqlError(error) if error.code == 1045));
    assert_eq!(
        value(&mut connect(&proxy, trusting(&authority)).unwrap(), "SELECT 1"),
        "1"
    );
    proxy.try_connect("other", PASSWORD, None).unwrap();
    // Nor does a login in the clear change into this user.
    let mut other = proxy.try_connect("other", PASSWORD, None).unwrap();
    let options = mysql::ChangeUserOpts::new()
        .with_user(Some(USER.to_owned()))
        .with_pass(Some(PASSWORD.to_owned()));
    assert!(other.change_user(options).is_err());
}

#[test]
fn a_user_who_must_show_a_certificate() {
    let (authority, clients, stranger) = (
        Authority::new().unwrap(),
        Authority::new().unwrap(),
        Authority::new().unwrap(),
    );
    let mut files = files(&authority.issue("proxy", &["127.0.0.1"]).unwrap());
    files.client_ca = Some(clients.certificate());
    let proxy = start_with(files, ClientTls::Certificate);
    let with = |pair: &Pair| {
        trusting(&authority).with_client_identity(Some(ClientIdentity::new(
            pair.certificate.clone(),
            pair.key.clone(),
        )))
    };
    let known = clients.issue("client", &["client"]).unwrap();
    assert_eq!(
        value(&mut connect(&proxy, with(&known)).unwrap(), "SELECT 1"),
        "1"
    );
    let without = connect(&proxy, trusting(&authority)).unwrap_err();
    assert!(
        without.to_string().contains("must show a certificate"),
        "{without}"
    );
    assert!(connect(&proxy, with(&stranger.issue("client", &["client"]).unwrap())).is_err());
    let ca = format!("--ssl-ca={}", authority.certificate().display());
    let (cert, key) = (
        format!("--ssl-cert={}", known.certificate.display()),
        format!("--ssl-key={}", known.key.display()),
    );
    let output = shown(&mariadb(proxy.running().listen_address(), &[&ca, &cert, &key]));
    assert!(output.starts_with("1\n"), "{output}");
}

#[test]
fn what_users_need_is_checked_before_it_is_served() {
    let proxy = start(&Setup::default());
    let setup = Setup {
        configuration: Box::new(|configuration| {
            configuration.users[0].tls = ClientTls::Required;
            configuration.users[1].tls = ClientTls::Certificate;
        }),
        ..Setup::default()
    };
    let secret = proxy.directory.path().join("secret");
    let configuration = crate::support::configuration(&setup, &secret);
    let refused = crate::support::apply(&mut proxy.admin(), &configuration)
        .unwrap_err()
        .to_string();
    for part in [
        "users.app: the user could not log in with TLS: start the proxy with --tls-cert and --tls-key",
        "users.other: the user could not log in with TLS: start the proxy with --tls-client-ca",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn certificates_and_passwords_are_read_again() {
    let (old, new) = (Authority::new().unwrap(), Authority::new().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let pair = old.issue_into(directory.path(), "proxy", &["127.0.0.1"]).unwrap();
    let proxy = start_with(files(&pair), ClientTls::Optional);
    let mut session = connect(&proxy, trusting(&old)).unwrap();
    session.query_drop("SET @kept = 7").unwrap();
    let reload =
        |proxy: &TestProxy| -> Vec<(String, String)> { proxy.admin().query("SHARDWRIGHT RELOAD").unwrap() };

    std::fs::write(&pair.key, "no key").unwrap();
    let secret = proxy.directory.path().join("secret");
    std::fs::remove_file(&secret).unwrap();
    let problems = reload(&proxy);
    let addresses: Vec<&str> = problems.iter().map(|(address, _)| address.as_str()).collect();
    assert_eq!(addresses, ["users.app", "users.other", "tls"], "{problems:?}");
    connect(&proxy, trusting(&old)).unwrap();

    new.issue_into(directory.path(), "proxy", &["127.0.0.1"]).unwrap();
    std::fs::write(&secret, "another-password").unwrap();
    assert_eq!(reload(&proxy), []);
    assert!(connect(&proxy, trusting(&old)).is_err());
    let refused = connect(&proxy, trusting(&new)).unwrap_err();
    assert!(refused.to_string().contains("Access denied"), "{refused}");
    let options = ClientOptions {
        user: USER,
        password: "another-password",
        schema: None,
    };
    let options = options.tcp(proxy.running().listen_address());
    Conn::new(options.ssl_opts(Some(trusting(&new)))).unwrap();
    assert_eq!(value(&mut session, "SELECT @kept"), "7", "a session goes on");
}

/// A client of its own: what it sends when is the test's.
struct RawClient {
    stream: TcpStream,
}

impl RawClient {
    fn connect(proxy: &TestProxy) -> Self {
        let stream = TcpStream::connect(proxy.running().listen_address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream }
    }

    fn packet(&mut self) -> Vec<u8> {
        packet(&mut self.stream).unwrap()
    }

    /// Everything until the proxy closes.
    fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _end = self.stream.read_to_end(&mut rest);
        rest
    }
}

pub(crate) fn rustls_client(ca: &Path) -> ClientConnection {
    use rustls::pki_types::pem::PemObject;
    let mut roots = RootCertStore::empty();
    roots
        .add(rustls::pki_types::CertificateDer::from_pem_file(ca).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    ClientConnection::new(Arc::new(config), ServerName::try_from("127.0.0.1").unwrap()).unwrap()
}

/// The request for TLS and the first bytes of TLS come in one read, as from clients that do not wait in between.
#[test]
fn a_client_may_begin_tls_in_the_same_write() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(
        files(&authority.issue("proxy", &["127.0.0.1"]).unwrap()),
        ClientTls::Required,
    );
    let mut client = RawClient::connect(&proxy);
    let greeting = ClientLogin::greeting(&client.packet()).unwrap();
    let mut bytes = framed(1, &ClientLogin::tls_request(&greeting, &credentials()));
    let mut tls = rustls_client(&authority.certificate());
    tls.write_tls(&mut bytes).unwrap();
    client.stream.write_all(&bytes).unwrap();
    let mut stream = rustls::StreamOwned::new(tls, client.stream);
    let (mut login, answer) = ClientLogin::start(&greeting, &credentials(), Privacy::Tls).unwrap();
    stream.write_all(&framed(2, &answer)).unwrap();
    stream.flush().unwrap();
    let answer = packet(&mut stream).unwrap();
    assert!(matches!(login.on_payload(&answer), Ok(ClientStep::Ready { .. })));
    stream.write_all(&framed(0, b"\x03SELECT 'inside'")).unwrap();
    assert_eq!(packet(&mut stream).unwrap(), [1], "one column");
    // The end is announced: without it this would be an error.
    stream.write_all(&framed(0, b"\x01")).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.windows(6).any(|bytes| bytes == b"inside"));
}

/// Whoever is on the way puts packets behind the request for TLS: they must not count as sent inside.
#[test]
fn nothing_in_the_clear_counts_as_sent_inside() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(
        files(&authority.issue("proxy", &["127.0.0.1"]).unwrap()),
        ClientTls::Optional,
    );
    let schema = crate::support::schema("tls_injected");
    let mut client = RawClient::connect(&proxy);
    let greeting = ClientLogin::greeting(&client.packet()).unwrap();
    let (_, answer) = ClientLogin::start(&greeting, &credentials(), Privacy::Plain).unwrap();
    let statement = format!("\x03CREATE TABLE {schema}.injected (id INT)");
    let bytes = [
        framed(1, &ClientLogin::tls_request(&greeting, &credentials())),
        framed(2, &answer),
        framed(0, statement.as_bytes()),
    ];
    client.stream.write_all(&bytes.concat()).unwrap();
    let rest = client.rest();
    assert!(
        rest.is_empty() || rest[0] == 0x15,
        "an alert of TLS or nothing: {rest:?}"
    );
    let tables = format!("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{schema}'");
    assert_eq!(value(&mut proxy.connect(None), &tables), "0");
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 0);
}

#[test]
fn handshakes_of_no_client_end_and_nobody_notices() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(
        files(&authority.issue("proxy", &["127.0.0.1"]).unwrap()),
        ClientTls::Optional,
    );
    let mut bystander = connect(&proxy, trusting(&authority)).unwrap();
    let mut hello = Vec::new();
    rustls_client(&authority.certificate())
        .write_tls(&mut hello)
        .unwrap();
    let mut random = vec![0_u8; 3000];
    getrandom(&mut random);
    let huge = [&[0x16, 3, 1, 0xFF, 0xFF][..], &random].concat();
    let endless = [&[0x16, 3, 1, 0x40, 0, 1, 0xFF, 0xFF, 0xFF][..], &vec![0; 16_380]].concat();
    let many: Vec<u8> = endless.repeat(40);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("half a hello", hello[..hello.len() / 2].to_vec()),
        ("a hello and silence", hello.clone()),
        ("a hello and random bytes", [hello.as_slice(), &random].concat()),
        ("random bytes", random.clone()),
        ("a record that is too long", huge),
        ("a hello without end", many),
        ("an alert", vec![0x15, 3, 3, 0, 2, 2, 40]),
        (
            "application data",
            [&[0x17, 3, 3, 0, 100][..], &random[..100]].concat(),
        ),
    ];
    for (what, bytes) in cases {
        let mut client = RawClient::connect(&proxy);
        let greeting = ClientLogin::greeting(&client.packet()).unwrap();
        let request = framed(1, &ClientLogin::tls_request(&greeting, &credentials()));
        client.stream.write_all(&request).unwrap();
        // The proxy may close while it is being sent to.
        let _sent = client.stream.write_all(&bytes);
        client.rest();
        assert_eq!(value(&mut bystander, "SELECT 1"), "1", "{what}");
    }
    shardwright_testkit::eventually(PATIENCE, || proxy.running().sessions() == 1);
    let panics = "SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = 'Session_Panics'";
    assert_eq!(value(&mut proxy.admin(), panics), "0");
}

fn getrandom(bytes: &mut [u8]) {
    std::fs::File::open("/dev/urandom")
        .unwrap()
        .read_exact(bytes)
        .unwrap();
}

/// A client that reads slowly while TLS holds back what the socket does not take.
#[test]
fn a_slow_reader_gets_every_byte() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(
        files(&authority.issue("proxy", &["127.0.0.1"]).unwrap()),
        ClientTls::Optional,
    );
    let mut client = connect(&proxy, trusting(&authority)).unwrap();
    let rows = client
        .query_iter("SELECT seq, REPEAT(CHAR(65 + seq % 26), 20000) FROM mysql.seq_1_to_2000")
        .unwrap();
    let mut count = 0;
    for row in rows {
        let (seq, text): (u32, String) = mysql::from_row(row.unwrap());
        count += 1;
        assert_eq!(seq, count);
        let letter = char::from(b'A' + (seq % 26) as u8);
        assert!(text.len() == 20_000 && text.chars().all(|c| c == letter));
        if seq % 500 == 0 {
            // Meanwhile the server fills every buffer on the way.
            assert_eq!(server().run("SELECT 1").unwrap().len(), 1);
        }
    }
    assert_eq!(count, 2000);
    assert_eq!(try_value(&mut client, "SELECT 1").unwrap(), "1");
}
