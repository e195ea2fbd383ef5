//! Clients that read from the replicas, and what they were told.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;
use shardwright_ledger::Running;
use shardwright_testkit::{ClientOptions, MariaDb, connect};

use super::{A_LOOK, LAG_LIMIT};
use crate::support::{PASSWORD, USER};

const CLIENTS: usize = 6;

/// How long each read takes on a server, s; it is not replicated.
pub(super) fn set_pace(server: &MariaDb, pace_s: f64) {
    let sql = format!(
        "SET sql_log_bin = 0; CREATE DATABASE IF NOT EXISTS pace; CREATE OR REPLACE TABLE pace.pace (s DOUBLE); \
         INSERT INTO pace.pace VALUES ({pace_s})"
    );
    server.run(sql).unwrap();
}

/// What readers were told.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reads {
    pub(super) answered: u64,
    pub(super) failed: u64,
    /// Answers that lack commits which were acknowledged longer ago than the limit of lag and a look of the monitor.
    pub(super) too_old: u64,
}

impl Reads {
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            answered: self.answered - before.answered,
            failed: self.failed - before.failed,
            too_old: self.too_old - before.too_old,
        }
    }
}

/// What readers share.
struct Shared {
    inserts: Arc<Running>,
    address: SocketAddr,
    sql: String,
    is_over: AtomicBool,
    told: Mutex<Reads>,
    /// How many commits were acknowledged at a moment, of the last few seconds.
    acknowledged: Mutex<VecDeque<(Instant, usize)>>,
}

/// Clients that read, until the value is dropped.
pub(super) struct Readers {
    shared: Arc<Shared>,
    clients: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts clients that count the rows of `inserts`.
    pub(super) fn start(address: SocketAddr, inserts: &Arc<Running>) -> Self {
        let ledger = inserts.so_far();
        let (table, run) = (&ledger.load().table, ledger.load().run);
        let shared = Arc::new(Shared {
            inserts: Arc::clone(inserts),
            address,
            sql: format!(
                "SELECT /* read */ (SELECT COUNT(*) FROM {table} WHERE run = {run}), SLEEP((SELECT s FROM pace.pace))"
            ),
            is_over: AtomicBool::new(false),
            told: Mutex::default(),
            acknowledged: Mutex::default(),
        });
        let clients = (0..CLIENTS).map(|_| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.read())
        });
        let clients = clients.collect();
        Self { shared, clients }
    }

    pub(super) fn so_far(&self) -> Reads {
        *self.shared.told.lock().unwrap()
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            // What it has panicked of is on the screen.
            let _ended = client.join();
        }
    }
}

impl Shared {
    fn read(&self) {
        let login = ClientOptions {
            user: USER,
            password: PASSWORD,
            schema: None,
        };
        let mut connection: Option<Conn> = None;
        while !self.is_over.load(Ordering::Relaxed) {
            let Some(open) = &mut connection else {
                connection = connect(self.address, login).ok();
                continue;
            };
            let least = self.acknowledged_before(LAG_LIMIT + A_LOOK);
            let answer: mysql::Result<Option<(usize, u8)>> = open.query_first(&self.sql);
            let mut told = self.told.lock().unwrap();
            match answer {
                Ok(Some((rows, _))) => {
                    told.answered += 1;
                    told.too_old += u64::from(rows < least);
                }
                Ok(None) | Err(_) => {
                    told.failed += 1;
                    connection = None;
                }
            }
        }
    }

    /// How many commits had been acknowledged so long ago.
    fn acknowledged_before(&self, age: Duration) -> usize {
        let mut known = self.acknowledged.lock().unwrap();
        let now = Instant::now();
        known.push_back((now, self.inserts.acknowledged()));
        let mut least = 0;
        while known.len() > 1 && now.duration_since(known[1].0) >= age {
            known.pop_front();
        }
        if let Some((at, commits)) = known.front()
            && now.duration_since(*at) >= age
        {
            least = *commits;
        }
        least
    }
}
