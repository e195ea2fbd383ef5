//! Files that nobody but the proxy's own user reads: they hold configurations, and say where passwords are.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
/// What everybody but the owner may do.
const OTHERS: u32 = 0o077;

/// Makes a directory for them, with the directories above it. One that is there stays as it is.
pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// Opens a file for writing, which is made if it is not there. What is in it stays.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(FILE_MODE)
        .open(path)
}

/// Replaces a file; after a crash it is the old or the new.
///
/// # Errors
/// Fails when it cannot be written; the old one stays.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let unfinished = Path::new(&name);
    let mut file = open(unfinished)?;
    file.set_len(0)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(unfinished, path)?;
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Takes a file from everybody but its owner; the mode that it had, if that was another.
pub(crate) fn tighten(path: &Path) -> io::Result<Option<u32>> {
    let metadata = fs::symlink_metadata(path)?;
    let mode = metadata.permissions().mode() & 0o777;
    if !metadata.is_file() || mode & OTHERS == 0 {
        return Ok(None);
    }
    fs::set_permissions(path, Permissions::from_mode(FILE_MODE))?;
    Ok(Some(mode))
}
