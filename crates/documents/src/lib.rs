//! YAML files as node trees with key and value spans.
//!
//! [`read`] takes bytes and gives a [`Document`] with its problems: it never fails and never panics, whatever
//! the bytes. Types follow the YAML 1.2 core schema; scalars keep what was written, since the language warns
//! about words that YAML 1.1 tools read differently. Aliases and merge keys are expanded within a budget.

mod anchors;
mod builder;
mod codes;
mod document;
mod format;
mod inside;
mod json;
mod limits;
mod merge;
mod node;
mod pointer;
mod read;
mod side_by_side;
mod spelling;

pub use codes::CODES;
pub use document::{Comment, Document, Placement};
pub use format::{WIDTH, format, other_form};
pub use inside::part_of_text;
pub use json::to_json;
pub use limits::{MAX_ALIASED_BYTES, MAX_ALIASED_NODES, MAX_DEPTH, MAX_FILE_BYTES, MAX_VALUES};
pub use node::mapping::{Entry, Key, Mapping};
pub use node::{Node, Style, Value};
pub use pointer::PointedNode;
pub use read::{read, read_all, unreadable};
pub use side_by_side::side_by_side;
pub use spelling::spelled;
