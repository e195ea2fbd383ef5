//! Rows of a live ProxySQL as values: which row it is, what its columns hold, and its secret apart.

use std::cmp::Ordering;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use shardwright_plan::{Facts, RowKey};
use shardwright_rules::tables::{self, FAST_ROUTING, GLOBAL_VARIABLES, QUERY_RULES, TABLES, Table, USERS};
use shardwright_secrets::Secret;

/// A table that the admin port has in memory, live (`runtime_…`) and on disk (`disk.…`); ordered as [`TABLES`].
#[derive(Clone, Copy)]
pub struct TableName {
    table: &'static Table,
    /// Its place in [`TABLES`]: rows are compared often, and tables have many columns.
    place: usize,
}

impl TableName {
    /// A table of [`TABLES`].
    ///
    /// # Panics
    /// When it is another one.
    pub fn of(table: &'static Table) -> Self {
        let place = TABLES.iter().position(|known| known.name == table.name);
        let place = place.expect("rows are read of tables that a configuration can own");
        Self { table, place }
    }

    /// Every table that a configuration can own rows of.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLES.iter().map(|table| Self::of(table))
    }

    /// Its columns.
    pub fn definition(self) -> &'static Table {
        self.table
    }

    /// Its name in memory.
    pub fn as_str(self) -> &'static str {
        self.table.name
    }

    /// The column that holds a secret in this row.
    pub(super) fn secret_column(self, facts: &Facts) -> Option<&'static str> {
        if self.is(&USERS) {
            return Some("password");
        }
        if !self.is(&GLOBAL_VARIABLES) {
            return None;
        }
        let name = facts.get("variable_name").and_then(Value::as_str);
        name.is_some_and(is_secret_variable).then_some("variable_value")
    }

    /// Whether it is this table.
    fn is(self, table: &Table) -> bool {
        self.table.name == table.name
    }
}

/// Whether a variable holds a password, by its name.
fn is_secret_variable(name: &str) -> bool {
    ["password", "credentials"].iter().any(|word| name.contains(word))
}

impl fmt::Debug for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.name)
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.table.name)
    }
}

impl Ord for TableName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl PartialEq for TableName {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl Eq for TableName {}

impl PartialOrd for TableName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for TableName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.table.name)
    }
}

impl<'de> Deserialize<'de> for TableName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let table = tables::table(&name);
        table
            .map(Self::of)
            .ok_or_else(|| D::Error::custom(format!("there is no table {name}")))
    }
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum KeyPart {
    /// A number.
    Number(i64),
    /// A text, or what else stands in the column.
    Text(String),
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// A row's table and primary key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowName {
    /// The table.
    pub table: TableName,
    /// The columns of its primary key, in order.
    pub key: Vec<KeyPart>,
}

impl RowName {
    /// The name of a row that holds these columns.
    pub fn of(table: TableName, facts: &Facts) -> Self {
        let part = |column: &&str| match facts.get(*column) {
            Some(Value::Number(number)) if number.is_i64() => {
                KeyPart::Number(number.as_i64().unwrap_or_default())
            }
            Some(Value::String(text)) => KeyPart::Text(text.clone()),
            other => KeyPart::Text(other.map(Value::to_string).unwrap_or_default()),
        };
        let key = table.definition().primary_key;
        Self {
            table,
            key: key.iter().map(part).collect(),
        }
    }

    /// The row of a variable.
    pub(super) fn variable(name: &str) -> Self {
        Self {
            table: TableName::of(&GLOBAL_VARIABLES),
            key: vec![KeyPart::Text(name.to_owned())],
        }
    }

    /// Whether it is a row of this table.
    pub(super) fn is_in(&self, table: &Table) -> bool {
        self.table.is(table)
    }

    /// A number of the key.
    pub(super) fn number(&self, at: usize) -> Option<i64> {
        match self.key.get(at) {
            Some(KeyPart::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// A text of the key.
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        match self.key.get(at) {
            Some(KeyPart::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The name of the variable, where it is the row of one.
    pub(super) fn variable_name(&self) -> Option<&str> {
        self.is_in(&GLOBAL_VARIABLES).then(|| self.text(0)).flatten()
    }

    /// As plans name it.
    pub(super) fn row_key(&self) -> RowKey {
        let rule = self.number(0).and_then(|id| u32::try_from(id).ok());
        match (rule, self.number(2).and_then(|flag| u32::try_from(flag).ok())) {
            (Some(id), _) if self.is_in(&QUERY_RULES) => RowKey::Rule(id),
            (_, Some(flag_in)) if self.is_in(&FAST_ROUTING) => RowKey::FastRoute {
                username: self.text(0).unwrap_or_default().to_owned(),
                schemaname: self.text(1).unwrap_or_default().to_owned(),
                flag_in,
            },
            _ => RowKey::Row {
                table: self.table.as_str().to_owned(),
                key: self.key.iter().map(KeyPart::to_string).collect(),
            },
        }
    }
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key: Vec<String> = self.key.iter().map(KeyPart::to_string).collect();
        write!(f, "{} ({})", self.table, key.join(", "))
    }
}

/// What a row holds. Columns that are NULL are absent, and its secret stands apart.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Columns in the order of the table, with numbers and texts as SQLite has them.
    pub facts: Facts,
    /// The password of a user, or the value of a variable that is one; `None`: NULL, or there is none.
    pub secret: Option<Secret>,
}

impl Row {
    /// The text of a column; empty where it is NULL or no text.
    pub fn text(&self, column: &str) -> &str {
        self.facts.get(column).and_then(Value::as_str).unwrap_or_default()
    }

    /// The number that the engine reads in a column: of a text, its leading digits (`atoi`).
    pub(super) fn number(&self, column: &str) -> Option<i64> {
        match self.facts.get(column)? {
            Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|it| it as i64)),
            Value::String(text) => Some(leading_number(text)),
            _ => None,
        }
    }

    fn secret_text(&self) -> &str {
        self.secret.as_ref().map_or("", Secret::expose)
    }
}

/// A secret that is NULL and an empty one let the same people in.
impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.facts == other.facts && self.secret_text() == other.secret_text()
    }
}

/// `atoi`.
fn leading_number(text: &str) -> i64 {
    let text = text.trim_start();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    digits[..end].parse::<i64>().map_or(0, |number| sign * number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_read_as_the_engine_reads_them() {
        for (text, expected) in [("12", 12), (" -3x", -3), ("abc", 0), ("", 0), ("1.9", 1)] {
            assert_eq!(leading_number(text), expected, "{text:?}");
        }
        let row = Row {
            facts: Facts::from_iter([("delay".to_owned(), json!(1.5))]),
            secret: None,
        };
        assert_eq!(row.number("delay"), Some(1));
        assert_eq!(row.number("retries"), None);
    }

    #[test]
    fn rows_sort_by_table_and_then_by_number() {
        let rule = |id| RowName {
            table: TableName::of(&QUERY_RULES),
            key: vec![KeyPart::Number(id)],
        };
        let mut names = [RowName::variable("mysql-threads"), rule(10), rule(9)];
        names.sort();
        let shown: Vec<String> = names.iter().map(RowName::to_string).collect();
        assert_eq!(
            shown,
            [
                "mysql_query_rules (9)",
                "mysql_query_rules (10)",
                "global_variables (mysql-threads)"
            ]
        );
    }

    #[test]
    fn a_secret_is_not_printed() {
        let row = Row {
            facts: Facts::new(),
            secret: Some(Secret::new("canary".into())),
        };
        assert!(!format!("{row:?}").contains("canary"));
    }
}
