//! Runs in a store that several machines reach.
//!
//! ```text
//! heads/RUN            what the run is, for everybody to read; put last, so that a run without it has not begun
//! rows/RUN/NNNN        the whole of it with its rows, sealed and cut into parts that every store takes
//! phases/RUN/NNNNNNNN  what was begun or done
//! ```
//!
//! The lock has a period, and a thread renews it. The store writes only for the holder of the lock, so a machine that
//! slept through its period writes nothing more. Setting back goes on without the store only while the lock is ours by
//! our own clock.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::cells::{CellError, Cells, Held, after};
use super::error::JournalError;
use super::holder::{Holder, Owner};
use super::record::{Phase, RunHead, RunRecord, check_version};
use super::sealed::KeyReference;
use super::store::{Store, StoredRun};

/// etcd takes requests of 1.5 MiB, in which a value is a third larger.
const PART_BYTES: usize = 512 * 1024;
/// How much of a period is never counted on: clocks and answers are not exact.
const MARGIN: u32 = 4;
/// How often a lock is renewed in a period.
const RENEWALS: u32 = 5;

/// Runs of one project in a store.
#[derive(Debug)]
pub(super) struct Shared {
    cells: Arc<dyn Cells>,
    owner: Owner,
    key: KeyReference,
    period: Duration,
    locked: Mutex<Option<Locked>>,
}

/// A lock of ours, and the thread that renews it.
#[derive(Debug)]
struct Locked {
    lock: Vec<u8>,
    /// Until when it is ours for certain; `None`: it was lost.
    until: Arc<Mutex<Option<Instant>>>,
    stop: mpsc::Sender<()>,
    renewing: JoinHandle<()>,
}

/// `heads/RUN`
#[derive(Debug, Serialize, Deserialize)]
struct StoredHead {
    version: u32,
    #[serde(flatten)]
    head: RunHead,
    /// The name of the key that its rows are sealed with.
    key: String,
}

impl Shared {
    /// The lock lasts so long without its holder.
    pub(super) fn new(cells: Arc<dyn Cells>, owner: Owner, key: KeyReference, period: Duration) -> Self {
        Self {
            cells,
            owner,
            key,
            period,
            locked: Mutex::new(None),
        }
    }

    fn failed(&self, error: CellError) -> JournalError {
        let place = self.cells.place().to_owned();
        match error {
            CellError::Failed(reason) => JournalError::Store { place, reason },
            CellError::NotLocked(reason) => JournalError::LockLost { place, reason },
        }
    }

    fn unreadable(&self, name: &str, reason: String) -> JournalError {
        JournalError::Unreadable {
            place: format!("{name} in {}", self.cells.place()),
            reason,
        }
    }

    fn locked_by(&self, held: Held) -> Result<Holder, JournalError> {
        let other = || self.unreadable("the lock", "something else has written it".to_owned());
        held.holder().ok_or_else(other)
    }

    fn own_lock(&self) -> Result<Vec<u8>, JournalError> {
        let locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = locked.as_ref().map(|locked| locked.lock.clone());
        lock.ok_or_else(|| JournalError::LockLost {
            place: self.cells.place().to_owned(),
            reason: "it was given back".to_owned(),
        })
    }

    fn put(&self, name: &str, value: &[u8]) -> Result<(), JournalError> {
        let lock = self.own_lock()?;
        self.cells
            .put(&lock, name, value)
            .map_err(|error| self.failed(error))
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, JournalError> {
        self.cells.list(prefix).map_err(|error| self.failed(error))
    }

    fn head(&self, run: &str, bytes: &[u8]) -> Result<StoredHead, JournalError> {
        check_version(bytes)
            .and_then(|()| serde_json::from_slice(bytes).map_err(|error| error.to_string()))
            .map_err(|reason| self.unreadable(&head_name(run), reason))
    }

    /// The phases of runs, each with its number, whose names begin so.
    fn phases(&self, prefix: &str) -> Result<BTreeMap<String, BTreeMap<u64, Phase>>, JournalError> {
        let mut runs: BTreeMap<String, BTreeMap<u64, Phase>> = BTreeMap::new();
        for (rest, bytes) in self.list(prefix)? {
            let name = format!("{prefix}{rest}");
            let unreadable = |reason: String| self.unreadable(&name, reason);
            let (run, number) = name
                .trim_start_matches("phases/")
                .split_once('/')
                .and_then(|(run, number)| Some((run.to_owned(), number.parse().ok()?)))
                .ok_or_else(|| unreadable("it is no name of a phase".to_owned()))?;
            let phase = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
            runs.entry(run).or_default().insert(number, phase);
        }
        Ok(runs)
    }
}

impl Store for Shared {
    fn lock(&self) -> Result<(), JournalError> {
        let holder = Holder {
            owner: self.owner.clone(),
            token: token()?,
            expires_in: None,
        };
        let lock = serde_json::to_vec(&holder).expect("texts are JSON");
        let asked = Instant::now();
        let held = self.cells.acquire(&lock, self.period);
        if let Some(held) = held.map_err(|error| self.failed(error))? {
            return Err(JournalError::Locked {
                place: self.cells.place().to_owned(),
                holder: self.locked_by(held)?,
            });
        }
        let until = Arc::new(Mutex::new(Some(sure(asked, self.period))));
        let (stop, stopped) = mpsc::channel();
        let (cells, period) = (Arc::clone(&self.cells), self.period);
        let (of_thread, renewed) = (lock.clone(), Arc::clone(&until));
        let renewing = thread::spawn(move || renew(&*cells, &of_thread, period, &renewed, &stopped));
        let locked = Locked {
            lock,
            until,
            stop,
            renewing,
        };
        *self.locked.lock().unwrap_or_else(PoisonError::into_inner) = Some(locked);
        Ok(())
    }

    fn unlock(&self) {
        let locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(locked) = locked else { return };
        drop(locked.stop);
        // A thread that has panicked renews nothing; the lock goes either way.
        let _panicked = locked.renewing.join();
        // A lock that cannot be given back ends with its period.
        let _kept = self.cells.release(&locked.lock);
    }

    fn is_surely_locked(&self) -> bool {
        let locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        let until = locked
            .as_ref()
            .and_then(|locked| *locked.until.lock().unwrap_or_else(PoisonError::into_inner));
        until.is_some_and(|until| Instant::now() < until)
    }

    fn holder(&self) -> Result<Option<Holder>, JournalError> {
        let held = self.cells.held().map_err(|error| self.failed(error))?;
        held.map(|held| self.locked_by(held)).transpose()
    }

    fn break_lock(&self, holder: &Holder) -> Result<bool, JournalError> {
        let lock = serde_json::to_vec(holder).expect("texts are JSON");
        self.cells.release(&lock).map_err(|error| self.failed(error))
    }

    fn begin(&self, record: &RunRecord) -> Result<(), JournalError> {
        let run = &record.identity.run;
        let key = self.key.find()?;
        let head = StoredHead {
            version: record.version,
            head: record.head.clone(),
            key: key.name().to_owned(),
        };
        let head = serde_json::to_vec(&head).expect("texts and numbers are JSON");
        let rows = serde_json::to_vec(record);
        let rows = Zeroizing::new(rows.expect("rows have string keys only, so JSON can hold them"));
        let sealed = key.seal(&rows, &head).map_err(|reason| JournalError::Sealed {
            what: format!("run {run}"),
            reason,
        })?;
        for (number, part) in sealed.chunks(PART_BYTES).enumerate() {
            self.put(&format!("rows/{run}/{number:04}"), part)?;
        }
        self.put(&head_name(run), &head)
    }

    fn note(&self, run: &str, number: u64, phase: &Phase) -> Result<(), JournalError> {
        let line = serde_json::to_vec(phase).expect("texts are JSON");
        self.put(&format!("phases/{run}/{number:08}"), &line)
    }

    fn count(&self) -> Result<usize, JournalError> {
        Ok(self.list("heads/")?.len())
    }

    /// The head goes first: a run without it has not begun.
    fn remove(&self, run: &str) -> Result<(), JournalError> {
        let lock = self.own_lock()?;
        let head = head_name(run);
        let of_run = [format!("rows/{run}/"), format!("phases/{run}/")];
        let ranges = of_run.iter().map(|prefix| (prefix, after(prefix)));
        for (from, end) in std::iter::once((&head, [head.as_bytes(), &[0]].concat())).chain(ranges) {
            self.cells
                .remove(&lock, from, &end)
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn heads(&self) -> Result<Vec<StoredRun<RunHead>>, JournalError> {
        let heads = self.list("heads/")?;
        let mut phases = self.phases("phases/")?;
        let read = |(run, bytes): (String, Vec<u8>)| {
            let head = self.head(&run, &bytes)?.head;
            Ok(stored(head, phases.remove(&run).unwrap_or_default()))
        };
        heads.into_iter().map(read).collect()
    }

    fn run(&self, run: &str) -> Result<StoredRun<RunRecord>, JournalError> {
        let bytes = self.cells.get(&head_name(run));
        let bytes = bytes.map_err(|error| self.failed(error))?;
        let bytes = bytes.ok_or_else(|| JournalError::NoRun(run.to_owned()))?;
        let head = self.head(run, &bytes)?;
        let sealed = |reason: String| JournalError::Sealed {
            what: format!("the rows of run {run} in {}", self.cells.place()),
            reason,
        };
        let key = self.key.find()?;
        if key.name() != head.key {
            return Err(sealed(format!(
                "they are sealed with the key {}, and `state.key` is the key {}",
                head.key,
                key.name()
            )));
        }
        let mut parts = Vec::new();
        for (_, part) in self.list(&format!("rows/{run}/"))? {
            parts.extend(part);
        }
        let rows = key.open(&parts, &bytes).map_err(sealed)?;
        let record: RunRecord = serde_json::from_slice(&rows)
            .map_err(|error| self.unreadable(&format!("rows/{run}"), error.to_string()))?;
        let phases = self.phases(&format!("phases/{run}/"))?;
        Ok(stored(record, phases.into_values().next().unwrap_or_default()))
    }
}

fn head_name(run: &str) -> String {
    format!("heads/{run}")
}

fn stored<R>(record: R, phases: BTreeMap<u64, Phase>) -> StoredRun<R> {
    StoredRun {
        record,
        next: phases.last_key_value().map_or(0, |(last, _)| last + 1),
        phases: phases.into_values().collect(),
    }
}

fn token() -> Result<String, JournalError> {
    let mut bytes = [0; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|error| JournalError::Sealed {
        what: "no random numbers for a lock".to_owned(),
        reason: error.to_string(),
    })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Until when a lock is ours that was asked for then.
fn sure(asked: Instant, period: Duration) -> Instant {
    asked + period - period / MARGIN
}

/// Renews a lock until it is given back, or lost.
fn renew(
    cells: &dyn Cells,
    lock: &[u8],
    period: Duration,
    until: &Mutex<Option<Instant>>,
    stopped: &mpsc::Receiver<()>,
) {
    while stopped.recv_timeout(period / RENEWALS) == Err(RecvTimeoutError::Timeout) {
        let asked = Instant::now();
        let is_ours = match cells.renew(lock, period) {
            Ok(()) => true,
            Err(CellError::NotLocked(_)) => false,
            // The store may be back before the period ends.
            Err(CellError::Failed(_)) => continue,
        };
        let sure = is_ours.then(|| sure(asked, period));
        *until.lock().unwrap_or_else(PoisonError::into_inner) = sure;
        if !is_ours {
            return;
        }
    }
}
