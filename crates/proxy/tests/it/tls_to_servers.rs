//! TLS and authentication towards servers: a real MariaDB with a certificate, and a door that speaks MySQL 8's method.

use mysql::prelude::Queryable;
use shardwright_proxy::{Options, TlsFiles};
use shardwright_rules::{Configuration, SecretReference, ServerTls};
use shardwright_testkit::{Authority, MariaDb};

use crate::door::{self, Cache};
use crate::support::{PASSWORD, Setup, TestProxy, USER, create_users, error, start, value};

const CIPHER: &str =
    "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_cipher'";

/// A proxy in front of one server by this name.
fn in_front_of(host: &str, port: u16, tls: ServerTls, options: impl Fn(&mut Options) + 'static) -> TestProxy {
    let host = host.to_owned();
    start(&Setup {
        options: Box::new(move |all| {
            all.limits.checkout_timeout = std::time::Duration::from_millis(300);
            options(all);
        }),
        configuration: Box::new(move |configuration: &mut Configuration| {
            for hostgroup in &mut configuration.hostgroups {
                for member in &mut hostgroup.members {
                    member.tls = tls;
                    member.host.clone_from(&host);
                }
            }
        }),
        port,
        ..Setup::default()
    })
}

fn trusting(authority: &Authority) -> impl Fn(&mut Options) + 'static {
    let ca = authority.certificate();
    move |options| {
        options.tls = TlsFiles {
            server_ca: Some(ca.clone()),
            ..TlsFiles::default()
        };
    }
}

#[test]
fn each_setting_is_what_it_says() {
    let (authority, stranger) = (Authority::new().unwrap(), Authority::new().unwrap());
    let pair = authority.issue("server", &["127.0.0.1", "db.example"]).unwrap();
    let server = MariaDb::start(
        shardwright_testkit::Options::default()
            .arg(format!("--ssl-cert={}", pair.certificate.display()))
            .arg(format!("--ssl-key={}", pair.key.display())),
    )
    .unwrap();
    create_users(&server);
    let plain = crate::support::server();
    let cipher = |proxy: &TestProxy| value(&mut proxy.connect(None), CIPHER);
    for tls in [ServerTls::Preferred, ServerTls::Required] {
        let proxy = in_front_of("127.0.0.1", server.port(), tls, |_| ());
        assert!(cipher(&proxy).starts_with("TLS_"), "{tls}");
    }
    let proxy = in_front_of("127.0.0.1", server.port(), ServerTls::Disabled, |_| ());
    assert_eq!(cipher(&proxy), "");
    let socket = server.socket();
    let proxy = in_front_of(socket.to_str().unwrap(), 0, ServerTls::Preferred, |_| ());
    assert_eq!(cipher(&proxy), "", "a unix socket is private without it");
    let proxy = in_front_of(
        "127.0.0.1",
        server.port(),
        ServerTls::Verify,
        trusting(&authority),
    );
    assert!(cipher(&proxy).starts_with("TLS_"));
    // Statements and answers of many records.
    let text = "z".repeat(2 << 20);
    let mut client = proxy.connect(None);
    assert_eq!(value(&mut client, &format!("SELECT REVERSE('{text}')")), text);
    let rows: Vec<u32> = client.query("SELECT seq FROM mysql.seq_1_to_50000").unwrap();
    assert_eq!((rows.len(), rows[49_999]), (50_000, 50_000));

    let proxy = in_front_of("127.0.0.1", plain.port(), ServerTls::Preferred, |_| ());
    assert_eq!(cipher(&proxy), "", "a server without TLS");
    let refused = |proxy: &TestProxy| error(&mut proxy.connect(None), "SELECT 1").1;
    let proxy = in_front_of("127.0.0.1", plain.port(), ServerTls::Required, |_| ());
    let text = refused(&proxy);
    assert!(text.contains("the server offers no TLS"), "{text}");
    let proxy = in_front_of("127.0.0.1", server.port(), ServerTls::Verify, trusting(&stranger));
    let text = refused(&proxy);
    assert!(text.contains("invalid peer certificate"), "{text}");
    let proxy = in_front_of(
        "localhost",
        server.port(),
        ServerTls::Verify,
        trusting(&authority),
    );
    let text = refused(&proxy);
    assert!(text.contains("not valid for name"), "{text}");
}

#[test]
fn a_certificate_that_cannot_be_checked_is_not_waited_for() {
    let proxy = start(&Setup::default());
    let setup = Setup {
        configuration: Box::new(|configuration| {
            configuration.hostgroups[1].members[0].tls = ServerTls::Verify
        }),
        ..Setup::default()
    };
    let secret = proxy.directory.path().join("secret");
    let configuration = crate::support::configuration(&setup, &secret);
    let refused = crate::support::apply(&mut proxy.admin(), &configuration)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains(
            "clusters.b.servers.b1: its certificate is to be checked: start the proxy with --tls-server-ca"
        ),
        "{refused}"
    );
}

#[test]
fn servers_that_speak_caching_sha2() {
    let authority = Authority::new().unwrap();
    let pair = authority.issue("server", &["127.0.0.1"]).unwrap();
    let key_allowed = |options: &mut Options| options.allow_public_key_retrieval = true;
    let (fast, password, encrypted) = ("fast", "password", "encrypted password");
    for (cache, tls, expected) in [
        (Cache::Warm, ServerTls::Disabled, fast),
        (Cache::Warm, ServerTls::Required, fast),
        (Cache::Cold, ServerTls::Required, password),
        (Cache::Cold, ServerTls::Disabled, encrypted),
    ] {
        let door = door::open(cache, Some(&pair));
        let proxy = in_front_of("127.0.0.1", door.port, tls, key_allowed);
        let mut client = proxy.connect(None);
        assert_eq!(value(&mut client, "SELECT 40 + 2"), "42", "{cache:?} {tls}");
        assert_eq!(*door.logins.lock().unwrap(), [expected], "{cache:?} {tls}");
    }
    // In the clear, the password is not given away without leave.
    let door = door::open(Cache::Cold, None);
    let proxy = in_front_of("127.0.0.1", door.port, ServerTls::Preferred, |_| ());
    let (code, text) = error(&mut proxy.connect(None), "SELECT 1");
    assert_eq!(code, 2059, "{text}");
    assert!(text.contains("set `tls` of the cluster"), "{text}");
    assert!(door.logins.lock().unwrap().is_empty());
}

#[test]
fn a_native_hash_does_not_answer_a_server_that_speaks_caching_sha2() {
    let door = door::open(Cache::Warm, None);
    let hash = crate::support::server()
        .run(format!("SELECT PASSWORD('{PASSWORD}')"))
        .unwrap()[0][0]
        .clone()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hash");
    std::fs::write(&path, hash).unwrap();
    let proxy = start(&Setup {
        configuration: Box::new(move |configuration| {
            configuration.users[0].password = Some(SecretReference::File(path.display().to_string()));
        }),
        port: door.port,
        ..Setup::default()
    });
    let mut client = proxy.try_connect(USER, PASSWORD, None).unwrap();
    let (code, text) = error(&mut client, "SELECT 1");
    assert_eq!(code, 2059, "{text}");
    assert!(
        text.contains("only its mysql_native_password hash is known"),
        "{text}"
    );
}
