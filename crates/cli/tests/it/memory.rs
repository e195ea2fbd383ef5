//! `--max-memory`: how much a running proxy takes in all, whatever its clients do.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, MariaDb, Options, ProxyOptions, ProxyProcess, connect,
    eventually,
};
use shardwright_wire::{
    BackendCredentials, CapabilityFlags, ClientLogin, ClientSecret, ClientStep, FrameCodec, MAX_CHUNK,
    MariadbCapabilities, Privacy, write_packet,
};

use crate::support::{PASSWORD, PROGRAM};

const PATIENCE: Duration = Duration::from_secs(60);
const MIB: u64 = 1 << 20;
/// What the proxy may take beside its budget.
const BESIDE: u64 = 64 * MIB;

/// A proxy with a budget of so many MiB in front of one server.
struct Stage {
    budget: u64,
    proxy: ProxyProcess,
    environment: CommandEnvironment,
    _server: MariaDb,
}

impl Stage {
    fn new(budget_mib: u64) -> Self {
        Self::with_patience(budget_mib, 3)
    }

    /// A statement may wait for so many seconds.
    fn with_patience(budget_mib: u64, patience_s: u64) -> Self {
        let server = MariaDb::start(Options::default().arg("--max-allowed-packet=64M")).unwrap();
        server
            .create_user("app", PASSWORD, Some("ALL PRIVILEGES ON *.*"))
            .unwrap();
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        environment.set("SHARDWRIGHT_ADMIN_PASSWORD", ADMIN_PASSWORD);
        let mut options = ProxyOptions::new(environment.outside("data"));
        options.extra_args = [
            format!("--max-memory={budget_mib}M"),
            "--workers=2".to_owned(),
            "--max-connections=1000".to_owned(),
            format!("--checkout-timeout={patience_s}"),
            "--checks=127.0.0.1:0".to_owned(),
        ]
        .into();
        let proxy = ProxyProcess::start(&environment, options).unwrap();
        let project = format!(
            "version: 1\nengines: [bundled]\ntargets:\n  p: {{engine: bundled, admin: \"{}\", user: admin, password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
            proxy.admin()
        );
        environment.write("shardwright.yaml", project).unwrap();
        let topology = format!(
            "version: 1\nclusters:\n  shop: {{type: single, servers: {{a: {{host: 127.0.0.1, port: {}}}}}}}\n\
             users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: shop}}\n",
            server.port()
        );
        environment.write("topology/t.yaml", topology).unwrap();
        let applied = environment.run(["apply", "--auto-approve"]).unwrap();
        assert_eq!(applied.code(), Some(0), "{}", applied.stderr);
        Self {
            budget: budget_mib * MIB,
            proxy,
            environment,
            _server: server,
        }
    }

    /// The most memory that the proxy has had until now, bytes.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.proxy.process_id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib * 1024
    }

    fn stays_within(&self, what: &str) {
        let peak = self.peak();
        assert!(
            peak <= self.budget + BESIDE,
            "{what}: {} MiB, with a budget of {}",
            peak / MIB,
            self.budget / MIB
        );
    }

    fn options(&self) -> ClientOptions<'static> {
        ClientOptions {
            user: "app",
            password: PASSWORD,
            ..ClientOptions::default()
        }
    }

    fn client(&self) -> Conn {
        connect(self.proxy.listen(), self.options()).unwrap()
    }

    fn total(&self, name: &str) -> u64 {
        let options = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            ..ClientOptions::default()
        };
        let mut admin = connect(self.proxy.admin(), options).unwrap();
        let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
        let value: String = admin.query_first(sql).unwrap().unwrap();
        value.parse().unwrap()
    }

    /// Small statements, the admin port and the checks are answered.
    fn serves_others(&self, bystander: &mut Conn) {
        assert_eq!(bystander.query_first("SELECT 1").unwrap(), Some(1));
        assert_eq!(self.client().query_first("SELECT 2").unwrap(), Some(2));
        assert!(self.total("Memory_used_bytes") <= self.budget);
        let checks = self.proxy.output();
        let checks = checks
            .split("checks=")
            .nth(1)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap();
        let mut stream = TcpStream::connect(checks).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(b"GET /lb-check HTTP/1.1\r\nHost: checks\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// A client that has logged in and speaks the protocol by hand.
    fn raw(&self, capabilities: CapabilityFlags) -> TcpStream {
        let mut stream = TcpStream::connect(self.proxy.listen()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let credentials = BackendCredentials {
            user: "app".into(),
            secret: ClientSecret::password(PASSWORD.as_bytes()),
            database: None,
            capabilities: CapabilityFlags::CLIENT_PROTOCOL_41 | capabilities,
            mariadb_capabilities: MariadbCapabilities::empty(),
            collation: 45,
            attributes: Vec::new(),
            allow_public_key_retrieval: true,
        };
        let greeting = ClientLogin::greeting(&packet(&mut stream).unwrap().1).unwrap();
        let (mut login, answer) = ClientLogin::start(&greeting, &credentials, Privacy::Plain).unwrap();
        send(&mut stream, 1, &answer);
        loop {
            let (seq, payload) = packet(&mut stream).unwrap();
            match login.on_payload(&payload).unwrap() {
                ClientStep::Ready { .. } => return stream,
                ClientStep::Send(answer) => send(&mut stream, seq.wrapping_add(1), &answer),
                ClientStep::Wait => {}
            }
        }
    }
}

/// The number and the payload of the next packet; `None` when the proxy has closed.
fn packet(stream: &mut impl Read) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let [a, b, c, seq] = header;
    let mut payload = vec![0; u32::from_le_bytes([a, b, c, 0]) as usize];
    stream.read_exact(&mut payload).ok()?;
    Some((seq, payload))
}

fn send(stream: &mut TcpStream, mut seq: u8, payload: &[u8]) {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, &mut seq, payload);
    stream.write_all(&bytes).unwrap();
}

/// The code of an error; `None` for another packet.
fn code(payload: &[u8]) -> Option<u16> {
    match payload {
        [0xFF, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

fn code_of<T: std::fmt::Debug>(result: mysql::Result<T>) -> Option<u16> {
    match result {
        Ok(_) => None,
        Err(mysql::Error::MySqlError(error)) => Some(error.code),
        Err(error) => panic!("{error}"),
    }
}

/// So many clients send the same, each on a thread of its own, until the proxy has it or does not take more of it. Meanwhile others are
/// served.
fn crowd(stage: &Stage, clients: usize, bytes: &[u8], capabilities: CapabilityFlags) {
    let mut bystander = stage.client();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = stage.raw(capabilities);
                    // The proxy may close meanwhile.
                    let _sent = stream.write_all(bytes);
                    stream
                })
            })
            .collect();
        while senders.iter().any(|sender| !sender.is_finished()) {
            stage.serves_others(&mut bystander);
        }
        let streams: Vec<TcpStream> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
        stage.serves_others(&mut bystander);
        drop(streams);
    });
}

#[test]
fn sixty_statements_that_do_not_end() {
    let stage = Stage::new(256);
    let mut bytes = vec![0, 0, 0, 0, 3];
    bytes[..3].copy_from_slice(&(15 * MIB as u32).to_le_bytes()[..3]);
    bytes.resize(15 << 20, b'x');
    thread::scope(|scope| {
        scope.spawn(|| crowd(&stage, 60, &bytes, CapabilityFlags::empty()));
        // One that goes on gets its answer.
        eventually(PATIENCE, || stage.total("Memory_waiting") > 0);
        let text = format!("SELECT LENGTH('{}')", "y".repeat(1 << 20));
        // On a slow machine, it may be taken for one that does not.
        eventually(PATIENCE, || {
            let answer: mysql::Result<Option<usize>> = stage.client().query_first(&text);
            answer.ok().flatten() == Some(1 << 20)
        });
    });
    stage.stays_within("unfinished statements");
    assert!(stage.total("Memory_sessions_ended") > 0);
    assert!(
        stage.proxy.output().contains("see --max-memory"),
        "{}",
        stage.proxy.output()
    );
    eventually(PATIENCE, || stage.total("Memory_used_bytes") < MIB);
    let problems = stage.environment.run(["status"]).unwrap();
    assert!(!problems.stdout.contains("wait for room"), "{}", problems.stdout);
}

#[test]
fn statements_that_end_wait_for_each_other() {
    let stage = Stage::with_patience(256, 600);
    thread::scope(|scope| {
        for number in 0..20_usize {
            let stage = &stage;
            scope.spawn(move || {
                let mut client = stage.client();
                let length = (10 << 20) + number;
                let text = format!("SELECT LENGTH('{}')", "y".repeat(length));
                assert_eq!(client.query_first(text).unwrap(), Some(length));
            });
        }
    });
    stage.stays_within("statements of 10 MiB");
    assert_eq!(
        stage.total("Memory_refused") + stage.total("Memory_sessions_ended"),
        0
    );
    let mut client = stage.client();
    let length = 50 << 20;
    let text = format!("SELECT LENGTH('{}')", "y".repeat(length));
    assert_eq!(
        code_of(client.query_first::<usize, _>(text)),
        Some(1041),
        "it would not fit"
    );
    assert_eq!(
        client.query_first("SELECT 1").unwrap(),
        Some(1),
        "its session goes on"
    );
}

/// A session that prepares texts until it is told that there is no memory.
fn prepare_until_refused(stage: &Stage, number: usize) -> (Conn, usize) {
    let mut client = stage.client();
    let text = "x".repeat(512 << 10);
    for prepared in 0..200 {
        let number = 1000 * number + prepared;
        match client.prep(format!("SELECT {number}, ?, '{text}'")) {
            Ok(statement) => {
                let row: (usize, u32, String) = client.exec_first(&statement, (7,)).unwrap().unwrap();
                assert_eq!((row.0, row.1, row.2.len()), (number, 7, text.len()));
            }
            Err(error) => {
                assert_eq!(code_of::<()>(Err(error)), Some(1041));
                return (client, prepared);
            }
        }
    }
    (client, 200)
}

#[test]
fn many_long_prepared_statements() {
    let stage = Stage::new(256);
    let sessions: Vec<(Conn, usize)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let stage = &stage;
                scope.spawn(move || prepare_until_refused(stage, number))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let prepared: usize = sessions.iter().map(|(_, prepared)| prepared).sum();
    assert!((50..1600).contains(&prepared), "{prepared}");
    stage.serves_others(&mut stage.client());
    stage.stays_within("prepared statements");
    drop(sessions);
    eventually(PATIENCE, || stage.total("Memory_used_bytes") < MIB);
}

#[test]
fn pieces_of_parameters() {
    let stage = Stage::new(256);
    let mut clients = Vec::new();
    for _ in 0..12 {
        let mut stream = stage.raw(CapabilityFlags::empty());
        send(&mut stream, 0, b"\x16SELECT LENGTH(?)");
        let prepared = packet(&mut stream).unwrap().1;
        assert_eq!(code(&prepared), None);
        for _ in 0..4 {
            packet(&mut stream).unwrap();
        }
        let id: [u8; 4] = prepared[1..5].try_into().unwrap();
        for _ in 0..10 {
            let piece = [&[0x18][..], &id, &[0, 0], &vec![b'z'; 4 << 20]].concat();
            if stream.write_all(&framed(&piece)).is_err() {
                break;
            }
        }
        clients.push((stream, id));
    }
    let mut codes: Vec<Option<u16>> = Vec::new();
    for (stream, id) in &mut clients {
        let execution = [&[0x17][..], id.as_slice(), &[0, 1, 0, 0, 0, 0, 1, 0xFC, 0]].concat();
        let _sent = stream.write_all(&framed(&execution));
        codes.push(packet(stream).and_then(|(_, payload)| code(&payload)));
    }
    stage.stays_within("pieces of parameters");
    assert!(
        codes.iter().any(|code| matches!(code, Some(1041 | 1210))),
        "{codes:?}"
    );
    stage.serves_others(&mut stage.client());
}

fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_packet(&mut bytes, &mut 0, payload);
    bytes
}

#[test]
fn results_that_nobody_reads() {
    let stage = Stage::new(64);
    let mut streams: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = stage.raw(CapabilityFlags::empty());
            send(
                &mut stream,
                0,
                b"\x03SELECT REPEAT('x', 1000000) UNION ALL SELECT REPEAT('y', 6000000)",
            );
            stream
        })
        .collect();
    stage.serves_others(&mut stage.client());
    for stream in &mut streams {
        // What is there is answer enough: the rest stays with the server.
        assert!(packet(stream).is_some());
    }
    stage.serves_others(&mut stage.client());
    stage.stays_within("results that nobody reads");
}

#[test]
fn frames_that_inflate() {
    let stage = Stage::new(256);
    // The first chunk of a statement of two: 16 MiB of it in 16 KiB.
    let mut plain = vec![0xFF, 0xFF, 0xFF, 0, 3];
    plain.resize(4 + MAX_CHUNK, b'x');
    let mut frames = Vec::new();
    let mut codec: FrameCodec = FrameCodec::default();
    codec.send(&plain[..MAX_CHUNK], &mut frames);
    assert!(frames.len() < 200_000, "{}", frames.len());
    crowd(&stage, 60, &frames, CapabilityFlags::CLIENT_COMPRESS);
    stage.stays_within("frames that inflate");
}

#[test]
fn files_of_clients() {
    let stage = Stage::with_patience(256, 600);
    let lines = b"1\n".repeat(5 << 20);
    stage.client().query_drop("CREATE DATABASE files").unwrap();
    stage.client().query_drop("CREATE TABLE files.t (a INT)").unwrap();
    thread::scope(|scope| {
        for _ in 0..12 {
            let (stage, lines) = (&stage, &lines);
            scope.spawn(move || {
                let mut stream = stage.raw(CapabilityFlags::CLIENT_LOCAL_FILES);
                send(
                    &mut stream,
                    0,
                    b"\x03LOAD DATA LOCAL INFILE 'a' INTO TABLE files.t IGNORE 100000000 LINES",
                );
                assert_eq!(packet(&mut stream).unwrap().1, b"\xFBa");
                let mut seq = 2;
                for _ in 0..4 {
                    let mut bytes = Vec::new();
                    write_packet(&mut bytes, &mut seq, lines);
                    stream.write_all(&bytes).unwrap();
                }
                send(&mut stream, seq, b"");
                assert_eq!(code(&packet(&mut stream).unwrap().1), None);
            });
        }
    });
    stage.stays_within("files");
    stage.serves_others(&mut stage.client());
}

#[test]
fn logins_that_do_not_end() {
    let stage = Stage::new(64);
    let mut bystander = stage.client();
    let mut bytes = vec![0xF0, 0xFF, 0, 1];
    bytes.resize(65_000, b'x');
    let streams: Vec<TcpStream> = (0..600)
        .map(|_| {
            let mut stream = TcpStream::connect(stage.proxy.listen()).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            let _sent = stream.write_all(&bytes);
            stream
        })
        .collect();
    stage.serves_others(&mut bystander);
    stage.stays_within("logins that do not end");
    drop(streams);
}

#[test]
fn a_budget_that_is_none_is_refused() {
    let environment = CommandEnvironment::new(PROGRAM).unwrap();
    for size in ["0", "63M"] {
        let run = environment
            .run(["proxy", "--data-dir", "data", &format!("--max-memory={size}")])
            .unwrap();
        assert_eq!(run.code(), Some(64), "{}", run.stderr);
        assert!(run.stderr.contains("from 64M on"), "{}", run.stderr);
    }
}
