//! `bench crowd`: the servers and the proxy of a measurement with many clients.

use std::time::Duration;

use clap::Args;
use shardwright_bench::bundled::{Bundled, PASSWORD, SCHEMA, Setup, USER, filled};
use shardwright_bench::{BenchError, Endpoint, Report, crowd};
use shardwright_testkit::{MariaDb, Options};

/// Connections of the proxy to the server.
const SHARED: u32 = 16;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Connections that are open.
    #[arg(long, default_value_t = Self::default().clients)]
    clients: u32,
    /// Those that work.
    #[arg(long, default_value_t = Self::default().active)]
    active: u32,
    /// How many rounds.
    #[arg(long, default_value_t = Self::default().rounds)]
    rounds: u32,
    /// Seconds per target and round.
    #[arg(long, default_value_t = Self::default().seconds)]
    seconds: u64,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            clients: 2_000,
            active: 200,
            rounds: 5,
            seconds: 5,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, progress: impl FnMut(&str)) -> Result<Report, BenchError> {
    let most = arguments.clients + arguments.active + 100;
    let start = |handling: &str| {
        // Threads that are kept are counted to the end.
        let options = Options::default()
            .arg(format!("--max-connections={most}"))
            .arg(format!("--thread-cache-size={most}"))
            .arg(format!("--thread-handling={handling}"));
        MariaDb::start(options)
    };
    let [alone, pooled, shared] = [
        start("one-thread-per-connection")?,
        start("pool-of-threads")?,
        start("one-thread-per-connection")?,
    ];
    let cores = format!(
        "0-{}",
        std::thread::available_parallelism().map_or(1, usize::from) - 1
    );
    let mut clients = Vec::new();
    for server in [&alone, &pooled, &shared] {
        clients.push(filled(server, arguments.active, cores.clone())?);
    }
    let setup = Setup {
        max_connections: Some(SHARED),
        most_clients: Some(most),
        ..Setup::default()
    };
    let bundled = Bundled::start(&crate::shardwright()?, &shared, &setup)?;
    let direct = |name, server: &MariaDb| crowd::Target {
        endpoint: Endpoint::running(name, server.address(), server.process_id()),
        server: server.process_id(),
    };
    let targets = [
        direct("a thread for each connection", &alone),
        direct("pool of threads", &pooled),
        crowd::Target {
            endpoint: bundled.endpoint(),
            server: shared.process_id(),
        },
    ];
    let login = shardwright_testkit::ClientOptions {
        user: USER,
        password: PASSWORD,
        schema: Some(SCHEMA),
    };
    let plan = crowd::Plan {
        targets: &targets,
        idle: arguments.clients - arguments.active.min(arguments.clients),
        login,
        client: &clients[0],
        rounds: arguments.rounds,
        duration: Duration::from_secs(arguments.seconds),
    };
    crowd::run(&plan, progress)
}
