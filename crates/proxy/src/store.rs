//! The durable state: the last generations that were applied, in a data directory that one proxy owns.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OptionalExtension, params};

use crate::failpoint::{FailPoint, FailPoints};

/// Generations that are kept.
const KEPT_GENERATIONS: i64 = 10;
const SCHEMA_VERSION: i64 = 2;

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory or its lock cannot be used.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Another proxy runs on it.
    #[error("{}: another proxy runs on this data directory", .0.display())]
    Locked(PathBuf),
    /// The database cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// Why it failed.
        source: rusqlite::Error,
    },
    /// It was written by a later version.
    #[error("{}: written by a later version of shardwright (format {found})", .path.display())]
    TooNew {
        /// The database file.
        path: PathBuf,
        /// The format found.
        found: i64,
    },
}

/// A generation as it was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) number: i64,
    pub(crate) fingerprint: String,
    /// Whose configuration it is; `None` where the project has no name.
    pub(crate) project: Option<String>,
    pub(crate) configuration: String,
}

/// The open store; the directory is locked until it is dropped.
#[derive(Debug)]
pub(crate) struct Store {
    path: PathBuf,
    connection: Connection,
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
    pub(crate) fn open(directory: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(directory).map_err(|source| StoreError::Io {
            path: directory.to_owned(),
            source,
        })?;
        let lock = lock(directory)?;
        let path = directory.join("shardwright.db");
        let connection = open_database(&path)?;
        Ok(Self {
            path,
            connection,
            lock,
        })
    }

    /// The generation applied last.
    pub(crate) fn last(&self) -> Result<Option<Generation>, StoreError> {
        let sql = "SELECT generation, fingerprint, project, configuration FROM generations ORDER BY generation DESC LIMIT 1";
        let row = self.connection.query_row(sql, [], |row| {
            Ok(Generation {
                number: row.get(0)?,
                fingerprint: row.get(1)?,
                project: row.get(2)?,
                configuration: row.get(3)?,
            })
        });
        row.optional().map_err(|source| self.failed(source))
    }

    /// Makes `generation` the last one. It is durable when this returns; on an error nothing has changed.
    pub(crate) fn append(
        &mut self,
        generation: &Generation,
        fail_points: FailPoints,
    ) -> Result<(), StoreError> {
        self.append_transaction(generation, fail_points)
            .map_err(|source| StoreError::Database {
                path: self.path.clone(),
                source,
            })
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

    fn failed(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Database {
            path: self.path.clone(),
            source,
        }
    }
}

fn lock(directory: &Path) -> Result<File, StoreError> {
    let path = directory.join("lock");
    let failed = |source| StoreError::Io {
        path: path.clone(),
        source,
    };
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Locked(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

fn open_database(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::Database {
        path: path.to_owned(),
        source,
    };
    let connection = Connection::open(path).map_err(failed)?;
    // EXTRA is FULL and syncs the directory after the journal is deleted: without that, a power cut right after a
    // commit can bring the journal back and undo it (https://sqlite.org/pragma.html#pragma_synchronous).
    connection
        .execute_batch("PRAGMA synchronous = EXTRA;")
        .map_err(failed)?;
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(failed)?;
    match version {
        SCHEMA_VERSION => {}
        // Before projects had names.
        1 => connection
            .execute_batch(&format!(
                "BEGIN;
                 ALTER TABLE generations ADD COLUMN project TEXT;
                 PRAGMA user_version = {SCHEMA_VERSION};
                 COMMIT;"
            ))
            .map_err(failed)?,
        0 => connection
            .execute_batch(&format!(
                "BEGIN;
                 CREATE TABLE generations (
                     generation INTEGER PRIMARY KEY,
                     fingerprint TEXT NOT NULL,
                     configuration TEXT NOT NULL,
                     applied_at INTEGER NOT NULL,
                     project TEXT
                 ) STRICT;
                 PRAGMA user_version = {SCHEMA_VERSION};
                 COMMIT;"
            ))
            .map_err(failed)?,
        found => {
            return Err(StoreError::TooNew {
                path: path.to_owned(),
                found,
            });
        }
    }
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(number: i64) -> Generation {
        Generation {
            number,
            fingerprint: format!("f{number}"),
            project: (number % 2 == 0).then(|| "shop".to_owned()),
            configuration: format!("{{\"n\":{number}}}"),
        }
    }

    #[test]
    fn the_last_generation_is_there_again() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path()).unwrap();
        assert_eq!(store.last().unwrap(), None);
        for number in 1..=25 {
            store.append(&generation(number), FailPoints::default()).unwrap();
        }
        drop(store);
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(store.last().unwrap(), Some(generation(25)));
        let kept: i64 = store
            .connection
            .query_row("SELECT count(*) FROM generations", [], |row| row.get(0))
            .unwrap();
        assert_eq!(kept, KEPT_GENERATIONS);
    }

    #[test]
    fn what_was_applied_before_projects_had_names_belongs_to_nobody() {
        let directory = tempfile::tempdir().unwrap();
        let database = Connection::open(directory.path().join("shardwright.db")).unwrap();
        let sql = "CREATE TABLE generations (generation INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL,
                       configuration TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
                   INSERT INTO generations VALUES (7, 'f7', '{\"n\":7}', 1);
                   PRAGMA user_version = 1;";
        database.execute_batch(sql).unwrap();
        drop(database);
        let mut store = Store::open(directory.path()).unwrap();
        assert_eq!(store.last().unwrap(), Some(generation(7)));
        store.append(&generation(8), FailPoints::default()).unwrap();
        drop(store);
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(store.last().unwrap().unwrap().project.as_deref(), Some("shop"));
    }

    /// What this release writes; the next one reads it, or says why not.
    #[test]
    fn generations_of_version_2_are_read_and_later_ones_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shardwright.db");
        let database = Connection::open(&path).unwrap();
        let sql = "CREATE TABLE generations (generation INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL,
                       configuration TEXT NOT NULL, applied_at INTEGER NOT NULL, project TEXT) STRICT;
                   INSERT INTO generations VALUES (8, 'f8', '{\"n\":8}', 1764000000, 'shop');
                   PRAGMA user_version = 2;";
        database.execute_batch(sql).unwrap();
        let store = Store::open(directory.path()).unwrap();
        assert_eq!(store.last().unwrap(), Some(generation(8)));
        drop(store);
        database.execute_batch("PRAGMA user_version = 3").unwrap();
        let error = Store::open(directory.path()).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "{}: written by a later version of shardwright (format 3)",
                path.display()
            )
        );
    }

    #[test]
    fn a_number_is_taken_once() {
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::open(directory.path()).unwrap();
        store.append(&generation(1), FailPoints::default()).unwrap();
        assert!(store.append(&generation(1), FailPoints::default()).is_err());
        assert_eq!(store.last().unwrap(), Some(generation(1)));
    }

    #[test]
    fn one_owner_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let first = Store::open(directory.path()).unwrap();
        assert!(matches!(
            Store::open(directory.path()),
            Err(StoreError::Locked(_))
        ));
        drop(first);
        Store::open(directory.path()).unwrap();
    }
}
