//! YAML read with its places, and formatted.

#![allow(clippy::unwrap_used, reason = "tests may unwrap")]

mod diagnostics;
mod format;
mod side_by_side;
mod tree;
