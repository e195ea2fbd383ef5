//! Changes of a table that foreign keys pass on to key columns of other rows.
//!
//! ```text
//! mid.code   REFERENCES par(code) ON UPDATE CASCADE
//! chi.region REFERENCES mid(code) ON UPDATE CASCADE   UPDATE par SET code = 'us' changes chi.region
//! ```
//!
//! The server changes `chi.region` behind the proxy, and the row stays on the shard of its old key. So from each key column the rules
//! are followed back, to all columns and tables whose change reaches it.

use std::collections::BTreeMap;

use shardwright_sql::columns::RowChange;
use shardwright_sql::names;

use crate::assumed::AssumedKey;

/// What a rule of a foreign key does with the rows that refer to a changed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// RESTRICT and NO ACTION.
    Nothing,
    /// CASCADE.
    Cascade,
    /// SET NULL and SET DEFAULT: all columns of the foreign key are set.
    Set,
}

/// A foreign key between two tables of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The table that has it.
    pub table: String,
    /// The table that it refers to.
    pub parent: String,
    /// Each of its columns, and the column of the parent that it refers to.
    pub columns: Vec<(String, String)>,
    /// ON UPDATE.
    pub on_update: RuleAction,
    /// ON DELETE.
    pub on_delete: RuleAction,
}

/// The foreign keys of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignKeys {
    keys: Vec<ForeignKey>,
    /// The columns of each table that the server computes from others.
    generated: BTreeMap<String, Vec<String>>,
}

/// The columns of a table that a foreign key can refer to: those of its indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexedColumns {
    all: Vec<String>,
    /// The server can change them at any UPDATE.
    by_server: Vec<String>,
}

/// A key column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// The table.
    pub table: String,
    /// Its key column.
    pub column: String,
}

/// The changes of a table that reach key columns of other rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cascades {
    assigns: BTreeMap<String, KeyPlace>,
    deletes: Option<KeyPlace>,
}

/// A change that a foreign key passes on to a key column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedOn {
    /// The column that is changed; `None`: the row is deleted.
    pub column: Option<String>,
    /// The key column that changes with it.
    pub reaches: KeyPlace,
}

impl RuleAction {
    /// As the information schema calls it.
    pub fn of(rule: &str) -> Self {
        match rule.to_ascii_uppercase().as_str() {
            "RESTRICT" | "NO ACTION" => Self::Nothing,
            "CASCADE" => Self::Cascade,
            _ => Self::Set,
        }
    }
}

impl IndexedColumns {
    /// All columns of the indexes, and whether the server can change one at any UPDATE: it computes it, or a trigger assigns it.
    pub fn new(all: impl IntoIterator<Item = String>, is_by_server: impl Fn(&str) -> bool) -> Self {
        let all: Vec<String> = all.into_iter().collect();
        let by_server = all.iter().filter(|column| is_by_server(column));
        Self {
            by_server: by_server.map(|column| fold(column)).collect(),
            all: all.iter().map(|column| fold(column)).collect(),
        }
    }

    /// Whether the foreign keys of the schema must be known before the statement is sent.
    pub fn may_pass_on(&self, key: &AssumedKey) -> bool {
        key.changes.iter().any(|change| match change {
            RowChange::Deletes => true,
            RowChange::AssignsAny => !self.all.is_empty(),
            RowChange::Assigns(column) => !self.by_server.is_empty() || self.all.contains(&fold(column)),
        })
    }
}

impl Cascades {
    /// The first of the statement's changes that reaches a key column.
    pub fn passed_on(&self, indexed: &IndexedColumns, key: &AssumedKey) -> Option<PassedOn> {
        let of_column = |column: &str| {
            let reaches = self.assigns.get(&fold(column))?.clone();
            Some(PassedOn {
                column: Some(column.to_owned()),
                reaches,
            })
        };
        let by_server = || indexed.by_server.iter().find_map(|column| of_column(column));
        let of_change = |change: &RowChange| match change {
            RowChange::Deletes => self.deletes.clone().map(|reaches| PassedOn {
                column: None,
                reaches,
            }),
            RowChange::Assigns(column) => of_column(column).or_else(by_server),
            RowChange::AssignsAny => {
                // A statement that assigns the key itself does not come here.
                let others = self.assigns.keys().filter(|column| **column != fold(&key.column));
                others.into_iter().find_map(|column| of_column(column))
            }
        };
        key.changes.iter().find_map(of_change)
    }
}

/// By table and column, and by table, the key column that their changes reach.
#[derive(Default)]
struct Reached {
    columns: BTreeMap<(String, String), KeyPlace>,
    tables: BTreeMap<String, KeyPlace>,
}

impl ForeignKeys {
    /// The foreign keys of a schema, and the columns that the server computes, each behind its table.
    pub fn new(
        keys: impl IntoIterator<Item = ForeignKey>,
        generated: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut by_table: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (table, column) in generated {
            by_table.entry(fold(&table)).or_default().push(fold(&column));
        }
        let folded = |key: ForeignKey| ForeignKey {
            table: fold(&key.table),
            parent: fold(&key.parent),
            columns: key
                .columns
                .iter()
                .map(|(own, referenced)| (fold(own), fold(referenced)))
                .collect(),
            ..key
        };
        Self {
            keys: keys
                .into_iter()
                .filter(|key| (key.on_update, key.on_delete) != (RuleAction::Nothing, RuleAction::Nothing))
                .map(folded)
                .collect(),
            generated: by_table,
        }
    }

    /// The changes of a table that reach a column of these names, in whatever table.
    pub fn cascades(&self, table: &str, key_columns: &[&str]) -> Cascades {
        let key_columns: Vec<String> = key_columns.iter().map(|column| fold(column)).collect();
        let mut reached = Reached::default();
        let size = |reached: &Reached| (reached.columns.len(), reached.tables.len());
        loop {
            let before = size(&reached);
            for key in &self.keys {
                self.follow(key, &key_columns, &mut reached);
            }
            if size(&reached) == before {
                break;
            }
        }
        let table = fold(table);
        let deletes = reached.tables.remove(&table);
        let assigns = reached.columns.into_iter().filter(|((of, _), _)| *of == table);
        Cascades {
            assigns: assigns.map(|((_, column), place)| (column, place)).collect(),
            deletes,
        }
    }

    fn follow(&self, key: &ForeignKey, key_columns: &[String], reached: &mut Reached) {
        let places = key
            .columns
            .iter()
            .map(|(own, _)| self.place(&key.table, own, key_columns, reached));
        let places: Vec<Option<KeyPlace>> = places.collect();
        let first = places.iter().flatten().next();
        for ((_, referenced), own) in key.columns.iter().zip(&places) {
            let place = match key.on_update {
                RuleAction::Nothing => None,
                RuleAction::Cascade => own.as_ref(),
                RuleAction::Set => first,
            };
            if let Some(place) = place {
                let column = (key.parent.clone(), referenced.clone());
                reached.columns.entry(column).or_insert_with(|| place.clone());
            }
        }
        let place = match key.on_delete {
            RuleAction::Nothing => None,
            RuleAction::Cascade => reached.tables.get(&key.table),
            RuleAction::Set => first,
        };
        if let Some(place) = place.cloned() {
            reached.tables.entry(key.parent.clone()).or_insert(place);
        }
    }

    /// The key column that a change of this column reaches.
    fn place(
        &self,
        table: &str,
        column: &str,
        key_columns: &[String],
        reached: &Reached,
    ) -> Option<KeyPlace> {
        let of_one = |column: &str| {
            if key_columns.iter().any(|key| key == column) {
                return Some(KeyPlace {
                    table: table.to_owned(),
                    column: column.to_owned(),
                });
            }
            let name = (table.to_owned(), column.to_owned());
            reached.columns.get(&name).cloned()
        };
        let generated = self.generated.get(table).into_iter().flatten();
        of_one(column).or_else(|| generated.into_iter().find_map(|column| of_one(column)))
    }
}

fn fold(name: &str) -> String {
    names::folded(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RowWrites;

    /// `chi(region, id) -> par(code, id): update, delete`, with the first letter of each rule.
    fn foreign_key(text: &str) -> ForeignKey {
        let (names, rules) = text.split_once(": ").unwrap();
        let (own, parent) = names.split_once(" -> ").unwrap();
        let parts = |side: &str| {
            let (table, columns) = side.trim_end_matches(')').split_once('(').unwrap();
            let columns: Vec<String> = columns.split(", ").map(str::to_owned).collect();
            (table.to_owned(), columns)
        };
        let ((table, columns), (parent, referenced)) = (parts(own), parts(parent));
        let (update, delete) = rules.split_once(", ").unwrap();
        ForeignKey {
            table,
            parent,
            columns: columns.into_iter().zip(referenced).collect(),
            on_update: RuleAction::of(update),
            on_delete: RuleAction::of(delete),
        }
    }

    /// The key column that a change of `par` reaches; the key column is `region`.
    fn reaches(keys: &[&str], generated: &[(&str, &str)], change: RowChange) -> Option<String> {
        let generated = generated
            .iter()
            .map(|(table, column)| ((*table).to_owned(), (*column).to_owned()));
        let keys = ForeignKeys::new(keys.iter().map(|key| foreign_key(key)), generated);
        let key = AssumedKey {
            column: "region".into(),
            values: [].into(),
            writes: RowWrites::Changes,
            changes: [change].into(),
            needs_visible: false,
            in_rows: false,
        };
        let passed_on = keys
            .cascades("Par", &["Region"])
            .passed_on(&IndexedColumns::default(), &key)?;
        Some(format!(
            "{}.{}",
            passed_on.reaches.table, passed_on.reaches.column
        ))
    }

    #[test]
    fn changes_are_followed_to_the_key_columns_that_they_reach() {
        let assigns = |column: &str| RowChange::Assigns(column.to_owned());
        let of_chi = Some("chi.region");
        let direct = "chi(region) -> par(code): CASCADE, RESTRICT";
        let composite = "chi(region, pid) -> par(region, id): CASCADE, SET NULL";
        for (keys, change, expected) in [
            (&[direct][..], assigns("CODE"), of_chi),
            (&[direct], assigns("name"), None),
            (&[direct], RowChange::Deletes, None),
            (
                &["chi(region) -> par(code): RESTRICT, NO ACTION"],
                assigns("code"),
                None,
            ),
            (
                &["chi(region) -> par(code): SET NULL, CASCADE"],
                assigns("code"),
                of_chi,
            ),
            (
                &["chi(region) -> par(code): SET NULL, CASCADE"],
                RowChange::Deletes,
                None,
            ),
            (
                &["chi(region) -> par(code): RESTRICT, SET DEFAULT"],
                RowChange::Deletes,
                of_chi,
            ),
            (
                &["chi(other) -> par(code): CASCADE, SET NULL"],
                assigns("code"),
                None,
            ),
            (&[composite], assigns("id"), None),
            (&[composite], RowChange::Deletes, of_chi),
            (&[composite], RowChange::AssignsAny, None),
            (&[direct], RowChange::AssignsAny, of_chi),
            (
                &["chi(region, pid) -> par(region, id): SET NULL, RESTRICT"],
                assigns("id"),
                of_chi,
            ),
            (
                &[
                    "chi(region) -> mid(code): CASCADE, SET NULL",
                    "mid(code) -> par(code): CASCADE, CASCADE",
                ],
                assigns("code"),
                of_chi,
            ),
            (
                &[
                    "chi(region) -> mid(code): CASCADE, SET NULL",
                    "mid(other) -> par(code): CASCADE, CASCADE",
                ],
                assigns("code"),
                None,
            ),
            (
                &[
                    "chi(region) -> mid(code): CASCADE, SET NULL",
                    "mid(other) -> par(code): CASCADE, CASCADE",
                ],
                RowChange::Deletes,
                of_chi,
            ),
            (
                &["par(region) -> par(code): CASCADE, RESTRICT"],
                assigns("code"),
                Some("par.region"),
            ),
            (
                &[
                    "par(up) -> par(code): CASCADE, CASCADE",
                    "chi(region) -> par(up): CASCADE, CASCADE",
                ],
                assigns("code"),
                of_chi,
            ),
        ] {
            let found = reaches(keys, &[], change.clone());
            assert_eq!(found.as_deref(), expected, "{keys:?} {change:?}");
        }
        let found = reaches(
            &["chi(pid) -> par(id): CASCADE, RESTRICT"],
            &[("chi", "region")],
            assigns("id"),
        );
        assert_eq!(found.as_deref(), of_chi, "the server computes the key column");
    }
}
