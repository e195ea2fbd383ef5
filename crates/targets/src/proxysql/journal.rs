//! What a machine remembers of its runs: enough to finish one that was cut off, or to take it back.
//!
//! A run has a directory with two files. `run.json` is written before anything is sent: what the touched rows hold
//! before and after, with the passwords as ProxySQL stores them, so only its owner may read it. `journal.jsonl` gets a
//! line, synced, for each thing that is begun or done. A run whose last line is no end was cut off.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use shardwright_plan::{Base, Facts};
use shardwright_rules::Address;
use shardwright_secrets::Secret;
use thiserror::Error;
use zeroize::Zeroize;

use super::change::Change;
use super::row::{Row, RowName};

/// The version of what is stored; raised when an old reader would misread a new one.
const VERSION: u32 = 1;
const RECORD: &str = "run.json";
const LINES: &str = "journal.jsonl";
const LOCK: &str = "lock";

/// Why the state of runs cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file or directory cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} cannot be read as the state of a run: {reason}", path = path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Another process of this machine applies.
    #[error("another apply of this machine holds {path}", path = path.display())]
    Locked {
        /// Its lock.
        path: PathBuf,
    },
    /// There is no such run.
    #[error("there is no run {0}")]
    NoRun(String),
}

/// The directory of the runs.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: PathBuf,
}

/// Keeps other processes of this machine from applying; until it is dropped.
#[derive(Debug)]
pub struct JournalLock(#[expect(dead_code, reason = "the lock is the file's being open")] File);

/// Who applies, in which run, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The run's name; unique, and sorted by time.
    pub run: String,
    /// `user@host`
    pub by: String,
    /// RFC 3339.
    pub at: String,
    /// The commit of the project, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// What a run is, as it was before anything was sent.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunRecord {
    version: u32,
    /// Who made it.
    pub identity: Identity,
    /// The target's name in the project file.
    pub target: String,
    /// Its admin port.
    pub admin: String,
    /// The configuration that it leads to, by its fingerprint; of a rollback, the run that it takes back.
    pub desired: String,
    /// The project that owns it afterwards.
    pub project: Option<String>,
    /// What it ran before.
    pub base: Base,
    /// The generation that it becomes.
    pub generation: u64,
    changes: Vec<StoredChange>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredChange {
    name: RowName,
    address: Address,
    old: Option<StoredRow>,
    new: Option<StoredRow>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_at_start: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRow {
    facts: Facts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// What was begun or done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub enum Phase {
    /// Rows are put in memory, and this module is loaded.
    Loading {
        /// The module.
        module: String,
    },
    /// What is live is what was wanted.
    Verified,
    /// Modules are saved to disk.
    Saving,
    /// Everything is set back.
    Restoring {
        /// Why.
        reason: String,
    },
    /// It is over.
    Ended {
        /// How.
        end: End,
        /// In a sentence.
        message: String,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// What was wanted is live and saved.
    Applied,
    /// The former state is live and saved.
    Restored,
    /// Nothing was changed.
    Refused,
    /// Neither, or it is not known.
    Mixed,
}

/// A run with what is known of it.
#[derive(Debug)]
pub struct Run {
    directory: PathBuf,
    /// What it is.
    pub record: RunRecord,
    /// What was begun and done, in order.
    pub phases: Vec<Phase>,
}

impl Journal {
    /// The runs of a state directory, which need not exist yet.
    pub fn new(state: &Path) -> Self {
        Self {
            directory: state.join("runs"),
        }
    }

    /// Keeps other processes of this machine from applying.
    ///
    /// # Errors
    /// [`JournalError::Locked`], or the directory cannot be used.
    pub fn lock(&self) -> Result<JournalLock, JournalError> {
        self.make()?;
        let path = self.directory.join(LOCK);
        let file = private(OpenOptions::new().create(true).truncate(false).write(true), &path)?;
        match file.try_lock() {
            Ok(()) => Ok(JournalLock(file)),
            Err(TryLockError::WouldBlock) => Err(JournalError::Locked { path }),
            Err(TryLockError::Error(source)) => Err(JournalError::Io { path, source }),
        }
    }

    /// Begins a run: everything that is needed to take it back is on disk when this returns.
    pub(super) fn begin(&self, record: RunRecord) -> Result<Run, JournalError> {
        self.make()?;
        let directory = self.directory.join(&record.identity.run);
        make_directory(&directory)?;
        let path = directory.join(RECORD);
        let mut text =
            serde_json::to_vec(&record).expect("rows have string keys only, so JSON can hold them");
        let mut file = private(OpenOptions::new().create_new(true).write(true), &path)?;
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        text.zeroize();
        written.map_err(|source| JournalError::Io { path, source })?;
        let lines = directory.join(LINES);
        private(OpenOptions::new().create_new(true).write(true), &lines)?;
        for place in [&directory, &self.directory] {
            sync_directory(place)?;
        }
        Ok(Run {
            directory,
            record,
            phases: Vec::new(),
        })
    }

    /// Every run, the oldest first.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn runs(&self) -> Result<Vec<Run>, JournalError> {
        self.names()?.into_iter().map(|name| self.run(&name)).collect()
    }

    /// The last run of a target that has not ended. Records are large: those of runs that have ended are not read.
    pub(super) fn open_run(&self, target: &str) -> Result<Option<Run>, JournalError> {
        for name in self.names()?.into_iter().rev() {
            if is_open(&self.phases(&name)?) {
                let run = self.run(&name)?;
                if run.record.target == target {
                    return Ok(Some(run));
                }
            }
        }
        Ok(None)
    }

    /// The names of the runs, the oldest first.
    fn names(&self) -> Result<Vec<String>, JournalError> {
        let failed = |source| JournalError::Io {
            path: self.directory.clone(),
            source,
        };
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        // A process that ended while it began a run has sent nothing.
        names.retain(|name| self.directory.join(name).join(LINES).exists());
        Ok(names)
    }

    /// What was begun and done in a run, in order.
    fn phases(&self, name: &str) -> Result<Vec<Phase>, JournalError> {
        let lines = read(&self.directory.join(name).join(LINES))?;
        let lines = String::from_utf8_lossy(&lines);
        // The last line may have been cut off.
        let phases = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
        Ok(phases.collect())
    }

    /// A run by its name.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn run(&self, name: &str) -> Result<Run, JournalError> {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let directory = self.directory.join(name);
        if !is_name || !directory.join(RECORD).exists() {
            return Err(JournalError::NoRun(name.to_owned()));
        }
        let path = directory.join(RECORD);
        let mut bytes = read(&path)?;
        let record = serde_json::from_slice::<RunRecord>(&bytes);
        bytes.zeroize();
        let unreadable = |reason: String| JournalError::Unreadable {
            path: path.clone(),
            reason,
        };
        let record = record.map_err(|error| unreadable(error.to_string()))?;
        if record.version != VERSION {
            let version = record.version;
            return Err(unreadable(format!(
                "it has version {version}, this program reads {VERSION}"
            )));
        }
        Ok(Run {
            phases: self.phases(name)?,
            directory,
            record,
        })
    }

    /// Makes the directory, which git leaves alone: what is in it holds passwords.
    fn make(&self) -> Result<(), JournalError> {
        make_directory(&self.directory)?;
        let path = self.directory.join(".gitignore");
        if path.exists() {
            return Ok(());
        }
        let mut file = private(OpenOptions::new().create(true).truncate(true).write(true), &path)?;
        file.write_all(b"*\n")
            .map_err(|source| JournalError::Io { path, source })
    }
}

impl RunRecord {
    pub(super) fn new(
        identity: Identity,
        target: (&str, String),
        desired: &str,
        project: Option<String>,
        base: Base,
        changes: &[Change],
    ) -> Self {
        let stored = |row: &Row| StoredRow {
            facts: row.facts.clone(),
            secret: row.secret.as_ref().map(|secret| secret.expose().to_owned()),
        };
        let changes = changes.iter().map(|change| StoredChange {
            name: change.name.clone(),
            address: change.address.clone(),
            old: change.old.as_ref().map(stored),
            new: change.new.as_ref().map(stored),
            is_at_start: change.is_at_start,
        });
        Self {
            version: VERSION,
            identity,
            target: target.0.to_owned(),
            admin: target.1,
            desired: desired.to_owned(),
            project,
            generation: base.generation + 1,
            base,
            changes: changes.collect(),
        }
    }

    /// The rows that it changes.
    pub(super) fn changes(&self) -> Vec<Change> {
        let row = |row: &StoredRow| Row {
            facts: row.facts.clone(),
            secret: row.secret.clone().map(Secret::new),
        };
        let changes = self.changes.iter().map(|change| Change {
            name: change.name.clone(),
            address: change.address.clone(),
            old: change.old.as_ref().map(row),
            new: change.new.as_ref().map(row),
            reference: None,
            is_at_start: change.is_at_start,
        });
        changes.collect()
    }
}

impl Run {
    /// Notes what is begun or done; it is on disk when this returns.
    pub(super) fn note(&mut self, phase: Phase) -> Result<(), JournalError> {
        let path = self.directory.join(LINES);
        let mut line = serde_json::to_vec(&phase).expect("texts are JSON");
        line.push(b'\n');
        let mut file = private(OpenOptions::new().append(true), &path)?;
        let written = file.write_all(&line).and_then(|()| file.sync_all());
        written.map_err(|source| JournalError::Io { path, source })?;
        self.phases.push(phase);
        Ok(())
    }

    /// How it ended; `None`: it was cut off, or goes on.
    pub fn end(&self) -> Option<(End, &str)> {
        end(&self.phases)
    }

    /// Whether somebody has to finish it or take it back.
    pub fn is_open(&self) -> bool {
        is_open(&self.phases)
    }

    /// Whether something may have been saved.
    pub(super) fn was_saving(&self) -> bool {
        self.phases.contains(&Phase::Saving)
    }
}

fn end(phases: &[Phase]) -> Option<(End, &str)> {
    match phases.last() {
        Some(Phase::Ended { end, message }) => Some((*end, message)),
        _ => None,
    }
}

fn is_open(phases: &[Phase]) -> bool {
    end(phases).is_none_or(|(end, _)| end == End::Mixed)
}

/// What to do about a run that has not ended.
pub(super) fn unfinished(run: &str) -> String {
    format!(
        "run {run} has not ended: `shardwright apply --resume {run}` finishes it, `shardwright rollback {run}` takes it back"
    )
}

fn private(options: &mut OpenOptions, path: &Path) -> Result<File, JournalError> {
    let opened = options.mode(0o600).open(path);
    opened.map_err(|source| JournalError::Io {
        path: path.to_owned(),
        source,
    })
}

fn make_directory(path: &Path) -> Result<(), JournalError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| JournalError::Io {
        path: path.to_owned(),
        source,
    })
}

fn sync_directory(path: &Path) -> Result<(), JournalError> {
    let synced = File::open(path).and_then(|directory| directory.sync_all());
    synced.map_err(|source| JournalError::Io {
        path: path.to_owned(),
        source,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, JournalError> {
    fs::read(path).map_err(|source| JournalError::Io {
        path: path.to_owned(),
        source,
    })
}
