//! What an apply left: one number for each row of ours, by which a later look tells who has changed it since.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shardwright_plan::Facts;

use super::alike::read_facts;
use super::digest::{sha256_hex, sorted};
use super::row::{KeyPart, RowName, TableName};

/// Hexadecimal digits that are kept of each row: two rows of one name hold the same by chance once in 2^48.
const DIGITS: usize = 12;

/// The rows of ours, each with a digest of its columns. Secrets are no part of it: nobody shall guess passwords from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Left(BTreeMap<RowName, String>);

impl Left {
    /// Of rows with their columns.
    pub(super) fn of<'a>(rows: impl Iterator<Item = (RowName, &'a Facts)>) -> Self {
        let digests = rows.map(|(name, facts)| {
            let digest = digest(&name, facts);
            (name, digest)
        });
        Self(digests.collect())
    }

    /// Whether a row holds another thing than was left; `None` stands for no row.
    pub(super) fn differs(&self, name: &RowName, now: Option<&Facts>) -> bool {
        let (Some(left), Some(now)) = (self.0.get(name), now) else {
            return self.has(name) != now.is_some();
        };
        // Earlier versions have recorded columns that do not count.
        *left != digest(name, now) && *left != digest_of(now)
    }

    /// Whether a row of this name was left.
    pub(super) fn has(&self, name: &RowName) -> bool {
        self.0.contains_key(name)
    }
}

/// A digest of what counts of a row.
fn digest(name: &RowName, facts: &Facts) -> String {
    digest_of(&read_facts(name, facts))
}

fn digest_of(facts: &Facts) -> String {
    let text = serde_json::to_vec(&sorted(facts)).expect("texts and numbers are JSON");
    let mut digest = sha256_hex(&text);
    digest.truncate(DIGITS);
    digest
}

/// By table, so that ten thousand rules do not name theirs ten thousand times.
type ByTable<'a> = BTreeMap<TableName, Vec<(&'a [KeyPart], &'a str)>>;

impl Serialize for Left {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut by_table = ByTable::new();
        for (name, digest) in &self.0 {
            by_table.entry(name.table).or_default().push((&name.key, digest));
        }
        by_table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Left {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let by_table = BTreeMap::<TableName, Vec<(Vec<KeyPart>, String)>>::deserialize(deserializer)?;
        let rows = by_table.into_iter().flat_map(|(table, rows)| {
            let name = move |(key, digest)| (RowName { table, key }, digest);
            rows.into_iter().map(name)
        });
        Ok(Self(rows.collect()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shardwright_rules::tables::{GLOBAL_VARIABLES, QUERY_RULES};

    use super::*;

    #[test]
    fn it_is_stored_by_table_and_read_back() {
        let facts = |value: i64| {
            Facts::from_iter([
                ("delay".to_owned(), json!(value)),
                ("OK_msg".to_owned(), json!("x")),
            ])
        };
        let turned = Facts::from_iter([("OK_msg".to_owned(), json!("x")), ("delay".to_owned(), json!(1))]);
        let rule = |id| RowName {
            table: TableName::of(&QUERY_RULES),
            key: vec![KeyPart::Number(id)],
        };
        let variable = RowName {
            table: TableName::of(&GLOBAL_VARIABLES),
            key: vec![KeyPart::Text("mysql-threads".into())],
        };
        let (one, two) = (facts(1), facts(2));
        let rows = [(rule(5), &one), (rule(6), &two), (variable, &one)];
        let left = Left::of(rows.into_iter());
        let text = serde_json::to_string(&left).unwrap();
        assert_eq!(text.matches("mysql_query_rules").count(), 1, "{text}");
        assert_eq!(serde_json::from_str::<Left>(&text).unwrap(), left);
        // The order of columns says nothing.
        assert!(!left.differs(&rule(5), Some(&turned)));
        assert!(left.differs(&rule(5), Some(&two)));
        assert!(left.differs(&rule(5), None));
        assert!(left.differs(&rule(7), Some(&one)));
        assert!(!left.differs(&rule(7), None));
    }
}
