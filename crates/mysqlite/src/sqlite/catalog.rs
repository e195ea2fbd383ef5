//! Which schemas there are and where each one is kept.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use shardwright_wire::{MysqlError, errors};

/// Schemas that a server may have.
const MAX_SCHEMAS: usize = 10_000;

/// How long a statement waits for another session's lock.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Catalog {
    /// Keeps databases in memory apart from those of other catalogs of the process.
    prefix: u64,
    schemas: Mutex<BTreeMap<String, Schema>>,
}

struct Schema {
    uri: String,
    /// A database in memory lives as long as a connection to it is open.
    _keeper: Connection,
}

impl Catalog {
    pub(super) fn new() -> Self {
        Self {
            prefix: RandomState::new().hash_one(0),
            schemas: Mutex::default(),
        }
    }

    pub(super) fn add_memory(&self, name: &str) -> Result<(), MysqlError> {
        let mut schemas = self.lock();
        if find(&schemas, name).is_some() {
            return Ok(());
        }
        // The `memdb` VFS shares a database by its name, which starts with a slash (sqlite3 3.36, memdb.c).
        let uri = format!("file:/mysqlite-{:016x}-{}?vfs=memdb", self.prefix, escape(name));
        add(&mut schemas, name, uri)
    }

    pub(super) fn add_file(&self, name: &str, path: &Path) -> Result<(), MysqlError> {
        let mut schemas = self.lock();
        if find(&schemas, name).is_some() {
            return Err(MysqlError::general(
                1007,
                format!("Can't create database '{name}'; database exists"),
            ));
        }
        let path = path
            .to_str()
            .ok_or_else(|| errors::UNKNOWN.with("a database path that is not UTF-8"))?;
        let uri = format!("file:{}", escape(path));
        add(&mut schemas, name, uri)?;
        if let Some(schema) = schemas.get(name) {
            schema
                ._keeper
                .pragma_update(None, "journal_mode", "wal")
                .map_err(|error| super::errors::open(&error))?;
        }
        Ok(())
    }

    /// `true` when there was such a schema. Sessions that use it keep it until they leave it.
    pub(super) fn remove(&self, name: &str) -> bool {
        let mut schemas = self.lock();
        let known = find(&schemas, name).map(|(name, _)| name.to_owned());
        known.is_some_and(|name| schemas.remove(&name).is_some())
    }

    /// A schema's name as it was created and its URI. Names are found in any case.
    pub(super) fn get(&self, name: &str) -> Option<(String, String)> {
        find(&self.lock(), name).map(|(name, schema)| (name.to_owned(), schema.uri.clone()))
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Schema>> {
        self.schemas.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find<'s>(schemas: &'s BTreeMap<String, Schema>, name: &str) -> Option<(&'s str, &'s Schema)> {
    let exact = schemas.get_key_value(name);
    let found = exact.or_else(|| schemas.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)));
    found.map(|(name, schema)| (name.as_str(), schema))
}

fn add(schemas: &mut BTreeMap<String, Schema>, name: &str, uri: String) -> Result<(), MysqlError> {
    // SQLite has these names for itself.
    let is_reserved = ["main", "temp"]
        .iter()
        .any(|reserved| reserved.eq_ignore_ascii_case(name));
    if is_reserved || name.is_empty() || name.len() > 64 || name.contains('\0') {
        return Err(MysqlError {
            code: 1102,
            sqlstate: *b"42000",
            message: format!("Incorrect database name '{name}'"),
        });
    }
    if schemas.len() >= MAX_SCHEMAS {
        return Err(errors::UNKNOWN.with("too many schemas"));
    }
    let keeper = Connection::open_with_flags(&uri, OpenFlags::default() | OpenFlags::SQLITE_OPEN_URI)
        .map_err(|error| super::errors::open(&error))?;
    // The database exists from the first access on.
    keeper
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(|error| super::errors::open(&error))?;
    schemas.insert(name.to_owned(), Schema { uri, _keeper: keeper });
    Ok(())
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
