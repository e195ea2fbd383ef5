//! The tests that pass on the server, and why some of them do not pass through the proxy. The run makes it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;

use super::mysqltest::Protocol;
use crate::root;

const HEAD: &str = "# Tests of MariaDB's suite `main` that pass on the server. Behind a colon: why one does not pass through the proxy.\n";

/// By test, the cause if it does not pass through the proxy.
#[derive(Clone, Debug, Default)]
pub(super) struct List(pub(super) BTreeMap<String, Option<String>>);

impl List {
    pub(super) fn path(protocol: Protocol) -> PathBuf {
        root().join(format!(
            "tests/clients/seen/mariadb/suite-{}.txt",
            protocol.name()
        ))
    }

    pub(super) fn read(protocol: Protocol) -> Self {
        Self::parse(&fs::read_to_string(Self::path(protocol)).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let entry = |line: &str| match line.split_once(": ") {
            Some((test, cause)) => (test.to_owned(), Some(cause.to_owned())),
            None => (line.to_owned(), None),
        };
        Self(lines.map(entry).collect())
    }

    pub(super) fn write(&self, protocol: Protocol) {
        fs::write(Self::path(protocol), self.to_string()).unwrap();
    }

    /// How many pass on the server.
    pub(super) fn direct(&self) -> usize {
        self.0.len()
    }

    /// How many pass through the proxy.
    pub(super) fn proxied(&self) -> usize {
        self.0.values().filter(|cause| cause.is_none()).count()
    }

    /// How many tests have a cause.
    pub(super) fn with_cause(&self, cause: &str) -> usize {
        self.0.values().flatten().filter(|own| *own == cause).count()
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for (test, cause) in &self.0 {
            match cause {
                Some(cause) => writeln!(f, "{test}: {cause}")?,
                None => writeln!(f, "{test}")?,
            }
        }
        Ok(())
    }
}
