//! The shard key of a statement, read from its predicates or its INSERT columns.
//!
//! The answer is `Keys` only if every row that the statement reads or writes is known to carry one of the keys:
//! every table it names belongs to the logical schema and is pinned by a top-level `column = literal` or
//! `column IN (literals)`, all pinned alike. Whatever is not shown to be so is `Undecidable`, with the reason.

mod calls;
mod catalogue;
mod changes;
mod common_tables;
mod conditions;
mod conjuncts;
mod decide;
mod insert;
mod key_mentions;
mod lists;
mod mentions;
mod pins;
mod projected;
mod scope;
mod structure;
mod tables;

use shardwright_vocabulary::{InShards, KeyValue as BoundKey};

use crate::lex::{LexMode, Span};
use crate::parse::Reading;
use crate::rewrite::Edit;

pub use crate::key_value::{KeyValue, Parameters};
pub use catalogue::{CatalogueUse, catalogue_use};
pub use decide::decide;
pub use structure::reads_no_rows;

/// The key that a literal of its own is, such as `-7` or `'eu'`.
pub fn literal(text: &[u8], mode: LexMode) -> Option<BoundKey> {
    let reading = Reading::of(text, mode).ok()?;
    let (literal, end) = pins::literal_at(&reading, 0)?;
    match literal.value {
        _ if end != reading.tokens.len() => None,
        KeyValue::Integer(n) => i64::try_from(n).ok().map(BoundKey::Integer),
        KeyValue::Text(text) => Some(BoundKey::Text(text.into())),
        KeyValue::Open => None,
    }
}

/// What is asked of a statement.
#[derive(Clone, Copy, Debug)]
pub struct ColumnQuestion<'q> {
    /// The schema that is spread over shards.
    pub logical_schema: &'q str,
    /// The column that holds the key in every table of that schema.
    pub key_column: &'q str,
    /// The session's default schema.
    pub session_schema: Option<&'q str>,
    /// Whether the tables on the shards have the column.
    pub in_shards: InShards,
    /// How the session's statements are lexed.
    pub mode: LexMode,
    /// What its `?` stand for.
    pub parameters: Parameters<'q>,
}

/// A key literal and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyLiteral {
    /// Its value.
    pub value: KeyValue,
    /// Its place in the statement.
    pub span: Span,
}

/// How a statement uses its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyRole {
    /// Predicates select the rows.
    Filter,
    /// New rows carry the keys.
    NewRows,
}

/// The keys of a statement and what placing it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The literals, distinct by value, in the order of their first place.
    pub values: Vec<KeyLiteral>,
    /// What they are for.
    pub role: KeyRole,
    /// Changes that make the statement run where the column is absent; empty if it is present.
    pub neutralised: Vec<Edit>,
    /// The tables of the logical schema that the keys limit, distinct. The keys hold only if each of them is a base
    /// table: a view may call another column by the key's name, or aggregate over rows of other keys.
    pub tables: Vec<String>,
    /// A NATURAL JOIN passes a key on. It compares only columns that are visible, so each of the tables must show the key
    /// column to it.
    pub needs_visible_key: bool,
    /// Keys stand in a list of rows, as in `(k, c) IN ((1, 2), (3, 4))`.
    pub in_rows: bool,
    /// What happens to rows that exist.
    pub changes: Vec<TableChange>,
}

/// A change of rows that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChange {
    /// The table's own name; `None`: it may be any of the statement's.
    pub table: Option<String>,
    /// What happens to its rows.
    pub change: RowChange,
}

/// What happens to rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RowChange {
    /// They are deleted.
    Deletes,
    /// This column is assigned.
    Assigns(String),
    /// A view's column is assigned, which can have another name in the table.
    AssignsAny,
}

impl KeyUse {
    /// True if a shard that holds exactly the keys `shard_keys` answers as the logical schema would. Where the column
    /// is absent, a shard of several keys cannot tell their rows apart, so a filter must name all of them.
    pub fn is_answered_by(&self, shard_keys: &[KeyValue]) -> bool {
        let inside = self
            .values
            .iter()
            .all(|literal| shard_keys.contains(&literal.value));
        let whole = || {
            shard_keys
                .iter()
                .all(|key| self.values.iter().any(|literal| literal.value == *key))
        };
        let filters_by_shard_alone = self.role == KeyRole::Filter && !self.neutralised.is_empty();
        inside && (!filters_by_shard_alone || whole())
    }
}

/// The answer to a [`ColumnQuestion`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnAnswer {
    /// The statement names no table of the logical schema.
    NotConcerned,
    /// It does, and these are its keys.
    Keys(KeyUse),
    /// It names tables of the logical schema and nothing limits them to a key.
    Missing,
    /// It names or may name such tables, and no key can be shown to hold.
    Undecidable(Doubt),
}

/// Why no key can be shown to hold, and what the statement says of keys all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What is not followed and why, human-readable.
    pub reason: String,
    /// Whether a key that comes from elsewhere, as from a comment, could contradict the statement.
    pub mentions: Mentions,
}

/// What a statement that is not followed says of the key column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mentions {
    /// Nothing.
    Nothing,
    /// It compares the column with these literals for equality, and names it for nothing else but to join by it.
    These(Vec<KeyLiteral>),
    /// It may say anything, for this reason.
    Unknown(&'static str),
}
