//! Sessions of a proxy between clients and a server that a string of bytes tells what to do.
//!
//! A case runs on one thread, and its time passes only where everybody waits; so the same bytes give the same case, and what takes
//! minutes is found in milliseconds. Only a hang is given real time, because of `COPIES_END`. Every statement has a token, which an honest server puts into its answer. A case fails if
//!
//! * a session panics,
//! * a client sees the token of another session, or of another statement than its own,
//! * an answer is not one to its command, or has something behind it,
//! * with honest servers: an answer does not come, or the proxy closes a session,
//! * after the last client has left, something is still counted or taken.
//!
//! ```text
//! input   settings │ length │ what clients do … │ what servers do …
//!         clients ◀─▶ sessions of one worker ◀─▶ servers: two connections to each of two hostgroups
//! ```

mod answers;
mod attributes;
mod case;
mod client;
mod commands;
mod lies;
mod script;
mod server;
mod token;

pub use self::case::CaseReport;

use std::net::SocketAddr;
use std::os::unix::net as unix;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use shardwright_proxy::Options;
use shardwright_proxy::in_process::{Figures, OneWorker};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet};

use self::case::Case;
use self::client::Client;
use self::script::Script;
use crate::configuration;

const CLIENTS: u8 = 3;
/// Turns, a virtual second each, after which everything is given back.
const TURNS: usize = 120;
/// Real time after which no process holds a copy of a case's sockets any more. One that is started elsewhere in this process
/// has them until its own program begins, and until then nobody sees that they are closed. Virtual time does not wait for it.
const COPIES_END: Duration = Duration::from_secs(20);

/// `/* b */` goes to cluster b. The user geo has a map, so its transactions begin with their first key.
const RULES: &str = r"
engine: bundled
rules:
- {rule_id: 1, match_pattern: '/\* b \*/', destination_hostgroup: 20, apply: 1}
- rule_id: 2
  scope: {users: {any_of: [geo]}}
  native:
    map:
      {map: m, key: tenant, kind: integer, conflict: reject, unqualified: reject, unknown: reject,
       finders: [{comment: {word: tenant, form: pairs}}],
       shards: [{address: m.t1, cluster: a, keys: [1]}, {address: m.t2, cluster: b, keys: [2]}],
       missing: {statements: allow, session_setup: allow, begin: first_statement}}
";

/// Where cases run, one at a time.
#[derive(Debug)]
pub struct SessionCases {
    directory: TempDir,
    configuration: String,
}

impl SessionCases {
    /// A place for cases.
    ///
    /// # Panics
    /// When there is no temporary directory.
    #[must_use]
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let socket = directory.path().join("server");
        let server = format!("{{host: {}, port: 0, max_connections: 2}}", socket.display());
        let hostgroups: String = [10, 11, 20, 21, 30]
            .map(|id| format!("  {id}: {server}\n"))
            .concat();
        let configuration = configuration(&format!("hostgroups:\n{hostgroups}{RULES}"));
        Self {
            directory,
            configuration: configuration.to_json(),
        }
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("server")
    }

    /// Runs a case.
    ///
    /// # Panics
    /// When the case fails.
    pub fn run(&self, input: &[u8]) -> CaseReport {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build();
        let runtime = runtime.expect("a runtime");
        LocalSet::new().block_on(&runtime, self.case(input))
    }

    async fn case(&self, input: &[u8]) -> CaseReport {
        let (&[setting, length], rest) = input.split_first_chunk().unwrap_or((&[0, 0], &[]));
        let (of_clients, of_servers) = rest.split_at(rest.len().min(2 * usize::from(length)));
        let case = Rc::new(Case::default());
        let listener = self.listen();
        let server = tokio::task::spawn_local(server::serve(listener, case.clone(), Script::new(of_servers)));
        let worker = OneWorker::start(&self.options(), &self.configuration).expect("a worker starts");
        let script = Script::new(of_clients);
        let clients: Vec<JoinHandle<()>> = (0..CLIENTS)
            .map(|number| {
                let is_behind_balancer = setting >> number & 1 != 0;
                let stream = connect(&worker, is_behind_balancer);
                let client = Client::new(stream, case.clone(), script.clone(), setting >> CLIENTS);
                tokio::task::spawn_local(client.run(is_behind_balancer))
            })
            .collect();
        for client in clients {
            client.await.expect("a client finds nothing wrong");
        }
        settle(&worker).await;
        server.abort();
        let ended = server
            .await
            .expect_err("a server that accepts until it is told not to");
        assert!(ended.is_cancelled(), "{ended}");
        worker.stop();
        case.report()
    }

    fn listen(&self) -> UnixListener {
        let path = self.socket();
        if path.exists() {
            std::fs::remove_file(&path).expect("the socket of the case before");
        }
        UnixListener::bind(path).expect("a socket")
    }

    fn options(&self) -> Options {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut options = Options::new(any, any, self.directory.path().join("data"));
        // The time in which a server is avoided is not that of the case.
        options.limits.backend_retry_after = Duration::ZERO;
        options
    }
}

impl Default for SessionCases {
    fn default() -> Self {
        Self::new()
    }
}

/// A client's end of a connection to the proxy.
fn connect(worker: &OneWorker, is_behind_balancer: bool) -> UnixStream {
    let (ours, theirs) = unix::UnixStream::pair().expect("a pair of sockets");
    for stream in [&ours, &theirs] {
        stream
            .set_nonblocking(true)
            .expect("a socket that does not block");
    }
    let balancer = is_behind_balancer.then(|| SocketAddr::from(([10, 0, 0, 1], 4711)));
    assert!(worker.accept(theirs, balancer), "a client is refused");
    UnixStream::from_std(ours).expect("a socket of the runtime's")
}

/// Waits until everything is given back that the clients had.
async fn settle(worker: &OneWorker) {
    let began = Instant::now();
    let mut turns = 0;
    while worker.figures() != Figures::default() && (turns < TURNS || began.elapsed() < COPIES_END) {
        tokio::time::sleep(Duration::from_secs(1)).await;
        turns += 1;
    }
    assert_eq!(worker.figures(), Figures::default(), "clients have left");
}
