//! The database of generations: its tables, and what can still be read where it is damaged.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use super::{Generation, StoreError};

const SCHEMA_VERSION: i64 = 2;

/// Opens the database, and makes its tables where it is new.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| failed(path, source);
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

/// The error of a whole database.
pub(super) fn failed(path: &Path, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    if is_damage(&source) {
        let reason = source.to_string();
        return StoreError::Damaged { path, reason };
    }
    StoreError::Database { path, source }
}

/// The numbers of the generations in their order, up to where the database can be read; whether that is its end.
pub(super) fn numbers(connection: &Connection) -> Result<(Vec<i64>, bool), rusqlite::Error> {
    let mut statement = connection.prepare("SELECT generation FROM generations ORDER BY generation")?;
    let mut rows = statement.query([])?;
    let mut numbers = Vec::new();
    loop {
        match rows.next() {
            Ok(Some(row)) => numbers.push(row.get(0)?),
            Ok(None) => return Ok((numbers, true)),
            Err(error) if is_damage(&error) && !numbers.is_empty() => return Ok((numbers, false)),
            Err(error) => return Err(error),
        }
    }
}

/// A generation, if it is as it was applied.
pub(super) fn whole(connection: &Connection, number: i64) -> Result<Option<Generation>, rusqlite::Error> {
    let sql = "SELECT fingerprint, project, configuration FROM generations WHERE generation = ?1";
    let row = connection.query_row(sql, [number], |row| {
        Ok(Generation {
            number,
            fingerprint: row.get(0)?,
            project: row.get(1)?,
            configuration: row.get(2)?,
        })
    });
    match row {
        Ok(generation) => Ok(Some(generation).filter(is_whole)),
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The fingerprint of a configuration is that of its text.
fn is_whole(generation: &Generation) -> bool {
    shardwright_rules::fingerprint(generation.configuration.as_bytes()) == generation.fingerprint
}

/// Whether an error is about what is in the file, and not about the machine.
fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => {
            matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        }
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}
