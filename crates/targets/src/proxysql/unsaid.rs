//! What of our rows no project can say, as it was found: rows that a plan leaves as they are, and columns of the others.
//!
//! `fast_forward` of a user, `gtid_port` of a server, a user who is not active. No plan changes them, so a look for drift
//! tells what has become another since the last apply.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shardwright_rules::left_columns;
use shardwright_rules::tables::QUERY_RULES;

use super::alike::is_default;
use super::beyond::{Beyond, is_active};
use super::digest::sha256_hex;
use super::row::{Row, RowName};
use super::session::Found;

/// Hexadecimal digits that are kept of each value.
const DIGITS: usize = 12;
/// Stands for a whole row in the place of a column.
const ROW: &str = "row";

/// By row, as people read its name, and by column: a digest of the value. A column that has its default is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Unsaid(BTreeMap<String, BTreeMap<String, String>>);

impl Unsaid {
    /// What there is of it among rows; `beyond` tells those that no project can say.
    pub(super) fn of<'l>(rows: impl Iterator<Item = (&'l RowName, &'l Found)>, beyond: &Beyond) -> Self {
        let ours = rows.filter(|(_, found)| found.is_ours);
        let found = ours.filter_map(|(name, found)| {
            let row = &found.row;
            let values = match beyond.row(name, row) {
                true if name.is_in(&QUERY_RULES) && !is_active(row) => return None,
                true => BTreeMap::from([(ROW.to_owned(), whole(row))]),
                false => columns(name, row),
            };
            (!values.is_empty()).then(|| (name.to_string(), values))
        });
        Self(found.collect())
    }

    /// What is another thing now than when this was found, a line each.
    pub(super) fn changed<'u>(&'u self, now: &'u Self) -> impl Iterator<Item = String> + 'u {
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        names.into_iter().filter_map(move |name| {
            let of = |side: &'u Self| side.0.get(name).into_iter().flatten();
            let columns: BTreeSet<&String> = of(self).chain(of(now)).map(|(column, _)| column).collect();
            let value = |side: &'u Self, column: &String| side.0.get(name)?.get(column);
            let changed = columns
                .into_iter()
                .filter(|column| value(self, column) != value(now, column));
            let changed: Vec<&str> = changed.map(String::as_str).collect();
            if changed.is_empty() {
                return None;
            }
            let is_whole = changed.contains(&ROW);
            Some(match (is_whole, self.0.get(name), now.0.get(name)) {
                (true, None, _) => format!("{name}: was not there at the last apply"),
                (true, _, None) => format!("{name}: is not there any more"),
                (true, ..) => format!("{name}: another row than at the last apply"),
                (false, ..) => format!("{name}: {} not as at the last apply", changed.join(", ")),
            })
        })
    }
}

/// The columns of a row that no project can say, with their values, except for those that have the default.
fn columns(name: &RowName, row: &Row) -> BTreeMap<String, String> {
    let table = name.table.definition();
    let left = left_columns(table);
    let columns = table.columns.iter();
    let told = columns.filter(|column| left.contains(&column.name) && !is_default(column, row));
    let told = told.filter_map(|column| Some((column.name.to_owned(), digest(row.facts.get(column.name)?))));
    told.collect()
}

fn whole(row: &Row) -> String {
    let facts = row
        .facts
        .iter()
        .map(|(column, value)| (column, without_passwords(value)));
    digest_of(&serde_json::to_vec(&facts.collect::<BTreeMap<_, _>>()).expect("texts and numbers are JSON"))
}

fn digest(value: &Value) -> String {
    digest_of(&serde_json::to_vec(&without_passwords(value)).expect("texts and numbers are JSON"))
}

fn digest_of(text: &[u8]) -> String {
    let mut digest = sha256_hex(text);
    digest.truncate(DIGITS);
    digest
}

/// Attributes of a user can hold a second password, which nobody shall guess from a digest.
fn without_passwords(value: &Value) -> Value {
    let Some(Value::Object(mut attributes)) = value.as_str().and_then(|text| serde_json::from_str(text).ok())
    else {
        return value.clone();
    };
    attributes.retain(|name, _| !name.to_ascii_lowercase().contains("password"));
    Value::Object(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_become_another_is_named() {
        let found = |rows: &[(&str, &str, &str)]| {
            let mut unsaid = Unsaid::default();
            for (name, column, value) in rows {
                let row = unsaid.0.entry((*name).to_owned()).or_default();
                row.insert((*column).to_owned(), (*value).to_owned());
            }
            unsaid
        };
        let then = found(&[
            ("app", "attributes", "1"),
            ("app", "fast_forward", "1"),
            ("ghost", ROW, "1"),
            ("stays", ROW, "1"),
        ]);
        let now = found(&[
            ("app", "attributes", "2"),
            ("new", ROW, "1"),
            ("rep", "gtid_port", "1"),
            ("stays", ROW, "1"),
        ]);
        let said: Vec<String> = then.changed(&now).collect();
        assert_eq!(
            said,
            [
                "app: attributes, fast_forward not as at the last apply",
                "ghost: is not there any more",
                "new: was not there at the last apply",
                "rep: gtid_port not as at the last apply",
            ]
        );
        assert_eq!(then.changed(&then).count(), 0);
    }

    #[test]
    fn a_second_password_is_no_part_of_a_digest() {
        let attributes = |password: &str, spiffe: &str| {
            let text = format!(r#"{{"additional_password": "{password}", "spiffe_id": "{spiffe}"}}"#);
            digest(&Value::String(text))
        };
        assert_eq!(attributes("a", "x"), attributes("b", "x"));
        assert_ne!(attributes("a", "x"), attributes("a", "y"));
    }
}
