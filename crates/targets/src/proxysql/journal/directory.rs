//! Runs in a directory of this machine.
//!
//! A run has a directory with two files. `run.json` is written before anything is sent: what the touched rows hold
//! before and after, with the passwords as ProxySQL stores them, so only its owner may read it. `journal.jsonl` gets a
//! line, synced, for each thing that is begun or done. A run whose last line is no end was cut off.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use zeroize::Zeroize;

use super::error::JournalError;
use super::holder::{Holder, Owner};
use super::record::{Phase, RunHead, RunRecord, check_version, is_applied, is_open};
use super::store::{Store, StoredRun};

const RECORD: &str = "run.json";
const LINES: &str = "journal.jsonl";
const LOCK: &str = "lock";

/// The directory of the runs.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    owner: Owner,
    /// The lock is that this file is open.
    locked: Mutex<Option<File>>,
}

impl Directory {
    /// The runs of a state directory, which need not exist yet.
    pub(super) fn new(state: &Path, owner: Owner) -> Self {
        Self {
            path: state.join("runs"),
            owner,
            locked: Mutex::new(None),
        }
    }

    /// Makes the directory, which git leaves alone: what is in it holds passwords.
    fn make(&self) -> Result<(), JournalError> {
        make_directory(&self.path)?;
        let path = self.path.join(".gitignore");
        if path.exists() {
            return Ok(());
        }
        let mut file = private(OpenOptions::new().create(true).truncate(true).write(true), &path)?;
        file.write_all(b"*\n")
            .map_err(|source| JournalError::Io { path, source })
    }

    fn try_lock(&self, path: &Path) -> Result<Result<File, File>, JournalError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let file = private(&mut options, path)?;
        match file.try_lock() {
            Ok(()) => Ok(Ok(file)),
            Err(TryLockError::WouldBlock) => Ok(Err(file)),
            Err(TryLockError::Error(source)) => Err(io_error(path)(source)),
        }
    }

    /// Who has written in the lock file. Releases before this one left it empty.
    fn written(&self, path: &Path, mut file: File) -> Result<Holder, JournalError> {
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(io_error(path))?;
        let unnamed = || Holder {
            owner: Owner {
                by: "another process of this machine".to_owned(),
                at: "an unknown time".to_owned(),
            },
            token: String::new(),
            expires_in: None,
        };
        Ok(serde_json::from_str(&text).unwrap_or_else(|_| unnamed()))
    }

    fn names(&self) -> Result<Vec<String>, JournalError> {
        let failed = io_error(&self.path);
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(&failed)?;
            if entry.file_type().map_err(&failed)?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        // A process that ended while it began a run has sent nothing.
        names.retain(|name| self.path.join(name).join(LINES).exists());
        Ok(names)
    }

    /// The last run of a target that is one of these. Records are large: only theirs are read.
    fn last(
        &self,
        target: &str,
        is_one: fn(&[Phase]) -> bool,
    ) -> Result<Option<StoredRun<RunHead>>, JournalError> {
        for name in self.names()?.into_iter().rev() {
            if is_one(&self.phases(&name)?) {
                let run: StoredRun<RunHead> = self.read(&name)?;
                if run.record.target == target {
                    return Ok(Some(run));
                }
            }
        }
        Ok(None)
    }

    fn read<R: DeserializeOwned>(&self, name: &str) -> Result<StoredRun<R>, JournalError> {
        let directory = self.path.join(name);
        if !is_name(name) || !directory.join(RECORD).exists() {
            return Err(JournalError::NoRun(name.to_owned()));
        }
        let path = directory.join(RECORD);
        let mut bytes = read(&path)?;
        let record = check_version(&bytes)
            .and_then(|()| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
        bytes.zeroize();
        let phases = self.phases(name)?;
        Ok(StoredRun {
            record: record.map_err(unreadable(&path))?,
            next: phases.len() as u64,
            phases,
        })
    }

    /// The lines of a run. One that was cut off says nothing: what it would note was not begun.
    fn phases(&self, name: &str) -> Result<Vec<Phase>, JournalError> {
        let path = self.path.join(name).join(LINES);
        let bytes = read(&path)?;
        let text = String::from_utf8_lossy(&bytes);
        let phase = |(number, line): (usize, &str)| match serde_json::from_str(line) {
            Ok(phase) => Some(Ok(phase)),
            Err(_) if !line.ends_with('\n') => None,
            Err(error) => Some(Err(unreadable(&path)(format!("line {}: {error}", number + 1)))),
        };
        text.split_inclusive('\n').enumerate().filter_map(phase).collect()
    }
}

impl Store for Directory {
    fn lock(&self) -> Result<(), JournalError> {
        self.make()?;
        let path = self.path.join(LOCK);
        match self.try_lock(&path)? {
            Ok(mut file) => {
                let holder = Holder {
                    owner: self.owner.clone(),
                    token: std::process::id().to_string(),
                    expires_in: None,
                };
                let text = serde_json::to_vec(&holder).expect("texts are JSON");
                let written = file
                    .set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| file.write_all(&text));
                written.map_err(io_error(&path))?;
                *self.locked.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
                Ok(())
            }
            Err(file) => Err(JournalError::Locked {
                place: self.path.display().to_string(),
                holder: self.written(&path, file)?,
            }),
        }
    }

    fn unlock(&self) {
        *self.locked.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn is_surely_locked(&self) -> bool {
        self.locked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn holder(&self) -> Result<Option<Holder>, JournalError> {
        let path = self.path.join(LOCK);
        if !path.exists() {
            return Ok(None);
        }
        match self.try_lock(&path)? {
            Ok(_free) => Ok(None),
            Err(file) => self.written(&path, file).map(Some),
        }
    }

    /// The system takes the lock from a process that ends, and from no other.
    fn break_lock(&self, holder: &Holder) -> Result<bool, JournalError> {
        if self.holder()?.as_ref() != Some(holder) {
            return Ok(false);
        }
        Err(JournalError::Store {
            place: self.path.display().to_string(),
            reason: format!(
                "process {} of this machine holds the lock and still runs: end the process",
                holder.token
            ),
        })
    }

    fn begin(&self, record: &RunRecord) -> Result<(), JournalError> {
        self.make()?;
        let directory = self.path.join(&record.identity.run);
        make_directory(&directory)?;
        let path = directory.join(RECORD);
        let mut text = serde_json::to_vec(record).expect("rows have string keys only, so JSON can hold them");
        let mut file = private(OpenOptions::new().create_new(true).write(true), &path)?;
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        text.zeroize();
        written.map_err(|source| JournalError::Io { path, source })?;
        let lines = directory.join(LINES);
        private(OpenOptions::new().create_new(true).write(true), &lines)?;
        for place in [&directory, &self.path] {
            sync_directory(place)?;
        }
        Ok(())
    }

    fn note(&self, run: &str, _number: u64, phase: &Phase) -> Result<(), JournalError> {
        let path = self.path.join(run).join(LINES);
        let mut line = serde_json::to_vec(phase).expect("texts are JSON");
        line.push(b'\n');
        let mut file = private(OpenOptions::new().read(true).append(true), &path)?;
        let written = without_cut_line(&mut file)
            .and_then(|()| file.write_all(&line))
            .and_then(|()| file.sync_all());
        written.map_err(|source| JournalError::Io { path, source })
    }

    fn count(&self) -> Result<usize, JournalError> {
        Ok(self.names()?.len())
    }

    /// The lines go first: a run without them has not begun.
    fn remove(&self, run: &str) -> Result<(), JournalError> {
        let directory = self.path.join(run);
        let lines = directory.join(LINES);
        fs::remove_file(&lines).map_err(io_error(&lines))?;
        fs::remove_dir_all(&directory).map_err(io_error(&directory))
    }

    fn heads(&self) -> Result<Vec<StoredRun<RunHead>>, JournalError> {
        self.names()?.into_iter().map(|name| self.read(&name)).collect()
    }

    fn open_run(&self, target: &str) -> Result<Option<StoredRun<RunHead>>, JournalError> {
        self.last(target, is_open)
    }

    fn last_applied(&self, target: &str) -> Result<Option<StoredRun<RunHead>>, JournalError> {
        self.last(target, is_applied)
    }

    fn run(&self, run: &str) -> Result<StoredRun<RunRecord>, JournalError> {
        self.read(run)
    }
}

/// Takes away a last line that was cut off, so that the next one begins where a line begins.
fn without_cut_line(file: &mut File) -> io::Result<()> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    match whole == bytes.len() {
        true => Ok(()),
        false => file.set_len(whole as u64),
    }
}

fn is_name(name: &str) -> bool {
    let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_of_one)
}

fn unreadable(path: &Path) -> impl Fn(String) -> JournalError {
    move |reason| JournalError::Unreadable {
        place: path.display().to_string(),
        reason,
    }
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> JournalError {
    move |source| JournalError::Io {
        path: path.to_owned(),
        source,
    }
}

fn private(options: &mut OpenOptions, path: &Path) -> Result<File, JournalError> {
    options.mode(0o600).open(path).map_err(io_error(path))
}

fn make_directory(path: &Path) -> Result<(), JournalError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(io_error(path))
}

fn sync_directory(path: &Path) -> Result<(), JournalError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(io_error(path))
}

fn read(path: &Path) -> Result<Vec<u8>, JournalError> {
    fs::read(path).map_err(io_error(path))
}
