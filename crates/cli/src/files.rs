//! Files that are written whole or not at all.

use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::error::CommandError;

/// Lets git keep the lines of both branches that add shards at the same line of a lock; the next compile reports
/// lines that give one name two ids, and settles two names with one id.
pub(crate) const GIT_ATTRIBUTES: (&str, &str) = (
    ".gitattributes",
    "shardwright.lock merge=union\nenv/*.lock merge=union\n",
);

/// The lines that the attributes of a repository lack, where it has some: they are its own, and nothing is added to them.
pub(crate) fn missing_attributes(directory: &Path) -> Option<String> {
    let (name, content) = GIT_ATTRIBUTES;
    let path = directory.join(name);
    let text = fs::read(&path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let present = |line: &str| text.lines().any(|there| there.trim() == line);
    let missing: Vec<&str> = content.lines().filter(|line| !present(line)).collect();
    (!missing.is_empty()).then(|| {
        let path = path.display();
        let lines = missing.join("\n  ");
        format!("{path} is there already; add this to it, so that git can merge locks:\n  {lines}")
    })
}

/// Replaces a file in one step, so that a reader never sees half of it. The file keeps its mode, and a symbolic link
/// to it stays one. A pipe or a device, such as /dev/null, is written to.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let failed =
        |error: std::io::Error| CommandError::failed(format!("cannot write {}: {error}", path.display()));
    let known = path.canonicalize().ok();
    let path = known.as_deref().unwrap_or(path);
    let is_place = |metadata: Metadata| !metadata.is_file() && !metadata.is_dir();
    if path.metadata().is_ok_and(is_place) {
        let mut place = OpenOptions::new().write(true).open(path).map_err(failed)?;
        return place.write_all(bytes).map_err(failed);
    }
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Errors of a temporary file name it; users know only the target.
    directory.metadata().map_err(failed)?;
    let mut file = tempfile::Builder::new()
        // The user's umask applies, as for any new file.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(|error| failed(error.kind().into()))?;
    if let Ok(metadata) = path.metadata() {
        file.as_file()
            .set_permissions(metadata.permissions())
            .map_err(failed)?;
    }
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Writes a file that only its owner can read, beside the old one until it is whole; and the directories that it needs.
pub(crate) fn keep_secret(path: &Path, bytes: &[u8]) -> Result<(), CommandError> {
    let failed = |path: &Path, error: &std::io::Error| {
        CommandError::failed(format!("cannot write {}: {error}", path.display()))
    };
    let parent = path.parent().unwrap_or(Path::new("."));
    if !parent.exists() {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(parent);
        made.map_err(|error| failed(parent, &error))?;
    }
    if fs::read(path).ok().as_deref() == Some(bytes) {
        return Ok(());
    }
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let written = options.open(&new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written
        .and_then(|()| fs::rename(&new, path))
        .map_err(|error| failed(path, &error))
}
