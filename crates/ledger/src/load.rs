//! What clients do.

use std::num::NonZeroU32;

use mysql::Opts;

use crate::table::Table;

/// What clients do.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where they connect, in turns; at least one. Its timeouts say how long they wait for an answer.
    pub targets: Vec<Opts>,
    /// Where rows go.
    pub table: Table,
    /// Tells the rows of this run from those of others.
    pub run: u64,
    /// How many clients.
    pub clients: NonZeroU32,
    /// Commits in a second of all clients together; none: as fast as answers come.
    pub rate: Option<f64>,
    /// Every so many commits of a client is a transaction of [`Load::TRANSACTION_ROWS`] rows; 0: none. The others are single
    /// statements.
    pub transaction_every: u64,
}

impl Load {
    /// Rows of a transaction.
    pub const TRANSACTION_ROWS: u64 = 2;

    /// How many rows a commit has.
    pub(crate) fn rows(&self, number: u64) -> u64 {
        let turn = number / u64::from(self.clients.get());
        let is_transaction = self.transaction_every > 0 && (turn + 1).is_multiple_of(self.transaction_every);
        if is_transaction { Self::TRANSACTION_ROWS } else { 1 }
    }
}
