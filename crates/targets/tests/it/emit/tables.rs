//! A database with ProxySQL's tables, as far as a configuration writes to them.

use rusqlite::Connection;
use shardwright_rules::tables::TABLES;

/// An empty database.
pub(crate) fn database() -> Connection {
    let database = Connection::open_in_memory().unwrap();
    for table in TABLES {
        database.execute_batch(&table.definition()).unwrap();
    }
    database
}

/// Runs a script. `SET`, `LOAD` and `SAVE`, which SQLite does not know, are left out.
pub(crate) fn run(database: &Connection, script: &str) {
    let admin = |line: &&str| {
        ["SET ", "LOAD ", "SAVE "]
            .iter()
            .any(|word| line.starts_with(word))
    };
    let sql: Vec<&str> = script.split('\n').filter(|line| !admin(line)).collect();
    database.execute_batch(&sql.join("\n")).unwrap();
}

/// A database after these scripts.
pub(crate) fn load(scripts: &[&str]) -> Connection {
    let database = database();
    for script in scripts {
        run(&database, script);
    }
    database
}
