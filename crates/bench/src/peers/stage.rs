//! What a row has at hand: the plan, a server, and clients of it.

use shardwright_testkit::{MariaDb, Options};

use super::Plan;
use crate::BenchError;
use crate::bundled::filled;
use crate::sysbench::Sysbench;

/// A row while it is measured.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    pub(super) row: &'static str,
    pub(super) progress: &'a dyn Fn(&str),
}

/// Where client, proxy and server run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    /// All on the core of the plan: nothing overlaps, and no wake-up crosses cores.
    One,
    /// Wherever the kernel puts them.
    All,
}

/// A server with sysbench's table; it ends with the value.
pub(super) struct Server {
    pub(super) maria: MariaDb,
    pub(super) client: Sysbench,
    pub(super) cores: Cores,
}

impl Stage<'_> {
    /// A server on those cores, and a client of it with so many connections.
    pub(super) fn server(
        &self,
        cores: Cores,
        threads: u32,
        most_connections: u32,
    ) -> Result<Server, BenchError> {
        self.server_with(Options::default(), cores, threads, most_connections)
    }

    /// The same with further options.
    pub(super) fn server_with(
        &self,
        options: Options,
        cores: Cores,
        threads: u32,
        most_connections: u32,
    ) -> Result<Server, BenchError> {
        let listed = self.listed(cores);
        let options = Options {
            wrapper: ["taskset", "-c", &listed].map(str::to_owned).to_vec(),
            ..options
        }
        .arg(format!("--max-connections={most_connections}"))
        .arg("--thread-cache-size=1000");
        let maria = MariaDb::start(options)?;
        let client = filled(&maria, threads, listed)?;
        Ok(Server { maria, client, cores })
    }

    /// The cores as `taskset -c` takes them.
    pub(super) fn listed(&self, cores: Cores) -> String {
        match cores {
            Cores::One => self.plan.core.to_string(),
            Cores::All => format!("0-{}", count() - 1),
        }
    }
}

impl Cores {
    /// Threads for a proxy that has one on each core.
    pub(super) fn threads(self) -> u32 {
        match self {
            Self::One => 1,
            Self::All => count(),
        }
    }
}

fn count() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores).unwrap_or(1)
}
