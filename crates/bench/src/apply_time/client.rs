//! A client that selects a row by its primary key, one statement after the other, and remembers how long each took.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use serde::Serialize;
use shardwright_testkit::{ClientOptions, connect, poll_until};

use crate::BenchError;

/// How many statements are felt in peace.
const IN_PEACE: usize = 3_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// What statements took, in milliseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Felt {
    pub(super) statements: usize,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) longest_ms: f64,
}

/// A running client; it ends when [`Client::end`] is called, or at its first error.
pub(super) struct Client {
    shared: Arc<Shared>,
    thread: JoinHandle<mysql::Result<()>>,
}

#[derive(Default)]
struct Shared {
    /// How long each statement took that has ended, in milliseconds, since somebody last asked.
    took: Mutex<Vec<f64>>,
    is_paused: AtomicBool,
    is_over: AtomicBool,
}

impl Client {
    /// Begins to select as `app`, with the key of a shard of 1 to `shards` in a comment.
    pub(super) fn start(proxy: SocketAddr, shards: u32) -> Result<Self, BenchError> {
        let app = ClientOptions {
            user: "app",
            password: "app",
            schema: Some("app"),
        };
        let mut connection = connect(proxy, app)?;
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let mut key = 1;
            while !of_thread.is_over.load(Ordering::Relaxed) {
                if of_thread.is_paused.load(Ordering::Acquire) {
                    thread::park();
                    continue;
                }
                // Steps of a prime go through all the keys.
                key = (key + 7_919) % shards + 1;
                let begun = Instant::now();
                connection.query_drop(format!("/* tenant={key} */ SELECT v FROM t WHERE id = 1"))?;
                let took = begun.elapsed().as_secs_f64() * 1e3;
                of_thread.took.lock().expect("nobody panics with it").push(took);
            }
            Ok(())
        });
        Ok(Self { shared, thread })
    }

    /// What is felt while nothing else happens.
    pub(super) fn felt_in_peace(&self) -> Result<Felt, BenchError> {
        self.forget();
        let has_enough = || {
            let count = self.shared.took.lock().expect("nobody panics with it").len();
            (count >= IN_PEACE || self.thread.is_finished()).then_some(())
        };
        poll_until(PATIENCE, has_enough).map_err(|error| failed(error.to_string()))?;
        self.felt()
    }

    /// Does something while it sends nothing.
    pub(super) fn paused<T>(&self, run: impl FnOnce() -> T) -> T {
        self.shared.is_paused.store(true, Ordering::Release);
        let done = run();
        self.shared.is_paused.store(false, Ordering::Release);
        self.thread.thread().unpark();
        done
    }

    /// What was felt before counts no more.
    pub(super) fn forget(&self) {
        self.shared.took.lock().expect("nobody panics with it").clear();
    }

    /// What was felt since.
    pub(super) fn felt(&self) -> Result<Felt, BenchError> {
        if self.thread.is_finished() {
            return Err(failed("a statement failed".to_owned()));
        }
        let mut took = self.shared.took.lock().expect("nobody panics with it").clone();
        took.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (took.len() as f64 * share) as usize;
            took.get(place.min(took.len().saturating_sub(1))).copied()
        };
        let none = || failed("no statement has ended".to_owned());
        Ok(Felt {
            statements: took.len(),
            p50_ms: at(0.5).ok_or_else(none)?,
            p99_ms: at(0.99).ok_or_else(none)?,
            longest_ms: at(1.0).ok_or_else(none)?,
        })
    }

    /// Ends it.
    pub(super) fn end(self) -> Result<(), BenchError> {
        self.shared.is_over.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(ended) => Ok(ended?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn failed(output: String) -> BenchError {
    BenchError::Output {
        what: "the client of the ProxySQL".to_owned(),
        output,
    }
}
