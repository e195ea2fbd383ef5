//! How large a file may be, and what is said of one that is larger.

use shardwright_diagnostics::{Diagnostic, Span};

use crate::codes::TOO_LARGE;

/// Larger files are refused, in bytes.
pub const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;
/// Lists and mappings inside each other, aliases expanded.
pub const MAX_DEPTH: usize = 64;
/// Scalars, lists and mappings in one file, without keys: as many as 200,000 written-out shards with their clusters need.
/// A file can hold a value in two bytes, so bytes alone would let 16 MiB become a gigabyte.
pub const MAX_VALUES: usize = 2_000_000;
/// Values that the anchors and aliases of one file may copy.
pub const MAX_ALIASED_NODES: usize = 200_000;
/// Bytes of text that the anchors and aliases of one file may copy.
pub const MAX_ALIASED_BYTES: usize = 16 * 1024 * 1024;

pub(crate) const NOT_READ: &str = "the rest of the file is not read";

pub(crate) fn too_deep(span: Span) -> Diagnostic {
    let message = format!("lists and mappings are nested more than {MAX_DEPTH} deep");
    Diagnostic::error(TOO_LARGE, message).at(span, NOT_READ)
}

pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).expect("files are not larger than MAX_FILE_BYTES")
}
