//! `information_schema.TABLES`: which tables there are, for clients that ask before they use one.

use shardwright_wire::MysqlError;

use super::errors as sqlite_errors;
use super::names::{INFORMATION_SCHEMA, quote_name};
use super::session::SqliteSession;

const CREATE: &str = "ATTACH ':memory:' AS information_schema; \
    CREATE TABLE information_schema.TABLES (TABLE_CATALOG TEXT, TABLE_SCHEMA TEXT, TABLE_NAME TEXT, TABLE_TYPE TEXT)";

impl SqliteSession {
    /// Fills the session's own table anew: a statement that names it sees the tables of this moment. `needed` are not detached to
    /// make room, and this schema is one of them.
    pub(super) fn fill_information_schema(&mut self, needed: &[String]) -> Result<(), MysqlError> {
        if !self
            .attached
            .iter()
            .any(|attached| attached == INFORMATION_SCHEMA)
        {
            self.internal_batch(CREATE)?;
            self.attached.push(INFORMATION_SCHEMA.to_owned());
        }
        self.internal_batch("DELETE FROM information_schema.TABLES")?;
        for name in self.catalog.names() {
            self.attach(&name, needed)?;
            let insert = format!(
                "INSERT INTO information_schema.TABLES \
                 SELECT 'def', ?1, name, CASE type WHEN 'view' THEN 'VIEW' ELSE 'BASE TABLE' END FROM {}.sqlite_schema \
                 WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'",
                quote_name(&name)
            );
            self.access
                .internally(|| self.connection.execute(&insert, [&name]))
                .map_err(|error| sqlite_errors::statement(&error, None, None))?;
        }
        Ok(())
    }

    fn internal_batch(&self, sql: &str) -> Result<(), MysqlError> {
        self.access
            .internally(|| self.connection.execute_batch(sql))
            .map_err(|error| sqlite_errors::statement(&error, None, None))
    }
}
