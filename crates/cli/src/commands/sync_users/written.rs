//! The file of synchronised users, and their secrets, which only their owner can read.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use shardwright_adopt::accounts::{WrittenUser, users_file};
use shardwright_secrets::Secret;

use crate::error::CommandError;
use crate::files::{keep_secret, replace_file};

/// A user that comes, changes or goes.
pub(super) struct Change {
    pub(super) user: String,
    /// `added`, `another password` or `gone`.
    pub(super) what: &'static str,
}

impl Change {
    pub(super) fn sign(&self) -> char {
        match self.what {
            ADDED => '+',
            GONE => '-',
            _ => '~',
        }
    }
}

const ADDED: &str = "added";
const CHANGED: &str = "another password";
const GONE: &str = "gone";

/// Users with the hashes of their passwords.
pub(super) type Users<'a> = [(WrittenUser, &'a Secret)];

fn has(users: &Users<'_>, name: &str) -> bool {
    users.iter().any(|(user, _)| user.name == name)
}

/// What was written before, and where.
pub(super) struct Written {
    directory: PathBuf,
    path: String,
}

impl Written {
    pub(super) fn new(directory: &Path, cluster: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            path: format!("topology/users-{cluster}.yaml"),
        }
    }

    /// The file of the users, in the project.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// What is different from what was written before.
    pub(super) fn changes(&self, users: &Users<'_>) -> Result<Vec<Change>, CommandError> {
        let before = self.names()?;
        let mut changes = Vec::new();
        for (user, hash) in users {
            let what = match (before.contains(&user.name), self.secret(user)?) {
                (false, _) => ADDED,
                (true, Some(held)) if held.expose() == hash.expose() => continue,
                (true, _) => CHANGED,
            };
            changes.push(Change {
                user: user.login.clone(),
                what,
            });
        }
        let gone = before.into_iter().filter(|name| !has(users, name));
        changes.extend(gone.map(|user| Change { user, what: GONE }));
        Ok(changes)
    }

    /// Writes all of it. Secrets of users who have gone are removed.
    pub(super) fn write(&self, cluster: &str, users: &Users<'_>) -> Result<(), CommandError> {
        let gone = self.names()?.into_iter().filter(|name| !has(users, name));
        let gone: Vec<String> = gone.collect();
        for (user, hash) in users {
            keep_secret(&self.directory.join(user.secret_path()), hash.expose().as_bytes())?;
        }
        if !users.is_empty() {
            keep_secret(&self.directory.join("secrets/.gitignore"), b"*\n")?;
        }
        let text = users_file(cluster, users.iter().map(|(user, _)| user));
        let path = self.directory.join(&self.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
        }
        if fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
            replace_file(&path, text.as_bytes())?;
        }
        for name in gone {
            let path = self
                .directory
                .join(shardwright_adopt::accounts::secret_path(&name));
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&path, &error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The users of the file: it is ours, and has one to a line.
    fn names(&self) -> Result<BTreeSet<String>, CommandError> {
        let path = self.directory.join(&self.path);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(failed(&path, &error)),
        };
        let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
        let names = lines.filter_map(|line| Some(line.split_once(':')?.0.trim_matches('"').to_owned()));
        Ok(names.collect())
    }

    fn secret(&self, user: &WrittenUser) -> Result<Option<Secret>, CommandError> {
        let path = self.directory.join(user.secret_path());
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Secret::new(text))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, &error)),
        }
    }
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::failed(format!("cannot write {}: {error}", path.display()))
}
