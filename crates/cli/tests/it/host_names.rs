//! A host name of a server that comes to lead to another server while both run, as after a failover by DNS. The proxy runs with an
//! `/etc/hosts` of its own, in a mount namespace.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_testkit::{
    ADMIN_PASSWORD, ClientOptions, CommandEnvironment, Flavour, MariaDb, Options, ProxyOptions, ProxyProcess,
    connect, eventually,
};

use crate::support::{PASSWORD, PROGRAM};

const PATIENCE: Duration = Duration::from_secs(60);
const NAME: &str = "writer.example";

/// The program with an `/etc/hosts` of its own.
struct OwnHosts {
    hosts: PathBuf,
    program: PathBuf,
}

impl OwnHosts {
    /// `None` where this machine does not allow it.
    fn new(directory: &Path, address: &str) -> Option<Self> {
        let (hosts, program) = (directory.join("hosts"), directory.join("program"));
        let script = format!(
            "#!/bin/sh\nexec unshare --mount sh -c 'mount --bind \"$0\" /etc/hosts && exec \"$@\"' {} {PROGRAM} \"$@\"\n",
            hosts.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let own = Self { hosts, program };
        own.lead_to(address);
        let version = Command::new(&own.program).arg("--version").output().unwrap();
        version.status.success().then_some(own)
    }

    fn lead_to(&self, address: &str) {
        fs::write(&self.hosts, format!("127.0.0.1 localhost\n{address} {NAME}\n")).unwrap();
    }
}

/// Two servers with one port: on 127.0.0.1 and on 127.0.0.2.
fn servers() -> [MariaDb; 2] {
    let options = |id: u32| {
        let options = Options {
            flavour: Flavour::MariaDb,
            ..Options::default()
        };
        options.arg(format!("--server-id={id}"))
    };
    let first = MariaDb::start(options(1)).unwrap();
    let second = Options {
        host: Some("127.0.0.2".parse().unwrap()),
        ..options(2)
    };
    let second = MariaDb::start(second.arg(format!("--port={}", first.port()))).unwrap();
    for server in [&first, &second] {
        server
            .create_user("app", PASSWORD, Some("ALL PRIVILEGES ON test.*"))
            .unwrap();
    }
    [first, second]
}

fn id(client: &mut Conn) -> u32 {
    client.query_first("SELECT @@server_id").unwrap().unwrap()
}

#[test]
fn connections_follow_a_name_and_kill_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let Some(own) = OwnHosts::new(directory.path(), "127.0.0.1") else {
        eprintln!("no mount namespace; left out: host names that lead elsewhere");
        return;
    };
    let servers = servers();
    let mut environment = CommandEnvironment::new(&own.program).unwrap();
    environment.set("APP_PASSWORD", PASSWORD);
    let data = environment.outside("data");
    let proxy = ProxyProcess::start(&environment, ProxyOptions::new(data)).unwrap();
    let target = format!(
        "version: 1\nengines: [bundled]\ntargets:\n  p: {{engine: bundled, admin: \"{}\", user: admin, password: {{env: SHARDWRIGHT_ADMIN_PASSWORD}}}}\n",
        proxy.admin()
    );
    environment.set("SHARDWRIGHT_ADMIN_PASSWORD", ADMIN_PASSWORD);
    environment.write("shardwright.yaml", target).unwrap();
    let topology = format!(
        "version: 1\nclusters:\n  shop: {{type: single, servers: {{a: {{host: {NAME}, port: {}}}}}}}\nusers:\n  app: {{password: {{env: APP_PASSWORD}}, cluster: shop}}\n",
        servers[0].port()
    );
    environment.write("topology/t.yaml", topology).unwrap();
    let applied = environment.run(["apply", "--auto-approve"]).unwrap();
    assert_eq!(applied.code(), Some(0), "{}", applied.stderr);
    let client = || {
        let options = ClientOptions {
            user: "app",
            password: PASSWORD,
            ..ClientOptions::default()
        };
        connect(proxy.listen(), options).unwrap()
    };

    let (mut idle, mut in_transaction, mut sleeper) = (client(), client(), client());
    assert_eq!(id(&mut idle), 1);
    in_transaction.query_drop("BEGIN").unwrap();
    assert_eq!(id(&mut in_transaction), 1);
    let number: u32 = sleeper.query_first("SELECT CONNECTION_ID()").unwrap().unwrap();
    std::thread::scope(|scope| {
        let sleeps = scope.spawn(|| {
            let begun = Instant::now();
            // A SLEEP that is ended is 1, or an error.
            let slept: Result<Option<u32>, _> = sleeper.query_first("SELECT SLEEP(100)");
            (slept.ok().flatten() != Some(0), begun.elapsed())
        });
        let sleeping = "SELECT 1 FROM information_schema.processlist WHERE command = 'Query' AND info = 'SELECT SLEEP(100)'";
        eventually(PATIENCE, || !servers[0].run(sleeping).unwrap().is_empty());
        own.lead_to("127.0.0.2");
        eventually(PATIENCE, || id(&mut idle) == 2);
        // The number is of the former server, where the statement runs.
        client().query_drop(format!("KILL QUERY {number}")).unwrap();
        let (was_ended, time) = sleeps.join().unwrap();
        assert!(was_ended && time < Duration::from_secs(90), "{time:?}");
    });
    let said = "the name leads to another address";
    eventually(PATIENCE, || proxy.output().contains(said));
    assert_eq!(id(&mut in_transaction), 1, "a transaction ends where it began");
    in_transaction.query_drop("COMMIT").unwrap();
    for _ in 0..20 {
        assert_eq!(id(&mut idle), 2);
        assert_eq!(id(&mut in_transaction), 2);
        assert_eq!(id(&mut client()), 2);
    }
    let connections = "SELECT 1 FROM information_schema.processlist WHERE user = 'app'";
    eventually(PATIENCE, || servers[0].run(connections).unwrap().is_empty());
}
