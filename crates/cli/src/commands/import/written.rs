//! The files of an imported project, written all or none.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use shardwright_adopt::Adopted;

use crate::error::CommandError;
use crate::files::GIT_ATTRIBUTES;
use crate::former_rules;
use crate::ownership;

/// Modes of secrets and of their directory.
const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIRECTORY: u32 = 0o700;

/// A file to write.
struct File<'a> {
    path: String,
    bytes: &'a [u8],
    is_private: bool,
}

/// Writes the project with its lock and its secrets; the paths, in order. Nothing is written where a file exists.
pub(super) fn write(adopted: &Adopted, directory: &Path) -> Result<Vec<String>, CommandError> {
    let built = &adopted.built;
    let mut lock = built.compiled.lock.clone();
    ownership::remember(&built.project.file, built.configuration(), &mut lock);
    for lift in &adopted.lifted.lifts {
        lift.rules
            .iter()
            .for_each(|rule| former_rules::remember(&mut lock, *rule, &lift.address));
    }
    let lock = lock.to_string();
    let mut files = Vec::new();
    let mut add = |path: &str, bytes, is_private| {
        files.push(File {
            path: path.to_owned(),
            bytes,
            is_private,
        });
    };
    for file in &built.files {
        add(file.path, file.text.as_bytes(), false);
    }
    add("shardwright.lock", lock.as_bytes(), false);
    if !adopted.secrets.is_empty() {
        add("secrets/.gitignore", b"*\n", true);
    }
    for (path, secret) in &adopted.secrets {
        add(path, secret.expose().as_bytes(), true);
    }
    let exists = |path: &str| directory.join(path).symlink_metadata().is_ok();
    if let Some(file) = files.iter().find(|file| exists(&file.path)) {
        let path = directory.join(&file.path);
        return Err(
            CommandError::failed(format!("{} exists; nothing was written", path.display()))
                .hint("an import writes new projects only: name another directory"),
        );
    }
    let (attributes, content) = GIT_ATTRIBUTES;
    if !exists(attributes) {
        files.push(File {
            path: attributes.to_owned(),
            bytes: content.as_bytes(),
            is_private: false,
        });
    }
    for file in &files {
        create(directory, file)?;
    }
    Ok(files.into_iter().map(|file| file.path).collect())
}

fn create(directory: &Path, file: &File<'_>) -> Result<(), CommandError> {
    let path = directory.join(&file.path);
    let failed = |path: &Path, error: &io::Error| {
        CommandError::failed(format!("cannot write {}: {error}", path.display()))
    };
    if let Some(parent) = path.parent() {
        if let Some(above) = parent.parent().filter(|_| file.is_private) {
            fs::create_dir_all(above).map_err(|error| failed(above, &error))?;
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        if file.is_private {
            builder.mode(PRIVATE_DIRECTORY);
        }
        builder.create(parent).map_err(|error| failed(parent, &error))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if file.is_private {
        options.mode(PRIVATE_FILE);
    }
    options
        .open(&path)
        .and_then(|mut open| open.write_all(file.bytes))
        .map_err(|error| failed(&path, &error))
}
