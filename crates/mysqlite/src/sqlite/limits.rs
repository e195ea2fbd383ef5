//! What a statement may take of the machine.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::limits::Limit;
use shardwright_wire::MysqlError;

use super::SqliteSession;
use super::errors as sqlite_errors;
use super::stop::STOP_CHECK_INTERVAL;
use crate::backend::IsGone;

/// Time between two looks at whether the client is still there.
const GONE_CHECK: Duration = Duration::from_millis(100);

/// What a statement may take of the machine.
#[derive(Clone, Copy, Debug)]
pub struct StatementLimits {
    /// How long it may run.
    pub time: Duration,
    /// Bytes of a value, and of a row.
    pub value_bytes: i32,
    /// Bytes of memory for all of SQLite in this process.
    pub heap_bytes: u64,
}

impl SqliteSession {
    /// Limits every later statement.
    ///
    /// # Errors
    /// SQLite does not take a limit.
    pub fn limit(&mut self, limits: StatementLimits) -> Result<(), MysqlError> {
        let heap = format!("PRAGMA hard_heap_limit = {}", limits.heap_bytes);
        self.connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, limits.value_bytes)
            .and_then(|_| self.access.internally(|| self.connection.execute_batch(&heap)))
            .map_err(|error| sqlite_errors::open(&error))?;
        self.time_limit = Some(limits.time);
        Ok(())
    }

    /// The time of a statement begins.
    pub(super) fn begin_time(&self) {
        self.stop.after(self.time_limit);
    }

    /// Ends a running statement when its client has gone, too.
    pub(super) fn stop_when_gone(&mut self, is_gone: IsGone) -> rusqlite::Result<()> {
        let stop = self.stop.clone();
        let mut asked = Instant::now();
        let is_gone = Mutex::new(is_gone);
        self.connection.progress_handler(
            STOP_CHECK_INTERVAL,
            Some(move || {
                if stop.is_due() {
                    return true;
                }
                if asked.elapsed() < GONE_CHECK {
                    return false;
                }
                asked = Instant::now();
                is_gone.lock().unwrap_or_else(PoisonError::into_inner)()
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use shardwright_wire::errors;

    use super::*;
    use crate::backend::{Session, SessionContext};
    use crate::sqlite::SqliteBackend;
    use crate::{Answer, Table};

    #[test]
    fn a_statement_ends_with_its_time_and_the_session_goes_on() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let context = SessionContext {
            connection_id: 1,
            user: "u".into(),
            peer: address,
            local: address,
        };
        let mut session = SqliteBackend::new("8").unwrap().session(&context).unwrap();
        let limits = StatementLimits {
            time: Duration::from_millis(20),
            value_bytes: 1 << 20,
            heap_bytes: 512 << 20,
        };
        session.limit(limits).unwrap();
        let mut ask = |sql: &str| session.query(sql.as_bytes(), &mut Table::default());
        let endless =
            "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT COUNT(*) FROM n";
        for _ in 0..2 {
            let error = ask(endless).unwrap_err();
            assert_eq!(error.code, errors::QUERY_INTERRUPTED.code);
            assert!(error.message.contains("longer than"), "{}", error.message);
            assert!(matches!(ask("SELECT 1"), Ok(Answer::Rows { .. })));
        }
        assert!(ask("SELECT LENGTH(zeroblob(2000000))").is_err());
        session.stop_when_gone(Box::new(|| true)).unwrap();
        session.time_limit = None;
        let error = session
            .query(endless.as_bytes(), &mut Table::default())
            .unwrap_err();
        assert_eq!(error.code, errors::QUERY_INTERRUPTED.code);
    }
}
