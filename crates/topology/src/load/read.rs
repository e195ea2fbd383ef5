//! The edge: the files of a project directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use shardwright_diagnostics::Diagnostic;
use shardwright_documents::{MAX_FILE_BYTES, unreadable};

use crate::codes::{NO_PROJECT_FILE, NO_TOPOLOGY, TOO_MANY_INSTANCES};
use crate::load::{Loaded, Reading, load_with};
use crate::project_files::{
    ENVIRONMENT_DIRECTORY, InputFile, Options, PROJECT_FILE, TESTS_DIRECTORY, TOPOLOGY_DIRECTORY,
};
use crate::tree::data::MAX_DATA_BYTES;

/// Files of one project.
const MAX_FILES: usize = 100_000;
/// Bytes of all files of one project.
const MAX_PROJECT_BYTES: u64 = 512 * 1024 * 1024;
/// Directories of one project, those behind symbolic links counted each time.
const MAX_DIRECTORIES: usize = 10_000;
/// Directories inside each other; also ends circles of symbolic links.
const MAX_DEPTH: usize = 16;

/// Reads `shardwright.yaml`, `topology/**/*.yaml`, `env/*.yaml` and, if asked for, `tests/**/*.yaml` of a directory, and
/// loads them. What cannot be read is a
/// problem of the result. Paths in problems are relative to the directory.
#[must_use]
pub fn read_project(directory: &Path, options: &Options) -> Loaded {
    read_project_with(directory, options, &BTreeMap::new())
}

/// [`read_project`] with the texts of an editor in place of files, or beside them. Their paths are relative to the
/// directory, with `/` between their parts.
#[must_use]
pub fn read_project_with(directory: &Path, options: &Options, unsaved: &BTreeMap<String, String>) -> Loaded {
    let mut reader = Reader {
        directory,
        unsaved,
        files: Vec::new(),
        reading: Reading {
            directory: (directory != Path::new(".")).then(|| directory.display().to_string()),
            ..Reading::default()
        },
        bytes: 0,
        directories: 0,
    };
    if unsaved.is_empty() && !directory.is_dir() {
        let message = format!("there is no directory `{}`", directory.display());
        let diagnostic =
            Diagnostic::error(NO_PROJECT_FILE, message).help("-C names the directory of the project");
        reader.reading.problems.push(diagnostic);
        reader.reading.project_file_unreadable = true;
    }
    reader.file(PROJECT_FILE, true);
    reader.directory(TOPOLOGY_DIRECTORY, 0);
    reader.unsaved(TOPOLOGY_DIRECTORY);
    reader.directory(ENVIRONMENT_DIRECTORY, 0);
    reader.unsaved(ENVIRONMENT_DIRECTORY);
    if options.route_tests {
        reader.directory(TESTS_DIRECTORY, 0);
        reader.unsaved(TESTS_DIRECTORY);
    }
    let mut data = |path: &str| match unsaved.get(path) {
        Some(text) => Ok(text.clone().into_bytes()),
        None => data_file(directory, path),
    };
    load_with(reader.files, options, reader.reading, &mut data)
}

/// The bytes of a data file, whose path may not lead out of the directory, not even over symbolic links.
fn data_file(directory: &Path, path: &str) -> Result<Vec<u8>, String> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("there is no file `{path}`"),
        _ => format!("`{path}` cannot be read: {error}"),
    };
    let root = fs::canonicalize(directory).map_err(failed)?;
    let file = fs::canonicalize(root.join(path)).map_err(failed)?;
    if !file.starts_with(&root) {
        return Err(format!("`{path}` is outside the project's directory"));
    }
    let mut bytes = Vec::new();
    open(&file, MAX_DATA_BYTES)
        .and_then(|mut file| file.read_to_end(&mut bytes))
        .map_err(failed)?;
    Ok(bytes)
}

struct Reader<'d> {
    directory: &'d Path,
    unsaved: &'d BTreeMap<String, String>,
    files: Vec<InputFile>,
    reading: Reading,
    bytes: u64,
    directories: usize,
}

impl Reader<'_> {
    fn directory(&mut self, path: &str, depth: usize) {
        let entries =
            match fs::read_dir(self.directory.join(path)).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return,
                Err(error) => return self.reading.problems.push(unreadable(path, &error)),
            };
        self.directories += 1;
        if depth == MAX_DEPTH || self.directories > MAX_DIRECTORIES {
            let message = format!(
                "more than {MAX_DIRECTORIES} directories, or directories nested more than {MAX_DEPTH} deep, at `{path}`"
            );
            return self
                .reading
                .problems
                .push(Diagnostic::error(TOO_MANY_INSTANCES, message));
        }
        let mut names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
        names.sort();
        for name in names {
            let Some(name) = name.to_str() else {
                let message = format!("a file name in `{path}` is not UTF-8: {}", name.to_string_lossy());
                self.reading
                    .problems
                    .push(Diagnostic::error(NO_TOPOLOGY, message));
                continue;
            };
            // Editors and version control keep their own files here.
            if name.starts_with('.') {
                continue;
            }
            let inner = format!("{path}/{name}");
            match fs::metadata(self.directory.join(&inner)) {
                // Environments stand beside each other.
                Ok(metadata) if metadata.is_dir() && path == ENVIRONMENT_DIRECTORY => {}
                Ok(metadata) if metadata.is_dir() => self.directory(&inner, depth + 1),
                Ok(_) if name.ends_with(".yaml") => self.file(&inner, false),
                Ok(_) if name.ends_with(".yml") => {
                    let message = format!("`{inner}` is not read: names of project files end in .yaml");
                    self.reading
                        .problems
                        .push(Diagnostic::warning(NO_TOPOLOGY, message));
                }
                Ok(_) => {}
                Err(error) => self.reading.problems.push(unreadable(&inner, &error)),
            }
        }
    }

    /// Files below a directory that an editor has not written yet.
    fn unsaved(&mut self, directory: &str) {
        for path in self.unsaved.keys() {
            let inside = path
                .strip_prefix(directory)
                .is_some_and(|rest| rest.starts_with('/'));
            let hidden = path.split('/').any(|part| part.starts_with('.'));
            if inside
                && !hidden
                && path.ends_with(".yaml")
                && self.files.iter().all(|file| file.path != *path)
            {
                self.file(path, false);
            }
        }
    }

    fn file(&mut self, path: &str, is_project_file: bool) {
        if self.files.len() == MAX_FILES || self.bytes > MAX_PROJECT_BYTES {
            let message = format!("the project has more than {MAX_FILES} files or {MAX_PROJECT_BYTES} bytes");
            return self
                .reading
                .problems
                .push(Diagnostic::error(TOO_MANY_INSTANCES, message));
        }
        if let Some(text) = self.unsaved.get(path) {
            self.bytes += text.len() as u64;
            return self.files.push(InputFile {
                path: path.to_owned(),
                bytes: text.clone().into_bytes(),
            });
        }
        let mut bytes = Vec::new();
        let read = open(&self.directory.join(path), MAX_FILE_BYTES)
            .and_then(|mut file| file.read_to_end(&mut bytes));
        match read {
            Ok(read) => {
                self.bytes += read as u64;
                self.files.push(InputFile {
                    path: path.to_owned(),
                    bytes,
                });
            }
            Err(error) if is_project_file && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                self.reading.project_file_unreadable |= is_project_file;
                self.reading.problems.push(unreadable(path, &error));
            }
        }
    }
}

/// Opens a regular file (a pipe would block) for reading as much as shows that it is too large.
fn open(path: &Path, most: usize) -> io::Result<io::Take<fs::File>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(fs::File::open(path)?.take(most as u64 + 1))
}
