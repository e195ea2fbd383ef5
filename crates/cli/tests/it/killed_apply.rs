//! A proxy that is killed at any point of an apply: `plan` tells which generation runs afterwards, the old or the new one.
//!
//! `SHARDWRIGHT_KILLS=1000` has as many points; 21 otherwise. Two thirds of them are bytes of what is sent, spread
//! evenly; the others are moments after most of it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, ProxyOptions, ProxyProcess, connect,
};

use crate::support::{PASSWORD, PROGRAM, ask};

const PATIENCE: Duration = Duration::from_secs(60);
/// The moments after the request are this far apart.
const STEP: Duration = Duration::from_micros(500);

/// What happens at a byte of the request.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// Nothing more is forwarded.
    Stops(usize),
    /// It is told, and everything is forwarded.
    Passes(usize),
}

/// Forwards the connections of a command to the admin port, and tells when it has come to a byte.
struct Forward {
    address: SocketAddr,
    forwarded: Arc<AtomicUsize>,
    reached: Receiver<()>,
}

impl Forward {
    fn start(admin: SocketAddr, at: At) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let forwarded = Arc::new(AtomicUsize::new(0));
        let (sender, reached) = channel();
        let counter = Arc::clone(&forwarded);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(admin)) else {
                    return;
                };
                let [answers, questions] = [(&server, &client), (&client, &server)]
                    .map(|(from, to)| (from.try_clone().unwrap(), to.try_clone().unwrap()));
                std::thread::spawn(move || back(answers.0, &answers.1));
                let (counter, sender) = (Arc::clone(&counter), sender.clone());
                std::thread::spawn(move || forth(questions, &counter, at, &sender));
            }
        });
        Self {
            address,
            forwarded,
            reached,
        }
    }
}

/// What the proxy says, until it is gone.
fn back(mut from: TcpStream, to: &TcpStream) {
    // Either side may be gone at any time: that is what is tested.
    let _copied = std::io::copy(&mut from, &mut { to });
    let _closed = to.shutdown(Shutdown::Both);
}

fn forth((mut from, mut to): (TcpStream, TcpStream), counter: &AtomicUsize, at: At, reached: &Sender<()>) {
    let (At::Stops(limit) | At::Passes(limit)) = at;
    let mut buffer = [0; 256];
    loop {
        let left = limit.saturating_sub(counter.load(Ordering::Relaxed));
        if left == 0 {
            let _heard = reached.send(());
            if at == At::Stops(limit) {
                return;
            }
        }
        let wanted = if left == 0 {
            buffer.len()
        } else {
            buffer.len().min(left)
        };
        match from.read(&mut buffer[..wanted]) {
            Ok(0) | Err(_) => return,
            Ok(read) => {
                if to.write_all(&buffer[..read]).is_err() {
                    return;
                }
                counter.fetch_add(read, Ordering::Relaxed);
            }
        }
    }
}

struct World {
    environment: CommandEnvironment,
    proxy: ProxyProcess,
}

impl World {
    fn start() -> Self {
        let mut environment = CommandEnvironment::new(PROGRAM).unwrap();
        environment.set("APP_PASSWORD", PASSWORD);
        let options = ProxyOptions::new(environment.outside("data"));
        let proxy = ProxyProcess::start(&environment, options).unwrap();
        Self { environment, proxy }
    }

    /// The project, with this number in it.
    fn write(&self, admin: SocketAddr, number: usize) {
        let project = format!(
            "version: 1\nengines: [bundled]\ntargets:\n  local: {{engine: bundled, admin: \"{admin}\", user: admin, \
             password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n"
        );
        self.environment.write("shardwright.yaml", project).unwrap();
        let topology = format!(
            "version: 1\nclusters:\n  a: {{type: single, servers: {{s: {{host: 127.0.0.1, port: 3306, max_connections: {number}}}}}}}\n\
             users:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: a}}\n"
        );
        self.environment.write("topology/a.yaml", topology).unwrap();
    }

    /// What the proxy says that it runs: generation and fingerprint.
    fn observed(&self) -> (u64, String) {
        let options = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            schema: None,
        };
        let mut admin = connect(self.proxy.admin(), options).unwrap();
        let rows = ask(&mut admin, "SHARDWRIGHT OBSERVE").unwrap();
        let cell = |at: usize| rows[0][at].clone().unwrap();
        (cell(0).parse().unwrap(), cell(1))
    }

    /// The generation that `plan` names, and whether it would change something.
    fn planned(&self) -> (u64, bool) {
        let output = self
            .environment
            .run(["plan", "--detailed-exitcode", "--format", "json"])
            .unwrap();
        let has_changes = match output.code() {
            Some(0) => false,
            Some(2) => true,
            other => panic!("{other:?}: {output:?}"),
        };
        let plan: Value = serde_json::from_str(&output.stdout).unwrap();
        let generation = plan["per_target"][0]["base"]["generation"].as_u64();
        (generation.unwrap_or_else(|| panic!("{plan}")), has_changes)
    }

    /// Applies the project with this number, and kills the proxy a time after the request has come to a byte; whether the apply
    /// was acknowledged.
    fn killed(&mut self, number: usize, at: At, later: Duration) -> bool {
        let forward = Forward::start(self.proxy.admin(), at);
        self.write(forward.address, number);
        let apply = self.environment.start(["apply", "--auto-approve"]).unwrap();
        forward.reached.recv_timeout(PATIENCE).unwrap();
        let until = Instant::now() + later;
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        self.proxy.kill().unwrap();
        let output = apply.finish().unwrap();
        let options = ProxyOptions::new(self.environment.outside("data"));
        self.proxy = ProxyProcess::start(&self.environment, options).unwrap();
        self.write(self.proxy.admin(), number);
        output.code() == Some(0)
    }
}

#[test]
fn plan_tells_which_generation_runs_after_a_kill_at_any_point_of_an_apply() {
    let points = std::env::var("SHARDWRIGHT_KILLS").map_or(21, |points| points.parse().unwrap());
    let mut world = World::start();
    // The numbers have as many digits: all requests are as long.
    let forward = Forward::start(world.proxy.admin(), At::Stops(usize::MAX));
    world.write(forward.address, 1000);
    let applied = world.environment.run(["apply", "--auto-approve"]).unwrap();
    assert_eq!(applied.code(), Some(0), "{applied:?}");
    let length = forward.forwarded.load(Ordering::Relaxed);
    let (mut news, mut acknowledged_at_all) = (0, 0);
    for point in 0..points {
        let old = world.observed();
        let (at, later) = match point % 3 {
            // Nearly all of it is the configuration.
            2 => (At::Passes(length * 9 / 10), STEP * (point as u32 / 3 % 100)),
            _ => (At::Stops(1 + (length - 1) * point / points), Duration::ZERO),
        };
        let acknowledged = world.killed(1001 + point, at, later);
        let (generation, fingerprint) = world.observed();
        let (told, has_changes) = world.planned();
        let (At::Stops(bytes) | At::Passes(bytes)) = at;
        let what = format!("point {point}, {bytes} of {length} bytes, {later:?}");
        assert_eq!(told, generation, "{what}: plan names what runs");
        match has_changes {
            true => {
                assert_eq!(
                    (generation, fingerprint),
                    old,
                    "{what}: the old generation, whole"
                );
                assert!(!acknowledged, "{what}: an acknowledged apply was lost");
            }
            false => {
                assert_eq!(generation, old.0 + 1, "{what}: the new generation, once");
                assert_ne!(fingerprint, old.1);
                news += 1;
            }
        }
        acknowledged_at_all += usize::from(acknowledged);
    }
    println!(
        "{points} points: {news} times the new generation runs, {acknowledged_at_all} of them acknowledged"
    );
    assert!(news < points, "a request that is cut off changes nothing");
}
