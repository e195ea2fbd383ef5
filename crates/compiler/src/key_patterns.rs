//! Patterns that find a key in the text of a statement.
//!
//! In goes how a map's key is written: in a comment of some form ([`KeyPatterns::new`]) or in a column ([`ColumnPatterns`]).
//! Out come the patterns that prove that a statement has a key, and for each value or run of values what a rule searches.
//! [`lock_name`] is how the lock file writes keys.

mod column;
mod comment;
pub(crate) mod integer;
pub(crate) mod lock_name;
mod search;
mod single_word;
pub(crate) mod text;

pub(crate) use column::{ColumnPatterns, SHAPES};
pub(crate) use comment::is_searchable;
pub(crate) use search::{KeyPatterns, Sought, Usual, is_spaced};
