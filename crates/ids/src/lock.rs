//! The lock file: ids that live systems remember, one sorted `address value` line each.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

/// The version of the lines. A file without [`VERSION_LINE`] has it.
const VERSION: &str = "1";
/// How a later version will begin the line that says so.
const VERSION_LINE: &str = "# version: ";

/// Pinned ids by name. Names are `hostgroups.CLUSTER.ROLE`, `rules.ENGINE.NAME` and `flags.ENGINE.NAME`;
/// `shaped.ENGINE.MAP` says that traffic shaped a tree; names below `written.` say what scripts have put into a live
/// system, so that a later one can take it back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    entries: BTreeMap<String, u32>,
}

/// A line of a lock file that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// The line is not `address value`.
    #[error("line {line} of the lock file is not `address value`: {text}")]
    Malformed {
        /// Counted from 1.
        line: usize,
        /// The line, shortened.
        text: String,
    },
    /// A newer program wrote it, so that its lines may mean something else.
    #[error(
        "line {line} of the lock file says version {found}, this program reads {VERSION}: use the newer program that wrote it"
    )]
    TooNew {
        /// Counted from 1.
        line: usize,
        /// What it says.
        found: String,
    },
    /// Two values for one name.
    #[error("line {line} of the lock file gives {name} a second value")]
    Repeated {
        /// Counted from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// A conflict marker of a merge.
    #[error(
        "line {line} of the lock file is a conflict marker: keep the lines of both sides, or compile again"
    )]
    Conflict {
        /// Counted from 1.
        line: usize,
    },
}

impl LockError {
    /// The line, counted from 1.
    pub fn line(&self) -> usize {
        match self {
            LockError::Malformed { line, .. }
            | LockError::Repeated { line, .. }
            | LockError::TooNew { line, .. }
            | LockError::Conflict { line } => *line,
        }
    }
}

impl Lock {
    /// Reads a lock file. Lines that cannot be read are left out and reported; empty lines and lines that start with
    /// `#` mean nothing, except one that tells a version.
    pub fn parse(text: &str) -> (Self, Vec<LockError>) {
        let mut lock = Self::default();
        let mut errors = Vec::new();
        for (at, row) in text.lines().enumerate() {
            let line = at + 1;
            let row = row.trim_end();
            if let Some(found) = row.strip_prefix(VERSION_LINE).filter(|found| *found != VERSION) {
                let found = found.chars().take(80).collect();
                errors.push(LockError::TooNew { line, found });
            }
            if row.is_empty() || row.starts_with('#') {
                continue;
            }
            if ["<<<<<<<", "=======", ">>>>>>>"]
                .iter()
                .any(|marker| row.starts_with(marker))
            {
                errors.push(LockError::Conflict { line });
                continue;
            }
            match row
                .rsplit_once(' ')
                .and_then(|(name, value)| Some((name, value.parse().ok()?)))
            {
                Some((name, value)) if !name.is_empty() => {
                    if lock
                        .entries
                        .insert(name.to_owned(), value)
                        .is_some_and(|former| former != value)
                    {
                        errors.push(LockError::Repeated {
                            line,
                            name: name.to_owned(),
                        });
                    }
                }
                _ => errors.push(LockError::Malformed {
                    line,
                    text: row.chars().take(80).collect(),
                }),
            }
        }
        (lock, errors)
    }

    /// The pinned id of a name.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.entries.get(name).copied()
    }

    /// Pins an id.
    pub fn set(&mut self, name: String, value: u32) {
        self.entries.insert(name, value);
    }

    /// Pinned names that start with `prefix`, without it, and their ids.
    pub fn below<'a>(&'a self, prefix: &str) -> impl Iterator<Item = (&'a str, u32)> {
        let prefix = prefix.to_owned();
        let from = self
            .entries
            .range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
        from.map_while(move |(name, id)| Some((name.strip_prefix(prefix.as_str())?, *id)))
    }

    /// Forgets the names that start with `prefix`.
    pub fn forget(&mut self, prefix: &str) {
        self.entries.retain(|name, _| !name.starts_with(prefix));
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries
            .iter()
            .try_for_each(|(name, value)| writeln!(f, "{name} {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_reads_what_it_wrote() {
        let text = "flags.proxysql-2.7.tenants 20001\nhostgroups.pay.writer 100\n";
        let (lock, errors) = Lock::parse(text);
        assert_eq!(errors, []);
        assert_eq!(lock.get("hostgroups.pay.writer"), Some(100));
        assert_eq!(lock.to_string(), text);
    }

    #[test]
    fn locks_of_today_are_read_and_those_of_later_versions_refused() {
        let text = "# version: 1\nhostgroups.pay.writer 100\nrules.proxysql-2.7.tenants/t1 100010\n\
                    shaped.proxysql-2.7.tenants 1\nwritten.variables.mysql-max_connections 0\n";
        let (lock, errors) = Lock::parse(text);
        assert_eq!(errors, []);
        assert_eq!(lock.get("rules.proxysql-2.7.tenants/t1"), Some(100_010));
        let (_, errors) = Lock::parse("# version: 2\nhostgroups.pay 100 writer\n");
        assert_eq!(
            errors[0].to_string(),
            "line 1 of the lock file says version 2, this program reads 1: use the newer program that wrote it"
        );
    }

    #[test]
    fn bad_lines_are_reported_and_left_out() {
        let (lock, errors) = Lock::parse("# ids\n\nx\na b\n<<<<<<< main\nc 1\nc 2\nd 99999999999\ne 5");
        let lines: Vec<usize> = errors.iter().map(LockError::line).collect();
        assert_eq!(lines, [3, 4, 5, 7, 8]);
        assert_eq!(lock.get("e"), Some(5));
    }
}
