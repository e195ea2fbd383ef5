//! What is in memory and not live, or live and not in memory: what a LOAD of ours would publish, or has not published.
//!
//! Memory and runtime do not print the same (2.7.1): only active rules are live, digests and modifiers are written anew,
//! users are split by role, and the monitor moves servers between hostgroups and shuns them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value, json};
use shardwright_rules::tables::{GLOBAL_VARIABLES, QUERY_RULES, SERVERS, USERS, digest_text, read_digest};
use shardwright_rules::{Modifiers, Words};

use super::beyond::is_dropped;
use super::layers::{JOINS, Unlike, unlike};
use super::mark::is_ours_to_keep;
use super::module::Module;
use super::row::{Row, RowName, TableName};
use super::session::{AdminSession, Layer, SessionError};
use crate::emit::variables::is_at_start;

/// Something that is not the same in memory and live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotLive {
    /// The row; `None`: rows of a table that no configuration owns.
    pub(super) name: Option<RowName>,
    /// What of it is not the same.
    how: String,
}

impl fmt::Display for NotLive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => match name.variable_name() {
                Some(variable) => write!(f, "{variable} {}", self.how),
                None => write!(f, "{name} {}", self.how),
            },
            None => f.write_str(&self.how),
        }
    }
}

/// A module in memory beside what is live of it.
pub(super) struct Compared {
    /// Rows that are not printed the same; of the tables that join hostgroups, all.
    tables: Vec<Unlike>,
    /// Hostgroups between which the monitor moves servers.
    moved: BTreeSet<i64>,
    of_others: Vec<NotLive>,
}

impl Compared {
    /// Asks for it.
    pub(super) fn read(session: &mut AdminSession, module: Module) -> Result<Self, SessionError> {
        let tables = unlike(session, module, Layer::Runtime)?;
        let mut others = Vec::new();
        for table in module.tables_of_others() {
            others.extend(of_others(session, table)?);
        }
        Ok(Self {
            moved: moved_by_monitor(&tables),
            tables,
            of_others: others,
        })
    }

    /// What is not the same in memory and live.
    pub(super) fn not_live(&self) -> Vec<NotLive> {
        let mut found = Vec::new();
        for table in &self.tables {
            match *table.table.definition() == GLOBAL_VARIABLES {
                true => found.extend(variables(table)),
                false => found.extend(differences(table, &self.moved)),
            }
        }
        found.extend(self.of_others.iter().cloned());
        found
    }

    /// Servers that the monitor has put elsewhere than memory says: a load puts them back until it looks again. Those that
    /// `after`, which is what is loaded, does not have there any more are left out.
    pub(super) fn displaced(&self, after: &BTreeMap<&RowName, (&Row, bool)>) -> Vec<String> {
        let mut tables = self.tables.iter();
        let servers = tables.find(|table| *table.table.definition() == SERVERS);
        let stays = |name: &RowName| after.get(name).is_some_and(|(row, _)| is_online(row));
        servers.map_or_else(Vec::new, |servers| misplaced(servers, &self.moved, stays))
    }
}

/// Rows of a module that are not the same in memory and live, one description for each.
pub(super) fn unloaded(session: &mut AdminSession, module: Module) -> Result<Vec<String>, SessionError> {
    let found = not_live(session, module)?;
    Ok(found.iter().map(NotLive::to_string).collect())
}

/// What of a module is not the same in memory and live.
pub(super) fn not_live(session: &mut AdminSession, module: Module) -> Result<Vec<NotLive>, SessionError> {
    Ok(Compared::read(session, module)?.not_live())
}

/// Servers that are online in memory and not there live, in hostgroups of the monitor's.
fn misplaced(servers: &Unlike, moved: &BTreeSet<i64>, stays: impl Fn(&RowName) -> bool) -> Vec<String> {
    let of_monitor = |name: &RowName| name.number(0).is_some_and(|hostgroup| moved.contains(&hostgroup));
    let gone = servers.memory.iter().filter(|(name, row)| {
        let is_there = servers.other.get(*name).is_some_and(is_online);
        of_monitor(name) && is_online(row) && !is_there && stays(name)
    });
    gone.map(|(name, _)| {
        let part = |at| name.key.get(at).map(ToString::to_string).unwrap_or_default();
        format!("{}:{} in hostgroup {}", part(1), part(2), part(0))
    })
    .collect()
}

fn is_online(row: &Row) -> bool {
    row.text("status").eq_ignore_ascii_case("ONLINE")
}

/// The hostgroups between which the monitor moves servers.
fn moved_by_monitor(tables: &[Unlike]) -> BTreeSet<i64> {
    const COLUMNS: [&str; 4] = [
        "writer_hostgroup",
        "reader_hostgroup",
        "backup_writer_hostgroup",
        "offline_hostgroup",
    ];
    let rows = tables
        .iter()
        .filter(|table| JOINS.contains(&table.table.definition()))
        .flat_map(|table| table.memory.values().chain(table.other.values()));
    rows.flat_map(|row| COLUMNS.iter().filter_map(|column| row.number(column)))
        .collect()
}

fn differences(rows: &Unlike, moved: &BTreeSet<i64>) -> Vec<NotLive> {
    let table = rows.table;
    let mut expected: BTreeMap<RowName, Row> = BTreeMap::new();
    let of_readers = rows
        .memory
        .values()
        .filter_map(|row| row.number("reader_hostgroup"));
    let of_readers: BTreeSet<i64> = of_readers.collect();
    for (name, row) in &rows.memory {
        if !is_ours_to_keep(name, row) && !is_dropped(name, row, &of_readers) {
            let live = live_form(table, row).into_iter();
            expected.extend(live.map(|row| (RowName::of(table, &row.facts), row)));
        }
    }
    let is_moved = |name: &RowName| {
        name.is_in(&SERVERS) && name.number(0).is_some_and(|hostgroup| moved.contains(&hostgroup))
    };
    let mut found = Vec::new();
    let mut find = |name: &RowName, how: &str| {
        found.push(NotLive {
            name: Some(name.clone()),
            how: how.to_owned(),
        });
    };
    for (name, row) in &expected {
        match rows.other.get(name) {
            None if is_moved(name) => {}
            None => find(name, "is in memory and not live"),
            Some(live) if !same(table, row, live, is_moved(name)) => {
                find(name, "is another in memory than live");
            }
            Some(_) => {}
        }
    }
    for (name, live) in &rows.other {
        if !expected.contains_key(name) && !is_ours_to_keep(name, live) && !is_moved(name) {
            find(name, "is live and not in memory");
        }
    }
    found
}

/// What the engine prints of a row once it is live; nothing, where the row is not loaded.
fn live_form(table: TableName, row: &Row) -> Vec<Row> {
    let definition = table.definition();
    let mut live = row.clone();
    for column in definition.columns.iter().filter(|column| column.is_number()) {
        if let Some(number) = row.number(column.name) {
            live.facts.insert(column.name.to_owned(), json!(number));
        }
    }
    let is_off = row.facts.contains_key("active") && row.number("active") != Some(1);
    let has_switch = [&QUERY_RULES, &USERS].contains(&definition);
    if has_switch && is_off {
        return Vec::new();
    }
    if *definition == QUERY_RULES {
        return vec![live_rule(live)];
    }
    if *definition == USERS {
        return live_user(&live);
    }
    if *definition == SERVERS {
        let status = row.text("status").to_ascii_uppercase();
        live.facts.insert("status".to_owned(), json!(status));
        return match status.as_str() {
            "OFFLINE_HARD" => Vec::new(),
            _ => vec![live],
        };
    }
    vec![live]
}

fn live_rule(mut rule: Row) -> Row {
    if let Some(digest) = rule.facts.get("digest").and_then(Value::as_str) {
        match read_digest(digest) {
            (0 | u64::MAX, _) => rule.facts.shift_remove("digest"),
            (hash, _) => rule.facts.insert("digest".to_owned(), json!(digest_text(hash))),
        };
    }
    let modifiers = json!(Modifiers::read(rule.text("re_modifiers")).word());
    rule.facts.insert("re_modifiers".to_owned(), modifiers);
    rule
}

/// One row for logging in, and one for logging in to servers.
fn live_user(user: &Row) -> Vec<Row> {
    if user.number("default_hostgroup").is_some_and(|id| id < 0) {
        return Vec::new();
    }
    let role = |role: &str, other: &str| {
        let mut row = user.clone();
        row.facts.insert(role.to_owned(), json!(1));
        row.facts.insert(other.to_owned(), json!(0));
        row.facts.entry("default_schema").or_insert_with(|| json!(""));
        (user.number(role) == Some(1)).then_some(row)
    };
    role("frontend", "backend")
        .into_iter()
        .chain(role("backend", "frontend"))
        .collect()
}

fn same(table: TableName, expected: &Row, live: &Row, is_moved: bool) -> bool {
    if *table.definition() != SERVERS {
        return expected == live;
    }
    let mut live = live.clone();
    let is_shunned = live.text("status") == "SHUNNED";
    if is_moved || is_shunned {
        let status = expected.facts.get("status").cloned();
        live.facts
            .insert("status".to_owned(), status.unwrap_or(Value::Null));
    }
    *expected == live
}

/// Variables with another value in memory than live. Those that are read at the start may wait for one.
fn variables(rows: &Unlike) -> Vec<NotLive> {
    let is_told = |name: &&RowName| {
        name.variable_name()
            .is_some_and(|variable| !is_at_start(variable))
    };
    let is_other = |name: &&RowName| {
        let memory = rows.memory.get(*name).map(|row| row.text("variable_value"));
        let live = rows.other.get(*name).map(|row| row.text("variable_value"));
        !is_one_switch(memory, live)
    };
    let differ = rows.memory.keys().filter(is_told).filter(is_other);
    differ
        .map(|name| NotLive {
            name: Some(name.clone()),
            how: "is another in memory than live".to_owned(),
        })
        .collect()
}

/// Whether both values are one switch: `SET x=1` stays as it is in memory, and the engine prints `true` of it at run time.
fn is_one_switch(memory: Option<&str>, live: Option<&str>) -> bool {
    match live {
        Some("true") => memory.is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true")),
        Some("false") => memory.is_some_and(|value| value == "0" || value.eq_ignore_ascii_case("false")),
        _ => false,
    }
}

fn of_others(session: &mut AdminSession, table: &str) -> Result<Vec<NotLive>, SessionError> {
    let less = |one: &str, other: &str| {
        format!("SELECT count(*) FROM (SELECT * FROM {one} EXCEPT SELECT * FROM {other})")
    };
    let runtime = format!("runtime_{table}");
    let mut found = Vec::new();
    for (query, what) in [
        (less(table, &runtime), "in memory and not live"),
        (less(&runtime, table), "live and not in memory"),
    ] {
        let rows = session.texts(&query)?;
        let count = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        if count != "0" {
            found.push(NotLive {
                name: None,
                how: format!("{table}: rows that are {what}: {count}"),
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use shardwright_plan::Facts;

    use super::super::layers::Rows;
    use super::*;

    fn servers(rows: &[(i64, &str, &str)]) -> Rows {
        let table = TableName::of(&SERVERS);
        let rows = rows.iter().map(|(hostgroup, host, status)| {
            let facts = Facts::from_iter([
                ("hostgroup_id".to_owned(), json!(hostgroup)),
                ("hostname".to_owned(), json!(host)),
                ("port".to_owned(), json!(3306)),
                ("status".to_owned(), json!(status)),
            ]);
            let row = Row { facts, secret: None };
            (RowName::of(table, &row.facts), row)
        });
        rows.collect()
    }

    #[test]
    fn a_writer_that_the_monitor_has_moved_is_displaced() {
        let table = TableName::of(&SERVERS);
        let memory = servers(&[
            (10, "a", "ONLINE"),
            (11, "b", "online"),
            (30, "c", "ONLINE"),
            (11, "d", "OFFLINE_SOFT"),
        ]);
        let other = servers(&[(10, "b", "ONLINE"), (11, "a", "ONLINE"), (11, "b", "SHUNNED")]);
        let rows = Unlike { table, memory, other };
        let moved = BTreeSet::from([10, 11]);
        assert_eq!(
            misplaced(&rows, &moved, |_| true),
            ["a:3306 in hostgroup 10", "b:3306 in hostgroup 11"]
        );
        // None of that is staged by anybody; the server outside of these hostgroups is.
        let found = differences(&rows, &moved);
        let found: Vec<String> = found.iter().map(NotLive::to_string).collect();
        assert_eq!(found, ["mysql_servers (30, c, 3306) is in memory and not live"]);
    }

    #[test]
    fn rules_are_printed_anew_once_they_are_live() {
        let rule = |facts: &[(&str, Value)]| Row {
            facts: facts
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            secret: None,
        };
        let table = TableName::of(&QUERY_RULES);
        let memory = rule(&[
            ("rule_id", json!(5)),
            ("active", json!(1)),
            ("digest", json!("0x1c46ae529dd5a40e")),
            ("re_modifiers", json!("caseless, GLOBAL")),
            ("destination_hostgroup", json!("abc")),
            ("delay", json!(1.5)),
        ]);
        // As 2.7.1 prints it.
        let live = rule(&[
            ("rule_id", json!(5)),
            ("active", json!(1)),
            ("digest", json!("0x1C46AE529DD5A40E")),
            ("re_modifiers", json!("CASELESS")),
            ("destination_hostgroup", json!(0)),
            ("delay", json!(1)),
        ]);
        assert_eq!(live_form(table, &memory), [live]);
        for (written, printed) in [
            ("GLOBAL,CASELESS", "CASELESS,GLOBAL"),
            ("global,globally,caseless", "CASELESS,GLOBAL"),
            ("GLOBAL", "GLOBAL"),
            (" GLOBAL", ""),
        ] {
            let rule = |modifiers: &str| {
                rule(&[
                    ("rule_id", json!(7)),
                    ("active", json!(1)),
                    ("re_modifiers", json!(modifiers)),
                ])
            };
            assert_eq!(live_form(table, &rule(written)), [rule(printed)], "{written}");
        }
        let inactive = rule(&[("rule_id", json!(6)), ("active", json!(0))]);
        assert_eq!(live_form(table, &inactive), []);
    }

    #[test]
    fn a_switch_is_one_in_either_form() {
        for (memory, live, expected) in [
            ("1", "true", true),
            ("0", "false", true),
            ("TRUE", "true", true),
            ("0", "true", false),
            ("2", "true", false),
            ("1", "10", false),
            ("1", "1", false),
        ] {
            assert_eq!(
                is_one_switch(Some(memory), Some(live)),
                expected,
                "{memory} {live}"
            );
        }
        assert!(!is_one_switch(None, Some("true")));
    }
}
