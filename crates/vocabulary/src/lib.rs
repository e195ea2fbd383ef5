//! Words that the language and the rules share, so that they mean the same on both sides.

mod glob;

pub use glob::{glob_matches, is_glob};
