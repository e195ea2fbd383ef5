//! What roles depend on beside what is seen, as a file: a proxy that starts again knows who was promoted last.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use shardwright_rules::Address;
use shardwright_rules::roles::RoleMemory;

/// What is remembered of each cluster.
pub(crate) type Memories = BTreeMap<Address, RoleMemory>;

/// The file, in the directory of a proxy's state.
#[derive(Debug)]
pub(crate) struct MemoryFile(PathBuf);

impl MemoryFile {
    pub(crate) fn in_directory(directory: &Path) -> Self {
        Self(directory.join("roles.json"))
    }

    /// What was remembered last. A file that cannot be read is the same as none, and is told: roles are decided by what is seen
    /// alone, which writes nowhere where that is not enough.
    pub(crate) fn read(&self) -> Memories {
        let text = match fs::read(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Memories::new(),
            Err(error) => {
                tracing::error!(file = %self.0.display(), %error, "the roles of servers are not remembered");
                return Memories::new();
            }
        };
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::error!(file = %self.0.display(), %error, "the roles of servers are not remembered");
            Memories::new()
        })
    }

    /// Writes all of it; after a crash it is the old or the new.
    ///
    /// # Errors
    /// Fails when the file cannot be written; the old one stays.
    pub(crate) fn write(&self, memories: &Memories) -> io::Result<()> {
        let unfinished = self.0.with_extension("json.new");
        let mut file = File::create(&unfinished)?;
        file.write_all(serde_json::to_string(memories)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.0)?;
        match self.0.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    }
}
