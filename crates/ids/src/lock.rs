//! The lock file: ids that live systems remember, one sorted `address value` line each.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;

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
            | LockError::Conflict { line } => *line,
        }
    }
}

impl Lock {
    /// Reads a lock file. Lines that cannot be read are left out and reported; empty lines and lines that start with
    /// `#` mean nothing.
    pub fn parse(text: &str) -> (Self, Vec<LockError>) {
        let mut lock = Self::default();
        let mut errors = Vec::new();
        for (at, row) in text.lines().enumerate() {
            let line = at + 1;
            let row = row.trim_end();
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
    fn bad_lines_are_reported_and_left_out() {
        let (lock, errors) = Lock::parse("# ids\n\nx\na b\n<<<<<<< main\nc 1\nc 2\nd 99999999999\ne 5");
        let lines: Vec<usize> = errors.iter().map(LockError::line).collect();
        assert_eq!(lines, [3, 4, 5, 7, 8]);
        assert_eq!(lock.get("e"), Some(5));
    }
}
