//! What roles depend on beside what is seen, as a file: a proxy that starts again knows who was promoted last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use shardwright_rules::Address;
use shardwright_rules::roles::RoleMemory;

use crate::private_file;

/// What is remembered of each cluster.
pub(crate) type Memories = BTreeMap<Address, RoleMemory>;

/// The file, in the directory of a proxy's state.
#[derive(Debug)]
pub(crate) struct MemoryFile {
    path: PathBuf,
    writing: Mutex<()>,
}

impl MemoryFile {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self {
            path: directory.join("roles.json"),
            writing: Mutex::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What was remembered last; `None`: there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is none of these.
    pub(crate) fn read(&self) -> io::Result<Option<Memories>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes all of it; after a crash it is the old or the new. `memories` is asked for in turn: who writes last, writes the latest.
    ///
    /// # Errors
    /// Fails when the file cannot be written; the old one stays.
    pub(crate) fn write(&self, memories: impl FnOnce() -> Memories) -> io::Result<()> {
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        private_file::replace(&self.path, serde_json::to_string(&memories())?.as_bytes())
    }
}
