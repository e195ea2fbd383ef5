//! The files of a project as a revision of its git repository has them, in a directory of their own.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use shardwright_topology::PROJECT_FILE;
use tempfile::TempDir;

use crate::error::CommandError;
use crate::exit::Exit;

/// The most that is taken out of a revision.
const MAX_FILES: usize = 100_000;
const MAX_BYTES: u64 = 1 << 30;

/// A file of a revision.
struct Entry {
    object: String,
    path: PathBuf,
}

/// Writes the files below `directory` of `revision` into a new directory.
pub(crate) fn checkout(directory: &Path, revision: &str) -> Result<TempDir, CommandError> {
    if revision.is_empty() || revision.starts_with('-') {
        return Err(CommandError::usage(format!("`{revision}` is not a revision")));
    }
    let entries = entries(directory, revision)?;
    if !entries.iter().any(|entry| entry.path == Path::new(PROJECT_FILE)) {
        let message = format!(
            "revision {revision} has no {PROJECT_FILE} in {}",
            directory.display()
        );
        return Err(
            CommandError::new(Exit::BadProject, message).hint("-C names the directory of the project")
        );
    }
    let target = tempfile::Builder::new()
        .prefix("shardwright-")
        .tempdir()
        .map_err(|error| CommandError::failed(format!("cannot make a directory: {error}")))?;
    extract(directory, &entries, target.path())?;
    Ok(target)
}

fn git(directory: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(directory)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("LC_ALL", "C");
    git
}

/// Whether the clone holds only the last commits.
fn is_shallow(directory: &Path) -> bool {
    let output = git(directory)
        .args(["rev-parse", "--is-shallow-repository"])
        .output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"true")
}

fn failed(error: &std::io::Error) -> CommandError {
    CommandError::failed(format!("cannot run git: {error}"))
}

fn entries(directory: &Path, revision: &str) -> Result<Vec<Entry>, CommandError> {
    let output = git(directory)
        .args(["ls-tree", "-r", "-z", "-l", revision])
        .output()
        .map_err(|error| failed(&error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said
            .lines()
            .next()
            .unwrap_or("git failed")
            .trim_start_matches("fatal: ");
        let error = CommandError::new(
            Exit::Usage,
            format!("revision {revision} of {}: {first}", directory.display()),
        );
        return Err(if is_shallow(directory) {
            error.hint("the clone is shallow: git fetch --unshallow, or fetch-depth: 0 of actions/checkout, or GIT_DEPTH: 0 of GitLab")
        } else {
            error
        });
    }
    let mut bytes = 0_u64;
    let mut entries = Vec::new();
    for line in output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|line| !line.is_empty())
    {
        // MODE TYPE OBJECT SIZE\tPATH
        let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let head = String::from_utf8_lossy(&line[..tab]).into_owned();
        let words: Vec<&str> = head.split_whitespace().collect();
        let [mode, "blob", object, size] = words.as_slice() else {
            continue;
        };
        let path = PathBuf::from(OsStr::from_bytes(&line[tab + 1..]));
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        // A symbolic link could lead anywhere.
        if *mode == "120000" || !plain {
            continue;
        }
        bytes = bytes.saturating_add(size.parse().unwrap_or(0));
        entries.push(Entry {
            object: (*object).to_owned(),
            path,
        });
    }
    if entries.len() > MAX_FILES || bytes > MAX_BYTES {
        return Err(CommandError::failed(format!(
            "revision {revision} has {} files and {bytes} bytes; the limits are {MAX_FILES} and {MAX_BYTES}",
            entries.len()
        )));
    }
    Ok(entries)
}

/// One process gives all files: what is asked for is written by a thread, so that neither side waits for the other.
fn extract(directory: &Path, entries: &[Entry], target: &Path) -> Result<(), CommandError> {
    let mut child = git(directory)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    let mut asks = child.stdin.take().expect("it is piped");
    let mut answers = BufReader::new(child.stdout.take().expect("it is piped"));
    let wanted: String = entries
        .iter()
        .map(|entry| format!("{}\n", entry.object))
        .collect();
    let result = std::thread::scope(|scope| {
        let asking = scope.spawn(move || asks.write_all(wanted.as_bytes()));
        let read = entries
            .iter()
            .try_for_each(|entry| one(&mut answers, entry, target));
        if read.is_err() {
            // Or it would wait for a reader, and the thread for it; that it is gone already is fine.
            let _ = child.kill();
        }
        let asked = asking.join().unwrap_or(Ok(()));
        read.and(asked)
    });
    // Whether it could be waited for or not, its answers are what counts.
    let _ = child.wait();
    result.map_err(|error| CommandError::failed(format!("cannot read the files of the revision: {error}")))
}

fn one(answers: &mut impl BufRead, entry: &Entry, target: &Path) -> std::io::Result<()> {
    let mut head = String::new();
    answers.read_line(&mut head)?;
    let size: usize = head
        .split_whitespace()
        .nth(2)
        .and_then(|size| size.parse().ok())
        .ok_or_else(|| std::io::Error::other(format!("{}: {}", entry.path.display(), head.trim())))?;
    let mut content = vec![0; size + 1];
    answers.read_exact(&mut content)?;
    content.truncate(size);
    let path = target.join(&entry.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(path, content)
}
