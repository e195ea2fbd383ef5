//! What a server has of the rows, compared with what clients were told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use crate::ledger::Ledger;
use crate::load::Load;

/// How often a server is asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// The commits that a server has, each with the number of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found(BTreeMap<u64, u64>);

impl Found {
    /// Asks a server for the rows of a run.
    ///
    /// # Errors
    /// The server's.
    pub fn on(connection: &mut Conn, load: &Load) -> mysql::Result<Self> {
        let (table, run) = (&load.table, load.run);
        // The index would not show a row that is in the table only.
        let rows = connection.query::<(u64, u64), _>(format!(
            "SELECT number, COUNT(*) FROM {table} IGNORE INDEX (run) WHERE run = {run} GROUP BY number"
        ))?;
        Ok(Self(rows.into_iter().collect()))
    }

    /// Its commits.
    pub fn commits(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.values().sum()
    }
}

/// What became of commits on one server. Each list has the numbers of commits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// Rows of this run.
    pub rows: u64,
    /// Acknowledged, and not there.
    pub lost: Vec<u64>,
    /// There more than once, whatever was told.
    pub doubled: Vec<u64>,
    /// A transaction that is there in part.
    pub torn: Vec<u64>,
    /// Refused, and there.
    pub refused_and_there: Vec<u64>,
    /// Of the unknown ones, those that are there.
    pub unknown_and_there: Vec<u64>,
}

impl Audit {
    /// Whether the server has what clients were told, and nothing else.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.lost.is_empty() && self.is_consistent()
    }

    /// Whether nothing is wrong but losses.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.doubled.is_empty() && self.torn.is_empty() && self.refused_and_there.is_empty()
    }
}

impl Ledger {
    /// Compares what clients were told with what a server has.
    #[must_use]
    pub fn audit(&self, found: &Found) -> Audit {
        let rows = |number: u64| found.0.get(&number).copied().unwrap_or_default();
        let there = |numbers: &[u64]| {
            numbers
                .iter()
                .copied()
                .filter(|number| rows(*number) > 0)
                .collect()
        };
        let which = |is_so: &dyn Fn(u64, u64) -> bool| {
            let commits = found.0.iter().filter(|(number, rows)| is_so(**number, **rows));
            commits.map(|(number, _)| *number).collect()
        };
        Audit {
            rows: found.rows(),
            lost: self.acknowledged().filter(|number| rows(*number) == 0).collect(),
            doubled: which(&|number, rows| rows > self.load.rows(number)),
            torn: which(&|number, rows| rows < self.load.rows(number)),
            refused_and_there: there(self.refused()),
            unknown_and_there: there(self.unknown()),
        }
    }

    /// Asks a server until it has everything that was acknowledged, but not longer than `patience`: a replica may still be
    /// applying it.
    ///
    /// # Errors
    /// The server's.
    pub fn audit_on(&self, connection: &mut Conn, patience: Duration) -> mysql::Result<Audit> {
        let until = Instant::now() + patience;
        loop {
            let audit = self.audit(&Found::on(connection, &self.load)?);
            if audit.lost.is_empty() || Instant::now() >= until {
                return Ok(audit);
            }
            std::thread::sleep(AGAIN);
        }
    }
}
