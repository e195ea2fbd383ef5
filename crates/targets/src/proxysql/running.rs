//! Live rows as memory would hold them: what serves clients, not what somebody has staged.
//!
//! ProxySQL does not print both the same (2.7.1): a user is a row for logging in and a row for logging in to servers, rules
//! that are switched off are not live at all, and what the monitor thinks of a server at the moment is no setting.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use shardwright_rules::tables::{QUERY_RULES, SERVERS, USERS};

use super::mark::is_ours_to_keep;
use super::row::{RowName, TableName};
use super::session::{AdminSession, Found, Layer, SessionError};

type Rows = BTreeMap<RowName, Found>;

/// The rows of a table as memory would hold them. Rules and servers that are switched off are read from
/// memory: nothing else has them.
pub(super) fn as_written(
    session: &mut AdminSession,
    table: TableName,
    rows: Rows,
) -> Result<Rows, SessionError> {
    let definition = table.definition();
    if *definition == SERVERS {
        let rows = rows.into_iter().map(believed).collect();
        return with_those_that_are_off(session, table, rows, "UPPER(status) = 'OFFLINE_HARD'");
    }
    if *definition == USERS {
        return Ok(users(rows));
    }
    if *definition == QUERY_RULES {
        return with_those_that_are_off(session, table, rows, "active = 0");
    }
    Ok(rows)
}

/// A server that the monitor shuns is online for whoever wrote its row.
fn believed((name, mut found): (RowName, Found)) -> (RowName, Found) {
    if found.row.text("status") == "SHUNNED" {
        found.row.facts.insert("status".to_owned(), json!("ONLINE"));
    }
    (name, found)
}

/// The users that can log in, each with both of its sides where it has both.
fn users(rows: Rows) -> Rows {
    let (users, of_servers): (Vec<Found>, Vec<Found>) = rows
        .into_values()
        .partition(|found| found.row.number("frontend") == Some(1));
    let of_servers: BTreeSet<&str> = of_servers
        .iter()
        .map(|found| found.row.text("username"))
        .collect();
    let users = users.into_iter().map(|mut found| {
        if of_servers.contains(found.row.text("username")) {
            found.row.facts.insert("backend".to_owned(), json!(1));
        }
        (RowName::of(TableName::of(&USERS), &found.row.facts), found)
    });
    users.collect()
}

/// With the rows that memory has and that are not loaded, because somebody has switched them off.
fn with_those_that_are_off(
    session: &mut AdminSession,
    table: TableName,
    mut found: Rows,
    are_off: &str,
) -> Result<Rows, SessionError> {
    for (name, row) in session.rows_where(table, Layer::Memory, are_off)? {
        // An apply that goes on is nothing that runs.
        if !is_ours_to_keep(&name, &row) {
            found.entry(name).or_insert(Found { row, is_ours: false });
        }
    }
    Ok(found)
}
