//! The table of the rows.

use std::fmt;

use mysql::Conn;
use mysql::prelude::Queryable;

/// A table for the rows, which are kept apart by their run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    schema: String,
    name: String,
}

impl Table {
    /// A table of a schema, by their names as they are.
    #[must_use]
    pub fn new(schema: &str, name: &str) -> Self {
        let [schema, name] = [schema, name].map(|part| part.replace('`', "``"));
        Self { schema, name }
    }

    /// Makes it, where it is not there.
    ///
    /// # Errors
    /// The server's.
    pub fn create(&self, connection: &mut Conn) -> mysql::Result<()> {
        connection.query_drop(format!(
            "CREATE TABLE IF NOT EXISTS {self} (a BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, \
             d TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, c DATETIME(6), \
             run BIGINT UNSIGNED NOT NULL, number BIGINT UNSIGNED NOT NULL, KEY (run, number))"
        ))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`.`{}`", self.schema, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(Table::new("a`b", "t").to_string(), "`a``b`.`t`");
    }
}
