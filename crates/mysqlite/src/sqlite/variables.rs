//! System variables: what drivers ask for when they connect, and what they set.

use std::collections::BTreeMap;

use shardwright_wire::MysqlError;

use crate::answer::Value;

/// Variables of a fresh session. Names and defaults: MySQL 8.4 Reference Manual 7.1.8.
const DEFAULTS: &[(&str, &str)] = &[
    ("auto_increment_increment", "1"),
    ("auto_increment_offset", "1"),
    ("autocommit", "1"),
    ("big_tables", "0"),
    ("character_set_client", "utf8mb4"),
    ("character_set_connection", "utf8mb4"),
    ("character_set_database", "utf8mb4"),
    ("character_set_results", "utf8mb4"),
    ("character_set_server", "utf8mb4"),
    ("character_set_system", "utf8mb3"),
    ("collation_connection", "utf8mb4_general_ci"),
    ("collation_database", "utf8mb4_general_ci"),
    ("collation_server", "utf8mb4_general_ci"),
    ("foreign_key_checks", "1"),
    ("group_concat_max_len", "1024"),
    ("have_ssl", "DISABLED"),
    ("hostname", "localhost"),
    ("init_connect", ""),
    ("innodb_lock_wait_timeout", "5"),
    ("interactive_timeout", "28800"),
    ("license", "MIT OR Apache-2.0"),
    ("lower_case_table_names", "2"),
    ("max_allowed_packet", "67108864"),
    ("max_execution_time", "0"),
    ("net_buffer_length", "16384"),
    ("net_read_timeout", "30"),
    ("net_write_timeout", "60"),
    ("performance_schema", "0"),
    ("port", "0"),
    ("protocol_version", "10"),
    ("query_cache_size", "0"),
    ("query_cache_type", "OFF"),
    ("read_only", "0"),
    ("server_id", "1"),
    ("session_track_schema", "0"),
    ("session_track_gtids", "OFF"),
    ("session_track_state_change", "0"),
    ("session_track_system_variables", ""),
    ("session_track_transaction_info", "OFF"),
    ("socket", ""),
    ("sql_auto_is_null", "0"),
    ("sql_log_bin", "1"),
    ("sql_mode", ""),
    ("sql_notes", "1"),
    ("sql_quote_show_create", "1"),
    ("sql_safe_updates", "0"),
    ("sql_select_limit", "18446744073709551615"),
    ("super_read_only", "0"),
    ("system_time_zone", "UTC"),
    ("time_zone", "+00:00"),
    ("transaction_isolation", "SERIALIZABLE"),
    ("transaction_read_only", "0"),
    ("tx_isolation", "SERIALIZABLE"),
    ("tx_read_only", "0"),
    ("unique_checks", "1"),
    ("version_comment", "SQLite behind the MySQL protocol"),
    ("wait_timeout", "28800"),
];

#[derive(Debug)]
pub(super) struct Variables {
    system: BTreeMap<String, Value>,
    user: BTreeMap<String, Value>,
}

/// User variables that a session may have.
const MAX_USER_VARIABLES: usize = 1_000;

impl Variables {
    pub(super) fn new(server_version: &str) -> Self {
        let mut system: BTreeMap<String, Value> = DEFAULTS
            .iter()
            .map(|(name, value)| ((*name).to_owned(), typed(value)))
            .collect();
        system.insert("version".to_owned(), server_version.into());
        Self {
            system,
            user: BTreeMap::new(),
        }
    }

    /// The value of a system variable, whose scope may stand before it.
    pub(super) fn system(&self, name: &str) -> Result<&Value, MysqlError> {
        self.system.get(&bare(name)).ok_or_else(|| unknown(name))
    }

    pub(super) fn set_system(&mut self, name: &str, value: Option<Value>) -> Result<(), MysqlError> {
        let bare = bare(name);
        let Some(current) = self.system.get_mut(&bare) else {
            return Err(unknown(name));
        };
        *current = match value {
            Some(Value::Text(text)) => typed(&text),
            Some(value) => value,
            None => typed(
                DEFAULTS
                    .iter()
                    .find(|(name, _)| *name == bare)
                    .map_or("", |(_, value)| value),
            ),
        };
        Ok(())
    }

    pub(super) fn user(&self, name: &str) -> Value {
        self.user
            .get(&name.to_ascii_lowercase())
            .cloned()
            .unwrap_or(Value::Null)
    }

    pub(super) fn set_user(&mut self, name: &str, value: Value) -> Result<(), MysqlError> {
        let name = name.to_ascii_lowercase();
        if self.user.len() >= MAX_USER_VARIABLES && !self.user.contains_key(&name) {
            return Err(MysqlError::general(1105, "too many user variables"));
        }
        self.user.insert(name, value);
        Ok(())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.system.iter().map(|(name, value)| (name.as_str(), value))
    }

    pub(super) fn autocommit(&self) -> bool {
        self.system.get("autocommit") != Some(&Value::Int(0))
    }
}

fn bare(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let scopes = ["global.", "session.", "local."];
    scopes
        .iter()
        .find_map(|scope| name.strip_prefix(scope))
        .unwrap_or(&name)
        .to_owned()
}

/// Numbers are numbers, and switches are 0 and 1.
fn typed(text: &str) -> Value {
    if let Ok(number) = text.parse() {
        return Value::Int(number);
    }
    match text.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" => Value::Int(1),
        "OFF" | "FALSE" => Value::Int(0),
        _ => Value::Text(text.to_owned()),
    }
}

fn unknown(name: &str) -> MysqlError {
    MysqlError::general(1193, format!("Unknown system variable '{}'", bare(name)))
}
