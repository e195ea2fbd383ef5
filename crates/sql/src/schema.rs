//! Which schemas a statement names, and the edits that move it from a logical schema to a shard's.

mod keyed;
mod named;
mod naming;
mod place;
mod refer;
mod tables;

use crate::lex::Span;

pub use keyed::{TableKeys, TableName, TableQuestion, table_keys};
pub use named::{NamedSchemas, named_schemas};
pub use naming::Naming;
pub use place::{Unqualified, place};
pub use refer::{SchemaReference, references};
pub use tables::tables;
pub(crate) use tables::{InsertTarget, insert_target};

/// Why a statement cannot be placed into a shard's schema, human-readable.
pub type Refusal = String;

/// A name of a table as a statement has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTable {
    /// The schema it is qualified by.
    pub schema: Option<String>,
    /// The table.
    pub table: String,
    /// Where the whole name begins; an unqualified name is qualified here.
    pub span: Span,
}
