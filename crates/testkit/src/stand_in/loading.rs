//! What LOAD and SAVE do with rows, as ProxySQL 2.7.1 does.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, OptionalExtension};

/// From where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Movement {
    /// Memory → runtime.
    ToRuntime,
    /// Memory → disk.
    ToDisk,
    /// Disk → memory.
    FromDisk,
    /// Runtime → memory.
    FromRuntime,
}

impl Movement {
    pub(super) fn read(verb: &str, way: &str, place: &str) -> Option<Self> {
        match (verb, way, place) {
            ("LOAD", "TO", "RUNTIME") | ("LOAD", "FROM", "MEMORY") => Some(Self::ToRuntime),
            ("SAVE", "TO", "DISK") | ("SAVE", "FROM", "MEMORY") => Some(Self::ToDisk),
            ("LOAD", "FROM", "DISK") | ("LOAD", "TO", "MEMORY") => Some(Self::FromDisk),
            ("SAVE", "FROM", "RUNTIME") | ("SAVE", "TO", "MEMORY") => Some(Self::FromRuntime),
            _ => None,
        }
    }
}

/// What is loaded and saved together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Module {
    /// Variables whose names begin so.
    Variables(&'static str),
    /// Rows of these tables.
    Tables(&'static [&'static str]),
}

impl Module {
    pub(super) fn read(words: &str) -> Option<Self> {
        Some(match words {
            "MYSQL VARIABLES" => Self::Variables("mysql-"),
            "ADMIN VARIABLES" => Self::Variables("admin-"),
            "MYSQL SERVERS" => Self::Tables(&[
                "mysql_servers",
                "mysql_replication_hostgroups",
                "mysql_group_replication_hostgroups",
                "mysql_galera_hostgroups",
                "mysql_aws_aurora_hostgroups",
                "mysql_hostgroup_attributes",
                "mysql_servers_ssl_params",
            ]),
            "MYSQL USERS" => Self::Tables(&["mysql_users"]),
            "MYSQL QUERY RULES" => Self::Tables(&["mysql_query_rules", "mysql_query_rules_fast_routing"]),
            "MYSQL FIREWALL" => Self::Tables(&[
                "mysql_firewall_whitelist_users",
                "mysql_firewall_whitelist_rules",
                "mysql_firewall_whitelist_sqli_fingerprints",
            ]),
            "PROXYSQL SERVERS" => Self::Tables(&["proxysql_servers"]),
            "SCHEDULER" => Self::Tables(&["scheduler"]),
            _ => return None,
        })
    }
}

/// Variables that the engine reads when it starts, and keeps; what it says of its version.
const FIXED: [&str; 5] = [
    "mysql-threads",
    "mysql-interfaces",
    "mysql-stacksize",
    "mysql-server_capabilities",
    "admin-version",
];
/// The largest number that a variable takes, of those that matter here.
const MAX_NUMBER: i64 = i32::MAX as i64;

/// C's `strtoull` with the base that the digits have.
fn strtoull(text: &str) -> u64 {
    let text = text.trim_start();
    if let Some(text) = text.strip_prefix('-') {
        return strtoull(text).wrapping_neg();
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', _, ..] => (&text[1..], 8),
        _ => (text, 10),
    };
    let end = digits
        .find(|letter: char| !letter.is_digit(radix))
        .unwrap_or(digits.len());
    match &digits[..end] {
        "" => 0,
        digits => u64::from_str_radix(digits, radix).unwrap_or(u64::MAX),
    }
}

/// Makes the functions that loading needs.
pub(super) fn prepare(database: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    database.create_scalar_function("engine_digest", 1, flags, |context| {
        let text: Option<String> = context.get(0)?;
        // A rule whose digest it cannot read has no such condition.
        let digest = text
            .map(|text| strtoull(&text))
            .filter(|digest| !matches!(*digest, 0 | u64::MAX));
        Ok(digest.map(|digest| format!("0x{digest:016X}")))
    })?;
    database.create_scalar_function("engine_modifiers", 1, flags, |context| {
        let text: Option<String> = context.get(0)?;
        let text = text.unwrap_or_default();
        // A word after a space is not one that it knows.
        let has = |known: &str| {
            let begins = |word: &str| {
                word.get(..known.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(known))
            };
            text.split(',').any(begins)
        };
        let words: Vec<&str> = ["CASELESS", "GLOBAL"]
            .into_iter()
            .filter(|known| has(known))
            .collect();
        Ok(words.join(","))
    })
}

/// The value of a variable in memory.
pub(super) fn variable(database: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    let query = "SELECT variable_value FROM global_variables WHERE variable_name = ?1";
    database.query_row(query, [name], |row| row.get(0)).optional()
}

/// Carries rows from one place to another.
pub(super) fn carry_out(database: &Connection, movement: Movement, module: Module) -> rusqlite::Result<()> {
    match (module, movement) {
        (Module::Variables(prefix), Movement::ToRuntime) => load_variables(database, prefix),
        (Module::Variables(prefix), movement) => {
            let (from, to) = places(movement);
            let statement = format!(
                "INSERT OR REPLACE INTO {to}global_variables SELECT * FROM {from}global_variables \
                 WHERE substr(variable_name, 1, {}) = '{prefix}'",
                prefix.len()
            );
            database.execute(&statement, []).map(|_| ())
        }
        (Module::Tables(tables), Movement::ToRuntime) => {
            tables.iter().try_for_each(|table| load(database, table))
        }
        (Module::Tables(tables), movement) => {
            let (from, to) = places(movement);
            tables.iter().try_for_each(|table| {
                database.execute(&format!("DELETE FROM {to}{table}"), [])?;
                let columns = columns(database, table)?;
                let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                let copy = format!("INSERT INTO {to}{table} ({names}) SELECT {names} FROM {from}{table}");
                database.execute(&copy, []).map(|_| ())
            })
        }
    }
}

/// The beginnings of the names of tables here and there.
fn places(movement: Movement) -> (&'static str, &'static str) {
    match movement {
        Movement::ToRuntime => ("main.", "main.runtime_"),
        Movement::ToDisk => ("main.", "disk."),
        Movement::FromDisk => ("disk.", "main."),
        Movement::FromRuntime => ("main.runtime_", "main."),
    }
}

/// The columns of a table in memory, and whether they are numbers.
fn columns(database: &Connection, table: &str) -> rusqlite::Result<Vec<(String, bool)>> {
    let mut statement = database.prepare(&format!("PRAGMA main.table_info({table})"))?;
    let columns = statement.query_map([], |row| {
        let kind: String = row.get("type")?;
        Ok((row.get("name")?, kind.to_ascii_uppercase().starts_with("INT")))
    })?;
    columns.collect()
}

/// Replaces what is live of a table. What the engine does not take is left out, and it says so in its log only.
fn load(database: &Connection, table: &str) -> rusqlite::Result<()> {
    database.execute(&format!("DELETE FROM runtime_{table}"), [])?;
    let columns = columns(database, table)?;
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let insert = |special: &[(&str, &str)], condition: &str| {
        let values: Vec<String> = columns
            .iter()
            .map(|(name, is_number)| {
                let special = special.iter().find(|(column, _)| column == name);
                match (special, is_number) {
                    (Some((_, value)), _) => (*value).to_owned(),
                    (None, true) => format!("CAST({name} AS INTEGER)"),
                    (None, false) => name.clone(),
                }
            })
            .collect();
        let statement = format!(
            "INSERT INTO runtime_{table} ({}) SELECT {} FROM main.{table} AS loaded WHERE {condition}",
            names.join(", "),
            values.join(", ")
        );
        database.execute(&statement, []).map(|_| ())
    };
    match table {
        "mysql_servers" => insert(&[("status", "upper(status)")], "upper(status) <> 'OFFLINE_HARD'"),
        "mysql_replication_hostgroups" => insert(
            &[],
            "NOT EXISTS (SELECT 1 FROM main.mysql_replication_hostgroups AS other \
             WHERE other.reader_hostgroup = loaded.writer_hostgroup)",
        ),
        "mysql_query_rules" => insert(
            &[
                ("digest", "engine_digest(digest)"),
                ("re_modifiers", "engine_modifiers(re_modifiers)"),
            ],
            "active = 1 AND (client_addr IS NULL OR instr(client_addr, '%') IN (0, length(client_addr)))",
        ),
        "mysql_users" => {
            let texts = [
                ("password", "ifnull(password, '')"),
                ("default_schema", "ifnull(default_schema, '')"),
            ];
            for (role, other) in [("frontend", "backend"), ("backend", "frontend")] {
                let special = [&texts[..], &[(role, "1"), (other, "0")]].concat();
                insert(
                    &special,
                    &format!("active = 1 AND default_hostgroup >= 0 AND {role} = 1"),
                )?;
            }
            Ok(())
        }
        _ => insert(&[], "1"),
    }
}

/// Makes the values of variables live that the engine takes; memory gets back what it does not take.
fn load_variables(database: &Connection, prefix: &str) -> rusqlite::Result<()> {
    let of_prefix = format!("substr(variable_name, 1, {}) = '{prefix}'", prefix.len());
    database.execute(
        &format!(
            "DELETE FROM global_variables WHERE {of_prefix} \
             AND variable_name NOT IN (SELECT variable_name FROM runtime_global_variables)"
        ),
        [],
    )?;
    let mut statement = database.prepare(&format!(
        "SELECT variable_name, live.variable_value, wanted.variable_value FROM runtime_global_variables AS live \
         LEFT JOIN global_variables AS wanted USING (variable_name) WHERE {of_prefix}"
    ))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let rows: Vec<(String, String, Option<String>)> = rows.collect::<rusqlite::Result<_>>()?;
    for (name, live, wanted) in rows {
        let taken = wanted
            .filter(|_| !FIXED.contains(&name.as_str()))
            .and_then(|wanted| taken(&live, &wanted));
        match taken {
            Some(taken) => {
                let update =
                    "UPDATE runtime_global_variables SET variable_value = ?2 WHERE variable_name = ?1";
                database.execute(update, [&name, &taken])?;
            }
            None => {
                let restore = "INSERT OR REPLACE INTO global_variables VALUES (?1, ?2)";
                database.execute(restore, [&name, &live])?;
            }
        }
    }
    Ok(())
}

/// What becomes live of a value that takes the place of another; `None`: the engine does not take it.
fn taken(live: &str, wanted: &str) -> Option<String> {
    if ["true", "false"].contains(&live) {
        return match wanted {
            "1" => Some("true".to_owned()),
            "0" => Some("false".to_owned()),
            _ => ["true", "false"]
                .into_iter()
                .find(|word| wanted.eq_ignore_ascii_case(word))
                .map(str::to_owned),
        };
    }
    let is_number = !live.is_empty() && live.bytes().all(|byte| byte.is_ascii_digit());
    match is_number {
        true => {
            let number: i64 = wanted.parse().ok()?;
            (0..=MAX_NUMBER).contains(&number).then(|| wanted.to_owned())
        }
        false => Some(wanted.to_owned()),
    }
}
