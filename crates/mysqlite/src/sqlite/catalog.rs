//! Which schemas there are and where each one is kept.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use shardwright_wire::{MysqlError, errors};
use tempfile::TempDir;

use super::names::INFORMATION_SCHEMA;

/// Schemas that a server may have.
const MAX_SCHEMAS: usize = 10_000;

/// How long a statement waits for another session's lock.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Catalog {
    /// Where schemas are kept. Files in WAL mode rather than memory: there, a transaction
    /// that writes would keep every reader waiting (sqlite3 memdb.c), which MySQL's does not.
    directory: TempDir,
    schemas: Mutex<Schemas>,
}

#[derive(Default)]
struct Schemas {
    by_name: BTreeMap<String, Schema>,
    /// Temporary files made so far; a name that comes again gets a new file.
    made: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Schema {
    pub(super) name: String,
    pub(super) uri: String,
}

impl Catalog {
    pub(super) fn new() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("mysqlite-").tempdir()?;
        Ok(Self {
            directory,
            schemas: Mutex::default(),
        })
    }

    pub(super) fn add_temporary(&self, name: &str) -> Result<(), MysqlError> {
        let mut schemas = self.lock();
        if schemas.find(name).is_some() {
            return Ok(());
        }
        schemas.made += 1;
        let path = self.directory.path().join(format!("{}.db", schemas.made));
        schemas.add(name, &path)
    }

    /// `true` when there was such a schema. Sessions that use it keep it until they leave it.
    pub(super) fn remove(&self, name: &str) -> bool {
        let mut schemas = self.lock();
        let known = schemas.find(name).map(|schema| schema.name.clone());
        known.is_some_and(|name| schemas.by_name.remove(&name).is_some())
    }

    /// A schema, whose name is found in any case.
    pub(super) fn get(&self, name: &str) -> Option<Schema> {
        self.lock().find(name).cloned()
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.lock().by_name.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Schemas> {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Schemas {
    fn find(&self, name: &str) -> Option<&Schema> {
        let exact = self.by_name.get(name);
        exact.or_else(|| {
            self.by_name
                .values()
                .find(|schema| schema.name.eq_ignore_ascii_case(name))
        })
    }

    fn add(&mut self, name: &str, path: &Path) -> Result<(), MysqlError> {
        // SQLite has the first two for itself.
        let is_reserved = ["main", "temp", INFORMATION_SCHEMA]
            .iter()
            .any(|reserved| reserved.eq_ignore_ascii_case(name));
        if is_reserved || name.is_empty() || name.len() > 64 || name.contains('\0') {
            let message = format!("Incorrect database name '{name}'");
            return Err(errors::WRONG_DB_NAME.with(message));
        }
        if self.by_name.len() >= MAX_SCHEMAS {
            return Err(errors::UNKNOWN.with("too many schemas"));
        }
        let path = path
            .to_str()
            .ok_or_else(|| errors::UNKNOWN.with("a database path that is not UTF-8"))?;
        let uri = format!("file:{}", escape(path));
        make(&uri).map_err(|error| super::errors::open(&error))?;
        self.by_name.insert(
            name.to_owned(),
            Schema {
                name: name.to_owned(),
                uri,
            },
        );
        Ok(())
    }
}

/// Makes the file, unless it is there, and switches it to WAL, which stays with it.
fn make(uri: &str) -> rusqlite::Result<()> {
    let connection = Connection::open_with_flags(uri, OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "wal")
}

/// Escapes what has a meaning in the path of a URI.
fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'%' | b'?' | b'#' | 0..=0x1F | 0x7F.. => escaped.push_str(&format!("%{byte:02x}")),
            plain => escaped.push(char::from(plain)),
        }
    }
    escaped
}
