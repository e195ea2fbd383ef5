//! The durable state: the last generations that were applied, in a data directory that one proxy owns.
//!
//! A directory that is empty is new. One that is not says in `proxy.json` whose it is and what was applied last, so a database that
//! is gone is not taken for a new one. Each generation has the fingerprint of its text: one that is damaged is passed over, and the
//! newest whole one is served.

mod database;
mod error;
mod record;
#[cfg(test)]
mod tests;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};

pub use self::error::StoreError;
use self::record::{Record, RecordFile};
use crate::failpoint::{FailPoint, FailPoints};
use crate::private_file;

/// Generations that are kept.
const KEPT_GENERATIONS: i64 = 10;
/// The file of what monitors remember, which is there once something was applied.
const ROLES: &str = "roles.json";
const DATABASE: &str = "shardwright.db";
const LOCK: &str = "lock";

/// A generation as it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) number: i64,
    pub(crate) fingerprint: String,
    /// Whose configuration it is; `None` where the project has no name.
    pub(crate) project: Option<String>,
    pub(crate) configuration: String,
}

/// What a data directory is meant to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Meant<'a> {
    /// The name of the proxy that it belongs to.
    pub(crate) name: Option<&'a str>,
    /// Whether it has to hold a configuration.
    pub(crate) holds_configuration: bool,
}

/// What is served after a start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Restorable {
    /// The newest generation that is whole; `None`: nothing was ever applied.
    pub(crate) generation: Option<Generation>,
    /// What is damaged, each in a sentence.
    pub(crate) damage: Vec<String>,
}

/// The open store; the directory is locked until it is dropped.
#[derive(Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    path: PathBuf,
    connection: Connection,
    record_file: RecordFile,
    record: Record,
    holds_configuration: bool,
    /// Damage that was found on opening.
    damage: Vec<String>,
    /// Whether `proxy.json` was there: files that are missing beside it are lost.
    pub(crate) was_on_record: bool,
    lock: File,
}

impl Drop for Store {
    fn drop(&mut self) {
        // Closing is not enough: a child process between fork and exec still has the descriptor, and the lock with it.
        if let Err(error) = self.lock.unlock() {
            tracing::warn!(%error, "the data directory could not be unlocked");
        }
    }
}

impl Store {
    /// Opens the store of `directory` and locks it; both are created when absent.
    pub(crate) fn open(directory: &Path, meant: Meant<'_>) -> Result<Self, StoreError> {
        let path = directory.join(DATABASE);
        let record_file = RecordFile::in_directory(directory);
        files_only(directory)?;
        let is_untouched = !path.exists() && !record_file.path().exists() && !was_used(directory);
        if meant.holds_configuration && is_untouched {
            // The place where a volume should be stays as it is.
            return Err(StoreError::Empty(directory.to_owned()));
        }
        private_file::create_directory(directory).map_err(io(directory))?;
        let lock = lock(directory)?;
        tighten_all(directory)?;
        let mut damage = Vec::new();
        let found = record_file.read().unwrap_or_else(|error| {
            damage.push(format!(
                "{}: {error}; it is written anew",
                record_file.path().display()
            ));
            None
        });
        let was_on_record = found.is_some();
        let mut record = found.unwrap_or_default();
        take_name(directory, &mut record, meant.name)?;
        let is_new = fs::metadata(&path).map_or(true, |metadata| metadata.len() == 0);
        // A record that cannot be read may be of any generation.
        if is_new && (record.generation > 0 || !damage.is_empty() || was_used(directory)) {
            let generation = match record.generation {
                0 => "a configuration".to_owned(),
                generation => format!("generation {generation}"),
            };
            return Err(StoreError::Missing { path, generation });
        }
        private_file::open(&path).map_err(io(&path))?;
        let connection = database::open(&path)?;
        Ok(Self {
            directory: directory.to_owned(),
            path,
            connection,
            record_file,
            record,
            holds_configuration: meant.holds_configuration,
            damage,
            was_on_record,
            lock,
        })
    }

    /// What is to be served, which goes on record.
    pub(crate) fn restorable(&mut self) -> Result<Restorable, StoreError> {
        let failed = |source| database::failed(&self.path, source);
        let (numbers, is_end) = database::numbers(&self.connection).map_err(failed)?;
        let mut damaged = Vec::new();
        let mut generation = None;
        for number in numbers.into_iter().rev() {
            generation = database::whole(&self.connection, number).map_err(failed)?;
            if generation.is_some() {
                break;
            }
            damaged.push(number);
        }
        let served = generation.as_ref().map_or(0, |generation| generation.number);
        let last = damaged.first().copied().unwrap_or(served);
        if generation.is_none() && last.max(self.record.generation) > 0 {
            let reason = format!(
                "no generation in it is whole, and {} was applied",
                last.max(self.record.generation)
            );
            let path = self.path.clone();
            return Err(StoreError::Damaged { path, reason });
        }
        if generation.is_none() && self.holds_configuration {
            return Err(StoreError::Empty(self.directory.clone()));
        }
        let mut damage = self.damage.clone();
        damage.extend(self.what_is_lost(served, &damaged, is_end));
        self.put_on_record(last.max(self.record.generation));
        Ok(Restorable { generation, damage })
    }

    /// Why the generation that is served is not the last one.
    fn what_is_lost(&self, served: i64, damaged: &[i64], is_end: bool) -> Option<String> {
        let path = self.path.display();
        if !is_end {
            return Some(format!(
                "{path}: the file is damaged behind generation {served}, which is served; nothing more can be applied to it: start with an empty --data-dir and apply"
            ));
        }
        let last = damaged.first().copied().unwrap_or(served);
        let what = match self.record.generation > last {
            true => format!(
                "generation {} was applied and is not there",
                self.record.generation
            ),
            false if damaged.is_empty() => return None,
            false => {
                let one = |number: &i64| format!("generation {number} is damaged");
                damaged.iter().map(one).collect::<Vec<_>>().join(", ")
            }
        };
        Some(format!(
            "{path}: {what}; generation {served} is served, and an apply brings back what is missing"
        ))
    }

    /// A number that no generation has had.
    pub(crate) fn next_number(&self) -> i64 {
        self.record.generation + 1
    }

    /// Makes `generation` the last one. It is durable when this returns; on an error nothing has changed.
    pub(crate) fn append(
        &mut self,
        generation: &Generation,
        fail_points: FailPoints,
    ) -> Result<(), StoreError> {
        self.append_transaction(generation, fail_points)
            .map_err(|source| database::failed(&self.path, source))?;
        self.put_on_record(generation.number);
        Ok(())
    }

    fn append_transaction(
        &mut self,
        generation: &Generation,
        fail_points: FailPoints,
    ) -> Result<(), rusqlite::Error> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() as i64);
        let transaction = self.connection.transaction()?;
        transaction.execute(
            "INSERT INTO generations (generation, fingerprint, project, configuration, applied_at)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                generation.number,
                generation.fingerprint,
                generation.project,
                generation.configuration,
                now
            ],
        )?;
        transaction.execute(
            "DELETE FROM generations WHERE generation <= ?1 - ?2",
            params![generation.number, KEPT_GENERATIONS],
        )?;
        fail_points.reach(FailPoint::InTransaction);
        transaction.commit()
    }

    /// The database decides what is served; the record only shows that something is missing there.
    fn put_on_record(&mut self, generation: i64) {
        self.record.generation = generation;
        if let Err(error) = self.record_file.write(&self.record) {
            tracing::error!(file = %self.record_file.path().display(), %error, "a loss of generations would not be noticed");
        }
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    |source| StoreError::Io { path, source }
}

/// Refuses a directory in which something else stands where a file should, such as the directory that a container makes of a
/// mount whose source is missing.
fn files_only(directory: &Path) -> Result<(), StoreError> {
    for name in [DATABASE, LOCK, ROLES, record::NAME] {
        let path = directory.join(name);
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            return Err(StoreError::NotAFile(path));
        }
    }
    Ok(())
}

/// Whether there are files that only a proxy with a configuration writes.
fn was_used(directory: &Path) -> bool {
    let is_there = |path: PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0);
    is_there(directory.join(ROLES))
}

/// The directory gets the name of the first proxy that has one.
fn take_name(directory: &Path, record: &mut Record, name: Option<&str>) -> Result<(), StoreError> {
    match (&record.name, name) {
        (Some(owner), Some(name)) if owner != name => Err(StoreError::OtherProxy {
            path: directory.to_owned(),
            owner: owner.clone(),
            name: name.to_owned(),
        }),
        (None, Some(name)) => {
            record.name = Some(name.to_owned());
            Ok(())
        }
        (_, None) | (Some(_), Some(_)) => Ok(()),
    }
}

/// Takes the directory's files from everybody else; earlier versions let others read them.
fn tighten_all(directory: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(directory).map_err(io(directory))? {
        let path = entry.map_err(io(directory))?.path();
        match private_file::tighten(&path) {
            Ok(Some(mode)) => {
                tracing::warn!(file = %path.display(), "others could use it (mode {mode:04o}); it is 0600 now");
            }
            Ok(None) => {}
            Err(error) => {
                tracing::error!(file = %path.display(), %error, "others can use it, and that cannot be changed");
            }
        }
    }
    Ok(())
}

fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join(LOCK);
    let file = private_file::open(&path).map_err(io(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(io(&path)(source)),
    }
}
