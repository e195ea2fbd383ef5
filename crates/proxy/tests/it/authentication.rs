//! Authentication of clients by every method, and with secrets that are hashes.

use std::path::Path;

use mysql::{Conn, SslOpts};
use shardwright_proxy::TlsFiles;
use shardwright_rules::SecretReference;
use shardwright_testkit::{Authority, ClientOptions};

use crate::support::{PASSWORD, Setup, TestProxy, USER, error, mariadb, server, start, value};

/// What `mysql.user` of a MySQL 8 has for `hashcat` (hashcat's example of mode 7401).
pub(crate) const STORED: &str = "0x24412430303524F9CC98CE08892924F50A213B6BC571A2C11778C5\
    625479393559393965414D45316477456B484F41316E64484742577A2E3162785353526B7554584647562F";

/// MariaDB goes on with the former user, in a session that begins anew, and takes no more after three failures.
#[test]
fn a_client_that_fails_to_become_another_user_is_the_one_that_it_was() {
    if shardwright_testkit::Flavour::default().is_mysql() {
        return;
    }
    let name = crate::support::schema("change_fails");
    let proxy = start(&Setup::default());
    let mut both = [crate::several::direct(&name), proxy.connect(Some(&name))];
    let [expected, found] = both.each_mut().map(|client| {
        let mut seen = Vec::new();
        for (user, password) in [
            ("other", "wrong"),
            ("other", PASSWORD),
            ("nobody", PASSWORD),
            (USER, "wrong"),
            (USER, PASSWORD),
            ("nobody", PASSWORD),
        ] {
            let text = "SET @a = 5, sql_select_limit = 7; BEGIN";
            for sql in text.split("; ") {
                mysql::prelude::Queryable::query_drop(client, sql).unwrap();
            }
            let options = mysql::ChangeUserOpts::new()
                .with_user(Some(user.to_owned()))
                .with_pass(Some(password.to_owned()));
            let code = match client.change_user(options) {
                Ok(()) => 0,
                Err(mysql::Error::MySqlError(error)) => error.code,
                Err(other) => panic!("{user}: {other}"),
            };
            let probe = "SELECT CURRENT_USER(), IFNULL(DATABASE(), ''), IFNULL(@a, ''), @@sql_select_limit > 7, @@in_transaction";
            seen.push((code, crate::resets::try_text(client, probe)));
        }
        seen
    });
    let codes: Vec<u16> = found.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, [1045, 0, 1045, 1045, 1047, 1047]);
    assert_eq!(found, expected);
}

/// A proxy with a certificate whose user `app` has this secret, or `stored` in place of the other user.
fn setup(path: &Path, user: &'static str, authority: &Authority) -> Setup {
    let pair = authority.issue("proxy", &["127.0.0.1"]).unwrap();
    let path = path.display().to_string();
    Setup {
        options: Box::new(move |options| {
            options.tls = TlsFiles {
                certificate: Some(pair.certificate.clone()),
                key: Some(pair.key.clone()),
                ..TlsFiles::default()
            };
        }),
        configuration: Box::new(move |configuration| {
            let changed = &mut configuration.users[usize::from(user != USER)];
            changed.name = user.to_owned();
            changed.address = format!("users.{user}").into();
            changed.password = Some(SecretReference::File(path.clone()));
        }),
        ..Setup::default()
    }
}

fn start_with(secret: &str, authority: &Authority) -> TestProxy {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    std::fs::write(&path, secret).unwrap();
    start(&setup(&path, USER, authority))
}

fn connect(proxy: &TestProxy, password: &str, tls: Option<&Authority>) -> mysql::Result<Conn> {
    connect_as(proxy, USER, password, tls)
}

fn connect_as(proxy: &TestProxy, user: &str, password: &str, tls: Option<&Authority>) -> mysql::Result<Conn> {
    let options = ClientOptions {
        user,
        password,
        schema: None,
    };
    let ssl = tls.map(|authority| SslOpts::default().with_root_cert_path(Some(authority.certificate())));
    Conn::new(options.tcp(proxy.running().listen_address()).ssl_opts(ssl))
}

/// What the `mariadb` command shows when it insists on a method.
fn by_method(proxy: &TestProxy, method: &str, password: &str, arguments: &[&str]) -> String {
    let method = format!("--default-auth={method}");
    let arguments = [&[&*method], arguments].concat();
    let to = proxy.running().listen_address();
    mariadb(to, (USER, password), &arguments, "SELECT 'in'")
}

fn is_denied(result: &mysql::Result<Conn>) -> bool {
    matches!(result, Err(mysql::Error::MySqlError(error)) if error.code == 1045)
}

#[test]
fn clients_bring_the_method_they_like() {
    let authority = Authority::new().unwrap();
    let proxy = start_with(PASSWORD, &authority);
    let ca = format!("--ssl-ca={}", authority.certificate().display());
    for method in ["caching_sha2_password", "mysql_native_password"] {
        for arguments in [&["--skip-ssl"][..], &[&ca, "--ssl-verify-server-cert"]] {
            assert_eq!(
                by_method(&proxy, method, PASSWORD, arguments),
                "in\n",
                "{method} {arguments:?}"
            );
            let denied = by_method(&proxy, method, "wrong", arguments);
            assert!(denied.contains("ERROR 1045"), "{method} {arguments:?}: {denied}");
            let denied = by_method(&proxy, method, "", arguments);
            assert!(
                denied.contains("using password: NO"),
                "{method} {arguments:?}: {denied}"
            );
        }
    }
    // A method that the proxy does not speak is changed for one that it does.
    assert_eq!(
        by_method(&proxy, "client_ed25519", PASSWORD, &["--skip-ssl"]),
        "in\n"
    );
}

#[test]
fn a_native_hash_in_place_of_the_password() {
    let authority = Authority::new().unwrap();
    let hash = server().run(format!("SELECT PASSWORD('{PASSWORD}')")).unwrap()[0][0]
        .clone()
        .unwrap();
    let proxy = start_with(&hash, &authority);
    assert!(is_denied(&connect(&proxy, "wrong", None)));
    assert!(is_denied(&connect(&proxy, &hash, None)), "a hash is no password");
    assert!(is_denied(&connect(&proxy, "", None)));
    // A native answer is all that servers need that speak it.
    let mut client = connect(&proxy, PASSWORD, None).unwrap();
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    let ca = format!("--ssl-ca={}", authority.certificate().display());
    let sha2 = |arguments: &[&str]| by_method(&proxy, "caching_sha2_password", PASSWORD, arguments);
    assert_eq!(sha2(&["--skip-ssl"]), "in\n", "changed to native");
    assert_eq!(sha2(&[&ca]), "in\n", "the password itself, inside TLS");
    assert_eq!(
        sha2(&["--skip-ssl"]),
        "in\n",
        "fast, now that the password is known"
    );
}

#[test]
fn a_stored_hash_in_place_of_the_password() {
    let authority = Authority::new().unwrap();
    let root = "GRANT ALL PRIVILEGES ON *.* TO stored@'%' IDENTIFIED BY 'hashcat'";
    server().run(root).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    std::fs::write(&path, STORED).unwrap();
    let setup = setup(&path, "stored", &authority);
    let proxy = start(&setup);
    let connect = |password, tls: Option<&Authority>| connect_as(&proxy, "stored", password, tls);
    assert!(is_denied(&connect("wrong", None)), "by the public key");
    assert!(is_denied(&connect("wrong", Some(&authority))), "inside TLS");
    // The crate encrypts the password with the key that it asks for.
    assert_eq!(
        value(&mut connect("hashcat", None).unwrap(), "SELECT USER()"),
        "stored@127.0.0.1"
    );
    assert_eq!(
        value(&mut connect("hashcat", Some(&authority)).unwrap(), "SELECT 1"),
        "1"
    );
    assert!(
        is_denied(&connect("wrong", None)),
        "also when the password is known"
    );
    // An apply and a reload do not forget what clients have shown.
    let secret = proxy.directory.path().join("secret");
    let mut configuration = crate::support::configuration(&setup, &secret);
    configuration.users[0].max_connections = 7;
    crate::support::apply(&mut proxy.admin(), &configuration).unwrap();
    assert_eq!(proxy.running().reload(), Vec::<String>::new());
    let mut client = connect("hashcat", None).unwrap();
    assert_eq!(value(&mut client, "SELECT 1"), "1");

    // A proxy that knows the hash alone lets a client in by its password, inside TLS.
    let fresh = start(&setup);
    let mut client = connect_as(&fresh, "stored", "hashcat", Some(&authority)).unwrap();
    assert_eq!(value(&mut client, "SELECT 1"), "1");
    // Another user's session changes into this one, by its method.
    let mut other = fresh.connect(None);
    let change = |password: &str| {
        mysql::ChangeUserOpts::new()
            .with_user(Some("stored".to_owned()))
            .with_pass(Some(password.to_owned()))
    };
    other.change_user(change("hashcat")).unwrap();
    assert_eq!(value(&mut other, "SELECT USER()"), "stored@127.0.0.1");
    assert_eq!(error(&mut other, "SELECT nope").0, 1054);
    assert!(fresh.connect(None).change_user(change("wrong")).is_err());
}
