//! A proxy on a data directory that is empty, damaged or incomplete: what it serves, and what it says of that.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use shardwright_proxy::{Listen, Options, Proxy};
use shardwright_rules::ClientTls;
use shardwright_testkit::{Authority, ReservedPort};

use crate::support::{
    ADMIN_PASSWORD, Setup, TestProxy, apply, configuration, observe, problems, start, start_on, value,
    write_secret,
};

/// A proxy with this limit of a user as its last generation, applied to a running one.
fn apply_limit(proxy: &TestProxy, limit: u32) {
    let mut new = configuration(&Setup::default(), &write_secret(&proxy.directory));
    new.users[0].max_connections = limit;
    apply(&mut proxy.admin(), &new).unwrap();
}

fn stop(mut proxy: TestProxy) -> Arc<tempfile::TempDir> {
    proxy.running.take().unwrap().shutdown();
    Arc::clone(&proxy.directory)
}

#[test]
fn a_proxy_on_an_empty_directory_waits_for_a_first_apply() {
    let port = ReservedPort::new().unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], port.number()));
    for listen in [Listen::Only(address), Listen::Configured { otherwise: address }] {
        let setup = Setup {
            options: Box::new(move |options| options.listen = listen),
            ..Setup::default()
        };
        let proxy = start_on(Arc::new(tempfile::tempdir().unwrap()), &setup);
        assert!(!proxy.running().is_serving());
        assert_eq!(proxy.running().listen_places(), Vec::<String>::new());
        let refused = TcpStream::connect(address).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        let told = [("data_dir", "waiting for a first apply; clients are not served")];
        assert_eq!(
            problems(&mut proxy.admin()),
            told.map(|(about, problem)| (about.to_owned(), problem.to_owned()))
        );
        apply_limit(&proxy, 7);
        assert!(proxy.running().is_serving());
        assert_eq!(proxy.running().listen_places(), [address.to_string()]);
        assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
        assert_eq!(problems(&mut proxy.admin()), []);
    }
}

/// Changes one byte of the configuration that was stored last with this limit.
fn damage(database: &Path, limit: u32) {
    let content = std::fs::read(database).unwrap();
    let text = format!("\"max_connections\":{limit},");
    let at = content
        .windows(text.len())
        .rposition(|window| window == text.as_bytes())
        .unwrap();
    let file = File::options().write(true).open(database).unwrap();
    file.write_all_at(b"#", at as u64).unwrap();
}

#[test]
fn a_damaged_last_generation_leaves_the_one_before_it() {
    let proxy = start(&Setup::default());
    for limit in 1001..=1009 {
        apply_limit(&proxy, limit);
    }
    let last = observe(&mut proxy.admin());
    assert_eq!(last.0, 10);
    let directory = stop(proxy);
    damage(&directory.path().join("data/shardwright.db"), 1009);
    let proxy = start_on(Arc::clone(&directory), &Setup::default());
    let mut admin = proxy.admin();
    let served = observe(&mut admin);
    assert_eq!(served.0, 9);
    assert!(served.2.contains("\"max_connections\":1008,"), "{}", served.2);
    assert_eq!(value(&mut proxy.connect(None), "SELECT 1"), "1");
    let told = problems(&mut admin);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "data_dir");
    assert!(told[0].1.contains("generation 10 is damaged"), "{told:?}");
    // An apply makes up for it, with a number that is new.
    apply_limit(&proxy, 1009);
    assert_eq!(observe(&mut admin).0, 11);
    assert_eq!(problems(&mut admin), []);
    drop(admin);
    let directory = stop(proxy);
    let proxy = start_on(directory, &Setup::default());
    assert_eq!(observe(&mut proxy.admin()).1, last.1);
    assert_eq!(problems(&mut proxy.admin()), []);
}

/// An older generation might serve without what the last one asks for.
#[test]
fn a_whole_generation_that_cannot_be_served_is_not_passed_over() {
    let authority = Authority::new().unwrap();
    let pair = authority.issue("proxy", &["127.0.0.1"]).unwrap();
    let proxy = start(&Setup {
        options: Box::new(move |options| {
            options.tls.certificate = Some(pair.certificate.clone());
            options.tls.key = Some(pair.key.clone());
        }),
        ..Setup::default()
    });
    let mut new = configuration(&Setup::default(), &write_secret(&proxy.directory));
    new.users[0].tls = ClientTls::Required;
    apply(&mut proxy.admin(), &new).unwrap();
    let directory = stop(proxy);
    let error = Proxy::start(options(directory.path())).unwrap_err().to_string();
    assert!(
        error.starts_with("generation 2 in the data directory is whole and cannot be served: users.app: "),
        "{error}"
    );
    assert!(error.contains("--tls-cert"), "{error}");
}

fn options(directory: &Path) -> Options {
    let any = "127.0.0.1:0".parse().unwrap();
    let mut options = Options::new(any, any, directory.join("data"));
    options.admin_password = Some(ADMIN_PASSWORD.to_owned().into());
    options
}

#[test]
fn nothing_starts_where_a_configuration_has_to_be_and_is_not() {
    let directory = stop(start(&Setup::default()));
    std::fs::remove_file(directory.path().join("data/shardwright.db")).unwrap();
    let error = Proxy::start(options(directory.path())).unwrap_err().to_string();
    assert!(error.contains("generation 1 was applied"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let mut options = options(empty.path());
    options.requires_configuration = true;
    let error = Proxy::start(options).unwrap_err().to_string();
    assert!(error.contains("--require-configuration"), "{error}");
}

#[test]
fn every_file_of_a_running_proxy_is_its_own() {
    let proxy = start(&Setup::default());
    let entries = std::fs::read_dir(proxy.directory.path().join("data")).unwrap();
    let modes: Vec<(String, u32)> = entries
        .map(|entry| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            (entry.file_name().to_string_lossy().into_owned(), mode)
        })
        .collect();
    assert!(modes.len() >= 4, "{modes:?}");
    assert!(modes.iter().all(|(_, mode)| *mode == 0o600), "{modes:?}");
}
