//! `proxy.json`: whose directory it is, and what was applied last. It tells a new directory from one whose database is gone.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::private_file;

pub(super) const NAME: &str = "proxy.json";

/// What is on record beside the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    /// The proxy's name; `None`: it was never given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    /// The generation that was applied last; 0: none.
    pub(super) generation: i64,
}

/// The file in a data directory.
#[derive(Clone, Debug)]
pub(super) struct RecordFile(PathBuf);

impl RecordFile {
    pub(super) fn in_directory(directory: &Path) -> Self {
        Self(directory.join(NAME))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// What is on record; `None`: there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is no record.
    pub(super) fn read(&self) -> io::Result<Option<Record>> {
        match fs::read(&self.0) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn write(&self, record: &Record) -> io::Result<()> {
        private_file::replace(&self.0, serde_json::to_string(record)?.as_bytes())
    }
}
