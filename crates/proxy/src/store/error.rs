//! Why the data directory cannot be used, and what to do.

use std::io;
use std::path::PathBuf;

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory or one of its files cannot be used.
    #[error("{}: {source}", .path.display())]
    Io {
        /// What was touched.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// Something else is where one of its files belongs.
    #[error("{}: this is not a file; put back the file that was there, or remove this if there was none", .0.display())]
    NotAFile(PathBuf),
    /// Another proxy runs on it.
    #[error("{}: another proxy runs on this data directory; give each proxy its own --data-dir", .0.display())]
    Locked(PathBuf),
    /// It was given to a proxy with another name.
    #[error(
        "{}: this data directory belongs to the proxy {owner}, and --name says {name}; give each proxy its own --data-dir",
        .path.display()
    )]
    OtherProxy {
        /// The directory.
        path: PathBuf,
        /// Who it belongs to.
        owner: String,
        /// Who was started on it.
        name: String,
    },
    /// It holds no configuration, and it has to.
    #[error(
        "{}: no configuration was applied to this data directory, and --require-configuration is set; look whether its volume is mounted, or omit the option until the first apply",
        .0.display()
    )]
    Empty(PathBuf),
    /// Its database is gone.
    #[error(
        "{}: the file is missing or empty, and {generation} was applied; put back a copy of it, or start with an empty --data-dir and apply",
        .path.display()
    )]
    Missing {
        /// The database file.
        path: PathBuf,
        /// What is known of what was applied.
        generation: String,
    },
    /// Nothing in the database can be read.
    #[error(
        "{}: the file is damaged ({reason}); put back a copy of it, or start with an empty --data-dir and apply",
        .path.display()
    )]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The database cannot be read or written.
    #[error("{}: {source}", .path.display())]
    Database {
        /// The database file.
        path: PathBuf,
        /// Why it failed.
        source: rusqlite::Error,
    },
    /// It was written by a later version.
    #[error(
        "{}: written by a later version of shardwright (format {found}); run that version, or start with an empty --data-dir and apply",
        .path.display()
    )]
    TooNew {
        /// The database file.
        path: PathBuf,
        /// The format found.
        found: i64,
    },
}
