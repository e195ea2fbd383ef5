//! Listeners of the configuration: opened and closed by an apply, or not at all.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use shardwright_proxy::{Listen, Proxy};
use shardwright_rules::{Configuration, EngineRule, Listener, SecretReference};
use shardwright_testkit::{ReservedPort, eventually};
use shardwright_wire::{BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, Privacy};

use crate::authentication::STORED;
use crate::raw::{credentials, packet, send};
use crate::support::{
    PASSWORD, PATIENCE, Setup, TestProxy, USER, apply, configuration, error, observe, rule, start_on, value,
    write_secret,
};

/// A proxy that opens what its configuration says, and that configuration without listeners.
fn proxy() -> (TestProxy, Configuration) {
    let directory = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let setup = Setup {
        options: Box::new(|options| {
            options.listen = Listen::Configured {
                otherwise: "127.0.0.1:0".parse().unwrap(),
            };
        }),
        ..Setup::default()
    };
    let secret = write_secret(&directory);
    let configuration = configuration(&setup, &secret);
    (start_on(directory, &setup), configuration)
}

fn port(name: &str, bind: &str, port: u16) -> Listener {
    Listener::on_port(name, format!("listeners.{name}").into(), bind, port)
}

fn socket(name: &str, path: &Path) -> Listener {
    port(name, path.to_str().unwrap(), 0)
}

fn connect(port: u16) -> mysql::Result<Conn> {
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    shardwright_testkit::connect(address, login())
}

fn login() -> shardwright_testkit::ClientOptions<'static> {
    shardwright_testkit::ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: None,
    }
}

fn connect_to(path: &Path) -> mysql::Result<Conn> {
    let options = OptsBuilder::new()
        .socket(path.to_str())
        .prefer_socket(false)
        .user(Some(USER))
        .pass(Some(PASSWORD));
    Conn::new(options)
}

/// Answers `SELECT 'where'` with the name of what the session came in through.
fn answer(configuration: &mut Configuration, id: u32, name: &str, row: EngineRule) {
    let row = EngineRule {
        match_digest: Some("where".into()),
        error_msg: Some(format!("through {name}")),
        apply: true,
        ..row
    };
    configuration.graph.rules.insert(0, rule(id, row));
    configuration.graph.rules.sort_by_key(|rule| rule.id);
}

#[test]
fn an_apply_opens_and_closes_listeners_and_sessions_go_on() {
    let (proxy, mut configuration) = proxy();
    let mut admin = proxy.admin();
    let path = proxy.directory.path().join("rw.sock");
    let reserved = [(); 2].map(|()| ReservedPort::new().unwrap());
    let [rw, ro] = reserved.each_ref().map(ReservedPort::number);
    configuration.listeners = vec![
        port("ro", "127.0.0.1", ro),
        port("rw", "0.0.0.0", rw),
        socket("s", &path),
    ];
    let on_port = EngineRule {
        proxy_port: Some(ro),
        ..EngineRule::default()
    };
    answer(&mut configuration, 1, "ro", on_port);
    let on_path = EngineRule {
        proxy_addr: Some(path.to_str().unwrap().into()),
        ..EngineRule::default()
    };
    answer(&mut configuration, 2, "s", on_path);
    answer(&mut configuration, 3, "another", EngineRule::default());
    let before = proxy.running().listen_address();
    apply(&mut admin, &configuration).unwrap();
    assert!(TcpStream::connect(before).is_err(), "the default one is closed");

    let mut clients = [
        connect(ro).unwrap(),
        connect(rw).unwrap(),
        connect_to(&path).unwrap(),
    ];
    for (client, expected) in clients
        .iter_mut()
        .zip(["through ro", "through another", "through s"])
    {
        assert_eq!(error(client, "SELECT where"), (1148, expected.to_owned()));
        assert_eq!(value(client, "SELECT 1"), "1");
    }
    let places = [
        format!("127.0.0.1:{ro}"),
        format!("0.0.0.0:{rw}"),
        path.display().to_string(),
    ];
    assert_eq!(proxy.running().listen_places(), places);

    configuration.listeners.truncate(1);
    apply(&mut admin, &configuration).unwrap();
    assert!(connect(rw).is_err());
    assert!(connect_to(&path).is_err());
    assert!(!path.exists());
    for client in &mut clients {
        assert_eq!(value(client, "SELECT 1"), "1", "its session goes on");
    }
    connect(ro).unwrap();
    configuration.listeners.clear();
    apply(&mut admin, &configuration).unwrap();
    assert!(connect(ro).is_err());
    proxy.connect(None);
}

#[test]
fn clients_are_spread_over_the_workers_by_their_number_of_sessions() {
    let proxy = crate::support::start(&Setup {
        options: Box::new(|options| options.workers = NonZeroUsize::new(3)),
        ..Setup::default()
    });
    let mut admin = proxy.admin();
    let mut sessions = || -> Vec<u32> {
        let rows = "SELECT sessions FROM stats_shardwright_workers ORDER BY worker";
        admin.query(rows).unwrap()
    };
    // Whoever is idle accepts, so one after another they would all come to the same one.
    let mut clients: Vec<Conn> = (0..9).map(|_| proxy.connect(None)).collect();
    assert_eq!(sessions(), [3, 3, 3]);
    let mut leave = |gone: usize| {
        clients.drain(..gone);
        eventually(PATIENCE, || {
            sessions().iter().sum::<u32>() as usize == clients.len()
        });
        clients.extend((0..gone).map(|_| proxy.connect(None)));
        assert_eq!(sessions(), [3, 3, 3]);
    };
    leave(1);
    leave(7);
}

#[test]
fn a_place_that_is_taken_refuses_the_whole_apply() {
    let (proxy, mut configuration) = proxy();
    let mut admin = proxy.admin();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let reserved = ReservedPort::new().unwrap();
    let (held, free) = (taken.local_addr().unwrap().port(), reserved.number());
    let directory = proxy.directory.path();
    let (fresh, file, live) = (
        directory.join("a"),
        directory.join("file"),
        directory.join("live"),
    );
    fs::write(&file, "mine").unwrap();
    let _live = UnixListener::bind(&live).unwrap();
    apply(&mut admin, &configuration).unwrap();
    let before = observe(&mut admin);
    for (blocked, reason) in [
        (port("z", "127.0.0.1", held), "Address already in use"),
        (socket("z", &file), "a file that is no socket"),
        (socket("z", &live), "another process listens"),
        (socket("z", &directory.join("no/where")), "No such file"),
        (port("z", "192.0.2.1", 6033), "Cannot assign requested address"),
    ] {
        configuration.listeners = vec![port("a", "127.0.0.1", free), socket("b", &fresh), blocked];
        let refused = apply(&mut admin, &configuration).unwrap_err().to_string();
        assert!(
            refused.contains("INVALID: listeners.z: cannot listen on"),
            "{refused}"
        );
        assert!(refused.contains(reason), "{refused}");
        assert_eq!(observe(&mut admin), before);
        assert!(
            TcpStream::connect(("127.0.0.1", free)).is_err(),
            "nothing half-done"
        );
        let names: Vec<PathBuf> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(
            !names.iter().any(|name| name.to_string_lossy().contains(".sw-")),
            "{names:?}"
        );
        assert!(!fresh.exists());
        TcpStream::connect(proxy.running().listen_address()).unwrap();
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_port_moves_to_another_address() {
    let (proxy, mut configuration) = proxy();
    let mut admin = proxy.admin();
    let reserved = ReservedPort::new().unwrap();
    let number = reserved.number();
    for bind in ["127.0.0.1", "0.0.0.0", "127.0.0.1", "127.0.0.2"] {
        configuration.listeners = vec![port("rw", bind, number)];
        apply(&mut admin, &configuration).unwrap();
        assert_eq!(proxy.running().listen_places(), [format!("{bind}:{number}")]);
        assert_eq!(connect(number).is_ok(), bind != "127.0.0.2", "{bind}");
    }
    // The port was shared for a moment only: nobody else gets it.
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket
        .bind(&SocketAddr::from(([127, 0, 0, 2], number)).into())
        .unwrap_err();
}

#[test]
fn the_file_of_a_socket_has_its_mode_and_replaces_a_stale_one() {
    let (proxy, mut configuration) = proxy();
    let mut admin = proxy.admin();
    let path = proxy.directory.path().join("rw.sock");
    // Closed, and its file is still there: as after a kill.
    drop(UnixListener::bind(&path).unwrap());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let mut client = None;
    for (wanted, expected) in [(None, 0o777), (Some("0660"), 0o660), (Some("600"), 0o600)] {
        configuration.listeners = vec![Listener {
            mode: wanted.map(str::to_owned),
            ..socket("s", &path)
        }];
        apply(&mut admin, &configuration).unwrap();
        assert_eq!(mode(&path), expected);
        client = Some(connect_to(&path).unwrap());
    }
    let mut client = client.unwrap();
    let user: Option<String> = client.query_first("SELECT CURRENT_USER()").unwrap();
    assert!(user.is_some_and(|user| user.starts_with(USER)));
    let denied = Conn::new(
        OptsBuilder::new()
            .socket(path.to_str())
            .user(Some(USER))
            .pass(Some("wrong")),
    );
    let denied = denied.unwrap_err().to_string();
    assert!(denied.contains("'app'@'localhost'"), "{denied}");
    proxy.running().begin_drain();
    eventually(PATIENCE, || !path.exists());
    UnixStream::connect(&path).unwrap_err();
}

#[test]
fn a_full_login_goes_through_a_socket_in_the_clear() {
    let (proxy, mut configuration) = proxy();
    let mut admin = proxy.admin();
    let path = proxy.directory.path().join("rw.sock");
    configuration.listeners = vec![socket("s", &path)];
    // Of this secret the proxy knows only the hash, so a client has to send its password.
    let secret = proxy.directory.path().join("hash");
    fs::write(&secret, STORED).unwrap();
    let user = &mut configuration.users[1];
    user.name = "stored".into();
    user.password = Some(SecretReference::File(secret.to_str().unwrap().into()));
    apply(&mut admin, &configuration).unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap()).unwrap();
    assert!(!greeting.capabilities.contains(CapabilityFlags::CLIENT_SSL));
    let credentials = BackendCredentials {
        user: "stored".into(),
        secret: ClientSecret::password(b"hashcat"),
        capabilities: CapabilityFlags::CLIENT_PROTOCOL_41,
        ..credentials()
    };
    let (mut login, answer) = ClientLogin::start(&greeting, &credentials, Privacy::Tls).unwrap();
    send(&mut stream, 1, &answer);
    let mut seq = 3;
    let mut sent = Vec::new();
    loop {
        match login.on_payload(&packet(&mut stream).unwrap()).unwrap() {
            ClientStep::Send(payload) => {
                sent = payload.to_vec();
                send(&mut stream, seq, &payload);
                seq += 2;
            }
            ClientStep::Wait => seq += 1,
            ClientStep::Ready { .. } => break,
        }
    }
    assert_eq!(sent, b"hashcat\0", "the password itself");
}

#[test]
fn a_restart_opens_the_listeners_of_the_last_apply() {
    let (mut proxy, mut configuration) = proxy();
    let reserved = ReservedPort::new().unwrap();
    let number = reserved.number();
    configuration.listeners = vec![port("rw", "127.0.0.1", number)];
    apply(&mut proxy.admin(), &configuration).unwrap();
    proxy.running.take().unwrap().shutdown();
    let any = "127.0.0.1:0".parse().unwrap();
    let mut options = shardwright_proxy::Options::new(any, any, proxy.directory.path().join("data"));
    options.listen = Listen::Configured { otherwise: any };
    let held = TcpListener::bind(("127.0.0.1", number)).unwrap();
    let refused = Proxy::start(options.clone()).unwrap_err().to_string();
    assert!(refused.contains("listeners.rw: cannot listen on"), "{refused}");
    drop(held);
    let running = Proxy::start(options).unwrap();
    assert_eq!(running.listen_places(), [format!("127.0.0.1:{number}")]);
    connect(number).unwrap();
}
