//! Reads that no server gets because one ended with them: shown, and let through again.

use shardwright_mysqlite::{Answer, RowSink};
use shardwright_rules::tables::digest_text;
use shardwright_wire::MysqlError;
use tokio::time::Instant;

use super::rows::{Rows, int, text};
use super::{AdminSession, one_row};
use crate::shared::Shared;
use crate::stats::WorkerFigures;

/// Each read, the server that ended, since when and for how long it is withheld, and how often it was refused.
pub(super) const COLUMNS: &[&str] = &[
    "digest VARCHAR",
    "digest_text VARCHAR",
    "only VARCHAR",
    "server VARCHAR",
    "ended_s INT",
    "left_s INT",
    "refused INT",
];

pub(super) fn rows(shared: &Shared, _: &[WorkerFigures]) -> Rows {
    let now = Instant::now();
    let reads = shared.withheld.all().into_iter();
    reads
        .map(|read| {
            vec![
                text(digest_text(read.digest)),
                text(read.text),
                text(if read.with_values { "the same values" } else { "" }),
                text(read.server),
                int(read.ended_s),
                int(read.until.saturating_duration_since(now).as_secs()),
                int(read.refused),
            ]
        })
        .collect()
}

impl AdminSession {
    /// Lets servers have the reads of a digest again.
    pub(super) fn allow_digest(&self, digest: &str, rows: &mut dyn RowSink) -> Result<Answer, MysqlError> {
        let was_withheld = self.shared.withheld.allow(digest);
        if was_withheld {
            tracing::info!(digest, "its reads are sent again");
        }
        one_row(
            &["digest", "was_withheld"],
            vec![text(digest), int(i64::from(was_withheld))],
        )
        .send(rows)
    }
}
