//! Applying is all or nothing: rejected, stale and contended applies change nothing, a killed proxy restarts on the
//! old or the new generation, and clients keep what they are in the middle of.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use mysql::Conn;
use serde_json::Value;
use shardwright_rules::Configuration;
use shardwright_testkit::{ADMIN_PASSWORD, ClientOptions, ProxyOptions, connect, eventually};

use crate::support::{WorldOnServers, ask, lines};

const ATLANTIS: &str = "SELECT COUNT(*) FROM world.Country WHERE Continent='Atlantis'";
const EUROPE: &str = "SELECT COUNT(*) FROM world.Country WHERE Continent='Europe'";

/// What a proxy says that it runs.
#[derive(Clone, Debug, PartialEq)]
struct Observed {
    generation: String,
    fingerprint: String,
}

impl WorldOnServers {
    pub(crate) fn admin(&self) -> Conn {
        let options = ClientOptions {
            user: "admin",
            password: ADMIN_PASSWORD,
            schema: None,
        };
        connect(self.proxy.admin(), options).unwrap()
    }

    /// Reads what the proxy runs, and that it is complete: the configuration is the one that the fingerprint names.
    fn observe(&self) -> Observed {
        let rows = ask(&mut self.admin(), "SHARDWRIGHT OBSERVE").unwrap();
        let cell = |at: usize| rows[0][at].clone().unwrap();
        let configuration: Configuration = serde_json::from_str(&cell(2)).unwrap();
        assert_eq!(configuration.fingerprint(), cell(1));
        Observed {
            generation: cell(0),
            fingerprint: cell(1),
        }
    }

    /// Adds a shard, so that the next apply has something to do and its effect can be asked for.
    fn write_atlantis(&self) {
        let text = self.environment.read("topology/world.yaml").unwrap();
        let shard = "      antarctica: {";
        let added = format!("      atlantis: {{keys: [Atlantis], schema: Europe, cluster: europe}}\n{shard}");
        assert!(text.contains(shard));
        self.environment
            .write("topology/world.yaml", text.replacen(shard, &added, 1))
            .unwrap();
    }

    fn code(&self, arguments: &[&str]) -> Option<i32> {
        self.environment
            .run(self.with_variables(arguments))
            .unwrap()
            .code()
    }

    /// Whether the proxy routes by the new files; it must route by the old or the new ones.
    fn serves_atlantis(&self) -> bool {
        let mut client = self.client("geo");
        assert_eq!(
            ask(&mut client, EUROPE).map(|rows| lines(&rows)),
            Ok(vec!["46".to_owned()])
        );
        match ask(&mut client, ATLANTIS) {
            Ok(rows) => {
                assert_eq!(lines(&rows), ["46"]);
                true
            }
            Err(message) => {
                assert!(message.starts_with("1148: SW352"), "{message}");
                false
            }
        }
    }
}

#[test]
fn a_rejected_configuration_changes_nothing() {
    let world = WorldOnServers::start();
    let before = world.observe();
    world.write_atlantis();
    let text = world.environment.read("topology/world.yaml").unwrap();
    let broken = text.replacen(
        "geo: {password: {env: GEO_PASSWORD}",
        "geo: {password: {env: NOT_SET_ANYWHERE}",
        1,
    );
    world.environment.write("topology/world.yaml", broken).unwrap();
    let output = world
        .environment
        .run(world.with_variables(&["apply", "--auto-approve"]))
        .unwrap();
    assert_eq!(output.code(), Some(1), "{}{}", output.stdout, output.stderr);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(
        said.contains("users.geo") && said.contains("NOT_SET_ANYWHERE"),
        "{said}"
    );
    assert_eq!(world.observe(), before);
    assert!(!world.serves_atlantis());
}

#[test]
fn the_history_says_who_did_what_to_a_proxy() {
    let world = WorldOnServers::start();
    ask(&mut world.admin(), "SHARDWRIGHT REFUSE APP 'gh-ost' FOR 1").unwrap();
    let output = world
        .environment
        .run(world.with_variables(&["history", "--format", "json"]))
        .unwrap();
    let history: Value = serde_json::from_str(&output.stdout).unwrap();
    let operations = history["proxies"][0]["operations"].as_array().unwrap();
    let done = |word: &str| {
        let is_it = |of: &&Value| of["operation"].as_str().unwrap().contains(word);
        operations
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{history}"))
    };
    for word in ["APPLY", "REFUSE"] {
        let operation = done(word);
        assert!(
            operation["by"].as_str().unwrap().starts_with("admin@127.0.0.1:"),
            "{operation}"
        );
        assert_eq!(operation["error"], Value::Null);
    }
    let shown = world
        .environment
        .run(world.with_variables(&["history"]))
        .unwrap()
        .stdout;
    // The apply is told by the project that made it, and by the proxy.
    let runs = history["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "{history}");
    assert_eq!(shown.lines().count(), runs.len() + operations.len(), "{shown}");
    assert!(shown.contains("  admin@127.0.0.1:"), "{shown}");
}

#[test]
fn a_proxy_whose_history_is_not_known_is_named() {
    let mut world = WorldOnServers::start();
    world.proxy.stop().unwrap();
    let output = world.environment.run(world.with_variables(&["history"])).unwrap();
    assert!(
        output
            .stdout
            .contains("what was done to it is not known: cannot be asked"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_stale_plan_is_refused_and_changes_nothing() {
    let world = WorldOnServers::start();
    let plan = world.environment.outside("first.plan");
    let plan = plan.to_str().unwrap();
    world.write_atlantis();
    world.run(&["plan", "-o", plan]);
    let text = world.environment.read("topology/world.yaml").unwrap();
    world
        .environment
        .write(
            "topology/world.yaml",
            text.replacen(
                "  both: {",
                "  more: {password: {env: GEO_PASSWORD}, cluster: asia}\n  both: {",
                1,
            ),
        )
        .unwrap();
    world.run(&["apply", "--auto-approve"]);
    let before = world.observe();
    assert_eq!(world.code(&["apply", plan]), Some(5));
    assert_eq!(world.observe(), before);
}

#[test]
fn of_two_concurrent_applies_one_wins_and_one_is_refused() {
    let world = WorldOnServers::start();
    let original = world.environment.read("topology/world.yaml").unwrap();
    for round in 0..8 {
        let plans: Vec<String> = ["a", "b"]
            .into_iter()
            .map(|side| {
                let user = format!(
                    "  round{round}{side}: {{password: {{env: GEO_PASSWORD}}, cluster: asia}}\n  both: {{"
                );
                world
                    .environment
                    .write("topology/world.yaml", original.replacen("  both: {", &user, 1))
                    .unwrap();
                let plan = world.environment.outside(&format!("{round}{side}.plan"));
                let plan = plan.to_str().unwrap().to_owned();
                world.run(&["plan", "-o", &plan]);
                plan
            })
            .collect();
        let before = world.observe();
        let runs: Vec<_> = plans
            .iter()
            .map(|plan| {
                world
                    .environment
                    .start(world.with_variables(&["apply", plan]))
                    .unwrap()
            })
            .collect();
        let mut codes: Vec<Option<i32>> = runs.into_iter().map(|run| run.finish().unwrap().code()).collect();
        codes.sort_unstable();
        assert_eq!(codes, [Some(0), Some(5)], "round {round}");
        let after = world.observe();
        assert_eq!(
            after.generation.parse(),
            before.generation.parse().map(|generation: u64| generation + 1)
        );
    }
}

/// Where the proxy ends itself with SIGKILL, and whether the new generation must, may or cannot be there afterwards.
const FAIL_POINTS: [(&str, Option<bool>); 7] = [
    ("received", Some(false)),
    ("validated", Some(false)),
    ("before_persist", Some(false)),
    ("in_transaction", Some(false)),
    ("persisted", Some(true)),
    ("published", Some(true)),
    ("answered", Some(true)),
];

#[test]
fn a_proxy_killed_at_any_step_of_an_apply_restarts_on_the_old_or_the_new_generation() {
    let mut world = WorldOnServers::start();
    let original = world.environment.read("topology/world.yaml").unwrap();
    for (point, expected) in FAIL_POINTS {
        world.environment.write("topology/world.yaml", &original).unwrap();
        world.run(&["apply", "--auto-approve"]);
        let before = world.observe();
        world.write_atlantis();
        let mut options = ProxyOptions::new(world.environment.outside("data"));
        options
            .variables
            .push(("SHARDWRIGHT_FAILPOINT".to_owned(), point.to_owned()));
        world.restart(options);
        let code = world.code(&["apply", "--auto-approve"]);
        assert!(matches!(code, Some(0 | 1 | 6 | 7)), "{point}: {code:?}");
        world.restart(ProxyOptions::new(world.environment.outside("data")));
        let after = world.observe();
        let is_new = world.serves_atlantis();
        assert_eq!(after != before, is_new, "{point}");
        if let Some(expected) = expected {
            assert_eq!(is_new, expected, "{point}");
        }
        if code == Some(0) {
            assert!(is_new, "{point}: an acknowledged apply was lost");
        }
    }
}

#[test]
fn a_proxy_killed_anywhere_in_the_request_restarts_complete() {
    let mut world = WorldOnServers::start();
    let before = world.observe();
    world.write_atlantis();
    let length = serde_json::to_string(&world.observe().fingerprint).unwrap().len() + world.request_length();
    for step in 0..16 {
        let cut = Cut::start(world.proxy.admin(), length * step / 15);
        let mut arguments = world.with_variables(&["apply", "--auto-approve"]);
        arguments.push("--var".to_owned());
        arguments.push(format!("admin_port={}", cut.address.port()));
        let arguments: Vec<String> = arguments;
        let run = world.environment.start(deduplicated(arguments)).unwrap();
        cut.reached();
        world.proxy.kill().unwrap();
        let code = run.finish().unwrap().code();
        world.restart(ProxyOptions::new(world.environment.outside("data")));
        let is_new = world.serves_atlantis();
        let after = world.observe();
        assert_eq!(after != before, is_new, "cut at step {step}");
        if code == Some(0) || is_new {
            assert!(is_new, "an acknowledged apply was lost");
            return;
        }
    }
}

/// The last `--var admin_port=` wins; the command line takes each variable once.
fn deduplicated(arguments: Vec<String>) -> Vec<String> {
    let first = arguments
        .iter()
        .position(|argument| argument.starts_with("admin_port="))
        .unwrap();
    let mut arguments = arguments;
    arguments.drain(first - 1..=first);
    arguments
}

impl WorldOnServers {
    fn restart(&mut self, options: ProxyOptions) {
        // It may have ended itself already.
        let _ = self.proxy.kill();
        self.proxy = shardwright_testkit::ProxyProcess::start(&self.environment, options).unwrap();
    }

    /// About how many bytes a whole apply sends.
    fn request_length(&self) -> usize {
        let rows = ask(&mut self.admin(), "SHARDWRIGHT OBSERVE").unwrap();
        rows[0][2].as_ref().map_or(0, String::len) + 600
    }
}

/// Forwards connections to the admin port, and stops forwarding what the client says after some bytes.
struct Cut {
    address: SocketAddr,
    reached: std::sync::mpsc::Receiver<()>,
}

impl Cut {
    fn start(admin: SocketAddr, after: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, reached) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut left = after;
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(admin)) else {
                    return;
                };
                let (answers, questions) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let back = thread::spawn(move || copy(answers, questions, &mut usize::MAX.clone()));
                copy(client, server, &mut left);
                if left == 0 {
                    // The receiver is gone when the test has failed already.
                    let _ = sender.send(());
                    return;
                }
                let _ = back.join();
            }
        });
        Self { address, reached }
    }

    /// Waits until the cut is reached, or the client has said everything that it had to say.
    fn reached(&self) {
        let _ = self.reached.recv_timeout(Duration::from_secs(20));
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, left: &mut usize) {
    let mut buffer = [0; 512];
    while *left > 0 {
        let wanted = buffer.len().min(*left);
        match from.read(&mut buffer[..wanted]) {
            Ok(0) | Err(_) => break,
            Ok(n) => {
                *left -= n;
                if to.write_all(&buffer[..n]).is_err() {
                    break;
                }
            }
        }
    }
    if *left > 0 {
        let _ = to.shutdown(Shutdown::Write);
    }
}

#[test]
fn statements_in_flight_and_open_transactions_survive_an_apply() {
    let world = WorldOnServers::start();
    let mut transaction = world.client("geo");
    ask(&mut transaction, "/* continent=Europe */ BEGIN").unwrap();
    ask(
        &mut transaction,
        "UPDATE world.City SET Population=1 WHERE Continent='Europe' AND Name='Roma'",
    )
    .unwrap();
    let mut slow = world.client("geo");
    let running = thread::spawn(move || {
        ask(
            &mut slow,
            "SELECT /* continent=Asia */ SLEEP(2), COUNT(*) FROM world.Country WHERE Code='IND'",
        )
    });
    let asia = &world.servers[1];
    eventually(Duration::from_secs(10), || {
        asia.run("SELECT 1 FROM information_schema.processlist WHERE info LIKE '%SLEEP(2)%' AND info NOT LIKE '%processlist%'")
            .unwrap()
            .len()
            == 1
    });
    world.write_atlantis();
    world.run(&["apply", "--auto-approve"]);
    assert!(world.serves_atlantis());
    assert!(!running.is_finished(), "the apply waited for the statement");
    assert_eq!(
        running.join().unwrap().map(|rows| lines(&rows)),
        Ok(vec!["0 | 1".to_owned()])
    );
    let roma = "SELECT Population FROM world.City WHERE Continent='Europe' AND Name='Roma'";
    assert_eq!(
        ask(&mut transaction, roma).map(|rows| lines(&rows)),
        Ok(vec!["1".to_owned()])
    );
    let other = ask(&mut world.client("geo"), roma).map(|rows| lines(&rows));
    assert_eq!(
        other,
        Ok(vec!["2643581".to_owned()]),
        "the transaction is still open"
    );
    ask(&mut transaction, "COMMIT").unwrap();
    assert_eq!(
        ask(&mut world.client("geo"), roma).map(|rows| lines(&rows)),
        Ok(vec!["1".to_owned()])
    );
}
