//! The inserts of trials: through a proxy, and directly to a server.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mysql::Opts;
use shardwright_ledger::{Ledger, Running, Table};
use shardwright_testkit::{ClientOptions, MariaDb};

use crate::support::{PASSWORD, PATIENCE, TestProxy, USER};

const LOGIN: ClientOptions<'static> = ClientOptions {
    user: USER,
    password: PASSWORD,
    schema: None,
};

/// Each run has its own rows, as those of other trials may still be there.
static RUNS: AtomicU64 = AtomicU64::new(1);

/// What clients do.
#[derive(Clone, Copy, Default)]
pub(crate) struct Load {
    /// Every so many commits is a transaction; 0: none.
    pub(crate) transaction_every: u64,
    /// Commits in a second; none: as fast as they can.
    pub(crate) rate: Option<f64>,
}

impl Load {
    pub(crate) const CLIENTS: u64 = 4;
}

/// The table of rows that go through a proxy.
fn table() -> Table {
    Table::new("t", "ha")
}

/// Makes the tables of both sorts of rows.
pub(crate) fn create(server: &MariaDb) {
    let mut root = server.root().unwrap();
    table().create(&mut root).unwrap();
    directly_written().create(&mut root).unwrap();
}

/// Starts clients of a proxy.
pub(crate) fn begin(proxy: &TestProxy, load: Load) -> Running {
    start(
        Opts::from(LOGIN.tcp(proxy.running().listen_address())),
        table(),
        Load::CLIENTS,
        load,
    )
}

fn directly_written() -> Table {
    Table::new("t", "directly")
}

/// Starts a client of a server, with few rows.
pub(super) fn directly(server: &MariaDb) -> Running {
    let load = Load {
        rate: Some(100.0),
        ..Load::default()
    };
    start(
        Opts::from(LOGIN.tcp(server.address())),
        directly_written(),
        1,
        load,
    )
}

/// Whether a server has what was written directly.
pub(super) fn is_whole(server: &MariaDb, ledger: &Ledger) -> bool {
    let audit = ledger.audit_on(&mut server.root().unwrap(), PATIENCE).unwrap();
    audit.is_clean()
}

fn start(target: Opts, table: Table, clients: u64, load: Load) -> Running {
    let clients = u32::try_from(clients).ok().and_then(NonZeroU32::new).unwrap();
    let target = mysql::OptsBuilder::from_opts(target)
        .read_timeout(Some(Duration::from_secs(60)))
        .into();
    let load = shardwright_ledger::Load {
        targets: vec![target],
        table,
        run: RUNS.fetch_add(1, Ordering::Relaxed),
        clients,
        rate: load.rate,
        transaction_every: load.transaction_every,
    };
    load.start().unwrap()
}
